/* SPDX-License-Identifier: Apache-2.0 */
/* Feed streams made by hand, right and wrong ones. */
#ifndef BELLJAR_TESTS_STREAM_H
#define BELLJAR_TESTS_STREAM_H

#include <sys/mman.h>

#include "unit.h"

#include "base/fd.h"
#include "jar/feed.h"

struct stream {
	char data[1 << 16];
	size_t len;
};

static inline void stream_raw(struct stream *s, const void *data, size_t len)
{
	assert_true(s->len + len <= sizeof(s->data));
	if (len)
		memcpy(s->data + s->len, data, len);
	s->len += len;
}

/* A record whose header says what the caller wants, followed by the bytes that are really there. */
static inline void stream_rec(struct stream *s, struct feed_rec r, const char *name, size_t name_len, const char *data, size_t len)
{
	stream_raw(s, &r, sizeof(r));
	stream_raw(s, name, name_len);
	stream_raw(s, data, len);
}

static inline void stream_add(struct stream *s, uint32_t type, const char *name, const char *data, size_t len)
{
	stream_rec(s, (struct feed_rec){ FEED_MAGIC, type, type == FEED_FILE ? 0644 : type == FEED_DIR ? 0755 : 0,
		   (uint32_t)strlen(name), len, 0 }, name, strlen(name), data, len);
}

/* The stream as a descriptor to read from; the first `len` bytes of it. */
static inline int stream_open(const struct stream *s, size_t len)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, s->data, len), 0);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

#endif
