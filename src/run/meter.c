/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of all processes of a jar, as the kernel counts it, read while they run. */
#include "run/meter.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

void meter_init(struct meter *m)
{
	m->fd = -1;
	m->base_ns = 0;
}

void meter_set(struct meter *m, int fd, uint64_t base_ns)
{
	fd_close(&m->fd);
	m->fd = fd;
	m->base_ns = base_ns;
}

void meter_close(struct meter *m)
{
	fd_close(&m->fd);
}

bool meter_read(const struct meter *m, uint64_t *ns)
{
	static const char key[] = "usage_usec ";
	char text[512];
	ssize_t n = m->fd >= 0 ? pread(m->fd, text, sizeof(text) - 1, 0) : -1;
	const char *at = text;
	uint64_t now;

	if (n <= 0)
		return false;
	text[n] = '\0';
	if (text[0] < '0' || text[0] > '9') {
		at = strstr(text, key);
		if (!at)
			return false;
		now = strtoull(at + sizeof(key) - 1, NULL, 10) * 1000;
	} else {
		now = strtoull(at, NULL, 10);
	}
	*ns = now > m->base_ns ? now - m->base_ns : 0;
	return true;
}
