/* SPDX-License-Identifier: Apache-2.0 */
/* The static check: any bytes as Python, bash or JavaScript. It ends, and what it finds lies in the text. */
#include "fuzz.h"

#include "check/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const sets[] = { "standard", "strict", "pure" };
	static const char *names[] = { "math", "os.path", NULL };
	struct strlist modules = { names, 2, 3 };
	struct check_modules m = { 0 };
	struct check_result out = { 0 };
	struct arena a = { 0 };
	struct err e = { 0 };
	char *text;

	if (size < 1)
		return 0;
	if (data[0] & 0x20)
		m.allow = &modules;
	if (data[0] & 0x40)
		m.deny = &modules;
	m.none = data[0] & 0x80;
	/* Exactly as long as it is: a byte past its end is found. */
	text = malloc(size - 1 ? size - 1 : 1);
	MUST(text);
	memcpy(text, data + 1, size - 1);
	check_text(1 + (data[0] & 3) % 3, rules_of(sets[(data[0] >> 2 & 3) % 3], &e), &m, NULL, text, size - 1, &a, &out);
	MUST(out.count <= CHECK_FINDINGS_MAX && out.count <= out.total);
	for (size_t i = 0; i < out.count; i++) {
		const struct check_finding *f = &out.list[i];

		MUST(f->start <= f->end && f->end <= size - 1 && f->line && f->column && f->rule && f->message && f->text && strlen(f->text) <= 200);
	}
	free(text);
	arena_free(&a);
	return 0;
}
