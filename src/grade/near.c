/* SPDX-License-Identifier: Apache-2.0 */
/* Near names: what somebody may have meant who wrote another. */
#include "grade/near.h"

#include <ctype.h>
#include <string.h>

#include "base/parse.h"

#define WORD_MAX 63

/* A name as it is compared: lower case, without underscores. False when it is too long to be compared. */
static bool fold(const char *name, char *out)
{
	size_t n = 0;

	for (; *name; name++) {
		if (*name == '_')
			continue;
		if (n == WORD_MAX)
			return false;
		out[n++] = (char)tolower((unsigned char)*name);
	}
	out[n] = '\0';
	return true;
}

/* Twice the distance, and one more for what folding took away: an equal but for case is nearer than any change. */
static unsigned cost(const char *word, const char *folded, const char *name)
{
	char other[WORD_MAX + 1];
	size_t n = strlen(folded), m = strlen(name);

	/* The length alone may say that it is too far, without a table. */
	if (m > WORD_MAX || m > n * 2 + 8 || !fold(name, other))
		return ~0U;
	if (strcmp(folded, other) == 0 && n)
		return 1;
	return parse_distance(word, name) * 2;
}

const char *near_find(const char *word, const struct strlist *names)
{
	char folded[WORD_MAX + 1];
	size_t len = strlen(word);
	unsigned best = len < 2 ? 1 : len < 6 ? 2 : len < 12 ? 4 : 6;
	const char *found = NULL;

	if (!len || len > WORD_MAX || !fold(word, folded))
		return NULL;
	for (size_t i = 0; i < names->n && i < NEAR_NAMES_MAX; i++) {
		unsigned c = strcmp(word, names->v[i]) == 0 ? ~0U : cost(word, folded, names->v[i]);

		/* Of two that are as near, the one with the same first letter. */
		if (c < best || (c == best && (!found || (found[0] != word[0] && names->v[i][0] == word[0])))) {
			best = c;
			found = names->v[i];
		}
	}
	return found;
}

static bool name_begins(char c)
{
	return isalpha((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool name_goes_on(char c)
{
	return name_begins(c) || isdigit((unsigned char)c);
}

static size_t name_length(struct span s)
{
	size_t n = 0;

	if (s.n && name_begins(s.p[0]))
		while (n < s.n && name_goes_on(s.p[n]))
			n++;
	return n;
}

static void add_name(struct span name, struct arena *a, struct strlist *names)
{
	if (names->n >= NEAR_NAMES_MAX || !name.n || name.n > WORD_MAX || memchr(name.p, '\0', name.n))
		return;
	for (size_t i = 0; i < names->n; i++)
		if (span_is(name, names->v[i]))
			return;
	strlist_add(a, names, arena_dup_len(a, name.p, name.n));
}

#define SEEN 4096

/* Names seen already, by hash: source code says the same ones a thousand times. Two of the same hash are rare, and one of them is lost then. */
static bool seen_before(uint32_t seen[SEEN], struct span name)
{
	uint32_t h = 2166136261U, *place;

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 16777619U;
	h |= 1; /* 0: free */
	place = &seen[h / 2 % SEEN];
	if (*place == h)
		return true;
	*place = h;
	return false;
}

void near_collect(struct span source, struct arena *a, struct strlist *names)
{
	uint32_t seen[SEEN] = { 0 };

	source = span_head(source, 256 << 10);
	while (source.n && names->n < NEAR_NAMES_MAX) {
		size_t n = name_length(source);

		if (n && n <= WORD_MAX && !memchr(source.p, '\0', n) && !seen_before(seen, span_head(source, n)))
			strlist_add(a, names, arena_dup_len(a, source.p, n));
		/* What follows a digit is no name's begin: 0x1f, 1e5. */
		if (!n && isdigit((unsigned char)source.p[0]))
			while (n < source.n && name_goes_on(source.p[n]))
				n++;
		source = span_from(source, n ? n : 1);
	}
}

/* Words before the name of what is defined, tried in this order; `after`: what must follow the name. */
static const struct {
	const char *language, *before, *after;
} definitions[] = {
	{ "python", "def ", "" },	{ "python", "async def ", "" },	 { "python", "class ", "" },
	{ "node", "function ", "" },	{ "node", "async function ", "" }, { "node", "function* ", "" },
	{ "node", "class ", "" },	{ "node", "const ", " =" },	 { "node", "let ", " =" },
	{ "node", "var ", " =" },	{ "node", "exports.", " =" },	 { "node", "module.exports.", " =" },
	{ "node", "export function ", "" }, { "node", "export const ", " =" },
	{ "bash", "function ", "" },	{ "bash", "", "()" },		 { "bash", "", " ()" },
};

void near_collect_functions(struct span source, const char *language, struct arena *a, struct strlist *names)
{
	struct span line;

	while (span_line(&source, &line) && names->n < 256)
		for (size_t i = 0; i < sizeof(definitions) / sizeof(definitions[0]); i++) {
			struct span rest;
			size_t n;

			if (strcmp(definitions[i].language, language) != 0 || !span_starts(line, definitions[i].before))
				continue;
			rest = span_from(line, strlen(definitions[i].before));
			n = name_length(rest);
			if (!n || !span_starts(span_from(rest, n), definitions[i].after))
				continue;
			add_name(span_head(rest, n), a, names);
			break;
		}
}
