/* SPDX-License-Identifier: Apache-2.0 */
/* The /dev of one jar: device nodes of its own. */
#include "keeper/devices.h"

#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hook.h"
#include "jar/root.h"
#include "kernel/mount.h"

static const struct {
	const char *name;
	unsigned minor; /* of major 1 */
} nodes[] = { { "null", 3 }, { "zero", 5 }, { "full", 7 }, { "random", 8 }, { "urandom", 9 } };

static int fill(int dir)
{
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		if (mknodat(dir, nodes[i].name, S_IFCHR | 0666, makedev(1, nodes[i].minor)) < 0)
			return -1;
	return root_dev_entries(dir, NULL);
}

int devices_make(void)
{
	static const struct mount_opt opts[] = { { "size", "64k" }, { "nr_inodes", "32" }, { "mode", "755" }, { NULL, NULL } };
	auto_close int mnt = -1;
	mode_t mask;
	int rc;

	if (geteuid() != 0 || hook_disabled("devices"))
		return -1;
	mnt = mount_new("tmpfs", opts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOATIME, NULL);
	if (mnt < 0)
		return -1;
	mask = umask(0);
	rc = fill(mnt);
	umask(mask);
	return rc < 0 || mount_restrict(mnt, MOUNT_ATTR_RDONLY, false, NULL) < 0 ? -1 : take_fd(&mnt);
}
