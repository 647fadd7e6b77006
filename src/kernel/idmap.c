/* SPDX-License-Identifier: Apache-2.0 */
/* User namespaces' id maps, and the host ids that belljar may use. */
#include "kernel/idmap.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "kernel/sys.h"

int idmap_write(pid_t pid, const char *uid_map, const char *gid_map, bool deny_groups, struct err *e)
{
	char path[64];
	auto_close int dir = -1;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return err_sys(e, "open %s", path);
	if (deny_groups && fd_write_file(dir, "setgroups", "deny") < 0)
		return err_sys(e, "deny setgroups");
	if (fd_write_file(dir, "uid_map", uid_map) < 0)
		return err_sys(e, "write uid_map");
	if (fd_write_file(dir, "gid_map", gid_map) < 0)
		return err_sys(e, "write gid_map");
	return 0;
}

static bool overlaps(struct idmap_range a, uint64_t start, uint64_t count)
{
	return start < (uint64_t)a.start + a.count && (uint64_t)a.start < start + count;
}

/* The number in field `index` (from 0) of a colon-separated line; -1 when it is none. */
static int64_t line_number(const char *line, int index)
{
	for (; index; index--) {
		line = strchr(line, ':');
		if (!line)
			return -1;
		line++;
	}
	if (!isdigit((unsigned char)*line))
		return -1;
	return (int64_t)strtoull(line, NULL, 10);
}

int idmap_check_free(struct idmap_range r, struct err *e)
{
	static const struct {
		const char *path;
		int start, count; /* fields */
	} files[] = {
		{ "/etc/passwd", 2, -1 },
		{ "/etc/group", 2, -1 },
		{ "/etc/subuid", 1, 2 },
		{ "/etc/subgid", 1, 2 },
	};
	char line[1024];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		FILE *f = fopen(files[i].path, "re");

		if (!f)
			continue;
		while (fgets(line, sizeof(line), f)) {
			int64_t start = line_number(line, files[i].start);
			int64_t count = files[i].count < 0 ? 1 : line_number(line, files[i].count);

			if (start < 0 || count < 0 || !overlaps(r, (uint64_t)start, (uint64_t)count))
				continue;
			fclose(f);
			err_set(e, ERR_SETUP, "host ids %u..%u are in use in %s", r.start,
				r.start + r.count - 1, files[i].path);
			return err_hint(e, "free that range in %s: belljar gives it to guests", files[i].path);
		}
		fclose(f);
	}
	return 0;
}

int idmap_find_sub(const char *file, uid_t uid, const char *name, struct idmap_range *out)
{
	FILE *f = fopen(file, "re");
	char line[1024], number[16];
	int rc = -1;

	if (!f)
		return -1;
	snprintf(number, sizeof(number), "%u", uid);
	while (rc < 0 && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');
		int64_t start, count;

		if (!colon)
			continue;
		*colon = '\0';
		if (!line[0] || (strcmp(line, name) != 0 && strcmp(line, number) != 0))
			continue;
		*colon = ':';
		start = line_number(line, 1);
		count = line_number(line, 2);
		if (start <= 0 || count < IDMAP_SLOT_IDS || start > UINT32_MAX - count || count > UINT32_MAX)
			continue;
		out->start = (uint32_t)start;
		out->count = (uint32_t)count;
		rc = 0;
	}
	fclose(f);
	return rc;
}

static int run_helper(const char *helper, pid_t pid, uint32_t self, uint32_t start, struct err *e)
{
	char pid_s[16], self_s[16], start_s[16], count_s[16];
	char *argv[] = { (char *)helper, pid_s, "0", self_s, "1", "1", start_s, count_s, NULL };
	char *envp[] = { NULL };
	int status;
	pid_t child;

	snprintf(pid_s, sizeof(pid_s), "%d", pid);
	snprintf(self_s, sizeof(self_s), "%u", self);
	snprintf(start_s, sizeof(start_s), "%u", start);
	snprintf(count_s, sizeof(count_s), "%u", IDMAP_SLOT_IDS - 1);
	child = fork();
	if (child < 0)
		return err_sys(e, "fork for %s", helper);
	if (child == 0) {
		execve(helper, argv, envp);
		_exit(127);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, "wait for %s", helper);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, ERR_SETUP, "%s refused the id range", helper);
	return 0;
}

int idmap_run_helpers(pid_t pid, struct idmap_range uids, struct idmap_range gids, struct err *e)
{
	if (run_helper("/usr/bin/newuidmap", pid, getuid(), uids.start, e) < 0)
		return -1;
	return run_helper("/usr/bin/newgidmap", pid, getgid(), gids.start, e);
}
