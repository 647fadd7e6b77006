/* SPDX-License-Identifier: Apache-2.0 */
/* The pool's keeper: whatever front, makers, zygotes, inits and guests say over their sockets, in whatever order they die, it goes on, answers each run at most
 * once and loses no descriptor. The rest of the world (processes, cgroups, ids) is played by this file: nobody is started or killed. */
#include "fuzz.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "jar/forker.h"
#include "jar/shelf.h"
#include "keeper/pool_proto.h"
#include "keeper/scan.h"
#include "keeper/slot.h"
#include "keeper/spawn.h"
#include "keeper/u1.h"

/* ---- the world ---- */

#define PEOPLE	  4096
#define FIRST_PID 1000000
#define ID_START  5000

static bool alive_people[PEOPLE];
static unsigned people;
static int shelf_peer[2], world_slots, world_uid;
static pid_t world_pid;

static pid_t be_born(void)
{
	if (people == PEOPLE)
		return FIRST_PID + PEOPLE - 1;
	alive_people[people] = true;
	return FIRST_PID + (pid_t)people++;
}

static int fuzz_kill(pid_t pid, int sig)
{
	(void)sig;
	MUST(pid >= FIRST_PID && pid < FIRST_PID + PEOPLE); /* never 0, -1 or somebody else's */
	return 0;
}

static int fuzz_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	MUST(type == P_PID && options & WNOWAIT);
	if (id < FIRST_PID || id >= FIRST_PID + PEOPLE) {
		errno = ECHILD;
		return -1;
	}
	info->si_pid = alive_people[id - FIRST_PID] ? 0 : (pid_t)id;
	return 0;
}

static ssize_t fuzz_recv_from(int sock, void *data, size_t len, int *fds, unsigned max, unsigned *nfds, pid_t *pid, uid_t *uid, int flags)
{
	ssize_t n = fd_recv_from(sock, data, len, fds, max, nfds, pid, uid, flags | MSG_DONTWAIT);

	*pid = world_pid;
	*uid = (uid_t)world_uid;
	return n;
}

static int fuzz_slot_claim(struct slot *out, const char *dir, struct err *e)
{
	(void)dir, (void)e;
	*out = (struct slot){ .lock = -1, .number = (uint32_t)world_slots };
	out->uids = out->gids = (struct idmap_range){ .start = (uint32_t)(ID_START + 8 * world_slots++), .count = 8 };
	return 0;
}

static int fuzz_u1_start(struct u1 *out, const struct slot *slots, unsigned count, int cgroup, int devices, u1_main *run, struct err *e)
{
	int sock[2];

	(void)count, (void)cgroup, (void)devices, (void)run, (void)e;
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) == 0);
	out->sock = sock[0];
	out->pid = be_born();
	MUST(slots[0].number < 2); /* makers have claimed theirs first */
	fd_close(&shelf_peer[slots[0].number]);
	shelf_peer[slots[0].number] = sock[1];
	return 0;
}

static void fuzz_u1_stop(struct u1 *u)
{
	fd_close(&u->sock);
	u->pid = 0;
}

static int fuzz_spawn_keeper(bool pool, struct err *e)
{
	(void)pool, (void)e;
	return dup(0);
}

static int fuzz_root_resize(int data, uint64_t bytes, struct err *e)
{
	(void)data, (void)bytes, (void)e;
	return 0;
}

static void fuzz_host_open(struct cgroup_host *h)
{
	memset(h, 0, sizeof(*h));
	h->version = CGROUP_V1;
	for (int c = 0; c < CGROUP_CTLS; c++)
		h->ctl[c].parent = h->ctl[c].same = -1;
}

static unsigned fuzz_slot_scrub(const char *dir, const struct cgroup_host *h)
{
	(void)dir, (void)h;
	return 0;
}

/* Of scan.c, which would walk through /proc. */
pid_t scan_pidfd(int pidfd)
{
	return pidfd;
}

bool scan_in_range(pid_t pid, struct idmap_range uids)
{
	return (uint32_t)pid % 8 == uids.start % 8;
}

void scan_jar(pid_t guest, struct scan *out)
{
	(void)guest;
	*out = (struct scan){ .processes = 1 };
}

#define kill	       fuzz_kill
#define waitid	       fuzz_waitid
#define fd_recv_from   fuzz_recv_from
#define slot_claim     fuzz_slot_claim
#define slot_scrub     fuzz_slot_scrub
#define u1_start       fuzz_u1_start
#define u1_stop	       fuzz_u1_stop
#define spawn_keeper   fuzz_spawn_keeper
#define root_resize    fuzz_root_resize
#define cgroup_host_open fuzz_host_open
#include "keeper/pool.c"
#undef fd_recv_from
#undef kill

/* ---- the input ---- */

static const uint8_t *in;
static size_t left;

static uint8_t byte(void)
{
	if (!left)
		return 0;
	left--;
	return *in++;
}

static void fill(void *out, size_t len)
{
	size_t n = left < len ? left : len;

	memcpy(out, in, n);
	memset((char *)out + n, 0, len - n);
	in += n;
	left -= n;
}

/* ---- the others ---- */

static int front, zygote_peer[2][ZYGOTES], chan_peer[SLOTS_MAX], report_peer[SLOTS_MAX];
static bool over; /* a front that breaks the protocol: the keeper ends */
static uint8_t state_of_run[16]; /* what was asked: bit 0 a run, bit 1 kept */

static void keep_peer(int *at, int fd)
{
	fd_close(at);
	*at = fd;
}

static unsigned place_at(unsigned shelf, unsigned index)
{
	for (unsigned i = 0; i < p.place_count; i++)
		if (p.places[i].shelf == shelf && p.places[i].index == index)
			return i;
	MUST(!"a slot that is none");
	return 0;
}

/* Takes what the keeper has asked of makers and zygotes: they hold the other ends. */
static void listen_all(void)
{
	static struct shelf_msg ask;
	struct forker_msg fork_it;
	int fds[16];
	unsigned n;

	for (unsigned h = 0; h < 2; h++) {
		while (shelf_peer[h] >= 0 && recv(shelf_peer[h], &ask, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
			if (fd_recv(shelf_peer[h], &ask, sizeof(ask), fds, 16, &n) != sizeof(ask))
				break;
			MUST(ask.op > 0 && ask.op < SHELF_OPS && ask.slot <= SHELF_SLOTS);
			if (ask.op == SHELF_FORKER) {
				MUST(n == 1 + !!ask.python);
				keep_peer(&zygote_peer[h][!!ask.python], take_fd(&fds[0]));
			}
			if (ask.op == SHELF_SLOT || ask.op == SHELF_JAR)
				keep_peer(&chan_peer[place_at(h, ask.slot)], take_fd(&fds[0]));
			if (ask.op == SHELF_EXPORT)
				keep_peer(&report_peer[place_at(h, ask.slot)], take_fd(&fds[0]));
			for (unsigned i = 0; i < n; i++)
				fd_close(&fds[i]);
		}
		for (int k = 0; k < ZYGOTES; k++)
			while (zygote_peer[h][k] >= 0 && recv(zygote_peer[h][k], &fork_it, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
				if (fd_recv(zygote_peer[h][k], &fork_it, sizeof(fork_it), fds, 16, &n) != sizeof(fork_it))
					break;
				if (fork_it.op == FORKER_FORK) {
					MUST(n == 1 + OWN_SPACES);
					keep_peer(&report_peer[place_at(h, fork_it.slot)], take_fd(&fds[0]));
				}
				for (unsigned i = 0; i < n; i++)
					fd_close(&fds[i]);
			}
	}
}

/* Every answer is about a run that was asked for, and is the last one unless it is kept. */
static void hear_keeper(void)
{
	static struct pool_event ev;
	int fds[4];
	unsigned n;

	while (recv(front, &ev, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
		MUST(fd_recv(front, &ev, sizeof(ev), fds, 4, &n) == sizeof(ev));
		MUST(ev.type >= POOL_EXITED && ev.type <= POOL_NOTICE);
		MUST(n == (ev.type == POOL_SOCKET ? 1U : ev.type == POOL_STREAMS ? 4U : 0U));
		if (ev.type == POOL_FAILED || ev.type == POOL_NOTICE)
			MUST(ev.err.kind && memchr(ev.err.msg, 0, sizeof(ev.err.msg)));
		if (ev.type == POOL_EXITED) {
			MUST(ev.run < 16 && state_of_run[ev.run] & 1);
			if (!(state_of_run[ev.run] & 2))
				state_of_run[ev.run] = 0;
		}
		for (unsigned i = 0; i < n; i++)
			close(fds[i]);
	}
}

/* A report of somebody: as it should be (`good`), or as the input says. */
static void report(int sock, bool good, uint32_t type, uint64_t at_ns, unsigned nfds)
{
	struct jar_report r = { .type = type, .at_ns = at_ns };
	int fds[16] = { 0 };
	size_t len = REPORT_SHORT;

	if (sock < 0)
		return;
	if (!good) {
		uint8_t how = byte();

		r.type = how & 7;
		nfds = byte() % 12;
		fill(&r.at_ns, 8);
		memset(&r.err, how, sizeof(r.err));
		r.err.kind = how >> 3;
		len = how & 0x80 ? (size_t)byte() * 8 : sizeof(r);
		if (len > sizeof(r))
			len = sizeof(r);
	}
	fd_send(sock, &r, len, fds, nfds);
}

static void from_front(uint8_t how)
{
	static union {
		struct {
			uint32_t op, run;
		} head;
		struct pool_open open;
		struct pool_run run;
		struct pool_next next;
		struct pool_kill kill;
		struct pool_export export;
		char raw[sizeof(struct pool_export) + 64];
	} q;
	uint32_t op = 1 + how % (POOL_OPS - 1), run = byte() & 15;
	size_t len = ops[op].size;
	unsigned nfds = ops[op].fds;
	int fds[5] = { 0 };

	memset(&q, 0, sizeof(q));
	if (how & 0x80) { /* a stranger */
		fill(q.raw, 64);
		len = byte() * 8U;
		nfds = byte() % 6;
		q.head.op %= POOL_OPS + 1;
		/* What this file keeps about runs would not fit. */
		if (q.head.op == POOL_RUN || q.head.op == POOL_NEXT || q.head.op == POOL_OPEN)
			q.head.op = POOL_OPS;
	} else {
		q.head.op = op;
		q.head.run = run;
		if (op == POOL_OPEN)
			q.open = (struct pool_open){ .op = POOL_OPEN, .floor = 1, .ceiling = 5, .zygotes = 2, .disk_bytes = 1 << 20, .recycle = how & 1 };
		if (op == POOL_RUN || op == POOL_NEXT) {
			struct jar_limits l = { .wall_ms = 1 + byte(), .memory_bytes = 1 << 24, .cpus_milli = 1000, .disk_bytes = 1 << 20, .pids = 8, .nofile = 64 };

			/* As the front does: a number is used again only when it is free. */
			if (op == POOL_RUN && (state_of_run[run] || !run))
				return;
			if (op == POOL_RUN) {
				q.run = (struct pool_run){ POOL_RUN, run, byte() % (POOL_KINDS + 1), byte() & 1, byte() % 3, l };
				state_of_run[run] = (uint8_t)(1 | q.run.flags << 1);
			} else {
				q.next.limits = l;
			}
			if (byte() == 255)
				fill(op == POOL_RUN ? (void *)&q.run.limits : (void *)&q.next.limits, sizeof(l));
		}
		if (op == POOL_KILL)
			q.kill.why = byte() % 10;
		if (op == POOL_SIGNAL)
			q.kill.why = byte();
		if (op == POOL_EXPORT) {
			q.export.req.count = byte() % (JAR_GLOBS_MAX + 2);
			memset(q.export.req.globs, byte() & 1 ? 'x' : 0, sizeof(q.export.req.globs));
		}
	}
	if (len > sizeof(q))
		len = sizeof(q);
	fd_send(front, &q, len, fds, nfds);
	over = !on_front();
	MUST(!over || how & 0x80);
}

/* Somebody dies, as SIGCHLD would tell. */
static void die(unsigned which)
{
	siginfo_t info = { .si_code = which & 1 ? CLD_KILLED : CLD_EXITED, .si_status = which & 1 ? SIGKILL : 0 };
	struct rusage ru = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < people; i++)
		n += alive_people[i];
	if (!n)
		return;
	which %= n;
	for (unsigned i = 0; i < people; i++)
		if (alive_people[i] && which-- == 0) {
			alive_people[i] = false;
			on_child(FIRST_PID + (pid_t)i, &info, &ru);
			return;
		}
}

static void speaks(uint32_t slot_uid, pid_t pid)
{
	world_uid = (int)slot_uid;
	world_pid = pid;
}

static void act(uint8_t b)
{
	bool good = !(b & 0x40);
	uint8_t who = byte();
	struct place *s = &p.places[p.place_count ? who % p.place_count : 0];
	unsigned i = (unsigned)(s - p.places), h = who % 2, k = who / 2 % 2;
	struct zygote_end *z = &p.shelves[h].zygotes[k];

	switch (b % 8) {
	case 0:
	case 1:
		from_front(who);
		break;
	case 2:
		if (!p.shelf_count || p.shelves[h].u.sock < 0 || (good && p.shelves[h].ready))
			break;
		speaks(p.shelves[h].ids.uids.start, p.shelves[h].u.pid);
		report(shelf_peer[h], good, REPORT_READY, 0, 0);
		on_shelf(&p.shelves[h]);
		break;
	case 3:
		if (!p.shelf_count || z->sock < 0 || (good && z->ready))
			break;
		speaks(p.shelves[h].ids.uids.start + (good ? 3 : byte()), z->pid ? z->pid : be_born());
		report(zygote_peer[h][k], good, REPORT_READY, 0, 1);
		on_zygote(&p.shelves[h], (int)k);
		break;
	case 4:
		if (!p.place_count || s->chan < 0 || (good && s->state != SLOTTING && s->state != JARRING && s->state != SCRUBBING))
			break;
		speaks(s->ids.uids.start + (good ? 1 : byte()), s->init ? s->init : be_born());
		if (s->state == SLOTTING)
			report(chan_peer[i], good, REPORT_READY, 0, SLOT_SPACES);
		else if (s->state == SCRUBBING)
			report(chan_peer[i], good, REPORT_SCRUBBED, 0, 0);
		else
			report(chan_peer[i], good, REPORT_READY, OWN_MUST | 1 << OWN_LANDLOCK, 5);
		on_chan(s);
		break;
	case 5:
		if (!p.place_count || s->report < 0)
			break;
		speaks(s->ids.uids.start + (good ? 2 : byte()), s->guest ? s->guest : byte() == 7 && z->pid ? z->pid : be_born());
		report(report_peer[i], good, s->state == FORKING ? REPORT_WAITING : s->state == EXPORTING ? REPORT_READY : REPORT_EXEC, 1, 0);
		if (s->state == RUNNING)
			hear_guest(s);
		else
			on_report(s);
		break;
	case 6:
		if (!good && b & 0x20)
			fd_close(who & 1 ? &report_peer[i] : &chan_peer[i]); /* its end is all that is heard */
		else
			die(who);
		break;
	default:
		if (p.place_count && s->state == BOOTING && s->streams[3] >= 0) {
			s->state = BOOTING;
			on_node(s);
		}
		look(clock_mono_ns() + who * NS_PER_S / 4);
	}
	balance();
}

static void check(void)
{
	for (unsigned i = 0; i < p.place_count; i++) {
		const struct place *s = &p.places[i];

		MUST(s->state <= EXPORTING);
		MUST(s->state != RUNNING || s->guest);
		MUST(s->state != READY || (s->guest && s->init));
		MUST(s->state != FREE || (!s->guest && !s->reserved));
		MUST(i < p.active || s->state == FREE);
		/* No run is in two places. */
		for (unsigned k = 0; k < i; k++)
			MUST(s->state != RUNNING || p.places[k].state != RUNNING || p.places[k].run.number != s->run.number);
	}
	MUST(p.pending_count <= PENDING_MAX);
}

/* ---- one input ---- */

/* Closes what is open above the fuzzer's own; how many there were. */
static unsigned close_forgotten(void)
{
	static int first = -1;
	unsigned n = 0;

	if (first < 0) {
		first = dup(0);
		close(first);
	}
	for (int fd = first; fd < 300; fd++)
		n += close(fd) == 0;
	return n;
}

static void begin(void)
{
	int sock[2];

	memset(&p, 0, sizeof(p));
	memset(alive_people, 0, sizeof(alive_people));
	memset(state_of_run, 0, sizeof(state_of_run));
	people = 0;
	over = false;
	world_slots = 0;
	for (unsigned i = 0; i < 2; i++)
		shelf_peer[i] = zygote_peer[i][0] = zygote_peer[i][1] = -1;
	for (unsigned i = 0; i < SLOTS_MAX; i++)
		chan_peer[i] = report_peer[i] = -1;
	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) == 0);
	p.front = sock[0];
	front = sock[1];
	p.landlock = 6;
	p.epoll = epoll_create1(EPOLL_CLOEXEC);
	p.lib = open("/dev/null", O_RDONLY | O_CLOEXEC);
	p.signals = -1;
}

/* All that the keeper knows of is closed; what is open still was forgotten. */
static void end(void)
{
	cleanup();
	for (unsigned i = 0; i < p.place_count; i++) {
		forget_slot(&p.places[i]);
		close_streams(&p.places[i].run);
		for (int k = 0; k < OWN_SPACES; k++)
			fd_close(&p.places[i].own[k]);
	}
	for (unsigned i = 0; i < p.pending_count; i++)
		close_streams(&p.pending[i]);
	for (unsigned i = 0; i < p.shelf_count; i++)
		for (int k = 0; k < ZYGOTES; k++) {
			fd_close(&p.shelves[i].zygotes[k].sock);
			fd_close(&p.shelves[i].zygotes[k].listener);
		}
	for (unsigned i = 0; i < p.shelf_count; i++)
		fd_close(&p.shelves[i].u.sock);
	close(p.front);
	close(front);
	close(p.epoll);
	close(p.lib);
	for (unsigned i = 0; i < 2; i++) {
		fd_close(&shelf_peer[i]);
		fd_close(&zygote_peer[i][0]);
		fd_close(&zygote_peer[i][1]);
	}
	for (unsigned i = 0; i < SLOTS_MAX; i++) {
		fd_close(&chan_peer[i]);
		fd_close(&report_peer[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	close_forgotten();
	signal(SIGPIPE, SIG_IGN);
	in = data;
	left = size;
	begin();
	from_front(POOL_OPEN - 1);
	balance();
	listen_all();
	for (int i = 0; left && !over && i < 400; i++) {
		uint8_t b = byte();

		act(b);
		listen_all();
		hear_keeper();
		check();
		if (getenv("FUZZ_TRACE")) {
			fprintf(stderr, "%02x pending %u:", b, p.pending_count);
			for (unsigned k = 0; k < p.place_count; k++)
				fprintf(stderr, " %d%s", p.places[k].state, p.places[k].reserved ? "r" : "");
			fputc('\n', stderr);
		}
	}
	end();
	MUST(close_forgotten() == 0 || over); /* what it had just received then ends with it */
	return 0;
}
