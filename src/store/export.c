/* SPDX-License-Identifier: Apache-2.0 */
/* An export of the chain: lines of JSON. */
#include "store/export.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "belljar_config.h"
#include "store/canon.h"

#define BEGIN "belljar-receipts"

/* ---- writing ---- */

static int end_line(struct canon *c)
{
	canon_close(c);
	return buf_add(c->out, "\n", 1);
}

int export_begin(const uint8_t pub[KEY_SIZE], bool has_key, struct buf *out)
{
	struct canon c = { out, true };
	char pem[KEY_PEM_MAX];

	key_to_pem(pub, pem);
	canon_open(&c, NULL);
	canon_str(&c, "belljar", BELLJAR_VERSION);
	canon_str(&c, "key", has_key ? pem : NULL);
	canon_str(&c, "type", BEGIN);
	canon_int(&c, "v", 1);
	return end_line(&c);
}

int export_checkpoint(const struct checkpoint *c, struct buf *out)
{
	return checkpoint_to_json(c, out) < 0 ? -1 : buf_add(out, "\n", 1);
}

int export_receipt(uint64_t seq, const uint8_t hash[DIGEST_SIZE], const char *body, size_t len, struct buf *out)
{
	struct canon c = { out, true };

	canon_open(&c, NULL);
	canon_text(&c, "body", body, len, SIZE_MAX);
	canon_hex(&c, "hash", hash, DIGEST_SIZE);
	canon_int(&c, "seq", (int64_t)seq);
	canon_str(&c, "type", "receipt");
	return end_line(&c);
}

int export_digest(uint64_t seq, const uint8_t hash[DIGEST_SIZE], struct buf *out)
{
	struct canon c = { out, true };

	canon_open(&c, NULL);
	canon_hex(&c, "hash", hash, DIGEST_SIZE);
	canon_int(&c, "seq", (int64_t)seq);
	canon_str(&c, "type", "digest");
	return end_line(&c);
}

/* ---- reading ---- */

static int bad(const struct export_reader *r, const char *what, struct err *e)
{
	err_set(e, ERR_INPUT, "line %llu of the export %s", (unsigned long long)r->line, what);
	return err_hint(e, "an export is what 'belljar audit export' prints");
}

static int read_begin(struct export_reader *r, const json_t *o, struct err *e)
{
	const json_t *v = json_object_get(o, "v");

	if (r->began || json_object_size(o) != 4 || !json_is_integer(v) || json_integer_value(v) != 1)
		return bad(r, "is no first line of version 1", e);
	r->began = true;
	return 0;
}

static int read_checkpoint(struct export_reader *r, const json_t *o, struct err *e)
{
	struct checkpoint c;
	char *text = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);
	int rc = text ? checkpoint_from_json(text, strlen(text), &c, e) : -1;

	free(text);
	return rc < 0 ? bad(r, "is not a checkpoint", e) : verify_add(r->verify, &c, "the export", e);
}

static bool get_place(const json_t *o, uint64_t *seq, uint8_t hash[DIGEST_SIZE])
{
	const json_t *n = json_object_get(o, "seq"), *h = json_object_get(o, "hash");

	if (!json_is_integer(n) || json_integer_value(n) < 1 || !json_is_string(h) || json_string_length(h) != DIGEST_HEX - 1)
		return false;
	*seq = (uint64_t)json_integer_value(n);
	return digest_from_hex(json_string_value(h), hash, DIGEST_SIZE);
}

static int read_receipt(struct export_reader *r, const json_t *o, struct err *e)
{
	const json_t *body = json_object_get(o, "body");
	struct verify_row row = { .columns = NULL };

	if (json_object_size(o) != 4 || !get_place(o, &row.seq, row.hash) || !json_is_string(body))
		return bad(r, "is not a receipt", e);
	row.body = json_string_value(body);
	row.len = json_string_length(body);
	return verify_receipt(r->verify, &row, e);
}

static int read_digest(struct export_reader *r, const json_t *o, struct err *e)
{
	uint8_t hash[DIGEST_SIZE];
	uint64_t seq;

	if (json_object_size(o) != 3 || !get_place(o, &seq, hash))
		return bad(r, "is not a digest", e);
	return verify_digest(r->verify, seq, hash, e);
}

static const struct {
	const char *type;
	int (*read)(struct export_reader *r, const json_t *o, struct err *e);
} types[] = {
	{ BEGIN, read_begin },	     { "checkpoint", read_checkpoint }, { "prune", read_checkpoint },
	{ "receipt", read_receipt }, { "digest", read_digest },
};

int export_read(struct export_reader *r, const char *line, size_t len, struct err *e)
{
	json_error_t je;
	json_t *o;
	const char *type;
	int rc = -1;

	r->line++;
	o = json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
	type = json_string_value(json_object_get(o, "type"));
	err_clear(e);
	for (size_t i = 0; type && i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(type, types[i].type) != 0)
			continue;
		rc = i && !r->began ? bad(r, "comes before the first one", e) : types[i].read(r, o, e);
		json_decref(o);
		return rc;
	}
	rc = bad(r, o ? "is of no type that is known" : "is not JSON", e);
	json_decref(o);
	return rc;
}

int export_verify(int fd, struct verify *v, struct err *e)
{
	struct export_reader r = { .verify = v };
	auto_buf text = BUF_INIT(EXPORT_LINE_MAX);
	static char block[65536];
	ssize_t n;

	do {
		size_t used = 0;
		char *end;

		n = read(fd, block, sizeof(block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(e, "read the export");
		if (buf_add(&text, n ? block : "\n", n ? (size_t)n : 1) < 0)
			return err_set(e, ERR_INPUT, "line %llu of the export is longer than 4 MiB",
				       (unsigned long long)r.line + 1);
		while ((end = memchr(text.data + used, '\n', text.len - used))) {
			size_t len = (size_t)(end - text.data) - used;

			if (len && export_read(&r, text.data + used, len, e) < 0)
				return -1;
			used += len + 1;
		}
		memmove(text.data, text.data + used, text.len - used);
		text.len -= used;
	} while (n != 0);
	if (!r.began)
		return err_set(e, ERR_INPUT, "the export is empty");
	return verify_end(v, e);
}
