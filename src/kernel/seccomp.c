/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's system call filter: compiled at build time from seccomp_table.h, loaded last. */
#include "kernel/seccomp.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kernel/sys.h"

static int load(const struct sock_filter *filter, size_t len, unsigned flags, struct err *e)
{
	struct sock_fprog prog = { (unsigned short)len, (struct sock_filter *)filter };
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);

	if (fd < 0)
		return err_sys(e, "load the system call filter");
	return (int)fd;
}

int seccomp_load_guest(struct err *e)
{
	return load(seccomp_guest_filter, seccomp_guest_filter_len, SECCOMP_FILTER_FLAG_NEW_LISTENER, e);
}

int seccomp_load_zygote(struct err *e)
{
	return load(seccomp_zygote_filter, seccomp_zygote_filter_len, SECCOMP_FILTER_FLAG_NEW_LISTENER, e);
}

int seccomp_load_last(struct err *e)
{
	return load(seccomp_last_filter, seccomp_last_filter_len, 0, e);
}

int seccomp_load_front(struct err *e)
{
	return load(seccomp_front_filter, seccomp_front_filter_len, 0, e);
}

int seccomp_load_store(struct err *e)
{
	return load(seccomp_store_filter, seccomp_store_filter_len, 0, e);
}

int seccomp_load_notary(struct err *e)
{
	return load(seccomp_notary_filter, seccomp_notary_filter_len, 0, e);
}

int seccomp_read_event(int listener, struct seccomp_event *out)
{
	struct seccomp_notif n;

	/* The kernel refuses a buffer that is not zeroed. */
	memset(&n, 0, sizeof(n));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
		return -1;
	/* Only what was copied above is used, and the only answer is death: nothing to race for. */
	out->pid = n.pid;
	out->arch = n.data.arch;
	out->nr = n.data.nr;
	return 0;
}
