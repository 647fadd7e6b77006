/* SPDX-License-Identifier: Apache-2.0 */
/* The Python zygote: a library that the system's own python3 loads before it starts, and that forks guests into jars. */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/hook.h"
#include "guest/cases.h"
#include "guest/pages.h"
#include "guest/zygote.h"
#include "jar/forker.h"
#include "jar/root.h"
#include "jar/shelf.h"
#include "kernel/sys.h"

/*
 * Theory of operation
 *
 * The shelf executes `/usr/bin/python3 /workspace/main.py` with this library in LD_PRELOAD. Its constructor runs before Python's main and adds an
 * audit hook, which Python calls, among others, when it is about to run a file: fully started, with not one frame on its stack. There we
 * import what is to be preloaded and become a zygote: that call never returns.
 *
 * A child enters its jar (src/jar/enter.c), waits, and runs the file as Python itself would have gone on to do: PyRun_FileExFlags with the
 * dictionary of __main__. It ends as Py_RunMain does: threads, atexit, flush, the program's own modules and its garbage; only the modules that the
 * zygote brought along are not taken apart one by one.
 *
 * Nothing of Python's is linked or assumed: functions are looked up by name, and all of them have been there since 3.8.
 *
 * A zygote never reads a request's bytes: its child does, inside the jar, after everything is dropped.
 */

#define SOCK		3 /* to the keeper */
#define PR_TID_ADDRESS	40 /* PR_GET_TID_ADDRESS */
#define PYTHON		"/usr/bin/python3"
#define MAIN_FILE	"/workspace/main.py"
#define FILE_INPUT	257 /* Py_file_input */
#define SAMPLE		"print(1 + 1)\n"
#define SOLUTION	"def f(a, b=1):\n    return [a, b]\n"
#define WARM_UPS	20 /* from 3.11 on code is quickened at its eighth call */

typedef void object;

static struct {
	int (*PySys_AddAuditHook)(int (*)(const char *, object *, void *), void *);
	object *(*PyImport_ImportModule)(const char *);
	object *(*PyImport_AddModule)(const char *);
	object *(*PyImport_GetModuleDict)(void);
	object *(*PyModule_GetDict)(object *);
	int (*PyDict_SetItemString)(object *, const char *, object *);
	object *(*PyDict_GetItemString)(object *, const char *);
	int (*PyDict_DelItemString)(object *, const char *);
	object *(*PyDict_GetItem)(object *, object *);
	int (*PyDict_SetItem)(object *, object *, object *);
	int (*PyDict_Contains)(object *, object *);
	object *(*PyDict_New)(void);
	ssize_t (*PyDict_Size)(object *);
	int (*PyDict_DelItem)(object *, object *);
	object *(*PyDict_Copy)(object *);
	object *(*PyDict_Keys)(object *);
	int (*PyDict_Next)(object *, ssize_t *, object **, object **);
	void (*PyDict_Clear)(object *);
	object *(*PyObject_GetAttrString)(object *, const char *);
	object *(*PyObject_CallMethod)(object *, const char *, const char *, ...);
	object *(*PyObject_CallFunction)(object *, const char *, ...);
	int (*PyObject_IsInstance)(object *, object *);
	int (*PyObject_IsTrue)(object *);
	object *(*PyUnicode_DecodeFSDefault)(const char *);
	object *(*PyUnicode_AsUTF8String)(object *);
	object *(*PyObject_Str)(object *);
	char *(*PyBytes_AsString)(object *);
	object *(*PyBytes_FromString)(const char *);
	object *(*PyBytes_FromStringAndSize)(const char *, ssize_t);
	object *(*PyCFunction_NewEx)(void *, object *, object *);
	object *(*PyTuple_Pack)(ssize_t, ...);
	int (*PyArg_ParseTuple)(object *, const char *, ...);
	object *(*PyList_New)(ssize_t);
	int (*PyList_Append)(object *, object *);
	ssize_t (*PyList_Size)(object *);
	object *(*PyList_GetItem)(object *, ssize_t);
	int (*PyList_SetItem)(object *, ssize_t, object *);
	object *(*PySys_GetObject)(const char *);
	int (*PySys_SetObject)(const char *, object *);
	void (*PySys_WriteStderr)(const char *, ...);
	object *(*PyErr_Occurred)(void);
	void (*PyErr_Print)(void);
	void (*PyErr_Clear)(void);
	void (*PyErr_Fetch)(object **, object **, object **);
	void (*PyErr_NormalizeException)(object **, object **, object **);
	void (*PyErr_WriteUnraisable)(object *);
	int (*PyErr_ExceptionMatches)(object *);
	object *(*PyRun_FileExFlags)(FILE *, const char *, int, object *, object *, int, void *);
	object *(*Py_CompileString)(const char *, const char *, int);
	object *(*PyEval_EvalCode)(object *, object *, object *);
	int (*PyFile_WriteObject)(object *, object *, int);
	long (*PyLong_AsLong)(object *);
	object *(*PyWeakref_NewRef)(object *, object *);
	object *(*PyWeakref_GetObject)(object *);
	ssize_t (*PyGC_Collect)(void);
	void *(*PyObject_Malloc)(size_t);
	void (*PyOS_BeforeFork)(void);
	void (*PyOS_AfterFork_Child)(void);
	void (*PyOS_AfterFork_Parent)(void);
	void (*Py_IncRef)(object *);
	void (*Py_DecRef)(object *);
	object **PyExc_SystemExit, **PyExc_KeyboardInterrupt;
	object *PyLong_Type, *_Py_NoneStruct;
} py;

#define NAME(n) { #n, (void **)&py.n }
static const struct {
	const char *name;
	void **at;
} names[] = {
	NAME(PySys_AddAuditHook), NAME(PyImport_ImportModule), NAME(PyImport_AddModule), NAME(PyImport_GetModuleDict), NAME(PyModule_GetDict),
	NAME(PyDict_SetItemString), NAME(PyDict_GetItemString), NAME(PyDict_DelItemString), NAME(PyDict_GetItem), NAME(PyDict_SetItem),
	NAME(PyDict_Contains), NAME(PyDict_New), NAME(PyDict_Size), NAME(PyDict_DelItem), NAME(PyDict_Copy), NAME(PyDict_Keys), NAME(PyDict_Next), NAME(PyDict_Clear), NAME(PyObject_GetAttrString), NAME(PyObject_CallMethod),
	NAME(PyObject_CallFunction), NAME(PyObject_IsInstance), NAME(PyObject_IsTrue), NAME(PyUnicode_DecodeFSDefault), NAME(PyUnicode_AsUTF8String),
	NAME(PyObject_Str), NAME(PyBytes_AsString), NAME(PyBytes_FromString), NAME(PyBytes_FromStringAndSize), NAME(PyCFunction_NewEx), NAME(PyTuple_Pack),
	NAME(PyArg_ParseTuple), NAME(PyList_New), NAME(PyList_Append), NAME(PyList_Size),
	NAME(PyList_GetItem), NAME(PyList_SetItem), NAME(PySys_GetObject), NAME(PySys_SetObject), NAME(PySys_WriteStderr), NAME(PyErr_Occurred),
	NAME(PyErr_Print), NAME(PyErr_Clear), NAME(PyErr_Fetch), NAME(PyErr_NormalizeException), NAME(PyErr_WriteUnraisable),
	NAME(PyErr_ExceptionMatches), NAME(PyRun_FileExFlags), NAME(Py_CompileString), NAME(PyEval_EvalCode), NAME(PyFile_WriteObject), NAME(PyLong_AsLong),
	NAME(PyWeakref_NewRef), NAME(PyWeakref_GetObject), NAME(PyGC_Collect), NAME(PyObject_Malloc), NAME(PyOS_BeforeFork),
	NAME(PyOS_AfterFork_Child), NAME(PyOS_AfterFork_Parent), NAME(Py_IncRef), NAME(Py_DecRef), NAME(PyExc_SystemExit), NAME(PyExc_KeyboardInterrupt), NAME(PyLong_Type), NAME(_Py_NoneStruct),
};

static struct {
	char modules[SHELF_MODULES];
	void *robust;	     /* and its list of robust locks */
	size_t robust_len;
	object *before;	     /* the modules that every guest finds */
	object *preloaded;   /* those of them that Python itself would not have loaded, by the first part of their names */
	object *builtins;    /* the names of builtins */
	object *run_exitfuncs; /* of atexit, which the program need not have imported */
	object *driver, *serve; /* of grading, up to its first question: its names, and what goes on from there */
	object *reseed, *reseed_globals; /* what siblings may not share, where a preloaded module has some */
	bool at_work;
	bool alone;	     /* no preloaded module has started a thread that still runs */
	bool exit_handlers;  /* somebody wants to be called at exit(3) */
	unsigned long long loads; /* libraries that the zygote has loaded */
	int learning;	     /* where a child that does as guests do tells its pages; -1: a real guest */
	bool in_case;	     /* this is the child of a case */
} zy = { .learning = -1 };

static void drop(object *o)
{
	if (o)
		py.Py_DecRef(o);
}

/* For what may fail and does not matter. */
static void drop_quietly(object *o)
{
	if (!o)
		py.PyErr_Clear();
	drop(o);
}

/* ---- the end of a guest, as Py_RunMain has it ---- */

static bool is_none(object *o)
{
	return o == py._Py_NoneStruct;
}

/* flush_std_files(). The second time nobody is told any more, since Python has taken sys apart by then. */
static int flush_streams(bool tell)
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

/* What sys.exit() was given. */
static int exit_code(void)
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

	if (py.PyDict_Size(dict) == py.PyDict_Size(zy.builtins))
		return;
	keys = py.PyDict_Keys(dict);
	for (ssize_t i = 0; keys && i < py.PyList_Size(keys); i++) {
		object *key = py.PyList_GetItem(keys, i);

		if (py.PyDict_Contains(zy.builtins, key) == 0 && py.PyDict_DelItem(dict, key) < 0)
			py.PyErr_Clear();
	}
	drop(keys);
}

/* finalize_modules(), for what the program itself brought: its objects end as they would, those of the zygote's modules end with the process. */
static void clear_modules(void)
{
	static const char *const streams[][2] = { { "stdin", "__stdin__" }, { "stdout", "__stdout__" }, { "stderr", "__stderr__" } };
	object *modules = py.PyImport_GetModuleDict(), *keys, *refs = py.PyList_New(0), *key, *value;
	ssize_t at = 0;

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
	/* No reference is taken of the names that are there in every guest: each would be a page written to. */
	keys = py.PyList_New(0);
	while (py.PyDict_Next(modules, &at, &key, &value))
		if (py.PyDict_Contains(zy.before, key) != 1)
			py.PyList_Append(keys, key);
	for (ssize_t i = 0; i < py.PyList_Size(keys); i++) {
		object *ref;

		key = py.PyList_GetItem(keys, i);
		value = py.PyDict_GetItem(modules, key);
		ref = value ? py.PyWeakref_NewRef(value, NULL) : NULL;
		if (ref)
			py.PyList_Append(refs, ref);
		drop_quietly(ref);
		py.PyDict_SetItem(modules, key, py._Py_NoneStruct);
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

	zy.exit_handlers = true;
	if (!next)
		next = (int (*)(void (*)(void *), void *, void *))dlsym(RTLD_NEXT, "__cxa_atexit");
	return next(fn, arg, dso);
}

static _Noreturn void finish(int code, bool interrupted)
{
	call_module("threading", "_shutdown");
	if (zy.run_exitfuncs && !py.PyObject_CallFunction(zy.run_exitfuncs, NULL))
		py.PyErr_WriteUnraisable(zy.run_exitfuncs);
	if (flush_streams(true) < 0)
		code = 120;
	py.PyGC_Collect();
	clear_modules();
	flush_streams(false);
	if (zy.learning >= 0) {
		pages_tell(zy.learning);
		_exit(0);
	}
	if (interrupted) {
		signal(SIGINT, SIG_DFL);
		kill(getpid(), SIGINT);
	}
	/* Nothing was loaded and nobody has asked to be called: the destructors of what the zygote has loaded have nothing to do. */
	fflush(NULL);
	if (!zy.exit_handlers && loads() == zy.loads)
		_exit(code);
	exit(code);
}

/* ---- a guest ---- */

/* The environment of the request, unless it is the one that the zygote has. */
static void set_environment(char *words, uint64_t len)
{
	static const char *const dicts[][2] = { { "posix", NULL }, { "os", "_data" } };
	char *w = words;
	char **have = environ;

	while (w < words + len && *have && strcmp(w, *have) == 0) {
		w += strlen(w) + 1;
		have++;
	}
	if (w == words + len && !*have)
		return;
	clearenv();
	for (w = words; w < words + len; w += strlen(w) + 1)
		putenv(w);
	for (int i = 0; i < 2; i++) {
		object *m = py.PyImport_ImportModule(dicts[i][0]);
		object *d = m ? py.PyObject_GetAttrString(m, "environ") : NULL;

		if (d && dicts[i][1])
			d = py.PyObject_GetAttrString(d, dicts[i][1]);
		if (!d) {
			py.PyErr_Clear();
			continue;
		}
		py.PyDict_Clear(d);
		for (w = words; w < words + len; w += strlen(w) + 1) {
			char *eq = strchr(w, '=');

			if (!eq || eq == w)
				continue;
			*eq = '\0';
			py.PyDict_SetItem(d, py.PyBytes_FromString(w), py.PyBytes_FromString(eq + 1));
			*eq = '=';
		}
	}
}

/* sys.argv, sys.orig_argv and, where the file is in another folder than the zygote's, sys.path[0]. */
static void set_arguments(char *words, uint64_t len)
{
	const char *file = words + strlen(words) + 1, *slash = strrchr(file, '/');
	object *argv = py.PyList_New(0), *all = py.PyList_New(0), *path = py.PySys_GetObject("path");
	char folder[FEED_NAME_MAX];

	for (char *w = words; w < words + len; w += strlen(w) + 1) {
		object *text = py.PyUnicode_DecodeFSDefault(w);

		if (w != words)
			py.PyList_Append(argv, text);
		py.PyList_Append(all, text);
		drop(text);
	}
	py.PySys_SetObject("argv", argv);
	py.PySys_SetObject("orig_argv", all);
	if (slash && (size_t)(slash - file) < sizeof(folder) && path && py.PyList_Size(path) > 0) {
		snprintf(folder, sizeof(folder), "%.*s", slash == file ? 1 : (int)(slash - file), file);
		if (strcmp(folder, "/workspace") != 0)
			py.PyList_SetItem(path, 0, py.PyUnicode_DecodeFSDefault(folder));
	}
}

static object *main_loader(object *name)
{
	object *m = py.PyImport_AddModule("_frozen_importlib_external");
	object *type = m ? py.PyObject_GetAttrString(m, "SourceFileLoader") : NULL;
	object *loader = type ? py.PyObject_CallFunction(type, "sO", "__main__", name) : NULL;

	if (!loader)
		py.PyErr_Clear();
	return loader;
}

static void name_main(object *dict, const char *file)
{
	object *name = py.PyUnicode_DecodeFSDefault(file), *loader = main_loader(name);

	py.PyDict_SetItemString(dict, "__file__", name);
	py.PyDict_SetItemString(dict, "__cached__", py._Py_NoneStruct);
	if (loader)
		py.PyDict_SetItemString(dict, "__loader__", loader);
	drop(loader);
	drop(name);
}

/* _PyRun_SimpleFile() and what comes after it. The file may be found elsewhere than where it is said to be. */
static _Noreturn void run_file(const char *file, const char *found)
{
	object *dict = py.PyModule_GetDict(py.PyImport_AddModule("__main__")), *done;
	bool interrupted = false, driver = zy.serve && strcmp(file, ROOT_DRIVER_PY) == 0;
	FILE *f = driver ? NULL : fopen(found, "rb");
	int code = 0;

	if (!f && !driver) {
		/* As Python says it. */
		object *exe = py.PySys_GetObject("executable"), *bytes = exe ? py.PyUnicode_AsUTF8String(exe) : NULL;

		fprintf(stderr, "%s: can't open file '%s': [Errno %d] %s\n", bytes ? py.PyBytes_AsString(bytes) : "python3", file, errno, strerror(errno));
		finish(2, false);
	}
	if (strcmp(file, MAIN_FILE) != 0)
		name_main(dict, file);
	if (driver)
		pages_touch(PAGES_DRIVER);
	done = driver ? py.PyObject_CallFunction(zy.serve, NULL) : py.PyRun_FileExFlags(f, file, FILE_INPUT, dict, dict, 1, NULL);
	if (!done && py.PyErr_ExceptionMatches(*py.PyExc_SystemExit)) {
		code = exit_code();
	} else {
		if (!done) {
			interrupted = py.PyErr_Occurred() == *py.PyExc_KeyboardInterrupt;
			code = 1;
			/* sys.excepthook may call sys.exit() itself: PyErr_Print() then ends the process as Python would. */
			py.PyErr_Print();
		}
		if (py.PyDict_DelItemString(dict, "__file__") < 0)
			py.PyErr_Clear();
		if (py.PyDict_DelItemString(dict, "__cached__") < 0)
			py.PyErr_Clear();
	}
	drop(done);
	finish(code, interrupted);
}

static void first_part(const char *name, char *out, size_t size)
{
	snprintf(out, size, "%.*s", (int)strcspn(name, "."), name);
}

/* A file of the request that is named like a preloaded module would have been imported in its place. */
static bool serves(const struct feed_plan *plan)
{
	const char *argv1 = plan->argv_words + strlen(plan->argv_words) + 1, *file = strcmp(argv1, ROOT_DRIVER_PY) == 0 ? "/workspace/" : argv1, *slash = strrchr(file, '/');
	char folder[FEED_NAME_MAX], name[256];
	struct dirent *d;
	bool yes = true;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%.*s", slash && slash > file ? (int)(slash - file) : 1, slash ? file : ".");
	dir = opendir(folder);
	while (dir && yes && (d = readdir(dir))) {
		first_part(d->d_name, name, sizeof(name));
		yes = !name[0] || !py.PyDict_GetItemString(zy.preloaded, name);
	}
	if (dir)
		closedir(dir);
	return yes;
}

static void after_fork(void)
{
	if (zy.robust)
		syscall(SYS_set_robust_list, zy.robust, zy.robust_len);
	pages_touch(PAGES_ALL);
	py.PyOS_AfterFork_Child();
	if (zy.reseed)
		drop_quietly(py.PyEval_EvalCode(zy.reseed, zy.reseed_globals, zy.reseed_globals));
}

static void guest(struct jar *j, struct warm_guest *g)
{
	/* What the zygote was started with: sys has it. */
	static const char usual[] = PYTHON "\0" MAIN_FILE;
	static struct feed_plan plan;

	g->interpreter = true;
	g->settle = after_fork;
	g->serves = serves;
	enter_warm(j, g, &plan);
	set_environment(plan.env_words, plan.env_len);
	if (plan.argv_len != sizeof(usual) || memcmp(plan.argv_words, usual, sizeof(usual)) != 0)
		set_arguments(plan.argv_words, plan.argv_len);
	run_file(plan.argv_words + strlen(plan.argv_words) + 1, plan.argv_words + strlen(plan.argv_words) + 1);
}

/* ---- what the driver has of us ---- */

/* Whether this is the only thread of the process. */
static bool is_alone(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;
	int count = 0;

	while (dir && (d = readdir(dir)))
		count += d->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count == 1;
}

/* Python's own structure for a function in C. */
struct method {
	const char *name;
	object *(*call)(object *, object *);
	int flags;
	const char *doc;
};

#define ARGS_TUPLE  1 /* METH_VARARGS */
#define ARGS_SINGLE 8 /* METH_O */

static bool case_alone; /* the solution has no threads */

static void case_before(void)
{
	case_alone = is_alone();
	if (!case_alone)
		py.PyOS_BeforeFork();
}

static void case_parent(void)
{
	if (!case_alone)
		py.PyOS_AfterFork_Parent();
}

/* Locks that another thread may have held are all that there would be to repair. All else is as the solution left it, its random numbers too. */
static void case_child(void)
{
	zy.in_case = true;
	pages_touch(PAGES_CASE);
	if (!case_alone)
		py.PyOS_AfterFork_Child();
}

/* cases(inp, out, capture, head): the next head, or None. */
static object *serve_cases(object *self, object *args)
{
	static const struct cases_hooks hooks = { .before = case_before, .parent = case_parent, .child = case_child };
	static struct cases c = { .hooks = &hooks };
	unsigned char head[CASES_HEAD];
	object *first;

	(void)self;
		if (!py.PyArg_ParseTuple(args, "iiiO", &c.inp, &c.out, &c.capture, &first))
		return NULL;
	memcpy(head, py.PyBytes_AsString(first), CASES_HEAD);
	if (cases_serve(&c, head) < 0) {
		py.Py_IncRef(py._Py_NoneStruct);
		return py._Py_NoneStruct;
	}
	return py.PyBytes_FromStringAndSize((const char *)head, CASES_HEAD);
}

/* os._exit(). */
static object *leave(object *self, object *code)
{
	(void)self;
	if (zy.learning >= 0 && zy.in_case)
		pages_tell(zy.learning);
	_exit((int)py.PyLong_AsLong(code));
}

static void give_driver(object *driver)
{
	static struct method methods[] = { { "cases", serve_cases, ARGS_TUPLE, NULL }, { "_exit", leave, ARGS_SINGLE, NULL } };
	object *ours[2], *both;

	for (int i = 0; i < 2; i++)
		ours[i] = py.PyCFunction_NewEx(&methods[i], NULL, NULL);
	both = py.PyTuple_Pack(2, ours[0], ours[1]);
	py.PyDict_SetItemString(driver, "_zygote", both);
	drop(both);
	drop(ours[0]);
	drop(ours[1]);
}

/* ---- the zygote ---- */

static void say_error(const struct err *e)
{
	struct jar_report r = { .type = REPORT_ERROR, .err = *e };

	fd_send(SOCK, &r, sizeof(r), NULL, 0);
}

/* random does it by itself (os.register_at_fork), these do not. */
static void prepare_reseed(void)
{
	static const struct {
		const char *module, *code;
	} rows[] = {
		{ "numpy.random", "import numpy.random\nnumpy.random.seed()\n" },
		{ "multiprocessing.process", "import os, multiprocessing.process as m\n"
					     "m._current_process._config['authkey'] = m.AuthenticationString(os.urandom(32))\n" },
	};
	char code[512] = "";
	object *builtins = py.PyImport_AddModule("builtins");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (py.PyDict_GetItemString(py.PyImport_GetModuleDict(), rows[i].module))
			strncat(code, rows[i].code, sizeof(code) - strlen(code) - 1);
	if (!code[0])
		return;
	zy.reseed_globals = py.PyDict_New();
	py.PyDict_SetItemString(zy.reseed_globals, "__builtins__", builtins);
	zy.reseed = py.Py_CompileString(code, "<zygote>", FILE_INPUT);
	if (!zy.reseed)
		py.PyErr_Clear();
}

/* Told once; the guests then do without it, as they would after a cold start. */
static void preload_failed(const char *module)
{
	object *type, *value, *trace, *text, *bytes = NULL;
	struct err e = { 0 };

	py.PyErr_Fetch(&type, &value, &trace);
	text = value ? py.PyObject_Str(value) : NULL;
	if (text)
		bytes = py.PyUnicode_AsUTF8String(text);
	err_set(&e, ERR_INPUT, "preload: Python cannot import '%.60s': %.200s", module, bytes ? py.PyBytes_AsString(bytes) : "");
	err_hint(&e, "install it for /usr/bin/python3, or take it out of 'preload'");
	py.PyErr_Clear();
	say_error(&e);
}

static void preload(void)
{
	object *modules = py.PyImport_GetModuleDict(), *had = py.PyDict_Copy(modules), *keys;
	char *save = NULL;

	for (char *m = strtok_r(zy.modules, ",", &save); m; m = strtok_r(NULL, ",", &save)) {
		object *done = py.PyImport_ImportModule(m);

		if (!done)
			preload_failed(m);
		drop(done);
	}
	zy.preloaded = py.PyDict_New();
	keys = py.PyDict_Keys(modules);
	for (ssize_t i = 0; keys && i < py.PyList_Size(keys); i++) {
		object *key = py.PyList_GetItem(keys, i), *bytes;
		char name[256];

		if (py.PyDict_Contains(had, key) == 1)
			continue;
		bytes = py.PyUnicode_AsUTF8String(key);
		first_part(bytes ? py.PyBytes_AsString(bytes) : "", name, sizeof(name));
		py.PyDict_SetItemString(zy.preloaded, name, py._Py_NoneStruct);
		drop_quietly(bytes);
	}
	drop(keys);
	drop(had);
}

/* All that does not change is put out of the collector's way: collecting touches no page of it, and a guest's last collection is short. */
static void settle(void)
{
	object *modules = py.PyImport_GetModuleDict(), *gc, *atexit, *cache = py.PySys_GetObject("path_importer_cache");
	bool had = py.PyDict_GetItemString(modules, "gc") != NULL, had_atexit = py.PyDict_GetItemString(modules, "atexit") != NULL;

	/* There is nothing in it yet, and Python would not have looked. */
	if (cache && py.PyDict_DelItemString(cache, "/workspace") < 0)
		py.PyErr_Clear();
	atexit = py.PyImport_ImportModule("atexit");
	zy.run_exitfuncs = atexit ? py.PyObject_GetAttrString(atexit, "_run_exitfuncs") : NULL;
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
	zy.before = py.PyDict_Copy(modules);
	zy.builtins = py.PyDict_Copy(py.PyModule_GetDict(py.PyImport_AddModule("builtins")));
	/* The program's own module is not the zygote's. */
	if (py.PyDict_DelItemString(zy.before, "__main__") < 0)
		py.PyErr_Clear();
}

static void drop_main(void)
{
	if (py.PyDict_DelItemString(py.PyImport_GetModuleDict(), "__main__") < 0)
		py.PyErr_Clear();
}

/* A module for the guests: the first one was put out of the collector's way with all the rest, and would never be taken apart. */
static void new_main(void)
{
	object *dict = py.PyModule_GetDict(py.PyImport_AddModule("__main__")), *notes = py.PyDict_New();

	py.PyDict_SetItemString(dict, "__annotations__", notes);
	py.PyDict_SetItemString(dict, "__builtins__", py.PyImport_AddModule("builtins"));
	drop(notes);
	name_main(dict, MAIN_FILE);
}

static object *compile_text(const char *text, const char *file)
{
	object *code = py.Py_CompileString(text, file, FILE_INPUT);

	if (!code)
		py.PyErr_Clear();
	return code;
}

static void run_code(object *code, object *globals, object *locals)
{
	if (code)
		drop_quietly(py.PyEval_EvalCode(code, globals, locals));
}

static object *new_names(const char *name)
{
	object *dict = py.PyDict_New(), *text = py.PyUnicode_DecodeFSDefault(name);

	py.PyDict_SetItemString(dict, "__name__", text);
	py.PyDict_SetItemString(dict, "__builtins__", py.PyImport_AddModule("builtins"));
	drop(text);
	return dict;
}

/* Modules that somebody of ours has imported and a program would not find. */
static void forget_modules(object *had)
{
	object *modules = py.PyImport_GetModuleDict(), *keys = py.PyDict_Keys(modules);

	for (ssize_t i = 0; keys && i < py.PyList_Size(keys); i++) {
		object *key = py.PyList_GetItem(keys, i);

		if (py.PyDict_Contains(had, key) == 0 && py.PyDict_DelItem(modules, key) < 0)
			py.PyErr_Clear();
	}
	drop(keys);
}

/* What a candidate may be asked, for learn_pages(): for the driver itself, and for the child of a case. */
static int rehearsals[PAGES_SETS] = { -1, -1, -1 };

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
		rehearsals[i] = memfd_create("rehearsal", MFD_CLOEXEC);
	snprintf(code, sizeof(code), text, rehearsals[PAGES_DRIVER], rehearsals[PAGES_CASE]);
	compiled = compile_text(code, "<sample>");
	run_code(compiled, zy.driver, scratch);
	drop(compiled);
	drop(scratch);
}

/* Every candidate that is graded needs the driver: all of it that does not depend on who it is happens here, before anybody's code has run. */
static void prepare_driver(void)
{
	object *code;

	/* What it is made of lies together. */
	py.PyGC_Collect();
	pages_use_up(py.PyObject_Malloc);
	code = compile_text(root_driver_py, ROOT_DRIVER_PY);
	zy.driver = new_names("belljar.driver");
	give_driver(zy.driver);
	run_code(code, zy.driver, zy.driver);
	drop(code);
	zy.serve = py.PyDict_GetItemString(zy.driver, "_serve");
	rehearse();
}

/* What guests do, until the interpreter has seen it often enough: its caches and its quickened code are written to here, and only read there. */
static void warm_up(void)
{
	static const char round[] = "decode(encode({'a': [1, 2.5, None, True, 'text', b'', (1, {2})], 'b': {'c': -1}}))\n";
	object *had = py.PyDict_Copy(py.PyImport_GetModuleDict()), *sample = compile_text(zygote_sample_py, "<sample>"), *values = compile_text(round, "<sample>");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	if (null < 0 || out < 0 || dup2(null, STDOUT_FILENO) < 0)
		return;
	prepare_driver();
	for (int i = 0; i < WARM_UPS; i++) {
		object *dict = new_names("__main__"), *name = py.PyUnicode_DecodeFSDefault(MAIN_FILE);

		drop(main_loader(name));
		drop(name);
		run_code(sample, dict, dict);
		py.PyDict_Clear(dict);
		run_code(values, zy.driver, dict);
		drop(dict);
		flush_streams(false);
		/* Nothing that it does is wrong in a parent with one thread. Others would wait for locks that are made anew under them. */
		if (!zy.alone)
			continue;
		py.PyOS_BeforeFork();
		py.PyOS_AfterFork_Child();
	}
	dup2(out, STDOUT_FILENO);
	close(out);
	close(null);
	forget_modules(had);
	drop(had);
	drop(sample);
	drop(values);
}

/* A child that does what a guest does, in no jar, to the end, and tells which pages that took. `program` is its file, `input` what it reads. */
static void learn_pages(void *tid, enum pages_set set, const char *program, int input)
{
	struct sys_clone_args a = {
		.flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID, .child_tid = (uint64_t)(uintptr_t)tid, .exit_signal = SIGCHLD,
	};
	auto_close int file = memfd_create("sample", MFD_CLOEXEC);
	int p[2], status;
	long pid;

	if (file < 0 || fd_write_all(file, program, strlen(program)) < 0 || !pages_begin() || pipe2(p, O_CLOEXEC) < 0)
		return;
	pid = syscall(SYS_clone3, &a, sizeof(a));
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		close(p[0]);
		for (int i = 0; i < 3; i++)
			dup2(i == 0 && input >= 0 ? input : null, i);
		dup2(file, 9);
		zy.learning = p[1];
		after_fork();
		run_file(set == PAGES_ALL ? MAIN_FILE : ROOT_DRIVER_PY, "/proc/self/fd/9");
	}
	close(p[1]);
	if (pid > 0) {
		pages_learn(p[0], set);
		while (waitpid((pid_t)pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(p[0]);
}

static _Noreturn void become_zygote(void)
{
	struct forker f = { .sock = SOCK, .guest = guest };
	struct err e = { 0 };

	preload();
	prepare_reseed();
	zy.alone = is_alone();
	warm_up();
	settle();
	zy.loads = loads();
	zy.exit_handlers = false;
	if (prctl(PR_TID_ADDRESS, &f.tid, 0, 0, 0) < 0 || !f.tid) {
		err_set(&e, ERR_SETUP, "this kernel does not tell where the thread's number is kept");
		say_error(&e);
		_exit(1);
	}
	syscall(SYS_get_robust_list, 0, &zy.robust, &zy.robust_len);
	/* Once for all guests: this process never is Python again. */
	py.PyOS_BeforeFork();
	drop_main();
	py.PyGC_Collect();
	pages_use_up(py.PyObject_Malloc);
	new_main();
	pages_settle(zy.alone);
	learn_pages(f.tid, PAGES_ALL, SAMPLE, -1);
	for (int i = PAGES_DRIVER; i < PAGES_SETS; i++) {
		if (zy.serve && rehearsals[i] >= 0 && lseek(rehearsals[i], 0, SEEK_SET) == 0)
			learn_pages(f.tid, (enum pages_set)i, SOLUTION, rehearsals[i]);
		fd_close(&rehearsals[i]);
	}
	forker_serve(&f);
}

static int on_audit(const char *event, object *args, void *unused)
{
	(void)args, (void)unused;
	if (zy.at_work || strcmp(event, "cpython.run_file") != 0)
		return 0;
	zy.at_work = true;
	become_zygote();
}

/* Before Python's main: nobody has looked at the environment yet. Our variables go, from where /proc shows them too. */
static void hide(char *variable, const char *name)
{
	if (!variable)
		return;
	unsetenv(name);
	variable -= strlen(name) + 1;
	memset(variable, 0, strlen(variable));
}

/* Who we were when we were executed is in the vector behind the environment. Guests are somebody else. */
static void hide_ids(void)
{
	char **e = environ;

	while (*e)
		e++;
	for (Elf64_auxv_t *a = (Elf64_auxv_t *)(e + 1); a->a_type != AT_NULL; a++)
		if (a->a_type == AT_UID || a->a_type == AT_EUID || a->a_type == AT_GID || a->a_type == AT_EGID)
			a->a_un.a_val = 1000;
}

__attribute__((constructor)) static void zygote_start(void)
{
	char *modules = getenv("BELLJAR_ZYGOTE");
	struct err e = { 0 };

	if (!modules)
		return;
	hide_ids();
	hook_init();
	hide(getenv("BELLJAR_FAULT"), "BELLJAR_FAULT");
	hide(getenv("BELLJAR_UNSAFE_DISABLE"), "BELLJAR_UNSAFE_DISABLE");
	snprintf(zy.modules, sizeof(zy.modules), "%s", modules);
	hide(modules, "BELLJAR_ZYGOTE");
	hide(getenv("LD_PRELOAD"), "LD_PRELOAD");
	hide(getenv("LD_BIND_NOW"), "LD_BIND_NOW");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*names[i].at = dlsym(RTLD_DEFAULT, names[i].name);
		if (!*names[i].at) {
			err_set(&e, ERR_SETUP, "this Python has no %s", names[i].name);
			err_hint(&e, "/usr/bin/python3 must be CPython 3.8 or newer");
			say_error(&e);
			_exit(1);
		}
	}
	py.PySys_AddAuditHook(on_audit, NULL);
}
