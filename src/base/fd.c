/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors: whole reads and writes, descriptors over sockets. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

void fd_fill_stdio(void)
{
	/* open() takes the lowest free number. */
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			_exit(125);
}

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			struct pollfd wait = { fd, POLLOUT, 0 };

			if (errno == EINTR)
				continue;
			/* Somebody else's descriptor may be non-blocking: wait as if it were not. */
			if (errno == EAGAIN && poll(&wait, 1, -1) >= 0)
				continue;
			return -1;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fd_read_all(int fd, void *data, size_t len)
{
	char *p = data;
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, p + got, len - got);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (n == 0) {
			if (!got)
				return 1;
			errno = EPIPE;
			return -1;
		}
		got += (size_t)n;
	}
	return 0;
}

ssize_t fd_read_file(int dir, const char *name, char *buf, size_t size)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	size_t got = 0;

	if (fd < 0)
		return -1;
	for (;;) {
		ssize_t n = read(fd, buf + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		got += (size_t)n;
		if (got == size) {
			errno = ERANGE;
			return -1;
		}
	}
	buf[got] = '\0';
	return (ssize_t)got;
}

ssize_t fd_read_head(int dir, const char *name, char *buf, size_t size)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	if (n >= 0)
		buf[n] = '\0';
	return n;
}

int fd_write_file(int dir, const char *name, const char *text)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0)
		return -1;
	ssize_t n = write(fd, text, len);
	if (n < 0)
		return -1;
	if ((size_t)n != len) {
		errno = EIO;
		return -1;
	}
	return 0;
}

int fd_send(int sock, const void *data, size_t len, const int *fds, unsigned nfds)
{
	union {
		struct cmsghdr h;
		char buf[CMSG_SPACE(sizeof(int) * FD_SEND_MAX)];
	} c;
	struct iovec iov = { (void *)data, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nfds > FD_SEND_MAX) {
		errno = E2BIG;
		return -1;
	}
	if (nfds) {
		memset(&c, 0, sizeof(c));
		m.msg_control = c.buf;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		c.h.cmsg_level = SOL_SOCKET;
		c.h.cmsg_type = SCM_RIGHTS;
		c.h.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&c.h), fds, sizeof(int) * nfds);
	}
	for (;;) {
		ssize_t n = sendmsg(sock, &m, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if ((size_t)n != len) {
			errno = EMSGSIZE;
			return -1;
		}
		return 0;
	}
}

ssize_t fd_recv_from(int sock, void *data, size_t len, int *fds, unsigned max, unsigned *nfds, pid_t *pid, uid_t *uid, int flags)
{
	union {
		struct cmsghdr h;
		char buf[CMSG_SPACE(sizeof(int) * FD_SEND_MAX) + CMSG_SPACE(sizeof(struct ucred))];
	} c;
	struct iovec iov = { data, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.buf,
			    .msg_controllen = pid ? sizeof(c.buf) : CMSG_SPACE(sizeof(int) * FD_SEND_MAX) };
	int got[sizeof(c.buf) / sizeof(int)]; /* without credentials, descriptors may take their place */
	unsigned count = 0;
	bool reset = false;
	ssize_t n;

	*nfds = 0;
	/* A peer that ended with a message of ours unread: the kernel says that first, the peer's last words after it. */
	do {
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | flags);
		if (n < 0 && errno == ECONNRESET && !reset) {
			reset = true;
			errno = EINTR;
		}
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_CREDENTIALS && pid) {
			struct ucred who;

			memcpy(&who, CMSG_DATA(h), sizeof(who));
			*pid = who.pid;
			*uid = who.uid;
		}
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		count = (unsigned)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(got, CMSG_DATA(h), count * sizeof(int));
	}
	if (count > max || (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		for (unsigned i = 0; i < count; i++)
			close(got[i]);
		errno = EBADMSG;
		return -1;
	}
	if (count)
		memcpy(fds, got, count * sizeof(int));
	*nfds = count;
	return n;
}

ssize_t fd_recv(int sock, void *data, size_t len, int *fds, unsigned max, unsigned *nfds)
{
	return fd_recv_from(sock, data, len, fds, max, nfds, NULL, NULL, 0);
}
