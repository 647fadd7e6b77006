/* SPDX-License-Identifier: Apache-2.0 */
/* What of belljar runs in SWE-bench's jars. */
#include "grade/swe_guest.h"

#include <string.h>

#define FOLDER ".belljar/"

static const struct {
	const char *name, *path, *text;
} files[] = {
	{ NULL, FOLDER "start.py", swe_start_py },
	{ "swe", FOLDER "swe.py", swe_driver_py },
	{ "swe", FOLDER "swe.code", swe_driver_code },
	{ "tree", FOLDER "tree.py", swe_tree_py },
	{ "tree", FOLDER "tree.code", swe_tree_code },
};
#define FILES (sizeof(files) / sizeof(files[0]))

void swe_guest_add(struct request *r, const char *python, const char *name, size_t more, struct arena *a)
{
	r->files = arena_alloc(a, (FILES + more) * sizeof(*r->files));
	r->file_count = 0;
	r->file_cap = FILES + more;
	for (size_t i = 0; i < FILES; i++)
		if (!files[i].name || strcmp(files[i].name, name) == 0)
			r->files[r->file_count++] = (struct request_file){ .path = files[i].path, .content = files[i].text, .len = strlen(files[i].text), .mode = 0644 };
	strlist_add(a, &r->argv, python);
	/* Not -I: what the repository's row says about hashing and encoding is for this interpreter too; nothing else is in its environment. */
	strlist_add(a, &r->argv, "-s");
	strlist_add(a, &r->argv, "/workspace/" FOLDER "start.py");
	strlist_add(a, &r->argv, name);
}
