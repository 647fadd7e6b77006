/* SPDX-License-Identifier: Apache-2.0 */
/* belljar bench: what its parts know of each other. Jobs are rows, contenders are rows, figures are rows; a cell is one contender at one job. */
#ifndef BELLJAR_BENCH_H
#define BELLJAR_BENCH_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "bench/stats.h"
#include "cli/bench_options.h"

#define BENCH_WIDTHS	4     /* rows of bench_widths */
#define BENCH_EIGHT	2     /* the one with 8 */
#define BENCH_WIDTH_MAX 64    /* the largest of them */
#define BENCH_HANG_MS	30000 /* a run that takes longer is ended and is an error */
#define BENCH_STOP_MS	3000  /* the same, once the bench is interrupted */
#define BENCH_BASE	"bare"

extern const unsigned bench_widths[BENCH_WIDTHS]; /* runs in flight */

/* What is run. `argv` for everybody; belljar batch gets `code` of `language` when there is one. */
struct bench_job {
	const char *name, *title;
	const char *argv[4];
	const char *language, *code;
	const char *want;    /* stdout, exactly */
	const char *preload; /* --preload of belljar batch */
	bool alternatives;   /* its libraries are links into /etc/alternatives */
	bool optional;	     /* left out where the host has no such program */
};

extern const struct bench_job bench_jobs[];
extern const size_t bench_job_count;

enum bench_flag {
	BENCH_BATCH = 1 << 0,	   /* request lines to one process, not a process for each run */
	BENCH_ROOT = 1 << 1,	   /* needs a root folder of ours */
	BENCH_BUNDLE = 1 << 5,	   /* the job stands in an OCI bundle, not in the arguments */
	BENCH_DOCKER = 1 << 2,	   /* needs a local image */
	BENCH_BELLJAR = 1 << 3,	   /* ourselves: a wrong result is our error */
	BENCH_CLIENT_CPU = 1 << 4, /* a daemon does the work: CPU time is the client's alone */
};

/* How a contender is started. Rows with the same name are tried in turn; the first that works is measured. Words may hold {ID} {BUNDLE} {STATE}
 * {ROOT} {IMAGE} {GROUP}. */
struct bench_row {
	const char *name;
	const char *program; /* NULL: none, the job itself */
	const char *what;    /* what it guards, for the reader */
	unsigned flags;
	const char *const *words;	 /* after the program */
	const char *const *alternatives; /* added for jobs that need /etc/alternatives */
	const char *const *end;		 /* before the job's words */
};

extern const struct bench_row bench_rows[];
extern const size_t bench_row_count;

/* The host's side of a bench: what had to be made, and is removed by bench_host_done(). */
struct bench_host {
	char dir[64];	/* temporary folder: root for OCI runtimes, bundles, their state */
	char group[64]; /* parent group of podman's */
	char belljar[512];
	char image[128]; /* docker's */
};

struct bench_contender {
	const struct bench_row *row; /* NULL: nothing of that name works */
	const char *name;
	char program[512];
	char reason[240]; /* why it is not measured */
};

/* One contender at one job. */
struct bench_cell {
	bool never_warm; /* a batch that answered cold for seconds */
	bool out;	 /* takes no part (any more); `reason` says why */
	char reason[240];
	struct samples ms;     /* latencies */
	struct samples inside; /* of a batch, as it says itself: from a line taken to its result written */
	double spent_ms;   /* of its time box */
	double rate[BENCH_WIDTHS];
	uint64_t rate_runs[BENCH_WIDTHS];
	double rate_s[BENCH_WIDTHS];
	double cpu_ms; /* for each run; NAN: not measured */
	const char *cpu_by;
	uint64_t runs, warm, cold, errors;
	char error[240]; /* the first wrong result */
};

/* ---- bench_host.c: processes, and what was made for them ---- */

int bench_host_init(struct bench_host *h, struct err *e);
void bench_host_done(struct bench_host *h);
/* Root file system and one bundle for each job, for OCI runtimes; once. */
int bench_host_bundles(struct bench_host *h, struct err *e);
/* Path of a program in $PATH. */
bool bench_find_program(const char *name, char *out, size_t size);
/* Set by SIGINT and SIGTERM: everybody stops soon and cleans up. */
extern volatile sig_atomic_t bench_stop;

/* A started process whose output is read. */
struct flight {
	pid_t pid;
	int pidfd, out;
	uint64_t start_ns, end_ns;
	int status; /* as of waitpid; -1: ended by us after BENCH_HANG_MS */
	size_t len;
	char text[1024]; /* the beginning of its output */
};

/* Starts argv by vfork; stdin is empty, stderr goes to /dev/null or, with `merge`, to the output. */
int flight_start(struct flight *f, const char *const *argv, bool merge, struct err *e);
/* Waits until one of them (pid > 0) has ended and its output is read; its index, or -1 when there is none. The flight's pid is 0 then. */
int flight_wait(struct flight *f, unsigned n);
/* One run of a program, for probes: 0 when it exits with 0; `reason` gets the first line of its output otherwise. */
int flight_probe(const char *const *argv, char *out, size_t size, char *reason, size_t reason_size);

/* The words of one run, in a static buffer until the next call; {ID} is a new one each time. */
const char *const *bench_command(const struct bench_host *h, const struct bench_contender *c, const struct bench_job *job);

/* CPU time of all that is started between open and close: a perf event that every descendant inherits, else getrusage and /proc. */
struct cpu_meter {
	int fd;
	pid_t tree; /* a living process whose descendants count (without perf); 0: none */
};

void cpu_open(struct cpu_meter *m);
/* Milliseconds so far, without our own. */
double cpu_read_ms(const struct cpu_meter *m);
const char *cpu_how(const struct cpu_meter *m);
void cpu_close(struct cpu_meter *m);

/* Calls back for a process and all below it. */
void tree_each(pid_t root, void (*fn)(pid_t pid, void *ctx), void *ctx);

/* ---- bench_batch.c: belljar batch over pipes ---- */

struct batch {
	pid_t pid;
	int in, out, err;
	uint64_t sent, received;
	struct buf text; /* read and not yet taken */
	size_t taken;
	char line[512]; /* the request, ending in a newline */
	size_t line_len;
	uint64_t uncounted; /* the first lines, until it was warm */
	char times[96];	    /* what it says itself of each line; empty: nothing */
};

/* `width` runs at a time. `times` is a file that is made, or NULL. */
int batch_start(struct batch *b, const struct bench_contender *c, const struct bench_job *job, unsigned width, const char *times, struct err *e);
int batch_send(struct batch *b, unsigned lines, struct err *e);
/* The next result line without its newline, borrowed until the next call; NULL with an error. */
const char *batch_next(struct batch *b, struct err *e);
/* All whole lines there are, at least one: their count; they stand in text..text+*len, borrowed until the next call. -1 with an error. */
int batch_more(struct batch *b, const char **text, size_t *len, struct err *e);
/* Counts a result in the cell: runs, warm or cold, errors. */
void batch_check(const struct bench_job *job, const char *line, size_t len, struct bench_cell *cell);
/* Runs until results are warm; these runs are not counted. *never is set when time is up before, and makes the next wait a short one. */
int batch_warm(struct batch *b, const struct bench_job *job, unsigned width, bool *never, struct err *e);
void batch_stop(struct batch *b);
/* The latencies, in milliseconds, that it has written of lines that count. */
void batch_times(const struct batch *b, struct samples *out);

/* PSS of idle jars with a waiting Python. */
struct bench_memory {
	double pss_mb; /* of one jar; NAN: not found */
	unsigned jars;
	char reason[240];
};

void bench_memory(const struct bench_contender *c, const struct bench_job *job, struct bench_memory *m);

/* What must not grow over many runs. */
enum soak_field { SOAK_RSS, SOAK_FDS, SOAK_PROCESSES, SOAK_CGROUPS, SOAK_MOUNTS, SOAK_NETNS, SOAK_KUIDS, SOAK_FIELDS };

struct bench_soak {
	uint64_t wanted, runs;
	int64_t before[SOAK_FIELDS], after[SOAK_FIELDS]; /* -1: cannot be read */
	double rate_first, rate_last;			 /* runs/s of the first and the last tenth */
	bool grew;
	char reason[240]; /* why it was not done, or what grew */
	struct bench_cell cell;
};

extern const char *const soak_names[SOAK_FIELDS];
void bench_soak(const struct bench_contender *c, const struct bench_job *job, struct bench_soak *s,
		void (*progress)(uint64_t runs));

/* ---- bench_report.c ---- */

struct bench {
	struct bench_options opt;
	bool colour;
	struct bench_host host;
	struct bench_contender *contenders;
	size_t contender_count;
	struct bench_cell *cells; /* job by job */
	bool *job_there;
	struct bench_memory memory;
	struct bench_soak soaked;
};

struct bench_cell *bench_cell(const struct bench *b, size_t job, size_t contender);
void bench_print(const struct bench *b);
/* The documented object (docs/bench.md); owned by the caller. */
json_t *bench_json(const struct bench *b);
/* Wrong results of belljar itself. */
uint64_t bench_errors(const struct bench *b);

#endif
