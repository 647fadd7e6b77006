/* SPDX-License-Identifier: Apache-2.0 */
/* A tar archive that a jar could send: nothing outside of its folder is ever made or changed, however it comes in pieces. */
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

#include "grade/swe_tar.h"
#include "run/state.h"

static char top[] = "/tmp/fuzz-tar-XXXXXX";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct swe_tar t;
	static int dir = -1;
	struct dirent *entry;
	struct stat st;
	size_t at = 0, names = 0;
	int root;
	DIR *d;

	if (dir < 0) {
		MUST(mkdtemp(top));
		dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int canary = openat(dir, "canary", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		MUST(canary >= 0 && write(canary, "safe", 4) == 4);
		close(canary);
	}
	if (!size)
		return 0;
	MUST(mkdirat(dir, "tree", 0755) == 0);
	root = openat(dir, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	swe_tar_init(&t, root, data[0] & 1 ? 0666 : 0, 64, 1 << 20);
	while (at < size) {
		size_t n = 1 + (size_t)data[at] * 7;

		if (n > size - at)
			n = size - at;
		if (swe_tar_add(&t, (const char *)data + at, n) < 0)
			MUST(t.err.msg[0]);
		at += n;
	}
	MUST((swe_tar_end(&t) == 0) == !t.err.kind);
	MUST(t.out < 0);
	close(root);
	/* Beside the folder there is what was there. */
	d = opendir(top);
	while ((entry = readdir(d)))
		names++;
	closedir(d);
	MUST(names == 4 && fstatat(dir, "canary", &st, 0) == 0 && st.st_size == 4 && (st.st_mode & 0777) == 0600);
	state_remove_tree(dir, "tree");
	return 0;
}
