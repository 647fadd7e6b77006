/* SPDX-License-Identifier: Apache-2.0 */
/* The restorer: puts the memory of seats back to what it was. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/hook.h"
#include "jar/jar.h"
#include "jar/seat.h"
#include "jar/shelf.h"
#include "kernel/caps.h"
#include "kernel/sys.h"

#define PAGE	    4096UL
#define MAPS_MAX    512
#define STOP_LIMIT_S 5
#define MUCH	    64	 /* pages that a guest had besides the usual: their high-water marks are set back */
#define PAGES_MAX   1024 /* of a seat: a fork would be cheaper than to restore more */
#define REGIONS_MAX 1024
#define BATCH	    512 /* pieces for one call */
#define IMAGE_MAX   (256UL << 20)
#define MAPS_TEXT   (128UL << 10)
#define USER_END    0x7ffffffff000ULL

/* linux/fs.h of 6.7 and later. */
struct scan_region {
	uint64_t start, end, categories;
};
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN_FILE    (1ULL << 2)
#define SCAN_PRESENT (1ULL << 3)
#define SCAN_SWAPPED (1ULL << 4)
#define SCAN_ZERO    (1ULL << 5)
#define SCAN_HUGE    (1ULL << 6)
#define EXCLUSIVE    (1ULL << 56) /* of an entry of pagemap: nobody else has the page */
#define HUGE	     (2UL << 20)
#define SCAN_PAGES   _IOWR('f', 16, struct scan_arg)

struct map {
	uint64_t start, end, offset, device, inode;
	char mode[4], name[8]; /* name: its beginning, where it is the kernel's: "[stack]" */
};

/* The files that the seats of one zygote have mapped to write to, as they are there: what a page is before anybody writes to it. */
static struct original {
	uint64_t start, end;
	char *content;
	bool *changed; /* by page: the seat that it was read from had written to it already */
} originals[MAPS_MAX];
static unsigned original_count;
static uint32_t originals_of; /* which zygote's */
static bool have_originals;

static struct seat {
	pid_t pid; /* 0: nobody */
	bool known; /* what follows is there */
	uint32_t zygote;
	uint64_t mail;
	int maps, pagemap, clear;
	struct user_regs_struct regs;
	struct map map[MAPS_MAX];
	unsigned map_count;
	uint64_t pages[PAGES_MAX]; /* those that it has of its own, in order */
	unsigned page_count;
	uint64_t text; /* bytes of program text in huge pages, which it has in common with its zygote */
	const char *content[PAGES_MAX]; /* of pages[]: among the originals where it is what they are, else in `own` */
	char *own;
} seats[SEATS_MAX];

static const char zeros[PAGE];

/* ---- what is mapped ---- */

static bool read_map(char *line, struct map *m)
{
	char *end;

	m->start = strtoull(line, &end, 16);
	if (*end != '-')
		return false;
	m->end = strtoull(end + 1, &end, 16);
	if (*end != ' ' || strlen(end) < 7)
		return false;
	memcpy(m->mode, end + 1, 4);
	m->offset = strtoull(end + 6, &end, 16);
	m->device = strtoull(end, &end, 16) << 32;
	if (*end != ':')
		return false;
	m->device |= strtoull(end + 1, &end, 16);
	m->inode = strtoull(end, &end, 10);
	end = strchr(end, '[');
	memset(m->name, 0, sizeof(m->name));
	if (end)
		memcpy(m->name, end, strnlen(end, sizeof(m->name)));
	return true;
}

/* The number of mappings, 0: cannot be told. */
static unsigned read_maps(int fd, struct map *out)
{
	static char text[MAPS_TEXT];
	size_t len = 0;
	ssize_t n = 0;
	unsigned count = 0;

	if (lseek(fd, 0, SEEK_SET) != 0)
		return 0;
	while (len < sizeof(text) - 1 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	if (n != 0 || !len)
		return 0;
	text[len] = '\0';
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (count == MAPS_MAX || !read_map(line, &out[count]))
			return 0;
		count++;
	}
	return count;
}

static bool writable(const struct map *m)
{
	return m->mode[0] == 'r' && m->mode[1] == 'w' && m->mode[3] == 'p';
}

static const struct map *map_at(const struct seat *s, uint64_t at)
{
	unsigned lo = 0, hi = s->map_count;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (s->map[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->map_count && s->map[lo].start <= at ? &s->map[lo] : NULL;
}

/* Whether all of `t` lies in `c`, shown and protected alike. */
static bool same(const struct map *t, const struct map *c)
{
	return c->start <= t->start && t->end <= c->end && memcmp(t->mode, c->mode, 4) == 0 && memcmp(t->name, c->name, sizeof(t->name)) == 0 && t->device == c->device && t->inode == c->inode &&
	       (!t->inode || c->offset + (t->start - c->start) == t->offset);
}

static bool add_errand(struct seat_mail *mail, uint64_t start, uint64_t end, bool unmap)
{
	if (mail->count && mail->errands[mail->count - 1].end == start && mail->errands[mail->count - 1].unmap == unmap) {
		mail->errands[mail->count - 1].end = end;
		return true;
	}
	if (mail->count == SEAT_ERRANDS)
		return false;
	mail->errands[mail->count].start = start;
	mail->errands[mail->count].end = end;
	mail->errands[mail->count++].unmap = unmap;
	return true;
}

/* Everything that was mapped is there as it was; what there is besides goes into `mail`. */
static bool compare_maps(const struct seat *s, struct seat_mail *mail)
{
	static struct map now[MAPS_MAX];
	unsigned count = read_maps(s->maps, now), t = 0;

	mail->count = 0;
	for (unsigned i = 0; i < count; i++) {
		uint64_t at = now[i].start;

		for (; t < s->map_count && s->map[t].start < now[i].end; t++) {
			if (!same(&s->map[t], &now[i]) || (at < s->map[t].start && !add_errand(mail, at, s->map[t].start, true)))
				return false;
			at = s->map[t].end;
		}
		if (at < now[i].end && !add_errand(mail, at, now[i].end, true))
			return false;
	}
	return count && t == s->map_count;
}

/* ---- pages ---- */

static bool shared_with_zygote(const struct seat *s, const struct scan_region *r)
{
	for (uint64_t at = r->start; at < r->end; at += HUGE) {
		uint64_t entry;

		if (pread(s->pagemap, &entry, sizeof(entry), (off_t)(at / PAGE * sizeof(entry))) != sizeof(entry) || (entry & EXCLUSIVE))
			return false;
	}
	return true;
}

/*
 * Those that are not a file's any more: of `limit` at most, in order. -1: more, or it cannot be told. Program text that a zygote has copied into huge pages
 * is not among them, but counted: it is sealed, and the zygote has the same pages.
 */
static int own_pages(const struct seat *s, uint64_t *out, unsigned limit, uint64_t *text)
{
	static struct scan_region regions[REGIONS_MAX];
	struct scan_arg a = {
		.size = sizeof(a), .end = USER_END, .vec = (uint64_t)(uintptr_t)regions, .vec_len = REGIONS_MAX,
		.category_inverted = SCAN_FILE | SCAN_ZERO, .category_mask = SCAN_FILE | SCAN_ZERO, .category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
		.return_mask = SCAN_PRESENT | SCAN_HUGE,
	};
	int n = ioctl(s->pagemap, SCAN_PAGES, &a), count = 0;

	*text = 0;
	if (n < 0 || n == REGIONS_MAX)
		return -1;
	for (int i = 0; i < n; i++) {
		const struct map *m = map_at(s, regions[i].start);

		if ((regions[i].categories & SCAN_HUGE) && m && m->mode[1] != 'w' && regions[i].end <= m->end) {
			if (!shared_with_zygote(s, &regions[i]))
				return -1;
			*text += regions[i].end - regions[i].start;
			continue;
		}
		for (uint64_t at = regions[i].start; at < regions[i].end; at += PAGE) {
			if (!map_at(s, at))
				continue; /* of a mapping that goes */
			if (count == (int)limit)
				return -1;
			out[count++] = at;
		}
	}
	return count;
}

/* Pieces of memory to be copied, as few as they can be. */
struct copy {
	struct iovec here[BATCH], there[BATCH];
	unsigned count;
	size_t bytes;
	pid_t pid;
	bool write;
};

static bool copy_flush(struct copy *c)
{
	ssize_t n = 0;

	if (c->count)
		n = c->write ? process_vm_writev(c->pid, c->here, c->count, c->there, c->count, 0) : process_vm_readv(c->pid, c->here, c->count, c->there, c->count, 0);
	if (n != (ssize_t)c->bytes)
		return false;
	c->count = 0;
	c->bytes = 0;
	return true;
}

static bool copy_add(struct copy *c, const void *here, uint64_t there, size_t len)
{
	struct iovec *h = &c->here[c->count], *t = &c->there[c->count];

	c->bytes += len;
	if (c->count && (char *)h[-1].iov_base + h[-1].iov_len == here && (uintptr_t)t[-1].iov_base + t[-1].iov_len == there) {
		h[-1].iov_len += len;
		t[-1].iov_len += len;
		return true;
	}
	*h = (struct iovec){ (void *)here, len };
	*t = (struct iovec){ (void *)(uintptr_t)there, len };
	return ++c->count < BATCH || copy_flush(c);
}

/* Of seats whose zygote is dead: they are not used again. */
static void drop_originals(void)
{
	for (unsigned i = 0; i < SEATS_MAX; i++)
		seats[i].known = seats[i].known && seats[i].zygote != originals_of;
	for (unsigned i = 0; i < original_count; i++) {
		munmap(originals[i].content, originals[i].end - originals[i].start);
		free(originals[i].changed);
	}
	original_count = 0;
	have_originals = false;
}

static bool read_originals(const struct seat *s)
{
	struct copy c = { .pid = s->pid };
	size_t total = 0;

	drop_originals();
	originals_of = s->zygote;
	for (unsigned i = 0; i < s->map_count; i++) {
		const struct map *m = &s->map[i];
		struct original *o = &originals[original_count];
		size_t len = m->end - m->start;

		if (!writable(m) || !m->inode)
			continue;
		total += len;
		o->start = m->start;
		o->end = m->end;
		o->content = total > IMAGE_MAX ? MAP_FAILED : mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		o->changed = calloc(len / PAGE, sizeof(bool));
		if (o->content == MAP_FAILED || !o->changed || !copy_add(&c, o->content, m->start, len) || !copy_flush(&c))
			return false;
		original_count++;
	}
	for (unsigned k = 0, i = 0; k < s->page_count; k++) {
		while (i < original_count && originals[i].end <= s->pages[k])
			i++;
		if (i < original_count && originals[i].start <= s->pages[k])
			originals[i].changed[(s->pages[k] - originals[i].start) / PAGE] = true;
	}
	have_originals = true;
	return true;
}

static const struct original *original_at(const struct seat *s, uint64_t at)
{
	for (unsigned i = 0; i < original_count && originals_of == s->zygote; i++)
		if (originals[i].start <= at && at < originals[i].end)
			return &originals[i];
	return NULL;
}

/* What a page was that the seat itself had not written to. NULL: not known. */
static const char *original(const struct seat *s, const struct map *m, uint64_t at)
{
	const struct original *o = m->inode ? original_at(s, at) : NULL;

	if (!m->inode)
		return zeros;
	return !o || o->changed[(at - o->start) / PAGE] ? NULL : o->content + (at - o->start);
}

/* What all seats have alike is kept once. */
static void share_content(struct seat *s)
{
	size_t kept = 0;

	for (unsigned k = 0; k < s->page_count; k++) {
		const struct original *o = original_at(s, s->pages[k]);
		const char *theirs = o ? o->content + (s->pages[k] - o->start) : zeros, *mine = s->own + k * PAGE;

		if (memcmp(theirs, mine, PAGE) == 0) {
			s->content[k] = theirs;
			continue;
		}
		s->content[k] = memmove(s->own + kept * PAGE, mine, PAGE);
		kept++;
	}
	madvise(s->own + kept * PAGE, (s->page_count - kept) * PAGE, MADV_DONTNEED);
}

/* A page that may not be written to must be what it was. */
static bool unchanged(const struct seat *s, uint64_t at, const char *content)
{
	static char now[PAGE];
	struct iovec here = { now, PAGE }, there = { (void *)(uintptr_t)at, PAGE };

	return process_vm_readv(s->pid, &here, 1, &there, 1, 0) == (ssize_t)PAGE && memcmp(now, content, PAGE) == 0;
}

static enum restore_why write_back(const struct seat *s, struct seat_mail *mail)
{
	static uint64_t now[PAGES_MAX];
	uint64_t text;
	int count = own_pages(s, now, PAGES_MAX, &text);
	struct copy c = { .pid = s->pid, .write = true };
	uint64_t besides = 0;
	unsigned k = 0;
	int i = 0;

	if (count < 0)
		return RESTORE_TOO_MUCH;
	if (text != s->text)
		return RESTORE_TEXT;
	/* All that it had, wherever it is now, and all that it has now. */
	while (k < s->page_count || i < count) {
		bool had = k < s->page_count && (i == count || s->pages[k] <= now[i]);
		uint64_t at = had ? s->pages[k] : now[i];
		const struct map *m = map_at(s, at);
		const char *content = had ? s->content[k] : NULL;

		if (i < count && now[i] == at)
			i++;
		k += had;
		if (!had && hook_disabled("restore_pages"))
			continue;
		if (!content && m && writable(m))
			content = original(s, m, at);
		if (!content)
			return RESTORE_TEXT;
		if (writable(m) ? !copy_add(&c, content, at, PAGE) : !unchanged(s, at, content))
			return writable(m) ? RESTORE_KERNEL : RESTORE_TEXT;
		if (!had && !add_errand(mail, at, at + PAGE, false))
			return RESTORE_TOO_MUCH;
		besides += !had;
	}
	for (uint32_t e = 0; e < mail->count; e++)
		besides += mail->errands[e].unmap ? (mail->errands[e].end - mail->errands[e].start) / PAGE : 0;
	mail->stop = besides > MUCH;
	return copy_flush(&c) ? RESTORE_OK : RESTORE_KERNEL;
}

/* ---- a seat ---- */

static void forget(struct seat *s)
{
	fd_close(&s->maps);
	fd_close(&s->pagemap);
	fd_close(&s->clear);
	if (s->own)
		munmap(s->own, s->page_count * PAGE);
	s->own = NULL;
	s->known = false;
	s->pid = 0;
	s->page_count = s->map_count = 0;
}

static int open_of(pid_t pid, const char *name, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/%s", pid, name);
	return open(path, flags | O_CLOEXEC);
}

static enum restore_why take(struct seat *s, const struct restore_msg *msg)
{
	/* The keeper asks for the next only when the last is gone, which it knows from us. */
	if (s->pid)
		return RESTORE_STRANGE;
	if (ptrace(PTRACE_SEIZE, msg->pid, NULL, (void *)(uintptr_t)(PTRACE_O_TRACEVFORKDONE | PTRACE_O_EXITKILL)) < 0)
		return RESTORE_KERNEL;
	s->pid = msg->pid;
	s->zygote = msg->zygote;
	s->mail = msg->mail;
	s->maps = open_of(s->pid, "maps", O_RDONLY);
	s->pagemap = open_of(s->pid, "pagemap", O_RDONLY);
	s->clear = open_of(s->pid, "clear_refs", O_WRONLY);
	return s->maps < 0 || s->pagemap < 0 || s->clear < 0 ? RESTORE_KERNEL : RESTORE_OK;
}

/* Waits until it stops as expected, which takes it a moment: nobody else is to wait for one that does not. */
static bool stops(struct seat *s, int how)
{
	int status;
	pid_t got;

	alarm(STOP_LIMIT_S);
	got = waitpid(s->pid, &status, __WALL);
	alarm(0);
	if (got != s->pid)
		return false;
	if (!WIFSTOPPED(status)) {
		forget(s);
		return false;
	}
	return status >> 8 == how;
}

static bool get_regs(const struct seat *s, struct user_regs_struct *out)
{
	return ptrace(PTRACE_GETREGS, s->pid, NULL, out) == 0;
}

static bool go_on(const struct seat *s)
{
	return ptrace(PTRACE_CONT, s->pid, NULL, NULL) == 0;
}

/* How much memory it once had is nobody's business, also where a guest has given it back itself. */
static bool forget_peak(const struct seat *s)
{
	return write(s->clear, "5", 1) == 1;
}

static bool mail_in_place(const struct seat *s)
{
	const struct map *m = map_at(s, s->mail);

	return m && writable(m) && s->mail + sizeof(struct seat_mail) <= m->end;
}

static enum restore_why learn(struct seat *s)
{
	struct copy c = { .pid = s->pid };
	int count;

	if (!stops(s, SIGSTOP) || !get_regs(s, &s->regs))
		return RESTORE_STRANGE;
	s->map_count = read_maps(s->maps, s->map);
	if (!s->map_count || !mail_in_place(s))
		return RESTORE_STRANGE;
	/* What is shared would be the next one's too, and no page of it is told from a file's. */
	for (unsigned i = 0; i < s->map_count; i++)
		if (s->map[i].mode[1] == 'w' && s->map[i].mode[3] == 's')
			return RESTORE_MAPPED;
	count = own_pages(s, s->pages, PAGES_MAX, &s->text);
	if (count <= 0)
		return errno == EINVAL || errno == ENOTTY ? RESTORE_KERNEL : RESTORE_TOO_MUCH;
	s->own = mmap(NULL, (size_t)count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->own == MAP_FAILED) {
		s->own = NULL;
		return RESTORE_KERNEL;
	}
	s->page_count = (unsigned)count;
	for (unsigned i = 0; i < s->page_count; i++)
		if (!copy_add(&c, s->own + i * PAGE, s->pages[i], PAGE))
			return RESTORE_KERNEL;
	if (!copy_flush(&c))
		return RESTORE_KERNEL;
	if (!have_originals || originals_of != s->zygote)
		return read_originals(s) ? RESTORE_AGAIN : RESTORE_KERNEL;
	share_content(s);
	s->known = true;
	return go_on(s) ? RESTORE_OK : RESTORE_KERNEL;
}

static enum restore_why back(struct seat *s)
{
	static struct seat_mail mail;
	struct iovec here = { &mail, 0 }, there = { (void *)(uintptr_t)s->mail, 0 };
	enum restore_why why;

	if (!s->known || !stops(s, SIGTRAP | PTRACE_EVENT_VFORK_DONE << 8))
		return RESTORE_STRANGE;
	if (!compare_maps(s, &mail))
		return RESTORE_MAPPED;
	why = write_back(s, &mail);
	if (why)
		return why;
	here.iov_len = there.iov_len = offsetof(struct seat_mail, errands) + mail.count * sizeof(mail.errands[0]);
	if (process_vm_writev(s->pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len || ptrace(PTRACE_SETREGS, s->pid, NULL, &s->regs) < 0 || !forget_peak(s) || !go_on(s))
		return RESTORE_KERNEL;
	if (!mail.stop)
		return RESTORE_OK;
	/* Once more, when it has done its errands. */
	if (!stops(s, SIGSTOP))
		return RESTORE_STRANGE;
	return forget_peak(s) && go_on(s) ? RESTORE_OK : RESTORE_KERNEL;
}

/* ---- requests ---- */

/* It sees nothing but processes, and may do nothing but trace those of U1. */
static int become_restorer(struct err *e)
{
	prctl(PR_SET_NAME, "belljar-restore", 0, 0, 0);
	if (setsid() < 0)
		return err_sys(e, "start a session");
	if (chdir("/proc") < 0 || chroot(".") < 0)
		return err_sys(e, "enter /proc");
	/* The seats' own: what /proc says of them is for their user. */
	if (caps_drop_bounding(e) < 0)
		return -1;
	if (setgroups(0, NULL) < 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresgid(SHELF_ZYGOTE_ID, SHELF_ZYGOTE_ID, SHELF_ZYGOTE_ID) < 0 ||
	    setresuid(SHELF_ZYGOTE_ID, SHELF_ZYGOTE_ID, SHELF_ZYGOTE_ID) < 0)
		return err_sys(e, "take the restorer's ids");
	if (caps_set(CAP_BIT(CAP_SYS_PTRACE), e) < 0 || caps_no_new_privs(e) < 0)
		return -1;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "set the parent death signal");
	return 0;
}

static void serve(const struct restore_msg *msg, int sock)
{
	struct seat *s = &seats[msg->seat];
	struct restore_answer a = { .seat = msg->seat, .pid = msg->pid };

	errno = 0;
	if (msg->op == RESTORE_TAKE)
		a.why = take(s, msg);
	else if (s->pid != msg->pid)
		a.why = RESTORE_STRANGE;
	else
		a.why = msg->op == RESTORE_LEARN ? learn(s) : back(s);
	a.sys = errno;
	a.ok = a.why == RESTORE_OK;
	if (fd_send(sock, &a, sizeof(a), NULL, 0) < 0)
		_exit(0);
}

/* The dead are ours before they are the keeper's. A tracer is told of stops too, whatever it asks for: those are waited for elsewhere. */
static void reap(void)
{
	for (unsigned i = 0; i < SEATS_MAX; i++) {
		siginfo_t info = { 0 };

		if (!seats[i].pid || waitid(P_PID, (id_t)seats[i].pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 || info.si_pid != seats[i].pid ||
		    (info.si_code != CLD_EXITED && info.si_code != CLD_KILLED && info.si_code != CLD_DUMPED))
			continue;
		waitid(P_PID, (id_t)seats[i].pid, &info, WEXITED | WNOHANG | __WALL);
		forget(&seats[i]);
	}
}

/* Its being there ends a wait. */
static void on_alarm(int sig)
{
	(void)sig;
}

void restorer_main(int sock)
{
	struct jar_report r = { .type = REPORT_READY };
	struct sigaction quiet = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP }, wake = { .sa_handler = on_alarm };
	struct pollfd p[2] = { { .fd = sock, .events = POLLIN }, { .events = POLLIN } };
	sigset_t set;

	for (unsigned i = 0; i < SEATS_MAX; i++)
		seats[i].maps = seats[i].pagemap = seats[i].clear = -1;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGCHLD, &quiet, NULL);
	sigaction(SIGALRM, &wake, NULL);
	p[1].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p[1].fd < 0)
		err_sys(&r.err, "wait for the ends of seats");
	if (p[1].fd < 0 || step_point("restorer-start", &r.err) < 0 || become_restorer(&r.err) < 0)
		r.type = REPORT_ERROR;
	if (fd_send(sock, &r, sizeof(r), NULL, 0) < 0 || r.type == REPORT_ERROR)
		_exit(1);
	for (;;) {
		struct signalfd_siginfo info;
		struct restore_msg msg;
		unsigned n;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			_exit(1);
		if (p[1].revents) {
			(void)!read(p[1].fd, &info, sizeof(info));
			reap();
		}
		if (!p[0].revents)
			continue;
		if (fd_recv(sock, &msg, sizeof(msg), NULL, 0, &n) != sizeof(msg) || msg.op < RESTORE_TAKE || msg.op > RESTORE_BACK || msg.seat >= SEATS_MAX || msg.pid <= 1)
			_exit(0);
		serve(&msg, sock);
	}
}
