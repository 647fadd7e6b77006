/* SPDX-License-Identifier: Apache-2.0 */
/* The loopback interface of a fresh network namespace. */
#include "kernel/net.h"

#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/fd.h"

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
