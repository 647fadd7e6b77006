/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces: the loopback interface, buffers, and what is in them. */
#ifndef BELLJAR_KERNEL_NET_H
#define BELLJAR_KERNEL_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Brings `lo` up; needs CAP_NET_ADMIN over the own network namespace. */
int net_loopback_up(struct err *e);
/* Sets tcp_rmem and tcp_wmem of the own network namespace to NET_TCP_MEM, and the longest queue of connections to NET_BACKLOG. False where /proc/sys cannot be written (in some containers): the kernel's own values stay. */
bool net_limit_tcp(void);
/* What one TCP socket may buffer in each direction: least, first, most. */
#define NET_TCP_MEM "4096 65536 262144"
#define NET_BACKLOG "128"

/* Sockets of all families in the network namespace of a process, also those of connections that were not accepted yet; -1: it cannot be told. */
int64_t net_count_sockets(pid_t pid);
/* Those of the UNIX family; -1: it cannot be told. */
int64_t net_count_unix(pid_t pid);
/* Those of route netlink. Stops counting above `most`. */
int64_t net_count_netlink(pid_t pid, int64_t most);

#endif
