/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying a chain. */
#include "store/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Theory of operation
 *
 * Four things are compared, each of which says something else:
 *	a body and its hash			a body that was edited
 *	a body's `seq` and the place it is in	receipts that were moved, or whose neighbours are gone
 *	a body's `prev` and the hash before it	a receipt whose hash was made to fit, or that never was in the chain
 *	the folded head and what was signed	a chain that was made anew from some receipt on, and fits in itself
 * Verifying goes on after a finding, so that one edit does not hide another.
 */

const char *const verify_kind_names[VERIFY_KINDS] = { "edited",	   "removed",	"reordered", "inserted", "truncated",
						      "rewritten", "signature", "key",	     "code",	 "notary" };

void verify_tell(struct verify *v, enum verify_kind kind, uint64_t seq, const char *id, const char *fmt, ...)
{
	struct verify_finding f = { .kind = kind, .seq = seq, .id = id };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f.text, sizeof(f.text), fmt, ap);
	va_end(ap);
	v->findings++;
	v->found(v->ctx, &f);
}

static unsigned long long n(uint64_t v)
{
	return (unsigned long long)v;
}

/* ---- checkpoints ---- */

int verify_add(struct verify *v, const struct checkpoint *c, const char *where, struct err *e)
{
	if (v->begun)
		return err_set(e, ERR_INPUT, "a checkpoint after the first receipt");
	if (v->checkpoints == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 64;
		struct verify_checkpoint *list = realloc(v->list, cap * sizeof(*list));

		if (!list)
			return err_set(e, ERR_INTERNAL, "no memory for %zu checkpoints", cap);
		v->list = list;
		v->cap = cap;
	}
	v->list[v->checkpoints++] = (struct verify_checkpoint){ *c, where };
	return 0;
}

static int by_seq(const void *a, const void *b)
{
	const struct verify_checkpoint *x = a, *y = b;

	if (x->c.seq != y->c.seq)
		return x->c.seq < y->c.seq ? -1 : 1;
	return x->c.time_ms < y->c.time_ms ? -1 : x->c.time_ms > y->c.time_ms;
}

/* 1 when a known key has signed it, 0 when not (told), -1. */
static int is_signed(struct verify *v, const struct verify_checkpoint *p, struct err *e)
{
	char key[KEY_ID_SIZE * 2 + 1];
	uint8_t id[KEY_ID_SIZE];

	digest_hex(p->c.key, KEY_ID_SIZE, key);
	for (size_t i = 0; i < v->key_count; i++) {
		int rc;

		checkpoint_key_id(v->keys[i], id);
		if (memcmp(id, p->c.key, KEY_ID_SIZE) != 0)
			continue;
		rc = v->check(v->ctx, &p->c, v->keys[i], e);
		if (rc > 0)
			verify_tell(v, VERIFY_SIGNATURE, p->c.seq, NULL,
				    "%s has a %s of receipt %llu whose signature is not good", p->where,
				    p->c.kind == CHECKPOINT_PRUNED ? "prune record" : "checkpoint", n(p->c.seq));
		return rc < 0 ? -1 : rc == 0;
	}
	verify_tell(v, VERIFY_KEY, p->c.seq, NULL,
		    "%s has a %s of receipt %llu that was signed by key %s, which is not known here", p->where,
		    p->c.kind == CHECKPOINT_PRUNED ? "prune record" : "checkpoint", n(p->c.seq), key);
	return 0;
}

/* All that were signed at the receipt that was seen last, or before it. */
static void compare(struct verify *v)
{
	for (; v->next < v->checkpoints && v->list[v->next].c.seq <= v->seq; v->next++) {
		const struct verify_checkpoint *p = &v->list[v->next];
		char when[32];

		/* Of what was pruned, nothing is left to compare with. */
		if (p->c.seq < v->seq && p->c.seq < v->pruned.seq)
			continue;
		if (p->c.seq == v->seq && memcmp(p->c.head, v->head, DIGEST_SIZE) == 0 &&
		    memcmp(p->c.receipt, v->hash, DIGEST_SIZE) == 0) {
			v->signed_seq = p->c.seq;
			v->signed_ms = p->c.time_ms;
			continue;
		}
		/* Once it differs, it differs ever after. */
		if (v->rewritten || v->gap)
			continue;
		v->rewritten = true;
		receipt_time(p->c.time_ms, when);
		verify_tell(
			v, VERIFY_REWRITTEN, p->c.seq, NULL,
			"the receipts from %llu to %llu are not those that were signed at %s (%s has the checkpoint): some of them were rewritten",
			n(v->signed_seq + 1), n(p->c.seq), when, p->where);
	}
}

/* Where the chain begins: after the last prune record that is good, or with receipt 1. */
static int begin(struct verify *v, struct err *e)
{
	size_t kept = 0;
	int64_t before = INT64_MIN;

	if (v->begun)
		return 0;
	v->begun = true;
	if (v->checkpoints)
		qsort(v->list, v->checkpoints, sizeof(*v->list), by_seq);
	for (size_t i = 0; i < v->checkpoints; i++) {
		int good = is_signed(v, &v->list[i], e);

		if (good < 0)
			return -1;
		if (good && v->list[i].c.kind == CHECKPOINT_PRUNED)
			v->pruned = v->list[i].c;
		if (!good || v->list[i].c.kind == CHECKPOINT_PRUNED)
			continue;
		v->clock_went_back = v->clock_went_back || v->list[i].c.time_ms < before;
		before = v->list[i].c.time_ms;
		v->list[kept++] = v->list[i];
	}
	v->checkpoints = kept;
	v->seq = v->pruned.seq;
	memcpy(v->hash, v->pruned.receipt, DIGEST_SIZE);
	memcpy(v->head, v->pruned.head, DIGEST_SIZE);
	memcpy(v->hash_before, v->hash, DIGEST_SIZE);
	compare(v);
	return 0;
}

/* ---- receipts ---- */

static void step(struct verify *v, uint64_t seq, const uint8_t *hash)
{
	if (!v->first)
		v->first = seq;
	v->last = v->seq = seq;
	v->after_gap = false;
	memcpy(v->hash_before, v->hash, DIGEST_SIZE);
	memcpy(v->hash, hash, DIGEST_SIZE);
	checkpoint_fold(v->head, hash);
	compare(v);
}

/* The place must be the next one. */
static bool check_place(struct verify *v, uint64_t seq)
{
	if (seq == v->seq + 1)
		return true;
	if (seq <= v->seq) {
		verify_tell(v, VERIFY_INSERTED, seq, NULL,
			    seq <= v->pruned.seq ? "receipt %llu stands below what was pruned"
						 : "receipt %llu stands behind a later one",
			    n(seq));
		return false;
	}
	if (seq - v->seq == 2)
		verify_tell(v, VERIFY_REMOVED, v->seq + 1, NULL, "receipt %llu is missing", n(v->seq + 1));
	else
		verify_tell(v, VERIFY_REMOVED, v->seq + 1, NULL, "receipts %llu to %llu are missing", n(v->seq + 1), n(seq - 1));
	v->gap = v->after_gap = true;
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return !a || !b ? a == b : strcmp(a, b) == 0;
}

static void check_columns(struct verify *v, const struct verify_row *row, const struct receipt_body *b)
{
	const struct receipt_body *c = row->columns;
	const struct {
		const char *name;
		bool same;
	} columns[] = {
		{ "id", same_text(c->id, b->id) },
		{ "time", c->time_ms == b->time_ms },
		{ "client", same_text(c->client, b->client) },
		{ "language", same_text(c->language, b->language) },
		{ "status", same_text(c->status, b->status) },
		{ "reason", same_text(c->reason, b->reason) },
		{ "code", c->has_code == b->has_code && (!c->has_code || memcmp(c->code_hash, b->code_hash, DIGEST_SIZE) == 0) },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!columns[i].same)
			verify_tell(v, VERIFY_EDITED, row->seq, b->id,
				    "the column '%s' of receipt %llu was edited: its body says something else", columns[i].name,
				    n(row->seq));
}

static void tell_odd(struct verify *v, bool removed)
{
	if (!v->odd.is)
		return;
	v->odd.is = false;
	if (removed) {
		verify_tell(v, VERIFY_REMOVED, v->odd.place, v->odd.id,
			    "in place %llu stands receipt %llu: what was before it is missing", n(v->odd.place), n(v->odd.seq));
		v->shift = (int64_t)(v->odd.seq - v->odd.place);
	} else {
		verify_tell(v, VERIFY_REORDERED, v->odd.place, v->odd.id, "in place %llu stands receipt %llu", n(v->odd.place),
			    n(v->odd.seq));
		v->moved = true;
	}
}

/* A body's own `seq` says where it belongs. */
static void check_seq(struct verify *v, const struct verify_row *row, const struct receipt_body *b)
{
	int64_t shift = (int64_t)(b->seq - row->seq);
	bool follows = memcmp(b->prev, v->hash, DIGEST_SIZE) == 0, moved = v->moved;

	v->moved = false;
	/* One that is too far ahead: the next one says whether everything moved up, or two changed places. */
	if (v->odd.is)
		tell_odd(v, shift == (int64_t)(v->odd.seq - v->odd.place));
	if (shift == v->shift) {
		/* What it follows is missing or stands elsewhere, and that was told. */
		if (follows || v->after_gap || moved)
			return;
		if (memcmp(b->prev, v->hash_before, DIGEST_SIZE) == 0)
			verify_tell(v, VERIFY_INSERTED, v->seq, v->last_id,
				    "receipt %llu was inserted: %llu follows the one before it", n(v->seq), n(row->seq));
		else
			verify_tell(v, VERIFY_EDITED, v->seq, v->last_id,
				    "receipt %llu is not the one that %llu was written after: it was edited or replaced",
				    n(v->seq), n(row->seq));
		return;
	}
	if (shift > v->shift) {
		v->odd.is = true;
		v->odd.place = row->seq;
		v->odd.seq = b->seq;
		snprintf(v->odd.id, sizeof(v->odd.id), "%.31s", b->id);
		return;
	}
	if (!v->moved && shift == v->shift - 1 && memcmp(b->prev, v->hash_before, DIGEST_SIZE) == 0) {
		verify_tell(v, VERIFY_INSERTED, v->seq, v->last_id,
			    "receipt %llu was inserted: the one after it was written as number %llu", n(v->seq), n(b->seq));
		v->shift = shift;
		return;
	}
	verify_tell(v, VERIFY_REORDERED, row->seq, b->id, "in place %llu stands receipt %llu", n(row->seq), n(b->seq));
	v->moved = true;
}

int verify_receipt(struct verify *v, const struct verify_row *row, struct err *e)
{
	struct receipt_body b = { 0 };
	struct err why = { 0 };
	uint8_t hash[DIGEST_SIZE];

	if (begin(v, e) < 0)
		return -1;
	if (!check_place(v, row->seq))
		return 0;
	arena_reset(&v->arena);
	receipt_hash(row->body, row->len, hash);
	if (receipt_read(row->body, row->len, &b, &v->arena, &why) < 0) {
		verify_tell(v, VERIFY_EDITED, row->seq, row->columns ? row->columns->id : NULL, "receipt %llu was edited: %s",
			    n(row->seq), why.msg);
	} else {
		if (memcmp(hash, row->hash, DIGEST_SIZE) != 0)
			verify_tell(v, VERIFY_EDITED, row->seq, b.id, "receipt %llu was edited: it does not have its hash",
				    n(row->seq));
		check_seq(v, row, &b);
		if (row->columns)
			check_columns(v, row, &b);
	}
	v->receipts++;
	step(v, row->seq, row->hash);
	snprintf(v->last_id, sizeof(v->last_id), "%.31s", b.id ? b.id : "");
	return 0;
}

int verify_digest(struct verify *v, uint64_t seq, const uint8_t hash[DIGEST_SIZE], struct err *e)
{
	if (begin(v, e) < 0)
		return -1;
	if (!check_place(v, seq))
		return 0;
	tell_odd(v, true);
	v->digests++;
	v->last_id[0] = '\0';
	step(v, seq, hash);
	return 0;
}

int verify_end(struct verify *v, struct err *e)
{
	if (begin(v, e) < 0)
		return -1;
	tell_odd(v, true);
	compare(v);
	if (v->next < v->checkpoints) {
		/* The furthest of them says most. */
		const struct verify_checkpoint *p = &v->list[v->checkpoints - 1];
		char when[32];

		receipt_time(p->c.time_ms, when);
		verify_tell(
			v, VERIFY_TRUNCATED, v->seq + 1, NULL,
			"receipts %llu to %llu are missing: %s has a checkpoint of %s that says that they were there; they were removed, or this is an old copy",
			n(v->seq + 1), n(p->c.seq), p->where, when);
	}
	return 0;
}

void verify_done(struct verify *v)
{
	free(v->list);
	v->list = NULL;
	arena_free(&v->arena);
}
