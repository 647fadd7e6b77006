/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a guest, as Py_RunMain has it. */
#include "guest/finish.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/interp.h"
#include "guest/pages.h"
#include "kernel/seccomp.h"

static struct {
	object *modules;       /* that every guest finds */
	object *builtins;      /* the names of builtins */
	object *run_exitfuncs; /* of atexit, which the program need not have imported */
	bool exit_handlers;    /* somebody wants to be called at exit(3) */
	unsigned long long loads; /* libraries that the zygote has loaded */
	pid_t guest;	       /* which one it is in its jar: its children are not */
} kept;

void finish_is_guest(void)
{
	kept.guest = getpid();
}

int finish_flush(bool tell)
{
	static const char *const streams[] = { "stdout", "stderr" };
	int rc = 0;

	for (int i = 0; i < 2; i++) {
		object *f = py.PySys_GetObject(streams[i]), *closed, *done;

		if (!f || is_none(f))
			continue;
		closed = py.PyObject_GetAttrString(f, "closed");
		if (!closed) {
			py.PyErr_Clear();
		} else if (py.PyObject_IsTrue(closed)) {
			drop(closed);
			continue;
		}
		drop(closed);
		done = py.PyObject_CallMethod(f, "flush", NULL);
		if (!done) {
			if (i == 0 && tell)
				py.PyErr_WriteUnraisable(f);
			else
				py.PyErr_Clear();
			rc = -1;
		}
		drop(done);
	}
	return rc;
}

int finish_exit_code(void)
{
	object *type, *value, *trace, *code;
	int rc = 1;

	fflush(stdout);
	py.PyErr_Fetch(&type, &value, &trace);
	py.PyErr_NormalizeException(&type, &value, &trace);
	code = value ? py.PyObject_GetAttrString(value, "code") : NULL;
	if (!code) {
		py.PyErr_Clear();
		code = value;
	}
	if (!code || is_none(code)) {
		rc = 0;
	} else if (py.PyObject_IsInstance(code, py.PyLong_Type) == 1) {
		rc = (int)py.PyLong_AsLong(code);
		py.PyErr_Clear();
	} else {
		object *err = py.PySys_GetObject("stderr");

		if (err && !is_none(err))
			py.PyFile_WriteObject(code, err, 1);
		py.PySys_WriteStderr("\n");
		py.PyErr_Clear();
	}
	/* The traceback holds every frame on the way, and what they hold is to end like the rest. */
	if (code != value)
		drop(code);
	drop(type);
	drop(value);
	drop(trace);
	return rc;
}

static void call_module(const char *module, const char *method)
{
	object *m = py.PyDict_GetItemString(py.PyImport_GetModuleDict(), module);
	object *done;

	if (!m)
		return;
	done = py.PyObject_CallMethod(m, method, NULL);
	if (!done)
		py.PyErr_WriteUnraisable(m);
	drop(done);
}

/* _PyModule_ClearDict(): first the names with one underscore, then all. */
static void clear_dict(object *dict)
{
	object *keys = py.PyDict_Keys(dict);

	for (int pass = 0; keys && pass < 2; pass++)
		for (ssize_t i = 0; i < py.PyList_Size(keys); i++) {
			object *key = py.PyList_GetItem(keys, i), *bytes = py.PyUnicode_AsUTF8String(key);
			const char *name = bytes ? py.PyBytes_AsString(bytes) : "";

			if (pass == 0 ? name[0] == '_' && name[1] != '_' : name[0] != '_' || strcmp(name, "__builtins__") != 0)
				py.PyDict_SetItem(dict, key, py._Py_NoneStruct);
			drop_quietly(bytes);
		}
	drop(keys);
}

/* Attributes of sys that Python clears first at its end. */
static const char *const gone[] = { "path", "argv", "ps1", "ps2", "last_type", "last_value", "last_traceback", "path_hooks",
				    "path_importer_cache", "meta_path", "__interactivehook__" };
#define GONE (sizeof(gone) / sizeof(gone[0]))

/* What the program has put into builtins goes last. */
static void restore_builtins(void)
{
	object *dict = py.PyModule_GetDict(py.PyImport_AddModule("builtins")), *keys;

	if (py.PyDict_Size(dict) == py.PyDict_Size(kept.builtins))
		return;
	keys = py.PyDict_Keys(dict);
	for (ssize_t i = 0; keys && i < py.PyList_Size(keys); i++) {
		object *key = py.PyList_GetItem(keys, i);

		if (py.PyDict_Contains(kept.builtins, key) == 0 && py.PyDict_DelItem(dict, key) < 0)
			py.PyErr_Clear();
	}
	drop(keys);
}

/* finalize_modules(), for what the program itself brought: its objects end as they would, those of the zygote's modules end with the process. */
static void clear_modules(void)
{
	static const char *const streams[][2] = { { "stdin", "__stdin__" }, { "stdout", "__stdout__" }, { "stderr", "__stderr__" } };
	object *modules = py.PyImport_GetModuleDict(), *keys, *refs = py.PyList_New(0), *key, *value;
	ssize_t at = 0, kept_at = 0;
	object *same = NULL, *unused;
	int known;

	for (size_t i = 0; i < GONE; i++)
		if (py.PySys_GetObject(gone[i]))
			py.PySys_SetObject(gone[i], py._Py_NoneStruct);
	for (int i = 0; i < 3; i++) {
		object *f = py.PySys_GetObject(streams[i][1]);

		py.PySys_SetObject(streams[i][0], f ? f : py._Py_NoneStruct);
	}
	/* From here on nobody finds a source line to show. */
	if (py.PyDict_GetItemString(modules, "io"))
		py.PyDict_SetItemString(modules, "io", py._Py_NoneStruct);
	/* No reference is taken of the names that are there in every guest: each would be a page written to. Nor are they looked at, or looked up: both have them
	 * in the same order, unless the program has changed it. */
	keys = py.PyList_New(0);
	while (py.PyDict_Next(modules, &at, &key, &value)) {
		if (!same && !py.PyDict_Next(kept.modules, &kept_at, &same, &unused))
			same = NULL;
		if (key == same) {
			same = NULL;
			continue;
		}
		known = py.PyDict_Contains(kept.modules, key);
		if (known < 0)
			py.PyErr_Clear(); /* a key that the program has made, which cannot be looked up */
		if (known != 1)
			py.PyList_Append(keys, key);
	}
	for (ssize_t i = 0; i < py.PyList_Size(keys); i++) {
		object *ref;

		key = py.PyList_GetItem(keys, i);
		value = py.PyDict_GetItem(modules, key);
		ref = value ? py.PyWeakref_NewRef(value, NULL) : NULL;
		if (ref)
			py.PyList_Append(refs, ref);
		else
			py.PyErr_Clear(); /* not everything that is put there can be referred to so */
		drop_quietly(ref);
		if (py.PyDict_SetItem(modules, key, py._Py_NoneStruct) < 0)
			py.PyErr_WriteUnraisable(NULL);
	}
	drop(keys);
	py.PyGC_Collect();
	for (ssize_t i = refs ? py.PyList_Size(refs) : 0; i-- > 0;) {
		object *m = py.PyWeakref_GetObject(py.PyList_GetItem(refs, i)), *dict;

		if (!m || is_none(m))
			continue;
		/* What it holds may hold it. */
		py.Py_IncRef(m);
		dict = py.PyModule_GetDict(m);
		if (dict)
			clear_dict(dict);
		else
			py.PyErr_Clear();
		drop(m);
	}
	drop(refs);
	py.PyGC_Collect();
	restore_builtins();
}

/* How many libraries were loaded until now. */
static int on_library(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	*(unsigned long long *)out = info->dlpi_adds;
	return 1;
}

static unsigned long long loads(void)
{
	unsigned long long n = 0;

	dl_iterate_phdr(on_library, &n);
	return n;
}

/* Ahead of the C library's own, since we were loaded first: whoever registers something is noticed. */
int __cxa_atexit(void (*fn)(void *), void *arg, void *dso) __attribute__((visibility("default")));
int __cxa_atexit(void (*fn)(void *), void *arg, void *dso)
{
	static int (*next)(void (*)(void *), void *, void *);

	kept.exit_handlers = true;
	if (!next)
		next = (int (*)(void (*)(void *), void *, void *))dlsym(RTLD_NEXT, "__cxa_atexit");
	return next(fn, arg, dso);
}

void finish(int code, bool interrupted)
{
	call_module("threading", "_shutdown");
	if (kept.run_exitfuncs && !py.PyObject_CallFunction(kept.run_exitfuncs, NULL))
		py.PyErr_WriteUnraisable(kept.run_exitfuncs);
	if (finish_flush(true) < 0)
		code = 120;
	py.PyGC_Collect();
	clear_modules();
	finish_flush(false);
	if (pages_tell())
		_exit(0);
	if (interrupted) {
		signal(SIGINT, SIG_DFL);
		kill(getpid(), SIGINT);
	}
	/* Nothing was loaded and nobody has asked to be called: the destructors of what the zygote has loaded have nothing to do. */
	fflush(NULL);
	if (!kept.exit_handlers && loads() == kept.loads) {
		/* The keeper need not wait until the kernel has taken us apart. */
		if (code == 0 && getpid() == kept.guest)
			kill(kept.guest, (int)SECCOMP_END_SIGNAL);
		_exit(code);
	}
	exit(code);
}

/* All that does not change is put out of the collector's way: collecting touches no page of it, and a guest's last collection is short. */
void finish_settle(void)
{
	object *modules = py.PyImport_GetModuleDict(), *gc, *atexit, *cache = py.PySys_GetObject("path_importer_cache");
	bool had = py.PyDict_GetItemString(modules, "gc") != NULL, had_atexit = py.PyDict_GetItemString(modules, "atexit") != NULL;

	/* There is nothing in it yet, and Python would not have looked. */
	if (cache && py.PyDict_DelItemString(cache, "/workspace") < 0)
		py.PyErr_Clear();
	atexit = py.PyImport_ImportModule("atexit");
	kept.run_exitfuncs = atexit ? py.PyObject_GetAttrString(atexit, "_run_exitfuncs") : NULL;
	if (!had_atexit && py.PyDict_DelItemString(modules, "atexit") < 0)
		py.PyErr_Clear();
	gc = py.PyImport_ImportModule("gc");
	py.PyGC_Collect();
	if (gc)
		drop_quietly(py.PyObject_CallMethod(gc, "freeze", NULL));
	if (!had && py.PyDict_DelItemString(modules, "gc") < 0)
		py.PyErr_Clear();
	/* What the zygote has of these is not worth taking apart in every guest: one reference more keeps it. */
	for (size_t i = 0; i < GONE; i++)
		if (py.PySys_GetObject(gone[i]))
			py.Py_IncRef(py.PySys_GetObject(gone[i]));
	kept.modules = py.PyDict_Copy(modules);
	kept.builtins = py.PyDict_Copy(py.PyModule_GetDict(py.PyImport_AddModule("builtins")));
	/* The program's own module is not the zygote's. */
	if (py.PyDict_DelItemString(kept.modules, "__main__") < 0)
		py.PyErr_Clear();
	kept.loads = loads();
	kept.exit_handlers = false;
}
