/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp: the compiled filter is evaluated here, for every number, and compared with seccomp.golden (KS-23, KS-24). */
#include "unit.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "kernel/seccomp.h"

/*
 * Usage: test_seccomp GOLDEN. With BELLJAR_GOLDEN=write the file is written anew instead of compared: a change of the profile shows
 * as a change of that file, for a person to read.
 */
static const char *golden_path;

#define X32 0x40000000U

/* Which arguments the last evaluation looked at, and of which of them also at bits 32 to 63. */
static unsigned args_read, high_read;

#define ARGS	offsetof(struct seccomp_data, args)
/* The one upper half that is compared: of prlimit64's new limit, a pointer (KS-18). All else are ints. */
#define POINTER (ARGS + 2 * 8 + 4)

/* The kernel's machine, as far as filters of ours use it. Anything else ends the test. */
static uint32_t evaluate_program(const struct sock_filter *program, size_t len, const struct seccomp_data *d)
{
	uint32_t acc = 0, steps = 0;

	args_read = high_read = 0;
	for (size_t pc = 0; pc < len; pc++) {
		const struct sock_filter *i = &program[pc];

		assert_true(++steps <= len);
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof(*d));
			memcpy(&acc, (const char *)d + i->k, 4);
			if (i->k >= ARGS)
				*((i->k - ARGS) % 8 ? &high_read : &args_read) |= 1U << (i->k - ARGS) / 8;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			acc &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += acc == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += acc >= i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("instruction %zu has code 0x%x", pc, i->code);
		}
	}
	fail_msg("fell off the end");
	return 0;
}

static uint32_t evaluate(const struct seccomp_data *d)
{
	return evaluate_program(seccomp_guest_filter, seccomp_guest_filter_len, d);
}

static uint32_t ask(uint32_t arch, uint32_t nr, const uint64_t args[6])
{
	struct seccomp_data d = { .nr = (int)nr, .arch = arch, .instruction_pointer = 0xdeadbeefcafe };

	if (args)
		memcpy(d.args, args, sizeof(d.args));
	return evaluate(&d);
}

static uint32_t ask1(int nr, unsigned arg, uint64_t value)
{
	uint64_t args[6] = { 0 };

	args[arg] = value;
	return ask(AUDIT_ARCH_X86_64, (uint32_t)nr, args);
}

static const char *name_of(uint32_t verdict)
{
	static char other[32];

	switch (verdict) {
	case SECCOMP_RET_ALLOW:
		return "allow";
	case SECCOMP_RET_USER_NOTIF:
		return "notify";
	case SECCOMP_RET_ERRNO | EPERM:
		return "EPERM";
	case SECCOMP_RET_ERRNO | ENOSYS:
		return "ENOSYS";
	case SECCOMP_RET_ERRNO | EAFNOSUPPORT:
		return "EAFNOSUPPORT";
	case SECCOMP_RET_ERRNO | EPROTONOSUPPORT:
		return "EPROTONOSUPPORT";
	case SECCOMP_RET_ERRNO | EOPNOTSUPP:
		return "EOPNOTSUPP";
	case SECCOMP_RET_ERRNO | EINVAL:
		return "EINVAL";
	case SECCOMP_RET_ERRNO:
		return "zero";
	default:
		snprintf(other, sizeof(other), "0x%x", verdict);
		return other;
	}
}

#define ERRNO(n) (SECCOMP_RET_ERRNO | (n))

/* ---- the program itself ---- */

TEST(the_program_is_sound)
{
	size_t n = seccomp_guest_filter_len, pointers = 0;

	assert_true(n > 10 && n < BPF_MAXINSNS);
	for (size_t pc = 0; pc < n; pc++) {
		const struct sock_filter *i = &seccomp_guest_filter[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			/* The number, the architecture, or the LOW half of an argument: with the high half never loaded, bits 32 to 63 cannot
			 * change a verdict, whatever their value. But for one pointer, in one place. */
			ROW_OK(i->k == offsetof(struct seccomp_data, nr) || i->k == offsetof(struct seccomp_data, arch) || i->k == POINTER ||
			       (i->k >= ARGS && i->k < sizeof(struct seccomp_data) && (i->k - ARGS) % 8 == 0), "instruction %zu loads %u", pc, i->k);
			pointers += i->k == POINTER;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
		case BPF_RET | BPF_K:
			break;
		case BPF_JMP | BPF_JA:
			ROW_OK(i->k < n && pc + 1 + i->k < n, "instruction %zu", pc);
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
			ROW_OK(pc + 1 + i->jt < n && pc + 1 + i->jf < n, "instruction %zu", pc);
			break;
		default:
			fail_msg("instruction %zu has code 0x%x", pc, i->code);
		}
	}
	assert_int_equal(pointers, 1);
	/* Jumps only go forward, so a program whose last instruction returns cannot fall off its end. */
	assert_int_equal(seccomp_guest_filter[n - 1].code, BPF_RET | BPF_K);
	/* The architecture before anything else. */
	assert_int_equal(seccomp_guest_filter[0].k, offsetof(struct seccomp_data, arch));
	assert_int_equal(strlen(seccomp_guest_profile), 12);
}

/* Every return value is one that we know: no RET_TRACE, RET_LOG, RET_TRAP by accident. */
TEST(returns_are_known)
{
	for (size_t pc = 0; pc < seccomp_guest_filter_len; pc++)
		if (seccomp_guest_filter[pc].code == (BPF_RET | BPF_K))
			ROW_OK(strncmp(name_of(seccomp_guest_filter[pc].k), "0x", 2) != 0, "instruction %zu returns 0x%x", pc, seccomp_guest_filter[pc].k);
}

/* Every instruction can be reached: a dead one is a rule that does not work. */
TEST(nothing_is_dead)
{
	size_t n = seccomp_guest_filter_len;
	bool *live = calloc(n + 1, 1);

	live[0] = true;
	for (size_t pc = 0; pc < n; pc++) {
		const struct sock_filter *i = &seccomp_guest_filter[pc];

		ROW_OK(live[pc], "instruction %zu", pc);
		if (i->code == (BPF_JMP | BPF_JA)) {
			live[pc + 1 + i->k] = true;
		} else if (BPF_CLASS(i->code) == BPF_JMP) {
			live[pc + 1 + i->jt] = true;
			live[pc + 1 + i->jf] = true;
		} else if (BPF_CLASS(i->code) != BPF_RET) {
			live[pc + 1] = true;
		}
	}
	free(live);
}

/* ---- the golden table ---- */

static const uint32_t odd_numbers[] = {
	1024, 4096, 0xffff, 0x10000, 0x3fffffff, 0x40000000, 0x40000001, 0x400003ff, 0x40000400, 0x4000ffff, 0x7fffffff, 0x80000000, 0xbfffffff,
	0xc0000000, 0xc0000001, 0xfffffffe, 0xffffffff,
};

static void add_arch(struct buf *b, const char *title, uint32_t arch, uint32_t bit)
{
	uint32_t start = 0, before = 0;

	/* Single numbers where system calls are, ranges above. */
	for (uint32_t nr = 0; nr <= 1024; nr++) {
		uint32_t v = nr < 1024 ? ask(arch, nr | bit, NULL) : 0;

		if (nr < 512 && arch == AUDIT_ARCH_X86_64 && !bit) {
			const char *name = seccomp_syscall_name(arch, (int)nr);

			buf_fmt(b, "%s %u %s%s # %s\n", title, nr, name_of(v), args_read ? " by arguments" : "", name ? name : "-");
			start = nr + 1;
		} else if (nr > start && v != before) {
			buf_fmt(b, "%s %u-%u %s\n", title, start, nr - 1, name_of(before));
			start = nr;
		}
		before = v;
	}
}

/* Values that mean something to a rule or stand beside one. */
static const struct {
	int nr;
	const char *name;
	unsigned arg;
	uint32_t values[24];
	size_t count;
} int_rules[] = {
#define RULE(name, arg, ...) { SYS_##name, #name, arg, { __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t) }
	RULE(clone, 0, 0, 17, 0x100, 0x8000, 0x10000, 0x20000, 0x80, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80000000,
	     0x3d0f00, 0x1200011, 0x7e028000, 0xffffffff),
	RULE(fadvise64, 3, 0, 1, 2, 3, 4, 5, 6, 0xffffffff),
	RULE(fcntl, 1, 0, 1, 2, 3, 4, 6, 7, 8, 36, 37, 38, 39, 1023, 1024, 1025, 1026, 1027, 1030, 1033, 1036),
	RULE(ioctl, 1, 0, 0x5401, 0x5410, 0x5411, 0x5412, 0x5413, 0x541b, 0x541c, 0x541d, 0x541e, 0x5421, 0x5422, 0x5423, 0x5424, 0x40046602,
	     0x40086602, 0x40087602, 0x401c5820, 0x80086601, 0x40049409, 0x5450, 0x5451),
	RULE(kill, 1, 0, 1, 9, 15, 31, 64, 65, 0x626a656d, 0x626a656e, 0x626a656f, 0x7fffffff, 0xffffffff),
	RULE(madvise, 2, 0, 4, 8, 11, 12, 13, 14, 21, 22, 23, 100),
	RULE(mknod, 1, 0, 0644, 0100644, 0010644, 0140755, 0020666, 0060666, 0040755, 0120777, 0170000, 0160000),
	RULE(mknodat, 2, 0, 0644, 0100644, 0010644, 0140755, 0020666, 0060666, 0040755, 0120777, 0170000, 0160000),
	RULE(personality, 0, 0, 1, 8, 0x40000, 0x40008, 0x20000, 0x400000, 0xffffffff, 0xfffffffe, 0x7fffffff),
	RULE(prctl, 0, 1, 4, 8, 15, 22, 23, 24, 28, 34, 35, 36, 38, 47, 59, 62, 66, 67, 68, 77, 78, 79, 0x53564d41, 0x59616d61),
	RULE(prlimit64, 0, 0, 1, 2, 100, 0x7fffffff, 0x80000000, 0xffffffff),
	RULE(prlimit64, 1, 0, 3, 4, 5, 7, 15, 16, 0xffffffff),
	RULE(prlimit64, 2, 0, 1, 4),
	RULE(setrlimit, 0, 0, 3, 4, 5, 7, 15, 16, 0xffffffff),
	RULE(setsockopt, 1, 0, 1, 6, 17, 41, 0xffffffff),
	RULE(setsockopt, 2, 0, 7, 8, 9, 33, 0xffffffff),
	RULE(socket, 0, 0, 1, 2, 3, 4, 5, 9, 10, 15, 16, 17, 21, 29, 31, 37, 38, 40, 44, 45, 0x7fffffff, 0xffffffff),
	RULE(socketpair, 0, 0, 1, 2, 10, 16, 17, 38, 40, 0x7fffffff, 0xffffffff),
#undef RULE
};

/* Of prlimit64's new limit: none, and some that look like none to a filter that compares one half. */
static const uint64_t pointers[] = { 0, 1, 0x1000, 0xffffffff, 1ULL << 32, 0x7fffULL << 32, 0xffffffffULL << 32, 0x7ffdcafe1230, 1ULL << 63, ~0ULL };

static void add_rules(struct buf *b)
{
	for (size_t i = 0; i < COUNT(int_rules); i++)
		for (size_t k = 0; k < int_rules[i].count; k++)
			buf_fmt(b, "argument %s[%u]=0x%x %s\n", int_rules[i].name, int_rules[i].arg, int_rules[i].values[k],
				name_of(ask1(int_rules[i].nr, int_rules[i].arg, int_rules[i].values[k])));
	/* prlimit64 of RLIMIT_CORE and of its neighbour, by pid and pointer. */
	for (uint64_t what = 4; what < 6; what++)
		for (uint64_t pid = 0; pid < 3; pid++)
			for (size_t p = 0; p < COUNT(pointers); p++)
				buf_fmt(b, "prlimit64 %llu,%llu,0x%llx %s\n", (unsigned long long)pid, (unsigned long long)what, (unsigned long long)pointers[p],
					name_of(ask(AUDIT_ARCH_X86_64, SYS_prlimit64, (uint64_t[6]){ pid, what, pointers[p] })));
	/* Options of sockets that do not reach the kernel. */
	for (uint64_t level = 0; level < 300; level++)
		for (uint64_t option = 0; option < 100; option++) {
			uint32_t v = ask(AUDIT_ARCH_X86_64, SYS_setsockopt, (uint64_t[6]){ 3, level, option });

			if (v != SECCOMP_RET_ALLOW)
				buf_fmt(b, "setsockopt %llu,%llu %s\n", (unsigned long long)level, (unsigned long long)option, name_of(v));
		}
	/* Sockets by all three arguments: what is not refused, in full. */
	for (uint64_t domain = 0; domain < 64; domain++)
		for (uint64_t type = 0; type < 16; type++)
			for (uint64_t protocol = 0; protocol < 300; protocol++) {
				uint64_t args[6] = { domain, type, protocol };

				uint32_t v = ask(AUDIT_ARCH_X86_64, SYS_socket, args);

				if (domain != 1 && (v == SECCOMP_RET_ALLOW || v == SECCOMP_RET_USER_NOTIF))
					buf_fmt(b, "socket %llu,%llu,%llu %s\n", (unsigned long long)domain, (unsigned long long)type,
						(unsigned long long)protocol, name_of(v));
			}
}

static void make_table(struct buf *b)
{
	buf_str(b, "# The verdicts of the guest's filter. Written by BELLJAR_GOLDEN=write tests/unit/test_seccomp: read the difference before you commit it.\n");
	add_arch(b, "x86_64", AUDIT_ARCH_X86_64, 0);
	add_arch(b, "i386", AUDIT_ARCH_I386, 0);
	add_arch(b, "x32", AUDIT_ARCH_X86_64, X32);
	add_arch(b, "aarch64", AUDIT_ARCH_AARCH64, 0);
	for (size_t i = 0; i < COUNT(odd_numbers); i++)
		buf_fmt(b, "x86_64 0x%x %s\n", odd_numbers[i], name_of(ask(AUDIT_ARCH_X86_64, odd_numbers[i], NULL)));
	for (size_t i = 0; i < COUNT(odd_numbers); i++)
		buf_fmt(b, "i386 0x%x %s\n", odd_numbers[i], name_of(ask(AUDIT_ARCH_I386, odd_numbers[i], NULL)));
	add_rules(b);
}

/* One line without its comment (names come from the libseccomp of the day). */
static size_t line_len(const char *p)
{
	size_t n = strcspn(p, "\n");
	const char *comment = memchr(p, '#', n);

	return comment ? (size_t)(comment - p) : n;
}

TEST(golden)
{
	struct buf now = BUF_INIT(1 << 20), old = BUF_INIT(1 << 20);
	const char *mode = getenv("BELLJAR_GOLDEN"), *a, *b;
	char block[4096];
	size_t n, line = 1, wrong = 0;
	FILE *f;

	make_table(&now);
	assert_false(now.failed);
	f = fopen(golden_path, mode && strcmp(mode, "write") == 0 ? "w" : "r");
	assert_non_null(f);
	if (mode && strcmp(mode, "write") == 0) {
		fwrite(now.data, 1, now.len, f);
		fclose(f);
		buf_done(&now);
		return;
	}
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		buf_add(&old, block, n);
	fclose(f);
	for (a = now.data, b = old.data ? old.data : ""; *a || *b; line++) {
		size_t x = line_len(a), y = line_len(b);

		if ((x != y || memcmp(a, b, x) != 0) && wrong++ < 10)
			print_error("line %zu: golden '%.*s', now '%.*s'\n", line, (int)y, b, (int)x, a);
		a += strcspn(a, "\n");
		a += *a == '\n';
		b += strcspn(b, "\n");
		b += *b == '\n';
	}
	buf_done(&now);
	buf_done(&old);
	if (wrong)
		fail_msg("%zu lines differ from %s", wrong, golden_path);
}

/* ---- high halves ---- */

/* Every argument that any rule reads is in the table above (sockets: all three). */
TEST(the_table_knows_every_rule)
{
	unsigned high = 0;

	for (uint32_t nr = 0; nr < 1024; nr++) {
		unsigned known = 0;

		for (size_t i = 0; i < COUNT(int_rules); i++)
			if (int_rules[i].nr == (int)nr)
				known |= 1U << int_rules[i].arg;
		if (nr == SYS_socket)
			known |= 7;
		for (uint64_t v = 0; v < 64; v++) {
			uint64_t args[6];

			for (unsigned zero = 0; zero < 64; zero++) {
				for (unsigned i = 0; i < 6; i++)
					args[i] = zero >> i & 1 ? 0 : v;
				ask(AUDIT_ARCH_X86_64, nr, args);
				ROW_OK((args_read & ~known) == 0, "number %u reads arguments %x", nr, args_read);
				ROW_OK(high_read == 0 || (nr == SYS_prlimit64 && high_read == 1U << 2), "number %u reads upper halves %x", nr, high_read);
				high |= high_read;
			}
		}
	}
	assert_int_equal(high, 1U << 2);
}

static void check_high(int nr, uint64_t args[6], unsigned arg)
{
	static const uint64_t high[] = { 1ULL << 32, 0xffffffffULL << 32, 1ULL << 63, 0xdeadbeefULL << 32 };
	uint64_t low = args[arg];
	uint32_t want = ask(AUDIT_ARCH_X86_64, (uint32_t)nr, args);

	for (size_t i = 0; i < COUNT(high); i++) {
		args[arg] = low | high[i];
		ROW_OK(ask(AUDIT_ARCH_X86_64, (uint32_t)nr, args) == want, "number %d, argument %u, value 0x%llx", nr, arg,
		       (unsigned long long)args[arg]);
	}
	args[arg] = low;
}

TEST(high_halves_do_not_matter)
{
	for (size_t i = 0; i < COUNT(int_rules); i++) {
		uint64_t args[6] = { 0 };

		for (size_t k = 0; k < int_rules[i].count; k++) {
			args[int_rules[i].arg] = int_rules[i].values[k];
			check_high(int_rules[i].nr, args, int_rules[i].arg);
		}
		/* Constants of the program itself, and their neighbours. */
		for (size_t pc = 0; pc < seccomp_guest_filter_len; pc++)
			for (uint32_t d = 0; d < 3; d++) {
				args[int_rules[i].arg] = (uint32_t)(seccomp_guest_filter[pc].k + d - 1);
				check_high(int_rules[i].nr, args, int_rules[i].arg);
			}
	}
	for (uint64_t domain = 0; domain < 20; domain++)
		for (uint64_t type = 0; type < 7; type++)
			for (size_t p = 0; p < 5; p++) {
				static const uint64_t protocols[] = { 0, 1, 6, 17, 262 };
				uint64_t args[6] = { domain, type, protocols[p] };

				for (unsigned arg = 0; arg < 3; arg++)
					check_high(SYS_socket, args, arg);
			}
}

/* prlimit64: pid and resource are ints, the new limit is a pointer, of which no bit may be overlooked. */
TEST(high_halves_of_prlimit64)
{
	for (uint64_t pid = 0; pid < 4; pid++)
		for (uint64_t what = 0; what < 8; what++)
			for (size_t p = 0; p < COUNT(pointers); p++)
				for (unsigned arg = 0; arg < 6; arg++) {
					uint64_t args[6] = { pid, what, pointers[p], 0x7ffdcafe4560 };

					if (arg != 2)
						check_high(SYS_prlimit64, args, arg);
				}
	for (unsigned bit = 0; bit < 64; bit++)
		for (uint64_t pid = 0; pid < 4; pid++) {
			uint64_t args[6] = { pid, 4, 1ULL << bit };

			ROW_OK(ask(AUDIT_ARCH_X86_64, SYS_prlimit64, args) != SECCOMP_RET_ALLOW, "pid %llu, bit %u", (unsigned long long)pid, bit);
		}
}

/* ---- what must hold whatever the golden file says ---- */

TEST(foreign_entries_are_killed)
{
	for (uint32_t nr = 0; nr < 1024; nr++) {
		ROW_OK(ask(AUDIT_ARCH_I386, nr, NULL) == SECCOMP_RET_USER_NOTIF, "i386 %u", nr);
		ROW_OK(ask(AUDIT_ARCH_X86_64, nr | X32, NULL) == SECCOMP_RET_USER_NOTIF, "x32 %u", nr);
	}
	for (size_t i = 0; i < COUNT(odd_numbers); i++) {
		ROW_OK(ask(AUDIT_ARCH_X86_64, odd_numbers[i], NULL) != SECCOMP_RET_ALLOW, "0x%x", odd_numbers[i]);
		ROW_OK(ask(AUDIT_ARCH_I386, odd_numbers[i], NULL) != SECCOMP_RET_ALLOW, "0x%x", odd_numbers[i]);
		ROW_OK(ask(0, odd_numbers[i], NULL) != SECCOMP_RET_ALLOW, "0x%x", odd_numbers[i]);
	}
}

/* With an allow-list: the same but for three calls. */
TEST(allow_list_differs_by_three)
{
	static const uint32_t arches[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, 0 };

	for (size_t a = 0; a < COUNT(arches); a++)
		for (uint32_t nr = 0; nr < 2048 + COUNT(odd_numbers); nr++)
			for (uint64_t v = 0; v < 48; v++) {
				struct seccomp_data d = { .nr = (int)(nr < 2048 ? nr : odd_numbers[nr - 2048]), .arch = arches[a],
							  .args = { v, v, v, v, v, v } };
				uint32_t want = evaluate(&d), got = evaluate_program(seccomp_allow_filter, seccomp_allow_filter_len, &d);

				if (arches[a] == AUDIT_ARCH_X86_64 && (d.nr == SYS_execve || d.nr == SYS_execveat))
					want = SECCOMP_RET_USER_NOTIF;
				if (arches[a] == AUDIT_ARCH_X86_64 && d.nr == SYS_memfd_create)
					want = ERRNO(ENOSYS);
				ROW_OK(got == want, "arch 0x%x number %d arguments %llu: 0x%x, not 0x%x", arches[a], d.nr, (unsigned long long)v, got, want);
			}
	assert_string_not_equal(seccomp_allow_profile, seccomp_guest_profile);
}

/* Without a memory cgroup: the same but for memory that nothing counts. */
TEST(uncounted_differs_by_seven)
{
	static const uint32_t arches[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, 0 };
	static const struct {
		const struct sock_filter *counted, *uncounted;
		const size_t *counted_len, *uncounted_len;
	} pairs[] = {
		{ seccomp_guest_filter, seccomp_guest_uncounted_filter, &seccomp_guest_filter_len, &seccomp_guest_uncounted_filter_len },
		{ seccomp_zygote_filter, seccomp_zygote_uncounted_filter, &seccomp_zygote_filter_len, &seccomp_zygote_uncounted_filter_len },
		{ seccomp_allow_filter, seccomp_allow_uncounted_filter, &seccomp_allow_filter_len, &seccomp_allow_uncounted_filter_len },
	};

	for (size_t i = 0; i < COUNT(pairs); i++)
		for (size_t a = 0; a < COUNT(arches); a++)
			for (uint32_t nr = 0; nr < 2048 + COUNT(odd_numbers); nr++)
				for (uint64_t v = 0; v < 48 * 48; v++) {
					struct seccomp_data d = { .nr = (int)(nr < 2048 ? nr : odd_numbers[nr - 2048]), .arch = arches[a],
								  .args = { v % 48, v / 48, v % 48, v / 48, v % 48, v } };
					bool native = arches[a] == AUDIT_ARCH_X86_64;
					uint32_t want = evaluate_program(pairs[i].counted, *pairs[i].counted_len, &d);

					if (native && (d.nr == SYS_memfd_create || d.nr == SYS_shmget || d.nr == SYS_semget || d.nr == SYS_msgget))
						want = ERRNO(ENOSYS);
					if (native && (d.nr == SYS_socket || d.nr == SYS_socketpair) && d.args[0] == 1)
						want = SECCOMP_RET_USER_NOTIF;
					if (native && d.nr == SYS_setsockopt && d.args[1] == 1 && d.args[2] == 7)
						want = ERRNO(0);
					ROW_OK(evaluate_program(pairs[i].uncounted, *pairs[i].uncounted_len, &d) == want, "pair %zu arch 0x%x number %d arguments %llu", i,
					       arches[a], d.nr, (unsigned long long)v);
					if (!native || !args_read)
						break;
				}
	assert_string_equal(seccomp_profile(false, false), seccomp_guest_profile);
	assert_string_equal(seccomp_profile(true, true), seccomp_allow_uncounted_profile);
	assert_string_not_equal(seccomp_profile(false, true), seccomp_guest_profile);
}

TEST(closed_doors)
{
	static const int closed[] = {
		SYS_ptrace, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_setns, SYS_unshare, SYS_clone3, SYS_bpf, SYS_userfaultfd,
		SYS_perf_event_open, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
		SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_kexec_load,
		SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_iopl, SYS_ioperm, SYS_modify_ldt,
		SYS_quotactl, SYS_syslog, SYS_acct, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_fsopen, SYS_fsmount, SYS_fsconfig,
		SYS_fspick, SYS_open_tree, SYS_move_mount, SYS_mount_setattr, SYS_fanotify_init, SYS_kcmp, SYS_sethostname, SYS_setdomainname,
		SYS_vhangup, SYS_uselib, SYS_ustat, SYS_sysfs, SYS__sysctl, SYS_lookup_dcookie, SYS_nfsservctl, SYS_memfd_secret,
	};
	static const int needed[] = {
		SYS_read, SYS_write, SYS_openat, SYS_close, SYS_mmap, SYS_munmap, SYS_brk, SYS_rt_sigaction, SYS_rt_sigreturn, SYS_execve,
		SYS_exit, SYS_exit_group, SYS_futex, SYS_wait4, SYS_fork, SYS_vfork, SYS_getrandom, SYS_sendmsg, SYS_set_robust_list, SYS_rseq,
	};

	for (size_t i = 0; i < COUNT(closed); i++)
		for (uint64_t v = 0; v < 4; v++) {
			uint64_t args[6] = { v, v, v, v, v, v };

			ROW_OK(ask(AUDIT_ARCH_X86_64, (uint32_t)closed[i], args) != SECCOMP_RET_ALLOW, "%d", closed[i]);
		}
	for (size_t i = 0; i < COUNT(needed); i++)
		ROW_OK(ask(AUDIT_ARCH_X86_64, (uint32_t)needed[i], NULL) == SECCOMP_RET_ALLOW, "%d", needed[i]);
	/* ENOSYS, never EPERM: glibc falls back to clone for threads only then. */
	assert_int_equal(ask(AUDIT_ARCH_X86_64, SYS_clone3, NULL), ERRNO(ENOSYS));
	/* Each namespace flag alone, and threads and fork as glibc makes them. */
	for (unsigned bit = 0; bit < 32; bit++) {
		bool forbidden = 0x7e028000U >> bit & 1;

		ROW_OK((ask1(SYS_clone, 0, 1ULL << bit) == SECCOMP_RET_ALLOW) == !forbidden, "clone bit %u", bit);
	}
	assert_int_equal(ask1(SYS_clone, 0, 0x3d0f00), SECCOMP_RET_ALLOW);
	assert_int_equal(ask1(SYS_clone, 0, 0x1200011), SECCOMP_RET_ALLOW);
}

TEST(names)
{
	assert_string_equal(seccomp_syscall_name(AUDIT_ARCH_X86_64, SYS_reboot), "reboot");
	assert_string_equal(seccomp_syscall_name(AUDIT_ARCH_X86_64, (int)(X32 | 1)), "write");
	assert_string_equal(seccomp_syscall_name(AUDIT_ARCH_I386, 4), "write");
	for (int nr = -5; nr < 2000; nr++) {
		seccomp_syscall_name(AUDIT_ARCH_X86_64, nr);
		seccomp_syscall_name(AUDIT_ARCH_I386, nr);
	}
	assert_null(seccomp_syscall_name(AUDIT_ARCH_X86_64, -1));
	assert_null(seccomp_syscall_name(AUDIT_ARCH_I386, -1));
	assert_null(seccomp_syscall_name(AUDIT_ARCH_X86_64, INT32_MIN));
	assert_string_equal(seccomp_arch_name(AUDIT_ARCH_I386, 1), "i386");
	assert_string_equal(seccomp_arch_name(AUDIT_ARCH_X86_64, (int)X32), "x32");
	assert_string_equal(seccomp_arch_name(AUDIT_ARCH_X86_64, 1), "x86_64");
	assert_string_equal(seccomp_arch_name(1, 1), "unknown");
}

/* seccomp(2): the answer of the highest precedence wins; of equal ones, the last filter's. */
static uint32_t both(uint32_t first, uint32_t last)
{
	static const uint32_t order[] = { SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO,
					  SECCOMP_RET_USER_NOTIF, SECCOMP_RET_TRACE, SECCOMP_RET_LOG, SECCOMP_RET_ALLOW };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		if ((last & SECCOMP_RET_ACTION_FULL) == order[i])
			return last;
		if ((first & SECCOMP_RET_ACTION_FULL) == order[i])
			return first;
	}
	fail_msg("an answer that no filter of ours gives");
	return 0;
}

/* What a zygote's child lives under: its parent's filter and the last one. Together they are the guest's, whatever is asked. */
static void the_two_halves_are_the_whole(void **state)
{
	static const uint32_t archs[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_I386 };
	static const uint64_t values[] = { 0, 1, 2, 3, 4, 10, 12, 16, 17, 35, 67, 1024, 1026, 0x5412, 0010000, 0100000, 0x7e028000, ~0ULL };
	unsigned apart = 0;

	(void)state;
	for (size_t a = 0; a < 2; a++)
		for (uint32_t n = 0; n < 2 * 1100; n++)
			for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
				struct seccomp_data d = { .nr = (int)(n < 1100 ? n : 0x40000000U + n - 1100), .arch = archs[a] };
				uint32_t zygote, last;

				for (int i = 0; i < 6; i++)
					d.args[i] = values[(v + (size_t)i) % (sizeof(values) / sizeof(values[0]))];
				zygote = evaluate_program(seccomp_zygote_filter, seccomp_zygote_filter_len, &d);
				last = evaluate_program(seccomp_last_filter, seccomp_last_filter_len, &d);
				assert_int_equal(both(zygote, last), evaluate(&d));
				apart += zygote != evaluate(&d);
			}
	/* The first half alone is not the whole: two system calls of one architecture. */
	assert_int_equal(apart, 2 * sizeof(values) / sizeof(values[0]));
}

static bool is_noted(int nr)
{
	for (const int *n = seccomp_notes; *n >= 0; n++)
		if (*n == nr)
			return true;
	return false;
}

/* With seats some calls that a guest may make are told besides, and go on; nothing else is answered otherwise. Which of them, and which not, is in the table below. */
static void a_seat_reports_and_forbids_nothing_more(void **state)
{
	static const uint64_t values[] = { 0, 1, 2, 3, 4, 7, 8, 10, 12, 14, 18, 22, 25, 32, 35, 41, 64, 65, 67, 78, 0x100, 0x1002, 0x2000, 0x2001, 0x4002, 0x5412, 0x53564d41, ~0ULL };
	static const struct {
		int nr;
		uint64_t args[4];
		bool noted;
	} table[] = {
		{ SYS_madvise, { 0x1000, 0x1000, 4 }, false }, { SYS_madvise, { 0x1000, 0x1000, 8 }, false }, { SYS_madvise, { 0x1000, 0x1000, 25 }, true },
		{ SYS_madvise, { 0x1000, 0x1000, 10 }, true }, { SYS_madvise, { 0x1000, 0x1000, 18 }, true }, { SYS_madvise, { 0x1000, 0x1000, 14 }, true },
		{ SYS_madvise, { 0x1000, 0x1000, 99 }, true }, { SYS_mmap, { 0, 4096, 3, 0x22 }, false }, { SYS_mmap, { 0, 4096, 5, 0x12 }, false },
		{ SYS_mmap, { 0, 4096, 3, 0x2022 }, true }, { SYS_mmap, { 0, 4096, 3, 0x20022 }, false }, { SYS_mmap, { 0, 4096, 3, 0x20032 }, true }, { SYS_mmap, { 0, 4096, 3, 0x4032 }, true }, { SYS_mmap, { 0, 4096, 3, 0x122 }, true }, { SYS_mmap, { 0, 4096, 3, 0x28 }, true },
		{ SYS_mmap, { 0, 4096, 4, 0x22 }, true }, { SYS_mprotect, { 0x1000, 4096, 3 }, false }, { SYS_mprotect, { 0x1000, 4096, 4 }, true },
		{ SYS_mlock, { 0x1000, 4096 }, true }, { SYS_mlock2, { 0x1000, 4096 }, true }, { SYS_mlockall, { 3 }, true }, { SYS_munlockall, { 0 }, false },
		{ SYS_pkey_alloc, { 0 }, true }, { SYS_pkey_free, { 1 }, true }, { SYS_pkey_mprotect, { 0 }, true },
		{ SYS_membarrier, { 0 }, false }, { SYS_membarrier, { 8 }, false }, { SYS_membarrier, { 4 }, true }, { SYS_membarrier, { 16 }, true },
		{ SYS_prctl, { 4 }, false }, { SYS_prctl, { 15 }, false }, { SYS_prctl, { 41 }, true }, { SYS_prctl, { 65 }, true },
		{ SYS_prctl, { 0x53564d41 }, true }, { SYS_arch_prctl, { 0x1002 }, false }, { SYS_arch_prctl, { 0x4002 }, true }, { SYS_arch_prctl, { 0x2003 }, true },
		{ SYS_execve, { 0 }, true }, { SYS_execveat, { 0 }, true }, { SYS_brk, { 0 }, false }, { SYS_munmap, { 0 }, false }, { SYS_mremap, { 0 }, false },
	};
	unsigned noted = 0;

	(void)state;
	for (uint32_t n = 0; n < 2 * 1100; n++)
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			struct seccomp_data d = { .nr = (int)(n < 1100 ? n : 0x40000000U + n - 1100), .arch = AUDIT_ARCH_X86_64 };
			uint32_t zygote, seat;

			for (int i = 0; i < 6; i++)
				d.args[i] = values[(v + (size_t)i) % (sizeof(values) / sizeof(values[0]))];
			zygote = evaluate_program(seccomp_zygote_filter, seccomp_zygote_filter_len, &d);
			seat = evaluate_program(seccomp_seat_filter, seccomp_seat_filter_len, &d);
			if (seat == zygote)
				continue;
			assert_int_equal(zygote, SECCOMP_RET_ALLOW);
			assert_int_equal(seat, SECCOMP_RET_USER_NOTIF);
			assert_true(is_noted(d.nr));
			noted++;
		}
	assert_true(noted > 100);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct seccomp_data d = { .nr = table[i].nr, .arch = AUDIT_ARCH_X86_64 };

		memcpy(d.args, table[i].args, sizeof(table[i].args));
		assert_int_equal(evaluate_program(seccomp_seat_filter, seccomp_seat_filter_len, &d), table[i].noted ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
		assert_true(!table[i].noted || is_noted(d.nr));
	}
}

/* KS-18. RLIMIT_CORE of nobody can be set, by any guest's filter: one's own answers 0, to be read it is open. */
TEST(the_core_limit_stays)
{
	static const uint64_t ints[] = { 0, 1, 2, 3, 4, 5, 7, 16, 100, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1 | 1ULL << 32, 4 | 1ULL << 32,
					 4 | 1ULL << 63, 0xffffffff00000004, ~0ULL };

	for (size_t a = 0; a < COUNT(ints); a++)
		for (size_t b = 0; b < COUNT(ints); b++)
			for (size_t p = 0; p < COUNT(pointers) * 2; p++) {
				struct seccomp_data d = { .nr = SYS_prlimit64, .arch = AUDIT_ARCH_X86_64,
							  .args = { ints[a], ints[b], pointers[p / 2], p & 1 ? 0x7ffdcafe4560 : 0 } };
				uint32_t pid = (uint32_t)ints[a], what = (uint32_t)ints[b], want = SECCOMP_RET_ALLOW;

				if (pid == 1 || (what == 4 && pointers[p / 2] && pid))
					want = ERRNO(EPERM);
				else if (what == 4 && pointers[p / 2])
					want = ERRNO(0);
				for (int again = 0; again < 2; again++) {
					ROW_OK(evaluate(&d) == want, "guest: %d, %llx, %llx, %llx", d.nr, (unsigned long long)d.args[0],
					       (unsigned long long)d.args[1], (unsigned long long)d.args[2]);
					ROW_OK(evaluate_program(seccomp_allow_filter, seccomp_allow_filter_len, &d) == want, "allow-list: %d, %llx", d.nr,
					       (unsigned long long)d.args[0]);
					ROW_OK(both(evaluate_program(seccomp_zygote_filter, seccomp_zygote_filter_len, &d),
						    evaluate_program(seccomp_last_filter, seccomp_last_filter_len, &d)) == want, "warm: %d, %llx", d.nr,
					       (unsigned long long)d.args[0]);
					/* The older call: the resource comes first, nothing else counts. */
					d.nr = SYS_setrlimit;
					want = pid == 4 ? ERRNO(0) : SECCOMP_RET_ALLOW;
				}
			}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_is_sound), cmocka_unit_test(returns_are_known), cmocka_unit_test(nothing_is_dead), cmocka_unit_test(golden),
		cmocka_unit_test(the_table_knows_every_rule), cmocka_unit_test(high_halves_do_not_matter), cmocka_unit_test(high_halves_of_prlimit64), cmocka_unit_test(foreign_entries_are_killed),
		cmocka_unit_test(closed_doors), cmocka_unit_test(allow_list_differs_by_three), cmocka_unit_test(uncounted_differs_by_seven), cmocka_unit_test(names), cmocka_unit_test(the_two_halves_are_the_whole),
		cmocka_unit_test(the_core_limit_stays), cmocka_unit_test(a_seat_reports_and_forbids_nothing_more),
	};

	if (argc != 2) {
		fputs("usage: test_seccomp GOLDEN\n", stderr);
		return 2;
	}
	golden_path = argv[1];
	return cmocka_run_group_tests_name("seccomp", tests, NULL, NULL);
}
