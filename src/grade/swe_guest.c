/* SPDX-License-Identifier: Apache-2.0 */
/* What of belljar runs in SWE-bench's jars. */
#include "grade/swe_guest.h"

#include <string.h>

void swe_guest_add(struct request *r, const char *python, const char *name, size_t more, struct arena *a)
{
	size_t n = 0;

	while (swe_guest_files[n].group)
		n++;
	r->files = arena_alloc(a, (n + more) * sizeof(*r->files));
	r->file_count = 0;
	r->file_cap = n + more;
	for (const struct swe_guest_file *f = swe_guest_files; f->group; f++)
		if (strcmp(f->group, "-") == 0 || strcmp(f->group, name) == 0)
			r->files[r->file_count++] = (struct request_file){ .path = f->path, .content = f->data, .len = f->len, .mode = 0644 };
	strlist_add(a, &r->argv, python);
	/* Nothing of the environment or of the site's packages is for this program: its own library is enough. */
	strlist_add(a, &r->argv, "-I");
	strlist_add(a, &r->argv, "-S");
	strlist_add(a, &r->argv, "/workspace/.belljar/start.py");
	strlist_add(a, &r->argv, name);
}
