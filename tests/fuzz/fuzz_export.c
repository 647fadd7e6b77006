/* SPDX-License-Identifier: Apache-2.0 */
/* An export of receipts, as a stranger could hand it in: read and verified without a crash; only a chain that is whole is sound. */
#include "fuzz.h"

#include "store/export.h"

/* Every second signature is taken for good, so that both ways are gone. */
static int check(void *ctx, const struct checkpoint *c, const uint8_t pub[KEY_SIZE], struct err *e)
{
	(void)ctx, (void)pub, (void)e;
	return c->signature[0] & 1;
}

static void found(void *ctx, const struct verify_finding *f)
{
	MUST(f->kind < VERIFY_KINDS && f->text[0] && memchr(f->text, 0, sizeof(f->text)));
	++*(uint64_t *)ctx;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct verify v;
	struct err e = { 0 };
	uint64_t findings = 0;
	int fd = fuzz_fd(data, size);

	memset(&v, 0, sizeof(v));
	v.check = check;
	v.found = found;
	v.ctx = &findings;
	v.key_count = 1; /* of all zeroes: its id is in the seeds */
	if (export_verify(fd, &v, &e) < 0)
		MUST(e.msg[0] && memchr(e.msg, 0, sizeof(e.msg)));
	else
		MUST(findings == v.findings && (findings || v.last == v.pruned.seq + v.receipts + v.digests || !v.last));
	verify_done(&v);
	close(fd);
	return 0;
}
