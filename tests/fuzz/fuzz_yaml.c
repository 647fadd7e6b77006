/* SPDX-License-Identifier: Apache-2.0 */
/* A language's row in YAML. */
#include "fuzz.h"

#include "run/language.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct language *l;
	struct err e = { 0 };
	char path[32];
	int fd;

	fd = fuzz_fd(data, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	l = language_parse(path, &e);
	MUST(l ? l->name && l->title && l->endings && l->file && l->run && l->version && l->program && l->package : e.msg[0] != 0);
	/* Rows live as long as the process: the target leaks by design (detect_leaks=0). */
	close(fd);
	return 0;
}
