/* SPDX-License-Identifier: Apache-2.0 */
/* The driver of graded candidates (src/guest/python/driver.py), made in the zygote. */
#include "guest/driver.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/cases.h"
#include "guest/interp.h"
#include "guest/values.h"
#include "jar/root.h"

struct driver driver = { .rehearsals = { -1, -1, -1 } };

static bool in_case; /* this is the child of a case */

static void case_child(void)
{
	in_case = true;
	pages_touch(PAGES_CASE);
}

/*
 * cases(inp, out, capture, head): the next head, or None. A solution with threads is forked as Python itself does it, one case at a time: they have locks, and are to go
 * on. Without any there is nothing to repair in a child: all is as the solution left it, its random numbers too.
 */
static object *serve_cases(object *self, object *args)
{
	static struct cases c = { .in_child = case_child };
	static unsigned char head[CASES_HEAD];
	object *first;

	(void)self;
	if (!py.PyArg_ParseTuple(args, "iiiO", &c.inp, &c.out, &c.capture, &first))
		return NULL;
	memcpy(head, py.PyBytes_AsString(first), CASES_HEAD);
	pages_check(PAGES_CASE);
	if (interp_alone() && cases_serve(&c, head) < 0) {
		py.Py_IncRef(py._Py_NoneStruct);
		return py._Py_NoneStruct;
	}
	return py.PyBytes_FromStringAndSize((const char *)head, CASES_HEAD);
}

/* os._exit(). */
static object *leave(object *self, object *code)
{
	(void)self;
	if (in_case)
		pages_tell();
	_exit((int)py.PyLong_AsLong(code));
}

static void give_driver(object *names)
{
	static struct method methods[] = { { "cases", serve_cases, ARGS_TUPLE, NULL }, { "_exit", leave, ARGS_SINGLE, NULL } };
	object *ours[2], *both;

	for (int i = 0; i < 2; i++)
		ours[i] = py.PyCFunction_NewEx(&methods[i], NULL, NULL);
	both = py.PyTuple_Pack(2, ours[0], ours[1]);
	py.PyDict_SetItemString(names, "_zygote", both);
	drop(both);
	drop(ours[0]);
	drop(ours[1]);
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

void driver_prepare(void)
{
	object *code;

	/* What it is made of lies together. */
	py.PyGC_Collect();
	pages_use_up(py.PyObject_Malloc);
	code = interp_compile(root_driver_py, ROOT_DRIVER_PY);
	driver.names = interp_names("belljar.driver");
	give_driver(driver.names);
	interp_run(code, driver.names, driver.names);
	drop(code);
	values_install(driver.names);
	driver.serve = py.PyDict_GetItemString(driver.names, "_serve");
	rehearse();
}
