/* SPDX-License-Identifier: Apache-2.0 */
/* U1, the intermediate user namespace: a process that is root of its own ids and nobody on the host. */
#include "keeper/u1.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "jar/step.h"
#include "keeper/proto.h"
#include "kernel/caps.h"
#include "kernel/idmap.h"
#include "kernel/sys.h"

#define DEVICES_FD  (KEEPER_FD + 1)
#define EXTENTS_MAX 330 /* the kernel takes 340 */

/* Slot k's ids follow one another; with the caller's own id in front, slot 0 gives its first seven. */
static unsigned extents(const struct slot *slots, unsigned count, bool gids, struct idmap_extent *out)
{
	unsigned n = 0;

	if (slots[0].rootless)
		out[n++] = (struct idmap_extent){ 0, gids ? getgid() : getuid(), 1 };
	for (unsigned k = 0; k < count && !slots[0].single; k++) {
		struct idmap_range r = gids ? slots[k].gids : slots[k].uids;
		unsigned skip = k == 0 && slots[0].rootless;

		out[n++] = (struct idmap_extent){ k * IDMAP_SLOT_IDS + skip, r.start, IDMAP_SLOT_IDS - skip };
	}
	return n;
}

static int write_maps(pid_t pid, const struct slot *slots, unsigned count, struct err *e)
{
	static struct idmap_extent uids[EXTENTS_MAX + 1], gids[EXTENTS_MAX + 1];
	unsigned n;

	if (step_point("maker-maps", e) < 0)
		return -1;
	if (count > EXTENTS_MAX)
		return err_set(e, ERR_INTERNAL, "too many slots for one user namespace");
	n = extents(slots, count, false, uids);
	extents(slots, count, true, gids);
	return slots[0].rootless && !slots[0].single ? idmap_run_helpers(pid, uids, gids, n, e)
						     : idmap_write_extents(pid, uids, gids, n, slots[0].single, e);
}

/*
 * The child's side: it waits for its maps, without which it would be nobody.
 *
 * It is not executed anew: that would cost a tenth of a one-shot run, and the keeper's memory holds nothing to hide.
 */
static _Noreturn void become_root(const struct slot *s, int sock, int go, int devices, u1_main *run)
{
	struct jar_ids ids = { s->single ? 0 : 1, s->single ? 0 : 2, s->single, s->rootless };
	char byte;

	if (fd_read_all(go, &byte, 1) != 0 || (!s->single && setgroups(0, NULL) < 0) || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 ||
	    dup2(sock, KEEPER_FD) != KEEPER_FD || (devices >= 0 && dup3(devices, DEVICES_FD, O_CLOEXEC) < 0))
		_exit(1);
	/* Cgroups, locks, the front's socket: none of it is ours. */
	if (sys_close_range((devices >= 0 ? DEVICES_FD : KEEPER_FD) + 1, ~0U, 0) < 0)
		_exit(1);
	run(KEEPER_FD, devices >= 0 ? DEVICES_FD : -1, &ids);
	_exit(0);
}

/*
 * A user namespace belongs to whoever made it, and the kernel charges to that user what all its jars use (inotify, namespaces, ...): as root, one jar could
 * use up every other's quota (RE-21). So it is made under the slot's own id, for this one call; our real id stays, and brings the rest back.
 *
 * The rights stay too: root may make user namespaces where others may not (Ubuntu's AppArmor rule, a sysctl), and may enter the v2 folder.
 */
static pid_t clone_as(const struct slot *s, uint64_t flags, int cgroup)
{
	uint64_t rights = caps_effective();
	pid_t pid = -1;
	int saved;

	if (s->rootless)
		return sys_clone_into(flags, NULL, cgroup);
	if (setgroups(0, NULL) == 0 && setresgid((gid_t)-1, s->gids.start, (gid_t)-1) == 0 && setresuid((uid_t)-1, s->uids.start, (uid_t)-1) == 0 &&
	    caps_set(rights, NULL) == 0)
		pid = sys_clone_into(flags, NULL, cgroup);
	if (pid == 0)
		return 0;
	saved = errno;
	if (setresuid((uid_t)-1, 0, (uid_t)-1) < 0 || setresgid((gid_t)-1, 0, (gid_t)-1) < 0 || geteuid() != 0 || getegid() != 0)
		abort(); /* cannot be: they are our real ids */
	errno = saved;
	return pid;
}

int u1_start(struct u1 *out, const struct slot *slots, unsigned count, int cgroup, int devices, u1_main *run, struct err *e)
{
	int sock[2], go[2], rc = -1;
	char byte = 0;
	pid_t pid;

	if (step_point("maker-clone", e) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0 || pipe2(go, O_CLOEXEC) < 0)
		return err_sys(e, "make the maker's channels");
	pid = clone_as(&slots[0], CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS, cgroup);
	if (pid == 0) {
		close(go[1]);
		become_root(&slots[0], sock[1], go[0], devices, run);
	}
	close(sock[1]);
	close(go[0]);
	out->sock = sock[0];
	out->pid = pid;
	if (pid < 0) {
		err_sys(e, "make the intermediate user namespace");
		err_hint(e, "inside a chroot the kernel forbids it; else user namespaces are off: 'belljar doctor' says how to turn them on");
	} else if (write_maps(pid, slots, count, e) == 0 && write(go[1], &byte, 1) == 1) {
		rc = 0;
	}
	close(go[1]);
	return rc;
}

void u1_stop(struct u1 *u)
{
	int status;

	if (u->pid <= 0)
		return;
	fd_close(&u->sock);
	kill(u->pid, SIGKILL);
	while (waitpid(u->pid, &status, 0) < 0 && errno == EINTR)
		;
	u->pid = 0;
}
