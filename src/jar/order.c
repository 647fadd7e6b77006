/* SPDX-License-Identifier: Apache-2.0 */
/* What an init that was born before the request is told later, by its maker over its control channel. */
#include "jar/order.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hook.h"

int order_give_jar(int control, const struct jar *j, struct err *e)
{
	int fds[JAR_BINDS_MAX + 1] = { j->data };

	memcpy(fds + 1, j->binds, j->spec.bind_count * sizeof(fds[0]));
	if (fd_send(control, &j->spec, jar_spec_len(&j->spec), fds, 1 + j->spec.bind_count) < 0)
		return err_sys(e, "tell init what to make");
	return 0;
}

/* A maker that is gone wants no jar any more. */
int order_take_jar(int control, struct jar *j, struct err *e)
{
	int fds[JAR_BINDS_MAX + 1];
	unsigned count = 0;
	ssize_t n = fd_recv(control, &j->spec, sizeof(j->spec), fds, JAR_BINDS_MAX + 1, &count);

	if (n <= 0)
		_exit(0);
	if (!jar_spec_whole(&j->spec, (size_t)n) || j->spec.allow_count || count != 1 + j->spec.bind_count)
		return err_set(e, ERR_INTERNAL, "init does not understand what to make");
	j->data = fds[0];
	memcpy(j->binds, fds + 1, j->spec.bind_count * sizeof(fds[0]));
	return 0;
}

int order_give_spaces(int control, const struct jar *j, struct err *e)
{
	int fds[2] = { j->user, j->net };
	char byte = 0;

	if (fd_send(control, &byte, 1, fds, j->net >= 0 ? 2 : 1) < 0)
		return err_sys(e, "give init its namespaces");
	return 0;
}

int order_take_spaces(int control, struct jar *j, struct err *e)
{
	int fds[2] = { -1, -1 };
	unsigned count = 0;
	char byte;

	if (fd_recv(control, &byte, 1, fds, 2, &count) != 1)
		_exit(0);
	/* Without a network namespace only where the host's was asked for. */
	if (!count || (count == 1 && !(j->spec.flags & JAR_NET_HOST) && !hook_disabled("netns")))
		return err_set(e, ERR_SETUP, "init was not given its namespaces");
	j->user = fds[0];
	j->net = fds[1];
	return 0;
}
