/* SPDX-License-Identifier: Apache-2.0 */
/* belljar bench: the jobs, and how each contender is started. */
#include "bench/bench.h"

const unsigned bench_widths[BENCH_WIDTHS] = { 1, 2, [BENCH_EIGHT] = 8, BENCH_WIDTH_MAX };

const struct bench_job bench_jobs[] = {
	{ .name = "python",
	  .title = "python3 -c 'print(1+1)'",
	  .argv = { "/usr/bin/python3", "-c", "print(1+1)", NULL },
	  .language = "python",
	  .code = "print(1+1)",
	  .want = "2\n" },
	{ .name = "true", .title = "/bin/true", .argv = { "/bin/true", NULL }, .want = "" },
	{ .name = "node",
	  .title = "node -e 'console.log(2)'",
	  .argv = { "/usr/bin/node", "-e", "console.log(2)", NULL },
	  .language = "node",
	  .code = "console.log(2)",
	  .want = "2\n",
	  .optional = true },
	{ .name = "numpy",
	  .title = "python3 -c 'import numpy'",
	  .argv = { "/usr/bin/python3", "-c", "import numpy", NULL },
	  .language = "python",
	  .code = "import numpy",
	  .want = "",
	  .preload = "numpy",
	  .alternatives = true,
	  .optional = true },
};
const size_t bench_job_count = sizeof(bench_jobs) / sizeof(bench_jobs[0]);

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* clang-format off */
#define BWRAP "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", \
	"--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp"
#define NSJAIL "-Mo", "--really_quiet", "--disable_rlimits", "-R", "/usr", "-s", "usr/bin:/bin", "-s", "usr/lib:/lib", "-s", "usr/lib64:/lib64", \
	"-R", "/dev/null", "-R", "/dev/urandom", "-T", "/tmp", "-D", "/tmp"
#define FIREJAIL "--quiet", "--noprofile", "--net=none", "--ipc-namespace", "--private-dev", "--private-tmp", "--caps.drop=all", "--nonewprivs", \
	"--seccomp"
#define OCI_RUN "run", "--bundle", "{BUNDLE}", "{ID}"
#define PODMAN "--root", "{STATE}", "--runroot", "{STATE}-run", "--tmpdir", "{STATE}-tmp", "--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", \
	"--events-backend", "none"
#define PODMAN_RUN "run", "--rm", "--name", "{ID}", "--network", "none", "--read-only", "--ulimit", "nofile=1024:1024", "--ulimit", \
	"nproc=4096:4096", "--cgroup-parent", "/{GROUP}", "-v", "/usr:/usr:ro"
/* --mount, not -v: a source that is missing is an error, not a new folder on the host. */
#define DOCKER_BIND(dir) "--mount", "type=bind,src=" dir ",dst=" dir ",readonly"
/* clang-format on */

const struct bench_row bench_rows[] = {
	{ .name = BENCH_BASE, .what = "no guard at all: vfork, exec, wait" },
	{ .name = "bubblewrap",
	  .program = "bwrap",
	  .what = "all namespaces, read-only /usr; no cgroups, no seccomp, no Landlock",
	  .words = WORDS(BWRAP),
	  .alternatives = WORDS("--ro-bind", "/etc/alternatives", "/etc/alternatives"),
	  .end = WORDS("--") },
	{ .name = "nsjail",
	  .program = "nsjail",
	  .what = "all namespaces, read-only /usr; no cgroups, no seccomp policy",
	  .words = WORDS(NSJAIL),
	  .alternatives = WORDS("-R", "/etc/alternatives"),
	  .end = WORDS("--") },
	{ .name = "firejail",
	  .program = "firejail",
	  .what = "namespaces, seccomp, no capabilities; the host's files are visible",
	  .words = WORDS(FIREJAIL),
	  .end = WORDS("--") },
	{ .name = "runc",
	  .program = "runc",
	  .what = "namespaces, cgroups, no capabilities; no seccomp profile",
	  .flags = BENCH_ROOT | BENCH_BUNDLE,
	  .words = WORDS("--root", "{STATE}", OCI_RUN) },
	{ .name = "crun",
	  .program = "crun",
	  .what = "namespaces, cgroups, no capabilities; no seccomp profile",
	  .flags = BENCH_ROOT | BENCH_BUNDLE,
	  .words = WORDS("--root", "{STATE}", OCI_RUN) },
	{ .name = "crun",
	  .program = "crun",
	  .what = "namespaces, no capabilities; no cgroups (they do not work here), no seccomp profile",
	  .flags = BENCH_ROOT | BENCH_BUNDLE,
	  .words = WORDS("--root", "{STATE}", "--cgroup-manager=disabled", OCI_RUN) },
	{ .name = "runsc",
	  .program = "runsc",
	  .what = "gVisor: a kernel in user space",
	  .flags = BENCH_ROOT | BENCH_BUNDLE,
	  .words = WORDS("--root", "{STATE}", "--network=none", OCI_RUN) },
	{ .name = "runsc",
	  .program = "runsc",
	  .what = "gVisor: a kernel in user space; no cgroups (they do not work here)",
	  .flags = BENCH_ROOT | BENCH_BUNDLE,
	  .words = WORDS("--root", "{STATE}", "--network=none", "--ignore-cgroups", OCI_RUN) },
	{ .name = "docker",
	  .program = "docker",
	  .what = "namespaces, cgroups, seccomp; a daemon does the work",
	  .flags = BENCH_DOCKER | BENCH_CLIENT_CPU,
	  .words = WORDS("run", "--rm", "--name", "{ID}", "--network", "none", "--pull", "never", DOCKER_BIND("/usr"),
			 DOCKER_BIND("/bin"), DOCKER_BIND("/lib"), DOCKER_BIND("/lib64")),
	  .alternatives = WORDS(DOCKER_BIND("/etc/alternatives")),
	  .end = WORDS("{IMAGE}") },
	{ .name = "podman",
	  .program = "podman",
	  .what = "namespaces, cgroups, seccomp; no daemon",
	  .flags = BENCH_ROOT,
	  .words = WORDS(PODMAN, PODMAN_RUN),
	  .alternatives = WORDS("-v", "/etc/alternatives:/etc/alternatives:ro"),
	  .end = WORDS("--rootfs", "{ROOT}") },
	{ .name = "podman",
	  .program = "podman",
	  .what = "namespaces, cgroups, seccomp; no daemon; by runc",
	  .flags = BENCH_ROOT,
	  .words = WORDS(PODMAN, "--runtime", "runc", PODMAN_RUN),
	  .alternatives = WORDS("-v", "/etc/alternatives:/etc/alternatives:ro"),
	  .end = WORDS("--rootfs", "{ROOT}") },
	{ .name = "belljar-run",
	  .program = "belljar",
	  .what = "belljar run: all guards, everything made for this run",
	  .flags = BENCH_BELLJAR,
	  .words = WORDS("run", "--quiet", "--audit", "off"),
	  .end = WORDS("--") },
	{ .name = "belljar-batch",
	  .program = "belljar",
	  .what = "belljar batch: all guards, a fresh jar for each run, made ahead",
	  .flags = BENCH_BELLJAR | BENCH_BATCH,
	  .words = WORDS("batch", "-", "--unordered", "--audit", "off") },
	{ .name = "belljar-recycle",
	  .program = "belljar",
	  .what = "belljar batch --recycle: all guards, one client's jars used again when proven clean",
	  .flags = BENCH_BELLJAR | BENCH_BATCH,
	  .words = WORDS("batch", "-", "--unordered", "--audit", "off", "--recycle") },
};
const size_t bench_row_count = sizeof(bench_rows) / sizeof(bench_rows[0]);
