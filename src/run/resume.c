/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier batch has done already, from its output. */
#include "run/resume.h"

#include <jansson.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/lines.h"

#define RESULT_MAX (2ULL << 30) /* two streams of 64 MiB, escaped and as base64 */

static void hash(const char *id, uint64_t line, uint64_t out[2])
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	SHA256_CTX ctx; /* the plain functions, as in artifacts.c */

	SHA256_Init(&ctx);
	SHA256_Update(&ctx, id ? "i" : "l", 1);
	if (id)
		SHA256_Update(&ctx, id, strlen(id));
	else
		SHA256_Update(&ctx, &line, sizeof(line));
	SHA256_Final(digest, &ctx);
	memcpy(out, digest, 16);
	out[0] |= 1; /* zeros are an empty place */
}

static size_t place(const struct resume *s, const uint64_t key[2])
{
	size_t i = (size_t)key[1] & (s->cap - 1);

	while (s->keys[i][0] && (s->keys[i][0] != key[0] || s->keys[i][1] != key[1]))
		i = (i + 1) & (s->cap - 1);
	return i;
}

static void grow(struct resume *s)
{
	struct resume bigger = { .cap = s->cap ? s->cap * 2 : 1024, .count = s->count };

	bigger.keys = calloc(bigger.cap, sizeof(*bigger.keys));
	if (!bigger.keys)
		abort(); /* a front without memory has nothing to say */
	for (size_t i = 0; i < s->cap; i++)
		if (s->keys[i][0])
			memcpy(bigger.keys[place(&bigger, s->keys[i])], s->keys[i], sizeof(*s->keys));
	free(s->keys);
	*s = bigger;
}

static void add(struct resume *s, const char *id, uint64_t line)
{
	uint64_t key[2];
	size_t i;

	if (s->count * 2 >= s->cap)
		grow(s);
	hash(id, line, key);
	i = place(s, key);
	s->count += !s->keys[i][0];
	memcpy(s->keys[i], key, sizeof(key));
}

bool resume_has(const struct resume *s, const char *id, uint64_t line)
{
	uint64_t key[2];

	if (!s->cap)
		return false;
	hash(id, line, key);
	return s->keys[place(s, key)][0];
}

void resume_done(struct resume *s)
{
	free(s->keys);
	*s = (struct resume){ 0 };
}

static bool counts(const char *reason)
{
	static const char *const again[] = { "cancelled", "busy", "internal" };

	for (size_t i = 0; reason && i < sizeof(again) / sizeof(again[0]); i++)
		if (strcmp(reason, again[i]) == 0)
			return false;
	return reason;
}

static int take(struct resume *s, const char *text, size_t len)
{
	json_t *o = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	const char *id = json_string_value(json_object_get(o, "id")), *reason = json_string_value(json_object_get(o, "reason"));
	json_int_t line = json_integer_value(json_object_get(o, "line"));
	/* A test that was passed has no reason. */
	bool passed = json_is_null(json_object_get(o, "reason"));
	int rc = o && (reason || passed) && (id || line > 0) ? 0 : -1;

	if (rc == 0 && (passed || counts(reason)))
		add(s, id, (uint64_t)line);
	json_decref(o);
	return rc;
}

static int refuse(struct err *e, const char *name, uint64_t line)
{
	err_set(e, ERR_INPUT, "--resume: line %llu of %s is no result of a batch", (unsigned long long)line, name);
	return err_hint(e, "nothing was changed; give --out another file");
}

int resume_load(struct resume *s, int fd, const char *name, struct err *e)
{
	struct lines l;
	uint64_t end = 0; /* of the last line that is whole */
	bool cut = false;
	int rc = -1;

	*s = (struct resume){ 0 };
	lines_init(&l, fd, RESULT_MAX);
	for (;;) {
		const char *text;
		size_t len;
		enum lines_result got = lines_next(&l, &text, &len, &cut);

		if (got == LINES_END || (got != LINES_MORE && cut))
			break;
		if (got == LINES_MORE && lines_fill(&l) < 0) {
			err_sys(e, "--resume: read %s", name);
			goto out;
		}
		if (got == LINES_MORE)
			continue;
		if (got == LINES_LONG || take(s, text, len) < 0) {
			refuse(e, name, l.number);
			goto out;
		}
		end = l.bytes;
	}
	if ((cut && ftruncate(fd, (off_t)end) < 0) || lseek(fd, (off_t)end, SEEK_SET) < 0)
		err_sys(e, "--resume: %s", name);
	else
		rc = 0;
out:
	lines_done(&l);
	return rc;
}
