/* SPDX-License-Identifier: Apache-2.0 */
/* The allow-list of a jar: names, links, `#!` lines, loaders. */
#include "jar/allow.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "jar/feed.h"

#define LINKS_MAX  40	/* as the kernel's */
#define SCRIPT_MAX 5	/* interpreters of interpreters, as the kernel's */
#define LINE_MAX_LEN 255 /* of a `#!` line */

const char *const allow_folders[ALLOW_FOLDERS] = { "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/games",
						   "/usr/local/games", "/usr/libexec", "/usr/local/libexec", "/bin", "/sbin" };
const char *const allow_roots[ALLOW_ROOTS] = { "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };

bool allow_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

const char *allow_folder(const char *path)
{
	for (size_t i = 0; i < ALLOW_FOLDERS; i++)
		if (allow_beneath(path, allow_folders[i]))
			return allow_folders[i];
	return NULL;
}

int allow_bind_of(const struct jar_spec *spec, const char *path)
{
	/* The last one covers those before it. */
	for (int i = (int)spec->bind_count; i-- > 0;)
		if (allow_beneath(path, spec->binds[i]))
			return i;
	return -1;
}

bool allow_name_ok(const char *name)
{
	size_t n;

	name += *name == '?';
	n = strlen(name);
	if (!n || n + 1 >= JAR_ALLOW_NAME || *name == '-' || *name == '?')
		return false;
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p < 0x21 || *p == 0x7f || *p == ',' || *p == ':')
			return false;
	if (*name == '/')
		return feed_name_ok(name + 1, n - 1);
	return !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* ---- the list ---- */

static const char *keep_text(struct allow *a, const char *text, struct err *e)
{
	size_t n = strlen(text) + 1;
	char *out = a->text + a->text_len;

	if (a->text_len + n > ALLOW_TEXT) {
		err_set(e, ERR_INPUT, "--allow: too many programs");
		return NULL;
	}
	memcpy(out, text, n);
	a->text_len += n;
	return out;
}

static bool has_item(const struct allow *a, const char *path, bool files)
{
	for (size_t i = 0; i < a->count; i++)
		if ((a->items[i].kind < ALLOW_FILES) == files && strcmp(a->items[i].path, path) == 0)
			return true;
	return false;
}

bool allow_has(const struct allow *a, const char *path)
{
	return has_item(a, path, true);
}

static int add_item(struct allow *a, enum allow_kind kind, const char *path, const char *by, struct err *e)
{
	struct allow_item *it = &a->items[a->count];

	if (has_item(a, path, kind < ALLOW_FILES))
		return 0;
	if (a->count == ALLOW_ITEMS)
		return err_set(e, ERR_INPUT, "--allow: too many programs");
	*it = (struct allow_item){ kind, keep_text(a, path, e), by };
	if (!it->path)
		return -1;
	a->count++;
	return 0;
}

void allow_names(const struct allow *a, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < a->name_count; i++) {
		if (used + strlen(a->names[i]) + 8 > size) {
			snprintf(out + used, size - used, " ...");
			return;
		}
		used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", a->names[i]);
	}
}

/* ---- the table ---- */

/* The next row of `kind` from *at on: its name and its words. False when there is none. */
static bool next_row(const char **at, const char *kind, char *name, size_t size, const char **words, size_t *len)
{
	while (**at) {
		const char *line = *at, *end = strchrnul(line, '\n'), *colon;
		size_t n = strlen(kind);

		*at = *end ? end + 1 : end;
		if (strncmp(line, kind, n) != 0 || line[n] != ' ')
			continue;
		colon = memchr(line, ':', (size_t)(end - line));
		if (!colon || snprintf(name, size, "%.*s", (int)(colon - line - (long)n - 1), line + n + 1) >= (int)size)
			continue;
		*words = colon + 1;
		*len = (size_t)(end - colon - 1);
		return true;
	}
	return false;
}

static bool next_word(const char **words, size_t *len, char *out, size_t size)
{
	size_t n = 0;

	while (*len && **words == ' ') {
		++*words;
		--*len;
	}
	while (n < *len && (*words)[n] != ' ')
		n++;
	if (!n || snprintf(out, size, "%.*s", (int)n, *words) >= (int)size)
		return false;
	*words += n;
	*len -= n;
	return true;
}

bool allow_set_at(const char *set, size_t i, char *out, size_t size)
{
	const char *at = allow_table, *words;
	char name[32];
	size_t len;

	while (next_row(&at, "set", name, sizeof(name), &words, &len)) {
		if (strcmp(name, set) != 0)
			continue;
		while (next_word(&words, &len, out, size))
			if (!i--)
				return true;
	}
	return false;
}

/* ---- the jar's root, before there is one ---- */

struct view {
	struct allow *a;
	const struct jar_spec *spec;
	const int *binds;
	unsigned depth; /* of scripts */
};

/* Where `path` of the jar is to be found now. -1: the jar has none such. */
static int place(const struct view *v, const char *path, const char **rest)
{
	int bind = allow_bind_of(v->spec, path);

	if (bind >= 0) {
		*rest = path + strlen(v->spec->binds[bind]);
		*rest += **rest == '/';
		return v->binds[bind];
	}
	*rest = path;
	for (size_t i = 0; i < ALLOW_ROOTS; i++)
		if (allow_beneath(path, allow_roots[i]))
			return AT_FDCWD;
	return allow_beneath(path, "/etc/alternatives") || strcmp(path, "/etc") == 0 ? AT_FDCWD : -1;
}

static int look(const struct view *v, const char *path, struct stat *st)
{
	const char *rest;
	int dir = place(v, path, &rest);

	if (dir == -1) {
		/* A folder on the way to a bind. */
		for (uint32_t i = 0; i < v->spec->bind_count; i++)
			if (allow_beneath(v->spec->binds[i], path)) {
				memset(st, 0, sizeof(*st));
				st->st_mode = S_IFDIR | 0755;
				return 0;
			}
		errno = ENOENT;
		return -1;
	}
	return fstatat(dir, rest, st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH);
}

static int open_in(const struct view *v, const char *path)
{
	const char *rest;
	int dir = place(v, path, &rest);
	char link[48];

	if (dir != AT_FDCWD && !*rest) {
		/* The bind is the file itself; its descriptor may be one that cannot be read. */
		snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
		return open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	return openat(dir, rest, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* One part more: "..", or a name that may be a link. 1: it was one, and `rest` begins with what it says now. */
static int walk_part(const struct view *v, char *cur, char *rest, const char *part, size_t n, const char *by, struct err *e)
{
	char target[PATH_MAX], whole[PATH_MAX];
	const char *at;
	size_t used = strlen(cur);
	struct stat st;
	ssize_t len;

	if (n == 0 || (n == 1 && part[0] == '.')) {
		memmove(rest, part + n, strlen(part + n) + 1);
		return 0;
	}
	if (n == 2 && part[0] == '.' && part[1] == '.') {
		char *slash = strrchr(cur, '/');

		if (slash)
			*slash = '\0';
		memmove(rest, part + n, strlen(part + n) + 1);
		return 0;
	}
	if (used + n + 2 > PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(cur + used, PATH_MAX - used, "/%.*s", (int)n, part);
	memmove(rest, part + n, strlen(part + n) + 1);
	if (look(v, cur, &st) < 0)
		return -1;
	if (!S_ISLNK(st.st_mode))
		return 0;
	int dir = place(v, cur, &at);

	len = readlinkat(dir, at, target, sizeof(target) - 1);
	if (len <= 0 || snprintf(whole, sizeof(whole), "%.*s%s", (int)len, target, rest) >= (int)sizeof(whole))
		return -1;
	if (by && allow_folder(cur) && allow_bind_of(v->spec, cur) < 0 && add_item(v->a, ALLOW_LINK, cur, by, e) < 0)
		return -1;
	memcpy(rest, whole, strlen(whole) + 1);
	cur[whole[0] == '/' ? 0 : used] = '\0';
	return 1;
}

/* `path` without links, in `out`. Links in folders of programs are noted for `by`. -1 with errno. */
static int follow(const struct view *v, const char *path, const char *by, char out[PATH_MAX], struct err *e)
{
	char rest[PATH_MAX];
	int links = 0;

	out[0] = '\0';
	if (snprintf(rest, sizeof(rest), "%s", path) >= (int)sizeof(rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	while (rest[0]) {
		char *part = rest + strspn(rest, "/");
		int rc = walk_part(v, out, rest, part, strcspn(part, "/"), by, e);

		if (rc < 0)
			return -1;
		links += rc;
		if (links > LINKS_MAX) {
			errno = ELOOP;
			return -1;
		}
	}
	return 0;
}

/* ---- what a file needs ---- */

static int add_file(struct view *v, const char *path, enum allow_kind kind, const char *by, struct err *e);

static int missing(struct err *e, const char *what, const char *by)
{
	err_set(e, ERR_INPUT, "--allow: '%.120s' needs '%.120s', which the jar does not have", by, what);
	return err_hint(e, "install it on the host, or leave '%.100s' out", by);
}

/* A bare name, as a shell would look for it in the jar. */
static int find_name(struct view *v, const char *name, const char *by, char out[PATH_MAX], struct err *e)
{
	for (const char *dir = ALLOW_PATH; *dir;) {
		size_t n = strcspn(dir, ":");
		char path[PATH_MAX];
		struct stat st;

		snprintf(path, sizeof(path), "%.*s/%s", (int)n, dir, name);
		if (follow(v, path, NULL, out, e) == 0 && look(v, out, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111)
			return follow(v, path, by, out, e);
		dir += n + (dir[n] == ':');
	}
	errno = ENOENT;
	return -1;
}

static int add_interpreter(struct view *v, const char *path, const char *by, struct err *e)
{
	char real[PATH_MAX];

	if (path[0] != '/' || follow(v, path, by, real, e) < 0)
		return e->msg[0] ? -1 : missing(e, path, by);
	return add_file(v, real, ALLOW_INTERPRETER, by, e);
}

/* `#!/usr/bin/env -S VAR=1 python3 -u`: the program is the first word that is neither an option nor a variable. */
static int add_env_program(struct view *v, char *args, const char *by, struct err *e)
{
	char real[PATH_MAX], *save = NULL;

	for (char *w = strtok_r(args, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		/* -S may have its first word right behind it. */
		if (strncmp(w, "-S", 2) == 0 && w[2])
			w += 2;
		if (*w == '-' || strchr(w, '='))
			continue;
		if (*w == '/')
			return add_interpreter(v, w, by, e);
		if (find_name(v, w, by, real, e) < 0)
			return e->msg[0] ? -1 : missing(e, w, by);
		return add_file(v, real, ALLOW_INTERPRETER, by, e);
	}
	return 0;
}

static int add_script(struct view *v, const char *head, size_t len, const char *by, struct err *e)
{
	char line[LINE_MAX_LEN + 1], *path, *args;
	const char *name;

	if (++v->depth > SCRIPT_MAX)
		return err_set(e, ERR_INPUT, "--allow: '%.120s': interpreters of interpreters without end", by);
	snprintf(line, sizeof(line), "%.*s", (int)(len - 2 < LINE_MAX_LEN ? len - 2 : LINE_MAX_LEN), head + 2);
	line[strcspn(line, "\n")] = '\0';
	path = line + strspn(line, " \t");
	args = path + strcspn(path, " \t");
	if (*args)
		*args++ = '\0';
	if (!*path)
		return missing(e, "#!", by);
	if (add_interpreter(v, path, by, e) < 0)
		return -1;
	name = strrchr(path, '/');
	if (strcmp(name ? name + 1 : path, "env") == 0 && add_env_program(v, args, by, e) < 0)
		return -1;
	v->depth--;
	return 0;
}

/* A folder whose files can be mapped to be executed. Only what comes from the host's roots, and never a folder of programs or one above it. */
static int add_tree(struct view *v, const char *path, const char *by, struct err *e)
{
	char real[PATH_MAX];
	struct stat st;

	if (follow(v, path, NULL, real, e) < 0 || look(v, real, &st) < 0 || !S_ISDIR(st.st_mode) || allow_bind_of(v->spec, real) >= 0 ||
	    strlen(real) >= JAR_PATH_MAX)
		return 0;
	if (allow_folder(real))
		return 0;
	for (size_t i = 0; i < ALLOW_FOLDERS; i++)
		if (allow_beneath(allow_folders[i], real))
			return 0;
	for (size_t i = 0; i < ALLOW_ROOTS; i++)
		if (allow_beneath(real, allow_roots[i]))
			return add_item(v->a, ALLOW_TREE, real, by, e);
	return 0;
}

/* DT_RUNPATH and DT_RPATH: folders with colons between them, relative to the program's own by $ORIGIN. */
static int add_runpath(struct view *v, char *list, const char *path, const char *by, struct err *e)
{
	char *save = NULL, dir[PATH_MAX];
	const char *slash = strrchr(path, '/');

	for (char *w = strtok_r(list, ":", &save); w; w = strtok_r(NULL, ":", &save)) {
		size_t n = strncmp(w, "$ORIGIN", 7) == 0 ? 7 : strncmp(w, "${ORIGIN}", 9) == 0 ? 9 : 0;

		if (n)
			snprintf(dir, sizeof(dir), "%.*s%s", (int)(slash - path), path, w + n);
		else
			snprintf(dir, sizeof(dir), "%s", w);
		if (dir[0] == '/' && add_tree(v, dir, by, e) < 0)
			return -1;
	}
	return 0;
}

/* The string of the dynamic section that `tag` names; "" when there is none. */
static void dynamic_text(int fd, const Elf64_Phdr *ph, size_t count, int64_t tag, char *out, size_t size)
{
	static Elf64_Dyn dyn[1024];
	uint64_t strtab = 0, at = 0, file = 0;
	ssize_t n = 0;
	bool have = false;

	out[0] = '\0';
	for (size_t i = 0; i < count; i++)
		if (ph[i].p_type == PT_DYNAMIC)
			n = pread(fd, dyn, ph[i].p_filesz < sizeof(dyn) ? ph[i].p_filesz : sizeof(dyn), (off_t)ph[i].p_offset);
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(dyn[0]) && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_STRTAB)
			strtab = dyn[i].d_un.d_ptr;
		if (dyn[i].d_tag == tag) {
			at = dyn[i].d_un.d_val;
			have = true;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (ph[i].p_type == PT_LOAD && strtab >= ph[i].p_vaddr && strtab < ph[i].p_vaddr + ph[i].p_filesz)
			file = strtab - ph[i].p_vaddr + ph[i].p_offset;
	if (!have || !file)
		return;
	n = pread(fd, out, size - 1, (off_t)(file + at));
	out[n > 0 ? n : 0] = '\0';
}

static int add_elf(struct view *v, int fd, const char *path, enum allow_kind kind, const char *by, struct err *e)
{
	static const int64_t tags[] = { DT_RUNPATH, DT_RPATH };
	static Elf64_Phdr ph[64];
	char text[PATH_MAX], real[PATH_MAX];
	Elf64_Ehdr h;
	ssize_t n;

	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(ph[0]) || h.e_phnum > 64) {
		err_set(e, ERR_INPUT, "--allow: '%.120s' (%.120s) is not a 64-bit program", by, path);
		return err_hint(e, "programs of other architectures do not run in a jar");
	}
	n = pread(fd, ph, h.e_phnum * sizeof(ph[0]), (off_t)h.e_phoff);
	if (n != (ssize_t)(h.e_phnum * sizeof(ph[0])))
		return err_set(e, ERR_INPUT, "--allow: '%.120s' (%.120s) is cut", by, path);
	for (size_t i = 0; i < 2; i++) {
		dynamic_text(fd, ph, h.e_phnum, tags[i], text, sizeof(text));
		if (text[0] && add_runpath(v, text, path, by, e) < 0)
			return -1;
	}
	for (size_t i = 0; kind != ALLOW_LOADER && i < h.e_phnum; i++) {
		if (ph[i].p_type != PT_INTERP)
			continue;
		n = pread(fd, text, ph[i].p_filesz < sizeof(text) ? ph[i].p_filesz : sizeof(text) - 1, (off_t)ph[i].p_offset);
		text[n > 0 ? n : 0] = '\0';
		if (text[0] != '/' || follow(v, text, NULL, real, e) < 0)
			return e->msg[0] ? -1 : missing(e, text, by);
		if (add_file(v, real, ALLOW_LOADER, by, e) < 0)
			return -1;
		*strrchr(real, '/') = '\0';
		if (add_tree(v, real, by, e) < 0 || add_tree(v, "/usr/local/lib", by, e) < 0)
			return -1;
	}
	return 0;
}

static int add_rows(struct view *v, const char *kind, const char *name, const char *by, struct err *e)
{
	const char *at = allow_table, *words;
	char pattern[64], word[256];
	size_t len;
	int rc = 0;

	while (rc == 0 && next_row(&at, kind, pattern, sizeof(pattern), &words, &len)) {
		if (fnmatch(pattern, name, 0) != 0)
			continue;
		while (rc == 0 && next_word(&words, &len, word, sizeof(word))) {
			glob_t g = { 0 };

			if (glob(word, GLOB_NOSORT, NULL, &g) == 0)
				for (size_t i = 0; rc == 0 && i < g.gl_pathc; i++) {
					char real[PATH_MAX];

					if (strcmp(kind, "libs") == 0)
						rc = add_tree(v, g.gl_pathv[i], by, e);
					else if (follow(v, g.gl_pathv[i], by, real, e) == 0)
						rc = add_file(v, real, ALLOW_HELPER, by, e);
				}
			globfree(&g);
		}
	}
	return rc;
}

static int add_needs(struct view *v, const char *path, const char *by, struct err *e)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return add_rows(v, "libs", name, by, e) < 0 || add_rows(v, "helpers", name, by, e) < 0 ? -1 : 0;
}

/* A file that can be started, and what it needs. `path` has no links on the way. */
static int add_file(struct view *v, const char *path, enum allow_kind kind, const char *by, struct err *e)
{
	auto_close int fd = -1;
	char head[LINE_MAX_LEN + 3];
	struct stat st;
	ssize_t n;

	if (allow_has(v->a, path))
		return 0;
	if (look(v, path, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111)) {
		err_set(e, ERR_INPUT, "--allow: '%.120s': %.160s is no program", by, path);
		return err_hint(e, "a program is a file that is executable (chmod +x)");
	}
	if (strlen(path) >= JAR_PATH_MAX)
		return err_set(e, ERR_INPUT, "--allow: '%.120s': its path is longer than %d bytes", by, JAR_PATH_MAX - 1);
	fd = open_in(v, path);
	n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	if (n < 0) {
		err_sys(e, "--allow: '%.120s': read %.160s", by, path);
		e->kind = ERR_INPUT;
		return err_hint(e, "a guest is nobody on this host: only programs that all may read can be allowed");
	}
	if (add_item(v->a, kind, path, by, e) < 0)
		return -1;
	if (n > 2 && memcmp(head, "#!", 2) == 0) {
		if (add_script(v, head, (size_t)n, by, e) < 0)
			return -1;
	} else if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0) {
		if (add_elf(v, fd, path, kind, by, e) < 0)
			return -1;
	} else {
		err_set(e, ERR_INPUT, "--allow: '%.120s': %.160s is no program", by, path);
		return err_hint(e, "it is neither ELF nor a script with a '#!' line");
	}
	return add_needs(v, path, by, e);
}

static int unknown(struct err *e, const char *name)
{
	if (e->msg[0])
		return -1;
	err_set(e, ERR_INPUT, "--allow: there is no program '%.120s' in a jar", name);
	return err_hint(e, name[0] == '/' ? "a path of the jar: below /usr, or below a folder that --ro shows"
					  : "install it on the host (the jar searches " ALLOW_PATH "), or name its path");
}

static int add_name(struct view *v, const char *asked, struct err *e)
{
	bool optional = *asked == '?';
	const char *name = keep_text(v->a, asked + optional, e);
	char real[PATH_MAX];
	int rc;

	if (!name)
		return -1;
	rc = *name == '/' ? follow(v, name, name, real, e) : find_name(v, name, name, real, e);
	if (rc < 0)
		return optional && !e->msg[0] ? 0 : unknown(e, name);
	v->depth = 0;
	if (add_file(v, real, ALLOW_PROGRAM, name, e) < 0)
		return -1;
	/* It may be there already as what another one needed: it was asked for now. */
	for (size_t i = 0; i < v->a->count; i++)
		if (v->a->items[i].kind < ALLOW_FILES && v->a->items[i].kind != ALLOW_PROGRAM && strcmp(v->a->items[i].path, real) == 0) {
			v->a->items[i].kind = ALLOW_PROGRAM;
			v->a->items[i].by = name;
		}
	v->a->names[v->a->name_count++] = name;
	/* Rows go by the name that was asked for too: java is a link to one of many. */
	return add_needs(v, name, name, e);
}

/* Of two folders one of which holds the other, the outer one is enough. */
static void drop_inner(struct allow *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++) {
		bool inner = false;

		for (size_t k = 0; a->items[i].kind == ALLOW_TREE && k < a->count; k++)
			inner = inner || (k != i && a->items[k].kind == ALLOW_TREE && allow_beneath(a->items[i].path, a->items[k].path));
		if (!inner)
			a->items[n++] = a->items[i];
	}
	a->count = n;
}

int allow_resolve(struct allow *a, const struct jar_spec *spec, const int *binds, struct err *e)
{
	struct view v = { .a = a, .spec = spec, .binds = binds };

	a->count = a->text_len = a->name_count = 0;
	a->masks = NULL;
	a->masks_len = 0;
	err_clear(e);
	for (uint32_t i = 0; i < spec->allow_count; i++)
		if (add_name(&v, spec->allow[i], e) < 0)
			return -1;
	drop_inner(a);
	/* A program that can be rewritten is every program. */
	for (size_t i = 0; i < a->count; i++) {
		int bind = allow_bind_of(spec, a->items[i].path);

		if (bind >= 0 && jar_is_layer(spec, (uint32_t)bind)) {
			err_set(e, ERR_DENIED, "--allow: %.150s lies in a --layer, where the guest could change it", a->items[i].path);
			return err_hint(e, "show it with --ro");
		}
	}
	if (a->name_count)
		return 0;
	return err_set(e, ERR_DENIED, "--allow: none of the programs that may start is installed");
}
