/* SPDX-License-Identifier: Apache-2.0 */
/* The database of receipts. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fd.h"

/*
 * Theory of operation
 *
 * SQLite with a write-ahead log and synchronous=FULL: a commit is one write to the log and one fdatasync. Writers of several processes take turns
 * by BEGIN IMMEDIATE; whoever has the turn reads the end of the chain and appends to it, so that there is one chain whoever writes.
 *
 * The log is not moved into the database when a process closes it (that takes further syncs, and one-shot runs would pay them every time): store_tidy()
 * does it now and then. It must stay small: the first process that opens the database when no other has it open reads all of it.
 *
 * The columns beside `body` are copies for filters. Nothing believes them: verifying compares them with the body, and only the body is hashed.
 */

#define SCHEMA_VERSION 1
#define ROOM_BYTES     (1U << 20) /* less room than this on the disk counts as none */
#define PACK_BYTES     1024	  /* smaller code is kept as it is: little would be gained */
#define PACK_LEVEL     1

enum code_form { CODE_PLAIN, CODE_ZSTD, CODE_REMOVED };

static const char schema[] =
	"PRAGMA journal_mode=WAL;"
	"BEGIN IMMEDIATE;"
	"CREATE TABLE receipt(seq INTEGER PRIMARY KEY, id TEXT NOT NULL, time INTEGER NOT NULL, client TEXT, language TEXT,"
	" status TEXT NOT NULL, reason TEXT NOT NULL, code BLOB, hash BLOB NOT NULL, body TEXT NOT NULL) STRICT;"
	"CREATE INDEX receipt_id ON receipt(id);"
	"CREATE TABLE code(hash BLOB NOT NULL, form INTEGER NOT NULL, bytes INTEGER NOT NULL, data BLOB NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX code_hash ON code(hash);"
	"CREATE TABLE checkpoint(number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;"
	"CREATE TABLE prune(number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;"
	"PRAGMA user_version=1;"
	"COMMIT;";

static const char *const statements[STORE_STATEMENTS] = {
	[STORE_LAST] = "SELECT seq, hash FROM receipt ORDER BY seq DESC LIMIT 1",
	[STORE_ADD] =
		"INSERT INTO receipt(seq, id, time, client, language, status, reason, code, hash, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[STORE_HAS_CODE] = "SELECT form FROM code WHERE hash = ?",
	[STORE_FORGET_CODE] = "DELETE FROM code WHERE hash = ?",
	[STORE_ADD_CODE] = "INSERT INTO code(hash, form, bytes, data) VALUES(?, ?, ?, ?)",
	[STORE_HASH_AT] = "SELECT hash FROM receipt WHERE seq = ?",
	[STORE_HASHES] = "SELECT seq, hash FROM receipt WHERE seq > ? ORDER BY seq",
	[STORE_ADD_CHECKPOINT] = "INSERT INTO checkpoint(text) VALUES(?)",
	[STORE_LAST_CHECKPOINT] = "SELECT text FROM checkpoint ORDER BY number DESC LIMIT 1",
	[STORE_LAST_PRUNE] = "SELECT text FROM prune ORDER BY number DESC LIMIT 1",
};

/* ---- errors ---- */

int store_error(struct store *s, const char *what, struct err *e)
{
	int code = s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;

	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		err_set(e, ERR_SETUP, "%s: another process keeps %s locked", what, s->path);
		err_hint(e, "fuser %s says who; --audit best-effort goes on without receipts", s->path);
		break;
	case SQLITE_FULL:
		err_set(e, ERR_SETUP, "%s: no room on the disk for %s", what, s->path);
		err_hint(e, "make room (belljar audit prune, belljar clean); --audit best-effort goes on without receipts");
		break;
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
		err_set(e, ERR_SETUP, "%s: %s cannot be opened for writing (%s)", what, s->path,
			s->db ? sqlite3_errmsg(s->db) : "no memory");
		err_hint(e, "look at who owns it; --audit best-effort goes on without receipts");
		break;
	default:
		err_set(e, ERR_SETUP, "%s: %s: %s", what, s->path, s->db ? sqlite3_errmsg(s->db) : "no memory");
		err_hint(e, "belljar audit verify; --audit best-effort goes on without receipts");
	}
	return -1;
}

static int exec(struct store *s, const char *sql, const char *what, struct err *e)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_error(s, what, e);
}

static void rollback(struct store *s)
{
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

static sqlite3_stmt *statement(struct store *s, enum store_statement n, struct err *e)
{
	if (!s->st[n] && sqlite3_prepare_v3(s->db, statements[n], -1, SQLITE_PREPARE_PERSISTENT, &s->st[n], NULL) != SQLITE_OK) {
		store_error(s, "read the receipts", e);
		return NULL;
	}
	return s->st[n];
}

sqlite3_stmt *store_prepare(struct store *s, const char *sql, struct err *e)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK)
		store_error(s, "read the receipts", e);
	return st;
}

/* ---- opening ---- */

void store_set_busy(struct store *s, int busy_ms)
{
	sqlite3_busy_timeout(s->db, busy_ms);
	if (busy_ms)
		s->busy_ms = busy_ms;
}

static int count_pages(void *ctx, sqlite3 *db, const char *name, int pages)
{
	struct store *s = ctx;

	(void)db;
	(void)name;
	s->wal_pages = pages;
	return SQLITE_OK;
}

static int schema_version(struct store *s, struct err *e)
{
	sqlite3_stmt *st = store_prepare(s, "PRAGMA user_version", e);
	int version = -1;

	if (!st)
		return -1;
	if (sqlite3_step(st) == SQLITE_ROW)
		version = sqlite3_column_int(st, 0);
	else
		store_error(s, "open the receipts", e);
	sqlite3_finalize(st);
	return version;
}

/* Two that find nothing at the same time: the second one finds what the first one made. */
static int make_schema(struct store *s, struct err *e)
{
	int version, rc;

	if (flock(s->dir, LOCK_EX) < 0)
		return err_sys(e, "lock the state folder");
	version = schema_version(s, e);
	rc = version < 0 ? -1 : version > 0 ? 0 : exec(s, schema, "make the receipts", e);
	if (rc < 0)
		rollback(s);
	flock(s->dir, LOCK_UN);
	return rc;
}

static int check_schema(struct store *s, bool create, struct err *e)
{
	int version = schema_version(s, e);

	if (version < 0)
		return -1;
	if (version == 0)
		return create ? make_schema(s, e) : err_set(e, ERR_INPUT, "%s has no receipts in it", s->path);
	if (version != SCHEMA_VERSION) {
		err_set(e, ERR_SETUP, "%s is of version %d; this belljar knows version %d", s->path, version, SCHEMA_VERSION);
		return err_hint(e, "use the belljar that wrote it, or another state folder (BELLJAR_STATE_DIR)");
	}
	return 0;
}

static int open_file(struct store *s, bool create, int busy_ms, struct err *e)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_PRIVATECACHE;

	if (create && access(s->path, F_OK) < 0) {
		/* SQLite would make it by the umask; its log and index get the mode of the database. */
		auto_close int fd = open(s->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0 || fchmod(fd, 0600) < 0) {
			err_sys(e, "make %s", s->path);
			return err_hint(e, "receipts are kept there; --audit best-effort goes on without them");
		}
	}
	if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK)
		return store_error(s, "open the receipts", e);
	if (sqlite3_db_readonly(s->db, "main")) {
		err_set(e, ERR_SETUP, "open the receipts: %s cannot be written", s->path);
		return err_hint(e, "look at who owns it; --audit best-effort goes on without receipts");
	}
	store_set_busy(s, busy_ms);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_wal_hook(s->db, count_pages, s);
	/* The log of a large group is given back when the next one begins it anew. */
	return exec(s, "PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=8388608", "open the receipts", e);
}

bool store_exists(const char *dir)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/" STORE_FILE, dir);
	return access(path, F_OK) == 0;
}

int store_open(struct store *s, const char *dir, bool create, int busy_ms, struct err *e)
{
	/* SQLite follows no link on the way to its files, but a home may well lie behind one. */
	auto_free char *real = realpath(dir, NULL);

	memset(s, 0, sizeof(*s));
	s->body.max = RECEIPT_BODY_MAX + 4096;
	s->dir = real ? open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (s->dir < 0) {
		err_sys(e, "open the state folder %s", dir);
	} else if (snprintf(s->path, sizeof(s->path), "%s/" STORE_FILE, real) >= (int)sizeof(s->path)) {
		err_set(e, ERR_SETUP, "the state folder's name is too long");
	} else if (open_file(s, create, busy_ms, e) == 0 && check_schema(s, create, e) == 0) {
		return 0;
	}
	store_close(s);
	return -1;
}

void store_close(struct store *s)
{
	for (int i = 0; i < STORE_STATEMENTS; i++)
		sqlite3_finalize(s->st[i]);
	sqlite3_close(s->db);
	s->db = NULL;
	memset(s->st, 0, sizeof(s->st));
	ZSTD_freeCCtx(s->zstd);
	s->zstd = NULL;
	buf_done(&s->body);
	fd_close(&s->dir);
}

int store_probe(struct store *s, struct err *e)
{
	struct statvfs v;

	if (fstatvfs(s->dir, &v) == 0 && (uint64_t)(geteuid() == 0 ? v.f_bfree : v.f_bavail) * v.f_frsize < ROOM_BYTES) {
		err_set(e, ERR_SETUP, "keep a receipt: no room on the disk for %s", s->path);
		return err_hint(e,
				"make room (belljar audit prune, belljar clean); --audit best-effort goes on without receipts");
	}
	if (exec(s, "BEGIN IMMEDIATE", "keep a receipt", e) < 0)
		return -1;
	rollback(s);
	return 0;
}

void store_warm(struct store *s)
{
	struct receipt_place last;
	struct err e;

	for (int i = STORE_ADD; i <= STORE_ADD_CODE; i++)
		statement(s, (enum store_statement)i, &e);
	/* And its pages are in memory. */
	store_last(s, &last, &e);
}

/* ---- appending ---- */

static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	if (text)
		sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(st, at);
}

static int step_done(struct store *s, sqlite3_stmt *st, const char *what, struct err *e)
{
	int rc = sqlite3_step(st);

	sqlite3_reset(st);
	return rc == SQLITE_DONE ? 0 : store_error(s, what, e);
}

/* Packed, to be freed; NULL when it is better kept as it is. */
static char *pack(struct store *s, const struct receipt *r, size_t *len)
{
	size_t bound = ZSTD_compressBound(r->code_len);
	char *packed = r->code_len < PACK_BYTES ? NULL : malloc(bound);

	if (!packed)
		return NULL;
	if (!s->zstd)
		s->zstd = ZSTD_createCCtx();
	*len = s->zstd ? ZSTD_compressCCtx(s->zstd, packed, bound, r->code, r->code_len, PACK_LEVEL) : r->code_len;
	if (!ZSTD_isError(*len) && *len < r->code_len)
		return packed;
	free(packed);
	return NULL;
}

static int forget_code(struct store *s, const uint8_t hash[DIGEST_SIZE], struct err *e)
{
	sqlite3_stmt *st = statement(s, STORE_FORGET_CODE, e);

	if (!st)
		return -1;
	sqlite3_bind_blob(st, 1, hash, DIGEST_SIZE, SQLITE_STATIC);
	return step_done(s, st, "keep the code", e);
}

/* Kept once, whoever brings it. */
static int add_code(struct store *s, const struct receipt *r, struct err *e)
{
	sqlite3_stmt *has = statement(s, STORE_HAS_CODE, e), *add = has ? statement(s, STORE_ADD_CODE, e) : NULL;
	size_t len = r->code_len;
	char *packed;
	bool removed;
	int rc;

	if (!add)
		return -1;
	sqlite3_bind_blob(has, 1, r->code_hash, DIGEST_SIZE, SQLITE_STATIC);
	rc = sqlite3_step(has);
	removed = rc == SQLITE_ROW && sqlite3_column_int(has, 0) == CODE_REMOVED;
	sqlite3_reset(has);
	if (rc != SQLITE_DONE && !removed)
		return rc == SQLITE_ROW ? 0 : store_error(s, "keep the code", e);
	/* It was removed for room, and comes again: it is the newest now. */
	if (removed && forget_code(s, r->code_hash, e) < 0)
		return -1;
	packed = pack(s, r, &len);
	sqlite3_bind_blob(add, 1, r->code_hash, DIGEST_SIZE, SQLITE_STATIC);
	sqlite3_bind_int(add, 2, packed ? CODE_ZSTD : CODE_PLAIN);
	sqlite3_bind_int64(add, 3, (sqlite3_int64)r->code_len);
	/* A NULL pointer would be NULL, not empty. */
	sqlite3_bind_blob64(add, 4, packed ? packed : r->code_len ? r->code : "", packed ? len : r->code_len, SQLITE_STATIC);
	rc = step_done(s, add, "keep the code", e);
	s->code_added += packed ? len : r->code_len;
	free(packed);
	return rc;
}

static int add_receipt(struct store *s, const struct receipt *r, struct receipt_place *at, struct err *e)
{
	sqlite3_stmt *st = statement(s, STORE_ADD, e);
	struct receipt_place next = { .seq = at->seq + 1 };

	if (!st || (r->has_code && r->keep_code && add_code(s, r, e) < 0))
		return -1;
	s->body.len = 0;
	s->body.failed = false;
	if (receipt_join(r, next.seq, at->hash, &s->body) < 0)
		return err_set(e, ERR_INTERNAL, "a receipt is larger than 1 MiB");
	receipt_hash(s->body.data, s->body.len, next.hash);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)next.seq);
	bind_text(st, 2, r->id);
	sqlite3_bind_int64(st, 3, r->time_ms);
	bind_text(st, 4, r->client);
	bind_text(st, 5, r->language);
	bind_text(st, 6, r->status);
	bind_text(st, 7, r->reason);
	if (r->has_code)
		sqlite3_bind_blob(st, 8, r->code_hash, DIGEST_SIZE, SQLITE_STATIC);
	else
		sqlite3_bind_null(st, 8);
	sqlite3_bind_blob(st, 9, next.hash, DIGEST_SIZE, SQLITE_STATIC);
	sqlite3_bind_text(st, 10, s->body.data, (int)s->body.len, SQLITE_STATIC);
	if (step_done(s, st, "keep a receipt", e) < 0)
		return -1;
	*at = next;
	return 0;
}

static int append(struct store *s, const struct receipt *r, size_t n, struct receipt_place *out, struct err *e)
{
	struct receipt_place at;

	if (store_last(s, &at, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (add_receipt(s, &r[i], &at, e) < 0)
			return -1;
		out[i] = at;
	}
	return exec(s, "COMMIT", "keep a receipt", e);
}

int store_append(struct store *s, const struct receipt *r, size_t n, struct receipt_place *out, struct err *e)
{
	if (exec(s, "BEGIN IMMEDIATE", "keep a receipt", e) < 0)
		return -1;
	if (append(s, r, n, out, e) == 0)
		return 0;
	rollback(s);
	/* Nobody shall take a place for one that was kept. */
	memset(out, 0, n * sizeof(*out));
	return -1;
}

/*
 * A process that stays only needs the pages moved: its next commit begins the log anew. After one that goes, nobody remembers how much was moved (that
 * stands in the index, which the next one makes from the log), so the log has to be cut.
 */
void store_tidy(struct store *s, int pages, bool cut)
{
	if (s->wal_pages <= pages)
		return;
	store_set_busy(s, 0);
	if (sqlite3_wal_checkpoint_v2(s->db, NULL, cut ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) ==
	    SQLITE_OK)
		s->wal_pages = 0;
	store_set_busy(s, s->busy_ms);
}

/* ---- reading ---- */

static bool get_hash(sqlite3_stmt *st, int column, uint8_t out[DIGEST_SIZE])
{
	if (sqlite3_column_bytes(st, column) != DIGEST_SIZE)
		return false;
	memcpy(out, sqlite3_column_blob(st, column), DIGEST_SIZE);
	return true;
}

static int bad_row(uint64_t seq, struct err *e)
{
	err_set(e, ERR_INPUT, "receipt %llu has no hash", (unsigned long long)seq);
	return err_hint(e, "belljar audit verify says more");
}

int store_last(struct store *s, struct receipt_place *out, struct err *e)
{
	sqlite3_stmt *st = statement(s, STORE_LAST, e);
	int rc;

	if (!st)
		return -1;
	memset(out, 0, sizeof(*out));
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		out->seq = (uint64_t)sqlite3_column_int64(st, 0);
		rc = get_hash(st, 1, out->hash) ? SQLITE_DONE : SQLITE_MISMATCH;
	}
	sqlite3_reset(st);
	if (rc == SQLITE_MISMATCH)
		return bad_row(out->seq, e);
	return rc == SQLITE_DONE ? 0 : store_error(s, "read the receipts", e);
}

int store_hash_at(struct store *s, uint64_t seq, uint8_t out[DIGEST_SIZE], struct err *e)
{
	sqlite3_stmt *st = statement(s, STORE_HASH_AT, e);
	int rc;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && !get_hash(st, 0, out))
		rc = SQLITE_MISMATCH;
	sqlite3_reset(st);
	if (rc == SQLITE_MISMATCH)
		return bad_row(seq, e);
	return rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? 1 : store_error(s, "read the receipts", e);
}

int store_each_hash(struct store *s, uint64_t seq, int (*fn)(uint64_t seq, const uint8_t *hash, void *ctx), void *ctx,
		    struct err *e)
{
	sqlite3_stmt *st = statement(s, STORE_HASHES, e);
	uint8_t hash[DIGEST_SIZE];
	int rc, stop = 0;

	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
	while (!stop && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		seq = (uint64_t)sqlite3_column_int64(st, 0);
		stop = get_hash(st, 1, hash) ? fn(seq, hash, ctx) : bad_row(seq, e);
	}
	sqlite3_reset(st);
	return stop ? stop : rc == SQLITE_DONE ? 0 : store_error(s, "read the receipts", e);
}

int store_begin_read(struct store *s, struct err *e)
{
	/* BEGIN alone takes no snapshot yet. */
	return exec(s, "BEGIN; SELECT 1 FROM receipt LIMIT 1", "read the receipts", e);
}

void store_end_read(struct store *s)
{
	rollback(s);
}

/* ---- checkpoints, code, pruning ---- */

static int last_text(struct store *s, enum store_statement which, struct checkpoint *out, struct err *e)
{
	sqlite3_stmt *st = statement(s, which, e);
	int rc, good = 1;

	if (!st)
		return -1;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		good = checkpoint_from_json((const char *)sqlite3_column_text(st, 0), (size_t)sqlite3_column_bytes(st, 0), out,
					    e);
	sqlite3_reset(st);
	return rc == SQLITE_ROW ? good : rc == SQLITE_DONE ? 1 : store_error(s, "read the checkpoints", e);
}

int store_last_checkpoint(struct store *s, struct checkpoint *out, struct err *e)
{
	return last_text(s, STORE_LAST_CHECKPOINT, out, e);
}

int store_last_prune(struct store *s, struct checkpoint *out, struct err *e)
{
	return last_text(s, STORE_LAST_PRUNE, out, e);
}

int store_add_checkpoint(struct store *s, const struct checkpoint *c, struct err *e)
{
	sqlite3_stmt *st = statement(s, STORE_ADD_CHECKPOINT, e);
	auto_buf text = BUF_INIT(4096);

	if (!st || checkpoint_to_json(c, &text) < 0)
		return -1;
	sqlite3_bind_text(st, 1, text.data, (int)text.len, SQLITE_STATIC);
	return step_done(s, st, "keep a checkpoint", e);
}

int store_code(struct store *s, const uint8_t hash[DIGEST_SIZE], struct buf *out, struct err *e)
{
	sqlite3_stmt *st = store_prepare(s, "SELECT form, bytes, data FROM code WHERE hash = ?", e);
	int rc, done = 1;

	if (!st)
		return -1;
	sqlite3_bind_blob(st, 1, hash, DIGEST_SIZE, SQLITE_STATIC);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		sqlite3_int64 bytes = sqlite3_column_int64(st, 1);
		const void *data = sqlite3_column_blob(st, 2);
		size_t len = (size_t)sqlite3_column_bytes(st, 2);
		auto_free char *plain = NULL;

		done = sqlite3_column_int(st, 0) == CODE_REMOVED ? 2 : 0;
		if (sqlite3_column_int(st, 0) == CODE_ZSTD) {
			plain = bytes >= 0 && bytes <= RECEIPT_CODE_MAX ? malloc((size_t)bytes + 1) : NULL;
			len = plain ? ZSTD_decompress(plain, (size_t)bytes, data, len) : 0;
			data = plain;
			if (!plain || ZSTD_isError(len) || len != (size_t)bytes)
				done = err_set(e, ERR_INPUT, "the code is damaged: it cannot be unpacked");
		}
		if (done == 0 && buf_add(out, data, len) < 0)
			done = err_set(e, ERR_INTERNAL, "no memory for the code");
	} else if (rc != SQLITE_DONE) {
		done = store_error(s, "read the code", e);
	}
	sqlite3_finalize(st);
	return done;
}

/* ---- room for code ---- */

#define TRIM_PART  8		/* of the bound: what is freed in advance */
#define TRIM_ADDED 16		/* the same: what is added before anybody looks */
#define TRIM_BYTES (16U << 20)	/* in one transaction: others wait for it, and all of it goes through the log */

static uint64_t code_max = STORE_CODE_MAX;

void store_set_code_max(uint64_t bytes)
{
	code_max = bytes;
}

static int64_t number_of(struct store *s, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

/* All pages that are in use, receipts too: while these are no more than the bound, nobody has to count. */
static bool may_be_full(struct store *s)
{
	int64_t pages = number_of(s, "PRAGMA page_count"), unused = number_of(s, "PRAGMA freelist_count"), size = number_of(s, "PRAGMA page_size");

	return pages > 0 && unused >= 0 && size > 0 && (uint64_t)(pages - unused) * (uint64_t)size > code_max;
}

/* One transaction's worth of the oldest. How much it was; 0 when there is none, -1 when it cannot be now. A row that says so stays: verifying asks for it. */
static int64_t remove_some(struct store *s, uint64_t wanted, int64_t *from)
{
	sqlite3_stmt *oldest = NULL, *remove = NULL;
	int64_t freed = 0;
	struct err e;

	if (exec(s, "PRAGMA secure_delete=ON; BEGIN IMMEDIATE", "make room", &e) < 0)
		return -1;
	if (sqlite3_prepare_v2(s->db, "SELECT rowid, length(data) FROM code WHERE rowid > ? AND form <> 2 ORDER BY rowid LIMIT 1", -1, &oldest, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(s->db, "UPDATE code SET form = 2, data = x'' WHERE rowid = ?", -1, &remove, NULL) != SQLITE_OK)
		freed = -1;
	while (freed >= 0 && (uint64_t)freed < wanted && freed < (int64_t)TRIM_BYTES && sqlite3_bind_int64(oldest, 1, *from) == SQLITE_OK && sqlite3_step(oldest) == SQLITE_ROW) {
		int64_t len = sqlite3_column_int64(oldest, 1);

		*from = sqlite3_column_int64(oldest, 0);
		sqlite3_reset(oldest);
		sqlite3_bind_int64(remove, 1, *from);
		freed = sqlite3_step(remove) == SQLITE_DONE ? freed + len : -1;
		sqlite3_reset(remove);
	}
	sqlite3_finalize(oldest);
	sqlite3_finalize(remove);
	if (freed <= 0 || exec(s, "COMMIT", "make room", &e) < 0) {
		rollback(s);
		return freed <= 0 ? freed : -1;
	}
	return freed;
}

void store_trim_code(struct store *s, bool always)
{
	int64_t total, freed, from = INT64_MIN;
	int busy = s->busy_ms;

	if (!s->code_added || (!always && s->code_added < code_max / TRIM_ADDED))
		return;
	s->code_added = 0;
	if (!may_be_full(s))
		return;
	total = number_of(s, "SELECT sum(length(data)) FROM code");
	if (total < 0 || (uint64_t)total <= code_max)
		return;
	store_set_busy(s, 0);
	do {
		freed = remove_some(s, (uint64_t)total - (code_max - code_max / TRIM_PART), &from);
		total -= freed > 0 ? freed : 0;
		sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	} while (freed > 0 && (uint64_t)total > code_max - code_max / TRIM_PART);
	store_set_busy(s, busy);
}

int store_code_size(struct store *s, uint64_t *bytes, uint64_t *codes, uint64_t *removed, struct err *e)
{
	sqlite3_stmt *st = store_prepare(s, "SELECT coalesce(sum(length(data)), 0), count(*), coalesce(sum(form = 2), 0) FROM code", e);
	int rc;

	if (!st)
		return -1;
	rc = sqlite3_step(st);
	*bytes = (uint64_t)sqlite3_column_int64(st, 0);
	*removed = (uint64_t)sqlite3_column_int64(st, 2);
	*codes = (uint64_t)sqlite3_column_int64(st, 1) - *removed;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? 0 : store_error(s, "read the code", e);
}

static int run_changes(struct store *s, const char *sql, uint64_t seq, uint64_t *changes, struct err *e)
{
	sqlite3_stmt *st = store_prepare(s, sql, e);
	int rc;

	if (!st)
		return -1;
	if (sqlite3_bind_parameter_count(st))
		sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
	rc = sqlite3_step(st);
	sqlite3_finalize(st);
	*changes = (uint64_t)sqlite3_changes64(s->db);
	return rc == SQLITE_DONE ? 0 : store_error(s, "prune the receipts", e);
}

static int add_prune(struct store *s, const struct checkpoint *record, struct err *e)
{
	sqlite3_stmt *st = store_prepare(s, "INSERT INTO prune(text) VALUES(?)", e);
	auto_buf text = BUF_INIT(4096);
	int rc;

	if (!st)
		return -1;
	checkpoint_to_json(record, &text);
	sqlite3_bind_text(st, 1, text.data, (int)text.len, SQLITE_STATIC);
	rc = step_done(s, st, "prune the receipts", e);
	sqlite3_finalize(st);
	return rc;
}

int store_prune(struct store *s, const struct checkpoint *record, uint64_t *receipts, uint64_t *codes, struct err *e)
{
	/* What is removed shall be gone from the file too. */
	if (exec(s, "PRAGMA secure_delete=ON; BEGIN IMMEDIATE", "prune the receipts", e) < 0)
		return -1;
	if (run_changes(s, "DELETE FROM receipt WHERE seq <= ?", record->seq, receipts, e) < 0 ||
	    run_changes(s, "DELETE FROM code WHERE hash NOT IN (SELECT code FROM receipt WHERE code IS NOT NULL)", 0, codes, e) <
		    0 ||
	    add_prune(s, record, e) < 0 || exec(s, "COMMIT", "prune the receipts", e) < 0) {
		rollback(s);
		return -1;
	}
	/* Room given back; a reader elsewhere may keep it from happening now, and that is no failure. */
	if (sqlite3_exec(s->db, "VACUUM", NULL, NULL, NULL) == SQLITE_OK)
		sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	return 0;
}
