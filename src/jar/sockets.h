/* SPDX-License-Identifier: Apache-2.0 */
/* How many sockets a jar may have. */
#ifndef BELLJAR_JAR_SOCKETS_H
#define BELLJAR_JAR_SOCKETS_H

#include <sys/types.h>

#include "kernel/seccomp.h"

/*
 * Theory of operation
 *
 * The kernel does not charge all memory of sockets to the jar. Unread netlink replies are charged to no cgroup at all. On cgroup v1 a TCP socket gets its
 * first 64 KiB even when its group is full. Without a memory cgroup nothing is charged. So the number of sockets is bounded too: the filter reports every
 * socket() that is not of the UNIX family to the supervisor (the keeper of a pool, or the maker of one jar), which counts the sockets of the caller's network
 * namespace and lets the call go on, or refuses it with ENOBUFS. Without a memory cgroup the filter also reports UNIX sockets and socketpair(): each socket can
 * hold 208 KiB that were not read. accept() is not reported: for each socket that it makes there is one that connected.
 *
 * The supervisor counts before the socket is there. Threads that call at the same time can each get one, so the bound is exact only up to --pids.
 */

#define SOCKETS_NETLINK 32	   /* each can hold 208 KiB of replies */
#define SOCKETS_MIN	32
#define SOCKETS_MAX	1024
#define SOCKETS_BYTES	(512 << 10) /* of the memory limit for each other socket: twice what NET_TCP_MEM lets it buffer */

/* The same for connections that wait to be accepted: the kernel makes a socket for each that no call of socket() has asked for. The keeper looks at them every 50 ms. */
#define SOCKETS_WAITING(bound) (2 * (bound) + 256)
/* The number of TCP sockets of the jar of process `guest`, where they are too many; else 0. */
uint64_t sockets_too_many(pid_t guest, uint64_t memory_bytes);
/* 0: the call may go on; else the error that it fails with. `memory_bytes`: the jar's limit. */
int sockets_check(const struct seccomp_event *ev, uint64_t memory_bytes);

#endif
