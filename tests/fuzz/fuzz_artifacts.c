/* SPDX-License-Identifier: Apache-2.0 */
/* Artifacts as the front reads them: writes beneath the target folder and nowhere else. The first byte chooses the mode. */
#include "fuzz.h"

#include "run/artifacts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = { 0 };
	struct artifacts x;
	struct err e = { 0 };
	uint64_t n = 0;
	int in;

	if (!size)
		return 0;
	in = fuzz_fd(data + 1, size - 1);
	fuzz_folder();
	/* Bait of the host's own. */
	MUST(symlinkat("..", fuzz_out_fd, "up") == 0 && symlinkat("../canary", fuzz_out_fd, "c") == 0);
	artifacts_init(&x, &a);
	x.out = data[0] & 1 ? fuzz_out_fd : -1;
	x.workspace = data[0] & 2;
	x.skip = data[0] & 4 ? "a" : NULL;
	MUST(artifacts_read(&x, in, &e) == 0 || e.msg[0]);
	for (const struct artifact *f = x.list; f; f = f->next) {
		MUST(f->path[0]);
		n++;
	}
	MUST(n == x.count && x.refused <= 2 * x.count);
	close(in);
	arena_free(&a);
	fuzz_folder_check();
	return 0;
}
