/* SPDX-License-Identifier: Apache-2.0 */
/* Names of guards that a host may lack, as results print them. */
#include "jar/spec.h"

const char *const jar_missing_names[JAR_MISSING_COUNT] = {
	"landlock", "landlock-scope", "overlay", "uid-range", "cgroup-memory",
	"cgroup-pids", "cgroup-cpu", "groups", "network-namespace", "loader",
	"core-limit", "devices", "socket-memory",
};
