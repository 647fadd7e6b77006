# SPDX-License-Identifier: Apache-2.0
"""NE: without a network there is a loopback of the guest's own and nothing else."""
import json
import os
import re
import socket
import subprocess
import threading
import time

import pytest

import jarlib
from jarlib import HarnessError, REACHED, ROOT

host_root = pytest.mark.skipif(not ROOT, reason="making a network namespace for the fixture needs root")
UIDS = pytest.mark.parametrize("uid", [1000, 0])


@pytest.fixture(scope="module")
def fake_net():
    """A network namespace of the test's own with listeners on a fake host, gateway and metadata address.

    Nothing can leave it: it has a loopback and no other interface. belljar is started inside of it, so that a jar
    without its own network namespace would reach the listeners (and nobody else)."""
    if not ROOT:
        pytest.skip("making a network namespace needs root")
    p = subprocess.Popen(["unshare", "-n", "sleep", "3600"], start_new_session=True)
    jarlib.own(p.pid)
    mine = os.readlink("/proc/self/ns/net")
    if not jarlib.wait_until(lambda: os.readlink(f"/proc/{p.pid}/ns/net") != mine, 3):
        raise HarnessError("no network namespace")
    enter = ["nsenter", f"--net=/proc/{p.pid}/ns/net"]
    addresses = ["10.99.0.1", "10.99.0.2", "169.254.169.254"]
    subprocess.run([*enter, "ip", "link", "set", "lo", "up"], check=True)
    for a in addresses:
        subprocess.run([*enter, "ip", "addr", "add", f"{a}/32", "dev", "lo"], check=True)
    listeners, ready = [], threading.Event()

    def serve():
        fd = os.open(f"/proc/{p.pid}/ns/net", os.O_RDONLY)
        if jarlib._libc.setns(fd, 0x40000000) == 0:  # this thread only: sockets are made there
            for a in [*addresses, "127.0.0.1"]:
                listeners.append(jarlib.Listener(socket.AF_INET, socket.SOCK_STREAM, (a, 80)))
                listeners.append(jarlib.Listener(socket.AF_INET, socket.SOCK_DGRAM, (a, 53)))
            listeners.append(jarlib.Listener(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 80)))
        os.close(fd)
        ready.set()

    t = threading.Thread(target=serve)
    t.start()
    t.join()
    if not listeners:
        raise HarnessError("listeners in the network namespace")
    yield enter, addresses, listeners
    for x in listeners:
        x.close()
    p.kill()
    p.wait()
    jarlib.disown(p.pid)


def outside(enter, probe, *args):
    return subprocess.run([*enter, str(probe), *map(str, args)], capture_output=True, timeout=20).returncode


def test_ne_01_interfaces(jar, control):
    if ROOT:
        with jar.live() as p:
            out = subprocess.run(["nsenter", "-t", str(p.guest), "-n", "ip", "-j", "link"], capture_output=True, check=True).stdout
            assert [x["ifname"] for x in json.loads(out)] == ["lo"]
            out = subprocess.run(["nsenter", "-t", str(p.guest), "-n", "ip", "-j", "route"], capture_output=True, check=True).stdout
            assert json.loads(out or b"[]") == []
    if not jar.off:
        control("ifaces", alone=False)
        jar.probe("ifaces").denied()


def tcp_args(addresses):
    return [y for a in addresses for y in (a, 80)] + ["::1", 80, "127.0.0.1", 80]


def test_ne_02_tcp(jar, probe, fake_net):
    enter, addresses, listeners = fake_net
    if outside(enter, probe, "connect", "tcp", *tcp_args(addresses)) != REACHED:
        raise HarnessError("the listeners cannot be reached from their own namespace")
    time.sleep(0.1)
    for x in listeners:
        x.seen = []
    jar.prefix = enter
    r = jar.probe("connect", "tcp", *tcp_args(addresses))
    for x in listeners:
        x.silent()
    r.denied()


def test_ne_03_udp_dns(jar, probe, fake_net):
    enter, addresses, listeners = fake_net
    args = [y for a in addresses for y in (a, 53)]
    if outside(enter, probe, "connect", "udp", *args) != REACHED:
        raise HarnessError("the listeners cannot be reached from their own namespace")
    time.sleep(0.1)
    for x in listeners:
        x.seen = []
    jar.prefix = enter
    r = jar.probe("connect", "udp", *args)
    for x in listeners:
        x.silent()
    r.denied()
    if not jar.off:
        r = jar.python("import socket\ntry:\n socket.getaddrinfo('name.test', 80); raise SystemExit(41)\n"
                       "except OSError: raise SystemExit(40)")
        r.denied()
        assert r.elapsed_s < 3
        for x in listeners:
            x.silent()


def test_ne_04_host_loopback(jar, probe, canaries):
    args = ["127.0.0.1", canaries.tcp4.port, "::1", canaries.tcp6.port]
    assert jarlib.control(probe, "connect", "tcp", *args, alone=False).returncode == REACHED
    canaries.tcp4.heard(), canaries.tcp6.heard()
    r = jar.probe("connect", "tcp", *args)
    canaries.tcp4.silent(), canaries.tcp6.silent()
    r.denied()
    r = jar.probe("connect", "udp", "127.0.0.1", canaries.udp4.port)
    canaries.udp4.silent()


def test_ne_05_abstract_unix(jar, probe, canaries):
    assert jarlib.control(probe, "connect_unix", canaries.abstract_name, alone=False).returncode == REACHED
    canaries.abstract.heard()
    r = jar.probe("connect_unix", canaries.abstract_name)
    canaries.abstract.silent()
    r.denied()


@pytest.mark.nored
def test_ne_05_without_the_network_namespace(second_layer, canaries):
    """In the host's network namespace Landlock's scope alone must hold (from ABI 6 on)."""
    jar = second_layer("netns")
    r = jar.probe("connect_unix", canaries.abstract_name)
    if r.isolation["landlock_abi"] < 6:
        pytest.skip(f"ABSENT: Landlock ABI {r.isolation['landlock_abi']} has no scope")
    canaries.abstract.silent()
    r.denied()


def test_ne_06_pathname_unix(jar, probe, canaries):
    assert jarlib.control(probe, "connect_unix", canaries.path_name, alone=False).returncode == REACHED
    canaries.path.heard()
    jar.probe("connect_unix", canaries.path_name, "/var/run/docker.sock", "/run/systemd/private", "/run/dbus/system_bus_socket").denied()
    canaries.path.silent()
    if ROOT:
        with jar.live() as p:
            out = subprocess.run(["find", f"/proc/{p.guest}/root/", "-xdev", "-type", "s", "-print", "-quit"],
                                 capture_output=True, timeout=20).stdout
            for top in os.listdir(f"/proc/{p.guest}/root"):
                if top not in ("proc", "usr"):
                    out += subprocess.run(["find", f"/proc/{p.guest}/root/{top}/", "-type", "s"], capture_output=True, timeout=20).stdout
            assert not out, out


VSOCK = [("40", "1", "0"), ("0x100000028", "1", "0"), ("0xffffffff00000028", "2", "0"), ("40", "5", "0")]


@UIDS
def test_ne_07_vsock(jar, control, uid):
    """Made and closed on the host as control; never connected anywhere."""
    control("socket", "40", "1", "0")
    r = jar.probe("socket", *[x for row in VSOCK for x in row], opts=["--uid", uid]).denied()
    assert set(r.rows().values()) == {"EAFNOSUPPORT"} or set(r.rows().values()) <= {"EAFNOSUPPORT", "EPERM"}


@pytest.mark.nored
def test_ne_07_vsock_other_doors(jar):
    jar.probe("sys", "io_uring_setup").denied()
    jar.probe("int80", 359).ended("killed", "syscall")  # i386 socket()


AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
ALLOWED = {(AF_UNIX, 1), (AF_UNIX, 2), (AF_UNIX, 3), (AF_UNIX, 5), (AF_INET, 1), (AF_INET, 2), (AF_INET6, 1), (AF_INET6, 2),
           (AF_NETLINK, 2), (AF_NETLINK, 3)}  # SOCK_RAW of AF_UNIX is SOCK_DGRAM under another name


def made(text, word="made"):
    return {(int(a), int(b), int(c)) for a, b, c in re.findall(rf"^{word} (\d+) (\d+) (\d+)", text, re.M)}


@UIDS
def test_ne_08_families(jar, probe, absent, uid):
    there = {(f, t) for f, t, _ in made(jarlib.control(probe, "families").stdout.decode())}
    if not there - ALLOWED:
        absent("this kernel makes no other kind of socket")
    r = jar.probe("families", opts=["--uid", uid])
    got = {(f, t) for f, t, _ in made(r.stdout)}
    assert got and got <= ALLOWED, sorted(got - ALLOWED)
    assert {f for f, _, _ in made(r.stdout, "pair")} <= {AF_UNIX}


def test_ne_09_netlink(jar, probe, absent):
    there = {p for p, _, _ in made(jarlib.control(probe, "netlink").stdout.decode())}
    if not there - {0}:
        absent("this kernel has no other netlink protocol")
    got = {p for p, _, _ in made(jar.probe("netlink").stdout)}
    assert got <= {0}, got


RAW = [("2", "3", "1"), ("10", "3", "58"), ("17", "3", "3"), ("17", "2", "3"), ("2", "2", "1"), ("10", "2", "58"), ("44", "3", "0"),
       ("2", "10", "0")]


@UIDS
def test_ne_10_raw(jar, control, uid):
    control("socket", *[x for row in RAW for x in row])
    jar.probe("socket", *[x for row in RAW for x in row], opts=["--uid", uid]).denied()


PROTOCOLS = [("2", "1", "262"), ("10", "1", "262"), ("2", "1", "132"), ("2", "5", "132"), ("2", "2", "136"), ("43", "1", "0"),
             ("2", "1", "256"), ("2", "1", "0x100000106")]


def test_ne_11_stream_protocols(jar, control):
    control("socket", "2", "1", "262")
    jar.probe("socket", *[x for row in PROTOCOLS for x in row]).denied()


@UIDS
def test_ne_12_reconfigure(jar, control, uid):
    control("reconfigure")
    jar.probe("reconfigure", opts=["--uid", uid]).denied()


def test_ne_13_listen_is_private(jar, probe):
    port = 28473
    p = jar.start(["--", "/workspace/probe", "listen", port], ["-t", "10s"])
    try:
        assert jarlib.wait_until(lambda: jarlib.guest_pid_any(p.pid, b"listen"), 8)
        time.sleep(0.3)
        with socket.socket() as s:
            s.settimeout(1)
            assert s.connect_ex(("127.0.0.1", port)) != 0, "the host reached the guest's port"
        jar.probe("connect", "tcp", "127.0.0.1", port).denied()
    finally:
        r = jar.finish(p)
    assert r.exit_code == 0, r.told()


@pytest.mark.parametrize("options", [[], ["--stdin", "-"]])
def test_ne_14_inherited_sockets(jar, options):
    """The caller's stdio are sockets (as under inetd or a systemd unit): the guest's are not."""
    a, b = socket.socketpair()
    with a, b:
        a.shutdown(socket.SHUT_WR)
        r = jar.run("--", "/workspace/probe", "stdio_sockets", opts=["-t", "10s", *options], stdin=b.fileno())
        r.denied()
