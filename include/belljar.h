/* SPDX-License-Identifier: Apache-2.0 */
/* libbelljar: runs untrusted code in jars. It starts `belljar batch` as a child and speaks its lines (docs/library.md). */
#ifndef BELLJAR_H
#define BELLJAR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Requests and results are JSON: docs/batch.md of belljar has both. A request that is wrong, code that fails or is ended has a result that says so; an
 * error of this library means that there is no result. Every function may be called by several threads at once on the same jar, but for belljar_close(),
 * which comes last. None of them raises SIGPIPE or leaves a descriptor to programs that you start.
 */
struct belljar;

/* All fields may be 0. */
struct belljar_options {
	const char *program;	 /* path of belljar; NULL: $BELLJAR, else `belljar` of PATH */
	unsigned jobs;		 /* runs at once; 0: two for each CPU */
	const char *const *args; /* further options of `belljar batch`, ended by NULL: "--policy", "enforce", NULL */
};

/* Starts it. `options` may be NULL. NULL: see belljar_error(). A belljar that starts and then cannot work is told of by the first wait. */
struct belljar *belljar_open(const struct belljar_options *options);
/* Ends it: what is still under way is called off, results that nobody took are lost, and no process is left. `jar` may be NULL. */
void belljar_close(struct belljar *jar);

/* Gives in a request: its ticket (> 0), or -1. Waits only while the child does not read. `len` bytes at `json` are copied. */
int64_t belljar_submit(struct belljar *jar, const char *json, size_t len);
/* Waits for that request's result: 0 with `*result` (ended by a zero byte, to be given to belljar_free()) and, unless it is NULL, its length; or -1. Each
 * ticket can be waited for once. */
int belljar_wait(struct belljar *jar, int64_t ticket, char **result, size_t *len);
/* The same for whichever is finished first, of those that nobody waits for by ticket: its ticket; 0 when there are none under way; or -1. */
int64_t belljar_next(struct belljar *jar, char **result, size_t *len);

/* One request, one result: submit and wait. NULL: see belljar_error(). */
char *belljar_run(struct belljar *jar, const char *json, size_t len, size_t *result_len);
/* The same for a function test: `test` is the object that a request has as "test" ({"func": …, "cases": […]}), and `json` the request without it. */
char *belljar_test(struct belljar *jar, const char *json, size_t len, const char *test, size_t test_len, size_t *result_len);

/* Another command of belljar, to its end: `words` behind `belljar`, ended by NULL ("swebench", "test", …, "--json", NULL). What it printed, to be given to
 * belljar_free(), and unless they are NULL its exit status (0 or 1: what that means is the command's) and the length. NULL when it could not be started, did not
 * end by itself, or ended with another status: then belljar_error() has its own words. Of `options` only `program` counts; they may be NULL. */
char *belljar_command(const struct belljar_options *options, const char *const *words, int *status, size_t *len);

void belljar_free(char *result);
/* Why the last call of this thread failed: one line, valid until its next call. Never NULL. */
const char *belljar_error(void);

#ifdef __cplusplus
}
#endif

#endif
