/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: the host ids and cgroup names that one keeper has to itself, claimed by a lock. */
#include "keeper/slot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "kernel/sys.h"

int slot_run_dir(char *out, size_t size, struct err *e)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (geteuid() == 0)
		snprintf(out, size, "/run/belljar");
	else if (xdg && xdg[0] == '/')
		snprintf(out, size, "%s/belljar", xdg);
	else
		snprintf(out, size, "/tmp/belljar-%u", geteuid());
	if (mkdir(out, 0700) < 0 && errno != EEXIST) {
		err_sys(e, "make %s", out);
		return err_hint(e, "set XDG_RUNTIME_DIR to a folder of your own");
	}
	/* In /tmp somebody else may have been first. */
	if (lstat(out, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022)) {
		err_set(e, ERR_SETUP, "%s is not a private folder of this user", out);
		return err_hint(e, "remove it, or set XDG_RUNTIME_DIR to a folder of your own");
	}
	return 0;
}

/* The name of the calling user, for /etc/subuid. */
static void user_name(char *out, size_t size)
{
	FILE *f = fopen("/etc/passwd", "re");
	char line[1024];

	out[0] = '\0';
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;

		if (!second || colon == line || (uid_t)strtoul(second + 1, NULL, 10) != getuid())
			continue;
		*colon = '\0';
		snprintf(out, size, "%.200s", line);
		break;
	}
	fclose(f);
}

/* Which ids there are to divide: ours by convention (root), the user's subordinate ones, or none. */
static void find_ranges(struct slot *s, uint32_t *slots)
{
	char name[256];

	s->rootless = geteuid() != 0;
	*slots = IDMAP_SLOTS;
	if (!s->rootless) {
		s->uids = s->gids = (struct idmap_range){ IDMAP_BASE, IDMAP_SLOTS * IDMAP_SLOT_IDS };
		return;
	}
	user_name(name, sizeof(name));
	if (access("/usr/bin/newuidmap", X_OK) < 0 || access("/usr/bin/newgidmap", X_OK) < 0 ||
	    idmap_find_sub("/etc/subuid", getuid(), name, &s->uids) < 0 ||
	    idmap_find_sub("/etc/subgid", getuid(), name, &s->gids) < 0) {
		s->single = true;
		return;
	}
	*slots = (s->uids.count < s->gids.count ? s->uids.count : s->gids.count) / IDMAP_SLOT_IDS;
}

bool slot_is_single(void)
{
	struct slot s = { .lock = -1 };
	uint32_t slots;

	find_ranges(&s, &slots);
	return s.single;
}

struct scrub {
	const struct cgroup_host *host;
	int slots; /* the folder with the locks */
	unsigned count;
};

/* The lock is free when the slot's keeper is dead. */
static void scrub_slot(const char *cgroup, void *ctx)
{
	struct scrub *s = ctx;
	auto_close int lock = openat(s->slots, cgroup + 1, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 && cgroup_clear(s->host, cgroup))
		s->count++;
}

unsigned slot_scrub(const char *run_dir, const struct cgroup_host *h)
{
	char path[300];
	struct scrub s = { .host = h, .slots = -1 };

	snprintf(path, sizeof(path), "%s/slots", run_dir);
	s.slots = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s.slots < 0)
		return 0;
	cgroup_each_slot(h, scrub_slot, &s);
	fd_close(&s.slots);
	return s.count;
}

int slot_check(const struct slot *s, struct err *e)
{
	return s->rootless ? 0 : idmap_check_free((struct idmap_range){ IDMAP_BASE, IDMAP_SLOTS * IDMAP_SLOT_IDS }, e);
}

int slot_claim(struct slot *out, const char *run_dir, struct err *e)
{
	if (slot_take(out, run_dir, e) < 0)
		return -1;
	if (slot_check(out, e) == 0)
		return 0;
	fd_close(&out->lock);
	return -1;
}

int slot_take(struct slot *out, const char *run_dir, struct err *e)
{
	struct slot s = { .lock = -1 };
	auto_close int dir = -1, base = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t slots;

	if (base < 0 || (mkdirat(base, "slots", 0700) < 0 && errno != EEXIST))
		return err_sys(e, "open %s", run_dir);
	dir = openat(base, "slots", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_sys(e, "open %s/slots", run_dir);
	find_ranges(&s, &slots);
	for (uint32_t i = 0; i < slots; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		s.lock = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (s.lock < 0)
			return err_sys(e, "open the lock of slot %u", i);
		if (flock(s.lock, LOCK_EX | LOCK_NB) < 0) {
			close(s.lock);
			continue;
		}
		s.number = i;
		s.uids = (struct idmap_range){ s.uids.start + i * IDMAP_SLOT_IDS, IDMAP_SLOT_IDS };
		s.gids = (struct idmap_range){ s.gids.start + i * IDMAP_SLOT_IDS, IDMAP_SLOT_IDS };
		snprintf(s.cgroup, sizeof(s.cgroup), "s%u", i);
		*out = s;
		return 0;
	}
	err_set(e, ERR_BUSY, "all %u slots are in use", slots);
	return err_hint(e, "wait for other runs to end; 'belljar ps' shows them");
}
