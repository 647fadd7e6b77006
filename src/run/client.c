/* SPDX-License-Identifier: Apache-2.0 */
/* The front's end of the keeper: starts it, then gives its own rights away. */
#include "run/client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "belljar_config.h"
#include "kernel/caps.h"

static void keeper_path(char *out, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", out, size - 1);
	char *slash;

	out[n > 0 ? n : 0] = '\0';
	slash = strrchr(out, '/');
	if (slash) {
		snprintf(slash + 1, size - (size_t)(slash + 1 - out), "belljar-keeper");
		if (access(out, X_OK) == 0)
			return;
	}
	snprintf(out, size, "%s/belljar-keeper", BELLJAR_LIBEXECDIR);
}

/* The keeper sees nothing of the caller's environment but where a rootless user keeps run-time files. */
static void keeper_env(char **out, char *runtime, size_t size)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	int n = 0;

	if (geteuid() != 0 && xdg) {
		snprintf(runtime, size, "XDG_RUNTIME_DIR=%s", xdg);
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

int client_start(struct client *c, struct err *e)
{
	char path[512], runtime[512], *argv[] = { "belljar-keeper", NULL }, *envp[4];
	posix_spawn_file_actions_t fa;
	int sock[2], rc;

	c->sock = -1;
	c->pid = -1;
	keeper_path(path, sizeof(path));
	keeper_env(envp, runtime, sizeof(runtime));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make the keeper's socket");
	posix_spawn_file_actions_init(&fa);
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_addopen(&fa, i, "/dev/null", O_RDWR, 0);
	/* dup2 onto itself would keep close-on-exec. */
	if (sock[1] == KEEPER_FD)
		fcntl(sock[1], F_SETFD, 0);
	else
		posix_spawn_file_actions_adddup2(&fa, sock[1], KEEPER_FD);
	rc = posix_spawn(&c->pid, path, &fa, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&fa);
	close(sock[1]);
	if (rc) {
		close(sock[0]);
		errno = rc;
		err_sys(e, "start %s", path);
		return err_hint(e, "belljar-keeper must stand beside belljar: build or install both");
	}
	c->sock = sock[0];
	return 0;
}

int client_drop_rights(struct err *e)
{
	uint64_t keep = CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_FOWNER);

	if (caps_no_new_privs(e) < 0)
		return -1;
	return geteuid() == 0 ? caps_set(keep & caps_effective(), e) : 0;
}

int client_send(struct client *c, const void *req, size_t len, const int *fds, unsigned nfds, struct err *e)
{
	if (fd_send(c->sock, req, len, fds, nfds) < 0) {
		/* Its last words are waiting to be read: let the caller read them. */
		if (errno == EPIPE || errno == ECONNRESET)
			return 0;
		return err_sys(e, "ask the keeper");
	}
	return 0;
}

void client_read(struct client *c, struct keeper_event *ev)
{
	unsigned nfds;
	ssize_t n = fd_recv(c->sock, ev, sizeof(*ev), NULL, 0, &nfds);

	/* It ended with a request of ours unread: the kernel says that first, its last words after. */
	if (n < 0 && errno == ECONNRESET)
		n = fd_recv(c->sock, ev, sizeof(*ev), NULL, 0, &nfds);
	if (n == sizeof(*ev))
		return;
	memset(ev, 0, sizeof(*ev));
	ev->type = KEEPER_FAILED;
	err_set(&ev->err, ERR_INTERNAL, "belljar-keeper ended unexpectedly");
	err_hint(&ev->err, "belljar doctor");
}

void client_close(struct client *c)
{
	fd_close(&c->sock);
}
