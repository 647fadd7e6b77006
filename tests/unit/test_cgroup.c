/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup: the helpers that read text, and limits and counters against folders that only look like cgroups. */
#include "unit.h"

#include "kernel/cgroup.c"

TEST(words)
{
	assert_true(has_word("cpuset cpu io memory pids\n", "cpu", ' '));
	assert_true(has_word("cpuset cpu io memory pids\n", "pids", ' '));
	assert_false(has_word("cpuset io memory pids\n", "cpu", ' '));
	assert_true(has_word("rw,cpu,cpuacct", "cpu", ','));
	assert_true(has_word("rw,cpu,cpuacct", "cpuacct", ','));
	assert_false(has_word("rw,cpuacct", "cpu", ','));
	assert_false(has_word("", "cpu", ','));
	assert_false(has_word(",,", "cpu", ','));
}

TEST(escapes)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "/sys/fs/cgroup", "/sys/fs/cgroup" }, { "/a\\040b", "/a b" }, { "/a\\134b", "/a\\b" }, { "/a\\04", "/a\\04" }, { "\\", "\\" },
		{ "/a\\011\\012", "/a\t\n" }, { "", "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s", rows[i].in);
		unescape(text);
		assert_string_equal(text, rows[i].out);
	}
}

TEST(keys)
{
	static const char text[] = "usage_usec 12\nuser_usec 5\nnr 18446744073709551615\nlast 9";
	struct temp t;

	assert_int_equal(find_key(text, "usage_usec"), 12);
	assert_int_equal(find_key(text, "user_usec"), 5);
	assert_int_equal(find_key(text, "usage"), 0);
	assert_int_equal(find_key(text, "last"), 9);
	assert_true(find_key(text, "nr") == UINT64_MAX);
	assert_int_equal(find_key("", "x"), 0);
	temp_make(&t);
	temp_write(&t, "num", "42\n");
	assert_int_equal(read_num(t.fd, "num"), 42);
	temp_write(&t, "num", "max\n");
	assert_int_equal(read_num(t.fd, "num"), 0);
	assert_int_equal(read_num(t.fd, "none"), 0);
	temp_remove(&t);
}

static void fake(struct cgroup *g, struct cgroup_host *h, const struct temp *t, bool v2)
{
	cgroup_init(g);
	memset(h, 0, sizeof(*h));
	for (int c = 0; c < CGROUP_KILL; c++) {
		g->dir[c] = t->fd;
		h->ctl[c].v2 = v2;
	}
}

TEST(limits_v2)
{
	static const char *const files[] = { "memory.swap.max", "memory.max", "pids.max", "cpu.max" };
	struct cgroup_limits l = { 64 << 20, 7, 1500 };
	struct cgroup_host h;
	struct cgroup g;
	struct err e = { 0 };
	struct temp t;

	temp_make(&t);
	fake(&g, &h, &t, true);
	for (size_t i = 0; i < COUNT(files); i++)
		temp_write(&t, files[i], "");
	assert_int_equal(cgroup_limit(&g, &h, &l, &e), 0);
	assert_string_equal(temp_read(&t, "memory.max"), "67108864");
	assert_string_equal(temp_read(&t, "memory.swap.max"), "0");
	assert_string_equal(temp_read(&t, "pids.max"), "7");
	assert_string_equal(temp_read(&t, "cpu.max"), "150000 100000");
	/* No swap support: no file, no error. Any other missing file means that a limit was not set. */
	unlinkat(t.fd, "memory.swap.max", 0);
	l.cpus_milli = 1;
	temp_write(&t, "cpu.max", "");
	assert_int_equal(cgroup_limit(&g, &h, &l, &e), 0);
	assert_string_equal(temp_read(&t, "cpu.max"), "1000 100000");
	for (size_t i = 1; i < COUNT(files); i++) {
		unlinkat(t.fd, files[i], 0);
		ROW_OK(cgroup_limit(&g, &h, &l, &e) == -1, "%s", files[i]);
		temp_write(&t, files[i], "");
	}
	temp_remove(&t);
}

TEST(limits_v1)
{
	struct cgroup_limits l = { 64 << 20, 7, 500 };
	struct cgroup_host h;
	struct cgroup g;
	struct err e = { 0 };
	struct temp t;

	temp_make(&t);
	fake(&g, &h, &t, false);
	temp_write(&t, "memory.limit_in_bytes", "");
	temp_write(&t, "memory.memsw.limit_in_bytes", "");
	temp_write(&t, "pids.max", "");
	temp_write(&t, "cpu.cfs_quota_us", "");
	assert_int_equal(cgroup_limit(&g, &h, &l, &e), 0);
	assert_string_equal(temp_read(&t, "memory.limit_in_bytes"), "67108864");
	assert_string_equal(temp_read(&t, "memory.memsw.limit_in_bytes"), "67108864");
	assert_string_equal(temp_read(&t, "cpu.cfs_quota_us"), "50000");
	unlinkat(t.fd, "memory.memsw.limit_in_bytes", 0);
	assert_int_equal(cgroup_limit(&g, &h, &l, &e), 0);
	unlinkat(t.fd, "memory.limit_in_bytes", 0);
	assert_int_equal(cgroup_limit(&g, &h, &l, &e), -1);
	temp_remove(&t);
}

TEST(counters)
{
	struct cgroup_counters c;
	struct cgroup_host h;
	struct cgroup g;
	struct temp t;

	temp_make(&t);
	temp_write(&t, "memory.current", "10\n");
	temp_write(&t, "memory.peak", "20\n");
	temp_write(&t, "memory.events", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n");
	temp_write(&t, "cpu.stat", "usage_usec 7\nthrottled_usec 8\nthrottled_time 88\n");
	temp_write(&t, "pids.current", "4\n");
	temp_write(&t, "pids.events", "max 9\n");
	fake(&g, &h, &t, true);
	cgroup_read(&g, &h, true, &c);
	assert_int_equal(c.memory_now_bytes, 10);
	assert_int_equal(c.memory_peak_bytes, 20);
	assert_int_equal(c.memory_limit_hits, 3);
	assert_int_equal(c.oom_kills, 5);
	assert_int_equal(c.cpu_ns, 7000);
	assert_int_equal(c.throttled_ns, 8000);
	assert_int_equal(c.pids_peak, 4); /* no pids.peak before 6.1 */
	assert_int_equal(c.pids_limit_hits, 9);
	assert_int_equal(c.have, 15);
	temp_write(&t, "memory.usage_in_bytes", "11\n");
	temp_write(&t, "memory.max_usage_in_bytes", "21\n");
	temp_write(&t, "memory.failcnt", "31\n");
	temp_write(&t, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	temp_write(&t, "cpuacct.usage", "71\n");
	temp_write(&t, "pids.peak", "6\n");
	fake(&g, &h, &t, false);
	cgroup_read(&g, &h, true, &c);
	assert_int_equal(c.memory_now_bytes, 11);
	assert_int_equal(c.memory_peak_bytes, 21);
	assert_int_equal(c.memory_limit_hits, 31);
	assert_int_equal(c.oom_kills, 2);
	assert_int_equal(c.cpu_ns, 71);
	assert_int_equal(c.throttled_ns, 88);
	assert_int_equal(c.pids_peak, 6);
	/* The same through files that were opened ahead: each time anew. */
	cgroup_open_counters(&g, &h);
	temp_write(&t, "memory.failcnt", "32\n");
	temp_write(&t, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	cgroup_read(&g, &h, true, &c);
	assert_int_equal(c.memory_limit_hits, 32);
	assert_int_equal(c.oom_kills, 3);
	assert_int_equal(c.cpu_ns, 71);
	for (int i = 0; i < CGROUP_COUNTERS; i++)
		fd_close(&g.counter[i]);
	/* Nothing there: nothing claimed. */
	cgroup_init(&g);
	cgroup_read(&g, &h, true, &c);
	assert_int_equal(c.have, 0);
	assert_int_equal(c.oom_kills, 0);
	temp_remove(&t);
}

TEST(entering)
{
	struct temp t;
	struct err e = { 0 };
	int fds[2];

	temp_make(&t);
	for (int i = 0; i < 2; i++)
		fds[i] = openat(t.fd, i ? "b" : "a", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(cgroup_enter_v1(fds, 2, &e), 0);
	assert_string_equal(temp_read(&t, "b"), "0");
	close(fds[1]);
	assert_int_equal(cgroup_enter_v1(fds, 2, &e), -1);
	assert_int_equal(cgroup_enter_v1(NULL, 0, &e), 0);
	close(fds[0]);
	temp_remove(&t);
}

#define CROWD 900 /* their pids fill more than one page of cgroup.procs */

/* What a killed keeper may have left under a slot's name, all of it. */
TEST(leftovers_in_a_crowd)
{
	static pid_t pids[CROWD];
	struct cgroup_host h;
	struct cgroup g;
	struct err e = { 0 };
	char name[32];
	int up[2], dead = 0;

	if (geteuid() != 0)
		skip();
	cgroup_host_open(&h);
	if (h.version == CGROUP_NONE)
		skip();
	snprintf(name, sizeof(name), "unit-%d", getpid());
	assert_int_equal(cgroup_make(&g, &h, name, 0, (gid_t)-1, 0, &e), 0);
	assert_int_equal(pipe(up), 0);
	for (int i = 0; i < CROWD; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i])
			continue;
		for (int c = 0; c < CGROUP_CTLS; c++)
			if (g.tasks[c] >= 0 && write(g.tasks[c], "0", 1) != 1)
				_exit(1);
		if (cgroup_v2_dir(&g, &h) >= 0 && fd_write_file(cgroup_v2_dir(&g, &h), "cgroup.procs", "0") < 0)
			_exit(1);
		if (write(up[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	for (int i = 0; i < CROWD; i++) {
		char byte;

		assert_int_equal(read(up[0], &byte, 1), 1);
	}
	assert_true(cgroup_clear(&h, name));
	for (int i = 0; i < CROWD; i++) {
		int status = 0;
		pid_t done = 0;

		for (int n = 0; n < 2000 && (done = waitpid(pids[i], &status, WNOHANG)) == 0; n++)
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		dead += done == pids[i] && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		if (!done)
			kill(pids[i], SIGKILL);
	}
	assert_int_equal(dead, CROWD);
	cgroup_remove(&g, &h, 2000);
	for (int c = 0; c < CGROUP_CTLS; c++)
		assert_true(h.ctl[c].parent < 0 || faccessat(h.ctl[c].parent, name, F_OK, 0) < 0);
	cgroup_host_close(&h);
	close(up[0]);
	close(up[1]);
}

TEST(names)
{
	for (int c = 0; c < CGROUP_CTLS; c++)
		assert_non_null(cgroup_ctl_name(c));
	assert_string_equal(cgroup_version_name(CGROUP_HYBRID), "hybrid");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words), cmocka_unit_test(escapes), cmocka_unit_test(keys), cmocka_unit_test(limits_v2),
		cmocka_unit_test(limits_v1), cmocka_unit_test(counters), cmocka_unit_test(entering), cmocka_unit_test(names),
		cmocka_unit_test(leftovers_in_a_crowd),
	};

	return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
