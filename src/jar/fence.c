/* SPDX-License-Identifier: Apache-2.0 */
/* The root of a jar with an allow-list. */
#include "jar/fence.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/hook.h"
#include "jar/loader.h"
#include "jar/root.h"
#include "kernel/mount.h"
#include "kernel/sys.h"

#define ATTR (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

uint64_t fence_data_attr(const struct jar *j)
{
	return j->allow && !hook_disabled("allow_noexec") ? MOUNT_ATTR_NOEXEC : 0;
}

static bool in_tree(const struct allow *a, const char *path)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->items[i].kind == ALLOW_TREE && allow_beneath(path, a->items[i].path))
			return true;
	return false;
}

/* Programs that need a mount of their own: not in a folder that is executable anyway. */
static bool is_apart(const struct jar *j, const struct allow_item *it)
{
	return it->kind < ALLOW_FILES && !in_tree(j->allow, it->path) && allow_bind_of(&j->spec, it->path) < 0;
}

/* Makes the folders that lead to `path` (relative), beneath `dir`. */
static int make_way(int dir, const char *path, struct err *e)
{
	char part[JAR_PATH_MAX * 16];

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return err_set(e, ERR_SETUP, "%.100s: too deep", path);
	for (char *slash = strchr(part, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(dir, part, 0755) < 0 && errno != EEXIST)
			return err_sys(e, "make %s", part);
		*slash = '/';
	}
	return 0;
}

/* ---- masks ---- */

static bool is_masked(const struct allow *a, const char *mask, const char *base)
{
	return allow_beneath(mask, base) && !allow_has(a, mask);
}

/* The layer in front of `base`: char 0:0 is the overlay's word for "not there". */
static int fill_layer(int layer, const struct allow *a, const char *base, struct err *e)
{
	size_t n = strlen(base) + 1;

	for (const char *m = a->masks; m && m < a->masks + a->masks_len; m += strlen(m) + 1) {
		if (!is_masked(a, m, base) || hook_disabled("allow_mask"))
			continue;
		if (make_way(layer, m + n, e) < 0)
			return -1;
		if (mknodat(layer, m + n, S_IFCHR, makedev(0, 0)) < 0)
			return err_sys(e, "mask %s", m);
	}
	return 0;
}

/* Without overlays: an empty file, which cannot be executed, over each; folders that could not be listed, an empty folder. */
static int cover_masks(const struct jar *j, const char *base, struct err *e)
{
	const struct allow *a = j->allow;

	for (const char *m = a->masks; m && m < a->masks + a->masks_len; m += strlen(m) + 1) {
		struct stat st;
		auto_close int mnt = -1;

		if (!is_masked(a, m, base) || hook_disabled("allow_mask"))
			continue;
		if (fstatat(j->root, m + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(e, "mask %s", m);
		mnt = mount_copy(j->root, S_ISDIR(st.st_mode) ? &ROOT_EMPTY[1] : "dev/null", false, ATTR | MOUNT_ATTR_NOEXEC, e);
		if (mnt < 0 || mount_attach(mnt, j->root, m + 1, e) < 0)
			return -1;
	}
	return 0;
}

/* A new overlay of `base`, over the template's. */
static int show_masked(const struct jar *j, const char *base, struct err *e)
{
	static const struct mount_opt opts[] = { { "mode", "755" }, { NULL, NULL } };
	auto_close int layer = mount_new("tmpfs", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, e), mnt = -1;
	const char *at;
	char lower[256];

	if (layer < 0 || fill_layer(layer, j->allow, base, e) < 0)
		return -1;
	at = root_spare(layer, e);
	if (!at)
		return -1;
	snprintf(lower, sizeof(lower), "%s:%s", at, base);
	mnt = mount_new("overlay", (struct mount_opt[]){ { "lowerdir", lower }, { NULL, NULL } }, ATTR, e);
	return mnt < 0 ? -1 : mount_attach(mnt, j->root, base + 1, e);
}

/* ---- folders of programs ---- */

/* The i-th folder's own, in a tmpfs that nobody sees: links, and empty files to attach programs to. */
static int fill_cover(const struct jar *j, int cover, size_t i, struct err *e)
{
	const struct allow *a = j->allow;
	char name[JAR_PATH_MAX + 8], text[1024];

	snprintf(name, sizeof(name), "%zu", i);
	if (mkdirat(cover, name, 0755) < 0)
		return err_sys(e, "make %s", allow_folders[i]);
	for (size_t k = 0; k < a->count; k++) {
		const struct allow_item *it = &a->items[k];

		/* A folder can be beneath another's: each has its own. */
		if (it->kind > ALLOW_LINK || allow_bind_of(&j->spec, it->path) >= 0 || !allow_beneath(it->path, allow_folders[i]))
			continue;
		if (snprintf(name, sizeof(name), "%zu%s", i, it->path + strlen(allow_folders[i])) >= (int)sizeof(name) ||
		    make_way(cover, name, e) < 0)
			return err_wrap(e, "%s", it->path);
		if (it->kind == ALLOW_LINK) {
			ssize_t n = readlinkat(j->root, it->path + 1, text, sizeof(text) - 1);

			if (n <= 0 || n == sizeof(text) - 1)
				return err_sys(e, "read the link %s", it->path);
			text[n] = '\0';
			if (symlinkat(text, cover, name) < 0 && errno != EEXIST)
				return err_sys(e, "link %s", it->path);
		} else if (mknodat(cover, name, S_IFREG | 0755, 0) < 0 && errno != EEXIST) {
			return err_sys(e, "make %s", it->path);
		}
	}
	return 0;
}

static bool is_own_folder(const struct jar *j, const char *path)
{
	struct stat st;
	auto_close int fd = sys_openat2(j->root, path + 1, O_PATH, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static int cover_folders(const struct jar *j, struct err *e)
{
	static const struct mount_opt opts[] = { { "mode", "755" }, { NULL, NULL } };
	auto_close int cover = mount_new("tmpfs", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, e);
	bool there[ALLOW_FOLDERS];

	if (cover < 0)
		return -1;
	for (size_t i = 0; i < ALLOW_FOLDERS; i++) {
		there[i] = is_own_folder(j, allow_folders[i]);
		if (there[i] && fill_cover(j, cover, i, e) < 0)
			return -1;
	}
	/* Only a mount of the own namespace can be copied (before 6.15). */
	if (!root_spare(cover, e))
		return -1;
	for (size_t i = 0; i < ALLOW_FOLDERS; i++) {
		char name[24];
		auto_close int mnt = -1;

		if (!there[i])
			continue;
		snprintf(name, sizeof(name), "%zu", i);
		mnt = mount_copy(cover, name, false, ATTR | MOUNT_ATTR_NOEXEC, e);
		if (mnt < 0 || mount_attach(mnt, j->root, allow_folders[i] + 1, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- loaders ---- */

/* The guarded copy in the place of each. Inside folders of shared objects or not: they are attached last. */
static int show_loaders(const struct jar *j, struct err *e)
{
	static const struct mount_opt opts[] = { { "mode", "755" }, { NULL, NULL } };
	const struct allow *a = j->allow;
	auto_close int store = -1;

	if (hook_disabled("allow_loader"))
		return 0;
	store = mount_new("tmpfs", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e);
	if (store < 0 || !root_spare(store, e))
		return -1;
	for (size_t i = 0; i < a->count; i++) {
		auto_close int in = -1, out = -1, mnt = -1;
		char name[24];

		if (a->items[i].kind != ALLOW_LOADER || allow_bind_of(&j->spec, a->items[i].path) >= 0)
			continue;
		snprintf(name, sizeof(name), "%zu", i);
		in = openat(j->root, a->items[i].path + 1, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		out = openat(store, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
		if (in < 0 || out < 0)
			return err_sys(e, "copy %s", a->items[i].path);
		/* The maker has looked, and was told to go on without. */
		if (j->missing & JAR_MISSING_LOADER && !loader_can_guard(in))
			continue;
		if (loader_guard(in, out, e) < 0 || fchmod(out, 0755) < 0)
			return -1;
		/* Open for writing it could not be executed. */
		fd_close(&out);
		mnt = mount_copy(store, name, false, ATTR, e);
		if (mnt < 0 || mount_attach(mnt, j->root, a->items[i].path + 1, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- the whole ---- */

/* Executable copies, made while the whole is executable and attached when it is not any more. */
struct copies {
	int fds[ALLOW_ITEMS];
};

static void close_copies(struct copies *c)
{
	for (size_t i = 0; i < ALLOW_ITEMS; i++)
		fd_close(&c->fds[i]);
}

static int take_copies(const struct jar *j, struct copies *c, struct err *e)
{
	const struct allow *a = j->allow;

	for (size_t i = 0; i < a->count; i++) {
		const struct allow_item *it = &a->items[i];

		if (it->kind != ALLOW_TREE && !is_apart(j, it))
			continue;
		/* Masks that are mounts come along. */
		c->fds[i] = mount_copy(j->root, it->path + 1, it->kind == ALLOW_TREE, 0, e);
		if (c->fds[i] < 0)
			return -1;
	}
	return 0;
}

static int attach_copies(const struct jar *j, const struct copies *c, bool trees, struct err *e)
{
	const struct allow *a = j->allow;

	for (size_t i = 0; i < a->count; i++)
		if (c->fds[i] >= 0 && (a->items[i].kind == ALLOW_TREE) == trees &&
		    mount_attach(c->fds[i], j->root, a->items[i].path + 1, e) < 0)
			return -1;
	return 0;
}

static int build(const struct jar *j, struct copies *c, struct err *e)
{
	bool overlay = !(j->missing & JAR_MISSING_OVERLAY);

	/* First the masks, in front of all that is there. */
	for (size_t i = 0; i < ALLOW_ROOTS; i++) {
		if (!is_own_folder(j, allow_roots[i]))
			continue;
		if ((overlay ? show_masked(j, allow_roots[i], e) : cover_masks(j, allow_roots[i], e)) < 0)
			return -1;
	}
	if (take_copies(j, c, e) < 0)
		return -1;
	if (!hook_disabled("allow_exec_root") && mount_restrict(j->root, MOUNT_ATTR_NOEXEC, true, e) < 0)
		return -1;
	if (attach_copies(j, c, true, e) < 0)
		return -1;
	if (!hook_disabled("allow_root") && cover_folders(j, e) < 0)
		return -1;
	return attach_copies(j, c, false, e) < 0 ? -1 : show_loaders(j, e);
}

int fence_root(struct jar *j, struct err *e)
{
	static struct copies c;
	int rc;

	if (!j->allow)
		return 0;
	for (size_t i = 0; i < ALLOW_ITEMS; i++)
		c.fds[i] = -1;
	rc = build(j, &c, e);
	close_copies(&c);
	return rc;
}

int fence_binds(struct jar *j, struct err *e)
{
	static struct copies c;
	const struct allow *a = j->allow;
	int rc = 0;

	if (!a || hook_disabled("allow_noexec"))
		return 0;
	for (size_t i = 0; i < ALLOW_ITEMS; i++)
		c.fds[i] = -1;
	for (size_t i = 0; rc == 0 && i < a->count; i++)
		if (a->items[i].kind < ALLOW_FILES && allow_bind_of(&j->spec, a->items[i].path) >= 0) {
			c.fds[i] = mount_copy(j->root, a->items[i].path + 1, false, 0, e);
			rc = c.fds[i] < 0 ? -1 : 0;
		}
	for (uint32_t i = 0; rc == 0 && i < j->spec.bind_count; i++)
		rc = mount_restrict(j->binds[i], MOUNT_ATTR_NOEXEC, true, e);
	if (rc == 0)
		rc = attach_copies(j, &c, false, e);
	close_copies(&c);
	return rc;
}
