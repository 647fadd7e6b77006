/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities and ids: the last things a process can give away. */
#include "kernel/caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>

#include "kernel/sys.h"

static int drop_bounding(uint64_t keep, struct err *e)
{
	/* The kernel may know more capabilities than our headers: go on until it says EINVAL. */
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (keep & CAP_BIT(cap))
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno == EINVAL && cap > CAP_LAST_CAP)
				break;
			return err_sys(e, "drop capability %lu from the bounding set", cap);
		}
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return err_sys(e, "clear ambient capabilities");
	return 0;
}

int caps_drop_bounding(struct err *e)
{
	return drop_bounding(0, e);
}

static int set_all(uint64_t keep, uint64_t inheritable, struct err *e)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = {
		{ (uint32_t)keep, (uint32_t)keep, (uint32_t)inheritable },
		{ (uint32_t)(keep >> 32), (uint32_t)(keep >> 32), (uint32_t)(inheritable >> 32) },
	};

	if (syscall(SYS_capset, &h, d) < 0)
		return err_sys(e, "set capabilities");
	return 0;
}

int caps_set(uint64_t keep, struct err *e)
{
	return set_all(keep, 0, e);
}

int caps_keep_ambient(uint64_t keep, struct err *e)
{
	/* A change of ids has emptied the effective set; dropping from the bounding set needs it. */
	if (set_all(keep | CAP_BIT(CAP_SETPCAP), keep, e) < 0 || drop_bounding(keep, e) < 0 || set_all(keep, keep, e) < 0)
		return -1;
	for (unsigned long cap = 0; cap < 64; cap++)
		if (keep & CAP_BIT(cap) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			return err_sys(e, "keep capability %lu", cap);
	return 0;
}

uint64_t caps_effective(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	if (syscall(SYS_capget, &h, d) < 0)
		return 0;
	return d[0].effective | (uint64_t)d[1].effective << 32;
}

int caps_no_new_privs(struct err *e)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(e, "set no_new_privs");
	return 0;
}
