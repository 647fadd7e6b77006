/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that every guest of a zygote writes to: taken at once instead of fault by fault. */
#include "guest/pages.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ  22 /* from 5.14 on; older kernels say EINVAL, and guests fault as before */
#define MADV_POPULATE_WRITE 23
#endif

#define MAPS_MAX   1024
#define RANGES_MAX 512
#define PAGE	   4096UL
#define SEEN	   1024 /* entries of pagemap read at once */

/* proc_pid_pagemap(5) */
#define PRESENT	  (1ULL << 63)
#define FILE_PAGE (1ULL << 61)
#define EXCLUSIVE (1ULL << 56)

/* Pages of its own that it writes to, or pages of programs' text, whose tables a fork leaves out. */
struct range {
	uintptr_t start, end;
	uintptr_t advice;
};

static struct range maps[MAPS_MAX], ranges[RANGES_MAX];
static unsigned map_count, range_count;

/* "start-end mode offset device inode path" of /proc/self/maps. False for anything else. */
static bool read_map(char *line, struct range *out, const char **mode, const char **path)
{
	char *end, *p;

	out->start = strtoul(line, &end, 16);
	if (*end != '-')
		return false;
	out->end = strtoul(end + 1, &end, 16);
	if (*end != ' ')
		return false;
	*mode = end + 1;
	p = strchr(*mode, '/');
	*path = p ? p : "";
	line[strcspn(line, "\n")] = '\0';
	return strlen(*mode) > 4;
}

_Bool pages_begin(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	if (!f)
		return false;
	while (map_count < MAPS_MAX && fgets(line, sizeof(line), f)) {
		struct range r;
		const char *mode, *path;

		if (!read_map(line, &r, &mode, &path) || mode[0] != 'r' || mode[3] != 'p')
			continue;
		r.advice = mode[1] == 'w' ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
		maps[map_count++] = r;
	}
	fclose(f);
	return map_count > 0;
}

#define HUGE (2UL << 20)

/* A copy of [start, end) takes its place. Its content is the same at every moment: we may be running on it. */
static void replace(uintptr_t start, uintptr_t end, int prot)
{
	size_t len = end - start;
	char *room = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *copy;

	if (room == MAP_FAILED)
		return;
	/* As far from a huge page's start as the original, so that whole ones can be moved. */
	copy = room + ((start - (uintptr_t)room) & (HUGE - 1));
	madvise(copy, len, MADV_HUGEPAGE);
	memcpy(copy, (const void *)start, len);
	if (mprotect(copy, len, prot) == 0)
		(void)!mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start);
	munmap(room, (size_t)(copy - room));
}

void pages_own_text(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	static struct range text[MAPS_MAX];
	unsigned count = 0;
	char line[512], last[256] = "";

	if (!f)
		return;
	/* First the list, then the changes. Parts of one file that follow one another become one. */
	while (count < MAPS_MAX && fgets(line, sizeof(line), f)) {
		struct range r;
		const char *mode, *path;

		if (!read_map(line, &r, &mode, &path) || mode[0] != 'r' || mode[1] == 'w' || mode[3] != 'p' ||
		    (!strstr(path, "/bin/python") && !strstr(path, "/libc.so")))
			continue;
		r.advice = PROT_READ | (mode[2] == 'x' ? PROT_EXEC : 0);
		if (count && text[count - 1].end == r.start && strcmp(path, last) == 0) {
			text[count - 1].end = r.end;
			text[count - 1].advice |= r.advice;
		} else {
			text[count++] = r;
		}
		snprintf(last, sizeof(last), "%s", path);
	}
	fclose(f);
	for (unsigned i = 0; i < count; i++)
		replace(text[i].start, text[i].end, (int)text[i].advice);
}

static void tell(int out, const struct range *r)
{
	(void)!write(out, r, sizeof(*r));
}

static void tell_map(int pagemap, const struct range *m, int out)
{
	static uint64_t seen[SEEN];
	bool write_to = m->advice == MADV_POPULATE_WRITE;
	uint64_t mask = PRESENT | FILE_PAGE | (write_to ? EXCLUSIVE : 0), want_bits = PRESENT | (write_to ? EXCLUSIVE : FILE_PAGE);
	struct range r = { 0, 0, m->advice };

	for (uintptr_t at = m->start; at < m->end; at += SEEN * PAGE) {
		size_t want = (m->end - at) / PAGE < SEEN ? (m->end - at) / PAGE : SEEN;
		ssize_t n = pread(pagemap, seen, want * sizeof(seen[0]), (off_t)(at / PAGE * sizeof(seen[0])));

		for (ssize_t i = 0; i < n / (ssize_t)sizeof(seen[0]); i++) {
			uintptr_t page = at + (uintptr_t)i * PAGE;

			if ((seen[i] & mask) != want_bits)
				continue;
			/* A page between two is cheaper than a call. */
			if (r.end && page <= r.end + PAGE) {
				r.end = page + PAGE;
				continue;
			}
			if (r.end)
				tell(out, &r);
			r = (struct range){ page, page + PAGE, m->advice };
		}
	}
	if (r.end)
		tell(out, &r);
}

void pages_tell(int out)
{
	auto_close int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	for (unsigned i = 0; pagemap >= 0 && i < map_count; i++)
		tell_map(pagemap, &maps[i], out);
}

void pages_learn(int in)
{
	struct range r;

	while (range_count < RANGES_MAX && fd_read_all(in, &r, sizeof(r)) == 0)
		ranges[range_count++] = r;
}

void pages_touch(void)
{
	for (unsigned i = 0; i < range_count; i++)
		madvise((void *)ranges[i].start, ranges[i].end - ranges[i].start, (int)ranges[i].advice);
}
