/* SPDX-License-Identifier: Apache-2.0 */
/* The jar's root file system: a read-only template made from pieces of the host, and what each jar adds. */
#ifndef BELLJAR_JAR_ROOT_H
#define BELLJAR_JAR_ROOT_H

#include "base/err.h"
#include "jar/spec.h"

#define ROOT_HOME "/home/guest"
/*
 * The environment that every program begins with; languages and requests add to it. The front sends it, and interpreters that wait have it from their start: where the two
 * differ, each run sets the environment anew. LeakSanitizer needs ptrace, which the filter denies.
 */
#define ROOT_ENV(word) \
	word("SANDBOX_MODE=1") word("HOME=" ROOT_HOME) word("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") word("LANG=C.UTF-8") word("TMPDIR=/tmp") \
	word("LSAN_OPTIONS=detect_leaks=0")
/* src/guest/node/preload.js, embedded at build time; languages/node.yaml names the path. */
#define ROOT_NODE_JS "/etc/belljar/node.js"
extern const char root_node_js[];
/* src/guest/python, src/guest/node: the two sides of grading (src/grade). */
#define ROOT_DRIVER_PY	 "/etc/belljar/driver.py"
#define ROOT_VERIFIER_PY "/etc/belljar/verifier.py"
/* The same, compiled, and what starts it from there: python3 start.py verifier. */
#define ROOT_VERIFIER_CODE "/etc/belljar/verifier.code"
#define ROOT_START_PY	 "/etc/belljar/start.py"
#define ROOT_DRIVER_JS	 "/etc/belljar/driver.js"
#define ROOT_VERIFIER_JS "/etc/belljar/verifier.js"
extern const char root_driver_py[], root_verifier_py[], root_verifier_code[], root_start_py[], root_driver_js[], root_verifier_js[];
/* What every source shown in a jar is restricted to. */
#define ROOT_BIND_ATTR \
	((hook_disabled("readonly") ? 0 : MOUNT_ATTR_RDONLY) | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/*
 * Runs in the maker (root of the intermediate user namespace, own mount namespace, host's tree still visible). Builds the
 * template and attaches it on a spare folder of the own mount namespace. `missing` gets JAR_MISSING_OVERLAY where
 * the host refuses overlays, `where` the spare folder. `devices` becomes its /dev (keeper/devices.h); -1: the host's nodes are shown, and JAR_MISSING_DEVICES
 * says so. Returns the template's descriptor, or -1.
 */
int root_build(int devices, const char **where, uint32_t *missing, struct err *e);

/* Fills a new /dev with all that is no device: folders to mount on, and links. */
int root_dev_entries(int dev, struct err *e);

/* Attaches `mnt` to a spare folder of the host's tree (which pivot_root takes away) and says which; NULL on failure. */
const char *root_spare(int mnt, struct err *e);

/* A folder of the template in which nothing is ever seen: a place to attach what is to be taken apart. */
#define ROOT_EMPTY "/run"

/* The two sides of grading, for jars that grade (JAR_GRADING): a third of a megabyte that others are not made to wait for. */
int root_grading(int root, struct err *e);

/* Terminals of its own, at /dev/pts. At most ROOT_PTYS: all jars of a host share about 3,000. */
#define ROOT_PTYS "32"
int root_devpts(int root, struct err *e);

/* The POSIX message queues of the caller's ipc namespace, at ROOT_QUEUES. Where the kernel has none, e->sys is ENODEV. */
#define ROOT_QUEUES "/dev/mqueue"
int root_queues(int root, struct err *e);

/* /etc/passwd and /etc/group that know the guest; with `resolver` the host's /etc/resolv.conf too. */
int root_users(int root, uint32_t uid, bool resolver, struct err *e);

/* The jar's writable file system, attached nowhere: one budget for /workspace, /tmp, /dev/shm and HOME, each a
 * folder that belongs to `guest`. Descriptor or -1. */
int root_data(uint64_t disk_bytes, uid_t guest, struct err *e);

/* Changes its budget. */
int root_resize(int data, uint64_t disk_bytes, struct err *e);

/* Names of the folders in the data file system and where the jar shows them. */
struct root_place {
	const char *name;	/* in the data file system */
	const char *path;	/* in the jar */
	bool exec;
	unsigned mode;
};
#define ROOT_PLACES 4
extern const struct root_place root_places[ROOT_PLACES];

/* In the jar's own mount namespace, before pivot: shows the data file system's folders in the template. It is attached to `at` for that, a
 * folder that nobody sees later (NULL: a spare one of the host's). `attr` is added to what each place has. */
int root_attach_data(int root, int data, const char *at, uint64_t attr, struct err *e);
/* The same where the kernel copies from what is attached nowhere; EINVAL elsewhere. */
int root_show_data(int root, int data, uint64_t attr, struct err *e);
/* Attaches one bind source at `path` (absolute, in the jar), making what leads there. */
int root_attach_bind(int root, int mnt, const char *path, uid_t guest, struct err *e);
/* A folder with a writable layer over it, its own budget of `disk_bytes`: becomes `mnt` and is attached at `path`. `base` is where the template
 * hangs. With `attr` added to it. */
int root_attach_layer(int root, const char *base, int *mnt, const char *path, uint64_t disk_bytes, uint64_t attr, uid_t guest, struct err *e);
/* A bind target that may be asked for: absolute, clean, not over what the jar itself is made of. */
bool root_bind_path_ok(const char *path);

#endif
