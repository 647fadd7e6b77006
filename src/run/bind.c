/* SPDX-License-Identifier: Apache-2.0 */
/* --ro, --layer: files and folders of the host that a jar shows. */
#include "run/bind.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "jar/root.h"
#include "keeper/slot.h"

/* procfs, sysfs and their kind tell about the host what the jar is there to hide (FS-23, PR-01, KS-12). */
static bool shows_kernel(int fd)
{
	static const long magics[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
				       TRACEFS_MAGIC, SECURITYFS_MAGIC, BPF_FS_MAGIC, DEVPTS_SUPER_MAGIC };
	struct statfs s;

	if (fstatfs(fd, &s) < 0)
		return true;
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if ((long)s.f_type == magics[i])
			return true;
	return false;
}

/* "/" and "/dev" of the host are no folders to show. */
static bool is_root(const struct stat *st)
{
	static const char *const paths[] = { "/", "/dev" };
	struct stat other;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (stat(paths[i], &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino)
			return true;
	return false;
}

int bind_open(const char *opt, const char *text, struct jar_spec *spec, int *fd, struct err *e)
{
	char src[4096];
	const char *colon = strrchr(text, ':'), *dst = colon ? colon + 1 : NULL;
	struct stat st;

	if (!colon || colon == text || (size_t)(colon - text) >= sizeof(src))
		return err_set(e, ERR_USAGE, "%s: '%.100s' is not SRC:DST", opt, text);
	if (spec->bind_count == JAR_BINDS_MAX)
		return err_set(e, ERR_USAGE, "%s: at most %d", opt, JAR_BINDS_MAX);
	snprintf(src, sizeof(src), "%.*s", (int)(colon - text), text);
	if (strlen(dst) >= JAR_PATH_MAX || !root_bind_path_ok(dst)) {
		err_set(e, ERR_USAGE, "%s: '%.100s' cannot be a target in the jar", opt, dst);
		return err_hint(e, "choose a new absolute path like /data");
	}
	*fd = open(src, O_PATH | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &st) < 0) {
		err_sys(e, "%s: %s", opt, src);
		e->kind = ERR_INPUT;
		return -1;
	}
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(e, ERR_INPUT, "%s: %s is neither a file nor a folder", opt, src);
	if (opt[2] == 'l' && !S_ISDIR(st.st_mode))
		return err_set(e, ERR_INPUT, "%s: %s is not a folder", opt, src);
	if (shows_kernel(*fd) || (S_ISDIR(st.st_mode) && is_root(&st))) {
		err_set(e, ERR_INPUT, "%s: %s shows the host's own processes, devices or settings", opt, src);
		return err_hint(e, "name the folders that are needed");
	}
	/* Root's layers show the owner's files as the guest's. */
	if (!(opt[2] == 'l' && geteuid() == 0) && !slot_is_single() && (S_ISDIR(st.st_mode) ? (st.st_mode & 05) != 05 : !(st.st_mode & 04))) {
		err_set(e, ERR_INPUT, "%s: %s has mode %04o: a guest, who is nobody on this host, could not read it", opt, src,
			st.st_mode & 07777);
		return err_hint(e, "chmod o+rX it, or copy it in with --file");
	}
	snprintf(spec->binds[spec->bind_count++], JAR_PATH_MAX, "%s", dst);
	return 0;
}
