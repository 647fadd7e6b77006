/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to start what is not allowed, tried from inside a jar; test_allow.py builds it three times: as the probe itself, as the victim (-DVICTIM,
 * a program whose exit status nothing else has) and as a library (-DLIBRARY, the same from a constructor; -DCODELESS, one
 * without an executable segment).
 *
 * Usage: probe LOADER NAME[=ARGUMENT]...	prints "NAME STATUS ERRNO" for each: 77 it was started or mapped, 40 refused, 41 not to be tried here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STARTED 77
#define REFUSED 40
#define NOT_HERE 41

#if defined(CODELESS)
/* No code of its own: the loader itself calls a function of libc that its table names, with (argc, argv, envp). */
__asm__(".section .init_array,\"aw\"\n.quad _exit\n");
#elif defined(LIBRARY)
__attribute__((constructor)) static void loaded(void)
{
	_exit(STARTED);
}
#elif defined(VICTIM)
int main(void)
{
	return STARTED;
}
#else

static const char *loader;
static int report; /* where errno goes */

static void refused(void)
{
	dprintf(report, "%s", strerrorname_np(errno));
	_exit(REFUSED);
}

static void exec(const char *path)
{
	execl(path, path, (char *)NULL);
	refused();
}

static int opened(const char *path, int flags)
{
	int fd = open(path, flags, 0755);

	if (fd < 0) {
		dprintf(report, "open:%s", strerrorname_np(errno));
		_exit(NOT_HERE);
	}
	return fd;
}

static void fill(int out, const char *from)
{
	struct stat st;
	int in = opened(from, O_RDONLY);

	if (fstat(in, &st) < 0 || sendfile(out, in, NULL, (size_t)st.st_size) != st.st_size)
		_exit(NOT_HERE);
	close(in);
	fchmod(out, 0755);
}

static const char *copied(const char *from, const char *dir, int patched)
{
	static char path[256];
	int out;

	snprintf(path, sizeof(path), "%s/copy-%d", dir, getpid());
	out = opened(path, O_WRONLY | O_CREAT | O_TRUNC);
	fill(out, from);
	if (patched && write(out, "patched", 7) != 7)
		_exit(NOT_HERE);
	close(out);
	return path;
}

static void load(const char *option, const char *value, const char *path)
{
	if (option)
		execl(loader, loader, option, value, path, (char *)NULL);
	else
		execl(loader, loader, path, (char *)NULL);
	refused();
}

static void by_fd(int fd)
{
	char *argv[] = { "x", NULL };

	syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
	refused();
}

/* The same open file without the right to write, which the kernel wants of a program. */
static int reopened(int fd)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = opened(path, O_RDONLY);
	close(fd);
	return again;
}

static int memfd(void)
{
	int fd = (int)syscall(SYS_memfd_create, "x", 0U);

	if (fd < 0)
		refused();
	fill(fd, "/workspace/victim");
	return fd;
}

static void t_exec(const char *a) { exec(a); }
static void t_copy(const char *a) { exec(copied("/workspace/victim", a, 0)); }
static void t_patched(const char *a) { exec(copied("/workspace/victim", a, 1)); }
static void t_load(const char *a) { load(NULL, NULL, a); }
static void t_load_copy(const char *a) { load(NULL, NULL, copied("/workspace/victim-dyn", a, 0)); }
static void t_preload(const char *a) { load("--preload", "/workspace/library.so", a); }
static void t_list(const char *a) { load("--list", a, NULL); }
static void t_memfd(const char *a) { (void)a, by_fd(memfd()); }

static void t_memfd_path(const char *a)
{
	char path[64];

	snprintf(path, sizeof(path), "%s%d", a, memfd());
	exec(path);
}

static void t_tmpfile(const char *a)
{
	int fd = opened(a, O_RDWR | O_TMPFILE);

	fill(fd, "/workspace/victim");
	by_fd(reopened(fd));
}

static void t_deleted(const char *a)
{
	const char *path = copied("/workspace/victim", a, 0);
	int fd = opened(path, O_RDONLY);

	unlink(path);
	by_fd(fd);
}

static void t_passed(const char *a)
{
	int s[2], fd;
	char buf[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = buf, .msg_controllen = sizeof(buf) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s) < 0)
		_exit(NOT_HERE);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	fd = opened(a, O_RDONLY);
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(s[0], &m, 0) < 0)
		_exit(NOT_HERE);
	close(fd);
	if (recvmsg(s[1], &m, 0) < 0)
		_exit(NOT_HERE);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	by_fd(fd);
}

static void t_symlink(const char *a)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/link-%d", getpid());
	if (symlink(a, path) < 0)
		_exit(NOT_HERE);
	exec(path);
}

static void t_hardlink(const char *a)
{
	char path[64];

	snprintf(path, sizeof(path), "/workspace/hard-%d", getpid());
	if (link(a, path) < 0)
		refused();
	exec(path);
}

/* A script in /workspace whose first line names `a`. */
static void t_script(const char *a)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/workspace/script-%d", getpid());
	fd = opened(path, O_WRONLY | O_CREAT);
	dprintf(fd, "#!%s\nimport sys\nsys.exit(77)\n", a);
	fchmod(fd, 0755);
	close(fd);
	exec(path);
}

static void with_variable(const char *name, const char *library, const char *a)
{
	char *argv[STARTED + 1];

	/* As many words as the exit status is to be: _exit(argc). */
	for (int i = 0; i < STARTED; i++)
		argv[i] = "/dev/null";
	argv[STARTED] = NULL;
	setenv(name, library, 1);
	execv(a, argv);
	refused();
}

static void t_ld_preload(const char *a) { with_variable("LD_PRELOAD", "/workspace/library.so", a); }
static void t_ld_audit(const char *a) { with_variable("LD_AUDIT", "/workspace/library.so", a); }
static void t_codeless(const char *a) { with_variable("LD_PRELOAD", "/workspace/codeless.so", a); }

static void t_mmap(const char *a)
{
	int fd = opened(a, O_RDONLY);

	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		refused();
	_exit(STARTED);
}

static void t_mprotect(const char *a)
{
	int fd = opened(a, O_RDONLY);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		_exit(NOT_HERE);
	if (mprotect(p, 4096, PROT_READ | PROT_EXEC) < 0)
		refused();
	_exit(STARTED);
}

/* Is it there at all? */
static void t_there(const char *a)
{
	struct stat st;

	if (lstat(a, &st) < 0)
		refused();
	_exit(STARTED);
}

static const struct {
	const char *name;
	void (*run)(const char *a);
	const char *a;
	int zero; /* success of the program is exit status 0 */
} tries[] = {
	{ "exec", t_exec, "/workspace/victim", 0 },
	{ "copy", t_copy, "/tmp", 0 },
	{ "patched", t_patched, "/workspace", 0 },
	{ "load", t_load, "/workspace/victim-dyn", 0 },
	{ "load-copy", t_load_copy, "/tmp", 0 },
	{ "list", t_list, NULL, 1 },
	{ "preload", t_preload, "/usr/bin/cat", 0 },
	{ "memfd", t_memfd, "", 0 },
	{ "memfd-path", t_memfd_path, "/proc/self/fd/", 0 },
	{ "tmpfile", t_tmpfile, "/tmp", 0 },
	{ "deleted", t_deleted, "/tmp", 0 },
	{ "passed", t_passed, "/workspace/victim", 0 },
	{ "symlink", t_symlink, "/workspace/victim", 0 },
	{ "hardlink", t_hardlink, "/workspace/victim", 0 },
	{ "script", t_script, "/workspace/victim", 0 },
	{ "ld-preload", t_ld_preload, "/usr/bin/cat", 0 },
	{ "ld-audit", t_ld_audit, "/usr/bin/cat", 0 },
	{ "codeless", t_codeless, "/usr/bin/cat", 0 },
	{ "mmap", t_mmap, "/workspace/victim", 0 },
	{ "mprotect", t_mprotect, "/workspace/victim", 0 },
	{ "there", t_there, NULL, 0 },
	{ "run", t_exec, NULL, 1 },
};

static void try(const char *word)
{
	size_t n = strcspn(word, "=");
	char why[64] = "-";
	int p[2], status, null = open("/dev/null", O_RDWR);
	pid_t pid;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		if (strncmp(tries[i].name, word, n) != 0 || tries[i].name[n])
			continue;
		if (pipe2(p, O_CLOEXEC) < 0)
			exit(1);
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			report = p[1];
			dup2(null, 0);
			dup2(null, 1);
			dup2(null, 2);
			alarm(10);
			tries[i].run(word[n] ? word + n + 1 : tries[i].a);
			_exit(NOT_HERE);
		}
		close(p[1]);
		waitpid(pid, &status, 0);
		ssize_t got = read(p[0], why, sizeof(why) - 1);
		if (got > 0)
			why[got] = '\0';
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		printf("%s %d %s\n", word, status == 0 && tries[i].zero ? STARTED : status, why);
		close(p[0]);
		close(null);
		return;
	}
	printf("%s 1 unknown\n", word);
}

int main(int argc, char **argv)
{
	loader = argc > 1 ? argv[1] : "";
	for (int i = 2; i < argc; i++)
		try(argv[i]);
	return 0;
}
#endif
