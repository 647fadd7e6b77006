/* SPDX-License-Identifier: Apache-2.0 */
/* belljar-keeper --pool: many jars, made ahead, for one front. */
#include "keeper/pool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hook.h"
#include "jar/forker.h"
#include "jar/root.h"
#include "jar/seat.h"
#include "jar/shelf.h"
#include "jar/sockets.h"
#include "keeper/devices.h"
#include "keeper/pool_proto.h"
#include "keeper/scan.h"
#include "keeper/slot.h"
#include "keeper/spawn.h"
#include "keeper/u1.h"
#include "keeper/watch.h"
#include "kernel/landlock.h"
#include "kernel/sys.h"

/*
 * Theory of operation
 *
 * Shelves (src/jar/shelf.h) hold slots. A slot goes round in a circle, each step asked for by one record and answered by one:
 *
 *   FREE -> SLOTTING -> BARE -> JARRING -> JARRED -> FORKING -> READY -> RUNNING -> DYING -> BARE ...
 *           namespaces          init                 guest      waiting  the run    init's end is the end of all in the jar
 *
 * A run that finds a READY slot costs two records here: POOL_RUN in, the guest's go out; and when SIGCHLD comes, or an interpreter's word that it ends, POOL_EXITED.
 * Everything else happens before it or after it. A jar that is used again is LEAVING until a guest that gave its word is reaped, and then JARRED.
 *
 * Every process in a jar, and every init, zygote and shelf, is our child: we see each of them end, its number is ours until we have reaped it, and
 * they all die when we do. What a process says over its socket comes with the kernel's word on who it is (SCM_CREDENTIALS).
 */

#define SETUP_LIMIT_NS	(120 * NS_PER_S) /* from the go to the program's start: the feed is copied in this time */
#define STEP_LIMIT_NS	(20 * NS_PER_S)	 /* a step of a slot */
#define EXPORT_LIMIT_NS (600 * NS_PER_S)
#define FIRST_LOOK_NS	(10 * NS_PER_MS)
#define IDLE_NS		(5 * NS_PER_S)	 /* a jar that nobody needed for so long */
#define ZYGOTE_RETRY_NS (1 * NS_PER_S)
#define ZYGOTE_TRIES	5
#define BARREN_MAX	3
#define FAILS_MAX	6
#define SHELVES_MAX	16
#define ZYGOTES		2 /* POOL_EXEC, POOL_PYTHON */
#define SLOTS_MAX	POOL_CEILING_MAX
#define PENDING_MAX	(2 * POOL_CEILING_MAX)
#define UNTHROTTLED_MILLI 64000
#define SEAT_FAILS	8
#define SEAT_LIMIT_NS	(3 * NS_PER_S) /* from a seat's being asked to a guest that waits: a birth, no start; and for its death */
/* Calls that are looked at and go on (notes, sockets): so many of one jar in NOTED_NS are answered at once. Others wait for the next such time, since answering
 * them costs our time, not the guest's. */
#define NOTED_NS	(100 * NS_PER_MS)
#define NOTED_MOST	100
#define INOTIFY_SHARE	128 /* what one creator of namespaces may have at least on any host */

enum slot_state {
	FREE,
	SLOTTING, /* its namespaces are being made */
	BARE,	  /* it has namespaces, but no jar */
	JARRING,  /* init is being started */
	JARRED,	  /* there is a jar, and nobody in it */
	FORKING,  /* a guest is being started */
	BOOTING,  /* POOL_NODE: the interpreter is being started */
	READY,	  /* it waits */
	RUNNING,
	LEAVING,  /* the result is told, its main process is killed and not reaped; the jar is to be used again */
	KEPT,	  /* the main process has ended, the jar is the front's until POOL_DONE */
	SCRUBBING, /* POOL_NEXT: what the first left behind is being ended */
	DYING,	  /* init was killed */
	DEAD,	  /* kept: all is dead, the files are there */
	EXPORTING,
};

/* Of a slot that serves Python (jar/seat.h). */
enum seat_state {
	SEAT_NONE,
	SEAT_BIRTH, /* the zygote was asked for one */
	SEAT_TAKEN, /* the restorer is to trace it */
	SEAT_HELD,  /* it is traced, and goes in when there is a jar */
	SEAT_SETTLES, /* it enters the jar, whose it is from now on */
	SEAT_LEARN, /* the restorer is to learn what it is like */
	SEAT_IDLE,
	SEAT_BUSY,  /* it was asked for a guest */
	SEAT_BACK,  /* its guest is dead, the restorer is to put it back */
	SEAT_DYING, /* killed, not reaped */
};

struct run {
	uint32_t number, kind, flags;
	uint64_t client;
	struct jar_limits limits;
	int fds[4];
	unsigned tries;
};

struct place {
	enum slot_state state;
	unsigned shelf, index; /* which shelf; its number there, from 1 */
	struct slot ids;
	struct cgroup cg;
	bool cg_made, cg_left; /* cg_left: it was busy when it should have gone */
	int spaces[SLOT_SPACES];
	uint32_t missing; /* enum jar_missing: what its template lacks */
	int chan; /* to the slot's first process, then to init */
	/* whose it is: decided by its first run, until the namespaces are made anew */
	bool bound;
	uint64_t client;
	/* the jar */
	int own[OWN_SPACES], data;
	pid_t init;
	struct seat_end {
		enum seat_state state;
		int chan;
		pid_t pid;	 /* 0: it has not said a word yet */
		uint32_t zygote; /* whose child it is */
		bool spent;	 /* its guest's memory cannot be told to be what it was: not again */
	} seat;
	/* the guest */
	int report;
	pid_t guest;
	uint32_t kind;	    /* what waits, or runs */
	uint32_t next_kind; /* what it was last needed for */
	int streams[4];	    /* POOL_NODE: our ends of what it was started with */
	struct jar_limits booted; /* and under which limits */
	bool recycle;  /* it is to prove first that nothing of the one before is left */
	bool evicted;  /* it was ended before it was needed: another kind is wanted */
	bool reserved; /* `run` waits for it to be ready */
	struct run run;
	uint32_t ended_by;
	bool retire;   /* BARE after DYING: give it back */
	bool renew;    /* BARE after DYING: namespaces anew */
	bool ended;    /* POOL_END was asked for */
	struct err why; /* what the guest or init said when it failed */
	bool cold;	/* it said that only a start of its own will do */
	bool said;	/* the word of its end, src/kernel/seccomp.h */
	uint64_t noted_ns; /* when the time began in which `noted` calls were answered */
	unsigned noted;
	struct watch watch;
	struct cgroup_limits applied;
	uint64_t disk_bytes; /* of the jar's file system */
	uint64_t until_ns;   /* the step that is under way ends by then */
	uint64_t since_ns;   /* READY: since when */
};

/* A call whose answer waits. */
struct held {
	struct seccomp_event ev;
	unsigned place, shelf, zygote;
};

struct shelf_end {
	struct u1 u;
	bool ready;
	struct slot ids;
	struct cgroup cg;	 /* v2: its own group, in which those of its places are */
	struct cgroup_host host; /* as its places see it */
	bool cg_made;
	unsigned slots;	    /* places that are its */
	uint64_t retry_ns;  /* when to start it anew; 0: it is not wanted */
	struct zygote_end {
		int sock, listener; /* listener: of its filter, which all its guests have */
		pid_t pid;	    /* known when it is ready */
		bool ready;
		bool seats;	    /* it can bear them */
		unsigned tries;
		unsigned barren;    /* guests one after the other that it could not bear */
		uint64_t retry_ns;
	} zygotes[ZYGOTES]; /* by enum pool_kind */
	struct restorer_end {
		int sock;
		pid_t pid; /* known when it is ready */
		unsigned tries;
		unsigned failed; /* seats one after the other that came to nothing */
	} restorer;
};

struct pool {
	int front, epoll, signals, lib;
	bool open;
	struct pool_open want;
	char modules[SHELF_MODULES];
	uint32_t hash_seed; /* of all Pythons: a candidate and its verifier have sets in the same order, whatever zygotes they come from */
	struct cgroup_host cg_host;
	int landlock;
	struct err dumps; /* of dumps_bar() */
	char run_dir[256];
	struct shelf_end shelves[SHELVES_MAX];
	unsigned shelf_count, cpus;
	struct place places[SLOTS_MAX];
	unsigned place_count;
	unsigned active; /* those from here on are FREE: nobody looks at them */
	struct jar_limits node_limits; /* of the last run of node: the next will hardly differ. wall_ms 0: there was none */
	struct run pending[PENDING_MAX];
	unsigned pending_count;
	uint64_t next_trim_ns;
	bool memory_short;     /* at the last look: nothing is made ahead */
	unsigned fails;	       /* slots that were given up since the last one that became ready */
	uint64_t hold_ns;      /* after too many: nothing is made until then */
	bool rootless;
	/* One for each thread of a guest at most. */
	struct held *held;
	size_t held_count, held_room;
	uint64_t held_ns; /* when they are answered; 0: there are none */
};

static struct pool p;

/* FROM_ZYGOTE and FROM_NOTIFY: index is shelf * ZYGOTES + kind. */
enum source { FROM_FRONT, FROM_SIGNALS, FROM_SHELF, FROM_ZYGOTE, FROM_NOTIFY, FROM_CHAN, FROM_REPORT, FROM_NODE, FROM_SEAT, FROM_RESTORER };

static void watch_fd(int fd, enum source from, unsigned index)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (uint64_t)from << 32 | index };

	epoll_ctl(p.epoll, EPOLL_CTL_ADD, fd, &ev);
}

/* Closing alone is not enough: a child that has a copy would keep it in the set. */
static void unwatch(int *fd)
{
	if (*fd >= 0)
		epoll_ctl(p.epoll, EPOLL_CTL_DEL, *fd, NULL);
	fd_close(fd);
}

/* ---- to the front ---- */

static void add_facts(struct pool_event *ev, const struct place *s)
{
	struct jar_facts *f = &ev->facts;

	f->landlock_abi = p.landlock;
	f->missing = s->missing;
	if (!p.landlock)
		f->missing |= JAR_MISSING_LANDLOCK;
	else if (p.landlock < 6)
		f->missing |= JAR_MISSING_SCOPE;
	if (s->cg.dir[CGROUP_MEMORY] < 0)
		f->missing |= JAR_MISSING_MEMORY;
	else if (!cgroup_counts_sockets(&s->cg, s->watch.host))
		f->missing |= JAR_MISSING_SOCKETS;
	if (s->cg.dir[CGROUP_PIDS] < 0)
		f->missing |= JAR_MISSING_PIDS;
	if (s->cg.dir[CGROUP_CPU] < 0 || s->cg.dir[CGROUP_CPUACCT] < 0)
		f->missing |= JAR_MISSING_CPU;
	f->cgroup_version = p.cg_host.version;
	f->rootless = p.rootless;
	f->host_uid = s->ids.uids.start + 2;
	/* A start of node in a jar that was ready is still a start of node. */
	f->warm = s->kind == s->run.kind;
	ev->have_facts = 1;
}

static void tell(struct pool_event *ev, uint32_t type, uint32_t run, const int *fd)
{
	ev->type = type;
	ev->run = run;
	/* A front that is gone is noticed by its socket's end. */
	fd_send(p.front, ev, sizeof(*ev), fd, fd ? 1 : 0);
}

static void tell_plain(uint32_t type, uint32_t run)
{
	struct pool_event ev;

	memset(&ev, 0, sizeof(ev));
	tell(&ev, type, run, NULL);
}

static void tell_failed(uint32_t run, const struct place *s, const struct err *e)
{
	struct pool_event ev;

	memset(&ev, 0, sizeof(ev));
	if (s)
		add_facts(&ev, s);
	ev.err = *e;
	tell(&ev, POOL_FAILED, run, NULL);
}

static void notice(const struct err *e)
{
	struct pool_event ev;

	memset(&ev, 0, sizeof(ev));
	ev.err = *e;
	tell(&ev, POOL_NOTICE, 0, NULL);
}

static void close_streams(struct run *r)
{
	for (int i = 0; i < 4; i++)
		fd_close(&r->fds[i]);
}

/* ---- who speaks ---- */

/* Receives a report and who sent it, as the kernel says. What is too short for one is as good as the end. */
static ssize_t hear(int sock, struct jar_report *r, int *fds, unsigned max, unsigned *nfds, pid_t *pid, uid_t *uid, bool wait)
{
	ssize_t n = fd_recv_from(sock, r, sizeof(*r), fds, max, nfds, pid, uid, wait ? 0 : MSG_DONTWAIT);

	if (n < (ssize_t)REPORT_SHORT) {
		for (; fds && *nfds; --*nfds)
			close(fds[*nfds - 1]);
		memset(r, 0, sizeof(*r));
		return n < 0 ? -1 : 0;
	}
	/* Without an error the rest is left out. */
	memset((char *)r + n, 0, sizeof(*r) - (size_t)n);
	if (r->type == REPORT_ERROR)
		err_received(&r->err);
	return n;
}

static bool in_slot(const struct slot *s, uid_t uid)
{
	return uid >= s->uids.start && uid - s->uids.start < s->uids.count;
}

/* It is our child and alive: only then is its number our own to use. */
static bool is_alive(pid_t pid)
{
	siginfo_t info = { 0 };

	return pid > 1 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

static bool init_is_dead(const struct place *s)
{
	return !s->init || !is_alive(s->init);
}

/* Before it is dead it ends all others, and waits until each of them was reaped. */
static bool init_is_ending(const struct place *s)
{
	return init_is_dead(s) || scan_is_ending(s->init);
}

static int make_channel(int *ours, int *theirs, enum source from, unsigned index, struct err *e)
{
	int sock[2], on = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a channel");
	setsockopt(sock[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	watch_fd(sock[0], from, index);
	*ours = sock[0];
	*theirs = sock[1];
	return 0;
}

/* ---- a slot's steps ---- */

static void ask_shelf(struct place *s, struct shelf_msg *msg, const int *fds, unsigned nfds)
{
	msg->slot = s->index;
	/* A shelf that is gone is noticed by its end. */
	fd_send(p.shelves[s->shelf].u.sock, msg, sizeof(*msg), fds, nfds);
}

static void close_guest(struct place *s)
{
	unwatch(&s->report);
	for (int i = 0; i < 4; i++)
		fd_close(&s->streams[i]);
	s->guest = 0;
}

static void close_jar(struct place *s)
{
	close_guest(s);
	unwatch(&s->chan);
	for (int i = 0; i < OWN_SPACES; i++)
		fd_close(&s->own[i]);
	s->init = 0;
	s->recycle = false;
}

static void set_state(struct place *s, enum slot_state state)
{
	s->state = state;
	s->until_ns = clock_mono_ns() + STEP_LIMIT_NS;
}

static unsigned cgroup_fds(const struct place *s, int *out, uint32_t *tasks, uint32_t *v2)
{
	int dir = cgroup_v2_dir(&s->cg, s->watch.host);
	unsigned n = 0;

	for (int c = 0; c < CGROUP_CTLS; c++)
		if (s->cg.tasks[c] >= 0)
			out[n++] = s->cg.tasks[c];
	*tasks = n;
	*v2 = dir >= 0;
	if (dir >= 0)
		out[n++] = dir;
	return n;
}

static void give_up(struct place *s, const struct err *e);

/* The shelf and its zygotes, which are of another user, both put processes into it. */
static int make_group(struct place *s, struct err *e)
{
	const struct slot *owner = &p.shelves[s->shelf].ids;

	return cgroup_make(&s->cg, s->watch.host, s->ids.cgroup, owner->uids.start, owner->gids.start + SHELF_ZYGOTE_ID,
			   owner->uids.start + SHELF_ZYGOTE_ID, e);
}

static void start_slot(struct place *s)
{
	static struct shelf_msg msg;
	struct err e = { 0 };
	auto_close int devices = -1;
	int fds[3 + CGROUP_CTLS];
	unsigned n;

	if (!s->cg_made) {
		if (step_point("cgroup-make", &e) < 0 || make_group(s, &e) < 0) {
			give_up(s, &e);
			return;
		}
		s->cg_made = true;
		/* A new group has no limits yet. */
		memset(&s->applied, 0, sizeof(s->applied));
		cgroup_open_counters(&s->cg, s->watch.host);
	}
	if (make_channel(&s->chan, &fds[0], FROM_CHAN, (unsigned)(s - p.places), &e) < 0) {
		give_up(s, &e);
		return;
	}
	n = 1 + cgroup_fds(s, fds + 1, &msg.tasks, &msg.v2);
	devices = devices_make();
	msg.devices = devices >= 0;
	if (msg.devices)
		fds[n++] = devices;
	msg.op = SHELF_SLOT;
	msg.inotify = INOTIFY_SHARE / (p.shelves[s->shelf].slots ? p.shelves[s->shelf].slots : 1);
	if (msg.inotify > 16)
		msg.inotify = 16;
	if (msg.inotify < 2)
		msg.inotify = 2;
	s->bound = s->renew = s->retire = false;
	set_state(s, SLOTTING);
	ask_shelf(s, &msg, fds, n);
	close(fds[0]);
}

static struct zygote_end *zygote_of(const struct place *s, uint32_t kind)
{
	return &p.shelves[s->shelf].zygotes[kind == POOL_PYTHON];
}

static void tell_zygote(struct place *s, struct zygote_end *z)
{
	struct forker_msg msg = { .op = FORKER_SLOT, .slot = s->index };
	int fds[SLOT_SPACES + CGROUP_CTLS + 1];
	unsigned n;

	if (!z->ready || s->spaces[0] < 0)
		return;
	memcpy(fds, s->spaces, sizeof(s->spaces));
	n = SLOT_SPACES + cgroup_fds(s, fds + SLOT_SPACES, &msg.tasks, &msg.v2);
	fd_send(z->sock, &msg, sizeof(msg), fds, n);
}

static void start_jar(struct place *s)
{
	static struct shelf_msg msg;
	struct err e = { 0 };
	int end;

	unwatch(&s->chan);
	if (make_channel(&s->chan, &end, FROM_CHAN, (unsigned)(s - p.places), &e) < 0) {
		give_up(s, &e);
		return;
	}
	msg.op = SHELF_JAR;
	msg.disk_bytes = s->disk_bytes = p.want.disk_bytes;
	msg.recycle = p.want.recycle;
	set_state(s, JARRING);
	ask_shelf(s, &msg, &end, 1);
	close(end);
}

/* Whoever is dying, or being put back, is not to take its time from a program's small share of a CPU: all wait for it. */
static void unthrottle(struct place *s)
{
	struct cgroup_limits all = s->applied;
	struct err e = { 0 };

	if (!s->applied.cpus_milli || s->applied.cpus_milli >= 1000)
		return;
	all.cpus_milli = UNTHROTTLED_MILLI;
	cgroup_limit(&s->cg, s->watch.host, &all, &e);
	memset(&s->applied, 0, sizeof(s->applied));
}

/* ---- seats ---- */

/* A place that is empty must be filled; nobody looks at it. */
static void own_spaces(const struct place *s, int *out)
{
	for (int i = 0; i < OWN_SPACES; i++)
		out[i] = s->own[i] >= 0 ? s->own[i] : s->own[OWN_PID];
}

static bool seats_wanted(const struct place *s)
{
	const struct shelf_end *h = &p.shelves[s->shelf];

	/* Without a count of processes nobody could say that a guest's are all gone. */
	return p.want.recycle && p.landlock && h->restorer.pid && h->zygotes[POOL_PYTHON].ready && h->zygotes[POOL_PYTHON].seats && s->cg.dir[CGROUP_PIDS] >= 0 &&
	       s->cg.dir[CGROUP_MEMORY] >= 0;
}

static void drop_seat(struct place *s)
{
	struct seat_end *t = &s->seat;

	if (t->state == SEAT_NONE || t->state == SEAT_DYING)
		return;
	unwatch(&t->chan);
	/* One that has not said a word yet ends when it does. */
	t->state = t->pid ? SEAT_DYING : SEAT_NONE;
	if (t->pid)
		kill(t->pid, SIGKILL);
}

/* One that has entered the jar goes with it. */
static void leave_jar(struct place *s)
{
	enum seat_state now = s->seat.state;

	if (now == SEAT_SETTLES || now == SEAT_LEARN || now == SEAT_IDLE || now == SEAT_BUSY || now == SEAT_BACK)
		drop_seat(s);
}

/* Those that it traces die with it; also one that it was about to. */
static void forget_restorer(struct shelf_end *h)
{
	unwatch(&h->restorer.sock);
	h->restorer.pid = 0;
	for (unsigned i = 0; i < p.active; i++)
		if (&p.shelves[p.places[i].shelf] == h)
			drop_seat(&p.places[i]);
}

/* It came to nothing before it was of use. Where that happens again and again guests are forked as ever. */
static void seat_failed(struct place *s, const struct err *e)
{
	struct shelf_end *h = &p.shelves[s->shelf];

	drop_seat(s);
	if (++h->restorer.failed < SEAT_FAILS || !h->restorer.pid)
		return;
	kill(h->restorer.pid, SIGKILL);
	forget_restorer(h);
	notice(e);
}

static void ask_restorer(struct place *s, uint32_t op, uint64_t mail, enum seat_state next)
{
	struct restore_msg msg = { .op = op, .seat = s->index, .pid = s->seat.pid, .zygote = s->seat.zygote, .mail = mail };

	s->seat.state = next;
	/* One that is gone is noticed by its end. */
	fd_send(p.shelves[s->shelf].restorer.sock, &msg, sizeof(msg), NULL, 0);
}

static void start_seat(struct place *s)
{
	struct zygote_end *z = &p.shelves[s->shelf].zygotes[POOL_PYTHON];
	struct forker_msg msg = { .op = FORKER_SEAT, .slot = s->index };
	struct err e = { 0 };
	int end = -1;

	s->seat.pid = 0;
	s->seat.spent = false;
	s->seat.zygote = (uint32_t)z->pid;
	if (make_channel(&s->seat.chan, &end, FROM_SEAT, (unsigned)(s - p.places), &e) < 0) {
		seat_failed(s, &e);
		return;
	}
	s->seat.state = SEAT_BIRTH;
	fd_send(z->sock, &msg, sizeof(msg), &end, 1);
	close(end);
}

/* The kernel's own count, which goes down when a process is reaped. */
static bool in_group(const struct place *s, int64_t processes)
{
	return cgroup_pids_now(&s->cg, s->watch.host) == processes;
}

/* What has to do with it while somebody else waits is not to be slowed down by what the last guest has used up. */
static void settle_seat(struct place *s)
{
	struct forker_msg msg = { .op = FORKER_SETTLE, .slot = s->index };
	int fds[OWN_SPACES];

	unthrottle(s);
	own_spaces(s, fds);
	s->seat.state = SEAT_SETTLES;
	fd_send(s->seat.chan, &msg, sizeof(msg), fds, OWN_SPACES);
}

static void end_jar(struct place *s);

/*
 * Between two guests, when the slot's next one is to be of `kind`. True when it can be started. Where a guest has ended but not its jar, what it has left
 * behind may still use its memory: only a seat that is alone is touched. And it is the same user as whoever a seat bears, who has no rights to end it: nobody is born beside it.
 */
static bool seat_ready(struct place *s, uint32_t kind)
{
	struct seat_end *t = &s->seat;

	if ((t->state == SEAT_BUSY || t->state == SEAT_IDLE) && t->spent)
		drop_seat(s);
	if (t->state == SEAT_BUSY && !in_group(s, 1)) {
		drop_seat(s);
	} else if (t->state == SEAT_BUSY) {
		unthrottle(s);
		ask_restorer(s, RESTORE_BACK, 0, SEAT_BACK);
	}
	if (kind != POOL_PYTHON || !seats_wanted(s)) {
		if (t->state == SEAT_IDLE || t->state == SEAT_HELD)
			drop_seat(s);
		return t->state == SEAT_NONE;
	}
	if (s->state == JARRED && ((t->state == SEAT_NONE && !in_group(s, 0)) || (t->state == SEAT_HELD && !in_group(s, 1)))) {
		end_jar(s);
		return false;
	}
	if (t->state == SEAT_NONE)
		start_seat(s);
	if (t->state == SEAT_HELD && s->state == JARRED)
		settle_seat(s);
	return t->state == SEAT_IDLE;
}

/* A jar that is gone, or that is not what it was, is not the seat's fault. */
static void settle_failed(struct place *s, const struct err *e)
{
	if (s->seat.state != SEAT_SETTLES || (!s->recycle && !init_is_ending(s))) {
		seat_failed(s, e);
		return;
	}
	drop_seat(s);
	if (s->state == JARRED)
		end_jar(s);
}

static void on_seat(struct place *s)
{
	struct seat_end *t = &s->seat;
	struct jar_report r;
	unsigned n = 0;
	pid_t pid = 0;
	uid_t uid = 0;
	ssize_t got = hear(t->chan, &r, NULL, 0, &n, &pid, &uid, true);
	struct err e = { 0 };

	if (t->state == SEAT_BIRTH && got >= (ssize_t)REPORT_SHORT && r.type == REPORT_WAITING && in_slot(&p.shelves[s->shelf].ids, uid) && is_alive(pid)) {
		t->pid = pid;
		ask_restorer(s, RESTORE_TAKE, r.at_ns, SEAT_TAKEN);
		return;
	}
	if (t->state == SEAT_SETTLES && got >= (ssize_t)REPORT_SHORT && r.type == REPORT_READY && pid == t->pid) {
		ask_restorer(s, RESTORE_LEARN, 0, SEAT_LEARN);
		return;
	}
	/* The end of one that lived is told by SIGCHLD. */
	if (t->state != SEAT_BIRTH && !(t->state == SEAT_SETTLES && got > 0)) {
		unwatch(&t->chan);
		return;
	}
	if (got > 0 && r.type == REPORT_ERROR)
		e = r.err;
	else
		err_set(&e, ERR_SETUP, "a seat ended while it was set up");
	settle_failed(s, &e);
}

static void on_restorer(struct shelf_end *h, unsigned shelf)
{
	union {
		struct jar_report report;
		struct restore_answer answer;
	} u;
	struct err e = { 0 };
	unsigned n = 0;
	pid_t pid = 0;
	uid_t uid = 0;
	ssize_t got = fd_recv_from(h->restorer.sock, &u, sizeof(u), NULL, 0, &n, &pid, &uid, 0);

	if (!h->restorer.pid && got == sizeof(u.report) && u.report.type == REPORT_READY && in_slot(&h->ids, uid) && is_alive(pid)) {
		h->restorer.pid = pid;
		return;
	}
	if (!h->restorer.pid || got != sizeof(u.answer)) {
		if (!h->restorer.pid && got == sizeof(u.report) && u.report.type == REPORT_ERROR) {
			err_received(&u.report.err);
			notice(&u.report.err);
		}
		unwatch(&h->restorer.sock);
		if (h->restorer.pid)
			kill(h->restorer.pid, SIGKILL);
		return;
	}
	for (unsigned i = 0; i < p.active; i++) {
		struct place *s = &p.places[i];

		if (s->shelf != shelf || s->index != u.answer.seat || s->seat.pid != u.answer.pid)
			continue;
		if (!u.answer.ok && (s->seat.state == SEAT_BACK || u.answer.why == RESTORE_AGAIN)) {
			drop_seat(s);
		} else if (!u.answer.ok && s->seat.state != SEAT_DYING) {
			errno = u.answer.sys;
			err_sys(&e, "--recycle: Python's memory cannot be used again here (%u)", u.answer.why);
			err_hint(&e, "guests are forked instead; docs/warm.md says what the kernel must have");
			seat_failed(s, &e);
		} else if (s->seat.state == SEAT_TAKEN) {
			s->seat.state = SEAT_HELD;
		} else if (s->seat.state == SEAT_LEARN || s->seat.state == SEAT_BACK) {
			h->restorer.failed = 0;
			s->seat.state = SEAT_IDLE;
		}
		return;
	}
}

static void start_restorer(struct shelf_end *h)
{
	static struct shelf_msg msg = { .op = SHELF_RESTORER };
	struct err e = { 0 };
	int end = -1;

	if (!p.want.recycle || h->restorer.sock >= 0 || h->restorer.tries++ > ZYGOTE_TRIES)
		return;
	if (make_channel(&h->restorer.sock, &end, FROM_RESTORER, (unsigned)(h - p.shelves), &e) < 0) {
		notice(&e);
		return;
	}
	fd_send(h->u.sock, &msg, sizeof(msg), &end, 1);
	close(end);
}

static void seat_exited(struct place *s)
{
	struct err e = { 0 };
	enum seat_state now = s->seat.state;

	unwatch(&s->seat.chan);
	if (s->state == RUNNING)
		watch_seat_gone(&s->watch);
	s->seat.pid = 0;
	err_set(&e, ERR_SETUP, "a seat ended while it was set up");
	if (now == SEAT_TAKEN || now == SEAT_HELD || now == SEAT_SETTLES || now == SEAT_LEARN)
		settle_failed(s, &e);
	s->seat.state = SEAT_NONE;
}

/* ---- guests ---- */

static bool fits(const struct place *s, const struct run *r)
{
	return !s->bound || s->client == r->client;
}

/* What kind of guest serves a run soonest: whoever waits for node already is better off with a start of his own. */
static uint32_t kind_for(const struct run *r)
{
	return r->kind == POOL_NODE ? POOL_EXEC : r->kind;
}

/* Guests of a kind that wait for a run of that client, or soon will, in other slots. */
static unsigned waiting_for(const struct run *r, uint32_t kind, const struct place *but)
{
	unsigned n = 0;

	for (unsigned k = 0; k < p.active; k++) {
		const struct place *o = &p.places[k];

		n += o != but && (o->state == FORKING || o->state == READY) && !o->evicted && o->kind == kind && fits(o, r);
	}
	return n;
}

/* Which kind the next guest of a slot should be: one for the first run that it could serve and nobody else is about to, else what it was last. */
static uint32_t wanted_kind(const struct place *s)
{
	/* Each client and kind that was seen, and how many guests there are for those of its runs that come next: each run takes one. */
	struct {
		uint64_t client;
		uint32_t kind;
		unsigned left;
	} seen[PENDING_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < p.pending_count; i++) {
		const struct run *r = &p.pending[i];
		uint32_t kind = kind_for(r);
		unsigned k = 0;

		if (!fits(s, r))
			continue;
		while (k < n && (seen[k].client != r->client || seen[k].kind != kind))
			k++;
		if (k == n) {
			seen[n].client = r->client;
			seen[n].kind = kind;
			seen[n++].left = waiting_for(r, kind, s);
		}
		if (!seen[k].left--)
			return kind;
	}
	return s->next_kind;
}

static void start_guest(struct place *s, uint32_t kind)
{
	struct forker_msg msg = { .op = FORKER_FORK, .slot = s->index, .recycled = s->recycle };
	struct err e = { 0 };
	int fds[1 + OWN_SPACES];

	close_guest(s);
	if (make_channel(&s->report, &fds[0], FROM_REPORT, (unsigned)(s - p.places), &e) < 0) {
		give_up(s, &e);
		return;
	}
	own_spaces(s, fds + 1);
	s->kind = kind;
	s->evicted = s->cold = s->said = false;
	s->ended_by = 0;
	memset(&s->why, 0, sizeof(s->why));
	set_state(s, FORKING);
	s->watch.seat = s->seat.state != SEAT_NONE;
	if (kind == POOL_PYTHON && s->seat.state == SEAT_IDLE) {
		s->seat.state = SEAT_BUSY;
		s->until_ns = clock_mono_ns() + SEAT_LIMIT_NS;
		msg.op = FORKER_ENTER;
		fd_send(s->seat.chan, &msg, sizeof(msg), fds, 1);
	} else {
		fd_send(zygote_of(s, kind)->sock, &msg, sizeof(msg), fds, 1 + OWN_SPACES);
	}
	close(fds[0]);
}

/*
 * Ends the jar, and with it all in it; the slot goes on when init is reaped. Not by cgroup.kill: kernels that count kills (kill_seq, 6.14 and stable ones before it)
 * kill whoever is cloned later into a group that was killed once, and the slot keeps its group.
 */
static void end_jar(struct place *s)
{
	unthrottle(s);
	if (s->guest)
		kill(s->guest, SIGKILL);
	leave_jar(s);
	/* Whoever lets go of namespaces and mounts last waits for all CPUs: not we, but init at its end. */
	for (int i = 0; i < OWN_SPACES; i++)
		fd_close(&s->own[i]);
	if (!s->ended)
		fd_close(&s->data);
	if (s->init) {
		kill(s->init, SIGKILL);
		set_state(s, DYING);
		return;
	}
	close_jar(s);
	fd_close(&s->data);
	set_state(s, BARE);
}

static void forget_slot(struct place *s)
{
	for (int i = 0; i < SLOT_SPACES; i++)
		fd_close(&s->spaces[i]);
	s->bound = false;
}

static void take_pending(unsigned i);

/* One after the other fails: whoever waits is told why, and the next try is a moment later. */
static void fail_pending(const struct err *e)
{
	p.fails = 0;
	p.hold_ns = clock_mono_ns() + NS_PER_S;
	while (p.pending_count) {
		tell_failed(p.pending[0].number, NULL, e);
		close_streams(&p.pending[0]);
		take_pending(0);
	}
}

/* Something did not work: the run that waits for it goes elsewhere or fails, the slot starts over. */
static void give_up(struct place *s, const struct err *e)
{
	if (++p.fails >= FAILS_MAX)
		fail_pending(e);
	if (s->reserved) {
		s->reserved = false;
		tell_failed(s->run.number, s, e);
		close_streams(&s->run);
	}
	s->renew = true;
	end_jar(s);
	if (s->state == BARE) {
		forget_slot(s);
		unwatch(&s->chan);
		s->state = FREE;
		s->until_ns = 0;
		s->renew = false;
	}
}

/* ---- a run ---- */

static int set_disk(struct place *s, uint64_t bytes, struct err *e)
{
	if (bytes == s->disk_bytes)
		return 0;
	if (root_resize(s->data, bytes, e) < 0)
		return -1;
	s->disk_bytes = bytes;
	return 0;
}

static int set_limits(struct place *s, const struct jar_limits *l, struct err *e)
{
	/* The seat is in the group too. */
	struct cgroup_limits want = { l->memory_bytes, l->pids + s->watch.seat, l->cpus_milli };

	if (step_point("cgroup-limits", e) < 0)
		return -1;
	if (memcmp(&want, &s->applied, sizeof(want)) == 0)
		return 0;
	memset(&s->applied, 0, sizeof(s->applied));
	if (cgroup_limit(&s->cg, s->watch.host, &want, e) < 0)
		return -1;
	s->applied = want;
	return 0;
}

/* Somebody needs node and there was none that waits: the next will find one. */
static void want_node(const struct run *r)
{
	struct place *other = NULL;

	for (unsigned i = 0; i < p.active; i++) {
		struct place *s = &p.places[i];

		if (s->state != RUNNING && s->state != FREE && s->next_kind == POOL_NODE)
			return;
		if (s->state == READY && s->kind != POOL_NODE && !s->evicted && !s->reserved && (!s->bound || s->client == r->client))
			other = s;
	}
	if (!other)
		return;
	other->next_kind = POOL_NODE;
	other->evicted = true;
	kill(other->guest, SIGKILL);
}

/* The front may look at the CPU time of this run's jar as often as it likes. */
static void tell_meter(struct place *s, const struct run *r)
{
	struct pool_event ev;
	int fd;

	if (!(r->flags & POOL_METER))
		return;
	memset(&ev, 0, sizeof(ev));
	fd = watch_meter(&s->watch, &ev.evidence.cg.cpu_ns);
	ev.type = POOL_METERED;
	ev.run = r->number;
	if (fd >= 0)
		fd_send(p.front, &ev, sizeof(ev), &fd, 1);
}

/* The guest waits, the request is there. False: it is dead, and somebody else must do. */
static bool go(struct place *s, struct run *r)
{
	struct warm_go go;
	struct err e = { 0 };

	s->next_kind = r->kind;
	s->run = *r;
	s->reserved = false;
	s->ended = false;
	s->bound = true;
	s->client = r->client;
	if (set_limits(s, &r->limits, &e) < 0 || set_disk(s, r->limits.disk_bytes, &e) < 0) {
		tell_failed(r->number, s, &e);
		close_streams(r);
		end_jar(s);
		return true;
	}
	watch_begin(&s->watch, &r->limits, SETUP_LIMIT_NS);
	s->watch.guest_pid = s->guest;
	s->watch.data = s->data;
	go.limits = s->watch.limits;
	tell_meter(s, r);
	if (fd_send(s->report, &go, sizeof(go), r->fds, 4) < 0) {
		s->renew = true;
		end_jar(s);
		return false;
	}
	/* It will say that it starts, and close: nothing to wake up for. The kernel tells its end. */
	epoll_ctl(p.epoll, EPOLL_CTL_DEL, s->report, NULL);
	close_streams(r);
	s->state = RUNNING;
	if (r->kind == POOL_NODE)
		want_node(r);
	s->until_ns = clock_mono_ns() + FIRST_LOOK_NS;
	if (r->limits.wall_ms < FIRST_LOOK_NS / NS_PER_MS)
		s->until_ns = clock_mono_ns() + r->limits.wall_ms * NS_PER_MS;
	return true;
}

/*
 * Node is executed before there is a request. It reads it itself, as its own feed, on descriptor 3 (src/guest/node/preload.js); its streams are
 * made here, and the front gets our ends when there is a run.
 */
static void add_record(char *out, size_t *at, uint32_t type, const char *data, size_t len)
{
	struct feed_rec r = { .magic = FEED_MAGIC, .type = type, .size = len };

	memcpy(out + *at, &r, sizeof(r));
	memcpy(out + *at + sizeof(r), data, len);
	*at += sizeof(r) + len;
}

#define NUL_ENDED(w) w "\0"
#define NODE_ENV     ROOT_ENV(NUL_ENDED)

static unsigned in_use(void);

static int boot_node(struct place *s, struct err *e)
{
	/* Practice takes CPU time that others need where more run than there are CPUs. */
	static const char quick[] = NODE_ENV "BELLJAR_WAIT=1", practised[] = NODE_ENV "BELLJAR_WAIT=2";
	static const char argv[] = "/usr/bin/node\0--require=/etc/belljar/node.js\0/workspace/main.js";
	static const struct {
		mode_t mode;
		int guest; /* which end is its */
	} kinds[3] = { { 0444, 0 }, { 0222, 1 }, { 0222, 1 } };
	struct warm_go go;
	char text[1024];
	size_t len = 0;
	int theirs[5] = { -1, -1, -1, -1, -1 }, feed[2] = { -1, -1 }, own[2], rc = -1;

	for (int i = 0; i < 3; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0 || fchmod(ends[0], kinds[i].mode) < 0) {
			err_sys(e, "make a pipe");
			goto out;
		}
		theirs[i] = ends[kinds[i].guest];
		s->streams[i] = ends[!kinds[i].guest];
	}
	/* Its own feed goes both ways: it says when it is there. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, own) < 0) {
		err_sys(e, "make a feed for node");
		goto out;
	}
	s->streams[3] = own[0];
	theirs[4] = own[1];
	if (pipe2(feed, O_CLOEXEC) < 0) {
		err_sys(e, "make a pipe");
		goto out;
	}
	theirs[3] = feed[0];
	add_record(text, &len, FEED_ENV, in_use() > p.cpus ? quick : practised, sizeof(quick));
	add_record(text, &len, FEED_ARGV, argv, sizeof(argv));
	add_record(text, &len, FEED_CWD, "/workspace", 10);
	add_record(text, &len, FEED_GO, "", 0);
	s->booted = p.node_limits;
	if (set_limits(s, &s->booted, e) < 0 || set_disk(s, s->booted.disk_bytes, e) < 0)
		goto out;
	watch_begin(&s->watch, &s->booted, SETUP_LIMIT_NS);
	go.limits = s->watch.limits;
	if (fd_write_all(feed[1], text, len) < 0 || fd_send(s->report, &go, sizeof(go), theirs, 5) < 0) {
		err_sys(e, "start node");
		goto out;
	}
	set_state(s, BOOTING);
	rc = 0;
out:
	for (int i = 0; i < 5; i++)
		fd_close(&theirs[i]);
	fd_close(&feed[1]);
	return rc;
}

/* Limits that are set when a process starts must be the same; the others are set now. */
static bool boots_like(const struct jar_limits *a, const struct jar_limits *b)
{
	return a->nofile == b->nofile && a->disk_bytes == b->disk_bytes && a->cpu_ms == b->cpu_ms && a->pids == b->pids;
}

static bool go_node(struct place *s, struct run *r)
{
	struct err e = { 0 };
	struct pool_event ev;

	if (!is_alive(s->guest)) {
		s->renew = true;
		end_jar(s);
		return false;
	}
	s->run = *r;
	s->ended = false;
	s->bound = true;
	s->client = r->client;
	close_streams(r);
	if (set_limits(s, &r->limits, &e) < 0) {
		tell_failed(r->number, s, &e);
		end_jar(s);
		return true;
	}
	/* What it took to start is not the program's. */
	watch_base(&s->watch, true);
	watch_begin(&s->watch, &r->limits, SETUP_LIMIT_NS);
	s->watch.guest_pid = s->guest;
	s->watch.data = s->data;
	watch_started(&s->watch, clock_mono_ns());
	tell_meter(s, r);
	memset(&ev, 0, sizeof(ev));
	ev.type = POOL_STREAMS;
	ev.run = r->number;
	fd_send(p.front, &ev, sizeof(ev), s->streams, 4);
	for (int i = 0; i < 4; i++)
		fd_close(&s->streams[i]);
	s->state = RUNNING;
	s->until_ns = watch_next(&s->watch);
	return true;
}

/* What the guest has said since it was sent off. */
static void hear_guest(struct place *s)
{
	struct jar_report r;
	unsigned n;
	pid_t pid;
	uid_t uid;
	int fd;

	while (s->report >= 0 && hear(s->report, &r, &fd, 1, &n, &pid, &uid, false) > 0) {
		if (n)
			close(fd);
		if (r.type == REPORT_EXEC && !s->watch.started)
			watch_started(&s->watch, r.at_ns);
		if (r.type == REPORT_ERROR) {
			s->why = r.err;
			s->watch.started = false;
		}
		s->cold = s->cold || r.type == REPORT_COLD;
	}
}

static void end_guest(struct place *s, uint32_t why)
{
	unthrottle(s);
	if (!s->ended_by)
		s->ended_by = why;
	if (s->init)
		kill(s->init, SIGKILL);
	if (s->guest)
		kill(s->guest, SIGKILL);
}

static void release(struct place *s);

/* The end of a run, for the front: what is known of it, and what it comes to. */
static void tell_end(struct place *s, const struct jar_evidence *how)
{
	struct pool_event ev;
	uint32_t ended_by = s->ended_by;

	hear_guest(s);
	if (!ended_by && how->code == CLD_KILLED && how->status == SIGKILL && init_is_ending(s))
		ended_by = JAR_ENDED_OUTSIDE;
	watch_exited(&s->watch, how, ended_by);
	watch_close_meter(&s->watch);
	memset(&ev, 0, sizeof(ev));
	add_facts(&ev, s);
	if (s->watch.started) {
		ev.evidence = s->watch.ev;
		tell(&ev, POOL_EXITED, s->run.number, NULL);
	} else if (s->cold || (!s->why.kind && s->watch.ev.cg.oom_kills)) {
		/* Out of memory before it began: what the jar before it held may not be given back yet. A jar of its own has a group of its own, and tells
		 * the same when it really does not fit. */
		tell_plain(POOL_REFUSED, s->run.number);
		s->run.flags = 0; /* that was it: the run goes elsewhere */
	} else {
		if (!s->why.kind) {
			err_set(&s->why, ERR_SETUP, "the guest's process ended while it was set up");
			if (s->watch.ev.cg.oom_kills)
				err_hint(&s->why, "its files and itself do not fit into the memory limit: raise --memory");
		}
		tell_failed(s->run.number, s, &s->why);
	}
	fd_close(&s->report);
}

/* Its main process is no more. */
static void guest_ended(struct place *s)
{
	s->guest = 0;
	if (s->run.flags & POOL_KEEP) {
		s->state = KEPT;
		s->until_ns = 0;
		return;
	}
	release(s);
}

static void guest_exited(struct place *s, const siginfo_t *info, const struct rusage *ru)
{
	struct jar_evidence how = { .ended_ns = clock_mono_ns(), .code = info->si_code, .status = info->si_status };

	how.rusage_cpu_ns = (uint64_t)(ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * NS_PER_S +
			    (uint64_t)(ru->ru_utime.tv_usec + ru->ru_stime.tv_usec) * 1000;
	how.rusage_maxrss_bytes = (uint64_t)ru->ru_maxrss * 1024;
	tell_end(s, &how);
	guest_ended(s);
}

static bool used_again(const struct place *s)
{
	return p.want.recycle && s->kind != POOL_NODE && !(s->run.flags & POOL_KEEP);
}

/* Of all that the run has brought forth only the interpreter is left, one thread of it. */
static bool is_alone(const struct place *s)
{
	return s->seat.state == SEAT_BUSY ? in_group(s, 2) : s->seat.state == SEAT_NONE && in_group(s, 1);
}

/*
 * An interpreter that waited says that it ends with 0, and is blocked in the kernel since. That is its end: taking a process of its size apart takes as long as a short
 * program. It could have said the same by exiting, and it is killed: whoever lies here gains nothing. A jar that is used again waits until it is reaped, which is soon: nobody else is
 * in it (see on_notify).
 */
static void guest_ends(struct place *s)
{
	struct jar_evidence how = { .ended_ns = clock_mono_ns(), .code = CLD_EXITED };

	if (s->cg.dir[CGROUP_CPUACCT] < 0 || s->cg.dir[CGROUP_MEMORY] < 0)
		scan_usage(s->guest, &how.rusage_cpu_ns, &how.rusage_maxrss_bytes);
	tell_end(s, &how);
	kill(s->guest, SIGKILL);
	if (used_again(s)) {
		unthrottle(s);
		s->state = LEAVING;
		s->until_ns = clock_mono_ns() + SEAT_LIMIT_NS;
	} else {
		guest_ended(s);
	}
}

/* After a run: the same jar once more where that is wanted and can be proven to be clean, else a new one. */
static void release(struct place *s)
{
	bool again = p.want.recycle && !s->renew && s->watch.started && s->watch.ev.ended_by == JAR_ENDED_ITSELF && !s->watch.ev.cg.oom_kills && !init_is_dead(s) &&
		     s->kind != POOL_NODE;
	uint32_t kind = wanted_kind(s);

	fd_close(&s->report);
	s->recycle = again && kind != POOL_NODE && zygote_of(s, kind)->ready && (s->seat.state != SEAT_BUSY || in_group(s, 1));
	if (s->recycle)
		set_state(s, JARRED);
	else
		end_jar(s);
}

static bool suits(const struct place *s, const struct run *r)
{
	if (r->kind != POOL_NODE)
		return s->kind == r->kind;
	/* Without a memory cgroup the limit is one of those that are set at the start. */
	return s->kind == POOL_EXEC || (s->kind == POOL_NODE && boots_like(&s->booted, &r->limits) &&
					(s->cg.dir[CGROUP_MEMORY] >= 0 || s->booted.memory_bytes == r->limits.memory_bytes));
}

static void take_pending(unsigned i)
{
	memmove(&p.pending[i], &p.pending[i + 1], (--p.pending_count - i) * sizeof(p.pending[0]));
}

/* Gives waiting runs the guests that wait for them. */
static void assign(void)
{
	for (unsigned i = 0; i < p.pending_count;) {
		struct run r = p.pending[i];
		struct place *best = NULL;

		for (unsigned k = 0; k < p.active; k++) {
			struct place *s = &p.places[k];

			if (s->state != READY || s->evicted || s->reserved || !fits(s, &r) || !suits(s, &r))
				continue;
			/* Node before a start of node; the client's own before one that nobody has. */
			if (!best || (s->kind == r.kind && best->kind != r.kind) || (s->kind == best->kind && s->bound && !best->bound))
				best = s;
		}
		if (!best) {
			i++;
			continue;
		}
		take_pending(i);
		if (!(best->kind == POOL_NODE ? go_node(best, &r) : go(best, &r)) && p.pending_count < PENDING_MAX) {
			if (++r.tries < 4) {
				memmove(&p.pending[1], &p.pending[0], p.pending_count++ * sizeof(r));
				p.pending[0] = r;
			} else {
				struct err e = { 0 };

				err_set(&e, ERR_INTERNAL, "guests die before they are used");
				tell_failed(r.number, NULL, &e);
				close_streams(&r);
			}
		}
	}
}

static bool hopeless(const struct zygote_end *z)
{
	return z->tries > ZYGOTE_TRIES;
}

/* There is one of that kind, or will be in a moment. */
static bool any_zygote(uint32_t kind)
{
	for (unsigned i = 0; i < p.shelf_count; i++)
		if (!hopeless(&p.shelves[i].zygotes[kind == POOL_PYTHON]))
			return true;
	return false;
}

/* ---- how many ---- */

static bool is_preparing(const struct place *s)
{
	return s->state == SLOTTING || s->state == BARE || s->state == JARRING || s->state == JARRED || s->state == FORKING || s->state == BOOTING ||
	       s->state == LEAVING;
}

/* Runs that nothing is being prepared for get a slot that waits for another kind or client: its guest, or its namespaces, are made anew. */
static void make_room(void)
{
	bool taken[SLOTS_MAX] = { false };

	for (unsigned i = 0; i < p.pending_count; i++) {
		const struct run *r = &p.pending[i];
		struct place *other = NULL;
		bool coming = false;

		for (unsigned k = 0; k < p.active && !coming; k++) {
			struct place *s = &p.places[k];
			bool on_its_way = is_preparing(s) || (s->state == DYING && !s->retire && !s->ended) || (s->state == READY && s->evicted);

			if (taken[k] || s->reserved || !on_its_way || !(s->renew || fits(s, r)))
				continue;
			taken[k] = coming = true;
		}
		for (unsigned k = 0; k < p.active && !coming; k++) {
			struct place *s = &p.places[k];

			if (s->state != READY || s->evicted || s->reserved || taken[k])
				continue;
			if (!other || (fits(s, r) && !fits(other, r)) || (fits(s, r) == fits(other, r) && s->since_ns < other->since_ns))
				other = s;
		}
		if (!other)
			continue;
		taken[other - p.places] = true;
		if (fits(other, r)) {
			/* The jar is as new: only its guest goes. */
			other->evicted = true;
			kill(other->guest, SIGKILL);
		} else {
			other->renew = true;
			end_jar(other);
		}
	}
}

static unsigned in_use(void)
{
	unsigned n = p.pending_count;

	for (unsigned i = 0; i < p.active; i++) {
		enum slot_state t = p.places[i].state;

		n += t == RUNNING || t == KEPT || t == SCRUBBING || t == DEAD || t == EXPORTING || p.places[i].reserved;
	}
	return n;
}

/* Jars that the load calls for: those in use, and as many again that are being cleared away or made, which takes longer than a short run. */
static unsigned target(void)
{
	unsigned used = in_use(), spare = used + 3;
	unsigned want = used + (spare < p.want.floor ? p.want.floor : spare);

	if (p.memory_short)
		want = used;
	return want < p.want.ceiling ? want : p.want.ceiling;
}

static unsigned alive(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p.active; i++)
		n += p.places[i].state != FREE && !p.places[i].retire;
	return n;
}

/* The places of different shelves follow one another: work spreads by itself. */
static struct place *new_place(void)
{
	for (unsigned i = 0; i < p.place_count; i++)
		if (p.places[i].state == FREE && p.shelves[p.places[i].shelf].ready) {
			if (i >= p.active)
				p.active = i + 1;
			return &p.places[i];
		}
	return NULL;
}

static void grow(void)
{
	unsigned want = target();

	if (p.hold_ns && clock_mono_ns() < p.hold_ns)
		return;
	p.hold_ns = 0;
	for (unsigned n = alive(); n < want; n++) {
		struct place *s = new_place();

		if (!s)
			return;
		start_slot(s);
	}
}

static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Memory is short on the host: MemAvailable under a sixteenth of MemTotal. */
static bool memory_is_short(void)
{
	char text[512];

	if (hook_disabled("free_memory"))
		return true;
	if (fd_read_head(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) < 0 || !strstr(text, "MemAvailable:"))
		return false;
	return number_after(text, "MemAvailable:") < number_after(text, "MemTotal:") / 16;
}

/* Once a second: jars that nobody has needed for a while go, one at a time; all of the spare ones where memory is short. */
static void trim(uint64_t now)
{
	bool shrink;
	unsigned n, keep;

	if (now < p.next_trim_ns)
		return;
	p.next_trim_ns = now + NS_PER_S;
	while (p.active && p.places[p.active - 1].state == FREE)
		p.active--;
	shrink = p.memory_short = memory_is_short();
	keep = target();
	n = alive();
	for (unsigned i = p.active; i-- > 0 && n > keep;) {
		struct place *s = &p.places[i];

		if (s->state != READY || s->reserved || (!shrink && now - s->since_ns < IDLE_NS))
			continue;
		s->retire = true;
		end_jar(s);
		n--;
		if (!shrink)
			break;
	}
}

/* The slot's namespaces, and those who hold them, let go. A slot that is not needed any more gives its groups back too. */
static void free_slot(struct place *s)
{
	static struct shelf_msg msg = { .op = SHELF_CLEAR };
	struct forker_msg clear = { .op = FORKER_CLEAR, .slot = s->index };

	ask_shelf(s, &msg, NULL, 0);
	for (int k = 0; k < ZYGOTES; k++)
		if (p.shelves[s->shelf].zygotes[k].ready)
			fd_send(p.shelves[s->shelf].zygotes[k].sock, &clear, sizeof(clear), NULL, 0);
	forget_slot(s);
	s->state = FREE;
	s->until_ns = 0;
	/* One that is still busy is emptied and made anew by whoever needs the slot next, or goes at the end. */
	if (s->retire && s->cg_made) {
		s->cg_left = cgroup_remove(&s->cg, s->watch.host, 0) < 0;
		s->cg_made = false;
	}
}

static void step_on(void)
{
	for (unsigned i = 0; i < p.active; i++) {
		struct place *s = &p.places[i];

		if (s->state == BARE) {
			if (s->retire || s->renew) {
				drop_seat(s); /* it goes first: what it holds is the slot's */
				if (s->seat.state != SEAT_NONE)
					continue;
				free_slot(s);
				if (s->renew && !s->retire && !p.hold_ns)
					start_slot(s);
				s->retire = s->renew = false;
			} else {
				seat_ready(s, wanted_kind(s));
				start_jar(s);
			}
		}
		if (s->state == JARRED) {
			uint32_t kind = wanted_kind(s);

			if (hopeless(zygote_of(s, kind)))
				kind = kind == POOL_PYTHON ? POOL_EXEC : POOL_PYTHON;
			if (!zygote_of(s, kind)->ready)
				s->until_ns = clock_mono_ns() + STEP_LIMIT_NS;
			else if (seat_ready(s, kind))
				start_guest(s, kind);
		}
	}
}

static void balance(void)
{
	if (!p.open)
		return;
	step_on();
	assign();
	if (p.pending_count)
		make_room();
	grow();
}

/* ---- what slots say ---- */

#define OWN_ALL	 ((1ULL << OWN_SPACES) - 1)
#define OWN_MUST (1ULL << OWN_PID | 1ULL << OWN_MNT | 1ULL << OWN_IPC)

static void on_chan(struct place *s)
{
	struct jar_report r;
	int fds[OWN_SPACES + 1];
	unsigned n = 0, at = 1;
	pid_t pid = 0;
	uid_t uid = 0;
	ssize_t got = hear(s->chan, &r, fds, OWN_SPACES + 1, &n, &pid, &uid, true);
	struct err e = { 0 };

	if (got < (ssize_t)REPORT_SHORT || r.type == REPORT_ERROR) {
		for (unsigned i = 0; i < n; i++)
			close(fds[i]);
		unwatch(&s->chan);
		/* An init that runs and closes its channel is dead: that is told by its end. */
		if (s->state != SLOTTING && s->state != JARRING && s->state != SCRUBBING)
			return;
		if (got > 0)
			e = r.err;
		else
			err_set(&e, ERR_SETUP, "a jar's set-up ended early");
		give_up(s, &e);
		return;
	}
	if (s->state == SLOTTING && n == SLOT_SPACES) {
		memcpy(s->spaces, fds, sizeof(s->spaces));
		s->missing = (uint32_t)r.at_ns;
		for (int k = 0; k < ZYGOTES; k++)
			tell_zygote(s, &p.shelves[s->shelf].zygotes[k]);
		set_state(s, BARE);
	} else if (s->state == JARRING && n == 1 + (unsigned)__builtin_popcountll(r.at_ns & OWN_ALL) && (r.at_ns & OWN_MUST) == OWN_MUST &&
		   in_slot(&s->ids, uid) && is_alive(pid)) {
		s->init = pid;
		s->data = fds[0];
		for (int i = 0; i < OWN_SPACES; i++)
			s->own[i] = r.at_ns & 1ULL << i ? fds[at++] : -1;
		set_state(s, JARRED);
	} else if (s->state == SCRUBBING && r.type == REPORT_SCRUBBED) {
		s->run.kind = POOL_EXEC;
		s->recycle = false; /* what the first made is the second's */
		start_guest(s, POOL_EXEC);
	} else {
		for (unsigned i = 0; i < n; i++)
			close(fds[i]);
		err_set(&e, ERR_INTERNAL, "a jar said what nobody asked for");
		give_up(s, &e);
	}
}

/* One that does not do its work: its end is told by SIGCHLD, and another takes its place. */
static void end_zygote(struct zygote_end *z)
{
	if (z->pid)
		kill(z->pid, SIGKILL);
	z->ready = false;
}

static void on_report(struct place *s)
{
	struct jar_report r;
	int fd = -1;
	unsigned n = 0;
	pid_t pid = 0;
	uid_t uid = 0;
	ssize_t got = hear(s->report, &r, &fd, 1, &n, &pid, &uid, true);

	if (s->state == EXPORTING) {
		struct err e = r.err;

		if (n)
			close(fd);
		unwatch(&s->report);
		s->state = DEAD;
		s->until_ns = 0;
		if (got >= (ssize_t)REPORT_SHORT && r.type == REPORT_READY) {
			tell_plain(POOL_EXPORTED, s->run.number);
		} else {
			if (got <= 0)
				err_set(&e, ERR_INTERNAL, "the exporter ended unexpectedly");
			tell_failed(s->run.number, s, &e);
		}
		return;
	}
	if (n)
		close(fd);
	/* Node was executed. It says by itself when it waits. */
	if (got >= (ssize_t)REPORT_SHORT && r.type == REPORT_EXEC && s->state == BOOTING) {
		unwatch(&s->report);
		watch_fd(s->streams[3], FROM_NODE, (unsigned)(s - p.places));
		return;
	}
	if (got >= (ssize_t)REPORT_SHORT && r.type == REPORT_WAITING && s->state == FORKING && in_slot(&s->ids, uid) && is_alive(pid)) {
		struct run run = s->run;

		s->guest = pid;
		s->state = READY;
		s->since_ns = clock_mono_ns();
		s->until_ns = 0;
		p.fails = 0;
		zygote_of(s, s->kind)->barren = 0;
		watch_base(&s->watch, true);
		if (s->kind == POOL_NODE) {
			struct err e = { 0 };

			if (boot_node(s, &e) < 0)
				give_up(s, &e);
			return;
		}
		if (s->reserved && !go(s, &run)) {
			struct err e = { 0 };

			err_set(&e, ERR_INTERNAL, "the guest died before it was used");
			tell_failed(run.number, s, &e);
			close_streams(&run);
		}
		return;
	}
	/* A recycled jar that is not clean, a step that failed, or a death. */
	if (s->state == FORKING || s->state == BOOTING) {
		struct zygote_end *z = zygote_of(s, s->kind);
		struct err e = { 0 };

		/* Told by the zygote itself: there was no birth. Once that is the jar's fault, again and again its own. */
		if (got > 0 && z->pid && pid == z->pid && ++z->barren == BARREN_MAX)
			end_zygote(z);
		if (got > 0 && r.type == REPORT_ERROR)
			e = r.err;
		else
			err_set(&e, ERR_SETUP, "the guest's process ended while it was set up");
		if (s->recycle && !s->reserved) {
			end_jar(s);
			return;
		}
		give_up(s, &e);
		return;
	}
	unwatch(&s->report);
}

static void on_node(struct place *s)
{
	char byte;

	epoll_ctl(p.epoll, EPOLL_CTL_DEL, s->streams[3], NULL);
	/* Its end is told by SIGCHLD. */
	if (s->state != BOOTING || read(s->streams[3], &byte, 1) != 1)
		return;
	s->state = READY;
	s->since_ns = clock_mono_ns();
	s->until_ns = 0;
}

/* The first thread of an interpreter that waited: others have other numbers. */
static struct place *interpreter_of(unsigned shelf, pid_t pid)
{
	for (unsigned i = 0; i < p.active; i++) {
		struct place *s = &p.places[i];

		if (s->state == RUNNING && s->shelf == shelf && (s->kind == POOL_NODE || s->kind == POOL_PYTHON) && s->guest == pid)
			return s;
	}
	return NULL;
}

/*
 * A call for whose sake a seat cannot be used again. Whoever becomes another program leaves its memory behind: the seat, which would keep it at the guest's cost, goes
 * first, and the guest is its last user. A child of the guest has memory of its own.
 */
static void note(struct place *s, const struct seccomp_event *ev)
{
	if (!seccomp_is_start(ev)) {
		s->seat.spent = true;
	} else if (s->seat.state == SEAT_BUSY && s->guest && scan_group_of((pid_t)ev->pid) == s->guest) {
		struct err e = { 0 };

		drop_seat(s);
		watch_seat_gone(&s->watch);
		/* Its place among the processes is not the guest's. */
		if (set_limits(s, &s->run.limits, &e) < 0)
			end_guest(s, JAR_ENDED_CANCELLED);
	}
}

/* Makes a call wait that is one too many; false: it is to be answered now. */
static bool hold(struct place *s, unsigned shelf, unsigned zygote, const struct seccomp_event *ev)
{
	uint64_t now = clock_mono_ns();

	if (now - s->noted_ns >= NOTED_NS) {
		s->noted_ns = now;
		s->noted = 0;
	}
	if (s->noted++ < NOTED_MOST)
		return false;
	if (p.held_count == p.held_room) {
		size_t room = p.held_room ? 2 * p.held_room : 64;
		struct held *more = realloc(p.held, room * sizeof(*more));

		if (!more)
			return false;
		p.held = more;
		p.held_room = room;
	}
	p.held[p.held_count++] = (struct held){ *ev, (unsigned)(s - p.places), shelf, zygote };
	if (!p.held_ns)
		p.held_ns = now + NOTED_NS;
	return true;
}

/* After a socket that is not a UNIX one the slot's network namespace is not used again: what is left in it (TIME_WAIT, counters) tells the next run about
 * this one. */
static void answer_socket(struct place *s, int listener, const struct seccomp_event *ev)
{
	int error = sockets_check(ev, s->run.limits.memory_bytes);

	if (!seccomp_is_unix_socket(ev)) {
		s->renew = true;
		s->watch.ev.sockets++;
	}
	if (error) {
		s->watch.ev.sockets_refused++;
		seccomp_refuse(listener, ev, error);
	} else {
		seccomp_go_on(listener, ev);
	}
}

/* A call that goes on: noted, or counted. */
static void answer(struct place *s, int listener, const struct seccomp_event *ev)
{
	if (seccomp_is_socket(ev)) {
		answer_socket(s, listener, ev);
		return;
	}
	note(s, ev);
	seccomp_go_on(listener, ev);
}

/* Answers what waited. Whose guest is dead needs no answer. */
static void answer_held(uint64_t now)
{
	size_t n = p.held_count;

	if (!p.held_ns || now < p.held_ns)
		return;
	p.held_ns = 0;
	p.held_count = 0;
	for (size_t i = 0; i < n; i++) {
		struct held h = p.held[i];
		int listener = p.shelves[h.shelf].zygotes[h.zygote].listener;
		struct place *s = &p.places[h.place];

		if (listener < 0 || s->state != RUNNING || !seccomp_still_waits(listener, &h.ev))
			continue;
		if (!hold(s, h.shelf, h.zygote, &h.ev))
			answer(s, listener, &h.ev);
	}
}

/* A reported system call. Which jar it was is told by the id that the process has on the host. */
static void on_notify(unsigned shelf, unsigned zygote)
{
	int *listener = &p.shelves[shelf].zygotes[zygote].listener;
	struct seccomp_event ev;
	struct place *s;

	if (seccomp_read_event(*listener, &ev) < 0) {
		if (errno != ENOENT && errno != EINTR)
			unwatch(listener);
		return;
	}
	s = seccomp_is_end(&ev) ? interpreter_of(shelf, (pid_t)ev.pid) : NULL;
	if (s && used_again(s) && !s->said && !is_alone(s)) {
		/* Others are not to outlive it unwatched: until it has really ended the run goes on, under all its limits. Nobody has two words. */
		s->said = true;
		seccomp_go_on(*listener, &ev);
		return;
	}
	if (s && !s->said) {
		s->said = true;
		if (!s->ended_by) /* who is being ended ends by that */
			guest_ends(s);
		return;
	}
	for (unsigned i = 0; !s && i < p.active; i++)
		if (p.places[i].shelf == shelf && scan_in_range((pid_t)ev.pid, p.places[i].ids.uids))
			s = &p.places[i];
	if (seccomp_is_note(&ev) || seccomp_is_socket(&ev)) {
		if (s && s->state == RUNNING) {
			if (!hold(s, shelf, zygote, &ev))
				answer(s, *listener, &ev);
		} else if (s && seccomp_is_socket(&ev) && !seccomp_is_unix_socket(&ev)) {
			seccomp_refuse(*listener, &ev, ENOBUFS); /* not a guest's at work: nothing of ours needs one */
		} else {
			if (s)
				note(s, &ev);
			seccomp_go_on(*listener, &ev);
		}
		return;
	}
	/* Of a caller that is gone nobody knows whose it was: an innocent jar is not ended for it. */
	if (!s || s->state != RUNNING || !seccomp_still_waits(*listener, &ev))
		return;
	hear_guest(s);
	s->watch.ev.has_syscall = 1;
	s->watch.ev.syscall = ev;
	end_guest(s, JAR_ENDED_SYSCALL);
}

/* ---- deaths ---- */

static void init_exited(struct place *s)
{
	bool kept = s->ended;

	s->init = 0;
	/* The kernel has ended all others in its namespace before. The guest's own end is told by its own SIGCHLD. */
	if (s->state == RUNNING)
		return;
	leave_jar(s);
	close_jar(s);
	if (kept) {
		s->state = DEAD;
		s->until_ns = 0;
		tell_plain(POOL_ENDED, s->run.number);
		return;
	}
	fd_close(&s->data);
	if (s->state == KEPT || s->state == SCRUBBING || (s->state != DYING && s->reserved)) {
		struct err e = { 0 };

		err_set(&e, ERR_INTERNAL, "the jar's init was killed from outside");
		if (s->state != KEPT) {
			tell_failed(s->run.number, s, &e);
			close_streams(&s->run);
			s->reserved = false;
		}
	}
	if (s->state == KEPT) {
		s->state = DEAD;
		s->until_ns = 0;
		return;
	}
	set_state(s, BARE);
}

static void zygote_gone(struct zygote_end *z, const struct err *why)
{
	struct err e = { 0 };

	z->barren = 0;
	unwatch(&z->sock);
	unwatch(&z->listener);
	z->ready = false;
	z->pid = 0;
	z->tries++;
	z->retry_ns = hopeless(z) ? 0 : clock_mono_ns() + ZYGOTE_RETRY_NS;
	if (why && why->kind)
		e = *why;
	else
		err_set(&e, ERR_INTERNAL, "a zygote ended unexpectedly");
	/* What seats have in common with their zygote is theirs alone now: a guest could change it unseen. */
	for (unsigned i = 0; i < p.active; i++)
		if (z == &p.shelves[p.places[i].shelf].zygotes[POOL_PYTHON])
			p.places[i].seat.spent = true;
	/* Guests that it was to bear do not come. Those that are there need it no more. */
	for (unsigned i = 0; i < p.active; i++)
		if (p.places[i].state == FORKING && zygote_of(&p.places[i], p.places[i].kind) == z)
			give_up(&p.places[i], &e);
	if (z->tries == 1 || !z->retry_ns)
		notice(&e);
	/* Nobody of that kind any more: those who wait are served cold. */
	for (unsigned i = 0; i < p.pending_count;)
		if (any_zygote(p.pending[i].kind)) {
			i++;
		} else {
			tell_plain(POOL_REFUSED, p.pending[i].number);
			close_streams(&p.pending[i]);
			take_pending(i);
		}
}

static void shelf_gone(struct shelf_end *h, const struct err *why)
{
	struct err e = { 0 };

	if (why)
		e = *why;
	else
		err_set(&e, ERR_INTERNAL, "a maker of jars ended unexpectedly");
	unwatch(&h->u.sock);
	h->u.pid = 0;
	h->ready = false;
	notice(&e);
	/* Jars that are there go on: they need it no more until they have ended. */
	for (unsigned i = 0; i < p.active; i++) {
		struct place *s = &p.places[i];

		if (&p.shelves[s->shelf] == h && (s->state == SLOTTING || s->state == JARRING))
			give_up(s, &e);
	}
	for (int k = 0; k < ZYGOTES; k++) {
		/* One that has not said its first word yet ends when it does. */
		if (!h->zygotes[k].pid)
			unwatch(&h->zygotes[k].sock);
		end_zygote(&h->zygotes[k]);
	}
	unwatch(&h->restorer.sock);
	if (h->restorer.pid)
		kill(h->restorer.pid, SIGKILL);
	h->retry_ns = clock_mono_ns() + ZYGOTE_RETRY_NS;
}

static void on_child(pid_t pid, const siginfo_t *info, const struct rusage *ru)
{
	for (unsigned i = 0; i < p.active; i++) {
		struct place *s = &p.places[i];

		if (s->guest == pid) {
			if (s->state == RUNNING) {
				guest_exited(s, info, ru);
			} else if (s->state == LEAVING) {
				guest_ended(s);
			} else {
				s->guest = 0;
				unwatch(&s->report);
				/* One that waited: another takes its place in the same jar, or it was to go anyway. */
				for (int k = 0; k < 4; k++)
					fd_close(&s->streams[k]);
				if (s->state == READY || s->state == BOOTING)
					set_state(s, init_is_dead(s) ? DYING : JARRED);
			}
			return;
		}
		if (s->init == pid) {
			init_exited(s);
			return;
		}
		if (s->seat.pid == pid) {
			seat_exited(s);
			return;
		}
	}
	for (unsigned i = 0; i < p.shelf_count; i++) {
		if (p.shelves[i].restorer.pid == pid) {
			forget_restorer(&p.shelves[i]);
			if (p.shelves[i].ready)
				start_restorer(&p.shelves[i]);
		}
		for (int k = 0; k < ZYGOTES; k++)
			if (p.shelves[i].zygotes[k].pid == pid)
				zygote_gone(&p.shelves[i].zygotes[k], NULL);
		if (p.shelves[i].u.pid == pid)
			shelf_gone(&p.shelves[i], NULL);
	}
}

static void on_signals(void)
{
	struct signalfd_siginfo s;
	struct rusage ru;

	(void)!read(p.signals, &s, sizeof(s));
	for (;;) {
		siginfo_t info = { 0 };

		if (sys_waitid(P_ALL, 0, &info, WEXITED | WNOHANG, &ru) < 0 || !info.si_pid)
			return;
		on_child(info.si_pid, &info, &ru);
	}
}

/* ---- shelves and zygotes ---- */

static void start_zygote(struct shelf_end *h, int kind)
{
	static struct shelf_msg msg;
	struct zygote_end *z = &h->zygotes[kind];
	struct err e = { 0 };
	int fds[2] = { -1, p.lib };

	z->retry_ns = 0;
	if (z->sock >= 0 || z->pid)
		return; /* one of a maker that is gone: its end brings the next */
	if (make_channel(&z->sock, &fds[0], FROM_ZYGOTE, (unsigned)((h - p.shelves) * ZYGOTES + kind), &e) < 0) {
		zygote_gone(z, &e);
		return;
	}
	msg.op = SHELF_FORKER;
	msg.slot = 0;
	msg.python = kind == POOL_PYTHON;
	msg.uncounted = p.cg_host.ctl[CGROUP_MEMORY].parent < 0 && !hook_disabled("uncounted");
	msg.seats = p.want.recycle && msg.python && !msg.uncounted;
	msg.hash_seed = p.hash_seed;
	memcpy(msg.modules, p.modules, sizeof(msg.modules));
	fd_send(h->u.sock, &msg, sizeof(msg), fds, 1 + msg.python);
	close(fds[0]);
}

static void on_zygote(struct shelf_end *h, int kind)
{
	struct zygote_end *z = &h->zygotes[kind];
	struct jar_report r;
	int fd = -1;
	unsigned n = 0;
	pid_t pid = 0;
	uid_t uid = 0;
	ssize_t got = hear(z->sock, &r, &fd, 1, &n, &pid, &uid, true);

	if (!z->pid && got >= (ssize_t)REPORT_SHORT && r.type == REPORT_READY && n == 1 && in_slot(&h->ids, uid) && is_alive(pid)) {
		z->listener = fd;
		z->pid = pid;
		z->ready = true;
		z->seats = r.at_ns == 1;
		watch_fd(fd, FROM_NOTIFY, (unsigned)((h - p.shelves) * ZYGOTES + kind));
		for (unsigned i = 0; i < p.active; i++)
			if (&p.shelves[p.places[i].shelf] == h)
				tell_zygote(&p.places[i], z);
		return;
	}
	if (n)
		close(fd);
	/* It has nothing more to say. */
	if (z->pid) {
		unwatch(&z->sock);
		end_zygote(z);
		return;
	}
	/* A module that cannot be preloaded: it goes on without. All shelves find the same. */
	if (got > 0 && r.type == REPORT_ERROR && r.err.kind == ERR_INPUT) {
		if (h == &p.shelves[0] && z->tries == 0)
			notice(&r.err);
		return;
	}
	if (got > 0 && r.type == REPORT_ERROR) {
		zygote_gone(z, &r.err);
		return;
	}
	zygote_gone(z, NULL);
}

static int start_shelf(struct shelf_end *h, struct err *e)
{
	struct slot ids[SHELF_SLOTS + 1];
	unsigned n = 0;
	int on = 1;

	ids[n++] = h->ids;
	for (unsigned i = 0; i < p.place_count; i++)
		if (&p.shelves[p.places[i].shelf] == h)
			ids[n++] = p.places[i].ids;
	if (u1_start(&h->u, ids, n, h->cg.maker, -1, shelf_main, e) < 0)
		return -1;
	setsockopt(h->u.sock, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	watch_fd(h->u.sock, FROM_SHELF, (unsigned)(h - p.shelves));
	return 0;
}

static void on_shelf(struct shelf_end *h)
{
	struct jar_report r;
	unsigned n = 0;
	pid_t pid;
	uid_t uid;
	ssize_t got = hear(h->u.sock, &r, NULL, 0, &n, &pid, &uid, true);

	if (got > 0 && r.type == REPORT_READY && !h->ready) {
		h->ready = true;
		start_restorer(h);
		for (int k = 0; k < ZYGOTES; k++)
			start_zygote(h, k);
		return;
	}
	/* It has nothing more to say: its end is told by SIGCHLD. */
	unwatch(&h->u.sock);
	if (h->u.pid)
		kill(h->u.pid, SIGKILL);
	if (got > 0 && r.type == REPORT_ERROR && !h->ready) {
		notice(&r.err);
		for (int k = 0; k < ZYGOTES; k++) {
			h->zygotes[k].tries = ZYGOTE_TRIES + 1;
			zygote_gone(&h->zygotes[k], &r.err);
		}
	}
}

/* ---- requests of the front ---- */

static struct place *place_of(uint32_t run)
{
	for (unsigned i = 0; i < p.active; i++) {
		struct place *s = &p.places[i];

		if ((s->state == RUNNING || s->state == KEPT || s->state == SCRUBBING || s->state == DEAD || s->state == EXPORTING || s->reserved ||
		     (s->state == DYING && s->ended)) &&
		    s->run.number == run)
			return s;
	}
	return NULL;
}

static bool is_module(const char *name)
{
	size_t n = strnlen(name, POOL_MODULE_MAX);

	if (n == 0 || n == POOL_MODULE_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.", name[i]))
			return false;
	return true;
}

/* One makes more jars and guests than two CPUs can use, and each takes a tenth of a second of CPU time before its first guest. */
static unsigned shelves_wanted(void)
{
	unsigned n = p.want.zygotes ? p.want.zygotes : (p.cpus + 1) / 2;
	unsigned least = (p.want.ceiling + SHELF_SLOTS - 1) / SHELF_SLOTS;

	if (n < 1)
		n = 1;
	if (n < least)
		n = least;
	if (n > p.want.ceiling && p.want.ceiling)
		n = p.want.ceiling;
	return n < SHELVES_MAX ? n : SHELVES_MAX;
}

static void init_place(struct place *s)
{
	memset(s, 0, sizeof(*s));
	s->chan = s->report = s->data = s->seat.chan = -1;
	for (int i = 0; i < SLOT_SPACES; i++)
		s->spaces[i] = -1;
	for (int i = 0; i < OWN_SPACES; i++)
		s->own[i] = -1;
	for (int i = 0; i < 4; i++)
		s->run.fds[i] = s->streams[i] = -1;
	s->kind = s->next_kind = POOL_PYTHON;
	cgroup_init(&s->cg);
	s->watch = (struct watch){ .cg = &s->cg, .data = -1, .meter = -1 };
}

/* Ids for all that may ever be: they are written into the shelves' maps once. */
static int open_pool(struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned count, shelf = 0, index = 1;

	p.cpus = cpus > 0 ? (unsigned)cpus : 1;
	count = shelves_wanted();

	for (unsigned i = 0; i < count; i++) {
		struct shelf_end *h = &p.shelves[i];

		*h = (struct shelf_end){ .u.sock = -1, .restorer.sock = -1 };
		for (int k = 0; k < ZYGOTES; k++)
			h->zygotes[k].sock = h->zygotes[k].listener = -1;
		if (slot_claim(&h->ids, p.run_dir, e) < 0)
			return -1;
		if (h->ids.single) {
			err_set(e, ERR_SETUP, "this user has no subordinate ids, which warm jars need");
			return err_hint(e, "give it some in /etc/subuid and /etc/subgid (usermod --add-subuids); runs are served cold meanwhile");
		}
		p.rootless = h->ids.rootless;
		p.shelf_count = i + 1;
		cgroup_init(&h->cg);
		if (cgroup_has_v2(&p.cg_host)) {
			if (p.rootless)
				return err_set(e, ERR_SETUP, "warm jars are not made rootless in a delegated cgroup");
			if (cgroup_make(&h->cg, &p.cg_host, h->ids.cgroup, h->ids.uids.start, h->ids.gids.start + SHELF_ZYGOTE_ID,
					h->ids.uids.start + SHELF_ZYGOTE_ID, e) < 0)
				return -1;
			h->cg_made = true;
		}
		if (cgroup_host_inside(&h->host, &p.cg_host, h->ids.cgroup, e) < 0)
			return -1;
	}
	for (unsigned i = 0; i < p.want.ceiling; i++) {
		struct place *s = &p.places[i];

		init_place(s);
		/* One after the other on each shelf in turn. */
		s->shelf = shelf;
		s->index = index;
		if (++shelf == count) {
			shelf = 0;
			index++;
		}
		s->watch.host = &p.shelves[s->shelf].host;
		if (s->index > SHELF_SLOTS || slot_claim(&s->ids, p.run_dir, e) < 0)
			return -1;
		p.shelves[s->shelf].slots++;
		p.place_count = i + 1;
	}
	for (unsigned i = 0; i < count; i++)
		if (start_shelf(&p.shelves[i], e) < 0)
			return -1;
	return 0;
}

static int pool_open(const void *req, int *fds, struct err *e)
{
	const struct pool_open *r = req;
	size_t at = 0;

	(void)fds;
	if (p.open || r->ceiling > POOL_CEILING_MAX || r->floor > r->ceiling || r->preload_count > POOL_PRELOAD_MAX ||
	    r->disk_bytes < 4096 || r->disk_bytes > 1ULL << 60)
		return err_set(e, ERR_INTERNAL, "the pool's sizes are out of range");
	p.want = *r;
	for (uint32_t i = 0; i < r->preload_count; i++) {
		if (!is_module(r->preload[i]))
			return err_set(e, ERR_INTERNAL, "preload: not the name of a module");
		at += (size_t)snprintf(p.modules + at, sizeof(p.modules) - at, "%s%s", i ? "," : "", r->preload[i]);
		if (at >= sizeof(p.modules))
			return err_set(e, ERR_INTERNAL, "preload: too many modules");
	}
	p.open = true;
	if (getrandom(&p.hash_seed, sizeof(p.hash_seed), 0) != sizeof(p.hash_seed))
		return err_sys(e, "draw a seed");
	p.hash_seed |= 1; /* 0 is none */
	cgroup_host_open(&p.cg_host);
	slot_scrub(p.run_dir, &p.cg_host);
	/* Nobody wants warm jars: everything is served cold. */
	if (!r->ceiling)
		return 0;
	if (!p.landlock)
		err_set(e, ERR_SETUP, "this kernel has no Landlock: warm jars are not made without");
	if (p.dumps.kind) {
		*e = p.dumps;
		err_wrap(e, "warm jars are not made");
	}
	/* As for a jar of its own: root is refused, which a keeper of one jar says with a hint. */
	if (geteuid() == 0 && p.cg_host.version == CGROUP_NONE)
		err_set(e, ERR_SETUP, "this host has no cgroups: warm jars are not made without");
	if (e->kind || open_pool(e) < 0) {
		/* Not the end: everything is served cold. */
		notice(e);
		p.want.ceiling = 0;
		p.place_count = 0;
		err_clear(e);
	}
	return 0;
}

static int pool_run(const void *req, int *fds, struct err *e)
{
	const struct pool_run *r = req;
	struct run *n = &p.pending[p.pending_count];

	if (!p.open || r->kind >= POOL_KINDS || r->flags & ~(uint32_t)POOL_FLAGS)
		return err_set(e, ERR_INTERNAL, "not a run");
	if (watch_check(&r->limits, e) < 0)
		return -1;
	/* Only root may make the file system of a jar larger or smaller that is there already. */
	if (!p.want.ceiling || !any_zygote(r->kind) || (p.rootless && r->limits.disk_bytes != p.want.disk_bytes)) {
		tell_plain(POOL_REFUSED, r->run);
		return 0;
	}
	if (p.pending_count == PENDING_MAX) {
		err_set(e, ERR_BUSY, "%u runs wait for a jar already", p.pending_count);
		return err_hint(e, "send fewer at once");
	}
	*n = (struct run){ .number = r->run, .kind = r->kind, .flags = r->flags, .client = r->client, .limits = r->limits };
	for (int i = 0; i < 4; i++)
		n->fds[i] = take_fd(&fds[i]);
	p.pending_count++;
	if (r->kind == POOL_NODE)
		p.node_limits = r->limits;
	return 0;
}

static int pool_next(const void *req, int *fds, struct err *e)
{
	const struct pool_next *r = req;
	struct place *s = place_of(r->run);
	char byte = CONTROL_SCRUB;

	if (!s || s->state != KEPT)
		return err_set(e, ERR_INTERNAL, "that run has no jar to go on in");
	if (watch_check(&r->limits, e) < 0)
		return -1;
	s->run.limits = r->limits;
	for (int i = 0; i < 4; i++)
		s->run.fds[i] = take_fd(&fds[i]);
	set_state(s, SCRUBBING);
	s->reserved = true;
	if (s->chan < 0 || send(s->chan, &byte, 1, MSG_NOSIGNAL) != 1) {
		close_streams(&s->run);
		s->reserved = false;
		s->state = KEPT;
		return err_set(e, ERR_INTERNAL, "the jar's init is gone");
	}
	return 0;
}

static int pool_kill(const void *req, int *fds, struct err *e)
{
	const struct pool_kill *r = req;
	struct place *s = place_of(r->run);

	(void)fds;
	if (r->why != JAR_ENDED_OUTPUT && r->why != JAR_ENDED_CANCELLED)
		return err_set(e, ERR_INTERNAL, "not a reason to kill");
	if (s && s->state == RUNNING) {
		end_guest(s, r->why);
		return 0;
	}
	if (s && (s->reserved || s->state == SCRUBBING)) {
		struct err cancelled = { 0 };

		err_set(&cancelled, ERR_INTERNAL, "cancelled before it began");
		tell_failed(r->run, s, &cancelled);
		close_streams(&s->run);
		s->reserved = false;
		s->run.number = 0;
		end_jar(s);
		return 0;
	}
	for (unsigned i = 0; i < p.pending_count; i++)
		if (p.pending[i].number == r->run) {
			close_streams(&p.pending[i]);
			take_pending(i);
			return err_set(e, ERR_INTERNAL, "cancelled before it began");
		}
	return 0;
}

static int pool_signal(const void *req, int *fds, struct err *e)
{
	const struct pool_signal *r = req;
	struct place *s = place_of(r->run);

	(void)fds;
	if (r->signal < 1 || r->signal >= NSIG)
		return err_set(e, ERR_INTERNAL, "not a signal");
	if (s && s->state == RUNNING && s->guest) {
		hear_guest(s);
		if (s->watch.started)
			kill(s->guest, (int)r->signal);
	}
	return 0;
}

static int pool_end(const void *req, int *fds, struct err *e)
{
	const struct pool_plain *r = req;
	struct place *s = place_of(r->run);

	(void)fds;
	if (s && s->state == DEAD) {
		tell_plain(POOL_ENDED, r->run);
		return 0;
	}
	if (!s || s->state != KEPT)
		return err_set(e, ERR_INTERNAL, "that run has no jar to end");
	s->ended = true;
	end_jar(s);
	return 0;
}

static int pool_export(const void *req, int *fds, struct err *e)
{
	const struct pool_export *r = req;
	struct place *s = place_of(r->run);
	static struct shelf_msg msg;
	int send[3] = { -1, -1, -1 };

	if (!s || s->state != DEAD || s->data < 0)
		return err_set(e, ERR_INTERNAL, "artifacts leave only when the jar is dead");
	if (r->req.count > JAR_GLOBS_MAX)
		return err_set(e, ERR_INTERNAL, "too many patterns");
	for (uint32_t i = 0; i < r->req.count; i++)
		if (!memchr(r->req.globs[i], 0, JAR_PATH_MAX))
			return err_set(e, ERR_INTERNAL, "a pattern does not end");
	if (make_channel(&s->report, &send[0], FROM_REPORT, (unsigned)(s - p.places), e) < 0)
		return -1;
	send[1] = s->data;
	send[2] = fds[0];
	msg.op = SHELF_EXPORT;
	msg.export = r->req;
	s->state = EXPORTING;
	s->until_ns = clock_mono_ns() + EXPORT_LIMIT_NS;
	ask_shelf(s, &msg, send, 3);
	close(send[0]);
	return 0;
}

static int pool_done(const void *req, int *fds, struct err *e)
{
	const struct pool_plain *r = req;
	struct place *s = place_of(r->run);

	(void)fds, (void)e;
	if (!s || s->state == RUNNING)
		return 0; /* it has ended by itself meanwhile */
	s->ended = false;
	s->run.number = 0;
	if (s->state == DEAD || s->state == EXPORTING) {
		unwatch(&s->report);
		fd_close(&s->data);
		set_state(s, BARE);
	} else if (s->state != DYING) {
		end_jar(s);
	}
	return 0;
}

/* A keeper of its own for one run. It is executed anew and shares nothing with us. */
static int pool_cold(const void *req, int *fds, struct err *e)
{
	const struct pool_plain *r = req;
	struct pool_event ev;
	int sock;

	(void)fds;
	sock = spawn_keeper(false, e);
	if (sock < 0)
		return -1;
	memset(&ev, 0, sizeof(ev));
	tell(&ev, POOL_SOCKET, r->run, &sock);
	close(sock);
	return 0;
}

static const struct {
	size_t size;
	unsigned fds; /* exactly */
	int (*run)(const void *req, int *fds, struct err *e);
} ops[POOL_OPS] = {
	[POOL_OPEN] = { sizeof(struct pool_open), 0, pool_open },
	[POOL_RUN] = { sizeof(struct pool_run), 4, pool_run },
	[POOL_NEXT] = { sizeof(struct pool_next), 4, pool_next },
	[POOL_KILL] = { sizeof(struct pool_kill), 0, pool_kill },
	[POOL_SIGNAL] = { sizeof(struct pool_signal), 0, pool_signal },
	[POOL_END] = { sizeof(struct pool_plain), 0, pool_end },
	[POOL_EXPORT] = { sizeof(struct pool_export), 1, pool_export },
	[POOL_DONE] = { sizeof(struct pool_plain), 0, pool_done },
	[POOL_COLD] = { sizeof(struct pool_plain), 0, pool_cold },
};

/* False when the peer is gone or broke the protocol. */
static bool on_front(void)
{
	static union {
		struct {
			uint32_t op, run;
		} head;
		struct pool_open open;
		struct pool_run run;
		struct pool_next next;
		struct pool_export export;
	} req;
	struct err e = { 0 };
	int fds[4];
	unsigned n = 0;
	ssize_t got = fd_recv(p.front, &req, sizeof(req), fds, 4, &n);

	if (got < (ssize_t)sizeof(req.head) || req.head.op == 0 || req.head.op >= POOL_OPS || (size_t)got != ops[req.head.op].size ||
	    n != ops[req.head.op].fds)
		return false;
	if (ops[req.head.op].run(&req, fds, &e) < 0)
		tell_failed(req.head.run, NULL, &e);
	for (unsigned i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return true;
}

/* ---- the loop ---- */

static void look(uint64_t now)
{
	for (unsigned i = 0; i < p.active; i++) {
		struct place *s = &p.places[i];
		struct err e;
		uint32_t why;

		if (!s->until_ns || now < s->until_ns)
			continue;
		memset(&e, 0, sizeof(e));
		if (s->state == RUNNING) {
			if (!s->watch.started) {
				hear_guest(s);
				if (!s->watch.started && now >= s->watch.deadline_ns)
					end_guest(s, JAR_ENDED_CANCELLED);
			}
			why = watch_tick(&s->watch, now);
			if (why)
				end_guest(s, why);
			s->until_ns = s->watch.started ? watch_next(&s->watch) : now + FIRST_LOOK_NS;
			continue;
		}
		if (s->state == FREE || s->state == READY || s->state == KEPT || s->state == DEAD) {
			s->until_ns = 0; /* nothing is under way */
			continue;
		}
		/* Of a seat that does not do its work, or a guest that takes its time to die, nobody else is to hear. */
		if (s->state == LEAVING || (s->state == FORKING && s->seat.state == SEAT_BUSY)) {
			drop_seat(s);
			end_jar(s);
			continue;
		}
		err_set(&e, ERR_INTERNAL, "a jar could not be %s in time", s->state == DYING ? "cleared away" : "made ready");
		s->until_ns = now + STEP_LIMIT_NS;
		if (s->state == DYING) {
			/* Init cannot end while somebody has a dead child in its namespace: only those could that bear guests into it. */
			for (int k = 0; k < ZYGOTES; k++)
				end_zygote(&p.shelves[s->shelf].zygotes[k]);
			notice(&e);
			continue;
		}
		give_up(s, &e);
	}
	for (unsigned i = 0; i < p.shelf_count; i++) {
		struct shelf_end *h = &p.shelves[i];
		struct err e;

		for (int k = 0; k < ZYGOTES; k++)
			if (h->ready && h->zygotes[k].retry_ns && now >= h->zygotes[k].retry_ns)
				start_zygote(h, k);
		if (!h->retry_ns || now < h->retry_ns)
			continue;
		h->retry_ns = 0;
		memset(&e, 0, sizeof(e));
		if (start_shelf(h, &e) < 0)
			notice(&e);
	}
	answer_held(now);
	trim(now);
}

static int timeout(void)
{
	uint64_t now = clock_mono_ns(), next = p.held_ns && p.held_ns < p.next_trim_ns ? p.held_ns : p.next_trim_ns;

	for (unsigned i = 0; i < p.active; i++)
		if (p.places[i].until_ns && p.places[i].until_ns < next)
			next = p.places[i].until_ns;
	for (unsigned i = 0; i < p.shelf_count; i++) {
		if (p.shelves[i].retry_ns && p.shelves[i].retry_ns < next)
			next = p.shelves[i].retry_ns;
		for (int k = 0; k < ZYGOTES; k++)
			if (p.shelves[i].ready && p.shelves[i].zygotes[k].retry_ns && p.shelves[i].zygotes[k].retry_ns < next)
				next = p.shelves[i].zygotes[k].retry_ns;
	}
	return next <= now ? 0 : (int)((next - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void serve(void)
{
	p.next_trim_ns = clock_mono_ns() + NS_PER_S;
	for (;;) {
		struct epoll_event ev[64];
		int n = epoll_wait(p.epoll, ev, 64, timeout());
		bool children = false;

		for (int i = 0; i < n; i++) {
			unsigned index = (unsigned)(ev[i].data.u64 & 0xffffffffU);
			struct place *s = &p.places[index];
			struct shelf_end *h = &p.shelves[index / ZYGOTES];
			int kind = (int)(index % ZYGOTES);

			/* What was closed by an event before it in the same batch is not looked at again. */
			switch ((enum source)(ev[i].data.u64 >> 32)) {
			case FROM_FRONT:
				if (!on_front())
					return;
				break;
			case FROM_SIGNALS:
				children = true;
				break;
			case FROM_SHELF:
				if (p.shelves[index].u.sock >= 0)
					on_shelf(&p.shelves[index]);
				break;
			case FROM_ZYGOTE:
				if (h->zygotes[kind].sock >= 0)
					on_zygote(h, kind);
				break;
			case FROM_NOTIFY:
				if (h->zygotes[kind].listener >= 0)
					on_notify(index / ZYGOTES, kind);
				break;
			case FROM_CHAN:
				if (s->chan >= 0)
					on_chan(s);
				break;
			case FROM_REPORT:
				if (s->report >= 0 && s->state != RUNNING)
					on_report(s);
				break;
			case FROM_NODE:
				if (s->streams[3] >= 0)
					on_node(s);
				break;
			case FROM_SEAT:
				if (s->seat.chan >= 0)
					on_seat(s);
				break;
			case FROM_RESTORER:
				if (p.shelves[index].restorer.sock >= 0)
					on_restorer(&p.shelves[index], index);
				break;
			}
		}
		/* Last: what they said before they died explains it. */
		if (children)
			on_signals();
		look(clock_mono_ns());
		balance();
	}
}

static void cleanup(void)
{
	for (unsigned i = 0; i < p.place_count; i++) {
		struct place *s = &p.places[i];

		if (s->init)
			kill(s->init, SIGKILL);
		if (s->guest)
			kill(s->guest, SIGKILL);
		if (s->seat.pid)
			kill(s->seat.pid, SIGKILL);
		/* One that has not said who it is ends when nobody listens. */
		unwatch(&s->seat.chan);
		cgroup_kill(&s->cg);
	}
	for (unsigned i = 0; i < p.shelf_count; i++) {
		for (int k = 0; k < ZYGOTES; k++)
			if (p.shelves[i].zygotes[k].pid)
				kill(p.shelves[i].zygotes[k].pid, SIGKILL);
		if (p.shelves[i].restorer.pid)
			kill(p.shelves[i].restorer.pid, SIGKILL);
		u1_stop(&p.shelves[i].u);
	}
	for (unsigned i = 0; i < p.place_count; i++) {
		close_jar(&p.places[i]);
		fd_close(&p.places[i].data);
		if (p.places[i].cg_made)
			p.places[i].cg_left = cgroup_remove(&p.places[i].cg, p.places[i].watch.host, 2000) < 0;
		if (p.places[i].cg_left)
			cgroup_clear(p.places[i].watch.host, p.places[i].ids.cgroup);
	}
	for (unsigned i = 0; i < p.shelf_count; i++)
		if (p.shelves[i].cg_made)
			cgroup_remove(&p.shelves[i].cg, &p.cg_host, 2000);
}

/* The front must hear why, run by run. */
static int serve_broken(const struct err *e)
{
	static union {
		struct pool_plain head;
		struct pool_open open;
		struct pool_export export;
	} req;

	for (;;) {
		int fds[4];
		unsigned n = 0;

		if (fd_recv(p.front, &req, sizeof(req), fds, 4, &n) < (ssize_t)sizeof(req.head))
			return 1;
		for (unsigned i = 0; i < n; i++)
			close(fds[i]);
		if (req.head.op == POOL_RUN || req.head.op == POOL_COLD)
			tell_failed(req.head.run, NULL, e);
	}
}

int pool_main(int front, const struct err *dumps, const struct err *broken)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = (uint64_t)FROM_FRONT << 32 };
	struct rlimit files;
	struct err e = { 0 };
	char path[512];
	sigset_t set;

	p.front = front;
	p.dumps = *dumps;
	p.landlock = landlock_abi();
	if (broken)
		return serve_broken(broken);
	/* Five descriptors for a slot and as many for a jar. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	spawn_path("belljar-zygote.so", path, sizeof(path));
	p.lib = open(path, O_RDONLY | O_CLOEXEC);
	p.epoll = epoll_create1(EPOLL_CLOEXEC);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (p.lib < 0 || p.epoll < 0 || p.signals < 0 || slot_run_dir(p.run_dir, sizeof(p.run_dir), &e) < 0) {
		if (!e.kind)
			err_sys(&e, "open %s", path);
		return serve_broken(&e);
	}
	epoll_ctl(p.epoll, EPOLL_CTL_ADD, p.front, &ev);
	watch_fd(p.signals, FROM_SIGNALS, 0);
	serve();
	cleanup();
	return 0;
}
