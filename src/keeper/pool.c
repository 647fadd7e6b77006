/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the pool: refuses every run, so that each gets a keeper of its own. */
#include "keeper/pool.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "keeper/pool_proto.h"
#include "keeper/proto.h"

static int start_cold(void)
{
	char *argv[] = { "belljar-keeper", NULL };
	int sock[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		if (dup2(sock[1], KEEPER_FD) == KEEPER_FD)
			execve("/proc/self/exe", argv, environ);
		_exit(127);
	}
	close(sock[1]);
	if (pid < 0)
		fd_close(&sock[0]);
	return pid < 0 ? -1 : sock[0];
}

int pool_main(void)
{
	static union {
		struct pool_plain plain;
		struct pool_open open;
		struct pool_export export;
	} req;
	static struct pool_event ev;

	for (;;) {
		int fds[4], cold = -1;
		unsigned nfds = 0;
		ssize_t n = fd_recv(KEEPER_FD, &req, sizeof(req), fds, 4, &nfds);

		for (unsigned i = 0; i < nfds; i++)
			close(fds[i]);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (n < (ssize_t)sizeof(req.plain))
			return 0;
		memset(&ev, 0, sizeof(ev));
		ev.run = req.plain.run;
		if (req.plain.op == POOL_RUN) {
			ev.type = POOL_REFUSED;
		} else if (req.plain.op == POOL_COLD) {
			cold = start_cold();
			ev.type = cold < 0 ? POOL_FAILED : POOL_SOCKET;
			err_set(&ev.err, ERR_SETUP, "no keeper could be started");
		} else {
			continue;
		}
		fd_send(KEEPER_FD, &ev, sizeof(ev), &cold, cold >= 0);
		fd_close(&cold);
	}
}
