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

uint64_t sockets_too_many(pid_t guest, uint64_t memory_bytes)
{
	uint64_t bound = SOCKETS_WAITING(most(memory_bytes));
	int64_t n = hook_disabled("sockets") ? 0 : net_count_sockets(guest);

	/* UNIX sockets are charged to the jar, or counted as they are made. */
	if (n > 0 && (uint64_t)n > bound)
		n -= net_count_unix(guest);
	return n > 0 && (uint64_t)n > bound ? (uint64_t)n : 0;
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
