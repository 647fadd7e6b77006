/* SPDX-License-Identifier: Apache-2.0 */
/* belljar audit: receipts listed, shown, exported, verified, pruned. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "run/output.h"
#include "run/state.h"
#include "store/export.h"
#include "store/signer.h"

#define BUSY_MS	 10000
#define FLUSH_AT (1U << 20)

struct audit {
	const char *since, *until, *status, *reason, *language, *client, *hash, *before, *anchor, *export_file;
	struct strlist keys;
	uint64_t limit;
	bool json, adopt, dry_run;
	/* the rest of the command line */
	const char *word;
	/* what it works on */
	char dir[400];
	struct store store;
	bool open;
};

#define AT(field) offsetof(struct audit, field)

static const struct opt audit_opts[] = {
	{ "json", 'j', NULL, NULL, OPT_FLAG, AT(json), NULL, 0, 0, 0, "print JSON" },
	{ "since", 0, "TIME", NULL, OPT_STR, AT(since), NULL, 0, 0, 0,
	  "list, export: receipts from then on (2026-11-15T11:26Z, @SECONDS, or an age: 2h, 7d)" },
	{ "until", 0, "TIME", NULL, OPT_STR, AT(until), NULL, 0, 0, 0, "list, export: receipts before then" },
	{ "status", 0, "STATUS", NULL, OPT_STR, AT(status), NULL, 0, 0, 0, "list, export: completed, timeout, error, killed" },
	{ "reason", 0, "REASON", NULL, OPT_STR, AT(reason), NULL, 0, 0, 0,
	  "list, export: exited, memory, policy, ... (docs/result.md)" },
	{ "language", 'l', "NAME", NULL, OPT_STR, AT(language), NULL, 0, 0, 0, "list, export: of this language" },
	{ "client", 0, "NAME", NULL, OPT_STR, AT(client), NULL, 0, 0, 0, "list, export: of this client" },
	{ "hash", 0, "SHA256", NULL, OPT_STR, AT(hash), NULL, 0, 0, 0,
	  "list, export: of this code, or the receipt with this hash" },
	{ "limit", 'n', "N", NULL, OPT_U64, AT(limit), NULL, 1, 0, 0, "list: the last N of them" },
	{ "before", 0, "TIME", NULL, OPT_STR, AT(before), NULL, 0, 0, 0, "prune: receipts before then" },
	{ "dry-run", 0, NULL, NULL, OPT_FLAG, AT(dry_run), NULL, 0, 0, 0, "prune: say what would go, and change nothing" },
	{ "anchor", 0, "FILE|TEXT", NULL, OPT_STR, AT(anchor), NULL, 0, 0, 0,
	  "verify: against a checkpoint that was kept elsewhere" },
	{ "export", 0, "FILE|-", NULL, OPT_STR, AT(export_file), NULL, 0, 0, 0,
	  "verify: an export instead of this host's receipts" },
	{ "key", 0, "FILE", NULL, OPT_LIST, AT(keys), NULL, 0, 0, 0, "verify: a public key to trust (PEM); may be repeated" },
	{ "adopt", 0, NULL, NULL, OPT_FLAG, AT(adopt), NULL, 0, 0, 0,
	  "checkpoint: the notary's folder was lost; begin again from what the database says" },
	{ .name = NULL },
};

const struct opt_cmd cmd_audit_opts = {
	.name = "audit",
	.summary = "receipts of what ran: list, show, export, verify, prune",
	.usage =
		"  belljar audit list [FILTERS] [--json]        one line for each receipt\n"
		"  belljar audit show ID                        a receipt (ID: an execution id, or its number)\n"
		"  belljar audit code ID                        the code that ran\n"
		"  belljar audit export [FILTERS]               lines that a third party can verify; of what is filtered out only the hashes\n"
		"  belljar audit verify [--anchor FILE|TEXT]    is every receipt there, and as it was?\n"
		"  belljar audit verify --export FILE --key PUB the same for an export, with the public key alone\n"
		"  belljar audit anchor                         the last checkpoint, signed: to be kept elsewhere\n"
		"  belljar audit checkpoint [--adopt]           have the notary sign now\n"
		"  belljar audit key                            the notary's public key\n"
		"  belljar audit prune --before TIME            remove old receipts; the rest stays verifiable",
	.details =
		"docs/receipts.md says what is in a receipt and what it proves.\n"
		"Exit status: 0 done, and for verify: everything is as it was; 1 verify found something, or there is no such receipt;\n"
		"2 usage; 125 belljar failed, or the notary refused.",
	.words = true,
	.opts = audit_opts,
};

/* ---- the database ---- */

static int audit_open(struct audit *a, struct err *e)
{
	if (a->open)
		return 0;
	if (!store_exists(a->dir)) {
		err_set(e, ERR_INPUT, "there are no receipts in %s", a->dir);
		return err_hint(e, "every run leaves one, unless --audit is off");
	}
	if (store_open(&a->store, a->dir, false, BUSY_MS, e) < 0)
		return -1;
	a->open = true;
	return 0;
}

/* ---- filters ---- */

struct filter {
	struct buf sql;
	int64_t since, until;
	uint8_t hash[DIGEST_SIZE];
};

/* Words of SQL that are ours, values that are bound. */
static int filter_make(struct filter *f, const struct audit *a, struct err *e)
{
	const struct {
		const char *value, *sql;
	} rows[] = {
		{ a->since, " AND time >= ?1" },
		{ a->until, " AND time < ?2" },
		{ a->status, " AND status = ?3" },
		{ a->reason, " AND reason = ?4" },
		{ a->language, " AND language = ?5" },
		{ a->client, " AND client = ?6" },
		{ a->hash, " AND (code = ?7 OR hash = ?7)" },
	};

	f->sql = (struct buf)BUF_INIT(4096);
	if ((a->since && receipt_parse_time(a->since, &f->since, e) < 0) ||
	    (a->until && receipt_parse_time(a->until, &f->until, e) < 0))
		return -1;
	if (a->hash && !digest_from_hex(a->hash, f->hash, DIGEST_SIZE))
		return err_set(e, ERR_USAGE, "--hash: '%.70s' is not 64 hexadecimal digits", a->hash);
	buf_str(&f->sql, " 1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].value)
			buf_str(&f->sql, rows[i].sql);
	return 0;
}

static void filter_bind(const struct filter *f, const struct audit *a, sqlite3_stmt *st)
{
	const char *const texts[] = { a->status, a->reason, a->language, a->client };

	sqlite3_bind_int64(st, 1, f->since);
	sqlite3_bind_int64(st, 2, f->until);
	for (int i = 0; i < 4; i++)
		if (texts[i])
			sqlite3_bind_text(st, 3 + i, texts[i], -1, SQLITE_STATIC);
	sqlite3_bind_blob(st, 7, f->hash, DIGEST_SIZE, SQLITE_STATIC);
}

static const char *text_of(sqlite3_stmt *st, int column)
{
	return (const char *)sqlite3_column_text(st, column);
}

/* ---- list ---- */

/* Names that strangers chose, on a line of a terminal. */
static void print_name(const char *text, int width)
{
	auto_buf out = BUF_INIT(1 << 16);
	struct escaper s = { ESCAPE_TEXT };

	output_escape(&s, text ? text : "-", text ? strlen(text) : 1, &out);
	for (size_t i = 0; i < out.len; i++)
		if (out.data[i] == '\n' || out.data[i] == '\033')
			out.data[i] = '?';
	printf("%-*s", width, out.data ? out.data : "");
}

static void list_text(sqlite3_stmt *st, bool first)
{
	char when[32];

	if (first)
		printf("%8s  %-24s  %-17s  %-10s  %-10s  %-10s  %s\n", "SEQ", "TIME", "ID", "STATUS", "REASON", "LANGUAGE",
		       "CLIENT");
	receipt_time(sqlite3_column_int64(st, 2), when);
	printf("%8lld  %-24s  ", (long long)sqlite3_column_int64(st, 0), when);
	for (int i = 0; i < 4; i++) {
		static const int columns[] = { 1, 5, 6, 4 }, widths[] = { 17, 10, 10, 10 };

		print_name(text_of(st, columns[i]), widths[i]);
		printf("  ");
	}
	print_name(text_of(st, 3), 0);
	putchar('\n');
}

static json_t *hex_or_null(sqlite3_stmt *st, int column)
{
	char hex[DIGEST_HEX];

	if (sqlite3_column_bytes(st, column) != DIGEST_SIZE)
		return json_null();
	digest_hex(sqlite3_column_blob(st, column), DIGEST_SIZE, hex);
	return json_string(hex);
}

static json_t *string_or_null(const char *text)
{
	json_t *s = text ? json_string(text) : NULL;

	return s ? s : json_null();
}

static void list_json(sqlite3_stmt *st, bool first)
{
	char when[32];
	json_t *o;

	receipt_time(sqlite3_column_int64(st, 2), when);
	o = json_pack("{s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "seq", (json_int_t)sqlite3_column_int64(st, 0), "id",
		      string_or_null(text_of(st, 1)), "time", when, "client", string_or_null(text_of(st, 3)), "language",
		      string_or_null(text_of(st, 4)), "status", string_or_null(text_of(st, 5)), "reason",
		      string_or_null(text_of(st, 6)), "code", hex_or_null(st, 7), "hash", hex_or_null(st, 8));
	fputs(first ? "[\n" : ",\n", stdout);
	json_dumpf(o, stdout, JSON_COMPACT);
	json_decref(o);
}

static int audit_list(struct audit *a, struct err *e)
{
	struct filter f;
	auto_buf sql = BUF_INIT(8192);
	sqlite3_stmt *st;
	bool first = true;
	int rc;

	if (filter_make(&f, a, e) < 0)
		return -1;
	if (!store_exists(a->dir)) {
		if (a->json)
			puts("[]");
		buf_done(&f.sql);
		return 0;
	}
	buf_fmt(&sql,
		"SELECT * FROM (SELECT seq, id, time, client, language, status, reason, code, hash FROM receipt WHERE%s ORDER BY seq DESC LIMIT %lld) ORDER BY seq",
		f.sql.data, a->limit ? (long long)a->limit : -1LL);
	buf_done(&f.sql);
	st = audit_open(a, e) < 0 ? NULL : store_prepare(&a->store, sql.data, e);
	if (!st)
		return -1;
	filter_bind(&f, a, st);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		(a->json ? list_json : list_text)(st, first);
		first = false;
	}
	sqlite3_finalize(st);
	if (rc != SQLITE_DONE)
		return store_error(&a->store, "read the receipts", e);
	if (a->json)
		puts(first ? "[]" : "\n]");
	return 0;
}

/* ---- show, code ---- */

/* By id or number. 1 when there is none. */
static int find(struct audit *a, sqlite3_stmt **out, struct err *e)
{
	char *end = NULL;
	long long seq = strtoll(a->word, &end, 10);
	bool number = a->word[0] && !*end;
	sqlite3_stmt *st;
	int rc;

	if (audit_open(a, e) < 0)
		return -1;
	st = store_prepare(&a->store,
			   number ? "SELECT seq, hash, body, code FROM receipt WHERE seq = ?"
				  : "SELECT seq, hash, body, code FROM receipt WHERE id = ? ORDER BY seq DESC",
			   e);
	if (!st)
		return -1;
	if (number)
		sqlite3_bind_int64(st, 1, seq);
	else
		sqlite3_bind_text(st, 1, a->word, -1, SQLITE_STATIC);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		*out = st;
		return 0;
	}
	sqlite3_finalize(st);
	if (rc != SQLITE_DONE)
		return store_error(&a->store, "read the receipts", e);
	fprintf(stderr, "there is no receipt ");
	cli_print_safe("'%s'%s\n", a->word, "");
	return 1;
}

static int audit_show(struct audit *a, struct err *e)
{
	sqlite3_stmt *st = NULL;
	int rc = find(a, &st, e);
	json_t *body, *o;

	if (rc)
		return rc;
	body = json_loadb(text_of(st, 2), (size_t)sqlite3_column_bytes(st, 2), JSON_ALLOW_NUL, NULL);
	o = json_pack("{s:I, s:o, s:o}", "seq", (json_int_t)sqlite3_column_int64(st, 0), "hash", hex_or_null(st, 1), "receipt",
		      body ? body : string_or_null(text_of(st, 2)));
	json_dumpf(o, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(o);
	sqlite3_finalize(st);
	return 0;
}

static int audit_code(struct audit *a, struct err *e)
{
	auto_buf code = BUF_INIT(RECEIPT_CODE_MAX + 1);
	uint8_t hash[DIGEST_SIZE], really[DIGEST_SIZE];
	sqlite3_stmt *st = NULL;
	int rc = find(a, &st, e);

	if (rc)
		return rc;
	rc = sqlite3_column_bytes(st, 3) == DIGEST_SIZE;
	if (rc)
		memcpy(hash, sqlite3_column_blob(st, 3), DIGEST_SIZE);
	sqlite3_finalize(st);
	if (!rc) {
		fprintf(stderr, "this receipt is of a program, not of code\n");
		return 1;
	}
	rc = store_code(&a->store, hash, &code, e);
	if (rc) {
		if (rc > 0)
			fprintf(stderr, rc == 2 ? "the code was removed for room, only its hash is there (receipts.code-max-size, docs/receipts.md)\n"
						: "the code was not kept, only its hash (--no-keep-code)\n");
		return rc > 0 ? 1 : rc;
	}
	digest_of(code.data ? code.data : "", code.len, really);
	if (memcmp(hash, really, DIGEST_SIZE) != 0)
		return err_set(e, ERR_INPUT, "the code was changed: it does not have its hash");
	return fd_write_all(1, code.data ? code.data : "", code.len) < 0 ? err_sys(e, "write the code") : 0;
}

/* ---- the notary ---- */

static void reap(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static int sign_now(struct audit *a, struct checkpoint *out, struct err *e)
{
	int sock, rc;

	if (audit_open(a, e) < 0)
		return -1;
	sock = signer_start(a->dir, a->adopt ? SIGNER_ADOPT : SIGNER_PLAIN, e);
	if (sock < 0)
		return -1;
	rc = a->adopt ? signer_adopt(sock, &a->store, out, e) : signer_sign(sock, &a->store, out, e);
	close(sock);
	reap();
	return rc;
}

static void print_checkpoint(const struct checkpoint *c)
{
	auto_buf text = BUF_INIT(4096);

	checkpoint_to_json(c, &text);
	puts(text.data ? text.data : "");
}

static int audit_checkpoint(struct audit *a, struct err *e)
{
	struct checkpoint c;

	if (sign_now(a, &c, e) < 0)
		return -1;
	print_checkpoint(&c);
	return 0;
}

static int audit_key(struct audit *a, struct err *e)
{
	uint8_t pub[KEY_SIZE];
	char pem[KEY_PEM_MAX];
	int rc = signer_key(a->dir, pub, e);

	if (rc < 0)
		return -1;
	if (rc) {
		err_set(e, ERR_INPUT, "the notary has no key yet");
		return err_hint(e, "it makes one when it first signs: belljar audit checkpoint");
	}
	key_to_pem(pub, pem);
	fputs(pem, stdout);
	return 0;
}

/* ---- verify ---- */

struct verifying {
	struct audit *a;
	int checker; /* socket of a notary that checks signatures */
	json_t *findings;
};

static int check_signature(void *ctx, const struct checkpoint *c, const uint8_t pub[KEY_SIZE], struct err *e)
{
	return signer_check(((struct verifying *)ctx)->checker, c, pub, e);
}

static void on_finding(void *ctx, const struct verify_finding *f)
{
	struct verifying *w = ctx;

	if (json_array_size(w->findings) < 1000)
		json_array_append_new(w->findings, json_pack("{s:s, s:o, s:o, s:o}", "kind", verify_kind_names[f->kind], "seq",
							     f->seq ? json_integer((json_int_t)f->seq) : json_null(), "id",
							     string_or_null(f->id && f->id[0] ? f->id : NULL), "text",
							     string_or_null(f->text)));
	if (w->a->json)
		return;
	printf("%s: ", verify_kind_names[f->kind]);
	print_name(f->text, 0);
	if (f->id && f->id[0]) {
		printf(" (");
		print_name(f->id, 0);
		printf(")");
	}
	putchar('\n');
}

static int add_key(struct verify *v, const uint8_t pub[KEY_SIZE], struct err *e)
{
	if (v->key_count == VERIFY_KEYS)
		return err_set(e, ERR_USAGE, "--key: at most %d of them", VERIFY_KEYS);
	memcpy(v->keys[v->key_count++], pub, KEY_SIZE);
	return 0;
}

static int add_keys(struct verify *v, const struct audit *a, struct err *e)
{
	for (size_t i = 0; i < a->keys.n; i++) {
		char text[4096];
		uint8_t pub[KEY_SIZE];
		ssize_t n = fd_read_file(AT_FDCWD, a->keys.v[i], text, sizeof(text));

		if (n < 0) {
			err_sys(e, "--key: %s", a->keys.v[i]);
			e->kind = ERR_INPUT;
			return -1;
		}
		if (key_from_pem(text, pub, e) < 0)
			return err_wrap(e, "--key: %s", a->keys.v[i]);
		if (add_key(v, pub, e) < 0)
			return -1;
	}
	return 0;
}

static int add_anchor(struct verify *v, const char *anchor, struct err *e)
{
	char text[8192];
	ssize_t n = 0;
	struct checkpoint c;

	if (!anchor)
		return 0;
	if (anchor[0] == '{')
		n = snprintf(text, sizeof(text), "%s", anchor);
	else
		n = fd_read_file(AT_FDCWD, anchor, text, sizeof(text));
	if (n < 0 || n >= (ssize_t)sizeof(text)) {
		err_sys(e, "--anchor: %s", anchor);
		e->kind = ERR_INPUT;
		return -1;
	}
	if (checkpoint_from_json(text, (size_t)n, &c, e) < 0)
		return err_wrap(e, "--anchor");
	return verify_add(v, &c, "the anchor", e);
}

static int add_table(struct verify *v, struct audit *a, const char *sql, struct err *e)
{
	sqlite3_stmt *st = store_prepare(&a->store, sql, e);
	int rc = 0, step;

	if (!st)
		return -1;
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		struct checkpoint c;
		struct err why;

		if (checkpoint_from_json(text_of(st, 0), (size_t)sqlite3_column_bytes(st, 0), &c, &why) < 0)
			verify_tell(v, VERIFY_SIGNATURE, 0, NULL, "the database has a checkpoint that is none");
		else
			rc = verify_add(v, &c, "the database", e);
	}
	sqlite3_finalize(st);
	return rc < 0 ? -1 : step != SQLITE_DONE ? store_error(&a->store, "read the checkpoints", e) : 0;
}

/* The notary's folder: its key is trusted, and what it signed last must be in the chain. */
static int add_notary(struct verify *v, const struct audit *a, struct err *e)
{
	struct checkpoint last;
	uint8_t pub[KEY_SIZE];
	struct err why = { 0 };
	int key = signer_key(a->dir, pub, &why), have;

	if (key < 0)
		verify_tell(v, VERIFY_NOTARY, 0, NULL, "%s", why.msg);
	if (key == 0 && add_key(v, pub, e) < 0)
		return -1;
	have = signer_last(a->dir, &last, &why);
	if (have < 0 || (have > 0 && key == 0))
		verify_tell(v, VERIFY_NOTARY, 0, NULL, "%s",
			    have < 0 ? why.msg : "the notary has a key, but its last checkpoint is gone");
	return have == 0 ? verify_add(v, &last, "the notary", e) : 0;
}

static int verify_rows(struct verify *v, struct audit *a, struct err *e)
{
	sqlite3_stmt *st = store_prepare(
		&a->store, "SELECT seq, id, time, client, language, status, reason, code, hash, body FROM receipt ORDER BY seq",
		e);
	int rc = 0, step;

	if (!st)
		return -1;
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		struct receipt_body columns = { .id = text_of(st, 1),
						.time_ms = sqlite3_column_int64(st, 2),
						.client = text_of(st, 3),
						.language = text_of(st, 4),
						.status = text_of(st, 5),
						.reason = text_of(st, 6) };
		struct verify_row row = { .seq = (uint64_t)sqlite3_column_int64(st, 0), .columns = &columns };

		columns.has_code = sqlite3_column_type(st, 7) != SQLITE_NULL;
		if (sqlite3_column_bytes(st, 7) == DIGEST_SIZE)
			memcpy(columns.code_hash, sqlite3_column_blob(st, 7), DIGEST_SIZE);
		if (sqlite3_column_bytes(st, 8) == DIGEST_SIZE)
			memcpy(row.hash, sqlite3_column_blob(st, 8), DIGEST_SIZE);
		row.body = text_of(st, 9);
		row.len = (size_t)sqlite3_column_bytes(st, 9);
		rc = verify_receipt(v, &row, e);
	}
	sqlite3_finalize(st);
	return rc < 0 ? -1 : step != SQLITE_DONE ? store_error(&a->store, "read the receipts", e) : verify_end(v, e);
}

/* What is kept under a hash has it, and what a receipt says is kept is there. */
static int verify_code(struct verify *v, struct audit *a, struct err *e)
{
	sqlite3_stmt *st = store_prepare(&a->store, "SELECT hash FROM code WHERE form <> 2", e);
	int step;

	if (!st)
		return -1;
	while ((step = sqlite3_step(st)) == SQLITE_ROW) {
		auto_buf code = BUF_INIT(RECEIPT_CODE_MAX + 1);
		uint8_t hash[DIGEST_SIZE] = { 0 }, really[DIGEST_SIZE];
		char hex[DIGEST_HEX];
		struct err why;

		if (sqlite3_column_bytes(st, 0) == DIGEST_SIZE)
			memcpy(hash, sqlite3_column_blob(st, 0), DIGEST_SIZE);
		digest_hex(hash, DIGEST_SIZE, hex);
		if (store_code(&a->store, hash, &code, &why) == 0)
			digest_of(code.data ? code.data : "", code.len, really);
		else
			memset(really, 0xff, sizeof(really));
		if (memcmp(hash, really, DIGEST_SIZE) != 0)
			verify_tell(v, VERIFY_CODE, 0, NULL, "the code that is kept as %s was changed", hex);
	}
	sqlite3_finalize(st);
	if (step != SQLITE_DONE)
		return store_error(&a->store, "read the code", e);
	st = store_prepare(
		&a->store,
		"SELECT seq, id FROM receipt r WHERE code IS NOT NULL AND CASE WHEN json_valid(body) THEN json_extract(body, '$.code.kept') END = 1 AND NOT EXISTS (SELECT 1 FROM code c WHERE c.hash = r.code) ORDER BY seq",
		e);
	if (!st)
		return -1;
	while ((step = sqlite3_step(st)) == SQLITE_ROW)
		verify_tell(v, VERIFY_CODE, (uint64_t)sqlite3_column_int64(st, 0), text_of(st, 1),
			    "the code of receipt %lld is gone", (long long)sqlite3_column_int64(st, 0));
	sqlite3_finalize(st);
	return step == SQLITE_DONE ? 0 : store_error(&a->store, "read the code", e);
}

static int verify_here(struct verify *v, struct audit *a, struct err *e)
{
	/* The notary first: a run that ends meanwhile may sign what our snapshot does not have. */
	if (add_notary(v, a, e) < 0 || add_anchor(v, a->anchor, e) < 0)
		return -1;
	if (!store_exists(a->dir)) {
		if (v->checkpoints)
			return verify_end(v, e);
		return audit_open(a, e);
	}
	if (audit_open(a, e) < 0 || store_begin_read(&a->store, e) < 0)
		return -1;
	return add_table(v, a, "SELECT text FROM prune ORDER BY number", e) < 0 ||
			       add_table(v, a, "SELECT text FROM checkpoint ORDER BY number", e) < 0 ||
			       verify_rows(v, a, e) < 0 || verify_code(v, a, e) < 0
		       ? -1
		       : 0;
}

static int verify_file(struct verify *v, struct audit *a, struct err *e)
{
	auto_close int fd = strcmp(a->export_file, "-") == 0 ? fcntl(0, F_DUPFD_CLOEXEC, 3)
							     : open(a->export_file, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		err_sys(e, "--export: %s", a->export_file);
		e->kind = ERR_INPUT;
		return -1;
	}
	if (!v->key_count) {
		err_set(e, ERR_USAGE, "--export needs --key FILE: the key in the export itself proves nothing");
		return err_hint(e, "belljar audit key, on the host that it is from");
	}
	return add_anchor(v, a->anchor, e) < 0 ? -1 : export_verify(fd, v, e);
}

static void tell_json(const struct verify *v, const struct verifying *w)
{
	char when[32], head[DIGEST_HEX];
	json_t *o;

	receipt_time(v->signed_ms, when);
	digest_hex(v->head, DIGEST_SIZE, head);
	o = json_pack("{s:b, s:I, s:I, s:I, s:I, s:s, s:I, s:I, s:o, s:I, s:O}", "ok", v->findings == 0, "receipts",
		      (json_int_t)v->receipts, "digests", (json_int_t)v->digests, "first", (json_int_t)v->first, "last",
		      (json_int_t)v->last, "head", head, "checkpoints", (json_int_t)v->checkpoints, "signed",
		      (json_int_t)v->signed_seq, "signed_time", v->signed_seq ? json_string(when) : json_null(), "pruned",
		      (json_int_t)v->pruned.seq, "findings", w->findings);
	json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
}

static void tell_text(const struct verify *v)
{
	char when[32];

	if (v->pruned.seq) {
		receipt_time(v->pruned.time_ms, when);
		printf("receipts 1 to %llu were pruned at %s, signed\n", (unsigned long long)v->pruned.seq, when);
	}
	if (v->findings)
		printf("NOT SOUND: %llu finding%s\n", (unsigned long long)v->findings, v->findings == 1 ? "" : "s");
	else
		printf("sound: %llu receipt%s", (unsigned long long)v->receipts, v->receipts == 1 ? "" : "s");
	if (v->findings)
		return;
	if (v->digests)
		printf(" and %llu by their hash alone", (unsigned long long)v->digests);
	if (v->last)
		printf(", %llu to %llu", (unsigned long long)v->first, (unsigned long long)v->last);
	receipt_time(v->signed_ms, when);
	if (v->signed_seq)
		printf("; signed up to %llu (%s)", (unsigned long long)v->signed_seq, when);
	printf("\n");
	if (v->last > v->signed_seq)
		printf("%llu of them are not signed yet: belljar audit checkpoint\n",
		       (unsigned long long)(v->last - v->signed_seq));
	if (v->clock_went_back)
		printf("the clock went back between two checkpoints\n");
}

static int run_verify(struct audit *a, struct verify *v, struct verifying *w, struct err *e)
{
	int rc;

	w->a = a;
	w->findings = json_array();
	w->checker = signer_start("", SIGNER_VERIFY, e);
	v->check = check_signature;
	v->found = on_finding;
	v->ctx = w;
	if (w->checker < 0)
		return -1;
	rc = add_keys(v, a, e) < 0 ? -1 : a->export_file ? verify_file(v, a, e) : verify_here(v, a, e);
	if (a->open)
		store_end_read(&a->store);
	fd_close(&w->checker);
	reap();
	return rc;
}

static int audit_verify(struct audit *a, struct err *e)
{
	static struct verify v;
	struct verifying w;
	int rc = run_verify(a, &v, &w, e);

	if (rc == 0 && a->json)
		tell_json(&v, &w);
	else if (rc == 0)
		tell_text(&v);
	json_decref(w.findings);
	verify_done(&v);
	return rc < 0 ? -1 : v.findings > 0;
}

/* The last thing that was signed, as it can be shown to others. */
static int audit_anchor(struct audit *a, struct err *e)
{
	struct checkpoint c;
	int rc = signer_last(a->dir, &c, e);

	if (rc < 0)
		return -1;
	if (rc || !c.seq) {
		err_set(e, ERR_INPUT, "nothing was signed yet");
		return err_hint(e, "belljar audit checkpoint");
	}
	print_checkpoint(&c);
	return 0;
}

/* ---- export ---- */

static int put_out(struct buf *out, bool all, struct err *e)
{
	if (out->failed)
		return err_set(e, ERR_INTERNAL, "no memory for the export");
	if (!all && out->len < FLUSH_AT)
		return 0;
	if (out->len && fd_write_all(1, out->data, out->len) < 0)
		return err_sys(e, "write the export");
	out->len = 0;
	return 0;
}

static int export_table(struct audit *a, const char *sql, struct buf *out, struct err *e)
{
	sqlite3_stmt *st = store_prepare(&a->store, sql, e);
	int rc = 0, step;

	if (!st)
		return -1;
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		buf_add(out, sqlite3_column_text(st, 0), (size_t)sqlite3_column_bytes(st, 0));
		buf_str(out, "\n");
		rc = put_out(out, false, e);
	}
	sqlite3_finalize(st);
	return rc < 0 ? -1 : step == SQLITE_DONE ? 0 : store_error(&a->store, "read the checkpoints", e);
}

static int export_rows(struct audit *a, struct buf *out, struct err *e)
{
	struct filter f;
	auto_buf sql = BUF_INIT(8192);
	sqlite3_stmt *st;
	int rc = 0, step;

	if (filter_make(&f, a, e) < 0)
		return -1;
	buf_fmt(&sql, "SELECT seq, hash, body,%s FROM receipt ORDER BY seq", f.sql.data);
	buf_done(&f.sql);
	st = store_prepare(&a->store, sql.data, e);
	if (!st)
		return -1;
	filter_bind(&f, a, st);
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t seq = (uint64_t)sqlite3_column_int64(st, 0);
		uint8_t hash[DIGEST_SIZE] = { 0 };

		if (sqlite3_column_bytes(st, 1) == DIGEST_SIZE)
			memcpy(hash, sqlite3_column_blob(st, 1), DIGEST_SIZE);
		if (sqlite3_column_int(st, 3))
			export_receipt(seq, hash, text_of(st, 2), (size_t)sqlite3_column_bytes(st, 2), out);
		else
			export_digest(seq, hash, out);
		rc = put_out(out, false, e);
	}
	sqlite3_finalize(st);
	return rc < 0 ? -1 : step == SQLITE_DONE ? 0 : store_error(&a->store, "read the receipts", e);
}

static int audit_export(struct audit *a, struct err *e)
{
	auto_buf out = BUF_INIT(FLUSH_AT * 8);
	struct checkpoint c;
	struct err why = { 0 };
	uint8_t pub[KEY_SIZE] = { 0 };
	struct filter f;
	bool has_key;

	if (filter_make(&f, a, e) < 0)
		return -1;
	buf_done(&f.sql);
	/* What goes out shall be signed to its end. */
	if (audit_open(a, e) < 0)
		return -1;
	if (sign_now(a, &c, &why) < 0)
		cli_print_safe("belljar: not signed to its end: %s%s\n", why.msg, "");
	has_key = signer_key(a->dir, pub, &why) == 0;
	export_begin(pub, has_key, &out);
	if (store_begin_read(&a->store, e) < 0)
		return -1;
	return export_table(a, "SELECT text FROM prune ORDER BY number", &out, e) < 0 ||
			       export_table(a, "SELECT text FROM checkpoint ORDER BY number", &out, e) < 0 ||
			       export_rows(a, &out, e) < 0 || put_out(&out, true, e) < 0
		       ? -1
		       : 0;
}

/* ---- prune ---- */

struct folded {
	uint64_t end;
	struct checkpoint *c;
};

static int fold_one(uint64_t seq, const uint8_t *hash, void *ctx)
{
	struct folded *f = ctx;

	if (seq > f->end)
		return 1;
	checkpoint_fold(f->c->head, hash);
	memcpy(f->c->receipt, hash, DIGEST_SIZE);
	f->c->seq = seq;
	return 0;
}

/* The last receipt before the first that is not older: a clock that went back removes nothing that is newer. At least one receipt stays. */
static int find_boundary(struct audit *a, int64_t before, uint64_t *out, struct err *e)
{
	sqlite3_stmt *st = store_prepare(
		&a->store, "SELECT coalesce((SELECT min(seq) FROM receipt WHERE time >= ?), max(seq)) - 1 FROM receipt", e);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, before);
	rc = sqlite3_step(st);
	*out = rc == SQLITE_ROW && sqlite3_column_int64(st, 0) > 0 ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : store_error(&a->store, "read the receipts", e);
}

static int sign_prune(struct audit *a, uint64_t boundary, struct checkpoint *out, struct err *e)
{
	struct checkpoint from = { 0 };
	struct folded f = { boundary, &from };
	int sock, rc;

	if (store_last_prune(&a->store, &from, e) < 0 || store_each_hash(&a->store, from.seq, fold_one, &f, e) < 0)
		return -1;
	sock = signer_start(a->dir, SIGNER_PRUNE, e);
	if (sock < 0)
		return -1;
	rc = signer_prune(sock, &a->store, &from, out, e);
	close(sock);
	reap();
	return rc;
}

/* Pruning a chain that is not sound would bury the evidence. */
static int must_be_sound(struct audit *a, struct err *e)
{
	static struct verify v;
	struct verifying w = { .a = a };
	int rc;

	a->json = true; /* findings are for verify to print */
	rc = run_verify(a, &v, &w, e);
	json_decref(w.findings);
	verify_done(&v);
	if (rc == 0 && v.findings) {
		err_set(e, ERR_DENIED, "the receipts are not sound; nothing was pruned");
		err_hint(e, "belljar audit verify says what is wrong");
		rc = -1;
	}
	return rc;
}

static int audit_prune(struct audit *a, struct err *e)
{
	struct checkpoint c, record;
	uint64_t boundary, receipts = 0, codes = 0, pruned;
	int64_t before;

	if (!a->before) {
		err_set(e, ERR_USAGE, "prune what?");
		return err_hint(e, "belljar audit prune --before 90d, or --before 2026-01-01");
	}
	if (receipt_parse_time(a->before, &before, e) < 0 || audit_open(a, e) < 0 || store_last_prune(&a->store, &c, e) < 0 ||
	    find_boundary(a, before, &boundary, e) < 0)
		return -1;
	pruned = store_last_prune(&a->store, &c, e) == 0 ? c.seq : 0;
	if (boundary <= pruned) {
		printf("nothing to prune\n");
		return 0;
	}
	if (a->dry_run) {
		printf("receipts %llu to %llu would be pruned\n", (unsigned long long)pruned + 1, (unsigned long long)boundary);
		return 0;
	}
	if (must_be_sound(a, e) < 0 || sign_now(a, &c, e) < 0 || sign_prune(a, boundary, &record, e) < 0 ||
	    store_prune(&a->store, &record, &receipts, &codes, e) < 0)
		return -1;
	printf("pruned: receipts %llu to %llu (%llu), %llu of the codes they were of\n", (unsigned long long)pruned + 1,
	       (unsigned long long)boundary, (unsigned long long)receipts, (unsigned long long)codes);
	return 0;
}

/* ---- the verbs ---- */

static const struct {
	const char *name;
	int (*run)(struct audit *a, struct err *e);
	bool word; /* takes an ID */
} verbs[] = {
	{ "list", audit_list, false },	   { "show", audit_show, true },
	{ "code", audit_code, true },	   { "export", audit_export, false },
	{ "verify", audit_verify, false }, { "prune", audit_prune, false },
	{ "anchor", audit_anchor, false }, { "checkpoint", audit_checkpoint, false },
	{ "key", audit_key, false },
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int run_verb(struct audit *a, const struct strlist *words, struct err *e)
{
	for (size_t i = 0; words->n && i < VERBS; i++) {
		if (strcmp(words->v[0], verbs[i].name) != 0)
			continue;
		if (words->n != (verbs[i].word ? 2 : 1)) {
			err_set(e, ERR_USAGE, verbs[i].word ? "audit %s needs one ID" : "audit %s takes no further words",
				verbs[i].name);
			return err_hint(e, "belljar audit --help");
		}
		a->word = verbs[i].word ? words->v[1] : NULL;
		return state_dir(a->dir, sizeof(a->dir), e) < 0 ? -1 : verbs[i].run(a, e);
	}
	if (words->n)
		err_set(e, ERR_USAGE,
			"audit: '%.40s' is none of list, show, code, export, verify, prune, anchor, checkpoint, key",
			words->v[0]);
	else
		err_set(e, ERR_USAGE, "audit: say what to do");
	return err_hint(e, "belljar audit --help");
}

int cmd_audit(int argc, char **argv)
{
	static struct audit a;
	struct arena arena = { 0 };
	struct opt_rest rest;
	struct err e = { 0 };
	int status = 0;

	opt_defaults(audit_opts, &a, &arena);
	if (cli_parse(&cmd_audit_opts, argc, argv, &a, &rest, &arena, &status))
		return status;
	status = run_verb(&a, &rest.words, &e);
	if (status < 0) {
		status = cli_error(&e);
		/* A file that is not what it should be is belljar's word for input; here only usage is 2. */
		status = status == 2 ? 2 : 125;
	}
	if (fflush(stdout) != 0 && status == 0)
		status = 125;
	if (a.open)
		store_close(&a.store);
	arena_free(&arena);
	return status;
}
