/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of graded candidates (src/guest/python/driver.py), made in the zygote. */
#include "guest/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/fd.h"
#include "guest/answer.h"
#include "guest/cases.h"
#include "guest/interp.h"
#include "guest/values.h"
#include "jar/root.h"

struct driver driver = { .rehearsals = { -1, -1, -1 } };

static bool in_case; /* this is the child of a case */
static bool plain;   /* values are as src/guest/values.h wants them */
static struct answers answers = { .out = -1, .capture = -1 };
static object *asked; /* a list: the nonce of what is being answered, for whoever is ended by a time limit */

static void case_child(void)
{
	in_case = true;
	pages_touch(PAGES_CASE);
}

static struct cases cases = { .in_child = case_child };

static _Noreturn void end(int code)
{
	if (in_case)
		pages_tell();
	_exit(code);
}

static object *nothing(void)
{
	py.Py_IncRef(py._Py_NoneStruct);
	return py._Py_NoneStruct;
}

static void limit(int which, uint32_t ms)
{
	const struct itimerval t = { .it_value = { .tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000 } };

	setitimer(which, &t, NULL);
}

/* A question of the child's own: the nonce of the answer, CPU time in ms, the call. Nobody who lives longer has read it. */
#define QUESTION_CPU  ANSWER_NONCE
#define QUESTION_CALL (ANSWER_NONCE + 4)

/* What Python is to answer: the head, and the question. */
static object *take_case(const unsigned char *head)
{
	size_t len = cases_length(head);
	object *all = py.PyBytes_FromStringAndSize(NULL, (ssize_t)(CASES_HEAD + len));
	char *text = all ? py.PyBytes_AsString(all) + CASES_HEAD : NULL;
	uint32_t cpu_ms = 0;
	int rc;

	if (!all || len < QUESTION_CALL || fd_read_all(cases.inp, text, len) != 0)
		end(1);
	memcpy(text - CASES_HEAD, head, CASES_HEAD);
	for (int i = 0; i < 4; i++)
		cpu_ms |= (uint32_t)(unsigned char)text[QUESTION_CPU + i] << 8 * i;
	py.PyList_SetItem(asked, 0, py.PyBytes_FromStringAndSize(text, ANSWER_NONCE));
	limit(ITIMER_PROF, cpu_ms);
	limit(ITIMER_REAL, cases_wall_ms(head));
	rc = plain ? answer(&answers, text, text + QUESTION_CALL, len - QUESTION_CALL) : 0;
	if (rc)
		end(rc < 0);
	return all;
}

/*
 * cases(inp, out, capture, head, asked): the next head, or None. In the child of a case: its head and its question, if it is to be answered by Python. A solution with threads is forked as
 * Python itself does it, one case at a time: they have locks, and are to go on. Without any there is nothing to repair in a child: all is as the solution left it, its random
 * numbers too.
 */
static object *serve_cases(object *self, object *args)
{
	static unsigned char head[CASES_HEAD];
	object *first;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "iiiOO", &cases.inp, &cases.out, &cases.capture, &first, &asked))
		return NULL;
	memcpy(head, py.PyBytes_AsString(first), CASES_HEAD);
	pages_check(PAGES_CASE);
	if (interp_alone() && cases_serve(&cases, head) < 0)
		return nothing();
	return in_case ? take_case(head) : py.PyBytes_FromStringAndSize((const char *)head, CASES_HEAD);
}

/* loaded(names, after, raised, out, capture): the solution is there. */
static object *loaded(object *self, object *args)
{
	struct answers a = { 0 };

	(void)self;
	if (!py.PyArg_ParseTuple(args, "OOOii", &a.names, &a.after, &a.raised, &a.out, &a.capture))
		return NULL;
	py.Py_IncRef(a.names);
	py.Py_IncRef(a.after);
	py.Py_IncRef(a.raised);
	answers = a;
	return nothing();
}

/* call(nonce, question): whether it is answered. */
static object *serve_call(object *self, object *args)
{
	object *nonce, *body, *result;
	int rc;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "OO", &nonce, &body))
		return NULL;
	rc = plain ? answer(&answers, py.PyBytes_AsString(nonce), py.PyBytes_AsString(body), (size_t)py.PyBytes_Size(body)) : 0;
	if (rc < 0)
		return NULL;
	result = rc ? py._Py_TrueStruct : py._Py_FalseStruct;
	py.Py_IncRef(result);
	return result;
}

/* os._exit(). */
static object *leave(object *self, object *code)
{
	(void)self;
	end((int)py.PyLong_AsLong(code));
}

/* _quick(x) */
static object *plain_bytes(object *self, object *x)
{
	object *made = values_bytes(x);

	(void)self;
	return made ? made : nothing();
}

void driver_lend(object *names)
{
	static struct method quick = { "_quick", plain_bytes, ARGS_SINGLE, NULL };
	object *f = plain ? py.PyCFunction_NewEx(&quick, NULL, NULL) : NULL;

	if (f)
		py.PyDict_SetItemString(names, quick.name, f);
	drop(f);
}

static void give_driver(object *names)
{
	static struct method methods[] = { { "cases", serve_cases, ARGS_TUPLE, NULL }, { "_exit", leave, ARGS_SINGLE, NULL }, { "loaded", loaded, ARGS_TUPLE, NULL }, { "call", serve_call, ARGS_TUPLE, NULL } };
	object *ours[4], *all;

	for (int i = 0; i < 4; i++)
		ours[i] = py.PyCFunction_NewEx(&methods[i], NULL, NULL);
	all = py.PyTuple_Pack(4, ours[0], ours[1], ours[2], ours[3]);
	py.PyDict_SetItemString(names, "_zygote", all);
	drop(all);
	for (int i = 0; i < 4; i++)
		drop(ours[i]);
}

/* For the driver itself, and for the child of a case. */
static void rehearse(void)
{
	static const char text[] = "load = (b'L' + bytes(16), {'path': '/proc/self/fd/9', 'capture': True})\n"
				   "for fd, frames in ((%d, (load, (b'C' + bytes(16), {'target': 'f', 'args': (1, [2, 'a']), 'kwargs': {}}),\n"
				   "                         (b'C' + bytes(16), {'target': 'f', 'args': (1, 2), 'kwargs': {}}), (b'E' + bytes(16), {}))),\n"
				   "                   (%d, (load, (b'f' + bytes(12) + b'\\x10\\x27\\0\\0' * 6, {'target': 'f', 'args': (1, 2), 'kwargs': {}, 'materialise': True})))):\n"
				   "    for op, q in frames:\n"
				   "        write_frame(fd, op + encode(q))\n";
	char code[sizeof(text) + 32];
	object *scratch = py.PyDict_New(), *compiled;

	for (int i = PAGES_DRIVER; i < PAGES_SETS; i++)
		driver.rehearsals[i] = memfd_create("rehearsal", MFD_CLOEXEC);
	snprintf(code, sizeof(code), text, driver.rehearsals[PAGES_DRIVER], driver.rehearsals[PAGES_CASE]);
	compiled = interp_compile(code, "<sample>");
	interp_run(compiled, driver.names, scratch);
	drop(compiled);
	drop(scratch);
}

/* NULL: it is for another interpreter. */
static object *compiled_driver(void)
{
	unsigned long magic = (unsigned long)py.PyImport_GetMagicNumber();
	size_t len = strlen(driver_code), n = 0;
	char want[16], *text = malloc(len);
	object *code = NULL;

	snprintf(want, sizeof(want), "%02lx%02lx%02lx%02lx\n", magic & 255, magic >> 8 & 255, magic >> 16 & 255, magic >> 24 & 255);
	if (text && strncmp(driver_code, want, strlen(want)) == 0) {
		for (const char *at = driver_code + strlen(want); *at; at++)
			if (*at != '\n')
				text[n++] = *at;
		if (base64_decode(text, n, text, &n) == 0)
			code = py.PyMarshal_ReadObjectFromString(text, (ssize_t)n);
		if (!code)
			py.PyErr_Clear();
	}
	free(text);
	return code;
}

void driver_prepare(void)
{
	object *code;

	/* What it is made of lies together. */
	py.PyGC_Collect();
	pages_use_up(py.PyObject_Malloc);
	code = compiled_driver();
	if (!code)
		code = interp_compile(root_driver_py, ROOT_DRIVER_PY);
	driver.names = interp_names("belljar.driver");
	give_driver(driver.names);
	interp_run(code, driver.names, driver.names);
	drop(code);
	plain = values_install(driver.names);
	driver.serve = py.PyDict_GetItemString(driver.names, "_serve");
	rehearse();
}
