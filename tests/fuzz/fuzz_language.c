/* SPDX-License-Identifier: Apache-2.0 */
/* The language of a file: by a name that may be anything, then by its first bytes. */
#include "fuzz.h"

#include "run/language.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t n = nul ? (size_t)(nul - data) : size;
	char *name = strndup((const char *)data, n);
	const struct language *l;
	struct err e = { 0 };
	uint8_t *head;

	MUST(name);
	/* A copy of the exact length: one byte too far is seen. */
	head = malloc(size - n + 1);
	MUST(head);
	head = realloc(head, size - n ? size - n : 1);
	memcpy(head, data + n, size - n);
	l = language_of_file(name, (const char *)head + (size > n), size > n ? size - n - 1 : 0);
	MUST(!l || l->name);
	l = language_find(name);
	if (!l)
		MUST(language_unknown(name, &e) == -1 && e.msg[0]);
	free(name);
	free(head);
	return 0;
}
