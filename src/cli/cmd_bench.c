/* SPDX-License-Identifier: Apache-2.0 */
/* belljar bench: starts belljar-bench (src/bench), which runs without anything of the front. */
#include <unistd.h>

#include "cli/cli.h"
#include "keeper/spawn.h"

int cmd_bench(int argc, char **argv)
{
	char path[512];
	struct err e = { 0 };

	(void)argc;
	spawn_path("belljar-bench", path, sizeof(path));
	execv(path, argv);
	err_sys(&e, "start %.300s", path);
	err_hint(&e, "build or install belljar again");
	return cli_error(&e);
}
