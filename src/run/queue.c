/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait: bounded, and served by turns between clients. */
#include "run/queue.h"

#include <stdlib.h>
#include <string.h>

struct queue_client {
	struct queue_client *before, *after; /* in the ring */
	struct queue_client *chain;	     /* in its bucket */
	uint64_t client;
	size_t count;
	struct queue_item *first, *last;
};

void queue_init(struct queue *q, size_t max, size_t max_bytes)
{
	memset(q, 0, sizeof(*q));
	q->max = max;
	q->max_bytes = max_bytes;
}

void queue_done(struct queue *q)
{
	while (queue_pop(q))
		;
}

bool queue_is_full(const struct queue *q)
{
	return q->count >= q->max || (q->count && q->bytes >= q->max_bytes);
}

static struct queue_client **find(struct queue *q, uint64_t client)
{
	struct queue_client **c = &q->buckets[client % (sizeof(q->buckets) / sizeof(q->buckets[0]))];

	while (*c && (*c)->client != client)
		c = &(*c)->chain;
	return c;
}

/* A new client's turn is after all who wait already. */
static struct queue_client *add_client(struct queue *q, struct queue_client **at, uint64_t client)
{
	struct queue_client *c = calloc(1, sizeof(*c));

	if (!c)
		abort(); /* a front without memory has nothing to say */
	c->client = client;
	if (q->turn) {
		c->after = q->turn;
		c->before = q->turn->before;
		c->before->after = c->after->before = c;
	} else {
		c->before = c->after = q->turn = c;
	}
	*at = c;
	return c;
}

/* A client with nothing waiting is forgotten: memory is bounded by what waits, not by who ever came. */
static void remove_client(struct queue *q, struct queue_client *c)
{
	*find(q, c->client) = c->chain;
	c->before->after = c->after;
	c->after->before = c->before;
	if (q->turn == c)
		q->turn = c->after == c ? NULL : c->after;
	free(c);
}

static struct queue_item *take_first(struct queue *q, struct queue_client *c)
{
	struct queue_item *i = c->first;

	c->first = i->next;
	i->next = NULL;
	q->count--;
	q->bytes -= i->bytes;
	if (!--c->count)
		remove_client(q, c);
	return i;
}

static struct queue_item *take_last(struct queue *q, struct queue_client *c)
{
	struct queue_item *i = c->last, *p = c->first;

	if (p == i)
		return take_first(q, c);
	while (p->next != i)
		p = p->next;
	p->next = NULL;
	c->last = p;
	c->count--;
	q->count--;
	q->bytes -= i->bytes;
	return i;
}

static struct queue_client *largest(const struct queue *q)
{
	struct queue_client *best = q->turn;

	for (struct queue_client *c = q->turn->after; c != q->turn; c = c->after)
		if (c->count > best->count)
			best = c;
	return best;
}

struct queue_item *queue_push(struct queue *q, struct queue_item *item)
{
	struct queue_item *out = NULL;
	struct queue_client **at, *c;

	if (queue_is_full(q)) {
		struct queue_client *most = largest(q);

		c = *find(q, item->client);
		/* Whoever has as much waiting as anybody else is told to come later. */
		if (c == most || (c && c->count + 1 >= most->count) || most->count <= 1)
			return item;
		out = take_last(q, most);
	}
	at = find(q, item->client);
	c = *at ? *at : add_client(q, at, item->client);
	item->next = NULL;
	if (c->first)
		c->last->next = item;
	else
		c->first = item;
	c->last = item;
	c->count++;
	q->count++;
	q->bytes += item->bytes;
	return out;
}

struct queue_item *queue_pop(struct queue *q)
{
	struct queue_client *c = q->turn;

	if (!c)
		return NULL;
	q->turn = c->after;
	return take_first(q, c);
}

struct queue_item *queue_pop_oldest(struct queue *q)
{
	struct queue_client *best = q->turn;

	if (!best)
		return NULL;
	for (struct queue_client *c = best->after; c != q->turn; c = c->after)
		if (c->first->seq < best->first->seq)
			best = c;
	return take_first(q, best);
}
