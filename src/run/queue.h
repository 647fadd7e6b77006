/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait: bounded, and served by turns between clients, so that one that floods does not starve another. */
#ifndef BELLJAR_RUN_QUEUE_H
#define BELLJAR_RUN_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lives inside what waits. */
struct queue_item {
	struct queue_item *next;
	uint64_t client, seq; /* seq: order of arrival */
	size_t bytes;	      /* memory that it stands for */
};

struct queue_client;

struct queue {
	size_t count, max;
	size_t bytes, max_bytes;
	struct queue_client *turn; /* ring of clients with something waiting; the next one's turn */
	struct queue_client *buckets[256];
};

void queue_init(struct queue *q, size_t max, size_t max_bytes);
/* Forgets the clients; items are their owners' to free. */
void queue_done(struct queue *q);
/* Past its bound: nothing more should be pushed. At least one item always fits. */
bool queue_is_full(const struct queue *q);
/* Adds an item at the end of its client's line. When the queue is full, returns the item that has to go: the newest of the client with the most
 * waiting, which may be the new one itself. NULL otherwise. */
struct queue_item *queue_push(struct queue *q, struct queue_item *item);
/* The next client's first item, NULL when there is none. */
struct queue_item *queue_pop(struct queue *q);
/* The item that came first of all. */
struct queue_item *queue_pop_oldest(struct queue *q);

#endif
