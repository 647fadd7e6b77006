/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share: input as a descriptor, a throw-away folder with canaries beside it. */
#ifndef BELLJAR_TESTS_FUZZ_H
#define BELLJAR_TESTS_FUZZ_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise is a crash, so that libFuzzer keeps the input. */
#define MUST(cond)                                                                            \
	do {                                                                                  \
		if (!(cond)) {                                                                \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond);    \
			abort();                                                              \
		}                                                                             \
	} while (0)

static inline int fuzz_fd(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* TOP/canary and TOP/out: only what is beneath out may change. */
static char fuzz_top[64];
static int fuzz_top_fd = -1, fuzz_out_fd = -1;

static inline int fuzz_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type;
	return ftw->level ? remove(path) : 0;
}

static inline void fuzz_end(void)
{
	nftw(fuzz_top, fuzz_remove, 16, FTW_DEPTH | FTW_PHYS);
	rmdir(fuzz_top);
}

static inline void fuzz_folder(void)
{
	if (fuzz_top_fd < 0) {
		int fd;

		snprintf(fuzz_top, sizeof(fuzz_top), "/dev/shm/belljar-fuzz-XXXXXX");
		MUST(mkdtemp(fuzz_top));
		atexit(fuzz_end);
		fuzz_top_fd = open(fuzz_top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd = openat(fuzz_top_fd, "canary", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		MUST(fd >= 0 && write(fd, "alive", 5) == 5);
		close(fd);
	}
	MUST(mkdirat(fuzz_top_fd, "out", 0755) == 0);
	fuzz_out_fd = openat(fuzz_top_fd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(fuzz_out_fd >= 0);
}

/* Looks for damage, then empties the folder for the next input. */
static inline void fuzz_folder_check(void)
{
	DIR *dir = fdopendir(dup(fuzz_top_fd));
	char path[80], text[8] = "";
	struct dirent *d;
	int n = 0, fd;

	rewinddir(dir);
	while ((d = readdir(dir)))
		n++;
	closedir(dir);
	MUST(n == 4); /* ., .., canary, out */
	fd = openat(fuzz_top_fd, "canary", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	MUST(fd >= 0 && read(fd, text, sizeof(text)) == 5 && strcmp(text, "alive") == 0);
	close(fd);
	close(fuzz_out_fd);
	snprintf(path, sizeof(path), "%s/out", fuzz_top);
	nftw(path, fuzz_remove, 16, FTW_DEPTH | FTW_PHYS);
	MUST(unlinkat(fuzz_top_fd, "out", AT_REMOVEDIR) == 0);
}

#endif
