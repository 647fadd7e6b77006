/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The witness of SWE-bench's runner (swe_runner.py): it sees which code runs in the interpreter that tests and product share.
 *
 * It is loaded before anything of the checkout. It reads the run's word from descriptor 3 itself and keeps it here, outside of Python's objects. Before
 * seal() the runner tells it the code of the pristine test files (expect), which of their functions nobody replaces (plain), which files the patch
 * changed (patched), and the modules whose functions are to stay as they are (guard). After seal() nothing of that can be changed from Python.
 *
 * Test functions are called through call(). It compares their code with the pristine code before and after, and notes how the call ended. A function that
 * is hidden below decorators is found by a profile function for as long as the call lasts. Every frame that say() writes carries the notes since the
 * frame before. Python code may call say() with any text; it cannot write notes. The driver believes "passed" only with the note of that function.
 */
#include "guest/witness_py.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT	  __attribute__((visibility("default")))
#define NOTES_MAX (64U << 10)
#define IN_MAX	  (256U << 20)
#define NONE	  (&_Py_NoneStruct)

enum { WORD = 16, FD_IN = 3, FD_OUT = 4 };
enum { OTHER = -1, DIFFERENT = -2, PRODUCT = -3 }; /* what a code object is; else its place in `known` */

/* One function of a pristine file, in one of the forms that it may have. */
struct function {
	object *code;
	const char *file, *name;   /* path as told, qualified name */
	unsigned returned, raised; /* the window in which that was noted last */
	bool plain;
	bool support; /* of the repository's own test library, not of a test file */
};

/* A name in a dictionary that keeps its value. */
struct kept {
	object *dict, *key, *value;
	object *code, *defaults, *kwdefaults; /* of a function */
	const char *owner;
};

struct seen {
	object *code; /* NULL: free */
	int what;
};

static struct {
	unsigned char word[WORD];
	pid_t pid;
	bool received, sealed;
	struct function *known;
	size_t known_n, known_cap;
	char **files, **patched, **texts;
	size_t texts_n, texts_cap;
	size_t files_n, patched_n;
	struct kept *kept;
	size_t kept_n, kept_cap;
	object **libraries; /* dictionaries of modules of the standard library that tests use */
	size_t libraries_n;
	object **types; /* guarded, with their versions at the beginning of a call */
	unsigned *versions;
	size_t types_n;
	struct seen *seen;
	size_t seen_n, seen_cap;
	char notes[NOTES_MAX];
	size_t notes_n;
	unsigned window;
	struct function **plain; /* of `known`: helpers that nobody replaces */
	size_t plain_n;
	object *names;				  /* names of the assertion methods: a list */
	object *coroutine, *send, *throw, *close; /* the type of coroutines and its methods */
	object *get_profile, *set_profile, *thread_profile, *own_profile;
	object *dict_name, *watch_type;
	unsigned char returns[256]; /* opcodes that end a function */
	object *(*frame_code)(object *frame);
} w = { .window = 1 };

static object *none(void)
{
	Py_IncRef(NONE);
	return NONE;
}

static object *refuse(const char *why)
{
	PyErr_SetString(PyExc_RuntimeError, why);
	return NULL;
}

static void *grow(void *p, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return p;
	*cap = *cap ? *cap * 2 : 256;
	p = realloc(p, *cap * size);
	if (!p)
		abort();
	return p;
}

/* ---- notes ---- */

static void note(const char *how, const char *a, const char *b, long line)
{
	char text[1024];
	int n = line >= 0 ? snprintf(text, sizeof(text), "%s %s:%ld:%s\n", how, a, line, b)
			  : snprintf(text, sizeof(text), "%s %s%s%s\n", how, a, *b ? "." : "", b);

	if (n <= 0 || (size_t)n >= sizeof(text) || w.notes_n + (size_t)n > sizeof(w.notes))
		return;
	/* The same change is found before, after and by every look. */
	if (line < 0 && memmem(w.notes, w.notes_n, text, (size_t)n))
		return;
	memcpy(w.notes + w.notes_n, text, (size_t)n);
	w.notes_n += (size_t)n;
}

static long number_of(object *o, const char *name)
{
	object *v = PyObject_GetAttrString(o, name);
	long n = v ? PyLong_AsLong(v) : -1;

	if (v)
		Py_DecRef(v);
	if (PyErr_Occurred())
		PyErr_Clear();
	return n;
}

static void note_function(int k, bool returned)
{
	struct function *f = &w.known[k];
	unsigned *last = returned ? &f->returned : &f->raised;

	if (*last == w.window)
		return;
	*last = w.window;
	note(returned ? "returned" : "raised", f->file, f->name, number_of(f->code, "co_firstlineno"));
}

/* ---- code ---- */

static bool is_code(object *o)
{
	return o->type == &PyCode_Type;
}

static bool same_field(object *a, object *b, const char *name)
{
	object *x = PyObject_GetAttrString(a, name), *y = PyObject_GetAttrString(b, name);
	bool same = (!x && !y) || (x && y && PyObject_RichCompareBool(x, y, 2) == 1);

	PyErr_Clear();
	if (x)
		Py_DecRef(x);
	if (y)
		Py_DecRef(y);
	return same;
}

/* Whether two code objects do the same at the same lines. Python's own comparison leaves out tables that decide what an exception does. */
static bool same_code(object *a, object *b)
{
	static const char *const fields[] = { "co_flags",    "co_code",		  "co_names",	    "co_varnames",  "co_freevars",
					      "co_cellvars", "co_exceptiontable", "co_firstlineno", "co_stacksize", NULL };
	object *x, *y;
	bool same = PyObject_RichCompareBool(a, b, 2) == 1;

	PyErr_Clear();
	for (size_t i = 0; same && fields[i]; i++)
		same = same_field(a, b, fields[i]);
	if (!same)
		return false;
	x = PyObject_GetAttrString(a, "co_consts");
	y = PyObject_GetAttrString(b, "co_consts");
	same = x && y && PyTuple_Size(x) == PyTuple_Size(y);
	for (ssize_t i = 0; same && i < PyTuple_Size(x); i++)
		if (is_code(PyTuple_GetItem(x, i)))
			same = is_code(PyTuple_GetItem(y, i)) && same_code(PyTuple_GetItem(x, i), PyTuple_GetItem(y, i));
	if (x)
		Py_DecRef(x);
	if (y)
		Py_DecRef(y);
	return same;
}

/* The path of a pristine file that this one is, or NULL. */
static const char *known_file(const char *name)
{
	const char *base = strrchr(name, '/');
	char real[PATH_MAX];

	base = base ? base + 1 : name;
	for (size_t i = 0; i < w.files_n; i++)
		if (strcmp(w.files[i], name) == 0)
			return w.files[i];
	for (size_t i = 0; i < w.files_n; i++) {
		const char *other = strrchr(w.files[i], '/');

		if (other && strcmp(other + 1, base) == 0 && realpath(name, real) && strcmp(real, w.files[i]) == 0)
			return w.files[i];
	}
	return NULL;
}

static int judge_code(object *code)
{
	object *file = PyObject_GetAttrString(code, "co_filename");
	const char *name = file ? PyUnicode_AsUTF8(file) : NULL, *path = name ? known_file(name) : NULL;
	int what = OTHER;

	if (!name) {
		PyErr_Clear();
		what = PRODUCT;
	} else if (path) {
		what = DIFFERENT;
		for (size_t i = 0; i < w.known_n; i++)
			if (w.known[i].file == path && same_code(code, w.known[i].code)) {
				what = (int)i;
				break;
			}
	} else if (name[0] == '<' && strncmp(name, "<frozen ", 8) != 0) {
		what = PRODUCT;
	} else {
		for (size_t i = 0; what == OTHER && i < w.patched_n; i++)
			if (strcmp(w.patched[i], name) == 0)
				what = PRODUCT;
	}
	if (file)
		Py_DecRef(file);
	return what;
}

static struct seen *seen_slot(object *code)
{
	size_t i = ((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15ULL >> 20 & (w.seen_cap - 1);

	while (w.seen[i].code && w.seen[i].code != code)
		i = (i + 1) & (w.seen_cap - 1);
	return &w.seen[i];
}

/* What a code object is. It is remembered by its address, so it is kept alive. */
static int what_code(object *code)
{
	struct seen *s;

	if (w.seen_n * 2 >= w.seen_cap) {
		struct seen *old = w.seen;
		size_t n = w.seen_cap;

		w.seen_cap = n ? n * 2 : 4096;
		w.seen = calloc(w.seen_cap, sizeof(*w.seen));
		if (!w.seen)
			abort();
		for (size_t i = 0; i < n; i++)
			if (old[i].code)
				*seen_slot(old[i].code) = old[i];
		free(old);
	}
	s = seen_slot(code);
	if (!s->code) {
		object *type, *value, *tb;
		int what;

		PyErr_Fetch(&type, &value, &tb);
		what = judge_code(code);
		PyErr_Restore(type, value, tb);
		s = seen_slot(code);
		if (!s->code) {
			Py_IncRef(code);
			*s = (struct seen){ code, what };
			w.seen_n++;
		}
	}
	return s->what;
}

/* ---- what must stay as it is ---- */

static void look_at_kept(void)
{
	for (size_t i = 0; i < w.kept_n; i++) {
		const struct kept *k = &w.kept[i];

		if (PyDict_GetItem(k->dict, k->key) != k->value ||
		    (k->code && (PyFunction_GetCode(k->value) != k->code || PyFunction_GetDefaults(k->value) != k->defaults ||
				 PyFunction_GetKwDefaults(k->value) != k->kwdefaults)))
			note("changed", k->owner, PyUnicode_AsUTF8(k->key), -1);
	}
	PyErr_Clear();
}

static void versions(bool begin)
{
	for (size_t i = 0; i < w.types_n; i++) {
		object *v = begin ? PyObject_GetAttrString(w.types[i], "__init__") : NULL; /* so that it has one */
		unsigned now = PY_FIELD(w.types[i], PY_TYPE_VERSION, unsigned);

		if (v)
			Py_DecRef(v);
		if (begin)
			w.versions[i] = now;
		else if (w.versions[i] && w.versions[i] != now)
			note("changed", PY_FIELD(w.types[i], 24, const char *), "", -1);
	}
	PyErr_Clear();
}

static bool is_function(object *o)
{
	return o->type == &PyFunction_Type;
}

static bool by_product(object *f)
{
	if (f->type == &PyMethod_Type)
		f = PyMethod_Function(f);
	return is_function(f) && what_code(PyFunction_GetCode(f)) == PRODUCT;
}

/* A product that exchanges a function of the standard library decides what a test compares with. */
static void look_for_products(object *dict, bool classes)
{
	object *key, *value;
	ssize_t at = 0;

	while (PyDict_Next(dict, &at, &key, &value)) {
		object *inner = classes && PY_IS_TYPE(value) ? PY_FIELD(value, PY_TYPE_DICT, object *) : NULL;

		if (key->type == &PyUnicode_Type && by_product(value))
			note("changed", "standard library", PyUnicode_AsUTF8(key), -1);
		if (inner && inner->type == &PyDict_Type)
			look_for_products(inner, false);
	}
}

static void look_at_libraries(void)
{
	for (size_t i = 0; i < w.libraries_n; i++)
		look_for_products(w.libraries[i], true);
	PyErr_Clear();
}

/* Functions of a module or a class: code of a pristine file is pristine, and plain names have their own. `prefix`: of the class, with its dot. */
static void look_at_functions(object *dict, const char *file, const char *prefix)
{
	object *key, *value;
	ssize_t at = 0;
	size_t n = strlen(prefix);

	while (PyDict_Next(dict, &at, &key, &value))
		if (is_function(value) && what_code(PyFunction_GetCode(value)) == DIFFERENT)
			note("changed", *prefix ? prefix : file, key->type == &PyUnicode_Type ? PyUnicode_AsUTF8(key) : "?", -1);
	for (size_t i = 0; i < w.plain_n; i++) {
		const struct function *f = w.plain[i];
		int k;

		if ((f->file != file && (n || !f->support)) || strncmp(f->name, prefix, n) != 0 || strchr(f->name + n, '.'))
			continue;
		key = PyUnicode_FromString(f->name + n);
		value = key ? PyDict_GetItem(dict, key) : NULL;
		if (key)
			Py_DecRef(key);
		if (!value)
			continue;
		/* What a test imports from its library is not the patch's. */
		if (f->file != file) {
			if (by_product(value))
				note("changed", f->file, f->name, -1);
			continue;
		}
		k = is_function(value) ? what_code(PyFunction_GetCode(value)) : OTHER;
		if (k < 0 || strcmp(w.known[k].name, f->name) != 0)
			note("changed", f->file, f->name, -1);
	}
	PyErr_Clear();
}

/* The object whose method runs: its assertion methods are nobody's of the patch. */
static void look_at_self(object *self)
{
	object *mro = PY_FIELD(self->type, PY_TYPE_MRO, object *), *own;

	for (ssize_t i = 0; mro && i < PyTuple_Size(mro); i++) {
		object *cls = PyTuple_GetItem(mro, i), *dict = PY_FIELD(cls, PY_TYPE_DICT, object *), *code = NULL, *key, *value;
		const char *name = PY_FIELD(cls, 24, const char *), *file = NULL;
		ssize_t at = 0;
		char prefix[256];

		if (!dict || dict->type != &PyDict_Type)
			continue;
		/* A class is of the file that its functions are of. */
		while (PyDict_Next(dict, &at, &key, &value)) {
			if (key->type == &PyUnicode_Type && strncmp(PyUnicode_AsUTF8(key), "assert", 6) == 0 && by_product(value))
				note("changed", name, PyUnicode_AsUTF8(key), -1);
			if (!file && is_function(value) && (code = PyFunction_GetCode(value)) && what_code(code) >= 0)
				file = w.known[what_code(code)].file;
		}
		if (file && strlen(name) < sizeof(prefix) - 1) {
			snprintf(prefix, sizeof(prefix), "%s.", name);
			look_at_functions(dict, file, prefix);
		}
	}
	own = PyObject_GenericGetAttr(self, w.dict_name);
	for (ssize_t n = 0; mro && w.names && n < PyList_Size(w.names); n++) {
		object *name = PyList_GetItem(w.names, n),
		       *value = own && own->type == &PyDict_Type ? PyDict_GetItem(own, name) : NULL;

		for (ssize_t i = 0; !value && i < PyTuple_Size(mro); i++) {
			object *dict = PY_FIELD(PyTuple_GetItem(mro, i), PY_TYPE_DICT, object *);

			value = dict && dict->type == &PyDict_Type ? PyDict_GetItem(dict, name) : NULL;
		}
		if (value && by_product(value))
			note("changed", PY_FIELD(self->type, 24, const char *), PyUnicode_AsUTF8(name), -1);
	}
	if (own)
		Py_DecRef(own);
	PyErr_Clear();
}

static void look_around(object *self, object *function)
{
	look_at_kept();
	look_at_libraries();
	if (self)
		look_at_self(self);
	if (function) {
		int k = what_code(PyFunction_GetCode(function));

		if (k >= 0)
			look_at_functions(PyFunction_GetGlobals(function), w.known[k].file, "");
	}
}

/* Python tells of every __code__ and __defaults__ that is set (3.8 and later). This cannot be switched off, and sees what is put back before anybody looks. */
static int on_audit(const char *event, object *args, void *ctx)
{
	object *f, *what;
	const char *name;

	(void)ctx;
	if (event[0] != 'o' || strcmp(event, "object.__setattr__") != 0 || !w.sealed || PyTuple_Size(args) < 2)
		return 0;
	f = PyTuple_GetItem(args, 0);
	what = PyTuple_GetItem(args, 1);
	name = what && what->type == &PyUnicode_Type ? PyUnicode_AsUTF8(what) : NULL;
	if (!f || !name || !is_function(f) || strncmp(name, "__", 2) != 0)
		return 0;
	if (what_code(PyFunction_GetCode(f)) >= 0)
		note("changed", w.known[what_code(PyFunction_GetCode(f))].name, name, -1);
	for (size_t i = 0; i < w.kept_n; i++)
		if (w.kept[i].value == f)
			note("changed", w.kept[i].owner, PyUnicode_AsUTF8(w.kept[i].key), -1);
	return 0;
}

/* ---- calls ---- */

/* Whether a generator or coroutine has come to its end, and not to a pause. */
static bool at_end(object *frame, object *code)
{
	long at = number_of(frame, "f_lasti");
	object *bytes = PyObject_GetAttrString(code, "co_code");
	bool end = false;
	ssize_t n;
	char *data;

	if (bytes && PyBytes_AsStringAndSize(bytes, &data, &n) == 0 && at >= 0 && at < n)
		end = w.returns[(unsigned char)data[at]];
	if (bytes)
		Py_DecRef(bytes);
	PyErr_Clear();
	return end;
}

static int on_profile(object *self, object *frame, int event, object *arg)
{
	object *code;
	int k;

	(void)self;
	if (event != PY_RETURN_EVENT)
		return 0;
	if (w.frame_code) {
		code = w.frame_code(frame);
		Py_DecRef(code); /* the frame has it */
	} else {
		code = PY_FIELD(frame, PY_FRAME_CODE, object *);
	}
	k = what_code(code);
	if (k == OTHER || k == PRODUCT)
		return 0;
	object *type, *value, *tb;

	PyErr_Fetch(&type, &value, &tb);
	if (k == DIFFERENT) {
		object *name = PyObject_GetAttrString(code, "co_name");

		if (name)
			note("changed", PyUnicode_AsUTF8(name), "", -1);
		if (name)
			Py_DecRef(name);
		PyErr_Clear();
	} else if (!arg || !(number_of(code, "co_flags") & (PY_CO_GENERATOR | PY_CO_COROUTINE)) || at_end(frame, code)) {
		note_function(k, arg != NULL);
	}
	PyErr_Restore(type, value, tb);
	return 0;
}

/* What new threads begin with. */
static object *profile_thread(object *self, object *args)
{
	(void)self;
	(void)args;
	PyEval_SetProfile(on_profile, NULL);
	return none();
}

/* Calls with the profile function on, in this thread and in those that it starts. What was there comes back. */
static object *call_profiled(object *f, object *args, object *kwargs)
{
	object *was = PyObject_CallFunctionObjArgs(w.get_profile, (object *)NULL), *r, *type, *value, *tb, *x;

	x = PyObject_CallFunctionObjArgs(w.thread_profile, w.own_profile, (object *)NULL);
	if (x)
		Py_DecRef(x);
	PyErr_Clear();
	PyEval_SetProfile(on_profile, NULL);
	r = PyObject_Call(f, args, kwargs);
	PyErr_Fetch(&type, &value, &tb);
	PyEval_SetProfile(NULL, NULL);
	x = PyObject_CallFunctionObjArgs(w.thread_profile, NONE, (object *)NULL);
	if (x)
		Py_DecRef(x);
	if (was && was != NONE && (x = PyObject_CallFunctionObjArgs(w.set_profile, was, (object *)NULL)))
		Py_DecRef(x);
	if (was)
		Py_DecRef(was);
	PyErr_Clear();
	PyErr_Restore(type, value, tb);
	return r;
}

/* After a call: how it ended, and whether everything is still what it was. Keeps the exception that may be set. */
static void after(int k, object *function, object *code, object *self, bool returned)
{
	object *type, *value, *tb;

	PyErr_Fetch(&type, &value, &tb);
	if (k >= 0) {
		if (PyFunction_GetCode(function) != code || !same_code(code, w.known[k].code))
			note("changed", w.known[k].file, w.known[k].name, -1);
		note_function(k, returned);
	}
	versions(false);
	look_around(self, k >= 0 ? function : NULL);
	PyErr_Restore(type, value, tb);
}

struct watch {
	object head;
	object *coroutine, *function, *code, *self;
	int k; /* below 0: a decorated one, whose function is looked for at every step */
	bool over;
};

/* Takes the references to the coroutine and the code. */
static object *watch_new(object *coroutine, object *function, object *code, object *self, int k)
{
	struct watch *x = (struct watch *)_PyObject_New(w.watch_type);

	if (!x)
		return NULL;
	Py_IncRef(function);
	if (self)
		Py_IncRef(self);
	x->coroutine = coroutine;
	x->function = function;
	x->code = code;
	x->self = self;
	x->k = k;
	x->over = false;
	return (object *)x;
}

/* call(function, args, kwargs): calls it and notes how that ended. Of a coroutine function: gives something to await. */
static object *py_call(object *module, object *args)
{
	object *f, *a, *kw, *function, *self = NULL, *code, *r;
	int k = OTHER;

	(void)module;
	if (!PyArg_ParseTuple(args, "OOO", &f, &a, &kw))
		return NULL;
	function = f;
	if (f->type == &PyMethod_Type) {
		function = PyMethod_Function(f);
		self = PyMethod_Self(f);
	}
	code = is_function(function) ? PyFunction_GetCode(function) : NULL;
	if (code) {
		k = what_code(code);
		/* In the cache by its address: memory that was written to is found here. */
		if (k >= 0 && !same_code(code, w.known[k].code))
			k = DIFFERENT;
	}
	if (k == DIFFERENT) {
		object *name = PyObject_GetAttrString(code, "co_name");

		note("changed", name ? PyUnicode_AsUTF8(name) : "?", "", -1);
		if (name)
			Py_DecRef(name);
		PyErr_Clear();
	}
	look_around(self, k >= 0 ? function : NULL);
	versions(true);
	/* A function inside of another one is a decorator's, not the test's. */
	if (k >= 0 && strstr(w.known[k].name, "<locals>"))
		k = OTHER;
	Py_IncRef(f);
	if (code)
		Py_IncRef(code);
	r = k >= 0 ? PyObject_Call(f, a, kw) : call_profiled(f, a, kw);
	if (r && r->type == w.coroutine) {
		r = watch_new(r, function, code, self, k);
	} else {
		after(k, function, code, self, r != NULL);
		if (code)
			Py_DecRef(code);
	}
	Py_DecRef(f);
	return r;
}

/* ---- what is awaited ---- */

/* One step of a coroutine, by one of its type's own methods. */
static object *watch_step(struct watch *x, object *method, object *args)
{
	object *r = x->k >= 0 ? PyObject_Call(method, args, NULL) : call_profiled(method, args, NULL);

	if (!r && !x->over) {
		bool returned = PyErr_ExceptionMatches(PyExc_StopIteration);

		x->over = true;
		after(x->k, x->function, x->code, x->self, returned);
	}
	return r;
}

static object *watch_send(object *self, object *value)
{
	struct watch *x = (struct watch *)self;

	object *args = x->coroutine ? PyTuple_Pack(2, x->coroutine, value) : NULL, *r;

	if (!args)
		return PyErr_Occurred() ? NULL : refuse("nothing to wait for");
	r = watch_step(x, w.send, args);
	Py_DecRef(args);
	return r;
}

static object *watch_next(object *self)
{
	return watch_send(self, NONE);
}

static object *watch_throw(object *self, object *args)
{
	struct watch *x = (struct watch *)self;
	object *a = NULL, *b = NULL, *c = NULL, *all, *r;

	if (!x->coroutine)
		return refuse("nothing to wait for");
	if (!PyArg_ParseTuple(args, "O|OO", &a, &b, &c))
		return NULL;
	all = PyTuple_Pack(2 + (b != NULL) + (c != NULL), x->coroutine, a, b, c);
	if (!all)
		return NULL;
	r = watch_step(x, w.throw, all);
	Py_DecRef(all);
	return r;
}

static object *watch_close(object *self, object *unused)
{
	struct watch *x = (struct watch *)self;

	(void)unused;
	x->over = true;
	return x->coroutine ? PyObject_CallFunctionObjArgs(w.close, x->coroutine, (object *)NULL) : none();
}

static object *watch_self(object *self)
{
	Py_IncRef(self);
	return self;
}

static void watch_free(object *self)
{
	struct watch *x = (struct watch *)self;
	object *type = self->type;

	for (object **o = &x->coroutine; o <= &x->self; o++)
		if (*o)
			Py_DecRef(*o);
	PyObject_Free(self);
	Py_DecRef(type);
}

static struct py_method watch_methods[] = { { "send", watch_send, PY_ONE, NULL },
					    { "throw", watch_throw, PY_VARARGS, NULL },
					    { "close", watch_close, PY_NOARGS, NULL },
					    { 0 } };
static struct py_slot watch_slots[] = { { PY_TP_DEALLOC, watch_free },	  { PY_TP_ITER, watch_self },
					{ PY_TP_ITERNEXT, watch_next },	  { PY_AM_AWAIT, watch_self },
					{ PY_TP_METHODS, watch_methods }, { 0, NULL } };
static struct py_spec watch_spec = { "belljar.watch", sizeof(struct watch), 0, PY_FLAGS_DEFAULT, watch_slots };

/* ---- before the checkout ---- */

/* A copy that lives as long as the process. */
static const char *kept_text(const char *text)
{
	w.texts = grow(w.texts, w.texts_n, &w.texts_cap, sizeof(*w.texts));
	w.texts[w.texts_n] = strdup(text);
	if (!w.texts[w.texts_n])
		abort();
	return w.texts[w.texts_n++];
}

static char *copy_text(object *s)
{
	const char *text = PyUnicode_AsUTF8(s);
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		abort();
	return copy;
}

static void add_code(object *code, const char *file, const char *prefix)
{
	object *consts = PyObject_GetAttrString(code, "co_consts");

	for (ssize_t i = 0; consts && i < PyTuple_Size(consts); i++) {
		object *k = PyTuple_GetItem(consts, i), *name;
		char full[512], next[528];

		if (!is_code(k))
			continue;
		name = PyObject_GetAttrString(k, "co_name");
		snprintf(full, sizeof(full), "%s%s", prefix, name && PyUnicode_AsUTF8(name) ? PyUnicode_AsUTF8(name) : "?");
		if (name)
			Py_DecRef(name);
		w.known = grow(w.known, w.known_n, &w.known_cap, sizeof(*w.known));
		Py_IncRef(k);
		w.known[w.known_n++] = (struct function){ .code = k, .file = file, .name = strdup(full) };
		snprintf(next, sizeof(next), "%s%s", full, number_of(k, "co_flags") & PY_CO_OPTIMIZED ? ".<locals>." : ".");
		add_code(k, file, next);
	}
	if (consts)
		Py_DecRef(consts);
	PyErr_Clear();
}

/* expect(file, code, plain, support): a form of a pristine file, and the names in it that nobody replaces. */
static object *py_expect(object *self, object *args)
{
	object *file, *code, *plain;
	int support;
	const char *path = NULL;
	char *name;

	(void)self;
	if (w.sealed)
		return refuse("too late");
	if (!PyArg_ParseTuple(args, "UOOp", &file, &code, &plain, &support) || !(name = copy_text(file)))
		return NULL;
	for (size_t i = 0; i < w.files_n; i++)
		if (strcmp(w.files[i], name) == 0)
			path = w.files[i];
	if (!path) {
		w.files = realloc(w.files, (w.files_n + 1) * sizeof(*w.files));
		path = w.files[w.files_n++] = name;
	} else {
		free(name);
	}
	size_t first = w.known_n;

	add_code(code, path, "");
	for (size_t i = first; i < w.known_n; i++) {
		w.known[i].support = support;
		for (ssize_t j = 0; j < PyList_Size(plain); j++) {
			const char *text = PyUnicode_AsUTF8(PyList_GetItem(plain, j));

			w.known[i].plain |= text && strcmp(text, w.known[i].name) == 0;
		}
	}
	return none();
}

/* patched(paths): files that the patch changed. */
static object *py_patched(object *self, object *paths)
{
	(void)self;
	if (w.sealed)
		return refuse("too late");
	for (ssize_t i = 0; i < PyList_Size(paths); i++) {
		char *path = copy_text(PyList_GetItem(paths, i));

		if (!path)
			return NULL;
		w.patched = realloc(w.patched, (w.patched_n + 1) * sizeof(*w.patched));
		w.patched[w.patched_n++] = path;
	}
	return none();
}

/* For as long as the process lives. */
static void hold(object *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (all[i])
			Py_IncRef(all[i]);
}

static void keep(object *dict, object *key, object *value, const char *owner)
{
	struct kept k = { dict, key, value, NULL, NULL, NULL, owner };

	if (is_function(value)) {
		k.code = PyFunction_GetCode(value);
		k.defaults = PyFunction_GetDefaults(value);
		k.kwdefaults = PyFunction_GetKwDefaults(value);
	}
	hold((object *[]){ dict, key, value, k.code, k.defaults, k.kwdefaults }, 6);
	w.kept = grow(w.kept, w.kept_n, &w.kept_cap, sizeof(*w.kept));
	w.kept[w.kept_n++] = k;
}

static void keep_type(object *type)
{
	object *dict = PY_FIELD(type, PY_TYPE_DICT, object *), *key, *value;
	const char *name;
	ssize_t at = 0;

	if (!dict || dict->type != &PyDict_Type)
		return;
	name = kept_text(PY_FIELD(type, 24, const char *));
	while (PyDict_Next(dict, &at, &key, &value))
		if (key->type == &PyUnicode_Type && (is_function(value) || strncmp(PyUnicode_AsUTF8(key), "__", 2) != 0))
			keep(dict, key, value, name);
}

/* guard(module, names of classes whose change during a test counts too): functions and classes of a module stay as they are. */
static object *py_guard(object *self, object *args)
{
	object *module, *strict, *dict, *key, *value, *own;
	const char *name;
	ssize_t at = 0;

	(void)self;
	if (w.sealed)
		return refuse("too late");
	if (!PyArg_ParseTuple(args, "OO", &module, &strict) || !(dict = PyModule_GetDict(module)))
		return NULL;
	own = PyObject_GetAttrString(module, "__name__");
	if (!own || !PyUnicode_AsUTF8(own))
		return NULL;
	name = kept_text(PyUnicode_AsUTF8(own));
	while (PyDict_Next(dict, &at, &key, &value)) {
		object *of;

		if (key->type != &PyUnicode_Type || !(is_function(value) || value->type == &PyCFunction_Type || PY_IS_TYPE(value)))
			continue;
		/* The one that honest products exchange. */
		if (strcmp(PyUnicode_AsUTF8(key), "__import__") == 0)
			continue;
		keep(dict, key, value, name);
		if (!PY_IS_TYPE(value))
			continue;
		of = PyObject_GetAttrString(value, "__module__");
		if (of && PyObject_RichCompareBool(of, own, 2) == 1) {
			keep_type(value);
			for (ssize_t i = 0; i < PyList_Size(strict); i++)
				if (PyObject_RichCompareBool(PyList_GetItem(strict, i), key, 2) == 1) {
					w.types = realloc(w.types, (w.types_n + 1) * sizeof(void *));
					w.versions = realloc(w.versions, (w.types_n + 1) * sizeof(*w.versions));
					Py_IncRef(value);
					w.types[w.types_n++] = value;
				}
		}
		if (of)
			Py_DecRef(of);
		PyErr_Clear();
	}
	Py_DecRef(own);
	return none();
}

/* library(module, strict): none of its functions becomes one of a file that the patch changed; with `strict` its classes and floats stay what they are. */
static object *py_library(object *self, object *args)
{
	object *module, *strict, *dict, *key, *value;
	ssize_t at = 0;

	(void)self;
	if (w.sealed)
		return refuse("too late");
	if (!PyArg_ParseTuple(args, "OO", &module, &strict) || !(dict = PyModule_GetDict(module)))
		return NULL;
	Py_IncRef(dict);
	w.libraries = realloc(w.libraries, (w.libraries_n + 1) * sizeof(void *));
	w.libraries[w.libraries_n++] = dict;
	while (strict != NONE && PyDict_Next(dict, &at, &key, &value))
		if (key->type == &PyUnicode_Type && (PY_IS_TYPE(value) || value->type == &PyFloat_Type))
			keep(dict, key, value, "standard library");
	return none();
}

/* seal(names of assertion methods): from here on nothing above can be added. */
static object *py_seal(object *self, object *names)
{
	(void)self;
	if (w.sealed)
		return refuse("too late");
	Py_IncRef(names);
	w.names = names;
	w.sealed = true;
	w.plain = calloc(w.known_n + 1, sizeof(void *));
	/* Tests are looked at when they are called; the runner has wrappers of its own around some. */
	for (size_t i = 0; w.plain && i < w.known_n; i++) {
		const char *last = strrchr(w.known[i].name, '.');

		if (w.known[i].plain && strncmp(last ? last + 1 : w.known[i].name, "test", 4) != 0)
			w.plain[w.plain_n++] = &w.known[i];
	}
	return none();
}

/* setup(the type of coroutines, its send, throw, close, sys.getprofile, sys.setprofile, threading.setprofile, opcodes): functions that the checkout could replace. */
static object *py_setup(object *self, object *args)
{
	int (*add_audit)(int (*)(const char *, object *, void *), void *) =
		(int (*)(int (*)(const char *, object *, void *), void *))dlsym(RTLD_DEFAULT, "PySys_AddAuditHook");
	object *opcodes;

	if (w.send)
		return refuse("too late");
	if (!PyArg_ParseTuple(args, "OOOOOOOOO", &w.coroutine, &w.send, &w.throw, &w.close, &w.get_profile, &w.set_profile,
			      &w.thread_profile, &w.own_profile, &opcodes))
		return NULL;
	hold((object *[]){ w.coroutine, w.send, w.throw, w.close, w.get_profile, w.set_profile, w.thread_profile, w.own_profile }, 8);
	for (ssize_t i = 0; i < PyList_Size(opcodes); i++)
		w.returns[PyLong_AsLong(PyList_GetItem(opcodes, i)) & 255] = 1;
	w.frame_code = (object * (*)(object *)) dlsym(RTLD_DEFAULT, "PyFrame_GetCode");
	w.dict_name = PyUnicode_FromString("__dict__");
	w.watch_type = PyType_FromSpec(&watch_spec);
	w.pid = getpid();
	if (!w.watch_type || !w.dict_name)
		return NULL;
	if (add_audit)
		add_audit(on_audit, NULL);
	(void)self;
	return none();
}

/* ---- the pipes ---- */

static bool read_all(int fd, unsigned char *data, size_t n)
{
	while (n) {
		ssize_t got = read(fd, data, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		data += got;
		n -= (size_t)got;
	}
	return true;
}

static void write_all(int fd, const unsigned char *data, size_t n)
{
	while (n) {
		ssize_t put = write(fd, data, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return; /* the driver has gone */
		data += put;
		n -= (size_t)put;
	}
}

static uint32_t get32(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put32(unsigned char *p, size_t n)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(n >> 8 * i);
}

/* receive(): the driver's part, without the word before it; None: it has none. */
static object *py_receive(object *self, object *unused)
{
	unsigned char head[4], *data = NULL;
	void *thread;
	object *r;
	size_t n = 0;
	bool ok;

	(void)self;
	(void)unused;
	if (w.received)
		return refuse("too late");
	w.received = true;
	thread = PyEval_SaveThread();
	ok = read_all(FD_IN, head, 4) && (n = get32(head)) >= WORD && n <= IN_MAX && (data = malloc(n)) &&
	     read_all(FD_IN, data, n);
	PyEval_RestoreThread(thread);
	close(FD_IN);
	if (!ok) {
		free(data);
		return none();
	}
	memcpy(w.word, data, WORD);
	explicit_bzero(data, WORD);
	r = PyBytes_FromStringAndSize((const char *)data + WORD, (ssize_t)(n - WORD));
	free(data);
	return r;
}

/* say(text): a frame with the notes since the last one. */
static object *py_say(object *self, object *text)
{
	unsigned char *frame;
	size_t size;
	ssize_t n;
	char *data;

	(void)self;
	if (PyBytes_AsStringAndSize(text, &data, &n) < 0)
		return NULL;
	if (getpid() != w.pid)
		return none(); /* a fork of a test */
	if (w.sealed)
		look_at_kept();
	size = 4 + WORD + 4 + w.notes_n + (size_t)n;
	frame = malloc(size);
	if (!frame)
		abort();
	put32(frame, size - 4);
	memcpy(frame + 4, w.word, WORD);
	put32(frame + 4 + WORD, w.notes_n);
	memcpy(frame + 8 + WORD, w.notes, w.notes_n);
	memcpy(frame + 8 + WORD + w.notes_n, data, (size_t)n);
	w.notes_n = 0;
	w.window++;
	/* With the interpreter's lock: frames of two threads do not mix. */
	write_all(FD_OUT, frame, size);
	explicit_bzero(frame, size);
	free(frame);
	return none();
}

static struct py_method methods[] = {
	{ "setup", py_setup, PY_VARARGS, NULL },	 { "receive", py_receive, PY_NOARGS, NULL },
	{ "expect", py_expect, PY_VARARGS, NULL },	 { "patched", py_patched, PY_ONE, NULL },
	{ "guard", py_guard, PY_VARARGS, NULL },	 { "seal", py_seal, PY_ONE, NULL },
	{ "call", py_call, PY_VARARGS, NULL },		 { "say", py_say, PY_ONE, NULL },
	{ "library", py_library, PY_VARARGS, NULL },
	{ "profile", profile_thread, PY_VARARGS, NULL }, { 0 },
};
static struct py_slot module_slots[] = { { 0, NULL } };
static struct py_module module = { .head = { .refs = 1 }, .name = "witness", .methods = methods, .slots = module_slots };

EXPORT object *PyInit_witness(void);
EXPORT object *PyInit_witness(void)
{
	return PyModuleDef_Init(&module);
}
