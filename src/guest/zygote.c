/* SPDX-License-Identifier: Apache-2.0 */
/* The Python zygote: a library that the system's own python3 loads before it starts, and that forks guests into jars. */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/hook.h"
#include "guest/driver.h"
#include "guest/finish.h"
#include "guest/interp.h"
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
#define SAMPLE		"print(1 + 1)\n"
#define SOLUTION	"def f(a, b=1):\n    return [a, b]\n"
#define SEAT_STACK	(256U << 10)
#define RSEQ_SIGNATURE	0x53053053U
#define WARM_UPS	20 /* from 3.11 on code is quickened at its eighth call */

static struct {
	char modules[SHELF_MODULES];
	void *robust;	     /* its list of robust locks */
	size_t robust_len;
	volatile char *stack; /* its lowest page */
	void *rseq;	     /* where the kernel tells the C library on which CPU it is; NULL: nowhere */
	unsigned rseq_len;
	object *preloaded;   /* modules that Python itself would not have loaded, by the first part of their names */
	object *reseed, *reseed_globals; /* what siblings may not share, where a preloaded module has some */
	bool seats;	     /* it is to bear them (jar/seat.h) */
	bool uncounted;	     /* no memory cgroup counts its guests */
	bool at_work;
	bool alone;	     /* no preloaded module has started a thread that still runs */
} zy;

/* ---- a guest ---- */

/* Where Python keeps its environment: posix.environ, and what is behind os.environ. NULL: nowhere. */
static object *environment(int which)
{
	static const char *const dicts[][2] = { { "posix", NULL }, { "os", "_data" } };
	object *m = py.PyImport_ImportModule(dicts[which][0]);
	object *d = m ? py.PyObject_GetAttrString(m, "environ") : NULL;

	if (d && dicts[which][1])
		d = py.PyObject_GetAttrString(d, dicts[which][1]);
	if (!d)
		py.PyErr_Clear();
	return d;
}

/* The environment of the request, unless it is the one that the zygote has. */
static void set_environment(char *words, uint64_t len)
{
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
		object *d = environment(i);

		if (!d)
			continue;
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
	bool interrupted = false, graded = driver.serve && strcmp(file, ROOT_DRIVER_PY) == 0;
	FILE *f = graded ? NULL : fopen(found, "rb");
	int code = 0;

	if (!f && !graded) {
		/* As Python says it. */
		object *exe = py.PySys_GetObject("executable"), *bytes = exe ? py.PyUnicode_AsUTF8String(exe) : NULL;

		fprintf(stderr, "%s: can't open file '%s': [Errno %d] %s\n", bytes ? py.PyBytes_AsString(bytes) : "python3", file, errno, strerror(errno));
		finish(2, false);
	}
	if (strcmp(file, MAIN_FILE) != 0)
		name_main(dict, file);
	if (strcmp(file, ROOT_START_PY) == 0)
		driver_lend(dict);
	if (graded)
		pages_touch(PAGES_DRIVER);
	done = graded ? py.PyObject_CallFunction(driver.serve, NULL) : py.PyRun_FileExFlags(f, file, FILE_INPUT, dict, dict, 1, NULL);
	if (!done && py.PyErr_ExceptionMatches(*py.PyExc_SystemExit)) {
		code = finish_exit_code();
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

	/* Most requests are one program. */
	if (plan->entries == 1 && strcmp(argv1, MAIN_FILE) == 0)
		return true;
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

static void as_child(void)
{
	if (zy.robust)
		syscall(SYS_set_robust_list, zy.robust, zy.robust_len);
	py.PyOS_AfterFork_Child();
	if (zy.reseed)
		drop_quietly(py.PyEval_EvalCode(zy.reseed, zy.reseed_globals, zy.reseed_globals));
}

static void after_fork(void)
{
	pages_touch(PAGES_ALL);
	as_child();
}

/* A process that shares memory has no place where the kernel tells it on which CPU it is: the C library would believe what another was told. */
static void after_seat(void)
{
	if (zy.rseq && zy.rseq_len)
		syscall(SYS_rseq, zy.rseq, zy.rseq_len, 0, RSEQ_SIGNATURE);
	as_child();
}

/* The pages that its guests will write to. The stack is as deep as it was left: the byte below is not there yet. */
static volatile char *prepare_seat(void)
{
	pages_touch(PAGES_ALL);
	pages_touch_heap();
	feed_prepare();
	return zy.stack - 1;
}

static void guest(struct jar *j, struct warm_guest *g)
{
	/* What the zygote was started with: sys has it. */
	static const char usual[] = PYTHON "\0" MAIN_FILE;
	static struct feed_plan plan;

	g->interpreter = true;
	g->settle = g->places ? after_seat : after_fork;
	g->serves = serves;
	enter_warm(j, g, &plan);
	finish_is_guest();
	set_environment(plan.env_words, plan.env_len);
	if (plan.argv_len != sizeof(usual) || memcmp(plan.argv_words, usual, sizeof(usual)) != 0)
		set_arguments(plan.argv_words, plan.argv_len);
	run_file(plan.argv_words + strlen(plan.argv_words) + 1, plan.argv_words + strlen(plan.argv_words) + 1);
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

/* What guests do, until the interpreter has seen it often enough: its caches and its quickened code are written to here, and only read there. */
static void warm_up(void)
{
	static const char round[] = "decode(encode({'a': [1, 2.5, None, True, 'text', b'', (1, {2})], 'b': {'c': -1}}))\n";
	object *had = py.PyDict_Copy(py.PyImport_GetModuleDict()), *sample = interp_compile(zygote_sample_py, "<sample>"), *values = interp_compile(round, "<sample>");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	if (null < 0 || out < 0 || dup2(null, STDOUT_FILENO) < 0)
		return;
	driver_prepare();
	for (int i = 0; i < WARM_UPS; i++) {
		object *dict = interp_names("__main__"), *name = py.PyUnicode_DecodeFSDefault(MAIN_FILE);

		drop(main_loader(name));
		drop(name);
		interp_run(sample, dict, dict);
		py.PyDict_Clear(dict);
		interp_run(values, driver.names, dict);
		drop(dict);
		finish_flush(false);
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
		pages_tell_to(p[1]);
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

/* As deep as most guests need, so that it does not grow in each of them. One look is enough: no page of it comes to be. */
static void grow_stack(void)
{
	zy.stack = (volatile char *)(((uintptr_t)__builtin_frame_address(0) - SEAT_STACK) & ~4095UL);
	(void)*zy.stack;
}

/* From glibc 2.35 on. */
static void find_rseq(void)
{
	const ptrdiff_t *offset = dlsym(RTLD_DEFAULT, "__rseq_offset");
	const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");

	if (!offset || !size || !*size)
		return;
	zy.rseq = (char *)__builtin_thread_pointer() + *offset;
	zy.rseq_len = *size < 32 ? 32 : *size;
}

/* A variable of ours goes, from where /proc shows it too. */
static void hide(char *variable, const char *name)
{
	if (!variable)
		return;
	unsetenv(name);
	variable -= strlen(name) + 1;
	memset(variable, 0, strlen(variable));
}

/* Python has taken it, and has put it where a program would look for variables. */
static void hide_seed(void)
{
	static const char name[] = "PYTHONHASHSEED";
	object *key = py.PyBytes_FromString(name);

	hide(getenv(name), name);
	for (int i = 0; key && i < 2; i++) {
		object *d = environment(i);

		if (!d || py.PyDict_DelItem(d, key) < 0)
			py.PyErr_Clear();
	}
	drop(key);
}

static _Noreturn void become_zygote(void)
{
	struct forker f = { .sock = SOCK, .guest = guest, .uncounted = zy.uncounted };
	struct err e = { 0 };

	hide_seed();
	preload();
	prepare_reseed();
	zy.alone = interp_alone();
	warm_up();
	finish_settle();
	if (prctl(PR_TID_ADDRESS, &f.tid, 0, 0, 0) < 0 || !f.tid) {
		err_set(&e, ERR_SETUP, "this kernel does not tell where the thread's number is kept");
		say_error(&e);
		_exit(1);
	}
	syscall(SYS_get_robust_list, 0, &zy.robust, &zy.robust_len);
	find_rseq();
	grow_stack();
	/* Once for all guests: this process never is Python again. */
	py.PyOS_BeforeFork();
	drop_main();
	py.PyGC_Collect();
	pages_use_up(py.PyObject_Malloc);
	new_main();
	if (pages_settle(zy.alone, zy.seats) && zy.seats)
		f.seat = prepare_seat;
	learn_pages(f.tid, PAGES_ALL, SAMPLE, -1);
	for (int i = PAGES_DRIVER; i < PAGES_SETS; i++) {
		if (driver.serve && driver.rehearsals[i] >= 0 && lseek(driver.rehearsals[i], 0, SEEK_SET) == 0)
			learn_pages(f.tid, (enum pages_set)i, SOLUTION, driver.rehearsals[i]);
		fd_close(&driver.rehearsals[i]);
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

/* Before Python's main: nobody has looked at the environment yet. */
__attribute__((constructor)) static void zygote_start(void)
{
	char *modules = getenv("BELLJAR_ZYGOTE");
	struct err e = { 0 };
	const char *missing;

	if (!modules)
		return;
	hide_ids();
	hook_init();
	hide(getenv("BELLJAR_FAULT"), "BELLJAR_FAULT");
	hide(getenv("BELLJAR_UNSAFE_DISABLE"), "BELLJAR_UNSAFE_DISABLE");
	snprintf(zy.modules, sizeof(zy.modules), "%s", modules);
	hide(modules, "BELLJAR_ZYGOTE");
	zy.seats = getenv("BELLJAR_SEATS") != NULL;
	hide(getenv("BELLJAR_SEATS"), "BELLJAR_SEATS");
	zy.uncounted = getenv("BELLJAR_UNCOUNTED") != NULL;
	hide(getenv("BELLJAR_UNCOUNTED"), "BELLJAR_UNCOUNTED");
	hide(getenv("LD_PRELOAD"), "LD_PRELOAD");
	hide(getenv("LD_BIND_NOW"), "LD_BIND_NOW");
	missing = interp_find();
	if (missing) {
		err_set(&e, ERR_SETUP, "this Python has no %s", missing);
		err_hint(&e, "/usr/bin/python3 must be CPython 3.8 or newer");
		say_error(&e);
		_exit(1);
	}
	py.PySys_AddAuditHook(on_audit, NULL);
}
