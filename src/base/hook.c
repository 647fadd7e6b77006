/* SPDX-License-Identifier: Apache-2.0 */
/* Test hooks: make a named step fail, switch a named guard off. Compiled out of normal builds. */
#include "base/hook.h"

#ifdef BELLJAR_TEST_HOOKS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char fault[64];
static char disabled[256];

void hook_init(void)
{
	const char *f = getenv("BELLJAR_FAULT"), *d = getenv("BELLJAR_UNSAFE_DISABLE");

	if (f)
		strncpy(fault, f, sizeof(fault) - 1);
	if (d)
		strncpy(disabled, d, sizeof(disabled) - 1);
}

bool hook_fault(const char *step)
{
	return strcmp(fault, step) == 0;
}

bool hook_disabled(const char *guard)
{
	size_t n = strlen(guard);

	for (const char *p = disabled; (p = strstr(p, guard)); p += n)
		if ((p == disabled || p[-1] == ',') && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

char *hook_env_fault(void)
{
	static char word[96];

	snprintf(word, sizeof(word), "BELLJAR_FAULT=%s", fault);
	return word;
}

char *hook_env_disabled(void)
{
	static char word[300];

	snprintf(word, sizeof(word), "BELLJAR_UNSAFE_DISABLE=%s", disabled);
	return word;
}
#else
/* ISO C wants a translation unit to declare something. */
typedef int hook_unused;
#endif
