/* SPDX-License-Identifier: Apache-2.0 */
/* A jar that is to serve its client once more: proof that nothing of the guest before is left in it. */
#include "jar/clean.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/fd.h"
#include "kernel/sys.h"

#define DEPTH_MAX   16
#define ENTRIES_MAX 512 /* more than that is cheaper to throw away */

/* As the kernel writes it; libc's readdir would need the heap. */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static int not_clean(struct err *e, const char *what)
{
	return err_set(e, ERR_SETUP, "the jar is not clean: %s", what);
}

static int end_processes(struct err *e)
{
	for (int i = 0; i < 200; i++) {
		if (kill(-1, SIGKILL) < 0 && errno == ESRCH)
			return 0;
		nanosleep(&(struct timespec){ 0, 100000 }, NULL);
	}
	return not_clean(e, "processes that do not end");
}

static int empty_folder(int dir, unsigned depth, unsigned *left, struct err *e)
{
	char block[2048] __attribute__((aligned(8)));
	long n;

	if (depth == DEPTH_MAX)
		return not_clean(e, "folders nested too deeply");
	/* What was removed moves the rest: start over until there is nothing. */
	for (;;) {
		bool any = false;

		if (lseek(dir, 0, SEEK_SET) < 0)
			return err_sys(e, "list a folder");
		while ((n = syscall(SYS_getdents64, dir, block, sizeof(block))) > 0) {
			for (long at = 0; at < n;) {
				struct entry *d = (struct entry *)(block + at);

				at += d->len;
				if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0)
					continue;
				any = true;
				if (!(*left)--)
					return not_clean(e, "too many files");
				if (d->type == DT_DIR) {
					/* Nobody is left who could put anything else in its place. */
					int open_to_us = fchmodat(dir, d->name, 0700, 0);
					auto_close int sub = openat(dir, d->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

					if (open_to_us < 0 || sub < 0)
						return err_sys(e, "open a folder");
					if (empty_folder(sub, depth + 1, left, e) < 0)
						return -1;
				}
				if (unlinkat(dir, d->name, d->type == DT_DIR ? AT_REMOVEDIR : 0) < 0)
					return err_sys(e, "remove a file");
			}
		}
		if (n < 0)
			return err_sys(e, "list a folder");
		if (!any)
			return 0;
	}
}

int clean_open(int places[static ROOT_PLACES], struct err *e)
{
	for (size_t i = 0; i < ROOT_PLACES; i++) {
		places[i] = open(root_places[i].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (places[i] < 0)
			return err_sys(e, "open %s", root_places[i].path);
	}
	return 0;
}

static int empty_places(const int *places, uid_t guest, struct err *e)
{
	unsigned left = ENTRIES_MAX;
	char list[8];

	for (size_t i = 0; i < ROOT_PLACES; i++) {
		int dir = places[i];
		struct stat st;

		if (empty_folder(dir, 0, &left, e) < 0)
			return -1;
		if (fstat(dir, &st) < 0 || st.st_uid != guest || st.st_gid != guest || (st.st_mode & 07777) != root_places[i].mode)
			return not_clean(e, "a folder's owner or mode changed");
		/* When it was changed last is what its last user wanted. */
		if (futimens(dir, NULL) < 0)
			return err_sys(e, "set a folder's time");
		/* An attribute's name does not fit into so little: ERANGE is one too many as well. */
		if (flistxattr(dir, list, sizeof(list)) != 0 && errno != ENOTSUP)
			return not_clean(e, "a folder has attributes");
	}
	return 0;
}

static int no_objects(int queues, struct err *e)
{
	union {
		int val;
		struct seminfo *info;
	} arg;
	struct shm_info shm;
	struct seminfo sem;
	struct msginfo msg;
	char block[512] __attribute__((aligned(8)));
	long n;

	arg.info = &sem;
	if (shmctl(0, SHM_INFO, (struct shmid_ds *)&shm) < 0 || semctl(0, 0, SEM_INFO, arg) < 0 ||
	    msgctl(0, MSG_INFO, (struct msqid_ds *)&msg) < 0)
		return err_sys(e, "count System V objects");
	if (shm.used_ids || sem.semusz || msg.msgpool)
		return not_clean(e, "System V objects");
	if (queues < 0 || lseek(queues, 0, SEEK_SET) < 0)
		return not_clean(e, "message queues are not to be seen");
	while ((n = syscall(SYS_getdents64, queues, block, sizeof(block))) > 0)
		for (long at = 0; at < n; at += ((struct entry *)(block + at))->len) {
			const char *name = ((struct entry *)(block + at))->name;

			if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
				return not_clean(e, "message queues");
		}
	return n < 0 ? err_sys(e, "list message queues") : 0;
}

int clean_jar(const int places[static ROOT_PLACES], int queues, uid_t guest, struct err *e)
{
	/* Processes first: whoever is dead changes nothing any more. */
	if (end_processes(e) < 0 || empty_places(places, guest, e) < 0)
		return -1;
	return no_objects(queues, e);
}
