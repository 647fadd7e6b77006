/* SPDX-License-Identifier: Apache-2.0 */
/* Starting belljar-keeper: the first thing that happens in a run, before anything foreign is looked at. */
#include "keeper/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "belljar_config.h"
#include "keeper/proto.h"

void spawn_path(const char *name, char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);
	char *slash;

	out[n > 0 ? n : 0] = '\0';
	slash = strrchr(out, '/');
	if (slash) {
		snprintf(slash + 1, size - (size_t)(slash + 1 - out), "%s", name);
		if (access(out, X_OK) == 0)
			return;
	}
	snprintf(out, size, "%s/%s", BELLJAR_LIBEXECDIR, name);
}

void spawn_env(char **out)
{
	static char runtime[512];
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	int n = 0;

	if (geteuid() != 0 && xdg) {
		snprintf(runtime, sizeof(runtime), "XDG_RUNTIME_DIR=%s", xdg);
		out[n++] = runtime;
	}
#ifdef BELLJAR_TEST_HOOKS
	static char fault[128], disable[320];
	if (getenv("BELLJAR_FAULT")) {
		snprintf(fault, sizeof(fault), "BELLJAR_FAULT=%s", getenv("BELLJAR_FAULT"));
		out[n++] = fault;
	}
	if (getenv("BELLJAR_UNSAFE_DISABLE")) {
		snprintf(disable, sizeof(disable), "BELLJAR_UNSAFE_DISABLE=%s", getenv("BELLJAR_UNSAFE_DISABLE"));
		out[n++] = disable;
	}
#endif
	out[n] = NULL;
}

/* Between vfork and exec: the caller's memory is ours too, so nothing but system calls. Its own streams are not the keeper's. */
static _Noreturn void become_keeper(const char *path, bool pool, int sock, int null, char **envp)
{
	char *argv[] = { "belljar-keeper", pool ? "--pool" : NULL, NULL };

	/* The streams first: `null` may well have the number that the socket is to get. */
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			_exit(127);
	/* dup2 onto itself would keep close-on-exec. */
	if (sock == KEEPER_FD ? fcntl(sock, F_SETFD, 0) < 0 : dup2(sock, KEEPER_FD) < 0)
		_exit(127);
	execve(path, argv, envp);
	_exit(127);
}

int spawn_keeper(bool pool, struct err *e)
{
	char path[512], *envp[SPAWN_WORDS];
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int sock[2];
	pid_t pid;

	spawn_path("belljar-keeper", path, sizeof(path));
	spawn_env(envp);
	if (access(path, X_OK) < 0) {
		err_sys(e, "start %s", path);
		return err_hint(e, "belljar-keeper must stand beside belljar: build or install both");
	}
	/* Not on the standard streams' numbers, should they be closed. */
	if (null < 3 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make the keeper's socket");
	pid = vfork();
	if (pid == 0)
		become_keeper(path, pool, sock[1], null, envp);
	close(sock[1]);
	if (pid < 0) {
		close(sock[0]);
		return err_sys(e, "start %s", path);
	}
	return sock[0];
}
