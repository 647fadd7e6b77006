/* SPDX-License-Identifier: Apache-2.0 */
/* The two namespaces that a jar's slot needs and that take time: U2, the guest's user namespace, and an empty network. */
#include "jar/spaces.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/hook.h"
#include "jar/jar.h"
#include "kernel/idmap.h"
#include "kernel/net.h"
#include "kernel/sys.h"

uint32_t jar_init_uid(uint32_t guest_uid)
{
	return guest_uid == 65533 ? 65532 : 65533;
}

/*
 * Second layer under the filter: inside U2 no user namespace can be made any more, and without one no other kind (KS-07, KS-15). A rootless
 * caller's jars share that user's inotify quota: none may take it all (RE-21). Few files, for each lookup in /proc/sys/user
 * walks past the entries of every other namespace.
 */
static int set_shares(bool shared_quota, struct err *e)
{
	static const struct {
		const char *name, *value;
	} files[] = {
		{ "max_user_namespaces", "0" },
		{ "max_inotify_instances", "16" },
		{ "max_inotify_watches", "8192" },
	};
	size_t count = shared_quota ? sizeof(files) / sizeof(files[0]) : 1;
	auto_close int dir = open("/proc/sys/user", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (hook_disabled("max_userns"))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (fd_write_file(dir, files[i].name, files[i].value) < 0 && (i == 0 || errno != ENOENT))
			return err_sys(e, "forbid nested namespaces: write /proc/sys/user/%s", files[i].name);
	return 0;
}

/* The child: the network while it has U1's rights; then U2, where it has every right until it ends and uses them for one thing. */
static int make(int sock, bool shared_quota, int fds[2], unsigned *count, struct err *e)
{
	char byte = 0;
	unsigned none;

	if (!hook_disabled("netns")) {
		if (unshare(CLONE_NEWNET) < 0)
			return err_sys(e, "make a network namespace");
		if (net_loopback_up(e) < 0)
			return -1;
		fds[1] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		if (fds[1] < 0)
			return err_sys(e, "open the network namespace");
	}
	if (unshare(CLONE_NEWUSER) < 0) {
		err_sys(e, "make the guest's user namespace");
		return err_hint(e, "user namespaces are off or used up: sysctl user.max_user_namespaces");
	}
	/* Cleared by the change of credentials. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* "Map me", and the answer when it is done. */
	if (fd_send(sock, &byte, 1, NULL, 0) < 0 || fd_recv(sock, &byte, 1, NULL, 0, &none) != 1)
		return err_set(e, ERR_SETUP, "the maker went away");
	if (set_shares(shared_quota, e) < 0)
		return -1;
	fds[0] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	if (fds[0] < 0)
		return err_sys(e, "open the guest's user namespace");
	*count = fds[1] >= 0 ? 2 : 1;
	return 0;
}

int spaces_begin(struct spaces *s, const struct jar_ids *ids, struct err *e)
{
	int sock[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a channel");
	s->pid = sys_clone(0, NULL);
	if (s->pid < 0) {
		close(sock[0]);
		close(sock[1]);
		return err_sys(e, "start the namespaces' maker");
	}
	if (s->pid == 0) {
		struct jar_report r = { .type = REPORT_READY };
		int fds[2] = { -1, -1 };
		unsigned count = 0;

		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		prctl(PR_SET_NAME, "belljar-spaces", 0, 0, 0);
		close(sock[0]);
		if (make(sock[1], ids->shared_quota, fds, &count, &r.err) < 0)
			r.type = REPORT_ERROR;
		fd_send(sock[1], &r, sizeof(r), fds, count);
		_exit(0);
	}
	close(sock[1]);
	s->sock = sock[0];
	s->ids = *ids;
	return 0;
}

static int write_maps(struct spaces *s, struct err *e)
{
	char map[96];

	if (s->ids.single)
		snprintf(map, sizeof(map), "%u 0 1\n", s->uid);
	else
		snprintf(map, sizeof(map), "%u %u 1\n%u %u 1\n", s->uid, s->ids.guest, jar_init_uid(s->uid), s->ids.init);
	return idmap_write(s->pid, map, map, s->ids.single, e);
}

/* The child speaks twice: one byte when it wants its maps, then its report. An error may come instead of the first. */
static int converse(struct spaces *s, struct jar_report *r, int fds[2], unsigned *count, struct err *e)
{
	ssize_t n = fd_recv(s->sock, r, sizeof(*r), fds, 2, count);
	char byte = 0;

	if (n == 1) {
		if (write_maps(s, e) < 0)
			return -1;
		if (fd_send(s->sock, &byte, 1, NULL, 0) < 0)
			return err_sys(e, "answer the namespaces' maker");
		n = fd_recv(s->sock, r, sizeof(*r), fds, 2, count);
	}
	if (n != sizeof(*r))
		return err_set(e, ERR_SETUP, "the namespaces' maker died");
	return 0;
}

int spaces_take(struct spaces *s, int *userns, int *netns, struct err *e)
{
	struct jar_report r = { 0 };
	int fds[2] = { -1, -1 }, rc = -1;
	unsigned count = 0;

	if (converse(s, &r, fds, &count, e) == 0) {
		if (r.type == REPORT_READY && count > 0) {
			*userns = take_fd(&fds[0]);
			*netns = take_fd(&fds[1]);
			rc = 0;
		} else {
			*e = r.err;
		}
	}
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	fd_close(&s->sock);
	return rc;
}
