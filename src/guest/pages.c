/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a zygote, laid out so that a guest costs few pages. */
#include "guest/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_READ  22 /* from 5.14 on; older kernels say EINVAL, and guests fault as before */
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* from 6.1 on */
#endif

#ifndef SYS_mseal
#define SYS_mseal 462 /* from 6.10 on */
#endif

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

#define MAPS_MAX   1024
#define RANGES_MAX 1024
#define PAGE	   4096UL
#define HUGE	   (2UL << 20)
#define SEEN	   1024 /* entries of pagemap read at once */
#define EMPTY_MAX  256	/* pages that may be filled for nothing */
#define LIST_MAX   (256UL << 10)

/* proc_pid_pagemap(5) */
#define PRESENT	  (1ULL << 63)
#define SWAPPED	  (1ULL << 62)
#define FILE_PAGE (1ULL << 61)
#define EXCLUSIVE (1ULL << 56)

struct map {
	uintptr_t start, end;
	int prot;
	bool private, plain; /* plain: nothing but memory, as far as a fork is concerned; find_plain() */
	const char *path; /* in `list` */
};

struct range {
	uintptr_t start, end;
};

static char list[LIST_MAX];
static struct map maps[MAPS_MAX];
static struct range ranges[PAGES_SETS][RANGES_MAX];
static unsigned map_count, range_count[PAGES_SETS];

/* "start-end mode offset device inode path" of /proc/self/maps. False for anything else. */
static bool read_map(char *line, struct map *out)
{
	const char *mode, *path;
	char *end;

	out->start = strtoul(line, &end, 16);
	if (*end != '-')
		return false;
	out->end = strtoul(end + 1, &end, 16);
	if (*end != ' ' || strlen(end) < 6)
		return false;
	mode = end + 1;
	out->prot = (mode[0] == 'r' ? PROT_READ : 0) | (mode[1] == 'w' ? PROT_WRITE : 0) | (mode[2] == 'x' ? PROT_EXEC : 0);
	out->private = mode[3] == 'p';
	out->plain = false;
	path = strpbrk(mode, "/[");
	out->path = path ? path : "";
	return true;
}

/* What is mapped. Nothing is allocated on the way: it would be memory that the zygote writes to. */
_Bool pages_begin(void)
{
	auto_close int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	map_count = 0;
	while (fd >= 0 && len < sizeof(list) - 1 && (n = read(fd, list + len, sizeof(list) - 1 - len)) > 0)
		len += (size_t)n;
	if (fd < 0 || n != 0)
		return false;
	list[len] = '\0';
	for (char *line = list, *end; map_count < MAPS_MAX && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (read_map(line, &maps[map_count]))
			map_count++;
	}
	return map_count > 0;
}

static bool holds(const struct map *m, const void *at)
{
	return m->start <= (uintptr_t)at && (uintptr_t)at < m->end;
}

/* Memory that even a zygote at work writes to: the stack, what is the thread's own, and ours. */
static bool busy(const struct map *m)
{
	return strncmp(m->path, "[stack", 6) == 0 || strstr(m->path, "belljar-zygote") || holds(m, &errno) || holds(m, &map_count) || holds(m, list);
}

/*
 * A copy of [start, end) in huge pages takes the place of program text: a fork copies one entry for each, and no guest has to look for its pages. The
 * content is the same at every moment, since we may be running on it.
 */
static bool text_to_huge(uintptr_t start, uintptr_t end, int prot, bool sealed)
{
	bool moved = false;
	size_t len = end - start;
	char *room = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *copy;

	if (room == MAP_FAILED)
		return true;
	copy = room + (HUGE - ((uintptr_t)room & (HUGE - 1)));
	if (madvise(copy, len, MADV_HUGEPAGE) == 0) {
		memcpy(copy, (const void *)start, len);
		if (mprotect(copy, len, prot) == 0)
			moved = mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)start) != MAP_FAILED;
	}
	munmap(room, len + HUGE);
	return !moved || !sealed || syscall(SYS_mseal, start, len, 0) == 0;
}

/* The whole huge pages within the text of one file. */
static bool settle_text(bool sealed)
{
	bool all = true;

	for (unsigned i = 0; i < map_count; i++) {
		const struct map *m = &maps[i];
		uintptr_t start = (m->start + HUGE - 1) & ~(HUGE - 1), end = m->end;
		int prot = m->prot;

		if (!m->private || (m->prot & PROT_WRITE) || !(m->prot & PROT_READ) || m->path[0] != '/')
			continue;
		/* Parts of it that follow one another become one. */
		while (i + 1 < map_count && maps[i + 1].start == end && strcmp(maps[i + 1].path, m->path) == 0 && maps[i + 1].private &&
		       !(maps[i + 1].prot & PROT_WRITE)) {
			prot |= maps[++i].prot;
			end = maps[i].end;
		}
		end &= ~(HUGE - 1);
		if (start < end && (prot & PROT_EXEC))
			all = text_to_huge(start, end, prot, sealed) && all;
	}
	return all;
}

/*
 * What smaps says of a mapping that the image can stand for. Everything else stays as it is: above all what the kernel wipes at a fork (wf, dp), where
 * random generators keep their state, and what it leaves out (dc); also what is locked, grows, or is a shadow stack.
 */
static bool plain_flags(const char *flags)
{
	static const char known[] = "rd wr ex mr mw me ac nr sd dd hg nh sr rr ";
	char two[] = "xx ";

	for (const char *f = flags; *f; f += strcspn(f, " ")) {
		f += strspn(f, " ");
		if (!*f)
			break;
		two[0] = f[0];
		two[1] = f[1];
		if (strcspn(f, " ") != 2 || !strstr(known, two))
			return false;
	}
	return true;
}

static void find_plain(void)
{
	auto_close int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
	static char text[16384];
	size_t len = 0;
	unsigned i = 0;
	ssize_t n;

	while (fd >= 0 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0) {
		char *line = text;

		len += (size_t)n;
		text[len] = '\0';
		for (char *end; (end = strchr(line, '\n')); line = end + 1) {
			struct map head;

			*end = '\0';
			if (strncmp(line, "VmFlags:", 8) == 0 && i < map_count)
				maps[i].plain = plain_flags(line + 8);
			else if (read_map(line, &head))
				for (i = 0; i < map_count && (maps[i].start != head.start || maps[i].end != head.end);)
					i++;
		}
		len -= (size_t)(line - text);
		memmove(text, line, len);
	}
}

/*
 * Leaves of a mapping what lies between the first and the last page that was ever touched: the rest (the free part of a heap, most of a thread's
 * stack) is nobody's yet. False where even that is mostly empty: a copy would fill it.
 */
static bool shrink_to_touched(int pagemap, struct map *m)
{
	static uint64_t seen[SEEN];
	uintptr_t start = m->end, end = m->start;
	size_t count = 0;

	for (uintptr_t at = m->start; at < m->end; at += SEEN * PAGE) {
		size_t want = (m->end - at) / PAGE < SEEN ? (m->end - at) / PAGE : SEEN;
		ssize_t n = pread(pagemap, seen, want * sizeof(seen[0]), (off_t)(at / PAGE * sizeof(seen[0])));

		if (n != (ssize_t)(want * sizeof(seen[0])))
			return false;
		for (size_t i = 0; i < want; i++) {
			if (!(seen[i] & (PRESENT | SWAPPED))) /* other bits are set where nothing is */
				continue;
			if (start > at + i * PAGE)
				start = at + i * PAGE;
			end = at + (i + 1) * PAGE;
			count++;
		}
	}
	if (!count || (end - start) / PAGE > 2 * count + EMPTY_MAX)
		return false;
	/* Behind it a mapping of its own, which no page was ever written to. */
	if (end < m->end && mmap((void *)end, m->end - end, m->prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		end = m->end;
	m->start = start;
	m->end = end;
	return true;
}

static bool write_at(int fd, const char *from, size_t len, off_t at)
{
	while (len) {
		ssize_t n = pwrite(fd, from, len, at);

		if (n <= 0)
			return false;
		from += n;
		len -= (size_t)n;
		at += n;
	}
	return true;
}

/* Where the kernel can: sixteen pages of one are mapped at one fault, and counted as one. Where it cannot, nothing may be left behind the end: a guest
 * whose mapping grows would fill it, and what it filled would stay. */
static bool in_huge_pages(int file, off_t len)
{
	size_t size = ((size_t)len + HUGE - 1) & ~(HUGE - 1);
	char *room = mmap(NULL, size + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;
	bool whole = false;

	if (room == MAP_FAILED)
		return false;
	at = room + (HUGE - ((uintptr_t)room & (HUGE - 1)));
	if (ftruncate(file, (off_t)size) == 0 && mmap(at, size, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED)
		for (int i = 0; i < 3 && !whole; i++) /* a page that somebody looks at just then is no reason to give up */
			whole = madvise(at, size, MADV_COLLAPSE) == 0;
	munmap(room, size + HUGE);
	return whole;
}

/* A part of the image: where it is shown and where it is in the file. */
static struct part {
	uintptr_t start, end;
	int prot;
	off_t at;
	bool hot; /* text that every guest runs through */
} parts[MAPS_MAX];
static unsigned part_count;

/* Read-only parts of a file of programs that follow one another become one: every mapping costs something at a fork and at an end. The number of maps. */
static unsigned read_only(unsigned i, struct part *p)
{
	unsigned n = 0;

	for (*p = (struct part){ .start = maps[i].start, .end = maps[i].start }; i + n < map_count; n++) {
		const struct map *m = &maps[i + n];

		if (!m->private || !m->plain || !(m->prot & PROT_READ) || (m->prot & PROT_WRITE) || m->path[0] != '/' || m->start != p->end ||
		    strcmp(m->path, maps[i].path) != 0)
			break;
		p->end = m->end;
		p->prot |= m->prot;
	}
	/* Without program text, or what the linker has written to, it is somebody's data. */
	if (n && !(p->prot & PROT_EXEC) && (i + n == map_count || maps[i + n].start != p->end || !(maps[i + n].prot & PROT_WRITE)))
		return 0;
	p->hot = (p->prot & PROT_EXEC) && (strstr(maps[i].path, "/libc.so") || strstr(maps[i].path, "belljar-zygote"));
	return n;
}

static bool writable(struct map *m, int pagemap, struct part *p)
{
	if (!m->private || !m->plain || (m->prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) != (PROT_READ | PROT_WRITE) || busy(m) ||
	    (m->path[0] == '[' && strcmp(m->path, "[heap]") != 0) || (m->path[0] != '/' && !shrink_to_touched(pagemap, m)))
		return false;
	*p = (struct part){ .start = m->start, .end = m->end, .prot = m->prot };
	return true;
}

/*
 * A fork copies the tables of mappings that were written to, and those of a huge page by the run: cheaper than a fault for each sixteen pages of it in
 * every guest. So this becomes such a mapping, and all of it is looked at.
 */
static void map_for_guests(const struct part *p)
{
	volatile char *last = (volatile char *)p->end - 1;
	char same;

	if (mprotect((void *)p->start, p->end - p->start, p->prot | PROT_WRITE) < 0)
		return;
	same = *last;
	*last = same;
	if (mprotect((void *)p->start, p->end - p->start, p->prot) == 0)
		madvise((void *)p->start, p->end - p->start, MADV_POPULATE_READ);
}

/* Programs may be shown from it; the flag is unknown before 6.3, and not needed there. */
static int image_file(void)
{
	int fd = memfd_create("belljar-image", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	return fd >= 0 ? fd : memfd_create("belljar-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/*
 * Sealed: what a guest has of it is private, and no guest has a descriptor, but it is also true if one had. Nobody but its owner, which no guest is, may
 * ask which of its pages are in memory, or send them away.
 */
static bool settle_data(bool seats)
{
	auto_close int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), file = image_file();
	off_t len = 0;
	bool whole = true;

	if (file < 0 || pagemap < 0)
		return false;
	find_plain();
	/* First all of it, with room for no hole: the kernel would fill it at a guest's cost, for all guests. */
	for (unsigned i = 0, n; i < map_count; i += n ? n : 1) {
		struct part *p = &parts[part_count];

		n = read_only(i, p);
		if (!n && !writable(&maps[i], pagemap, p))
			continue;
		p->at = len;
		if (!write_at(file, (const char *)p->start, p->end - p->start, len))
			return false;
		len += (off_t)(p->end - p->start);
		part_count++;
	}
	if (!in_huge_pages(file, len) && ftruncate(file, len) < 0)
		return false;
	if (fchmod(file, 0400) < 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return false;
	/* The content is the same at every moment, since we are running on it. */
	for (unsigned i = 0; i < part_count; i++) {
		const struct part *p = &parts[i];

		if (mmap((void *)p->start, p->end - p->start, p->prot, MAP_PRIVATE | MAP_FIXED, file, p->at) == MAP_FAILED)
			whole = false;
		else if (p->hot && !seats)
			map_for_guests(p);
	}
	return whole;
}

/*
 * The free places of an allocator are all over its memory. With all of them taken, what guests allocate comes from one new pool for each size, and from
 * the end of the heap.
 */
#define POOL	   (16UL << 10) /* of obmalloc; a quarter of it before 3.10 */
#define POOL_HEAD  48
#define SMALL	   512 /* what obmalloc serves */
#define TRIES	   100000
#define TRIES_SIZE (4UL << 20) /* of one size: an interpreter without obmalloc would go on for long */
#define TOP	   120000 /* less than what malloc would map by itself */

void pages_use_up(void *(*object_malloc)(size_t))
{
	char *volatile p, *volatile top = NULL; /* nobody uses them: the compiler would leave the calls out */

	for (size_t size = 16; size <= SMALL; size += 16)
		for (size_t i = 0; i < TRIES_SIZE / size; i++) {
			p = object_malloc(size);
			if (!p || ((uintptr_t)p & (POOL - 1)) == POOL_HEAD)
				break;
		}
	/* The heap ends close behind the piece that came from its end. */
	for (int i = 0; i < 64 && (!top || (char *)sbrk(0) - top > 3 * TOP); i++) {
		p = malloc(TOP);
		if (p > top)
			top = p;
	}
	for (size_t size = TOP / 2; size >= 24; size = size > 2064 ? size / 2 : size - 16)
		for (int i = 0; i < TRIES; i++) {
			p = malloc(size);
			if (!p || p > top)
				break;
		}
}

_Bool pages_settle(_Bool data, _Bool sealed)
{
	bool text;

	if (!pages_begin())
		return false;
	text = settle_text(sealed);
	return data && pages_begin() && settle_data(sealed) && text;
}

static void tell(int out, const struct range *r)
{
	(void)!write(out, r, sizeof(*r));
}

/* The pages of a mapping that were written to: nobody else has them. */
static void tell_map(int pagemap, const struct map *m, int out)
{
	static uint64_t seen[SEEN];
	struct range r = { 0, 0 };

	for (uintptr_t at = m->start; at < m->end; at += SEEN * PAGE) {
		size_t want = (m->end - at) / PAGE < SEEN ? (m->end - at) / PAGE : SEEN;
		ssize_t n = pread(pagemap, seen, want * sizeof(seen[0]), (off_t)(at / PAGE * sizeof(seen[0])));

		for (ssize_t i = 0; i < n / (ssize_t)sizeof(seen[0]); i++) {
			uintptr_t page = at + (uintptr_t)i * PAGE;

			if ((seen[i] & (PRESENT | FILE_PAGE | EXCLUSIVE)) != (PRESENT | EXCLUSIVE))
				continue;
			if (r.end == page) {
				r.end = page + PAGE;
				continue;
			}
			if (r.end)
				tell(out, &r);
			r = (struct range){ page, page + PAGE };
		}
	}
	if (r.end)
		tell(out, &r);
}

static int telling = -1;

void pages_tell_to(int out)
{
	telling = out;
}

_Bool pages_tell(void)
{
	auto_close int pagemap = telling < 0 ? -1 : open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	for (unsigned i = 0; telling >= 0 && pagemap >= 0 && i < map_count; i++)
		if (maps[i].private && (maps[i].prot & PROT_WRITE))
			tell_map(pagemap, &maps[i], telling);
	return telling >= 0;
}

static bool known(uintptr_t page)
{
	for (unsigned i = 0; i < range_count[PAGES_ALL]; i++)
		if (ranges[PAGES_ALL][i].start <= page && page < ranges[PAGES_ALL][i].end)
			return true;
	return false;
}

void pages_learn(int in, enum pages_set set)
{
	struct range r, *last = NULL;

	while (fd_read_all(in, &r, sizeof(r)) == 0)
		for (uintptr_t page = r.start; page < r.end; page += PAGE) {
			if (set == PAGES_DRIVER && known(page))
				continue;
			if (last && last->end == page) {
				last->end = page + PAGE;
			} else if (range_count[set] < RANGES_MAX) {
				last = &ranges[set][range_count[set]++];
				*last = (struct range){ page, page + PAGE };
			}
		}
}

void pages_check(enum pages_set set)
{
	unsigned n = 0;

	for (unsigned i = 0; i < range_count[set]; i++) {
		struct range r = ranges[set][i];

		if (madvise((void *)r.start, r.end - r.start, MADV_POPULATE_WRITE) < 0)
			continue;
		if (n < i)
			ranges[set][n] = r;
		n++;
	}
	if (n < range_count[set])
		range_count[set] = n;
}

static void touch(uintptr_t start, uintptr_t end)
{
	for (uintptr_t at = start; at < end; at += PAGE)
		__atomic_fetch_or((char *)at, 0, __ATOMIC_RELAXED);
}

/* A fault for each costs less than a call for each few. */
void pages_touch(enum pages_set set)
{
	for (unsigned i = 0; i < range_count[set]; i++)
		touch(ranges[set][i].start, ranges[set][i].end);
}

#define HEAP_END (16 * PAGE)

void pages_touch_heap(void)
{
	for (unsigned i = 0; i < map_count; i++)
		if (strcmp(maps[i].path, "[heap]") == 0 && (maps[i].prot & PROT_WRITE) && maps[i].end - maps[i].start <= HEAP_END)
			touch(maps[i].start, maps[i].end);
}
