/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's system call filter: compiled at build time from seccomp_table.h, loaded last. */
#include "kernel/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "kernel/sys.h"

static int load(const struct sock_filter *filter, size_t len, unsigned flags, struct err *e)
{
	struct sock_fprog prog = { (unsigned short)len, (struct sock_filter *)filter };
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);

	if (fd < 0)
		return err_sys(e, "load the system call filter");
	return (int)fd;
}

#define WAIT_KILLABLE (1U << 5) /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */

/* Who waits for our word is not to get away, or to begin anew, by a signal (from 5.19 on). */
static int load_listener(const struct sock_filter *filter, size_t len, struct err *e)
{
	int fd = load(filter, len, SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE, e);

	return fd < 0 && e->sys == EINVAL ? load(filter, len, SECCOMP_FILTER_FLAG_NEW_LISTENER, e) : fd;
}

int seccomp_load_allow(bool uncounted, struct err *e)
{
	return uncounted ? load_listener(seccomp_allow_uncounted_filter, seccomp_allow_uncounted_filter_len, e)
			 : load_listener(seccomp_allow_filter, seccomp_allow_filter_len, e);
}

int seccomp_load_zygote(bool uncounted, struct err *e)
{
	return uncounted ? load_listener(seccomp_zygote_uncounted_filter, seccomp_zygote_uncounted_filter_len, e)
			 : load_listener(seccomp_zygote_filter, seccomp_zygote_filter_len, e);
}

const char *seccomp_profile(bool allow_list, bool uncounted)
{
	if (allow_list)
		return uncounted ? seccomp_allow_uncounted_profile : seccomp_allow_profile;
	return uncounted ? seccomp_guest_uncounted_profile : seccomp_guest_profile;
}

int seccomp_load_seat(struct err *e)
{
	return load_listener(seccomp_seat_filter, seccomp_seat_filter_len, e);
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
	/* Only what was copied above is used. The answer is death, or for starts under an allow-list that the kernel decides: nothing to race for. */
	out->pid = n.pid;
	out->arch = n.data.arch;
	out->nr = n.data.nr;
	out->id = n.id;
	for (int i = 0; i < 6; i++)
		out->args[i] = n.data.args[i];
	return 0;
}

bool seccomp_is_start(const struct seccomp_event *ev)
{
	return ev->arch == AUDIT_ARCH_X86_64 && (ev->nr == SYS_execve || ev->nr == SYS_execveat);
}

bool seccomp_is_end(const struct seccomp_event *ev)
{
	return ev->arch == AUDIT_ARCH_X86_64 && ev->nr == SYS_kill && (uint32_t)ev->args[1] == SECCOMP_END_SIGNAL;
}

bool seccomp_is_socket(const struct seccomp_event *ev)
{
	return ev->arch == AUDIT_ARCH_X86_64 && (ev->nr == SYS_socket || ev->nr == SYS_socketpair);
}

bool seccomp_is_unix_socket(const struct seccomp_event *ev)
{
	return seccomp_is_socket(ev) && (int)ev->args[0] == AF_UNIX;
}

bool seccomp_is_note(const struct seccomp_event *ev)
{
	for (const int *n = seccomp_notes; ev->arch == AUDIT_ARCH_X86_64 && *n >= 0; n++)
		if (*n == ev->nr)
			return true;
	return false;
}

void seccomp_go_on(int listener, const struct seccomp_event *ev)
{
	struct seccomp_notif_resp r = { .id = ev->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

	/* ENOENT: it died meanwhile. */
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

void seccomp_refuse(int listener, const struct seccomp_event *ev, int error)
{
	struct seccomp_notif_resp r = { .id = ev->id, .error = -error };

	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

bool seccomp_still_waits(int listener, const struct seccomp_event *ev)
{
	uint64_t id = ev->id;

	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}
