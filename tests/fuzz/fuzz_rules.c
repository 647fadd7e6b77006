/* SPDX-License-Identifier: Apache-2.0 */
/* A file of rules in YAML: read, or refused with a reason; and a pattern of one against any bytes. */
#include "fuzz.h"

#include "run/rules.h"

static void match(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t n = nul ? (size_t)(nul - data) : size, rest = nul ? size - n - 1 : 0;
	char *pattern = strndup((const char *)data, n), *text = malloc(rest ? rest : 1);

	MUST(pattern && text);
	if (rest)
		memcpy(text, nul + 1, rest);
	rule_glob(pattern, text, rest);
	rule_glob_any(pattern, text, rest);
	free(pattern);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rules_file f;
	struct err e = { 0 };
	char path[32];
	int fd = fuzz_fd(data, size);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (rules_parse(path, &f, &e) < 0)
		MUST(e.msg[0]);
	for (size_t i = 0; !e.msg[0] && i < f.count; i++)
		MUST(f.rules[i]->id && f.rules[i]->message && check_language_find(f.rules[i]->language));
	free(f.rules);
	free(f.sets);
	/* Rows live as long as the process: the target leaks by design (detect_leaks=0). */
	close(fd);
	match(data, size);
	return 0;
}
