/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: a fixed-size, caller-owned record that survives clone(), a full heap and a pipe. */
#ifndef BELLJAR_BASE_ERR_H
#define BELLJAR_BASE_ERR_H

#include <stdbool.h>

/*
 * What went wrong, in the words of the result object. One table (err.c) maps each kind to the
 * API's code, the HTTP status and the exit status, so that no caller invents its own.
 */
enum err_kind {
	ERR_NONE = 0,
	ERR_USAGE,	/* the command line is wrong */
	ERR_REQUEST,	/* a field of the request is wrong */
	ERR_INPUT,	/* a file or folder the request names cannot be used */
	ERR_SETUP,	/* a guard or a set-up step failed: the guest never started */
	ERR_NOT_FOUND,	/* the program does not exist in the jar */
	ERR_NOT_EXEC,	/* the program exists and cannot be executed */
	ERR_DENIED,	/* the operator's policy forbids it */
	ERR_BUSY,	/* no room now */
	ERR_INTERNAL,	/* a bug of ours */
	ERR_KINDS
};

struct err {
	int kind;	 /* enum err_kind */
	int sys;	 /* errno behind it, 0 when none */
	char step[32];	 /* set-up step that failed, "" when none */
	char msg[384];	 /* what: why */
	char hint[256];	 /* the next thing to do, "" when none */
};

struct err_info {
	const char *code;
	int http_status;
	int exit_status;
	const char *reason; /* the result's `reason` */
};

/* The row of a kind; never NULL. */
const struct err_info *err_info(int kind);

/* Each sets the error and returns -1, so that `return err_sys(e, ...)` reads well.
 * A NULL `e` is allowed and ignored. Safe between clone and exec: no heap, no locale. */
int err_set(struct err *e, int kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Appends ": <text of errno>"; kind becomes ERR_SETUP. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "context: " before the message; returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets the hint when there is none yet; returns -1. */
int err_hint(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_clear(struct err *e);
/* A record that a process with fewer rights has sent: afterwards its texts end and hold no control characters, and its kind is one. */
void err_received(struct err *e);

#endif
