/* SPDX-License-Identifier: Apache-2.0 */
/* state: runs that are alive are listed and can be killed; dead ones vanish. */
#include "unit.h"

#include <grp.h>

#include "run/state.h"

static struct temp t;

/* Never root's own /run/belljar: as nobody, with folders of our own. */
static int setup(void **state)
{
	(void)state;
	temp_make(&t);
	if (geteuid() == 0 && (fchown(t.fd, 65534, 65534) < 0 || setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 ||
			       setresuid(65534, 65534, 65534) < 0))
		return -1;
	setenv("XDG_RUNTIME_DIR", t.path, 1);
	setenv("XDG_STATE_HOME", t.path, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	temp_remove(&t);
	return 0;
}

/* A fake run: registers and waits for its end. */
static pid_t fake(const char *id, const char *command)
{
	int p[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (pid == 0) {
		struct state_run r;
		struct err e;

		if (state_register(&r, id, command, &e) < 0 || write(p[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(p[1]);
	assert_int_equal(read(p[0], &byte, 1), 1);
	close(p[0]);
	return pid;
}

struct seen {
	int n;
	struct state_entry last;
};

static int see(const struct state_entry *s, void *ctx)
{
	struct seen *seen = ctx;

	seen->n++;
	seen->last = *s;
	return 0;
}

TEST(listed_and_killed)
{
	pid_t pid = fake("exec-0123456789ab", "python code\nwith\033[31m a line");
	struct seen seen = { 0 };
	struct err e = { 0 };
	int status;

	assert_int_equal(state_each(see, &seen, &e), 1);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.last.pid, pid);
	assert_string_equal(seen.last.id, "exec-0123456789ab");
	assert_string_equal(seen.last.command, "python code?with?[31m a line");
	assert_true(seen.last.started_s > 1500000000);
	assert_int_equal(state_kill("exec-0123456789ab", &e), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	/* Dead: not listed, not killable, its entry is removed. */
	assert_int_equal(state_kill("exec-0123456789ab", &e), -1);
	assert_int_equal(e.kind, ERR_INPUT);
	assert_int_equal(state_each(see, &seen, &e), 0);
	assert_false(temp_has(&t, "belljar/runs/exec-0123456789ab"));
}

TEST(entries_without_a_lock_are_dead)
{
	struct seen seen = { 0 };
	struct err e = { 0 };

	state_each(see, &seen, &e);
	temp_write(&t, "belljar/runs/exec-dead00000000", "1 x");
	temp_write(&t, "belljar/runs/other", "1 x");
	assert_int_equal(state_kill("exec-dead00000000", &e), -1);
	assert_int_equal(state_each(see, &seen, &e), 0);
	assert_false(temp_has(&t, "belljar/runs/exec-dead00000000"));
	assert_true(temp_has(&t, "belljar/runs/other"));
}

TEST(ids_that_are_none)
{
	static const char *const ids[] = { "", "x", "exec", "../exec-x", "exec-/../../x", "exec-0123456789012345678901234567890", "EXEC-1" };
	struct err e;

	for (size_t i = 0; i < COUNT(ids); i++) {
		memset(&e, 0, sizeof(e));
		ROW_OK(state_kill(ids[i], &e) == -1 && e.kind == ERR_USAGE, "%s: %s", ids[i], e.msg);
	}
	assert_int_equal(state_kill("exec-none", &e), -1);
	assert_int_equal(e.kind, ERR_INPUT);
}

TEST(an_id_is_taken_once)
{
	pid_t pid = fake("exec-once", "x");
	struct state_run r;
	struct err e = { 0 };

	assert_int_equal(state_register(&r, "exec-once", "y", &e), -1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(unregister_removes)
{
	struct state_run r;
	struct err e = { 0 };
	int before = count_fds();

	assert_int_equal(state_register(&r, "exec-gone", "y", &e), 0);
	assert_true(temp_has(&t, "belljar/runs/exec-gone"));
	state_unregister(&r);
	assert_false(temp_has(&t, "belljar/runs/exec-gone"));
	state_unregister(&r);
	assert_int_equal(count_fds(), before);
}

TEST(a_folder_that_others_may_write_is_refused)
{
	struct seen seen = { 0 };
	struct err e = { 0 };
	char path[128];

	snprintf(path, sizeof(path), "%s/belljar", t.path);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(state_each(see, &seen, &e), -1);
	assert_true(e.hint[0]);
	assert_int_equal(chmod(path, 0700), 0);
}

TEST(folders_and_ids)
{
	char dir[256], a[32], b[32], want[300];
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(state_log_dir(dir, sizeof(dir), &e), 0);
	snprintf(want, sizeof(want), "%s/belljar/logs", t.path);
	assert_string_equal(dir, want);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	state_new_id(a);
	state_new_id(b);
	assert_int_equal(strlen(a), 17);
	assert_int_equal(strspn(a + 5, "0123456789abcdef"), 12);
	assert_string_not_equal(a, b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listed_and_killed), cmocka_unit_test(entries_without_a_lock_are_dead), cmocka_unit_test(ids_that_are_none),
		cmocka_unit_test(an_id_is_taken_once), cmocka_unit_test(unregister_removes),
		cmocka_unit_test(a_folder_that_others_may_write_is_refused), cmocka_unit_test(folders_and_ids),
	};

	return cmocka_run_group_tests_name("state", tests, setup, teardown);
}
