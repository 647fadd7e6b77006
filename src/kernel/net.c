/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces: the loopback interface, buffers, and what is in them. */
#include "kernel/net.h"

#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/hook.h"

int net_loopback_up(struct err *e)
{
	auto_close int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { .ifr_flags = IFF_UP | IFF_RUNNING };

	if (s < 0)
		return err_sys(e, "open a socket for the loopback interface");
	memcpy(r.ifr_name, "lo", 3);
	if (ioctl(s, SIOCSIFFLAGS, &r) < 0)
		return err_sys(e, "bring the loopback interface up");
	return 0;
}

bool net_limit_tcp(void)
{
	/* Connections that wait to be accepted are charged to no cgroup, and are in no count of sockets. */
	return !hook_disabled("tcp_mem") && fd_write_file(AT_FDCWD, "/proc/sys/net/core/somaxconn", NET_BACKLOG) >= 0 && fd_write_file(AT_FDCWD, "/proc/sys/net/ipv4/tcp_rmem", NET_TCP_MEM) >= 0 &&
	       fd_write_file(AT_FDCWD, "/proc/sys/net/ipv4/tcp_wmem", NET_TCP_MEM) >= 0;
}

int64_t net_count_sockets(pid_t pid)
{
	char path[48], text[256];

	snprintf(path, sizeof(path), "/proc/%d/net/sockstat", pid);
	if (fd_read_head(AT_FDCWD, path, text, sizeof(text)) < 0 || strncmp(text, "sockets: used ", 14) != 0)
		return -1;
	return strtoll(text + 14, NULL, 10);
}

int64_t net_count_unix(pid_t pid)
{
	char path[48], line[256];
	int64_t n = -1; /* the first line names the columns */
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/unix", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		n++;
	fclose(f);
	return n;
}

int64_t net_count_netlink(pid_t pid, int64_t most)
{
	char path[48], line[256];
	int64_t n = 0;
	char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/netlink", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	/* sk Eth Pid ...: "Eth" is the protocol, 0 for routes. The first line names the columns. */
	while (n <= most && fgets(line, sizeof(line), f)) {
		const char *protocol = strchr(line, ' ');

		if (protocol && strtol(protocol, &end, 10) == 0 && end != protocol)
			n++;
	}
	fclose(f);
	return n - 1; /* the kernel's own */
}
