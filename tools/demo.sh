#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make run`: the main job of belljar on real snippets, readable as a story.
set -u
belljar=build/belljar
bold= dim= off=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$(printf '\033[1m') dim=$(printf '\033[2m') off=$(printf '\033[0m')
fi

# Says what comes, shows the command, runs it, shows the exit status.
scene() {
	local title=$1 shown=""
	shift
	for word; do
		case $word in
		*[!A-Za-z0-9_./:=-]*) shown+=" '$word'" ;;
		*) shown+=" $word" ;;
		esac
	done
	printf '\n%s%s%s\n%s$ belljar%s%s\n' "$bold" "$title" "$off" "$dim" "$shown" "$off"
	"$belljar" "$@"
	printf '%s(exit status %d)%s\n' "$dim" $? "$off"
}

scene "1. Python, alone in a jar: its own root, its own processes, no network, another user." \
	run -c 'import os, socket
print("uid", os.getuid(), "host", socket.gethostname(), "pids", [p for p in os.listdir("/proc") if p.isdigit()])
print("root holds", *sorted(os.listdir("/")))'

scene "2. Bash: the host's files are not there to be read." \
	run --lang bash -c 'echo "home: $HOME, here: $PWD"; ls /root /etc/shadow 2>&1; touch /usr/bin/x 2>&1; echo done'

scene "3. Node.js: the same jar for every language." \
	run --lang node -c 'console.log("node", process.version, "says", [3,1,2].sort().join(" < "))'

scene "4. A program that wants all memory: the kernel ends it, and belljar says so with the kernel's own count." \
	run -m 64M -c 'blocks = []
while True: blocks.append(bytearray(1 << 20))'

scene "5. A program that never ends: the wall clock ends it." \
	run -t 1s -c 'while True: pass'

scene "6. A program that calls home: there is no network to call over." \
	run -c 'import socket
try:
    socket.create_connection(("127.0.0.1", 80), 2)
except OSError as e:
    print("its own loopback answers:", e)
print("interfaces:", [name for _, name in socket.if_nameindex()])
socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'

scene "7. A program that fakes an out-of-memory kill: it exits 137 by itself, and is not believed." \
	run --json -c 'import sys; print("{\"status\": \"killed\"}"); sys.exit(137)'

printf '\n%sNext: make test, or build/belljar run --help.%s\n' "$bold" "$off"
