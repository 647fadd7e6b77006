/* SPDX-License-Identifier: Apache-2.0 */
/* Languages: looking rows up by name, by a file's ending, by its first line. */
#include "run/language.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

#define OWN_MAX 64

static const struct language *own[OWN_MAX];
static size_t own_count;

const struct language *language_at(size_t i)
{
	if (i < own_count)
		return own[i];
	i -= own_count;
	for (const struct language *l = languages_builtin; l->name; l++) {
		bool shadowed = false;

		for (size_t k = 0; k < own_count; k++)
			shadowed = shadowed || strcmp(own[k]->name, l->name) == 0;
		if (shadowed)
			continue;
		if (!i--)
			return l;
	}
	return NULL;
}

static bool in_list(const char *const *list, const char *word)
{
	for (; list && *list; list++)
		if (strcasecmp(*list, word) == 0)
			return true;
	return false;
}

const struct language *language_find(const char *name)
{
	const struct language *l;

	for (size_t i = 0; (l = language_at(i)); i++)
		if (strcasecmp(l->name, name) == 0 || in_list(l->aliases, name))
			return l;
	return NULL;
}

static const struct language *by_shebang(const char *head, size_t len)
{
	char line[256], *save = NULL, *word;
	const struct language *l;

	if (len < 3 || memcmp(head, "#!", 2) != 0)
		return NULL;
	len = len - 2 < sizeof(line) - 1 ? len - 2 : sizeof(line) - 1;
	memcpy(line, head + 2, len);
	line[len] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	for (word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		const char *base = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;

		/* "env -S python3 -u": options and env itself are not the interpreter. */
		if (strcmp(base, "env") == 0 || base[0] == '-')
			continue;
		for (size_t i = 0; (l = language_at(i)); i++)
			if (in_list(l->interpreters, base))
				return l;
		return NULL;
	}
	return NULL;
}

const struct language *language_of_file(const char *path, const char *head, size_t head_len)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const char *dot = strrchr(base, '.');
	const struct language *l;

	if (dot)
		for (size_t i = 0; (l = language_at(i)); i++)
			if (in_list(l->endings, dot))
				return l;
	return by_shebang(head, head_len);
}

int language_unknown(const char *name, struct err *e)
{
	const struct language *l, *near = NULL;
	unsigned best = 64;

	for (size_t i = 0; (l = language_at(i)); i++) {
		const char *const none[] = { NULL };
		const char *const *a = l->aliases ? l->aliases : none;
		const char *candidate = l->name;

		for (;;) {
			if (parse_is_near(name, candidate) && parse_distance(name, candidate) < best) {
				best = parse_distance(name, candidate);
				near = l;
			}
			if (!*a)
				break;
			candidate = *a++;
		}
	}
	err_set(e, ERR_USAGE, "--lang: unknown language '%.40s'%s%s%s", name, near ? "; did you mean '" : "",
		near ? near->name : "", near ? "'?" : "");
	return err_hint(e, "belljar languages");
}

int language_load_dir(const char *dir, struct err *e)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	int rc = 0;

	if (!d)
		return 0;
	while (rc == 0 && own_count < OWN_MAX && (f = readdir(d))) {
		size_t n = strlen(f->d_name);
		char path[1024];

		if (n < 6 || strcmp(f->d_name + n - 5, ".yaml") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, f->d_name);
		own[own_count] = language_parse(path, e);
		if (own[own_count])
			own_count++;
		else
			rc = -1;
	}
	closedir(d);
	return rc;
}
