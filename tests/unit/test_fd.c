/* SPDX-License-Identifier: Apache-2.0 */
/* fd: whole reads and writes, descriptors over sockets, cut messages. */
#include "unit.h"

#include <sys/socket.h>

#include "base/fd.h"

TEST(read_all_tells_clean_end_from_cut)
{
	char buf[8];
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(fd_write_all(p[1], "abcdef", 6), 0);
	assert_int_equal(fd_read_all(p[0], buf, 4), 0);
	assert_memory_equal(buf, "abcd", 4);
	close(p[1]);
	assert_int_equal(fd_read_all(p[0], buf, 4), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(fd_read_all(p[0], buf, 4), 1);
	assert_int_equal(fd_read_all(p[0], buf, 0), 0);
	close(p[0]);
	assert_int_equal(fd_read_all(p[0], buf, 4), -1);
	assert_int_equal(errno, EBADF);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A slow writer, one byte at a time, and signals without SA_RESTART meanwhile. */
TEST(short_reads_and_signals)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	char buf[64];
	int p[2], status;
	pid_t pid;

	sigaction(SIGUSR1, &sa, NULL);
	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 64; i++) {
			kill(getppid(), SIGUSR1);
			usleep(200);
			if (write(p[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(p[1]);
	assert_int_equal(fd_read_all(p[0], buf, sizeof(buf)), 0);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	close(p[0]);
}

TEST(write_all_fills_a_small_pipe)
{
	static char data[300000], back[300000];
	int p[2], status;
	pid_t pid;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7);
	assert_int_equal(pipe(p), 0);
	pid = fork();
	if (pid == 0) {
		close(p[0]);
		_exit(fd_write_all(p[1], data, sizeof(data)) == 0 ? 0 : 1);
	}
	close(p[1]);
	assert_int_equal(fd_read_all(p[0], back, sizeof(back)), 0);
	assert_memory_equal(data, back, sizeof(data));
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	close(p[0]);
}

TEST(read_file_never_cuts)
{
	struct temp t;
	char buf[8];

	temp_make(&t);
	temp_write(&t, "a", "1234567");
	assert_int_equal(fd_read_file(t.fd, "a", buf, sizeof(buf)), 7);
	assert_string_equal(buf, "1234567");
	temp_write(&t, "a", "12345678");
	assert_int_equal(fd_read_file(t.fd, "a", buf, sizeof(buf)), -1);
	assert_int_equal(errno, ERANGE);
	temp_write(&t, "a", "");
	assert_int_equal(fd_read_file(t.fd, "a", buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
	assert_int_equal(fd_read_file(t.fd, "none", buf, sizeof(buf)), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(fd_write_file(t.fd, "none", "x"), -1);
	assert_int_equal(fd_write_file(t.fd, "a", "new"), 0);
	assert_string_equal(temp_read(&t, "a"), "new");
	temp_remove(&t);
}

TEST(descriptors_travel)
{
	int s[2], p[2], fds[4], before = count_fds();
	unsigned n = 99;
	char buf[16];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(fd_send(s[0], "hello", 5, p, 2), 0);
	assert_int_equal(fd_recv(s[1], buf, sizeof(buf), fds, 4, &n), 5);
	assert_int_equal(n, 2);
	assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(read(p[0], buf, 1), 1);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(fd_send(s[0], "none", 4, NULL, 0), 0);
	assert_int_equal(fd_recv(s[1], buf, sizeof(buf), NULL, 0, &n), 4);
	assert_int_equal(n, 0);
	for (int i = 0; i < 2; i++) {
		close(p[i]);
		close(s[i]);
	}
	assert_int_equal(count_fds(), before);
}

TEST(too_many_descriptors_are_closed)
{
	int s[2], many[FD_SEND_MAX], fds[FD_SEND_MAX], before;
	unsigned n = 99;
	char buf[16];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
	for (int i = 0; i < FD_SEND_MAX; i++)
		many[i] = s[0];
	before = count_fds();
	assert_int_equal(fd_send(s[0], "x", 1, many, 3), 0);
	assert_int_equal(fd_recv(s[1], buf, sizeof(buf), fds, 2, &n), -1);
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(n, 0);
	assert_int_equal(count_fds(), before);
	assert_int_equal(fd_send(s[0], "x", 1, many, FD_SEND_MAX), 0);
	assert_int_equal(fd_recv(s[1], buf, sizeof(buf), fds, FD_SEND_MAX, &n), 1);
	assert_int_equal(n, FD_SEND_MAX);
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
	assert_int_equal(fd_send(s[0], "x", 1, many, FD_SEND_MAX + 1), -1);
	assert_int_equal(errno, E2BIG);
	assert_int_equal(count_fds(), before);
	close(s[0]);
	close(s[1]);
}

/* A peer that does not use fd_send: more than the control buffer holds. */
TEST(cut_control_data_is_refused)
{
	union {
		struct cmsghdr h;
		char buf[CMSG_SPACE(sizeof(int) * 200)];
	} c = { 0 };
	struct iovec iov = { "x", 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.buf, .msg_controllen = sizeof(c.buf) };
	int s[2], fds[FD_SEND_MAX], before, all[200];
	unsigned n;
	char buf[4];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
	before = count_fds();
	for (int i = 0; i < 200; i++)
		all[i] = s[0];
	c.h.cmsg_level = SOL_SOCKET;
	c.h.cmsg_type = SCM_RIGHTS;
	c.h.cmsg_len = CMSG_LEN(sizeof(all));
	memcpy(CMSG_DATA(&c.h), all, sizeof(all));
	assert_int_equal(sendmsg(s[0], &m, 0), 1);
	assert_int_equal(fd_recv(s[1], buf, sizeof(buf), fds, FD_SEND_MAX, &n), -1);
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(count_fds(), before);
	close(s[0]);
	close(s[1]);
}

TEST(cut_message_is_refused)
{
	int s[2], fds[2], before;
	unsigned n;
	char buf[4];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
	before = count_fds();
	assert_int_equal(fd_send(s[0], "hello", 5, &s[0], 1), 0);
	assert_int_equal(fd_recv(s[1], buf, sizeof(buf), fds, 2, &n), -1);
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(count_fds(), before);
	close(s[0]);
	assert_int_equal(fd_recv(s[1], buf, sizeof(buf), fds, 2, &n), 0);
	assert_int_equal(fd_send(s[1], "x", 1, NULL, 0), -1); /* no SIGPIPE */
	close(s[1]);
}

TEST(ownership)
{
	int fd = dup(0), before = count_fds();

	{
		auto_close int a = fd;
		int b = take_fd(&a);

		assert_int_equal(a, -1);
		assert_int_equal(b, fd);
	}
	assert_int_equal(count_fds(), before);
	{
		auto_close int a = fd;

		(void)a;
	}
	assert_int_equal(count_fds(), before - 1);
	fd = -1;
	fd_close(&fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_all_tells_clean_end_from_cut), cmocka_unit_test(short_reads_and_signals),
		cmocka_unit_test(write_all_fills_a_small_pipe), cmocka_unit_test(read_file_never_cuts), cmocka_unit_test(descriptors_travel),
		cmocka_unit_test(too_many_descriptors_are_closed), cmocka_unit_test(cut_control_data_is_refused),
		cmocka_unit_test(cut_message_is_refused), cmocka_unit_test(ownership),
	};

	return cmocka_run_group_tests_name("fd", tests, NULL, NULL);
}
