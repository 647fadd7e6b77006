/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/self/mountinfo: paths in it are chosen by whoever may mount. */
#include "fuzz.h"

static const uint8_t *input;
static size_t input_size;

static FILE *open_input(void)
{
	return fmemopen((void *)(uintptr_t)input, input_size, "r");
}

#define fopen(path, mode) open_input()
#include "kernel/cgroup.c"
#undef fopen

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hierarchy hi[HIERARCHIES];
	int n;

	if (!size)
		return 0;
	input = data;
	input_size = size;
	n = find_hierarchies(hi);
	MUST(n >= 0 && n <= HIERARCHIES);
	for (int i = 0; i < n; i++) {
		MUST(memchr(hi[i].point, 0, sizeof(hi[i].point)) && memchr(hi[i].controllers, 0, sizeof(hi[i].controllers)));
		for (int c = 0; c < CGROUP_CTLS; c++)
			has_word(hi[i].controllers, ctls[c].name, ',');
	}
	return 0;
}
