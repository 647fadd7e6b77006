/* SPDX-License-Identifier: Apache-2.0 */
/* The front of a batch gives up what it does not need, before it reads the first foreign byte. */
#include "run/confine.h"

#include "base/fd.h"
#include "base/hook.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"

/*
 * Theory of operation
 *
 * A batch parses what strangers wrote: requests, and what their programs print. Should that parser ever be taken over, then the process it
 * runs in owns nothing: descriptors of the keeper's socket, of its input and output, and of the pipes of its own runs; the logs. Everything
 * else was opened before, or is asked of the keeper, which takes records and no paths.
 */

static int restrict_files(const struct confine *c, bool *weaker, struct err *e)
{
	int abi = landlock_abi();
	auto_close int rules = -1;

	*weaker = abi == 0;
	if (!abi || hook_disabled("front_landlock"))
		return 0;
	rules = landlock_new(abi, e);
	if (rules < 0 || landlock_allow(rules, abi, c->log_dir, LANDLOCK_WRITE_NOEXEC, e) < 0 ||
	    (c->runs_dir && landlock_allow(rules, abi, c->runs_dir, LANDLOCK_REMOVE, e) < 0))
		return -1;
	for (size_t i = 0; i < c->files->n; i++)
		if (landlock_allow(rules, abi, c->files->v[i], LANDLOCK_READ, e) < 0)
			return -1;
	for (size_t i = 0; c->write && i < c->write->n; i++)
		if (landlock_allow(rules, abi, c->write->v[i], LANDLOCK_WRITE_NOEXEC, e) < 0)
			return -1;
	return landlock_enforce(rules, e);
}

int confine_front(const struct confine *c, bool *weaker, struct err *e)
{
	if (caps_no_new_privs(e) < 0 || restrict_files(c, weaker, e) < 0 || caps_set(0, e) < 0)
		return err_wrap(e, "confine the front");
	if (!hook_disabled("front_seccomp") && seccomp_load_front(e) < 0)
		return err_wrap(e, "confine the front");
	return 0;
}
