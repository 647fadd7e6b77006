/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: the table of kinds and the few functions that fill the record. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct err_info kinds[ERR_KINDS] = {
	[ERR_NONE]	= { "ok",	     200, 0,   "exited" },
	[ERR_USAGE]	= { "usage",	     400, 2,   "setup" },
	[ERR_REQUEST]	= { "bad_request",   400, 2,   "setup" },
	[ERR_INPUT]	= { "bad_input",     422, 125, "setup" },
	[ERR_SETUP]	= { "setup_failed",  500, 125, "setup" },
	[ERR_NOT_FOUND] = { "not_found",     422, 127, "setup" },
	[ERR_NOT_EXEC]	= { "not_executable", 422, 126, "setup" },
	[ERR_DENIED]	= { "denied",	     403, 125, "policy" },
	[ERR_BUSY]	= { "busy",	     429, 125, "busy" },
	[ERR_INTERNAL]	= { "internal",	     500, 125, "internal" },
};

const struct err_info *err_info(int kind)
{
	if (kind < 0 || kind >= ERR_KINDS)
		kind = ERR_INTERNAL;
	return &kinds[kind];
}

void err_clear(struct err *e)
{
	if (e)
		memset(e, 0, sizeof(*e));
}

int err_set(struct err *e, int kind, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -1;
	err_clear(e);
	e->kind = kind;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return -1;
}

int err_sys(struct err *e, const char *fmt, ...)
{
	int saved = errno;
#ifdef __GLIBC__
	const char *text = strerrordesc_np(saved); /* never translated, no locale */
#else
	const char *text = strerror(saved);
#endif
	va_list ap;
	size_t used;

	if (!e)
		return -1;
	err_clear(e);
	e->kind = ERR_SETUP;
	e->sys = saved;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	used = strlen(e->msg);
	snprintf(e->msg + used, sizeof(e->msg) - used, ": %s", text ? text : "unknown error");
	errno = saved;
	return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char old[sizeof(e->msg)];
	va_list ap;
	size_t used;

	if (!e)
		return -1;
	memcpy(old, e->msg, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	used = strlen(e->msg);
	snprintf(e->msg + used, sizeof(e->msg) - used, ": %.*s", (int)(sizeof(old) - 1), old);
	return -1;
}

int err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e || e->hint[0])
		return -1;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	return -1;
}

static void make_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

void err_received(struct err *e)
{
	if (e->kind <= ERR_NONE || e->kind >= ERR_KINDS)
		e->kind = ERR_INTERNAL;
	make_text(e->step, sizeof(e->step));
	make_text(e->msg, sizeof(e->msg));
	make_text(e->hint, sizeof(e->hint));
	if (!e->msg[0])
		snprintf(e->msg, sizeof(e->msg), "an error without a word");
}

#ifdef __SANITIZE_ADDRESS__
/* Sanitized builds, here since every program of ours links this file: one-shot processes leave their memory to the kernel; everything
 * else that AddressSanitizer finds is an error. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif
