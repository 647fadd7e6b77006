/* SPDX-License-Identifier: Apache-2.0 */
/* The front's end of the keeper: starts it, then gives its own rights away. */
#include "run/client.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hook.h"
#include "keeper/spawn.h"
#include "kernel/caps.h"

/* The launcher has started it already; its socket's number is taken out of the environment. */
static int inherited(void)
{
	const char *text = getenv(SPAWN_ENV);
	char *end = NULL;
	long number = text ? strtol(text, &end, 10) : -1;
	int fd = text && *end == '\0' && number >= 3 && number < 1024 ? (int)number : -1, type;
	socklen_t len = sizeof(type);

	unsetenv(SPAWN_ENV);
	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_SEQPACKET ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	return fd;
}

int client_start(struct client *c, bool pool, struct err *e)
{
	c->sock = inherited();
	if (c->sock < 0)
		c->sock = spawn_keeper(pool, e);
	return c->sock < 0 ? -1 : 0;
}

int client_drop_rights(bool chown, struct err *e)
{
	uint64_t keep = CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_FOWNER) | (chown ? CAP_BIT(CAP_CHOWN) : 0);

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

void client_read(struct client *c, struct keeper_event *ev, int *fd)
{
	unsigned nfds = 0;
	ssize_t n = fd_recv(c->sock, ev, sizeof(*ev), fd, 1, &nfds);

	if (!nfds)
		*fd = -1;

	if (hook_disabled("front_prompt"))
		usleep(700000);
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
