/* SPDX-License-Identifier: Apache-2.0 */
/* /etc/subuid and /etc/passwd as text. */
#include "fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>

static const uint8_t *input;
static size_t input_size;

static FILE *open_input(void)
{
	return fmemopen((void *)(uintptr_t)input, input_size, "r");
}

/* The same as a descriptor. */
static int open_input_fd(void)
{
	int fd = memfd_create("input", 0);

	MUST(fd >= 0 && write(fd, input, input_size) == (ssize_t)input_size && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

#define fopen(path, mode) open_input()
#define open(path, flags) open_input_fd()
#include "kernel/idmap.c"
#undef fopen
#undef open

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct idmap_range r = { 0, 0 };
	struct err e = { 0 };

	if (!size)
		return 0;
	input = data;
	input_size = size;
	if (idmap_find_sub("", 1000, "bob", &r) == 0)
		MUST(r.start > 0 && r.count >= IDMAP_SLOT_IDS && (uint64_t)r.start + r.count <= 1ULL << 32);
	if (idmap_check_free((struct idmap_range){ IDMAP_BASE, IDMAP_SLOTS * IDMAP_SLOT_IDS }, &e) < 0)
		MUST(e.msg[0]);
	return 0;
}
