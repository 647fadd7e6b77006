/* SPDX-License-Identifier: Apache-2.0 */
/* The jar's root file system: a read-only template made from pieces of the host, and what each jar adds. */
#include "jar/root.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/hook.h"
#include "jar/feed.h"
#include "jar/step.h"
#include "kernel/mount.h"
#include "kernel/sys.h"

/*
 * What of the host a guest sees. An allow-list: a folder that is not named here does not exist inside (FS-01 asks for
 * ENOENT, not for EACCES). Trees are shown through one read-only overlay each, since plain binds share flock, leases and
 * inotify between jars (MT-05, MT-06); small files are copied.
 */

enum piece_kind { TREE, COPY, TEXT, GRADING, DIRECTORY, SYMLINK, DEV, DEVICE };

static const struct piece {
	enum piece_kind kind;
	const char *path;
	const char *text; /* TEXT, GRADING: content; SYMLINK: target */
} pieces[] = {
	/* Stays empty: it is also the second layer that an overlay without an upper one needs. */
	{ DIRECTORY, ROOT_EMPTY, NULL },
	{ TREE, "/usr", NULL },
	/* Symlinks into /usr on a merged system, trees of their own elsewhere: root_tree() looks. */
	{ TREE, "/bin", NULL },
	{ TREE, "/sbin", NULL },
	{ TREE, "/lib", NULL },
	{ TREE, "/lib32", NULL },
	{ TREE, "/lib64", NULL },
	{ TREE, "/libx32", NULL },
	{ DIRECTORY, "/etc", NULL },
	{ TREE, "/etc/alternatives", NULL },
	{ DIRECTORY, "/etc/ssl", NULL },
	{ TREE, "/etc/ssl/certs", NULL },
	{ COPY, "/etc/ssl/openssl.cnf", NULL },
	{ TREE, "/etc/java-17-openjdk", NULL },
	{ TREE, "/etc/java-21-openjdk", NULL },
	{ COPY, "/etc/ld.so.cache", NULL },
	{ COPY, "/etc/localtime", NULL },
	{ COPY, "/etc/timezone", NULL },
	{ COPY, "/etc/os-release", NULL },
	{ COPY, "/etc/debian_version", NULL },
	{ COPY, "/etc/mime.types", NULL },
	{ COPY, "/etc/protocols", NULL },
	{ COPY, "/etc/services", NULL },
	{ COPY, "/etc/magic", NULL },
	{ TEXT, "/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n" },
	{ TEXT, "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n" },
	{ TEXT, "/etc/host.conf", "multi on\n" },
	{ DIRECTORY, "/etc/belljar", NULL },
	{ TEXT, ROOT_NODE_JS, root_node_js },
	{ GRADING, ROOT_DRIVER_PY, root_driver_py },
	{ GRADING, ROOT_VERIFIER_PY, root_verifier_py },
	{ GRADING, ROOT_VERIFIER_CODE, root_verifier_code },
	{ GRADING, ROOT_START_PY, root_start_py },
	{ GRADING, ROOT_DRIVER_JS, root_driver_js },
	{ GRADING, ROOT_VERIFIER_JS, root_verifier_js },
	{ DIRECTORY, "/proc", NULL },
	{ DIRECTORY, "/tmp", NULL },
	{ DIRECTORY, "/workspace", NULL },
	{ DIRECTORY, "/home", NULL },
	{ DIRECTORY, ROOT_HOME, NULL },
	{ DIRECTORY, "/var", NULL },
	{ SYMLINK, "/var/tmp", "/tmp" },
	{ DEV, "/dev", NULL },
	{ DIRECTORY, "/dev/shm", NULL },
	{ DIRECTORY, "/dev/pts", NULL },
	{ DIRECTORY, ROOT_QUEUES, NULL },
	{ SYMLINK, "/dev/ptmx", "pts/ptmx" },
	{ SYMLINK, "/dev/fd", "/proc/self/fd" },
	{ SYMLINK, "/dev/stdin", "/proc/self/fd/0" },
	{ SYMLINK, "/dev/stdout", "/proc/self/fd/1" },
	{ SYMLINK, "/dev/stderr", "/proc/self/fd/2" },
	{ DEVICE, "/dev/null", NULL },
	{ DEVICE, "/dev/zero", NULL },
	{ DEVICE, "/dev/full", NULL },
	{ DEVICE, "/dev/random", NULL },
	{ DEVICE, "/dev/urandom", NULL },
};

const struct root_place root_places[ROOT_PLACES] = {
	{ "workspace", "/workspace", true, 0755 },
	{ "tmp", "/tmp", true, 01777 },
	{ "home", ROOT_HOME, true, 0755 },
	{ "shm", "/dev/shm", false, 01777 },
};

/* Folders of the host that nothing needs while a jar is made: the template hangs on one, the data on another.
 * Only this mount namespace sees it. */
static const char *const spare[] = { "/sys", "/mnt", "/media", "/srv", "/boot", "/opt", "/home" };
#define SPARES (sizeof(spare) / sizeof(spare[0]))

static int attach_spare(int mnt, size_t first, size_t *used, struct err *e)
{
	for (size_t i = first; i < SPARES; i++) {
		auto_close int at = open(spare[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (at < 0)
			continue;
		if (sys_move_mount(mnt, "", at, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
			return err_sys(e, "attach at %s", spare[i]);
		*used = i;
		return 0;
	}
	return err_set(e, ERR_SETUP, "the host has no spare folder to build a root on (tried /sys, /mnt, ...)");
}

static int write_text(int root, const char *path, const char *text, size_t len, struct err *e)
{
	auto_close int fd = openat(root, path + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || fd_write_all(fd, text, len) < 0)
		return err_sys(e, "write %s", path);
	return 0;
}

/* A file of the host, or the same symlink when it is one into /usr. Absent and unreadable ones are left out. */
static int copy_file(int root, const char *path, bool follow, struct err *e)
{
	char target[256];
	ssize_t n = follow ? -1 : readlink(path, target, sizeof(target) - 1);
	auto_close int in = -1, out = -1;

	if (n > 0) {
		target[n] = '\0';
		if (symlinkat(target, root, path + 1) < 0)
			return err_sys(e, "link %s", path);
		return 0;
	}
	in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
	if (in < 0)
		return 0;
	out = openat(root, path + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (out < 0)
		return err_sys(e, "copy %s", path);
	/* In the kernel: pages of ours would have to be made for it first. */
	do
		n = sendfile(out, in, NULL, 1 << 20);
	while (n > 0);
	return n < 0 ? err_sys(e, "copy %s", path) : 0;
}

static uint64_t tree_attr(void)
{
	return (hook_disabled("readonly") ? 0 : MOUNT_ATTR_RDONLY) |
	       (hook_disabled("nosuid") ? 0 : MOUNT_ATTR_NOSUID) | MOUNT_ATTR_NODEV;
}

static int show_tree(int root, const char *base, const char *path, uint32_t *missing, struct err *e)
{
	char lower[512], target[256];
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	struct stat st;
	auto_close int mnt = -1;

	if (n > 0) {
		target[n] = '\0';
		if (symlinkat(target, root, path + 1) < 0)
			return err_sys(e, "link %s", path);
		return 0;
	}
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	if (mkdirat(root, path + 1, 0755) < 0)
		return err_sys(e, "make %s", path);
	snprintf(lower, sizeof(lower), "%s%s:%s", base, ROOT_EMPTY, path);
	if (!hook_disabled("overlay"))
		mnt = mount_new("overlay", (struct mount_opt[]){ { "lowerdir", lower }, { NULL, NULL } },
				tree_attr(), e);
	if (mnt < 0) {
		/* Mounts below the folder (WSL has one under /usr) make the kernel refuse: show it all as
		 * read-only binds and say what is lost. */
		*missing |= JAR_MISSING_OVERLAY;
		mnt = mount_copy(AT_FDCWD, path, true, tree_attr(), e);
		if (mnt < 0)
			return -1;
	}
	return mount_attach(mnt, root, path + 1, e);
}

static int show_device(int root, const char *path, struct err *e)
{
	auto_close int mnt = -1;
	struct stat st;

	if (mknodat(root, path + 1, S_IFREG | 0644, 0) < 0)
		return err_sys(e, "make %s", path);
	/* Read-only: a guest may write to the device, but not change the host's file. */
	mnt = mount_copy(AT_FDCWD, path, false, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_RDONLY, e);
	if (mnt < 0)
		return -1;
	if (fstat(mnt, &st) < 0 || !S_ISCHR(st.st_mode) || major(st.st_rdev) != 1)
		return err_set(e, ERR_SETUP, "%s of the host is not the device it should be", path);
	return mount_attach(mnt, root, path + 1, e);
}

static bool is_dev_entry(const struct piece *p)
{
	return strncmp(p->path, "/dev/", 5) == 0;
}

int root_dev_entries(int dev, struct err *e)
{
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		const struct piece *p = &pieces[i];
		const char *name = p->path + 5;

		if (!is_dev_entry(p) || p->kind == DEVICE)
			continue;
		if (p->kind == SYMLINK ? symlinkat(p->text, dev, name) < 0 : mkdirat(dev, name, 0755) < 0)
			return err_sys(e, "make %s", p->path);
	}
	return 0;
}

static int add_piece(int root, const char *base, const struct piece *p, int devices, uint32_t *missing, struct err *e)
{
	if (devices >= 0 && is_dev_entry(p))
		return 0;
	switch (p->kind) {
	case TREE:
		return show_tree(root, base, p->path, missing, e);
	case COPY:
		return copy_file(root, p->path, false, e);
	case TEXT:
		return write_text(root, p->path, p->text, strlen(p->text), e);
	case GRADING:
		return 0; /* root_grading() */
	case DIRECTORY:
		if (mkdirat(root, p->path + 1, 0755) < 0)
			return err_sys(e, "make %s", p->path);
		return 0;
	case SYMLINK:
		if (symlinkat(p->text, root, p->path + 1) < 0)
			return err_sys(e, "link %s", p->path);
		return 0;
	case DEV:
		if (mkdirat(root, p->path + 1, 0755) < 0)
			return err_sys(e, "make %s", p->path);
		if (devices >= 0)
			return mount_attach(devices, root, p->path + 1, e);
		*missing |= JAR_MISSING_DEVICES;
		return 0;
	case DEVICE:
		return show_device(root, p->path, e);
	}
	return err_set(e, ERR_INTERNAL, "unknown piece");
}

int root_build(int devices, const char **where, uint32_t *missing, struct err *e)
{
	static const struct mount_opt opts[] = {
		{ "size", "16m" }, { "nr_inodes", "4k" }, { "mode", "755" }, { NULL, NULL },
	};
	auto_close int root = mount_new("tmpfs", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	size_t at = 0;

	if (root < 0)
		return -1;
	if (attach_spare(root, 0, &at, e) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		if (add_piece(root, spare[at], &pieces[i], devices, missing, e) < 0)
			return -1;
	*where = spare[at];
	return take_fd(&root);
}

int root_devpts(int root, struct err *e)
{
	const struct mount_opt opts[] = {
		{ "newinstance", NULL }, { "ptmxmode", "0666" }, { "mode", "0620" }, { hook_disabled("pty_max") ? NULL : "max", ROOT_PTYS }, { NULL, NULL },
	};
	auto_close int mnt = mount_new("devpts", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e);

	return mnt < 0 ? -1 : mount_attach(mnt, root, "dev/pts", e);
}

int root_queues(int root, struct err *e)
{
	static const struct mount_opt none[] = { { NULL, NULL } };
	auto_close int mnt = mount_new("mqueue", none, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, e);

	return mnt < 0 ? -1 : mount_attach(mnt, root, &ROOT_QUEUES[1], e);
}

int root_grading(int root, struct err *e)
{
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		if (pieces[i].kind == GRADING && write_text(root, pieces[i].path, pieces[i].text, strlen(pieces[i].text), e) < 0)
			return -1;
	return 0;
}

int root_users(int root, uint32_t uid, bool resolver, struct err *e)
{
	char text[512];
	int n;

	n = snprintf(text, sizeof(text), "%sguest:x:%u:%u:guest:" ROOT_HOME ":/bin/sh\n"
		     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		     uid ? "root:x:0:0:root:/root:/usr/sbin/nologin\n" : "", uid, uid);
	if (write_text(root, "/etc/passwd", text, (size_t)n, e) < 0)
		return -1;
	n = snprintf(text, sizeof(text), "%sguest:x:%u:\nnogroup:x:65534:\n", uid ? "root:x:0:\n" : "", uid);
	if (write_text(root, "/etc/group", text, (size_t)n, e) < 0)
		return -1;
	/* Often a link into /run, which the jar does not have. */
	return resolver ? copy_file(root, "/etc/resolv.conf", true, e) : 0;
}

static void budget(uint64_t disk_bytes, char size[32], char inodes[32])
{
	snprintf(size, 32, "%llu", (unsigned long long)disk_bytes);
	/* One inode for every 4 KiB, and enough to start with: a tmpfs inode costs about 1 KiB of the memory limit. */
	snprintf(inodes, 32, "%llu", (unsigned long long)(disk_bytes / 4096 + 64));
}

int root_resize(int data, uint64_t disk_bytes, struct err *e)
{
	char size[32], inodes[32];
	const struct mount_opt opts[] = { { "size", size }, { "nr_inodes", inodes }, { NULL, NULL } };

	budget(disk_bytes, size, inodes);
	return mount_change(data, opts, e);
}

int root_data(uint64_t disk_bytes, uid_t guest, struct err *e)
{
	char size[32], inodes[32];
	struct mount_opt opts[] = { { "size", size }, { "nr_inodes", inodes }, { "mode", "755" }, { NULL, NULL } };
	auto_close int data = -1;
	mode_t mask;

	budget(disk_bytes, size, inodes);
	data = mount_new("tmpfs", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	if (data < 0)
		return -1;
	mask = umask(0);
	for (size_t i = 0; i < ROOT_PLACES; i++) {
		const char *name = root_places[i].name;

		if (mkdirat(data, name, root_places[i].mode) < 0 || fchownat(data, name, guest, guest, 0) < 0) {
			umask(mask);
			return err_sys(e, "make /%s", name);
		}
	}
	umask(mask);
	return take_fd(&data);
}

int root_show_data(int root, int data, uint64_t attr, struct err *e)
{
	for (size_t i = 0; i < ROOT_PLACES; i++) {
		const struct root_place *p = &root_places[i];
		/* A copy has what `data` has: no set-uid programs, no devices. */
		auto_close int mnt = mount_copy(data, p->name, false, attr | (p->exec ? 0 : MOUNT_ATTR_NOEXEC), e);

		if (mnt < 0 || mount_attach(mnt, root, p->path + 1, e) < 0)
			return -1;
	}
	return 0;
}

const char *root_spare(int mnt, struct err *e)
{
	size_t at = 0;

	/* Not on the template's folder: start with the next. */
	return attach_spare(mnt, 1, &at, e) < 0 ? NULL : spare[at];
}

int root_attach_data(int root, int data, const char *place, uint64_t attr, struct err *e)
{
	/* Only a mount of the own namespace can be copied (before 6.15), so the whole is attached to the old tree, which
	 * pivot_root takes away. */
	if (place ? mount_attach(data, root, place + 1, e) < 0 : !root_spare(data, e))
		return -1;
	return root_show_data(root, data, attr, e);
}

bool root_bind_path_ok(const char *path)
{
	static const char *const taken[] = { "proc", "dev", "sys", "tmp", "workspace", "home", "home/guest",
					     "usr", "etc", "bin", "sbin", "lib", "lib64", "var", "run" };

	if (path[0] != '/' || !feed_name_ok(path + 1, strlen(path + 1)))
		return false;
	if (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/sys/", 5) == 0)
		return false;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcmp(path + 1, taken[i]) == 0)
			return false;
	return true;
}

int root_attach_bind(int root, int mnt, const char *path, uid_t guest, struct err *e)
{
	auto_close int dir = fcntl(root, F_DUPFD_CLOEXEC, 3);
	char name[JAR_PATH_MAX], *part = name, *slash;
	struct stat st;

	if (fstat(mnt, &st) < 0)
		return err_sys(e, "look at the source of %s", path);
	snprintf(name, sizeof(name), "%s", path + 1);
	for (;;) {
		bool last, file;
		int next;

		slash = strchr(part, '/');
		last = !slash;
		if (slash)
			*slash = '\0';
		file = last && !S_ISDIR(st.st_mode);
		if (file) {
			next = openat(dir, part, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644);
			if (next >= 0)
				close(next);
			else if (errno != EROFS && errno != ETXTBSY)
				goto refused;
		} else if (mkdirat(dir, part, 0755) == 0) {
			/* On the way inside /workspace they are the guest's; in the read-only template it does not matter. */
			if (fchownat(dir, part, guest, guest, AT_SYMLINK_NOFOLLOW) < 0)
				goto refused;
		} else if (errno != EEXIST && errno != EROFS) {
			goto refused;
		}
		if (last)
			return mount_attach(mnt, dir, part, e);
		next = sys_openat2(dir, part, O_PATH | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
		if (next < 0)
			goto refused;
		close(dir);
		dir = next;
		part = slash + 1;
	}
refused:
	err_sys(e, "make the mount point %s", path);
	return err_hint(e, "choose a new path, like /data, or one below /workspace");
}

int root_attach_layer(int root, const char *base, int *mnt, const char *path, uint64_t disk_bytes, uint64_t attr, uid_t guest, struct err *e)
{
	char size[32], inodes[32], lower[64], upper[64], work[64];
	const struct mount_opt disk[] = { { "size", size }, { "nr_inodes", inodes }, { "mode", "755" }, { NULL, NULL } };
	const struct mount_opt opts[] = { { "lowerdir", lower }, { "upperdir", upper }, { "workdir", work }, { "userxattr", NULL }, { NULL, NULL } };
	auto_close int parts = -1, over = -1;

	budget(disk_bytes, size, inodes);
	snprintf(lower, sizeof(lower), "%s" ROOT_EMPTY "/lower", base);
	snprintf(upper, sizeof(upper), "%s" ROOT_EMPTY "/upper", base);
	snprintf(work, sizeof(work), "%s" ROOT_EMPTY "/work", base);
	/* An overlay is given paths: they exist as long as it takes, in a folder that is empty before and after. */
	parts = mount_new("tmpfs", disk, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	if (parts < 0)
		return -1;
	if (mkdirat(parts, "lower", 0755) < 0 || mkdirat(parts, "upper", 0755) < 0 || mkdirat(parts, "work", 0755) < 0 ||
	    fchownat(parts, "upper", guest, guest, 0) < 0)
		return err_sys(e, "make the folders of a layer");
	if (mount_attach(parts, root, &ROOT_EMPTY[1], e) < 0 || mount_attach(*mnt, parts, "lower", e) < 0)
		return -1;
	over = mount_new("overlay", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | attr, e);
	if (over < 0)
		return err_wrap(e, "a writable layer over %s", path);
	snprintf(lower, sizeof(lower), "%s" ROOT_EMPTY, base);
	if (sys_umount2(lower, MNT_DETACH) < 0)
		return err_sys(e, "take the parts of a layer away");
	if (root_attach_bind(root, over, path, guest, e) < 0)
		return -1;
	close(*mnt);
	*mnt = take_fd(&over);
	return 0;
}
