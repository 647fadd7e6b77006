/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors: ownership by attribute, whole reads and writes, descriptors over sockets. */
#ifndef BELLJAR_BASE_FD_H
#define BELLJAR_BASE_FD_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/err.h"

static inline void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void ptr_free(void *p)
{
	void **pp = p;

	free(*pp);
	*pp = NULL;
}

#define auto_close __attribute__((cleanup(fd_close)))
#define auto_free  __attribute__((cleanup(ptr_free)))

static inline int take_fd(int *fd)
{
	int out = *fd;

	*fd = -1;
	return out;
}

#define take_ptr(p)                       \
	({                                \
		__typeof__(p) _out = (p); \
		(p) = NULL;               \
		_out;                     \
	})

/* Fills the standard streams' numbers where the caller closed them: nothing of ours may land there. */
void fd_fill_stdio(void);
/* Writes all of it (EINTR and short writes handled). 0, or -1 with errno. */
int fd_write_all(int fd, const void *data, size_t len);
/* Reads exactly len bytes: 0; 1 at a clean end before the first byte; -1 with errno
 * (EPIPE when the stream ends in the middle). */
int fd_read_all(int fd, void *data, size_t len);
/* Reads a small file relative to dir into buf, NUL-terminated. Bytes read, or -1 with errno.
 * A file that does not fit is ERANGE, never cut. */
ssize_t fd_read_file(int dir, const char *name, char *buf, size_t size);
/* The same, but a longer file is cut. */
ssize_t fd_read_head(int dir, const char *name, char *buf, size_t size);
/* One write(2) of a string to an existing file; 0 or -1 with errno. */
int fd_write_file(int dir, const char *name, const char *text);

#define FD_SEND_MAX 64

/* One message with descriptors on a SOCK_SEQPACKET socket; 0 or -1 with errno. */
int fd_send(int sock, const void *data, size_t len, const int *fds, unsigned nfds);
/* Receives one message. Bytes, 0 at the end, -1 with errno. Descriptors arrive close-on-exec in
 * fds[0..*nfds); more than `max` of them, or a cut message, close everything and fail EBADMSG. */
ssize_t fd_recv(int sock, void *data, size_t len, int *fds, unsigned max, unsigned *nfds);

/* The same on a socket with SO_PASSCRED, with who sent it as the kernel says; `flags` as of recvmsg. */
ssize_t fd_recv_from(int sock, void *data, size_t len, int *fds, unsigned max, unsigned *nfds, pid_t *pid, uid_t *uid, int flags);

#endif
