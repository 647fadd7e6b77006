/* SPDX-License-Identifier: Apache-2.0 */
/* Build tool: compiles src/kernel/seccomp*_table.h to BPF programs and writes them, with name tables, as C source. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <openssl/sha.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action { ACT_ALLOW, ACT_EPERM, ACT_ENOSYS, ACT_ZERO, ACT_NOTIFY, ACT_EAFNOSUPPORT, ACT_EPROTONOSUPPORT, ACT_EOPNOTSUPP, ACT_EINVAL, ACT_RULES };

static const uint32_t returns[] = {
	[ACT_ALLOW] = SECCOMP_RET_ALLOW,
	[ACT_EPERM] = SECCOMP_RET_ERRNO | EPERM,
	[ACT_ENOSYS] = SECCOMP_RET_ERRNO | ENOSYS,
	[ACT_ZERO] = SECCOMP_RET_ERRNO | 0,
	[ACT_NOTIFY] = SECCOMP_RET_USER_NOTIF,
	[ACT_EAFNOSUPPORT] = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
	[ACT_EPROTONOSUPPORT] = SECCOMP_RET_ERRNO | EPROTONOSUPPORT,
	[ACT_EOPNOTSUPP] = SECCOMP_RET_ERRNO | EOPNOTSUPP,
	[ACT_EINVAL] = SECCOMP_RET_ERRNO | EINVAL,
};

struct cond {
	int set;
	unsigned arg;
	uint32_t mask, value;
	int high; /* bits 32 to 63 instead of 0 to 31 */
};

struct row {
	const char *name;
	enum action action;
	int when;
	struct cond c[3];
};

#define ARG(i, m, v)	  { 1, (i), (m), (v), 0 }
#define IS_NULL(i)	  { 1, (i), ~0U, 0, 0 }, { 1, (i), ~0U, 0, 1 }
#define ALLOW(n)	  { #n, ACT_ALLOW, 0, { { 0 } } },
#define DENY(n)		  { #n, ACT_EPERM, 0, { { 0 } } },
#define ZERO(n)		  { #n, ACT_ZERO, 0, { { 0 } } },
#define KILL(n)		  { #n, ACT_NOTIFY, 0, { { 0 } } },
#define OTHER(n, a)	  { #n, (a), 0, { { 0 } } },
#define WHEN(n, a, ...)	  { #n, (a), 1, { __VA_ARGS__ } },

static const struct row guest_rows[] = {
#include "kernel/seccomp_table.h"
};

static const struct row front_rows[] = {
#include "kernel/seccomp_front_table.h"
};

static const struct row store_rows[] = {
#include "kernel/seccomp_store_table.h"
};

static const struct row notary_rows[] = {
#include "kernel/seccomp_notary_table.h"
};

/* A profile: its rows, and what answers calls that it does not name and calls of other architectures. */
enum { GUEST, FRONT, STORE, NOTARY };

static const struct table {
	const struct row *rows;
	size_t count;
	enum action other, foreign;
} tables[] = {
	[GUEST] = { guest_rows, sizeof(guest_rows) / sizeof(guest_rows[0]), ACT_ENOSYS, ACT_NOTIFY },
	[FRONT] = { front_rows, sizeof(front_rows) / sizeof(front_rows[0]), ACT_EPERM, ACT_EPERM },
	[STORE] = { store_rows, sizeof(store_rows) / sizeof(store_rows[0]), ACT_EPERM, ACT_EPERM },
	[NOTARY] = { notary_rows, sizeof(notary_rows) / sizeof(notary_rows[0]), ACT_EPERM, ACT_EPERM },
};

static const struct table *table;
static const struct row *rows;
#define ROWS (table->count)

/*
 * A zygote's own filter: the guest's, with the two calls open that put a child into its jar. The child inherits it and adds the last filter, a
 * few instructions that close them again as the guest's table has it. Both together answer as the guest's does (tests/unit/test_seccomp.c).
 */
static const char *const zygote_open[] = { "clone3", "setns" };
#define ZYGOTE_OPEN (sizeof(zygote_open) / sizeof(zygote_open[0]))

/* With an allow-list: starts are reported, so that refusals can be told, and there are no files in memory, which no mount and no Landlock rule covers. */
static const struct row allow_rows[] = {
	{ "execve", ACT_NOTIFY, 0, { { 0 } } },
	{ "execveat", ACT_NOTIFY, 0, { { 0 } } },
	{ "memfd_create", ACT_ENOSYS, 0, { { 0 } } },
};
#define ALLOW_ROWS (sizeof(allow_rows) / sizeof(allow_rows[0]))

/*
 * Of a zygote that bears seats (src/jar/seat.h): what changes a process's memory in a way that a list of its mappings does not show is reported, and goes on. After the
 * table's own conditions; the last row of a call is its answer to all the rest.
 */
static const struct row seat_rows[] = {
	/* Only what is about pages that are there, or not. */
	WHEN(madvise, ACT_ALLOW, ARG(2, ~0U, 3)) WHEN(madvise, ACT_ALLOW, ARG(2, ~0U, 4)) WHEN(madvise, ACT_ALLOW, ARG(2, ~0U, 8))
	WHEN(madvise, ACT_ALLOW, ARG(2, ~0U, 20)) WHEN(madvise, ACT_ALLOW, ARG(2, ~0U, 21)) WHEN(madvise, ACT_ALLOW, ARG(2, ~0U, 22))
	WHEN(madvise, ACT_ALLOW, ARG(2, ~0U, 23)) WHEN(madvise, ACT_ALLOW, ARG(2, ~0U, 24))
	KILL(madvise)
	/* MAP_LOCKED, MAP_GROWSDOWN, MAP_DROPPABLE; MAP_STACK and MAP_NORESERVE in a place that is asked for; what may only be executed takes a protection key. */
	WHEN(mmap, ACT_NOTIFY, ARG(3, 0x20010U, 0x20010U)) WHEN(mmap, ACT_NOTIFY, ARG(3, 0x4010U, 0x4010U))
	WHEN(mmap, ACT_NOTIFY, ARG(3, 0x120000U, 0x120000U)) WHEN(mmap, ACT_NOTIFY, ARG(3, 0x104000U, 0x104000U))
	WHEN(mmap, ACT_NOTIFY, ARG(3, 0x2000U, 0x2000U)) WHEN(mmap, ACT_NOTIFY, ARG(3, 0x100U, 0x100U)) WHEN(mmap, ACT_NOTIFY, ARG(3, 0xfU, 8))
	WHEN(mmap, ACT_NOTIFY, ARG(2, 7, 4)) ALLOW(mmap)
	WHEN(mprotect, ACT_NOTIFY, ARG(2, 7, 4)) ALLOW(mprotect)
	KILL(mlock) KILL(mlock2) KILL(mlockall) KILL(pkey_alloc) KILL(pkey_free) KILL(pkey_mprotect)
	/* All but registrations. */
	WHEN(membarrier, ACT_ALLOW, ARG(0, ~0U, 0)) WHEN(membarrier, ACT_ALLOW, ARG(0, ~0U, 1)) WHEN(membarrier, ACT_ALLOW, ARG(0, ~0U, 2))
	WHEN(membarrier, ACT_ALLOW, ARG(0, ~0U, 8)) WHEN(membarrier, ACT_ALLOW, ARG(0, ~0U, 32)) WHEN(membarrier, ACT_ALLOW, ARG(0, ~0U, 128))
	WHEN(membarrier, ACT_ALLOW, ARG(0, ~0U, 512)) KILL(membarrier)
	/* PR_SET_THP_DISABLE, PR_SET_MDWE, PR_SET_VMA. */
	WHEN(prctl, ACT_NOTIFY, ARG(0, ~0U, 41)) WHEN(prctl, ACT_NOTIFY, ARG(0, ~0U, 65))
	WHEN(prctl, ACT_NOTIFY, ARG(0, ~0U, 0x53564d41U)) ALLOW(prctl)
	/* Addresses with tags; another vdso. */
	WHEN(arch_prctl, ACT_NOTIFY, ARG(0, 0xf000U, 0x4000U)) WHEN(arch_prctl, ACT_NOTIFY, ARG(0, 0xf000U, 0x2000U)) ALLOW(arch_prctl)
	/* Who becomes another program leaves its memory behind: the seat would keep it. */
	KILL(execve) KILL(execveat)
};
#define SEAT_ROWS (sizeof(seat_rows) / sizeof(seat_rows[0]))

/*
 * Where no memory cgroup counts what a guest allocates: files without a name (memfd) and System V objects are in no mapping and on no mount that belljar could look
 * at, so there are none. UNIX sockets are reported and counted as the others are (src/jar/sockets.h), and their buffers cannot be enlarged. Before the table's own rows.
 */
static const struct row uncounted_rows[] = {
	OTHER(memfd_create, ACT_ENOSYS) OTHER(shmget, ACT_ENOSYS) OTHER(semget, ACT_ENOSYS) OTHER(msgget, ACT_ENOSYS)
	WHEN(socket, ACT_NOTIFY, ARG(0, ~0U, 1)) WHEN(socketpair, ACT_NOTIFY, ARG(0, ~0U, 1))
	WHEN(setsockopt, ACT_ZERO, ARG(1, ~0U, 1), ARG(2, ~0U, 7))
};
#define UNCOUNTED_ROWS (sizeof(uncounted_rows) / sizeof(uncounted_rows[0]))

enum variant { PLAIN, ZYGOTE, ALLOWED, SEAT };

#define NR_MAX	 1024
#define X32_BIT	 0x40000000U
#define PROG_MAX 4096

static struct sock_filter prog[PROG_MAX];
static size_t prog_len;

static void die(const char *what, const char *name)
{
	fprintf(stderr, "seccomp-gen: %s: %s\n", what, name);
	exit(1);
}

static size_t emit(uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (prog_len == PROG_MAX)
		die("program too long", "");
	prog[prog_len] = (struct sock_filter){ code, jt, jf, k };
	return prog_len++;
}

static void emit_return(enum action a)
{
	emit(BPF_RET | BPF_K, 0, 0, returns[a]);
}

static bool has_row(const struct row *r, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(r[i].name, name) == 0)
			return true;
	return false;
}

/* WHEN rows in order, then the plain row; arguments are compared on their low 32 bits (little endian), pointers on both halves. True when it came to the plain
 * row; not with `conditions`, which leaves it out. */
static bool emit_rows(const struct row *r, size_t count, const char *name, bool conditions)
{
	for (size_t i = 0; i < count; i++) {
		size_t jumps[3], n = 0;

		if (strcmp(r[i].name, name) != 0 || (conditions && !r[i].when))
			continue;
		for (int k = 0; r[i].when && k < 3 && r[i].c[k].set; k++) {
			const struct cond *c = &r[i].c[k];

			emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args[c->arg]) + (c->high ? 4 : 0));
			if (c->mask != ~0U)
				emit(BPF_ALU | BPF_AND | BPF_K, 0, 0, c->mask);
			jumps[n++] = emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, c->value);
		}
		emit_return(r[i].action);
		for (size_t k = 0; k < n; k++)
			prog[jumps[k]].jf = (uint8_t)(prog_len - jumps[k] - 1);
		if (!r[i].when)
			return true;
	}
	return false;
}

static bool with_seats, uncounted; /* the variant that is being built */

static void emit_rules(const char *name)
{
	bool done;

	if (uncounted)
		emit_rows(uncounted_rows, UNCOUNTED_ROWS, name, true);
	if (with_seats && has_row(seat_rows, SEAT_ROWS, name)) {
		emit_rows(rows, ROWS, name, true);
		done = emit_rows(seat_rows, SEAT_ROWS, name, false);
	} else {
		done = emit_rows(rows, ROWS, name, false);
	}
	if (!done)
		die("WHEN without a plain row", name);
}

struct range {
	uint32_t first; /* up to the next range's first */
	enum action action;
	const char *rules; /* when ACT_RULES */
};

static struct range ranges[NR_MAX + 8];
static size_t range_count;

static void add_range(uint32_t first, enum action a, const char *rules)
{
	if (range_count && a != ACT_RULES && ranges[range_count - 1].action == a)
		return;
	ranges[range_count++] = (struct range){ first, a, rules };
}

static void emit_leaf(const struct range *r)
{
	if (r->action == ACT_RULES)
		emit_rules(r->rules);
	else
		emit_return(r->action);
}

/* Binary search; the accumulator holds the number. BPF's conditional jumps reach 255 instructions: past that the right half is reached by a
 * long jump in front of the left one. */
static void emit_tree(size_t lo, size_t hi)
{
	size_t mid = (lo + hi) / 2, test, left, len;

	if (hi - lo == 1) {
		emit_leaf(&ranges[lo]);
		return;
	}
	test = emit(BPF_JMP | BPF_JGE | BPF_K, 0, 0, ranges[mid].first);
	left = prog_len;
	emit_tree(lo, mid);
	len = prog_len - left;
	if (len <= 255) {
		prog[test].jt = (uint8_t)len;
	} else {
		/* Jumps inside the left half are relative: it can be moved by one. */
		emit_return(ACT_ENOSYS);
		memmove(prog + left + 1, prog + left, len * sizeof(prog[0]));
		prog[left] = (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, (uint32_t)len };
		prog[test].jf = 1;
	}
	emit_tree(mid, hi);
}

static bool is_open(const char *name)
{
	for (size_t i = 0; i < ZYGOTE_OPEN; i++)
		if (strcmp(zygote_open[i], name) == 0)
			return true;
	return false;
}

static int resolve(const char *name)
{
	int nr = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, name);

	if (nr < 0 || nr >= NR_MAX)
		die("no such system call on this architecture", name);
	return nr;
}

static enum action action_of(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, name) == 0 && !rows[i].when)
			return rows[i].action;
	return ACT_ENOSYS;
}

static void build(const struct table *t, enum variant variant, bool without_memory)
{
	static const struct row open_row = { "open", ACT_ALLOW, 0, { { 0 } } };
	const struct row *plain[NR_MAX] = { 0 };
	bool zygote = variant == ZYGOTE || variant == SEAT;
	int when[NR_MAX] = { 0 };

	table = t;
	rows = t->rows;
	with_seats = variant == SEAT;
	uncounted = without_memory;
	prog_len = range_count = 0;
	for (size_t i = 0; i < ROWS; i++) {
		int nr = resolve(rows[i].name);

		if (zygote && is_open(rows[i].name))
			continue;
		if (rows[i].when) {
			when[nr] = 1;
			continue;
		}
		if (plain[nr])
			die("two rows for one system call", rows[i].name);
		plain[nr] = &rows[i];
	}
	for (size_t i = 0; zygote && i < ZYGOTE_OPEN; i++)
		plain[resolve(zygote_open[i])] = &open_row;
	for (size_t i = 0; variant == ALLOWED && i < ALLOW_ROWS; i++)
		plain[resolve(allow_rows[i].name)] = &allow_rows[i];
	for (size_t i = 0; with_seats && i < SEAT_ROWS; i++)
		when[resolve(seat_rows[i].name)] = 1;
	for (size_t i = 0; uncounted && i < UNCOUNTED_ROWS; i++) {
		if (uncounted_rows[i].when)
			when[resolve(uncounted_rows[i].name)] = 1;
		else
			plain[resolve(uncounted_rows[i].name)] = &uncounted_rows[i];
	}
	for (uint32_t nr = 0; nr < NR_MAX; nr++) {
		if (when[nr] && !plain[nr])
			die("WHEN without a plain row", "number");
		add_range(nr, !plain[nr] ? table->other : when[nr] ? ACT_RULES : plain[nr]->action,
			  plain[nr] ? plain[nr]->name : NULL);
	}
	/* x32 is foreign; every other large or negative number is merely unknown. */
	add_range(NR_MAX, table->other, NULL);
	add_range(X32_BIT, table->foreign, NULL);
	add_range(X32_BIT + NR_MAX, table->other, NULL);

	emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
	emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
	emit_return(table->foreign);
	emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	emit_tree(0, range_count);
}

/* Other architectures are the first filter's to report: an error number here would hide them. */
static void build_last(void)
{
	prog_len = 0;
	emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
	emit(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
	emit_return(ACT_ALLOW);
	emit(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ZYGOTE_OPEN; i++) {
		emit(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)resolve(zygote_open[i]));
		emit_return(action_of(zygote_open[i]));
	}
	emit_return(ACT_ALLOW);
}

static void print_filter(const char *name)
{
	printf("const struct sock_filter seccomp_%s_filter[] = {\n", name);
	for (size_t i = 0; i < prog_len; i++)
		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", prog[i].code, prog[i].jt, prog[i].jf, prog[i].k);
	printf("};\nconst size_t seccomp_%s_filter_len = %zu;\n", name, prog_len);
}

/* Calls that are reported for a seat's sake: the guest's table lets them pass, so nothing else can be meant. */
static void print_notes(void)
{
	printf("const int seccomp_notes[] = { ");
	for (size_t i = 0; i < SEAT_ROWS; i++)
		if (!seat_rows[i].when)
			printf("%d, ", resolve(seat_rows[i].name));
	printf("-1 };\n\n");
}

static void print_names(const char *table, uint32_t arch)
{
	printf("static const char *const %s[] = {\n", table);
	for (int nr = 0; nr < NR_MAX; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(arch, nr);

		if (name)
			printf("\t[%d] = \"%s\",\n", nr, name);
		free(name);
	}
	printf("};\n\n");
}

/* A guest's profile has a name: a hash of the program. */
static void print_profile(const char *name)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)prog, prog_len * sizeof(prog[0]), hash);
	printf("const char seccomp_%s_profile[] = \"", name);
	for (int i = 0; i < 6; i++)
		printf("%02x", hash[i]);
	printf("\";\n\n");
}

int main(void)
{
	printf("/* Made by tools/seccomp-gen.c from src/kernel/seccomp*_table.h: do not edit. */\n"
	       "#include \"kernel/seccomp.h\"\n\n#include <linux/audit.h>\n\n");
	build(&tables[FRONT], PLAIN, false);
	print_filter("front");
	build(&tables[STORE], PLAIN, false);
	print_filter("store");
	build(&tables[NOTARY], PLAIN, false);
	print_filter("notary");
	build(&tables[GUEST], ZYGOTE, false);
	print_filter("zygote");
	build(&tables[GUEST], ZYGOTE, true);
	print_filter("zygote_uncounted");
	build(&tables[GUEST], SEAT, false);
	print_filter("seat");
	build_last();
	print_filter("last");
	build(&tables[GUEST], PLAIN, false);
	print_filter("guest");
	print_profile("guest");
	build(&tables[GUEST], PLAIN, true);
	print_filter("guest_uncounted");
	print_profile("guest_uncounted");
	build(&tables[GUEST], ALLOWED, false);
	print_filter("allow");
	print_profile("allow");
	build(&tables[GUEST], ALLOWED, true);
	print_filter("allow_uncounted");
	print_profile("allow_uncounted");
	print_notes();
	print_names("names_x86_64", SCMP_ARCH_X86_64);
	print_names("names_i386", SCMP_ARCH_X86);
	printf("#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))\n\n"
	       "const char *seccomp_syscall_name(uint32_t arch, int nr)\n{\n"
	       "\tif (arch == AUDIT_ARCH_I386)\n"
	       "\t\treturn nr >= 0 && nr < COUNT(names_i386) ? names_i386[nr] : 0;\n"
	       "\tnr &= ~0x%x;\n"
	       "\treturn nr >= 0 && nr < COUNT(names_x86_64) ? names_x86_64[nr] : 0;\n}\n\n"
	       "const char *seccomp_arch_name(uint32_t arch, int nr)\n{\n"
	       "\tif (arch == AUDIT_ARCH_I386)\n\t\treturn \"i386\";\n"
	       "\tif (arch != AUDIT_ARCH_X86_64)\n\t\treturn \"unknown\";\n"
	       "\treturn nr & 0x%x ? \"x32\" : \"x86_64\";\n}\n",
	       X32_BIT, X32_BIT);
	return 0;
}
