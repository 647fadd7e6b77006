/* SPDX-License-Identifier: Apache-2.0 */
/* A simple command as words. */
#include "grade/swe_words.h"

#include <stdbool.h>
#include <string.h>

/* The length of a place for a value at the start of the text; 0: there is none. */
static size_t place_at(const char *p)
{
	static const char *const places[] = { "{python}", "{tree}" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strncmp(p, places[i], strlen(places[i])) == 0)
			return strlen(places[i]);
	return 0;
}

int swe_words_split(const char *text, struct strlist *out, const char *shown, struct arena *a, struct err *e)
{
	char *word = arena_alloc(a, strlen(text) + 1);
	size_t n = 0, place;
	bool in = false;
	char quote = 0;

	for (const char *p = text;; p++) {
		if (!*p && quote)
			return err_set(e, ERR_INPUT, "%s: a quote does not end", shown);
		if (!*p || (!quote && (*p == ' ' || *p == '\t'))) {
			if (in)
				strlist_add(a, out, arena_dup_len(a, word, n));
			n = 0;
			in = false;
			if (!*p)
				return 0;
		} else if (quote ? *p == quote : *p == '\'' || *p == '"') {
			quote = quote ? 0 : *p;
			in = true;
		} else if ((place = place_at(p))) {
			memcpy(word + n, p, place);
			n += place;
			p += place - 1;
			in = true;
		} else if (*p == '\n' || (quote != '\'' && strchr("$`\\", *p)) || (!quote && strchr("|&;<>()*?[]{}!#~", *p))) {
			return err_set(e, ERR_INPUT, "%s: '%c' is for a shell, and no shell reads it", shown, *p == '\n' ? ' ' : *p);
		} else {
			word[n++] = *p;
			in = true;
		}
	}
}
