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

#define JARS_MAX 128

/* The last reading. One for the whole process: the list is the host's. */
static struct {
	uint64_t at_ns, next_ns;
	bool cut;
	uint64_t all;
	unsigned count;
	struct {
		char key[SCAN_KEY];
		uint64_t locks;
	} jars[JARS_MAX];
} seen;

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

/* Where a jar's locks are counted; NULL: it has none, or there are too many jars. */
static uint64_t *counter_of(const char *key, bool make)
{
	for (unsigned i = 0; i < seen.count; i++)
		if (strcmp(seen.jars[i].key, key) == 0)
			return &seen.jars[i].locks;
	if (!make || seen.count == JARS_MAX)
		return NULL;
	memcpy(seen.jars[seen.count].key, key, SCAN_KEY);
	seen.jars[seen.count].locks = 0;
	return &seen.jars[seen.count++].locks;
}

/* The kernel gives out a page at a time, and what takes long is each page. */
static void read_locks(uint64_t now)
{
	char line[256], key[SCAN_KEY];
	uint64_t *counter = NULL;
	pid_t last = 0;
	FILE *f = fopen("/proc/locks", "re");

	seen.at_ns = now;
	seen.cut = false;
	seen.all = seen.count = 0;
	while (f && !seen.cut && fgets(line, sizeof(line), f)) {
		pid_t pid = owner_of(line);

		if (pid > 0 && pid != last)
			counter = scan_key(pid, key) ? counter_of(key, true) : NULL;
		last = pid;
		if (pid > 0 && counter)
			++*counter;
		seen.cut = ++seen.all % 32 == 0 && clock_mono_ns() > now + LOCKS_LOOK_NS;
	}
	if (f)
		fclose(f);
	seen.next_ns = now + 10 * (clock_mono_ns() - now) + 50 * NS_PER_MS;
}

static bool is_suspect(uint64_t own, uint64_t grown_kib, uint64_t bound)
{
	return seen.cut && own >= LOCKS_SAMPLE && own * LOCKS_SHARE >= seen.all && grown_kib * 1024 / LOCKS_EACH * own / seen.all > bound;
}

uint64_t locks_too_many(struct locks *l, pid_t guest, uint64_t memory_bytes, uint64_t now_ns)
{
	uint64_t kib = kernel_kib();
	char key[SCAN_KEY];
	const uint64_t *own;

	if (!l->base_kib || kib < l->base_kib)
		l->base_kib = kib;
	if (kib < l->base_kib + LOCKS_GROWN_KIB || hook_disabled("locks"))
		return 0;
	if (now_ns >= seen.next_ns)
		read_locks(now_ns);
	if (l->seen_ns == seen.at_ns || !scan_key(guest, key))
		return 0;
	l->seen_ns = seen.at_ns;
	own = counter_of(key, false);
	if (!own || !is_suspect(*own, kib - l->base_kib, most(memory_bytes)))
		l->suspected = 0;
	else
		l->suspected += *own >= LOCKS_CLEAR && *own * 2 >= seen.all ? LOCKS_SUSPECT : 1;
	return own && (*own > most(memory_bytes) || l->suspected >= LOCKS_SUSPECT) ? *own : 0;
}
