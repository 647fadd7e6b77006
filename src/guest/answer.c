/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a candidate's function, from the bytes of the question to those of the answer. */
#include "guest/answer.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "guest/cases.h"
#include "guest/values.h"

#define ROOM	  4096		/* most values fit */
#define PLAIN_MAX (60U << 20)	/* larger ones are Python's, which may have to say that they are too large */

struct question {
	object *all; /* what the rest is in, but for f */
	object *args, *kwargs, *f;
	bool materialise;
	bool watch; /* arguments may be changed in place */
};

/* The name of something in the solution's module; Solution().f and the like are Python's. */
static bool is_name(object *target)
{
	ssize_t len;
	const char *text = values_type(target) == py.PyUnicode_Type ? py.PyUnicode_AsUTF8AndSize(target, &len) : NULL;

	return text && !memchr(text, '.', (size_t)len) && !memchr(text, '(', (size_t)len);
}

static bool may_change(const struct question *q)
{
	if (py.PyDict_Size(q->kwargs))
		return true;
	for (ssize_t i = 0; i < py.PyTuple_Size(q->args); i++) {
		object *t = values_type(py.PyTuple_GetItem(q->args, i));

		if (t != py.PyLong_Type && t != py.PyUnicode_Type && t != py.PyFloat_Type && t != py.PyBool_Type && !is_none(py.PyTuple_GetItem(q->args, i)))
			return true;
	}
	return false;
}

static bool understand(object *names, const char *body, size_t len, struct question *q)
{
	object *target;

	q->all = values_get(body, len);
	if (!q->all || values_type(q->all) != py.PyDict_Type)
		return false;
	target = py.PyDict_GetItemString(q->all, "target");
	q->args = py.PyDict_GetItemString(q->all, "args");
	q->kwargs = py.PyDict_GetItemString(q->all, "kwargs");
	if (!target || !q->args || !q->kwargs || values_type(q->args) != py.PyTuple_Type || values_type(q->kwargs) != py.PyDict_Type || !is_name(target))
		return false;
	q->f = py.PyDict_GetItem(names, target);
	if (!q->f)
		return false;
	py.Py_IncRef(q->f);
	q->materialise = py.PyDict_GetItemString(q->all, "materialise") == py._Py_TrueStruct;
	q->watch = may_change(q);
	return true;
}

/* Its arguments as they are now. */
static bool put_arguments(struct out *o, const struct question *q)
{
	return out_put(o, "t2:", 3) && values_put(o, q->args) && values_put(o, q->kwargs);
}

/* What was printed since the last look, as a value. */
static bool put_printed(struct out *o, int fd)
{
	static char printed[CASES_PRINTED_MAX];
	object *file = py.PySys_GetObject("stdout");

	if (file)
		drop_quietly(py.PyObject_CallMethod(file, "flush", NULL));
	return out_text(o, 'b', printed, (ssize_t)cases_printed(fd, printed, sizeof(printed)));
}

static bool put_key(struct out *o, const char *key)
{
	return out_text(o, 's', key, (ssize_t)strlen(key));
}

/* False: not all of it is plain. */
static bool plain_answer(struct out *o, const struct answers *a, const char *nonce, const struct question *q, const struct out *before, object *value, const int64_t took[2])
{
	static char room[ROOM], more[ROOM];
	struct out v = out_in(room, sizeof(room)), after = out_in(more, sizeof(more));
	bool changed = false, good;

	v.packs = true;
	good = values_put(&v, value) && (!q->watch || put_arguments(&after, q)) && out_len(&v) + out_len(&after) < PLAIN_MAX;
	if (good && q->watch)
		changed = out_len(&after) != out_len(before) || memcmp(after.start, before->start, out_len(before)) != 0;
	good = good && out_put(o, "\0\0\0\0", 4) && out_put(o, nonce, ANSWER_NONCE) && out_number(o, 'm', 1 + 2 * q->materialise + changed + (a->capture >= 0), ':');
	if (good && q->materialise)
		good = put_key(o, "ns") && out_number(o, 'i', took[0], ';') && put_key(o, "cpu") && out_number(o, 'i', took[1], ';');
	good = good && put_key(o, "v") && out_text(o, 'b', v.start, (ssize_t)out_len(&v));
	if (good && changed)
		good = put_key(o, "changed") && out_text(o, 'b', after.start, (ssize_t)out_len(&after));
	if (good && a->capture >= 0)
		good = put_key(o, "out") && put_printed(o, a->capture);
	out_done(&v);
	out_done(&after);
	return good;
}

static int send_answer(const struct answers *a, struct out *o)
{
	size_t len = out_len(o) - 4;

	for (int i = 0; i < 4; i++)
		o->start[i] = (char)(len >> 8 * i);
	(void)!fd_write_all(a->out, o->start, len + 4); /* nobody listens: then nobody asks either */
	return 1;
}

static object *bytes_or_none(const struct out *o, bool some)
{
	if (some)
		return py.PyBytes_FromStringAndSize(o->start, (ssize_t)out_len(o));
	py.Py_IncRef(py._Py_NoneStruct);
	return py._Py_NoneStruct;
}

static int done(object *result)
{
	drop(result);
	return result ? 1 : -1;
}

static int python_after(const struct answers *a, object *nonce, const struct question *q, object *before, object *value, int64_t begin, int64_t cpu)
{
	object *times[] = { py.PyLong_FromLongLong(begin), py.PyLong_FromLongLong(cpu) };
	object *result = py.PyObject_CallFunctionObjArgs(a->after, nonce, value, times[0], times[1], q->args, q->kwargs, before,
							 q->materialise ? py._Py_TrueStruct : py._Py_FalseStruct, NULL);

	drop(times[0]);
	drop(times[1]);
	return done(result);
}

struct raised {
	object *type, *e, *trace;
};

static void fetch(struct raised *r)
{
	py.PyErr_Fetch(&r->type, &r->e, &r->trace);
	py.PyErr_NormalizeException(&r->type, &r->e, &r->trace);
}

static int python_raised(const struct answers *a, object *nonce, const struct question *q, object *before, const struct raised *r)
{
	if (r->trace)
		py.PyException_SetTraceback(r->e, r->trace);
	return done(py.PyObject_CallFunctionObjArgs(a->raised, nonce, r->e, q->args, q->kwargs, before, NULL));
}

/* The call, and what becomes of it. */
static int call(const struct answers *a, const char *nonce, const struct question *q, const struct out *before)
{
	static char room[ROOM];
	struct out o = out_in(room, sizeof(room));
	int64_t begin = (int64_t)clock_mono_ns(), cpu = (int64_t)clock_cpu_ns(), took[2];
	pid_t self = getpid();
	object *value = py.PyObject_Call(q->f, q->args, py.PyDict_Size(q->kwargs) ? q->kwargs : NULL);
	struct raised r = { 0 };
	int rc = 0;

	if (getpid() != self)
		_exit(0); /* the solution has forked, and this one has come back too */
	/* A time limit that came while no line of Python ran. */
	if (value && py.PyErr_CheckSignals() < 0) {
		drop(value);
		value = NULL;
	}
	took[0] = (int64_t)clock_mono_ns() - begin;
	took[1] = (int64_t)clock_cpu_ns() - cpu;
	if (!value) {
		fetch(&r);
	} else if (plain_answer(&o, a, nonce, q, before, value, took)) {
		rc = send_answer(a, &o);
	}
	if (!rc) {
		object *name = py.PyBytes_FromStringAndSize(nonce, ANSWER_NONCE), *text = bytes_or_none(before, q->watch);

		py.PyErr_Clear();
		rc = value ? python_after(a, name, q, text, value, begin, cpu) : python_raised(a, name, q, text, &r);
		if (value && rc < 0) {
			/* no memory for its answer, for instance */
			fetch(&r);
			rc = python_raised(a, name, q, py._Py_NoneStruct, &r);
		}
		drop(name);
		drop(text);
	}
	out_done(&o);
	drop(value);
	drop(r.type);
	drop(r.e);
	drop(r.trace);
	return rc;
}

int answer(const struct answers *a, const char nonce[static ANSWER_NONCE], const char *body, size_t len)
{
	static char room[ROOM];
	struct out before = out_in(room, sizeof(room));
	struct question q = { 0 };
	int rc = 0;

	if (a->names && understand(a->names, body, len, &q) && (!q.watch || put_arguments(&before, &q)))
		rc = call(a, nonce, &q, &before);
	else
		py.PyErr_Clear();
	out_done(&before);
	drop(q.f);
	drop(q.all);
	return rc;
}
