/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/dumps.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "base/hook.h"

bool dumps_bar(void)
{
	const struct rlimit one = { 1, 1 };
	char pattern[160];

	if (hook_disabled("core_limit"))
		return false;
	if (hook_disabled("rlimits"))
		return true;
	if (setrlimit(RLIMIT_CORE, &one) == 0)
		return true;
	/* 0 stops files alone: a program ("|") or a socket ("@") would still be fed. */
	return fd_read_file(AT_FDCWD, "/proc/sys/kernel/core_pattern", pattern, sizeof(pattern)) >= 0 && pattern[0] != '|' && pattern[0] != '@';
}
