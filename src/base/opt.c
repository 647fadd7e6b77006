/* SPDX-License-Identifier: Apache-2.0 */
/* Options as rows: parsing, help, formatting. */
#include "base/opt.h"

#include <ctype.h>
#include <string.h>

#include "base/parse.h"

const struct opt *opt_find(const struct opt *opts, const char *name)
{
	for (; opts->name; opts++)
		if (strcmp(opts->name, name) == 0)
			return opts;
	return NULL;
}

const struct opt *opt_near(const struct opt *opts, const char *name)
{
	const struct opt *best = NULL;
	unsigned distance = 64;

	/* The beginning of a name is meant as that name; of two, the shorter. */
	for (const struct opt *o = opts; strlen(name) > 1 && o->name; o++)
		if (strncmp(o->name, name, strlen(name)) == 0 && (!best || strlen(o->name) < strlen(best->name)))
			best = o;
	if (best)
		return best;
	for (; opts->name; opts++) {
		unsigned d = parse_distance(name, opts->name);

		if (parse_is_near(name, opts->name) && d < distance) {
			distance = d;
			best = opts;
		}
	}
	return best;
}

/* Writes a number in the row's own unit. */
static void format_number(const struct opt *o, uint64_t v, char *out, size_t size)
{
	switch (o->kind) {
	case OPT_BYTES:
		format_bytes(v, out, size);
		break;
	case OPT_MS:
		if (v % 1000 == 0)
			snprintf(out, size, "%llus", (unsigned long long)v / 1000);
		else
			snprintf(out, size, "%llums", (unsigned long long)v);
		break;
	case OPT_MILLI:
		snprintf(out, size, "%llu.%03llu", (unsigned long long)v / 1000, (unsigned long long)v % 1000);
		/* 1.500 -> 1.5, 1.000 -> 1.0 */
		for (size_t n = strlen(out); n > 2 && out[n - 1] == '0' && out[n - 2] != '.'; n--)
			out[n - 1] = '\0';
		break;
	default:
		snprintf(out, size, "%llu", (unsigned long long)v);
	}
}

int opt_check(const struct opt *o, uint64_t value, const char *shown, struct err *e)
{
	char lo[32], hi[32], is[32];

	if (!o->max || (value >= o->min && value <= o->max))
		return 0;
	format_number(o, o->min, lo, sizeof(lo));
	format_number(o, o->max, hi, sizeof(hi));
	format_number(o, value, is, sizeof(is));
	return err_set(e, ERR_USAGE, "%s: %s is out of range (%s to %s)", shown, is, lo, hi);
}

static int set_number(const struct opt *o, const char *text, uint64_t *out, const char *shown, struct err *e)
{
	uint64_t v = 0;
	int rc = o->kind == OPT_BYTES ? parse_bytes(text, &v, e)
		 : o->kind == OPT_MS	? parse_ms(text, &v, e)
		 : o->kind == OPT_MILLI ? parse_milli(text, &v, e)
					: parse_u64(text, &v, e);

	if (rc < 0)
		return err_wrap(e, "%s", shown);
	if (opt_check(o, v, shown, e) < 0)
		return -1;
	*out = v;
	return 0;
}

int opt_choice(const struct opt *o, const char *text)
{
	int i = 0;

	for (const char *p = o->arg; *p; i++) {
		size_t n = strcspn(p, "|");

		if (strlen(text) == n && memcmp(p, text, n) == 0)
			return i;
		p += n + (p[n] == '|');
	}
	return -1;
}

static int set_choice(const struct opt *o, const char *text, uint64_t *out, const char *shown, struct err *e)
{
	int i = opt_choice(o, text);

	if (i < 0)
		return err_set(e, ERR_USAGE, "%s: '%.40s' is none of %s", shown, text, o->arg);
	*out = (uint64_t)i;
	return 0;
}

static void format_choice(const struct opt *o, uint64_t v, char *out, size_t size)
{
	const char *p = o->arg;

	for (; v && strchr(p, '|'); v--)
		p = strchr(p, '|') + 1;
	snprintf(out, size, "%.*s", (int)strcspn(p, "|"), p);
}

int opt_set(const struct opt *o, void *dst, const char *text, const char *shown, struct arena *a, struct err *e)
{
	void *at = (char *)dst + o->at;

	switch (o->kind) {
	case OPT_FLAG:
		if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0 || strcmp(text, "yes") == 0)
			*(bool *)at = true;
		else if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0 || strcmp(text, "no") == 0)
			*(bool *)at = false;
		else
			return err_set(e, ERR_USAGE, "%s: '%.40s' is neither true nor false", shown, text);
		return 0;
	case OPT_STR:
		*(const char **)at = arena_dup(a, text);
		return 0;
	case OPT_LIST:
		strlist_add(a, at, arena_dup(a, text));
		return 0;
	case OPT_CHOICE:
		return set_choice(o, text, at, shown, e);
	default:
		return set_number(o, text, at, shown, e);
	}
}

void opt_defaults(const struct opt *opts, void *dst, struct arena *a)
{
	struct err e;

	for (; opts->name; opts++)
		if (opts->def)
			opt_set(opts, dst, opts->def, opts->name, a, &e);
}

static const struct opt *find_letter(const struct opt *opts, char letter)
{
	for (; opts->name; opts++)
		if (opts->letter == letter)
			return opts;
	return NULL;
}

static int unknown(const struct opt_cmd *cmd, const char *word, struct err *e)
{
	char name[64];
	const struct opt *near;

	if (word[1] == '-')
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	near = word[1] == '-' ? opt_near(cmd->opts, name) : NULL;

	err_set(e, ERR_USAGE, "unknown option '%.60s'%s%s%s", word, near ? "; did you mean '--" : "",
		near ? near->name : "", near ? "'?" : "");
	return err_hint(e, "belljar %s --help", cmd->name);
}

/* One option at argv[*i]; takes its value from the same or the next word. */
static int parse_one(const struct opt_cmd *cmd, int argc, char **argv, int *i, void *dst, struct opt_rest *rest, struct arena *a,
		     struct err *e)
{
	char *word = argv[*i], *value = NULL, shown[72], next[4096];
	const struct opt *o;

	if (word[1] == '-') {
		char name[64];
		size_t n = strcspn(word + 2, "=");

		snprintf(name, sizeof(name), "%.*s", (int)(n < 63 ? n : 63), word + 2);
		o = opt_find(cmd->opts, name);
		value = word[2 + n] == '=' ? word + 3 + n : NULL;
	} else {
		o = find_letter(cmd->opts, word[1]);
		value = word[2] ? word + 2 : NULL;
	}
	if (!o)
		return unknown(cmd, word, e);
	snprintf(shown, sizeof(shown), "--%s", o->name);
	if (o - cmd->opts < OPT_ROWS_MAX)
		rest->seen[o - cmd->opts] = true;
	if (o->kind == OPT_FLAG && word[1] == '-')
		return opt_set(o, dst, value ? value : "true", shown, a, e);
	if (o->kind == OPT_FLAG) {
		/* Letters can be joined: the next one stands where this one stood. */
		if (opt_set(o, dst, "true", shown, a, e) < 0 || !value)
			return value ? -1 : 0;
		next[0] = '-';
		snprintf(next + 1, sizeof(next) - 1, "%s", value);
		if (strlen(value) >= sizeof(next) - 1 || value[0] == '-')
			return unknown(cmd, word, e);
		argv[*i] = arena_dup(a, next);
		return parse_one(cmd, argc, argv, i, dst, rest, a, e);
	}
	if (!value) {
		if (*i + 1 >= argc)
			return err_set(e, ERR_USAGE, "%s needs a value: %s", shown, o->arg);
		value = argv[++*i];
	}
	return opt_set(o, dst, value, shown, a, e);
}

int opt_parse(const struct opt_cmd *cmd, int argc, char **argv, void *dst, struct opt_rest *rest, struct arena *a,
	      struct err *e)
{
	memset(rest, 0, sizeof(*rest));
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			rest->dashes = true;
			for (i++; i < argc; i++)
				strlist_add(a, &rest->after, argv[i]);
			break;
		}
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			rest->help = true;
			continue;
		}
		if (argv[i][0] == '-' && argv[i][1]) {
			if (parse_one(cmd, argc, argv, &i, dst, rest, a, e) < 0)
				return -1;
		} else {
			strlist_add(a, &rest->words, argv[i]);
		}
	}
	return 0;
}

void opt_env_name(const struct opt *o, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "BELLJAR_%s", o->name);

	for (size_t i = 0; i < n && i < size; i++)
		out[i] = out[i] == '-' ? '_' : (char)toupper((unsigned char)out[i]);
}

void opt_format(const struct opt *o, const void *src, char *out, size_t size)
{
	const void *at = (const char *)src + o->at;

	switch (o->kind) {
	case OPT_FLAG:
		snprintf(out, size, "%s", *(const bool *)at ? "true" : "false");
		break;
	case OPT_STR:
		snprintf(out, size, "%s", *(const char *const *)at ? *(const char *const *)at : "");
		break;
	case OPT_LIST:
		out[0] = '\0';
		for (size_t i = 0; i < ((const struct strlist *)at)->n; i++) {
			size_t n = strlen(out);

			snprintf(out + n, size - n, "%s%s", i ? "," : "", ((const struct strlist *)at)->v[i]);
		}
		break;
	case OPT_CHOICE:
		format_choice(o, *(const uint64_t *)at, out, size);
		break;
	default:
		format_number(o, *(const uint64_t *)at, out, size);
	}
}

void opt_help(const struct opt_cmd *cmd, FILE *out)
{
	fprintf(out, "%s\n\nusage:\n%s\n", cmd->summary, cmd->usage);
	if (cmd->opts->name)
		fprintf(out, "\noptions:\n");
	for (const struct opt *o = cmd->opts; o->name; o++) {
		char left[64];
		int n = snprintf(left, sizeof(left), "  %c%c%s--%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
				 o->letter ? ", " : "  ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");

		fprintf(out, "%s%*s%s", left, n < 30 ? 30 - n : 1, "", o->help);
		if (o->def)
			fprintf(out, " (default %s)", o->def);
		fputc('\n', out);
	}
	if (cmd->details)
		fprintf(out, "\n%s\n", cmd->details);
}
