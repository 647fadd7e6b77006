/* SPDX-License-Identifier: Apache-2.0 */
/* `belljar` itself: starts the keeper while nothing was read yet, then becomes the front. Small, static, musl: it starts in no time, and the
 * keeper prepares a jar while the front's libraries wake up. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "keeper/spawn.h"

int main(int argc, char **argv)
{
	char path[512], number[16];
	struct err e = { 0 };

	fd_fill_stdio();
	unsetenv(SPAWN_ENV);
	/* Who runs much has a pool. */
	static const char *const pooled[] = { "batch", "test", "eval", "judge" };
	bool batch = false;
	for (size_t i = 0; argc > 1 && i < sizeof(pooled) / sizeof(pooled[0]); i++)
		batch = batch || strcmp(argv[1], pooled[i]) == 0;
	if (batch || (argc > 1 && strcmp(argv[1], "run") == 0)) {
		int sock = spawn_keeper(batch, &e);

		/* A keeper that cannot start is the front's to report, as it likes to be told (--json). */
		if (sock >= 0 && fcntl(sock, F_SETFD, 0) == 0) {
			snprintf(number, sizeof(number), "%d", sock);
			setenv(SPAWN_ENV, number, 1);
		}
	}
	spawn_path("belljar-front", path, sizeof(path));
	execv(path, argv);
	fprintf(stderr, "error: belljar-front is missing beside belljar\nhint: build or install it again\n");
	return 125;
}
