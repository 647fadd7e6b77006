/* SPDX-License-Identifier: Apache-2.0 */
/* How many sockets a jar may have. */
#include "jar/sockets.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/hook.h"
#include "kernel/net.h"

static uint64_t most(uint64_t memory_bytes)
{
	uint64_t n = memory_bytes / SOCKETS_BYTES;

	return n < SOCKETS_MIN ? SOCKETS_MIN : n > SOCKETS_MAX ? SOCKETS_MAX : n;
}

int sockets_check(const struct seccomp_event *ev, uint64_t memory_bytes)
{
	int64_t n;

	if (hook_disabled("sockets"))
		return 0;
	n = net_count_sockets((pid_t)ev->pid);
	if (n < 0 || (uint64_t)n >= most(memory_bytes))
		return ENOBUFS;
	if ((int)ev->args[0] != AF_NETLINK)
		return 0;
	n = net_count_netlink((pid_t)ev->pid, SOCKETS_NETLINK);
	return n < 0 || n >= SOCKETS_NETLINK ? ENOBUFS : 0;
}
