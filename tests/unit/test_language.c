/* SPDX-License-Identifier: Apache-2.0 */
/* language: lookup by name, ending and first line; near misses; an operator's own rows. */
#include "unit.h"

#include "run/language.h"

static const char *name_of(const struct language *l)
{
	return l ? l->name : "none";
}

TEST(by_name)
{
	static const char *const rows[][2] = {
		{ "python", "python" }, { "PYTHON", "python" }, { "py", "python" }, { "python3", "python" }, { "js", "node" }, { "c++", "cpp" },
		{ "golang", "go" }, { "sh", "bash" }, { "", "none" }, { "pyth", "none" }, { "python ", "none" }, { "main.py", "none" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(strcmp(name_of(language_find(rows[i][0])), rows[i][1]) == 0, "%s", rows[i][0]);
}

TEST(by_file)
{
	static const struct {
		const char *path, *head, *name;
	} rows[] = {
		{ "x.py", "", "python" }, { "dir/x.py", "", "python" }, { "x.PY", "", "python" }, { "x.tar.sh", "", "bash" }, { ".py", "", "python" },
		{ "x.c", "#!/usr/bin/python3\n", "c" }, /* the ending first */
		{ "x", "#!/usr/bin/python3\n", "python" }, { "x", "#!/usr/bin/env python3\n", "python" }, { "x", "#! /bin/bash -e\n", "bash" },
		{ "x", "#!/usr/bin/env -S python3 -u\n", "python" }, { "x", "#!/bin/sh", "bash" }, { "x", "#!/usr/bin/perl\r\n", "perl" },
		{ "x.unknown", "#!/usr/bin/node\n", "node" }, { "x.d/run", "#!/usr/bin/ruby\n", "ruby" },
		{ "x", "", "none" }, { "x", "#!", "none" }, { "x", "#!\n", "none" }, { "x", "#! \n/usr/bin/python3", "none" },
		{ "x", "# !/usr/bin/python3", "none" }, { "x", "\n#!/usr/bin/python3", "none" }, { "x", "#!/usr/bin/unknown python3\n", "none" },
		{ "x", "#!/usr/bin/env\n", "none" }, { "x", "#!/usr/bin/python3x\n", "none" }, { "x.p y", "", "none" }, { "py", "", "none" },
		{ "x.py/y", "", "none" }, { "x.", "", "none" },
	};
	char head[1000];

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(strcmp(name_of(language_of_file(rows[i].path, rows[i].head, strlen(rows[i].head))), rows[i].name) == 0, "%s %s", rows[i].path,
		       rows[i].head);
	/* Not NUL-terminated, longer than the line buffer, NUL inside. */
	memset(head, 'a', sizeof(head));
	memcpy(head, "#!", 2);
	assert_null(language_of_file("x", head, sizeof(head)));
	memset(head + 2, ' ', sizeof(head) - 2);
	assert_null(language_of_file("x", head, sizeof(head)));
	assert_null(language_of_file("x", "#!/usr/bin/py\0thon3\n", 20));
	assert_null(language_of_file("x", "#!/usr/bin/python3", 10));
}

TEST(near_misses)
{
	static const char *const rows[][2] = {
		{ "pyton", "python" }, { "Pyhton", "python" }, { "rubby", "ruby" }, { "javascrip", "node" }, { "typescrip", "typescript" },
	};
	struct err e;

	for (size_t i = 0; i < COUNT(rows); i++) {
		char want[64];

		memset(&e, 0, sizeof(e));
		assert_int_equal(language_unknown(rows[i][0], &e), -1);
		snprintf(want, sizeof(want), "did you mean '%s'?", rows[i][1]);
		ROW_OK(strstr(e.msg, want), "%s says: %s", rows[i][0], e.msg);
	}
	language_unknown("zzzzzzzz", &e);
	assert_null(strstr(e.msg, "did you mean"));
	assert_true(e.hint[0]);
}

TEST(builtin_rows_are_sound)
{
	const struct language *l;

	for (size_t i = 0; (l = language_at(i)); i++) {
		assert_non_null(l->title);
		assert_non_null(l->run);
		assert_non_null(l->run[0]);
		assert_int_equal(l->program[0], '/');
		assert_null(strchr(l->file, '/'));
		assert_ptr_equal(language_find(l->name), l);
		for (const char *const *x = l->endings; *x; x++)
			assert_int_equal((*x)[0], '.');
		for (const char *const *x = l->env; x && *x; x++)
			assert_non_null(strchr(*x, '='));
		for (size_t k = 0; k < i; k++)
			for (const char *const *x = l->endings; *x; x++)
				for (const char *const *y = language_at(k)->endings; *y; y++)
					assert_string_not_equal(*x, *y);
	}
}

#define GOOD "name: own\ntitle: Own\nendings: [.own]\nfile: main.own\nrun: [/bin/own, \"{file}\"]\nversion: [/bin/own]\nprogram: /bin/own\npackage: own\n"

TEST(yaml)
{
	static const struct {
		const char *text;
		bool ok;
	} rows[] = {
		{ GOOD, true }, { GOOD "env: {A: b, C: d}\n", true }, { GOOD "aliases: []\n", true },
		{ "", false }, { "- a\n", false }, { "x", false }, { "{", false }, { "name: own\n", false }, { GOOD "unknown: 1\n", false },
		{ GOOD "compile: text\n", false }, { GOOD "env: 1\n", false }, { "name: [a]\n" GOOD, false }, { "? [a]\n: b\n", false }, { "*x", false },
		{ GOOD "aliases: [a, [b], c]\n", false }, { "\xff\xfe", false }, { "&a [*a]", false },
	};
	struct temp t;
	char path[128];

	temp_make(&t);
	snprintf(path, sizeof(path), "%s/x.yaml", t.path);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };
		const struct language *l;

		temp_write(&t, "x.yaml", rows[i].text);
		l = language_parse(path, &e);
		ROW_OK(!!l == rows[i].ok, "%s: %s", rows[i].text, e.msg);
		ROW_OK(l || (e.kind == ERR_INPUT && strstr(e.msg, "x.yaml")), "%s", rows[i].text);
	}
	unlinkat(t.fd, "x.yaml", 0);
	assert_null(language_parse(path, &(struct err){ 0 }));
	/* libfyaml 0.7.12 never came back from the first; nobody writes to the second. */
	alarm(10);
	temp_write(&t, "x.yaml", "%id: \xcd\xdeG");
	assert_null(language_parse(path, &(struct err){ 0 }));
	unlinkat(t.fd, "x.yaml", 0);
	assert_int_equal(mkfifoat(t.fd, "x.yaml", 0600), 0);
	assert_null(language_parse(path, &(struct err){ 0 }));
	alarm(0);
	temp_remove(&t);
}

/* Last: rows stay for the life of the process. */
TEST(own_rows_come_first)
{
	struct err e = { 0 };
	struct temp t;

	temp_make(&t);
	temp_write(&t, "own.yaml", GOOD "aliases: [oo]\n");
	temp_write(&t, "python.yaml", "name: python\ntitle: Mine\nendings: [.py]\nfile: m.py\nrun: [/bin/x]\nversion: [/bin/x]\nprogram: /bin/x\npackage: x\n");
	temp_write(&t, "ignored.txt", "{");
	assert_int_equal(language_load_dir(t.path, &e), 0);
	assert_string_equal(language_find("oo")->name, "own");
	assert_string_equal(language_find("python")->title, "Mine");
	assert_string_equal(language_of_file("x.py", "", 0)->title, "Mine");
	temp_write(&t, "bad.yaml", "{");
	assert_int_equal(language_load_dir(t.path, &e), -1);
	assert_int_equal(language_load_dir("/nowhere/at/all", &e), 0);
	temp_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_name), cmocka_unit_test(by_file), cmocka_unit_test(near_misses), cmocka_unit_test(builtin_rows_are_sound),
		cmocka_unit_test(yaml), cmocka_unit_test(own_rows_come_first),
	};

	return cmocka_run_group_tests_name("language", tests, NULL, NULL);
}
