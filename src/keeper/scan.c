/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of a jar's processes: the little that is known where there are no cgroups. */
#include "keeper/scan.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "kernel/sys.h"

/* The number after `key` in a "Key:  value" file of a process; UINT64_MAX when it cannot be read. */
static uint64_t read_key(pid_t pid, const char *file, const char *key)
{
	char path[64], text[4096], *p;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	if (fd_read_file(AT_FDCWD, path, text, sizeof(text)) < 0)
		return UINT64_MAX;
	p = strstr(text, key);
	return p ? strtoull(p + strlen(key), NULL, 10) : UINT64_MAX;
}

pid_t scan_pidfd(int pidfd)
{
	char file[64];
	uint64_t pid;

	snprintf(file, sizeof(file), "fdinfo/%d", pidfd);
	pid = read_key(getpid(), file, "\nPid:");
	return pid > 0 && pid < INT32_MAX ? (pid_t)pid : -1;
}

bool scan_in_range(pid_t pid, struct idmap_range uids)
{
	uint64_t uid = read_key(pid, "status", "\nUid:");

	/* Gone since: its pidfd reaches nobody any more. */
	if (uid == UINT64_MAX)
		return true;
	return uid >= uids.start && uid < (uint64_t)uids.start + uids.count;
}

pid_t scan_group_of(pid_t thread)
{
	return (pid_t)read_key(thread, "status", "\nTgid:");
}

/* pidfd_info of Linux 6.13: what /proc says in a file each. */
struct info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define INFO_PID   (1U << 0)
#define INFO_CREDS (1U << 1)

bool scan_owner(int pidfd, pid_t *pid, struct idmap_range uids)
{
	struct info i = { .mask = INFO_PID | INFO_CREDS };

	if (ioctl(pidfd, (int)_IOWR(0xFF, 11, struct info), &i) == 0 && (i.mask & (INFO_PID | INFO_CREDS)) == (INFO_PID | INFO_CREDS) && i.pid) {
		*pid = (pid_t)i.pid;
		return i.ruid >= uids.start && i.ruid < (uint64_t)uids.start + uids.count;
	}
	*pid = scan_pidfd(pidfd);
	return *pid < 0 || scan_in_range(*pid, uids);
}

/* The sum of fields `first` to `last` of /proc/<pid>/stat, UINT64_MAX: gone. The name in it is the guest's to choose: fields are counted from its last ')'. */
static uint64_t stat_of(pid_t pid, int first, int last)
{
	char path[48], text[2048], *p;
	uint64_t sum = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (fd_read_file(AT_FDCWD, path, text, sizeof(text)) < 0)
		return UINT64_MAX;
	p = strrchr(text, ')');
	for (int field = 3; p && field <= last; field++) {
		p = strchr(p + 1, ' ');
		if (p && field >= first)
			sum += strtoull(p + 1, NULL, 10);
	}
	return sum;
}

#define FLAGS	   9   /* include/linux/sched.h */
#define PF_EXITING 0x4U

bool scan_is_ending(pid_t pid)
{
	uint64_t flags = stat_of(pid, FLAGS, FLAGS);

	return flags == UINT64_MAX || (flags & PF_EXITING);
}

/* utime, stime, cutime and cstime. */
static uint64_t cpu_of(pid_t pid)
{
	uint64_t ticks = stat_of(pid, 14, 17);

	return ticks == UINT64_MAX ? 0 : ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

void scan_usage(pid_t pid, uint64_t *cpu_ns, uint64_t *maxrss_bytes)
{
	uint64_t ticks = cpu_of(pid), kib = read_key(pid, "status", "\nVmHWM:");
	struct timespec own = { 0 };

	/* By its clock, which counts finer; children are only in the other. */
	clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &own);
	*cpu_ns = (uint64_t)own.tv_sec * NS_PER_S + (uint64_t)own.tv_nsec;
	if (ticks > *cpu_ns)
		*cpu_ns = ticks;
	*maxrss_bytes = kib == UINT64_MAX ? 0 : kib * 1024;
}

static bool pid_namespace(pid_t pid, char *out, size_t size)
{
	char path[48];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	n = readlink(path, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool scan_key(pid_t pid, char key[static SCAN_KEY])
{
	uint64_t uid;

	memset(key, 0, SCAN_KEY);
	if (pid_namespace(pid, key, SCAN_KEY))
		return true;
	uid = read_key(pid, "status", "\nUid:");
	snprintf(key, SCAN_KEY, "uid %llu", (unsigned long long)uid);
	return uid != UINT64_MAX;
}

void scan_jar(pid_t guest, struct scan *out)
{
	char ours[64], theirs[64];
	DIR *dir = opendir("/proc");
	struct dirent *d;

	memset(out, 0, sizeof(*out));
	if (!dir)
		return;
	if (pid_namespace(guest, ours, sizeof(ours))) {
		while ((d = readdir(dir))) {
			pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);
			uint64_t pss, tables;

			if (pid <= 0 || !pid_namespace(pid, theirs, sizeof(theirs)) || strcmp(ours, theirs) != 0)
				continue;
			pss = read_key(pid, "smaps_rollup", "\nPss:");
			tables = read_key(pid, "status", "\nVmPTE:");
			out->memory_bytes += (pss == UINT64_MAX ? 0 : pss * 1024) + (tables == UINT64_MAX ? 0 : tables * 1024);
			out->cpu_ns += cpu_of(pid);
			out->processes++;
		}
	}
	closedir(dir);
}
