/* SPDX-License-Identifier: Apache-2.0 */
/* `belljar` itself: starts the keeper while nothing was read yet, then becomes the front. Small, static, musl: it starts in no time, and the
 * keeper prepares a jar while the front's libraries wake up. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "keeper/keeper.h"
#include "keeper/proto.h"
#include "keeper/spawn.h"
#include "kernel/sys.h"

#define KEEPER_NAME "belljar-keeper"

extern char **environ;

/* A guess, for speed only. */
static bool allows(int argc, char **argv)
{
	for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--allow") == 0 || strncmp(argv[i], "--allow=", 8) == 0)
			return true;
	return false;
}

static char *later(char *end, char *word)
{
	char *own = word + strlen(word) + 1;

	return own > end ? own : end;
}

/*
 * The keeper of one jar is a child that is not executed anew: that would take as long as making the jar's namespaces. What an exec does for it is
 * done by hand: it has nothing of the caller's streams and descriptors, nothing of the caller's arguments and environment (its children are
 * copies of it, init and the guest's process too), and its own name. Pools, which stay, are a program of their own.
 */
static _Noreturn void become_keeper(int sock, int argc, char **argv)
{
	static char *words[SPAWN_WORDS], name[] = KEEPER_NAME;
	char *own[] = { name, allows(argc, argv) ? KEEPER_ALLOW : NULL, NULL }, *start = argv[0], *end = start;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Not on the standard streams' numbers: these are taken. */
	for (int i = 0; i < 3; i++)
		if (null < 3 || dup2(null, i) < 0)
			_exit(127);
	if (sock != KEEPER_FD && dup2(sock, KEEPER_FD) < 0)
		_exit(127);
	spawn_env(words);
	/* The kernel puts them in one piece, the environment after the arguments, and then the name of the program. What it shows as the command line
	 * begins at argv[0]. (What main() has taken out of the environment is still there.) */
	for (int i = 0; i < argc; i++)
		end = later(end, argv[i]);
	for (char **v = environ; *v; v++)
		end = later(end, *v);
	if ((char *)getauxval(AT_EXECFN) > end)
		end = (char *)getauxval(AT_EXECFN);
	environ = words;
	explicit_bzero(start, (size_t)(end - start));
	snprintf(start, (size_t)(end - start), "%s", name);
	prctl(PR_SET_NAME, name, 0, 0, 0);
	_exit(keeper_main(own[1] ? 2 : 1, own));
}

/* The front's end of the keeper's socket, which the front inherits; -1: the front tries itself and reports why, as it likes to be told (--json). */
static int fork_keeper(int argc, char **argv)
{
	int sock[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock) < 0)
		return -1;
	pid = sys_clone(0, NULL);
	if (pid == 0)
		become_keeper(sock[1], argc, argv);
	close(sock[1]);
	if (pid > 0)
		return sock[0];
	close(sock[0]);
	return -1;
}

int main(int argc, char **argv)
{
	char path[512], number[16];
	struct err e = { 0 };
	int sock = -1;

	fd_fill_stdio();
	unsetenv(SPAWN_ENV);
	/* Who runs much has a pool. */
	static const char *const pooled[] = { "batch", "test", "eval", "judge" };
	for (size_t i = 0; argc > 1 && i < sizeof(pooled) / sizeof(pooled[0]); i++)
		if (strcmp(argv[1], pooled[i]) == 0)
			sock = spawn_keeper(true, &e);
	if (argc > 1 && strcmp(argv[1], "run") == 0)
		sock = fork_keeper(argc, argv);
	if (sock >= 0 && fcntl(sock, F_SETFD, 0) == 0) {
		snprintf(number, sizeof(number), "%d", sock);
		setenv(SPAWN_ENV, number, 1);
	}
	spawn_path("belljar-front", path, sizeof(path));
	execv(path, argv);
	fprintf(stderr, "error: belljar-front is missing beside belljar\nhint: build or install it again\n");
	return 125;
}
