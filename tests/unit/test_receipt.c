/* SPDX-License-Identifier: Apache-2.0 */
/* receipts: one text for one receipt, the chain, what verifying says, and the notary's bytes. */
#include "unit.h"

#include <jansson.h>
#include <signal.h>

#include "run/account.h"
#include "store/canon.h"
#include "store/export.h"
#include "store/sign.h"
#include "store/store.h"

/* ---- canonical JSON ---- */

static void same_again(const char *text, size_t len)
{
	json_error_t je;
	json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
	char *again = json_dumps(o, JSON_COMPACT | JSON_SORT_KEYS);

	assert_non_null(o);
	assert_int_equal(strlen(again), len);
	assert_memory_equal(again, text, len);
	free(again);
	json_decref(o);
}

TEST(text_is_as_jansson_writes_it)
{
	static const char *const texts[] = { "", "plain", "a\"b\\c/d", "\b\f\n\r\t\x01\x1f\x7f",
					     "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct buf b = BUF_INIT(1000);
		struct canon c = { &b, true };

		canon_open(&c, NULL);
		canon_str(&c, "a", texts[i]);
		canon_int(&c, "b", -5);
		canon_int(&c, "b0", 0);
		canon_int(&c, "b1", INT64_MAX);
		canon_int(&c, "b2", INT64_MIN);
		canon_null(&c, "c");
		canon_list(&c, "d");
		canon_bool(&c, NULL, true);
		canon_str(&c, NULL, "x");
		canon_end_list(&c);
		canon_close(&c);
		same_again(b.data, b.len);
		buf_done(&b);
	}
}

TEST(what_is_no_text_is_replaced_and_cut)
{
	struct buf b = BUF_INIT(1000);
	struct canon c = { &b, true };
	char out[64];

	canon_text(&c, NULL, "a\xff\xc3", 3, 100);
	assert_string_equal(b.data, "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
	/* Never inside a character. */
	b.len = 0;
	c.first = true;
	canon_text(&c, NULL, "ab\xe2\x82\xac", 5, 4);
	assert_string_equal(b.data, "\"ab\"");
	canon_clean("ab\xe2\x82\xac\xff", 5, out);
	assert_string_equal(out, "ab\xe2\x82\xac");
	canon_clean("\xff\xfe", 2, out);
	assert_string_equal(out, "\xef\xbf\xbd\xef\xbf\xbd");
	buf_done(&b);
}

TEST(hex_both_ways)
{
	uint8_t data[4] = { 0, 0x1f, 0xa0, 0xff }, back[4];
	char text[9];

	digest_hex(data, 4, text);
	assert_string_equal(text, "001fa0ff");
	assert_true(digest_from_hex(text, back, 4));
	assert_memory_equal(data, back, 4);
	assert_false(digest_from_hex("001FA0FF", back, 4));
	assert_false(digest_from_hex("001fa0f", back, 4));
	assert_false(digest_from_hex("001fa0ff0", back, 4));
	assert_false(digest_from_hex("", back, 4));
}

/* ---- time ---- */

TEST(times_are_utc)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
		{ 951782399999, "2000-02-28T23:59:59.999Z" },
		{ 951782400000, "2000-02-29T00:00:00.000Z" },
		{ 4107542399000, "2100-02-28T23:59:59.000Z" },
		{ 4107542400000, "2100-03-01T00:00:00.000Z" },
		{ 1794743149900, "2026-11-15T11:45:49.900Z" },
		{ INT64_MAX, "0000-01-01T00:00:00.000Z" },
	};
	char text[32];
	int64_t back;
	struct err e;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		receipt_time(rows[i].ms, text);
		assert_string_equal(text, rows[i].text);
		if (rows[i].ms != INT64_MAX) {
			assert_int_equal(receipt_parse_time(text, &back, &e), 0);
			assert_true(back == rows[i].ms);
		}
	}
	assert_int_equal(receipt_parse_time("2026-11-15", &back, &e), 0);
	assert_true(back == 1794700800000);
	assert_int_equal(receipt_parse_time("2026-11-15T11:45", &back, &e), 0);
	assert_true(back == 1794743100000);
	assert_int_equal(receipt_parse_time("@5", &back, &e), 0);
	assert_true(back == 5000);
	assert_int_equal(receipt_parse_time("1h", &back, &e), 0);
	assert_true(receipt_now_ms() - back >= 3600000 && receipt_now_ms() - back < 3700000);
	assert_int_equal(receipt_parse_time("2026-13-01", &back, &e), -1);
	assert_int_equal(receipt_parse_time("@", &back, &e), -1);
	assert_int_equal(receipt_parse_time("2026-11-15T11:45:00+01:00", &back, &e), -1);
	assert_int_equal(receipt_parse_time("soon", &back, &e), -1);
}

/* ---- a receipt of a request and its result ---- */

static struct request req;
static struct result res;

static void make_receipt(struct receipt *r, struct buf *text)
{
	assert_int_equal(account_receipt(r, &req, &res, text), 0);
}

TEST(a_receipt_is_canonical_whatever_is_in_it)
{
	static const char *args[] = { "a", "\xff\xfe", NULL };
	struct buf text = BUF_INIT(RECEIPT_BODY_MAX), body = BUF_INIT(RECEIPT_BODY_MAX);
	struct arena a = { 0 };
	struct receipt_body back;
	struct receipt r;
	struct err e = { 0 };
	uint8_t prev[DIGEST_SIZE] = { 1, 2, 3 }, hash[DIGEST_SIZE], other[DIGEST_SIZE];

	for (int full = 0; full < 2; full++) {
		memset(&req, 0, sizeof(req));
		result_begin(&res);
		if (full) {
			req.client = "\x1b]0;\xff\"client\\";
			req.id = "mine\n";
			req.code = "print(1)";
			req.code_len = 8;
			req.args = (struct strlist){ args, 2, 3 };
			req.env = (struct strlist){ args, 1, 2 };
			req.stdin_data = "in";
			req.stdin_len = 2;
			res.have_facts = true;
			res.facts.missing = 0xff;
			res.run.there = res.compile.there = true;
			output_init(&res.run.out[0], 100, 100);
			output_init(&res.run.out[1], 100, 100);
			output_init(&res.compile.out[0], 100, 100);
			output_init(&res.compile.out[1], 100, 100);
			res.verdict.limits_hit = 0x3f;
			res.verdict.exited = true;
			snprintf(res.verdict.error, sizeof(res.verdict.error), "bad \xff thing");
		}
		make_receipt(&r, &text);
		body.len = 0;
		assert_int_equal(receipt_join(&r, 7, prev, &body), 0);
		same_again(body.data, body.len);
		assert_int_equal(receipt_read(body.data, body.len, &back, &a, &e), 0);
		assert_true(back.seq == 7);
		assert_memory_equal(back.prev, prev, DIGEST_SIZE);
		assert_string_equal(back.id, res.execution_id);
		assert_true(back.time_ms == res.time_ms);
		assert_true(back.has_code == (full == 1));
		/* The column is a copy of what the body says. */
		if (full)
			assert_string_equal(back.client, r.client);
		else
			assert_null(back.client);
	}
	receipt_hash(body.data, body.len, hash);
	body.data[20] ^= 1;
	receipt_hash(body.data, body.len, other);
	assert_memory_not_equal(hash, other, DIGEST_SIZE);
	buf_done(&text);
	buf_done(&body);
	arena_free(&a);
}

TEST(what_is_no_receipt_is_refused)
{
	static const char *const texts[] = { "",   "{}", "[]", "null", "{\"v\":1}", "{\"v\":1,\"v\":1}", "{\"v\":1,\"seq\":0}",
					     "{ }" };
	struct arena a = { 0 };
	struct receipt_body b;
	struct err e;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(receipt_read(texts[i], strlen(texts[i]), &b, &a, &e), -1);
	arena_free(&a);
}

/* ---- keys and checkpoints ---- */

static EVP_PKEY *key;
static uint8_t pub[KEY_SIZE];

static void make_key(void)
{
	static const uint8_t secret[KEY_SIZE] = { 42 };
	size_t len = KEY_SIZE;

	if (key)
		return;
	key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, KEY_SIZE);
	assert_int_equal(EVP_PKEY_get_raw_public_key(key, pub, &len), 1);
}

static void sign_it(struct checkpoint *c)
{
	make_key();
	checkpoint_key_id(pub, c->key);
	assert_int_equal(sign_checkpoint(key, c), 0);
}

TEST(a_checkpoint_is_signed_as_it_stands)
{
	struct checkpoint c = { .kind = CHECKPOINT_HERE, .seq = 9, .time_ms = 5 }, back;
	struct buf text = BUF_INIT(4096);
	uint8_t *bytes = (uint8_t *)&c;
	char shown[CHECKPOINT_TEXT_MAX];
	struct err e;

	sign_it(&c);
	assert_true(sign_check(&c, pub));
	assert_int_equal(checkpoint_to_json(&c, &text), 0);
	same_again(text.data, text.len);
	assert_int_equal(checkpoint_from_json(text.data, text.len, &back, &e), 0);
	assert_memory_equal(&c, &back, sizeof(c));
	/* Every byte of it counts but the padding. */
	for (size_t i = 0; i < sizeof(c); i++) {
		if (i >= offsetof(struct checkpoint, unused) && i < offsetof(struct checkpoint, seq))
			continue;
		bytes[i] ^= 1;
		if (i < 4 && c.kind > CHECKPOINT_PRUNED) {
			bytes[i] ^= 1;
			continue;
		}
		assert_false(sign_check(&c, pub));
		bytes[i] ^= 1;
	}
	checkpoint_text(&c, shown);
	assert_memory_equal(shown, "belljar checkpoint v1\n9\n0000", 28);
	assert_int_equal(checkpoint_from_json("{}", 2, &back, &e), -1);
	text.data[text.len - 2] = 'x';
	assert_int_equal(checkpoint_from_json(text.data, text.len, &back, &e), -1);
	buf_done(&text);
}

TEST(a_public_key_in_pem)
{
	char pem[KEY_PEM_MAX];
	uint8_t back[KEY_SIZE];
	struct err e;

	make_key();
	key_to_pem(pub, pem);
	assert_int_equal(key_from_pem(pem, back, &e), 0);
	assert_memory_equal(pub, back, KEY_SIZE);
	pem[40] = '!';
	assert_int_equal(key_from_pem(pem, back, &e), -1);
	assert_int_equal(key_from_pem("", back, &e), -1);
	assert_int_equal(key_from_pem("-----BEGIN PUBLIC KEY-----\n", back, &e), -1);
}

/* ---- a chain ---- */

#define CHAIN 6

struct chain {
	char *body[CHAIN + 2];
	size_t len[CHAIN + 2];
	uint8_t hash[CHAIN + 2][DIGEST_SIZE];
	struct checkpoint all; /* signed at the end */
};

static void chain_make(struct chain *c)
{
	struct buf text = BUF_INIT(RECEIPT_BODY_MAX);
	uint8_t prev[DIGEST_SIZE] = { 0 };

	memset(c, 0, sizeof(*c));
	for (int i = 1; i <= CHAIN; i++) {
		struct buf body = BUF_INIT(RECEIPT_BODY_MAX);
		struct receipt r;

		memset(&req, 0, sizeof(req));
		result_begin(&res);
		make_receipt(&r, &text);
		receipt_join(&r, (uint64_t)i, prev, &body);
		receipt_hash(body.data, body.len, c->hash[i]);
		memcpy(prev, c->hash[i], DIGEST_SIZE);
		c->len[i] = body.len;
		c->body[i] = body.data;
		checkpoint_fold(c->all.head, c->hash[i]);
	}
	c->all.seq = CHAIN;
	memcpy(c->all.receipt, prev, DIGEST_SIZE);
	sign_it(&c->all);
	buf_done(&text);
}

static void chain_free(struct chain *c)
{
	for (int i = 1; i <= CHAIN; i++)
		free(c->body[i]);
}

struct seen {
	unsigned kinds;
	uint64_t seq[VERIFY_KINDS];
	int count;
};

static void see(void *ctx, const struct verify_finding *f)
{
	struct seen *s = ctx;

	s->count++;
	if (!(s->kinds & 1U << f->kind))
		s->seq[f->kind] = f->seq;
	s->kinds |= 1U << f->kind;
}

static int check(void *ctx, const struct checkpoint *c, const uint8_t p[KEY_SIZE], struct err *e)
{
	(void)ctx;
	(void)e;
	return !sign_check(c, p);
}

/* Places 1..n hold the receipts `order`. */
static void look(struct chain *c, const int *order, const struct checkpoint *signed_at, struct seen *s)
{
	struct verify v = { .check = check, .found = see, .ctx = s, .key_count = 1 };
	struct err e = { 0 };

	memset(s, 0, sizeof(*s));
	memcpy(v.keys[0], pub, KEY_SIZE);
	if (signed_at)
		assert_int_equal(verify_add(&v, signed_at, "the test", &e), 0);
	for (uint64_t place = 1; *order; order++, place++) {
		struct verify_row row = { .seq = place, .body = c->body[*order], .len = c->len[*order] };

		memcpy(row.hash, c->hash[*order], DIGEST_SIZE);
		assert_int_equal(verify_receipt(&v, &row, &e), 0);
	}
	assert_int_equal(verify_end(&v, &e), 0);
	assert_true((uint64_t)s->count == v.findings);
	verify_done(&v);
}

#define ORDER(...) ((int[]){ __VA_ARGS__, 0 })
#define ONLY(kind) (1U << (kind))

TEST(a_sound_chain_is_sound)
{
	struct chain c;
	struct seen s;

	chain_make(&c);
	look(&c, ORDER(1, 2, 3, 4, 5, 6), &c.all, &s);
	assert_int_equal(s.count, 0);
	look(&c, ORDER(1, 2, 3), NULL, &s);
	assert_int_equal(s.count, 0);
	chain_free(&c);
}

TEST(each_trick_has_its_name)
{
	struct chain c;
	struct seen s;

	chain_make(&c);
	look(&c, ORDER(1, 2, 4, 3, 5, 6), NULL, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_REORDERED));
	assert_int_equal(s.count, 2);
	assert_int_equal(s.seq[VERIFY_REORDERED], 3);
	look(&c, ORDER(1, 2, 4, 5, 6), NULL, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_REMOVED));
	assert_int_equal(s.count, 1);
	assert_int_equal(s.seq[VERIFY_REMOVED], 3);
	look(&c, ORDER(2, 3, 4), NULL, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_REMOVED));
	look(&c, ORDER(1, 2, 3, 3, 4, 5, 6), NULL, &s);
	assert_true(s.count > 0);
	look(&c, ORDER(1, 2, 3), &c.all, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_TRUNCATED));
	assert_int_equal(s.seq[VERIFY_TRUNCATED], 4);
	look(&c, (int[]){ 0 }, &c.all, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_TRUNCATED));
	/* One byte of a body; then with its hash made to fit. */
	strstr(c.body[3], "\"status\":\"c")[10] = 'k';
	look(&c, ORDER(1, 2, 3, 4, 5, 6), &c.all, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_EDITED));
	assert_int_equal(s.seq[VERIFY_EDITED], 3);
	receipt_hash(c.body[3], c.len[3], c.hash[3]);
	look(&c, ORDER(1, 2, 3, 4, 5, 6), &c.all, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_EDITED) | ONLY(VERIFY_REWRITTEN));
	assert_int_equal(s.seq[VERIFY_EDITED], 3);
	/* Of the last one only the signature knows. */
	chain_free(&c);
	chain_make(&c);
	strstr(c.body[6], "\"status\":\"c")[10] = 'k';
	receipt_hash(c.body[6], c.len[6], c.hash[6]);
	look(&c, ORDER(1, 2, 3, 4, 5, 6), NULL, &s);
	assert_int_equal(s.count, 0);
	look(&c, ORDER(1, 2, 3, 4, 5, 6), &c.all, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_REWRITTEN));
	/* A checkpoint that nobody signed, and one of a stranger. */
	c.all.signature[0] ^= 1;
	look(&c, ORDER(1, 2), &c.all, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_SIGNATURE));
	c.all.key[0] ^= 1;
	look(&c, ORDER(1, 2), &c.all, &s);
	assert_int_equal(s.kinds, ONLY(VERIFY_KEY));
	chain_free(&c);
}

TEST(an_export_is_read_as_it_was_written)
{
	struct chain c;
	struct seen s = { 0 };
	struct verify v = { .check = check, .found = see, .ctx = &s, .key_count = 1 };
	struct buf out = BUF_INIT(1 << 20);
	struct temp t;
	struct err e = { 0 };
	int fd;

	chain_make(&c);
	memcpy(v.keys[0], pub, KEY_SIZE);
	export_begin(pub, true, &out);
	export_checkpoint(&c.all, &out);
	for (uint64_t i = 1; i <= CHAIN; i++)
		if (i == 3)
			export_digest(i, c.hash[i], &out);
		else
			export_receipt(i, c.hash[i], c.body[i], c.len[i], &out);
	temp_make(&t);
	fd = openat(t.fd, "x", O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(fd, out.data, out.len), (ssize_t)out.len);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(export_verify(fd, &v, &e), 0);
	assert_true(v.findings == 0 && v.receipts == 5 && v.digests == 1 && v.signed_seq == CHAIN);
	close(fd);
	verify_done(&v);
	temp_remove(&t);
	buf_done(&out);
	chain_free(&c);
}

/* ---- the database ---- */

TEST(a_failed_append_leaves_nothing)
{
	struct buf text = BUF_INIT(RECEIPT_BODY_MAX), code = BUF_INIT(1 << 20);
	struct receipt r[2];
	struct receipt_place at[2], last;
	struct store s;
	struct temp t;
	struct err e = { 0 };

	temp_make(&t);
	memset(&req, 0, sizeof(req));
	req.code =
		"print(1) # long enough to be packed; long enough to be packed; long enough to be packed; long enough to be packed; long enough to be packed; long enough to "
		"be packed; long enough to be packed; long enough to be packed; long enough to be packed";
	result_begin(&res);
	make_receipt(&r[0], &text);
	r[1] = r[0];
	assert_int_equal(store_open(&s, t.path, true, 100, &e), 0);
	assert_int_equal(store_probe(&s, &e), 0);
	assert_int_equal(store_append(&s, r, 2, at, &e), 0);
	assert_true(at[0].seq == 1 && at[1].seq == 2);
	/* A part that is too large: neither of the two is there. */
	r[1].part_len[0] = RECEIPT_BODY_MAX * 2UL;
	assert_int_equal(store_append(&s, r, 2, at, &e), -1);
	assert_true(at[0].seq == 0);
	assert_int_equal(store_last(&s, &last, &e), 0);
	assert_true(last.seq == 2);
	assert_int_equal(store_code(&s, r[0].code_hash, &code, &e), 0);
	assert_int_equal(code.len, r[0].code_len);
	assert_memory_equal(code.data, req.code, code.len);
	assert_int_equal(store_code(&s, last.hash, &code, &e), 1);
	store_close(&s);
	buf_done(&text);
	buf_done(&code);
	temp_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_as_jansson_writes_it),
		cmocka_unit_test(what_is_no_text_is_replaced_and_cut),
		cmocka_unit_test(hex_both_ways),
		cmocka_unit_test(times_are_utc),
		cmocka_unit_test(a_receipt_is_canonical_whatever_is_in_it),
		cmocka_unit_test(what_is_no_receipt_is_refused),
		cmocka_unit_test(a_checkpoint_is_signed_as_it_stands),
		cmocka_unit_test(a_public_key_in_pem),
		cmocka_unit_test(a_sound_chain_is_sound),
		cmocka_unit_test(each_trick_has_its_name),
		cmocka_unit_test(an_export_is_read_as_it_was_written),
		cmocka_unit_test(a_failed_append_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
