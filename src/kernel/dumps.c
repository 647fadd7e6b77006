/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/dumps.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "base/hook.h"

bool dumps_held(const char *pattern, bool limited)
{
	if (!pattern)
		return limited;
	/* A limit of 0 stops files alone, 1 stops programs too, and nothing stops a socket. */
	return pattern[0] != '@' && (pattern[0] != '|' || limited);
}

int dumps_bar(struct err *e)
{
	const struct rlimit one = { 1, 1 };
	const char *pattern = NULL;
	char text[160];
	bool limited;

	if (hook_disabled("rlimits"))
		return 0;
	limited = setrlimit(RLIMIT_CORE, &one) == 0;
	if (fd_read_file(AT_FDCWD, "/proc/sys/kernel/core_pattern", text, sizeof(text)) >= 0)
		pattern = text;
	if (hook_disabled("core_socket"))
		pattern = "@/a/socket";
	if (hook_disabled("core_limit")) {
		pattern = "|/a/helper";
		limited = false;
	}
	if (dumps_held(pattern, limited))
		return 0;
	if (pattern && pattern[0] == '@') {
		err_set(e, ERR_SETUP, "a crash would be told to the socket of /proc/sys/kernel/core_pattern: no limit of core files holds that back");
		return err_hint(e, "set a core_pattern that does not begin with @, or accept it with --allow-degraded");
	}
	err_set(e, ERR_SETUP, "a crash would start the helper of /proc/sys/kernel/core_pattern: the hard limit of core files is 0 here, and 1 is needed");
	return err_hint(e, "start belljar with ulimit -Hc 1 or more, set a core_pattern without helper, or accept it with --allow-degraded");
}
