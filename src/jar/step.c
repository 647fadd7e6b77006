/* SPDX-License-Identifier: Apache-2.0 */
/* Set-up as a table of named steps: one failing step stops the walk, and tests can make any of them fail. */
#include "jar/step.h"

#include <stdio.h>

#include "base/hook.h"

int step_point(const char *name, struct err *e)
{
	if (!hook_fault(name))
		return 0;
	err_set(e, ERR_SETUP, "fault injected at '%s'", name);
	snprintf(e->step, sizeof(e->step), "%s", name);
	return -1;
}

int step_walk(const struct step *steps, size_t count, void *ctx, struct err *e)
{
	for (size_t i = 0; i < count; i++) {
		if (step_point(steps[i].name, e) < 0)
			return -1;
		if (steps[i].guard && hook_disabled(steps[i].guard))
			continue;
		if (steps[i].run(ctx, e) < 0) {
			if (!e->step[0])
				snprintf(e->step, sizeof(e->step), "%s", steps[i].name);
			return -1;
		}
	}
	return 0;
}
