/* SPDX-License-Identifier: Apache-2.0 */
/* The logs of outputs in the state folder: bounded by size, age and number, the oldest go first. */
#include "run/logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "run/state.h"

/*
 * Theory of operation
 *
 * The file .tidied in the folder has two numbers: when it was trimmed last, and how many bytes of logs all processes wrote since. Who ends a run adds its own, under a lock on that
 * file, and trims when it is time; a process that finds the lock taken leaves it to the other one. Nothing is lost when a process is killed in between: the next one looks
 * at the folder itself. A log has a shared lock as long as it is written, and is not removed then: its bytes would stay on the disk, and no listing would show them.
 */

#define STAMP	     ".tidied"
#define STAMP_LEN    42
#define INTERVAL_S   60
#define PART	     8	/* of the bounds: what is written between two looks, and what is freed in advance */
#define PART_PROCESS 16 /* the same, of one process */

static struct logs_bounds bounds;
static uint64_t pending, last_ns;

void logs_set_bounds(const struct logs_bounds *b)
{
	bounds = *b;
}

/* ---- trimming ---- */

struct log_file {
	char name[96];
	struct timespec mtime;
	uint64_t size;
};

static int by_age(const void *a, const void *b)
{
	const struct log_file *x = a, *y = b;

	if (x->mtime.tv_sec != y->mtime.tv_sec)
		return x->mtime.tv_sec < y->mtime.tv_sec ? -1 : 1;
	return (x->mtime.tv_nsec > y->mtime.tv_nsec) - (x->mtime.tv_nsec < y->mtime.tv_nsec);
}

static size_t list_logs(DIR *dir, struct log_file **out)
{
	struct dirent *d;
	size_t n = 0, cap = 0;

	*out = NULL;
	while ((d = readdir(dir))) {
		struct stat st;

		if (strncmp(d->d_name, "exec-", 5) != 0 || strlen(d->d_name) >= sizeof((*out)->name) ||
		    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (n == cap) {
			struct log_file *more = realloc(*out, (cap = cap ? cap * 2 : 64) * sizeof(**out));

			if (!more)
				break;
			*out = more;
		}
		memcpy((*out)[n].name, d->d_name, strlen(d->d_name) + 1);
		(*out)[n].mtime = st.st_mtim;
		(*out)[n++].size = (uint64_t)st.st_blocks * 512;
	}
	return n;
}

static bool remove_log(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && unlinkat(dir, name, 0) == 0;
}

static void remove_oldest(int dir, const struct log_file *logs, const struct logs_bounds *b, uint64_t keep_bytes, bool dry_run, struct logs_found *out)
{
	uint64_t total = out->bytes, keep = total > b->max_bytes ? keep_bytes : b->max_bytes;
	size_t files = out->files;
	time_t now = time(NULL);

	for (size_t i = 0; i < out->files; i++) {
		bool old = (uint64_t)(now > logs[i].mtime.tv_sec ? now - logs[i].mtime.tv_sec : 0) * 1000 > b->max_age_ms;

		if (!old && total <= keep && files <= LOGS_FILES_MAX)
			break;
		if (!dry_run && !remove_log(dir, logs[i].name))
			continue;
		total -= logs[i].size;
		files--;
		out->freed += logs[i].size;
		out->removed++;
	}
}

int logs_trim(const struct logs_bounds *b, uint64_t keep_bytes, bool dry_run, struct logs_found *out, struct err *e)
{
	struct log_file *logs;
	DIR *dir;

	memset(out, 0, sizeof(*out));
	if (state_log_dir(out->dir, sizeof(out->dir), e) < 0)
		return -1;
	dir = opendir(out->dir);
	if (!dir)
		return err_sys(e, "list %s", out->dir);
	out->files = list_logs(dir, &logs);
	for (size_t i = 0; i < out->files; i++)
		out->bytes += logs[i].size;
	if (out->files)
		qsort(logs, out->files, sizeof(*logs), by_age);
	remove_oldest(dirfd(dir), logs, b, keep_bytes, dry_run, out);
	free(logs);
	closedir(dir);
	return 0;
}

/* ---- when it is time ---- */

static void read_stamp(int fd, unsigned long long *when, unsigned long long *bytes)
{
	char text[STAMP_LEN + 1] = "", *rest = NULL;

	*when = *bytes = 0;
	if (read(fd, text, STAMP_LEN) != STAMP_LEN)
		return;
	*when = strtoull(text, &rest, 10);
	*bytes = *rest == ' ' ? strtoull(rest, NULL, 10) : 0;
}

static void write_stamp(int fd, unsigned long long when, unsigned long long bytes)
{
	char text[STAMP_LEN + 1];

	snprintf(text, sizeof(text), "%020llu %020llu\n", when, bytes);
	if (lseek(fd, 0, SEEK_SET) == 0)
		(void)!write(fd, text, STAMP_LEN);
}

void logs_tidy(bool always)
{
	unsigned long long when, bytes, now;
	struct logs_found found;
	struct err e = { 0 };
	char dir[512], path[560];

	if (!bounds.max_bytes || (!always && (!pending || (pending < bounds.max_bytes / PART_PROCESS && clock_mono_ns() - last_ns < INTERVAL_S * NS_PER_S))))
		return;
	last_ns = clock_mono_ns();
	if (state_log_dir(dir, sizeof(dir), &e) < 0)
		return;
	snprintf(path, sizeof(path), "%s/" STAMP, dir);
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	read_stamp(fd, &when, &bytes);
	now = (unsigned long long)time(NULL);
	bytes += pending;
	/* A clock that was put back is no reason to wait. */
	if (when <= now && now - when < INTERVAL_S && bytes < bounds.max_bytes / PART) {
		if (pending)
			write_stamp(fd, when, bytes);
	} else {
		logs_trim(&bounds, bounds.max_bytes - bounds.max_bytes / PART, false, &found, &e);
		write_stamp(fd, now, 0);
	}
	pending = 0;
}

void logs_written(uint64_t bytes)
{
	pending += bytes;
	if (bounds.max_bytes && pending >= bounds.max_bytes / PART_PROCESS)
		logs_tidy(false);
}
