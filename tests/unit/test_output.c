/* SPDX-License-Identifier: Apache-2.0 */
/* output: what is kept, what is left out, what a terminal gets to see. */
#include "unit.h"

#include "run/output.h"

static struct temp t;
static struct err err;
static char log_name[128];

static int setup(void **state)
{
	(void)state;
	temp_make(&t);
	snprintf(log_name, sizeof(log_name), "%s/log", t.path);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	temp_remove(&t);
	return 0;
}

static char *view(const struct output *o)
{
	struct buf b = BUF_INIT(1 << 20);

	assert_int_equal(output_view(o, &b), 0);
	return buf_take(&b);
}

/* Feeds `text` in pieces of `step` bytes. */
static int feed(struct output *o, const char *text, size_t len, size_t step)
{
	int rc = 0;

	for (size_t at = 0; at < len && rc == 0; at += step)
		rc = output_add(o, text + at, len - at < step ? len - at : step, log_name, &err);
	return rc;
}

static void make_text(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + i % 26);
	text[len] = '\0';
}

/* Every length around the cap, in pieces of every size: exact counts, exact start and end. */
TEST(head_marker_tail)
{
	char text[200], want[400];

	for (size_t len = 0; len < 120; len++)
		for (size_t step = 1; step < 130; step += 7) {
			struct output o;
			char *v;

			make_text(text, len);
			output_init(&o, 21, 1000);
			assert_int_equal(feed(&o, text, len, step), 0);
			assert_int_equal(o.total, len);
			assert_int_equal(output_truncated(&o), len > 21);
			v = view(&o);
			if (len <= 21)
				snprintf(want, sizeof(want), "%s", text);
			else
				snprintf(want, sizeof(want), "%.10s\n[belljar: %zu bytes left out here]\n%s", text, len - 21, text + len - 11);
			ROW_OK(strcmp(v, want) == 0, "%zu bytes by %zu: %s", len, step, v);
			free(v);
			output_done(&o);
		}
}

TEST(the_log_holds_everything)
{
	static char text[5001];

	make_text(text, 5000);
	for (size_t step = 1; step < 5000; step = step * 3 + 1) {
		struct output o;
		char *v, mark[256];

		unlink(log_name);
		output_init(&o, 100, 100000);
		o.keep_log = true;
		assert_int_equal(feed(&o, text, 5000, step), 0);
		assert_int_equal(o.logged, 5000);
		assert_string_equal(temp_read(&t, "log"), text);
		v = view(&o);
		snprintf(mark, sizeof(mark), "[belljar: 4900 bytes left out here; all of it is in %s]", log_name);
		assert_non_null(strstr(v, mark));
		free(v);
		output_done(&o);
	}
}

TEST(no_log_for_what_fits)
{
	struct output o;

	unlink(log_name);
	output_init(&o, 100, 1000);
	o.keep_log = true;
	assert_int_equal(feed(&o, "0123456789", 10, 3), 0);
	assert_false(temp_has(&t, "log"));
	output_done(&o);
}

TEST(the_log_never_goes_through_what_is_there)
{
	struct temp other;
	struct output o;
	char target[128];

	temp_make(&other);
	temp_write(&other, "x", "safe");
	snprintf(target, sizeof(target), "%s/x", other.path);
	assert_int_equal(symlink(target, log_name), 0);
	output_init(&o, 4, 1000);
	o.keep_log = true;
	assert_int_equal(feed(&o, "0123456789", 10, 10), -1);
	assert_string_equal(temp_read(&other, "x"), "safe");
	output_done(&o);
	temp_remove(&other);
}

TEST(the_cap_of_the_log)
{
	for (size_t step = 1; step < 40; step++) {
		struct output o;
		char text[101];

		make_text(text, 100);
		unlink(log_name);
		output_init(&o, 8, 30);
		o.keep_log = true;
		assert_int_equal(feed(&o, text, 100, step), 1);
		assert_int_equal(o.total, 30);
		assert_int_equal(o.logged, 30);
		assert_int_equal(strlen(temp_read(&t, "log")), 30);
		output_done(&o);
		/* Exactly the cap is not past it. */
		unlink(log_name);
		output_init(&o, 8, 30);
		assert_int_equal(feed(&o, text, 30, step), 0);
		output_done(&o);
	}
}

TEST(cut_between_characters)
{
	static const char *const chars[] = { "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };

	for (size_t c = 0; c < COUNT(chars); c++)
		for (size_t cap = 8; cap < 24; cap++) {
			struct output o;
			char text[400] = "", *v, *mark;
			unsigned long long left_out;
			size_t n = strlen(chars[c]), head, tail;

			for (int i = 0; i < 40; i++)
				strcat(text, chars[c]);
			output_init(&o, cap, 1000);
			assert_int_equal(feed(&o, text, strlen(text), 7), 0);
			v = view(&o);
			mark = strstr(v, "\n[belljar: ");
			assert_non_null(mark);
			left_out = strtoull(mark + 11, NULL, 10);
			head = (size_t)(mark - v);
			tail = strlen(strchr(mark + 1, '\n') + 1);
			ROW_OK(head % n == 0 && tail % n == 0, "cap %zu of %s: %zu %zu", cap, chars[c], head, tail);
			assert_int_equal(head + tail + left_out, strlen(text));
			free(v);
			output_done(&o);
		}
}

TEST(bytes_that_are_no_utf8_survive)
{
	char text[256], *v;
	struct output o;

	for (int i = 0; i < 256; i++)
		text[i] = (char)i;
	output_init(&o, 1000, 1000);
	assert_int_equal(feed(&o, text, 256, 9), 0);
	{
		auto_buf b = BUF_INIT(1000);

		assert_int_equal(output_view(&o, &b), 0);
		assert_int_equal(b.len, 256);
		assert_memory_equal(b.data, text, 256);
	}
	v = view(&o);
	free(v);
	output_done(&o);
}

TEST(tiny_caps)
{
	for (uint64_t cap = 1; cap < 4; cap++) {
		struct output o;
		char *v;

		output_init(&o, cap, 1000);
		assert_int_equal(feed(&o, "abcdefgh", 8, 3), 0);
		v = view(&o);
		assert_non_null(strstr(v, "left out"));
		free(v);
		output_done(&o);
	}
}

/* ---- terminals ---- */

static const struct {
	const char *what, *in, *out;
} escapes[] = {
	{ "text", "plain text, \ttab\n", "plain text, \ttab\n" },
	{ "utf-8", "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80", "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "colour", "\033[31mred\033[0m \033[1;38;5;200mx\033[m", "\033[31mred\033[0m \033[1;38;5;200mx\033[m" },
	{ "OSC 52", "\033]52;c;aGk=\a", "^[]52;c;aGk=^G" },
	{ "OSC title with ST", "\033]0;title\033\\", "^[]0;title^[\\" },
	{ "clear screen", "\033[2J", "^[[2J" },
	{ "cursor", "\033[10;20H", "^[[10;20H" },
	{ "device status", "\033[6n", "^[[6n" },
	{ "private mode", "\033[?1049h", "^[[?1049h" },
	{ "DECRQSS", "\033P$q\"p\033\\", "^[P$q\"p^[\\" },
	{ "reset", "\033c", "^[c" },
	{ "charset", "\033(0", "^[(0" },
	{ "two escapes", "\033\033[31m", "^[\033[31m" },
	{ "escape in a sequence", "\033[3\033[31m", "^[[3\033[31m" },
	{ "newline in a sequence", "\033[3\nm", "^[[3\nm" },
	{ "modifier before m", "\033[>4m", "^[[>4m" },
	{ "bell, backspace, delete", "a\ab\bc\x7f", "a^Gb^Hc^?" },
	{ "form feed, vertical tab", "\f\v", "^L^K" },
	{ "carriage return", "evil\rgood\r\n", "evilgood\n" },
	{ "8-bit CSI", "\x9b" "31m", "\\x9b31m" },
	{ "C1 as UTF-8", "\xc2\x9b" "31m", "\\xc2\\x9b31m" },
	{ "C1 0x80 and 0x9f", "\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0" },
	{ "bidi override", "a\xe2\x80\xae" "b", "a\\xe2\\x80\\xaeb" },
	{ "bidi embeddings", "\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad", "\\xe2\\x80\\xaa\\xe2\\x80\\xab\\xe2\\x80\\xac\\xe2\\x80\\xad" },
	{ "bidi isolates", "\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9" },
	{ "bidi marks", "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "\\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xd8\\x9c" },
	{ "neighbours of bidi", "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5", "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5" },
	{ "lone continuation", "a\x80z", "a\\x80z" },
	{ "lead without continuation", "\xe2z\xc3\n", "\\xe2z\\xc3\n" },
	{ "lead then escape", "\xe2\x82\033[31m", "\\xe2\\x82\033[31m" },
	{ "never a lead", "\xc0\xc1\xf5\xff", "\\xc0\\xc1\\xf5\\xff" },
	{ "a long sequence", "\033[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1m",
	  "^[[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1m" },
};

static void check_escape(const char *what, const char *in, size_t len, const char *out, size_t split, size_t split2)
{
	struct escaper s = { 0 };
	auto_buf b = BUF_INIT(4096);

	output_escape(&s, in, split, &b);
	output_escape(&s, in + split, split2 - split, &b);
	output_escape(&s, in + split2, len - split2, &b);
	ROW_OK(b.len == strlen(out) && memcmp(b.data ? b.data : "", out, b.len) == 0, "%s split at %zu, %zu", what, split, split2);
}

/* Whole, and split in three at every place: the same. */
TEST(escaping)
{
	for (size_t i = 0; i < COUNT(escapes); i++) {
		size_t len = strlen(escapes[i].in);

		for (size_t a = 0; a <= len; a++)
			for (size_t c = a; c <= len; c++)
				check_escape(escapes[i].what, escapes[i].in, len, escapes[i].out, a, c);
	}
	check_escape("NUL", "a\0b", 3, "a^@b", 1, 2);
}

TEST(sequences_that_are_no_utf8)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "\xe0\x80\x9bz", "\\xe0\\x80\\x9bz" }, { "\xed\xa0\x80z", "\\xed\\xa0\\x80z" },
		{ "\xf4\x90\x80\x80z", "\\xf4\\x90\\x80\\x80z" }, { "\xf0\x80\x80\x9bz", "\\xf0\\x80\\x80\\x9bz" },
	};
	struct escaper s = { 0 };
	auto_buf b = BUF_INIT(4096);

	output_escape(&s, rows[0].in, 4, &b);
	KNOWN_BUG(b.len == 4, "A22: overlong and other invalid sequences reach the terminal");
	for (size_t i = 0; i < COUNT(rows); i++)
		check_escape("invalid", rows[i].in, strlen(rows[i].in), rows[i].out, 1, 2);
}

/* Whatever comes, no byte that steers is left but colours; memory stays bounded. */
TEST(random_bytes)
{
	struct escaper s = { 0 };
	unsigned seed = 1;

	for (int round = 0; round < 2000; round++) {
		auto_buf b = BUF_INIT(64 * 4 + 256);
		char in[64];

		for (size_t i = 0; i < sizeof(in); i++) {
			static const char common[] = "\033[]0;m\x9b\xc2\xe2\x80\xae";

			seed = seed * 1103515245 + 12345;
			in[i] = seed >> 30 ? common[(seed >> 16) % (sizeof(common) - 1)] : (char)(seed >> 16);
		}
		output_escape(&s, in, sizeof(in), &b);
		assert_false(b.failed);
		for (size_t i = 0; i < b.len; i++) {
			unsigned char c = (unsigned char)b.data[i];

			if (c == 033) {
				assert_int_equal(b.data[++i], '[');
				do
					i++;
				while (i < b.len && strchr("0123456789;", b.data[i]) && b.data[i]);
				assert_true(i < b.len && b.data[i] == 'm');
			} else {
				assert_true(c >= ' ' || c == '\n' || c == '\t');
				assert_int_not_equal(c, 0x7f);
			}
		}
	}
}

TEST(live_output_is_escaped_on_a_terminal)
{
	struct output o;
	char got[64] = "";
	int p[2];

	assert_int_equal(pipe(p), 0);
	output_init(&o, 100, 1000);
	o.live = p[1];
	o.escape = true;
	assert_int_equal(feed(&o, "a\033[2Jb", 6, 2), 0);
	assert_int_equal(read(p[0], got, sizeof(got) - 1), 7);
	assert_string_equal(got, "a^[[2Jb");
	close(p[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(feed(&o, "more", 4, 4), 0);
	assert_true(o.live_broken);
	close(p[1]);
	output_done(&o);
}

/* A guest's last colour may be invisible: what belljar says afterwards must not be. */
TEST(colours_end_with_the_stream)
{
	struct output o;
	char got[64] = "";
	int p[2];

	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	output_init(&o, 100, 1000);
	o.live = p[1];
	o.escape = true;
	assert_int_equal(feed(&o, "plain", 5, 5), 0);
	output_end(&o);
	assert_int_equal(read(p[0], got, sizeof(got)), 5);
	assert_int_equal(feed(&o, "\033[8mx", 5, 5), 0);
	output_end(&o);
	memset(got, 0, sizeof(got));
	assert_int_equal(read(p[0], got, sizeof(got)), 9);
	assert_string_equal(got, "\033[8mx\033[0m");
	close(p[0]);
	close(p[1]);
	output_done(&o);
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_marker_tail), WITH_FOLDER(the_log_holds_everything), WITH_FOLDER(no_log_for_what_fits),
		WITH_FOLDER(the_log_never_goes_through_what_is_there), WITH_FOLDER(the_cap_of_the_log), cmocka_unit_test(cut_between_characters),
		cmocka_unit_test(bytes_that_are_no_utf8_survive), cmocka_unit_test(tiny_caps), cmocka_unit_test(escaping),
		cmocka_unit_test(sequences_that_are_no_utf8), cmocka_unit_test(random_bytes),
		cmocka_unit_test(live_output_is_escaped_on_a_terminal), cmocka_unit_test(colours_end_with_the_stream),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
