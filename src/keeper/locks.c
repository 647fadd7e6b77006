/* SPDX-License-Identifier: Apache-2.0 */
/* File locks of a jar: kernel memory that no cgroup counts. */
#include "keeper/locks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hook.h"
#include "keeper/scan.h"

static uint64_t kernel_kib(void)
{
	static const char key[] = "\nSUnreclaim:";
	char text[4096];
	const char *at;

	if (fd_read_head(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) < 0)
		return 0;
	at = strstr(text, key);
	return at ? strtoull(at + sizeof(key) - 1, NULL, 10) : 0;
}

static uint64_t most(uint64_t memory_bytes)
{
	uint64_t n = memory_bytes / LOCKS_BYTES;

	return n < LOCKS_MIN ? LOCKS_MIN : n > LOCKS_MAX ? LOCKS_MAX : n;
}

/* "12: POSIX  ADVISORY  WRITE 4711 00:2f:17 0 EOF": the fifth word is the owner. A lock that waits for another has "->" behind its number. */
static pid_t owner_of(const char *line)
{
	const char *at = line;

	for (int word = strstr(line, "->") ? -1 : 0; word < 4; word++) {
		at += strcspn(at, " \n");
		at += strspn(at, " ");
	}
	return (pid_t)strtol(at, NULL, 10);
}

struct count {
	uint64_t own, all;
	bool cut; /* there was no time for the rest */
};

/* Stops above `bound`. The kernel gives out a page at a time, and what takes long is each page. */
static struct count count(pid_t guest, struct idmap_range uids, uint64_t bound)
{
	uint64_t until = clock_mono_ns() + LOCKS_LOOK_NS;
	struct count n = { 0 };
	pid_t last = 0;
	bool inside = false;
	char line[256];
	FILE *f = fopen("/proc/locks", "re");

	if (!f)
		return n;
	while (n.own <= bound && !n.cut && fgets(line, sizeof(line), f)) {
		pid_t pid = owner_of(line);

		if (pid > 0 && pid != last)
			inside = scan_same_jar(guest, pid, uids);
		last = pid;
		n.own += pid > 0 && inside;
		n.cut = ++n.all % 32 == 0 && clock_mono_ns() > until;
	}
	fclose(f);
	return n;
}

uint64_t locks_too_many(struct locks *l, pid_t guest, struct idmap_range uids, uint64_t memory_bytes, uint64_t now_ns)
{
	uint64_t kib = kernel_kib(), bound = most(memory_bytes);
	struct count n;

	if (!l->base_kib || kib < l->base_kib)
		l->base_kib = kib;
	if (kib < l->base_kib + LOCKS_GROWN_KIB || (l->looked_ns && kib < l->looked_kib + LOCKS_AGAIN_KIB && now_ns < l->looked_ns + LOCKS_AGAIN_NS) ||
	    hook_disabled("locks"))
		return 0;
	l->looked_kib = kib;
	l->looked_ns = now_ns;
	n = count(guest, uids, bound);
	if (n.own > bound)
		return n.own;
	return n.cut && n.own >= LOCKS_SAMPLE && n.own * 10 >= n.all * 9 ? bound + 1 : 0;
}
