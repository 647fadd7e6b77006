/* SPDX-License-Identifier: Apache-2.0 */
/* encode() and decode() of src/guest/python/data.py, in C. */
#include "guest/values.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH  180  /* as data.py has it */
#define PACKED 32
#define ROOM   8192 /* most answers fit */
#define DIGITS 24

static struct {
	object *encode, *decode; /* in Python */
} rest;

/* ---- to bytes ---- */

void out_done(struct out *o)
{
	free(o->own);
}

static char *space(struct out *o, size_t len)
{
	size_t used = out_len(o), size;
	char *more;

	if ((size_t)(o->end - o->at) >= len)
		return o->at;
	size = 2 * (used + len);
	more = realloc(o->own, size);
	if (!more)
		return NULL;
	if (!o->own)
		memcpy(more, o->start, used);
	o->own = o->start = more;
	o->at = more + used;
	o->end = more + size;
	return o->at;
}

bool out_put(struct out *o, const char *from, size_t len)
{
	char *at = space(o, len);

	if (!at)
		return false;
	memcpy(at, from, len);
	o->at += len;
	return true;
}

bool out_number(struct out *o, char tag, long long value, char end)
{
	unsigned long long left = value < 0 ? 0ULL - (unsigned long long)value : (unsigned long long)value;
	char text[DIGITS + 2], *at = text + sizeof(text);

	*--at = end;
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		*--at = '-';
	*--at = tag;
	return out_put(o, at, (size_t)(text + sizeof(text) - at));
}

bool out_text(struct out *o, char tag, const char *text, ssize_t len)
{
	return text && out_number(o, tag, len, ':') && out_put(o, text, (size_t)len);
}

static bool put_float(struct out *o, double x)
{
	static const char digits[] = "0123456789abcdef";
	char text[18] = "d";
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	for (int i = 0; i < 16; i++)
		text[1 + i] = digits[bits >> (60 - 4 * i) & 15];
	text[17] = ';';
	return out_put(o, text, sizeof(text));
}

static bool put_value(struct out *o, object *x, int depth);

/* No object is made on the way, so no collection begins, and nobody's code runs: what is borrowed stays. (Sets, which only an iterator walks, are Python's.) */
static bool put_sequence(struct out *o, object *x, char tag, ssize_t count, object *(*item)(object *, ssize_t), int depth)
{
	bool good = out_number(o, tag, count, ':');

	for (ssize_t i = 0; good && i < count; i++)
		good = put_value(o, item(x, i), depth + 1);
	return good;
}

static bool all_floats(object *x, ssize_t count)
{
	for (ssize_t i = 0; i < count; i++)
		if (values_type(py.PyList_GetItem(x, i)) != py.PyFloat_Type)
			return false;
	return true;
}

static bool put_packed(struct out *o, object *x, ssize_t count)
{
	bool good = out_number(o, 'p', 8 * count, ':');
	char text[8];
	uint64_t bits;

	for (ssize_t i = 0; good && i < count; i++) {
		double d = py.PyFloat_AsDouble(py.PyList_GetItem(x, i));

		memcpy(&bits, &d, sizeof(bits));
		for (int k = 0; k < 8; k++)
			text[k] = (char)(bits >> (56 - 8 * k));
		good = out_put(o, text, sizeof(text));
	}
	return good;
}

static bool put_list(struct out *o, object *x, int depth)
{
	ssize_t count = py.PyList_Size(x);

	if (o->packs && count >= PACKED && all_floats(x, count))
		return put_packed(o, x, count);
	return put_sequence(o, x, 'l', count, py.PyList_GetItem, depth);
}

static bool put_dict(struct out *o, object *x, int depth)
{
	bool good = out_number(o, 'm', py.PyDict_Size(x), ':');
	object *key, *value;
	ssize_t at = 0;

	while (good && py.PyDict_Next(x, &at, &key, &value))
		good = put_value(o, key, depth + 1) && put_value(o, value, depth + 1);
	return good;
}

static bool put_int(struct out *o, object *x)
{
	int over = 0;
	long long value = py.PyLong_AsLongLongAndOverflow(x, &over);

	return !over && value != LLONG_MIN && out_number(o, 'i', value, ';');
}

static bool put_value(struct out *o, object *x, int depth)
{
	object *t = values_type(x);
	const char *text;
	ssize_t len = 0;

	if (t == py.PyLong_Type)
		return put_int(o, x);
	if (t == py.PyUnicode_Type) {
		text = py.PyUnicode_AsUTF8AndSize(x, &len); /* no half of a surrogate pair */
		return out_text(o, 's', text, len);
	}
	if (t == py.PyBool_Type)
		return out_put(o, x == py._Py_TrueStruct ? "T" : "F", 1);
	if (is_none(x))
		return out_put(o, "N", 1);
	if (t == py.PyFloat_Type)
		return put_float(o, py.PyFloat_AsDouble(x));
	if (t == py.PyBytes_Type)
		return out_text(o, 'b', py.PyBytes_AsString(x), py.PyBytes_Size(x));
	if (depth > DEPTH)
		return false;
	if (t == py.PyList_Type)
		return put_list(o, x, depth);
	if (t == py.PyTuple_Type)
		return put_sequence(o, x, 't', py.PyTuple_Size(x), py.PyTuple_GetItem, depth);
	if (t == py.PyDict_Type)
		return put_dict(o, x, depth);
	return false;
}

bool values_put(struct out *o, object *x)
{
	return put_value(o, x, 0);
}

object *values_bytes(object *x)
{
	static char room[ROOM];
	struct out o = out_in(room, sizeof(room));
	object *made = values_put(&o, x) ? py.PyBytes_FromStringAndSize(o.start, (ssize_t)out_len(&o)) : NULL;

	out_done(&o);
	if (!made)
		py.PyErr_Clear();
	return made;
}

/* encode(x[, keep]) */
static object *encode(object *self, object *const *args, ssize_t count)
{
	object *made = count > 0 ? values_bytes(args[0]) : NULL;

	(void)self;
	if (made)
		return made;
	return py.PyObject_CallFunctionObjArgs(rest.encode, count > 0 ? args[0] : NULL, count > 1 ? args[1] : NULL, NULL);
}

/* ---- from bytes ---- */

struct in {
	const char *at, *end;
};

/* Up to `end`, which is passed over. False: not one of ours. */
static bool get_number(struct in *in, char end, long long *out)
{
	bool minus = in->at < in->end && *in->at == '-';
	const char *at = in->at + minus, *first = at;
	unsigned long long value = 0;

	for (; at < in->end && *at >= '0' && *at <= '9'; at++) {
		if (at - first >= 18) /* larger ones are rare, and Python's */
			return false;
		value = value * 10 + (unsigned)(*at - '0');
	}
	if (at == first || at == in->end || *at != end)
		return false;
	*out = minus ? -(long long)value : (long long)value;
	in->at = at + 1;
	return true;
}

static bool get_count(struct in *in, ssize_t *out)
{
	long long n;

	if (!get_number(in, ':', &n) || n < 0 || n > in->end - in->at)
		return false;
	*out = (ssize_t)n;
	return true;
}

static bool get_float(struct in *in, double *out)
{
	uint64_t bits = 0;

	if (in->end - in->at < 17 || in->at[16] != ';')
		return false;
	for (int i = 0; i < 16; i++) {
		char c = in->at[i];

		if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
			return false;
		bits = bits << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	memcpy(out, &bits, sizeof(bits));
	in->at += 17;
	return true;
}

static object *get_value(struct in *in, int depth);

static object *get_sequence(struct in *in, object *(*make)(ssize_t), int (*set)(object *, ssize_t, object *), int depth)
{
	object *all, *one;
	ssize_t count;

	if (!get_count(in, &count) || !(all = make(count)))
		return NULL;
	for (ssize_t i = 0; i < count; i++) {
		one = get_value(in, depth + 1);
		if (!one || set(all, i, one) < 0) { /* it has taken `one` in any case */
			drop(all);
			return NULL;
		}
	}
	return all;
}

static object *get_dict(struct in *in, int depth)
{
	object *all, *key, *value;
	ssize_t count;
	bool good = true;

	if (!get_count(in, &count) || !(all = py.PyDict_New()))
		return NULL;
	while (good && count-- > 0) {
		key = get_value(in, depth + 1);
		value = key ? get_value(in, depth + 1) : NULL;
		good = value && py.PyDict_SetItem(all, key, value) == 0;
		drop(key);
		drop(value);
	}
	if (good)
		return all;
	drop(all);
	return NULL;
}

static object *known(object *o)
{
	py.Py_IncRef(o);
	return o;
}

/* NULL: not one of ours, or an error that may be set. */
static object *get_value(struct in *in, int depth)
{
	const char *text;
	long long number;
	ssize_t len;
	double x;

	if (depth > DEPTH || in->at == in->end)
		return NULL;
	switch (*in->at++) {
	case 'i':
		return get_number(in, ';', &number) ? py.PyLong_FromLongLong(number) : NULL;
	case 's':
	case 'b':
		text = in->at;
		if (!get_count(in, &len))
			return NULL;
		in->at += len;
		return text[-1] == 's' ? py.PyUnicode_DecodeUTF8(in->at - len, len, "surrogatepass") : py.PyBytes_FromStringAndSize(in->at - len, len);
	case 'd':
		return get_float(in, &x) ? py.PyFloat_FromDouble(x) : NULL;
	case 'N':
		return known(py._Py_NoneStruct);
	case 'T':
		return known(py._Py_TrueStruct);
	case 'F':
		return known(py._Py_FalseStruct);
	case 'l':
		return get_sequence(in, py.PyList_New, py.PyList_SetItem, depth);
	case 't':
		return get_sequence(in, py.PyTuple_New, py.PyTuple_SetItem, depth);
	case 'm':
		return get_dict(in, depth);
	default:
		return NULL;
	}
}

object *values_get(const char *text, size_t len)
{
	struct in in = { text, text + len };
	object *made = get_value(&in, 0);

	if (made && in.at == in.end)
		return made;
	drop(made);
	return NULL;
}

/* decode(b[, handle[, subclass]]) */
static object *decode(object *self, object *const *args, ssize_t count)
{
	object *made = NULL;

	(void)self;
	if (count > 0 && values_type(args[0]) == py.PyBytes_Type)
		made = values_get(py.PyBytes_AsString(args[0]), (size_t)py.PyBytes_Size(args[0]));
	if (made)
		return made;
	py.PyErr_Clear();
	return py.PyObject_CallFunctionObjArgs(rest.decode, count > 0 ? args[0] : NULL, count > 1 ? args[1] : NULL, count > 2 ? args[2] : NULL, NULL);
}

/* ---- in their place ---- */

static bool objects_are_plain(void)
{
	object *one[] = { py.PyLong_FromLongLong(1), py.PyFloat_FromDouble(1), py.PyList_New(0), py.PyTuple_New(0), py.PyDict_New(), py.PyBytes_FromStringAndSize("", 0),
			  py.PyUnicode_DecodeUTF8("", 0, NULL) };
	object *types[] = { py.PyLong_Type, py.PyFloat_Type, py.PyList_Type, py.PyTuple_Type, py.PyDict_Type, py.PyBytes_Type, py.PyUnicode_Type };
	bool plain = values_type(py._Py_TrueStruct) == py.PyBool_Type && values_type(py._Py_FalseStruct) == py.PyBool_Type;

	for (size_t i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
		plain = plain && one[i] && values_type(one[i]) == types[i];
		drop(one[i]);
	}
	return plain;
}

bool values_install(object *names)
{
	static struct method methods[] = { { "encode", (void *)encode, ARGS_FAST, NULL }, { "decode", (void *)decode, ARGS_FAST, NULL } };
	object **kept[] = { &rest.encode, &rest.decode };

	if (!objects_are_plain())
		return false;
	for (int i = 0; i < 2; i++) {
		object *ours = py.PyCFunction_NewEx(&methods[i], NULL, NULL);

		*kept[i] = py.PyDict_GetItemString(names, methods[i].name);
		if (!ours || !*kept[i])
			return false;
		py.Py_IncRef(*kept[i]);
		py.PyDict_SetItemString(names, methods[i].name, ours);
		drop(ours);
	}
	return true;
}
