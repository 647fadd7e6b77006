/* SPDX-License-Identifier: Apache-2.0 */
/* queue: bounded; served by turns between clients; a client that floods starves nobody. */
#include "unit.h"

#include "run/queue.h"

#define MANY 4096

static struct queue_item items[MANY];

static struct queue_item *item(size_t i, uint64_t client)
{
	items[i] = (struct queue_item){ .client = client, .seq = i, .bytes = 10 };
	return &items[i];
}

TEST(one_client_is_served_in_order)
{
	struct queue q;

	queue_init(&q, 100, 1 << 20);
	assert_null(queue_pop(&q));
	for (size_t i = 0; i < 100; i++)
		assert_null(queue_push(&q, item(i, 7)));
	assert_true(queue_is_full(&q));
	for (size_t i = 0; i < 100; i++)
		assert_ptr_equal(queue_pop(&q), &items[i]);
	assert_null(queue_pop(&q));
	assert_int_equal(q.count, 0);
	assert_int_equal(q.bytes, 0);
}

TEST(clients_take_turns)
{
	struct queue q;
	size_t of[3] = { 0 };

	queue_init(&q, MANY, 1 << 20);
	for (size_t i = 0; i < 1000; i++)
		queue_push(&q, item(i, 1));
	queue_push(&q, item(1000, 2));
	queue_push(&q, item(1001, 2));
	queue_push(&q, item(1002, 3));
	for (size_t i = 0; i < 6; i++)
		of[queue_pop(&q)->client - 1]++;
	/* The flood came first and got no more than its share. */
	assert_int_equal(of[1], 2);
	assert_int_equal(of[2], 1);
	assert_int_equal(of[0], 3);
	queue_done(&q);
}

TEST(a_late_client_waits_for_one_turn_only)
{
	struct queue q;
	size_t n = 0, waited = 0;

	queue_init(&q, 1024, 1 << 20);
	for (; n < 1000; n++)
		queue_push(&q, item(n, 1));
	for (size_t round = 0; round < 50; round++) {
		queue_push(&q, item(n++, 2));
		for (waited = 1; queue_pop(&q)->client != 2; waited++)
			queue_push(&q, item(n++, 1));
		ROW_OK(waited <= 2, "round %zu: waited %zu", round, waited);
	}
	queue_done(&q);
}

TEST(the_bound_holds)
{
	struct queue q;
	size_t turned_away = 0;

	queue_init(&q, 64, 1 << 20);
	for (size_t i = 0; i < 1000; i++) {
		turned_away += queue_push(&q, item(i, 1)) == &items[i];
		assert_true(q.count <= 64);
	}
	assert_int_equal(turned_away, 1000 - 64);
	queue_done(&q);
	assert_int_equal(q.count, 0);
}

TEST(bytes_are_bounded_too)
{
	struct queue q;

	queue_init(&q, 1000, 25);
	assert_null(queue_push(&q, item(0, 1)));
	assert_null(queue_push(&q, item(1, 1)));
	assert_false(queue_is_full(&q));
	assert_null(queue_push(&q, item(2, 1)));
	assert_true(queue_is_full(&q));
	assert_ptr_equal(queue_push(&q, item(3, 1)), &items[3]);
	queue_done(&q);
	/* One always fits, however large. */
	items[5] = (struct queue_item){ .client = 1, .bytes = 1 << 20 };
	assert_null(queue_push(&q, &items[5]));
	queue_done(&q);
}

TEST(a_flood_makes_room_for_others)
{
	struct queue q;
	size_t kept = 0;

	queue_init(&q, 100, 1 << 20);
	for (size_t i = 0; i < 500; i++)
		queue_push(&q, item(i, 1));
	/* Each of the other's pushes out the newest of the flood, until both have the same. */
	for (size_t i = 0; i < 100; i++) {
		struct queue_item *out = queue_push(&q, item(1000 + i, 2));

		assert_int_equal(q.count, 100);
		assert_non_null(out);
		kept += out != &items[1000 + i];
		if (out != &items[1000 + i])
			assert_int_equal(out->client, 1);
	}
	ROW_OK(kept >= 49 && kept <= 51, "%zu", kept);
	queue_done(&q);
}

TEST(the_oldest)
{
	struct queue q;

	queue_init(&q, 100, 1 << 20);
	assert_null(queue_pop_oldest(&q));
	queue_push(&q, item(5, 1));
	queue_push(&q, item(3, 2));
	queue_push(&q, item(4, 3));
	assert_int_equal(queue_pop_oldest(&q)->seq, 3);
	assert_int_equal(queue_pop_oldest(&q)->seq, 4);
	assert_int_equal(queue_pop_oldest(&q)->seq, 5);
	assert_null(queue_pop_oldest(&q));
}

TEST(many_clients_leave_nothing_behind)
{
	struct queue q;

	queue_init(&q, MANY, 1 << 20);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < MANY; i++)
			assert_null(queue_push(&q, item(i, i * 0x9e3779b97f4a7c15ULL)));
		for (size_t i = 0; i < MANY; i++)
			assert_ptr_equal(queue_pop(&q), &items[i]);
		assert_null(q.turn);
		for (size_t i = 0; i < COUNT(q.buckets); i++)
			assert_null(q.buckets[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_client_is_served_in_order), cmocka_unit_test(clients_take_turns),
		cmocka_unit_test(a_late_client_waits_for_one_turn_only), cmocka_unit_test(the_bound_holds), cmocka_unit_test(bytes_are_bounded_too),
		cmocka_unit_test(a_flood_makes_room_for_others), cmocka_unit_test(the_oldest), cmocka_unit_test(many_clients_leave_nothing_behind),
	};

	return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
