/* SPDX-License-Identifier: Apache-2.0 */
/* allow, programs, loader: names, what is a program, what is remembered, the guarded loader. */
#include "unit.h"

#include <elf.h>

#include "jar/allow.h"
#include "jar/loader.h"
#include "jar/programs.h"

TEST(names)
{
	static const struct {
		const char *name;
		bool ok;
	} rows[] = {
		{ "git", true }, { "?git", true }, { "g++", true }, { "python3.11", true }, { "/usr/bin/git", true }, { "[", true },
		{ "", false }, { "?", false }, { "??git", false }, { "a/b", false }, { "/", false }, { "/usr//bin", false }, { "/usr/../x", false },
		{ "/usr/./x", false }, { "/usr/", false }, { ".", false }, { "..", false }, { "-v", false }, { "a b", false }, { "a,b", false },
		{ "a\n", false }, { "a:b", false }, { "\x7f", false }, { "\x1b[2J", false },
	};
	char name[JAR_ALLOW_NAME + 2];

	for (size_t i = 0; i < COUNT(rows); i++)
		ROW_OK(allow_name_ok(rows[i].name) == rows[i].ok, "'%s'", rows[i].name);
	memset(name, 'a', sizeof(name));
	name[JAR_ALLOW_NAME - 2] = '\0';
	assert_true(allow_name_ok(name));
	name[JAR_ALLOW_NAME - 2] = 'a';
	name[JAR_ALLOW_NAME - 1] = '\0';
	assert_false(allow_name_ok(name));
}

TEST(the_default_set)
{
	static const char *const want[] = { "git", "pytest", "python", "python3", "pip", "pip3", "cat", "ls", "echo",
					    "find", "grep", "head", "tail", "mkdir", "cp", "mv", "touch", "chmod" };
	char word[64];

	for (size_t i = 0; i < COUNT(want); i++) {
		assert_true(allow_set_at("default", i, word, sizeof(word)));
		assert_string_equal(word, want[i]);
	}
	assert_false(allow_set_at("default", COUNT(want), word, sizeof(word)));
	assert_false(allow_set_at("nothing", 0, word, sizeof(word)));
}

TEST(beneath)
{
	assert_true(allow_beneath("/usr/bin", "/usr/bin"));
	assert_true(allow_beneath("/usr/bin/x", "/usr/bin"));
	assert_false(allow_beneath("/usr/binx", "/usr/bin"));
	assert_false(allow_beneath("/usr", "/usr/bin"));
	assert_string_equal(allow_folder("/usr/local/bin/x"), "/usr/local/bin");
	assert_null(allow_folder("/usr/lib/x"));
}

static int resolve(struct allow *a, const char *name, struct err *e)
{
	static struct jar_spec spec;

	memset(&spec, 0, sizeof(spec));
	spec.allow_count = 1;
	snprintf(spec.allow[0], sizeof(spec.allow[0]), "%s", name);
	return allow_resolve(a, &spec, NULL, e);
}

TEST(resolves)
{
	static struct allow a;
	struct err e = { 0 };
	char names[32];
	bool loader = false, tree = false;

	assert_int_equal(resolve(&a, "cat", &e), 0);
	for (size_t i = 0; i < a.count; i++) {
		loader = loader || a.items[i].kind == ALLOW_LOADER;
		tree = tree || a.items[i].kind == ALLOW_TREE;
		assert_string_equal(a.items[i].by, "cat");
		assert_false(a.items[i].kind == ALLOW_TREE && allow_beneath("/usr/bin", a.items[i].path));
	}
	assert_true(loader && tree);
	allow_names(&a, names, sizeof(names));
	assert_string_equal(names, "cat");
	assert_int_equal(resolve(&a, "no-such-program", &e), -1);
	assert_non_null(strstr(e.msg, "no-such-program"));
	assert_int_equal(resolve(&a, "?no-such-program", &e), -1);
	assert_int_equal(e.kind, ERR_DENIED);
	assert_int_equal(resolve(&a, "/etc/passwd", &e), -1);
	assert_int_equal(resolve(&a, "/tmp/x", &e), -1);
	assert_int_equal(resolve(&a, "/usr/bin", &e), -1);
}

static bool is_program(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool yes = programs_is(fd, name);

	close(fd);
	return yes;
}

TEST(what_is_a_program)
{
	struct temp t;
	char path[96], text[] = "#!/bin/sh\n";

	assert_true(is_program("/bin/sh", "sh"));
	assert_true(is_program("/bin/sh", "sh.so"));
	assert_true(is_program("/proc/self/exe", "test"));
	/* Has an interpreter, and a name as a library. */
	assert_false(is_program("/lib/x86_64-linux-gnu/libc.so.6", "libc.so.6"));
	assert_false(is_program("/lib64/ld-linux-x86-64.so.2", "ld-linux-x86-64.so.2"));
	assert_false(is_program("/etc/passwd", "passwd"));
	temp_make(&t);
	temp_write(&t, "script", text);
	snprintf(path, sizeof(path), "%s/script", t.path);
	assert_false(is_program(path, "script"));
	/* Headers that are cut or make no sense. */
	for (size_t n = 0; n <= sizeof(Elf64_Ehdr); n += 4) {
		Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB }, .e_type = ET_DYN, .e_phnum = 0xffff, .e_phoff = ~0ULL };
		int fd = openat(t.fd, "elf", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		assert_int_equal(write(fd, &h, n), n);
		programs_is(fd, "elf");
		assert_false(loader_can_guard(fd));
		close(fd);
	}
	temp_remove(&t);
}

static bool has_path(const char *list, size_t len, const char *path)
{
	for (const char *p = list; p && p < list + len; p += strlen(p) + 1)
		if (strcmp(p, path) == 0)
			return true;
	return false;
}

static size_t find(const char *tree, int cache, char *path, bool *has)
{
	char *list = NULL;
	size_t len = 0;
	struct err e = { 0 };

	assert_int_equal(programs_find(&tree, 1, cache, &list, &len, &e), 0);
	*has = has_path(list, len, path);
	free(list);
	return len;
}

static void copy_to(const char *from, const char *to)
{
	char command[256];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	assert_int_equal(system(command), 0);
}

TEST(what_is_remembered)
{
	struct temp t;
	char tree[96], prog[128], name[128], junk[4096];
	bool has;
	int cache;

	temp_make(&t);
	snprintf(tree, sizeof(tree), "%s/tree", t.path);
	snprintf(prog, sizeof(prog), "%s/sub/prog", tree);
	snprintf(name, sizeof(name), "%s/sub", tree);
	assert_int_equal(mkdir(tree, 0755), 0);
	assert_int_equal(mkdir(name, 0755), 0);
	cache = openat(t.fd, "cache", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(find(tree, cache, prog, &has), 0);
	/* A new program shows, remembered or not. */
	copy_to("/bin/sh", prog);
	find(tree, cache, prog, &has);
	assert_true(has);
	find(tree, cache, prog, &has);
	assert_true(has);
	/* Whatever stands in the file, the answer is right. */
	for (int i = 0; i < 200; i++) {
		off_t size = lseek(cache, 0, SEEK_END);
		unsigned char byte = 0;

		assert_true(size > 0);
		if (i % 3 == 0) {
			assert_int_equal(ftruncate(cache, i * 7 % size), 0);
		} else {
			off_t at = i * 31 % size;

			assert_int_equal(pread(cache, &byte, 1, at), 1);
			byte ^= (unsigned char)(1 << i % 8);
			assert_int_equal(pwrite(cache, &byte, 1, at), 1);
		}
		find(tree, cache, prog, &has);
		ROW_OK(has, "damage %d", i);
	}
	memset(junk, 'x', sizeof(junk));
	assert_int_equal(pwrite(cache, junk, sizeof(junk), 0), sizeof(junk));
	find(tree, cache, prog, &has);
	assert_true(has);
	assert_int_equal(unlink(prog), 0);
	find(tree, cache, prog, &has);
	assert_false(has);
	find(tree, -1, prog, &has);
	assert_false(has);
	close(cache);
	temp_remove(&t);
}

/* The copy runs programs as their interpreter and does nothing else; e2e tests show the same in a jar. */
TEST(guarded_loader)
{
	struct temp t;
	struct err e = { 0 };
	char path[96], command[256];
	int in = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC), out;

	assert_true(in >= 0 && loader_can_guard(in));
	temp_make(&t);
	snprintf(path, sizeof(path), "%s/ld.so", t.path);
	out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_int_equal(loader_guard(in, out, &e), 0);
	close(in);
	close(out);
	snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", path);
	assert_int_equal(WEXITSTATUS(system(command)), 127);
	snprintf(command, sizeof(command), "%s /bin/true", path);
	assert_int_equal(WEXITSTATUS(system(command)), 127);
	temp_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names),		  cmocka_unit_test(the_default_set),   cmocka_unit_test(beneath),
					    cmocka_unit_test(resolves),		  cmocka_unit_test(what_is_a_program), cmocka_unit_test(what_is_remembered),
					    cmocka_unit_test(guarded_loader) };

	return cmocka_run_group_tests_name("allow", tests, NULL, NULL);
}
