/* SPDX-License-Identifier: Apache-2.0 */
/* lines: one by one, of bounded length; a last line without an end counts. */
#include "unit.h"

#include "run/lines.h"

/* All lines of `text` as "number:length," (long ones as "number:!,"). */
static const char *all(const char *text, size_t len, size_t max)
{
	static char out[4096];
	struct temp t;
	struct lines l;
	int fd;
	size_t n = 0;

	temp_make(&t);
	fd = openat(t.fd, "x", O_RDWR | O_CREAT, 0600);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	lseek(fd, 0, SEEK_SET);
	lines_init(&l, fd, max);
	out[0] = '\0';
	for (;;) {
		const char *p;
		size_t k;
		bool cut = false;
		enum lines_result got = lines_next(&l, &p, &k, &cut);

		assert_true(l.buf.cap <= 2 * (max + 65536) + 256);
		if (got == LINES_END)
			break;
		if (got == LINES_MORE)
			assert_int_equal(lines_fill(&l), 0);
		else if (got == LINES_LONG)
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%d:!%s,", (int)l.number, cut ? "cut" : "");
		else
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%d:%zu%s,", (int)l.number, k, cut ? "cut" : "");
	}
	assert_int_equal(l.bytes, len);
	lines_done(&l);
	close(fd);
	temp_remove(&t);
	return out;
}

TEST(plain)
{
	assert_string_equal(all("", 0, 100), "");
	assert_string_equal(all("\n", 1, 100), "1:0,");
	assert_string_equal(all("a\nbb\n\nccc", 9, 100), "1:1,2:2,3:0,4:3cut,");
	assert_string_equal(all("a\0b\n", 4, 100), "1:3,");
}

TEST(long_lines_are_counted_and_thrown_away)
{
	static char text[1 << 20];

	memset(text, 'x', sizeof(text));
	text[1] = text[300000] = text[300005] = text[700000] = '\n';
	assert_string_equal(all(text, sizeof(text), 200000), "1:1,2:!,3:4,4:!,5:!cut,");
	assert_string_equal(all(text, sizeof(text), 300000), "1:1,2:299998,3:4,4:!,5:!cut,");
	assert_string_equal(all(text, sizeof(text), 1 << 20), "1:1,2:299998,3:4,4:399994,5:348575cut,");
}

TEST(memory_of_a_long_line_is_given_back)
{
	static char text[4 << 20];
	struct temp t;
	struct lines l;
	const char *p;
	size_t k;
	int fd;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 3] = '\n';
	temp_make(&t);
	temp_write(&t, "x", "");
	fd = openat(t.fd, "x", O_RDWR);
	assert_int_equal(write(fd, text, sizeof(text)), (ssize_t)sizeof(text));
	lseek(fd, 0, SEEK_SET);
	lines_init(&l, fd, 64 << 20);
	while (lines_next(&l, &p, &k, NULL) != LINES_LINE)
		assert_int_equal(lines_fill(&l), 0);
	assert_int_equal(k, sizeof(text) - 3);
	assert_true(l.buf.cap >= 4 << 20);
	lseek(fd, -10, SEEK_END);
	assert_int_equal(lines_next(&l, &p, &k, NULL), LINES_MORE);
	assert_int_equal(lines_fill(&l), 0);
	assert_true(l.buf.cap <= 1 << 20);
	assert_int_equal(lines_next(&l, &p, &k, NULL), LINES_LINE);
	assert_int_equal(k, 2 + 7);
	lines_done(&l);
	close(fd);
	temp_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain), cmocka_unit_test(long_lines_are_counted_and_thrown_away),
		cmocka_unit_test(memory_of_a_long_line_is_given_back),
	};

	return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
