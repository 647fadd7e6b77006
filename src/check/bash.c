/* SPDX-License-Identifier: Apache-2.0 */
/* bash: which words its commands come to, through quotes, variables and the commands that start others. */
#include "check/scan.h"

#include <string.h>

/*
 * A word is what bash would make of it where that can be said: quotes and backslashes removed, variables that only ever get constants put in,
 * $(command -v curl) and $(echo curl) resolved. A command that starts another (env, sudo, xargs) is looked through, and a text that a shell
 * is given as a constant (bash -c '...', eval "...", a here-document) is parsed as well.
 */

#define WORDS_MAX 64
#define DEPTH_MAX 4

struct words {
	struct value v[WORDS_MAX];
	uint8_t quoted[WORDS_MAX]; /* no pattern of files, no blanks between words */
	size_t n;
};

static void add_word(struct words *w, const struct value *v, bool quoted)
{
	if (w->n == WORDS_MAX)
		return;
	w->v[w->n] = *v;
	w->quoted[w->n++] = quoted;
}

static struct value one(const char *text, size_t len)
{
	struct value v = { 0 };

	value_add(&v, ATOM_STR, text, len);
	return v;
}

/* ---- words ---- */

/* Backslashes of an unquoted word. */
static void unescape(struct scan *s, struct value *out, const char *p, size_t len, bool in_quotes)
{
	char *text;
	size_t n = 0;

	if (!memchr(p, '\\', len)) {
		value_add(out, ATOM_STR, p, len);
		return;
	}
	text = scan_room(s, len);
	for (size_t i = 0; text && i < len; i++) {
		if (p[i] == '\\' && i + 1 < len && (!in_quotes || strchr("$`\"\\\n", p[i + 1]))) {
			i++;
			if (p[i] == '\n')
				continue;
		}
		text[n++] = p[i];
	}
	if (text)
		value_add(out, ATOM_STR, text, n);
}

/* $'...' */
static void ansi_c(struct scan *s, struct value *out, const char *p, size_t len)
{
	static const char from[] = "abefnrtv\\'\"?", to[] = "\a\b\033\f\n\r\t\v\\'\"?";
	char *text = scan_room(s, len);
	size_t n = 0;

	for (size_t i = 0; text && i < len; i++) {
		const char *hit;
		unsigned v = 0;
		size_t k;

		if (p[i] != '\\' || i + 1 == len) {
			text[n++] = p[i];
			continue;
		}
		i++;
		if (p[i] == 'x' || p[i] == 'u' || p[i] == 'U') {
			size_t most = p[i] == 'x' ? 2 : p[i] == 'u' ? 4 : 8;

			for (k = 1; k <= most && i + k < len; k++) {
				char d = p[i + k];
				int h = d >= '0' && d <= '9' ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : d >= 'A' && d <= 'F' ? d - 'A' + 10 : -1;

				if (h < 0)
					break;
				v = v * 16 + (unsigned)h;
			}
			i += k - 1;
			/* A NUL ends it. */
			if (!v && k > 1)
				break;
			text[n++] = v < 0x80 ? (char)v : '?';
		} else if (p[i] >= '0' && p[i] <= '7') {
			for (k = 0; k < 3 && i + k < len && p[i + k] >= '0' && p[i + k] <= '7'; k++)
				v = v * 8 + (unsigned)(p[i + k] - '0');
			i += k - 1;
			if (!(v & 0xff))
				break;
			text[n++] = (char)v;
		} else {
			hit = p[i] ? strchr(from, p[i]) : NULL;
			text[n++] = hit ? to[hit - from] : p[i];
		}
	}
	if (text)
		value_add(out, ATOM_STR, text, n);
}

static void lookup(struct scan *s, struct value *out, uint32_t name)
{
	uint32_t len;
	const char *text = node_text(s, name, &len);
	struct binding *b = binding_find(s, 0, text, len);

	if (b)
		value_join(out, &b->value);
	else if (len == 4 && memcmp(text, "HOME", 4) == 0)
		value_add(out, ATOM_STR, "~", 1);
	else if (len == 3 && memcmp(text, "IFS", 3) == 0)
		value_add(out, ATOM_STR, " ", 1);
}

/* $x, ${x}, ${x:-default}; all other forms are anything */
static void eval_expansion(struct scan *s, uint32_t i, struct value *out)
{
	const struct node *n = node_at(s, i);
	uint32_t name = n->first, after;

	if (name == NO_NODE || node_at(s, name)->kind != K_variable_name)
		return;
	after = node_at(s, name)->end;
	if (n->kind == K_simple_expansion || (after < n->end && s->tree.text[after] == '}' && s->tree.text[n->start + 1] == '{' && node_at(s, name)->start == n->start + 2)) {
		lookup(s, out, name);
		return;
	}
	if (after + 1 < n->end && (s->tree.text[after] == '-' || s->tree.text[after] == '=' || (s->tree.text[after] == ':' && strchr("-=+", s->tree.text[after + 1])))) {
		lookup(s, out, name);
		value_join(out, value_of(s, node_at(s, name)->next));
	}
}

static void build_words(struct scan *s, uint32_t command, struct words *w);

static const char *base_name(const char *p, size_t *len)
{
	for (size_t i = *len; i > 0; i--)
		if (p[i - 1] == '/') {
			*len -= i;
			return p + i;
		}
	return p;
}

static bool word_is(const struct value *v, const char *text)
{
	for (int i = 0; i < v->n; i++) {
		size_t len = v->a[i].len;
		const char *p = base_name(v->a[i].s, &len);

		if (len == strlen(text) && memcmp(p, text, len) == 0)
			return true;
	}
	return false;
}

/* $(command -v curl), $(which curl), $(echo curl), $(printf %s curl) */
static void eval_substitution(struct scan *s, uint32_t i, struct value *out)
{
	uint32_t c = node_at(s, i)->first;
	static struct words w;
	size_t last;

	if (c == NO_NODE || node_at(s, c)->kind != K_command || node_at(s, c)->next != NO_NODE)
		return;
	build_words(s, c, &w);
	if (w.n < 2)
		return;
	last = w.n - 1;
	if (word_is(&w.v[0], "command") || word_is(&w.v[0], "which") || word_is(&w.v[0], "type")) {
		*out = w.v[last];
	} else if (word_is(&w.v[0], "echo") || word_is(&w.v[0], "printf")) {
		size_t first = 1;

		if (w.n > 2 && value_str(&w.v[1]) && (value_str(&w.v[1])->s[0] == '-' || (word_is(&w.v[0], "printf") && memchr(value_str(&w.v[1])->s, '%', value_str(&w.v[1])->len))))
			first = 2;
		*out = w.v[first];
		for (size_t k = first + 1; k < w.n; k++) {
			struct value space = one(" ", 1), a = { 0 }, b = { 0 };

			value_concat(s, &a, out, &space);
			value_concat(s, &b, &a, &w.v[k]);
			*out = b;
		}
	}
}

/* The parts of "..." or of a word, one after the other; what lies between them is text. */
static void eval_parts(struct scan *s, uint32_t i, struct value *out, uint32_t from, uint32_t end, bool quoted)
{
	uint32_t at = from;

	value_add(out, ATOM_STR, "", 0);
	for (uint32_t c = node_at(s, i)->first;; c = node_at(s, c)->next) {
		uint8_t kind = c == NO_NODE ? K_other : node_at(s, c)->kind;
		uint32_t stop = c == NO_NODE ? end : node_at(s, c)->start;
		struct value part = { 0 }, next = { 0 };

		if (kind == K_string_content || kind == K_heredoc_content)
			continue;
		if (stop > at) {
			unescape(s, &part, s->tree.text + at, stop - at, quoted);
			value_concat(s, &next, out, &part);
			*out = next;
		}
		if (c == NO_NODE || !out->n)
			return;
		next.n = 0;
		value_concat(s, &next, out, value_of(s, c));
		*out = next;
		at = node_at(s, c)->end;
	}
}

static void evaluate(struct scan *s, uint32_t i)
{
	const struct node *n = node_at(s, i);
	struct value v = { 0 };
	uint32_t len, x;
	const char *text = node_text(s, i, &len);

	switch (n->kind) {
	case K_word:
	case K_number:
		unescape(s, &v, text, len, false);
		break;
	case K_raw_string:
		if (len >= 2)
			value_add(&v, ATOM_STR, text + 1, len - 2);
		break;
	case K_ansi_c_string:
		if (len >= 3)
			ansi_c(s, &v, text + 2, len - 3);
		break;
	case K_string:
		if (len >= 2)
			eval_parts(s, i, &v, n->start + 1, n->end - 1, true);
		break;
	case K_translated_string:
	case K_command_name:
		v = *value_of(s, n->first);
		break;
	case K_concatenation:
		eval_parts(s, i, &v, n->start, n->end, false);
		break;
	case K_simple_expansion:
	case K_expansion:
		eval_expansion(s, i, &v);
		break;
	case K_command_substitution:
		eval_substitution(s, i, &v);
		break;
	case K_variable_assignment:
		x = node_child(s, i, F_name);
		if (x == NO_NODE || node_at(s, x)->kind != K_variable_name)
			return;
		text = node_text(s, x, &len);
		binding_add(s, binding_declare(s, 0, text, len), value_of(s, node_child(s, i, F_value)));
		return;
	case K_for_statement:
		x = node_child(s, i, F_variable);
		if (x == NO_NODE)
			return;
		text = node_text(s, x, &len);
		for (uint32_t c = n->first; c != NO_NODE; c = node_at(s, c)->next)
			if (node_at(s, c)->field == F_value)
				binding_add(s, binding_declare(s, 0, text, len), value_of(s, c));
		return;
	default:
		return;
	}
	value_set(s, i, &v);
}

/* Not quoted: blanks make several words of one. */
static void split(struct scan *s, const struct value *v, struct words *w)
{
	const struct atom *a = value_str(v);
	size_t at = 0;

	if (!a || (!memchr(a->s, ' ', a->len) && !memchr(a->s, '\t', a->len) && !memchr(a->s, '\n', a->len))) {
		add_word(w, v, false);
		return;
	}
	while (at < a->len) {
		size_t from = at;
		struct value part;

		while (at < a->len && a->s[at] != ' ' && a->s[at] != '\t' && a->s[at] != '\n')
			at++;
		if (at > from) {
			part = one(scan_copy(s, a->s + from, at - from), at - from);
			add_word(w, &part, false);
		}
		at++;
	}
}

static void build_words(struct scan *s, uint32_t command, struct words *w)
{
	w->n = 0;
	for (uint32_t c = node_at(s, command)->first; c != NO_NODE; c = node_at(s, c)->next) {
		const struct node *n = node_at(s, c);
		uint32_t inner = n->kind == K_command_name && n->first != NO_NODE ? n->first : c;
		uint8_t kind = node_at(s, inner)->kind;

		if (n->field != F_name && n->field != F_argument)
			continue;
		if (kind == K_simple_expansion || kind == K_expansion || kind == K_command_substitution)
			split(s, value_of(s, inner), w);
		else
			add_word(w, value_of(s, inner), kind == K_string || kind == K_raw_string || kind == K_ansi_c_string);
	}
}

/* ---- commands that start others ---- */

static const struct {
	const char *name;
	const char *with_value; /* letters of options that take the next word */
	int skip;		/* words before the command */
} wrappers[] = {
	{ "env", "uCS", 0 },	 { "sudo", "ughpCcrtTU", 0 }, { "doas", "uC", 0 },   { "exec", "a", 0 },    { "command", "", 0 }, { "builtin", "", 0 },
	{ "nohup", "", 0 },	 { "time", "fo", 0 },	      { "nice", "n", 0 },    { "ionice", "cnp", 0 }, { "stdbuf", "ioe", 0 }, { "setsid", "", 0 },
	{ "timeout", "ks", 1 },	 { "xargs", "IiLlnPsdEea", 0 }, { "busybox", "", 0 }, { "chroot", "", 1 }, { "unshare", "", 0 },	 { "watch", "n", 0 },
	{ "strace", "eopP", 0 }, { "parallel", "jNI", 0 },    { "script", "c", 0 },  { "flock", "wE", 1 },  { "taskset", "", 1 }, { "chrt", "", 1 },
	{ "catchsegv", "", 0 },	 { "runuser", "u", 0 },	      { "coproc", "", 0 },   { "then", "", 0 },	    { "do", "", 0 },
};

static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh", "ash", "rbash", "mksh", NULL };

static bool is_one_of(const struct value *v, const char *const *names)
{
	for (; *names; names++)
		if (word_is(v, *names))
			return true;
	return false;
}

static bool is_option(const struct value *v)
{
	const struct atom *a = value_str(v);

	return a && a->len > 1 && a->s[0] == '-';
}

static bool is_assignment(const struct value *v)
{
	const struct atom *a = value_str(v);

	return a && a->len && memchr(a->s, '=', a->len) && a->s[0] != '=' && a->s[0] != '-' && !memchr(a->s, '/', (size_t)((const char *)memchr(a->s, '=', a->len) - a->s));
}

/* Where the command begins that the wrapper at `at` starts. */
static size_t inner_command(const struct words *w, size_t at, size_t wrapper)
{
	int skip = wrappers[wrapper].skip;

	for (at++; at < w->n; at++) {
		const struct atom *a = value_str(&w->v[at]);

		if (is_option(&w->v[at])) {
			if (a->len == 2 && a->s[1] == '-') {
				at++;
				break;
			}
			if (a->len == 2 && strchr(wrappers[wrapper].with_value, a->s[1]))
				at++;
			continue;
		}
		if (is_assignment(&w->v[at]))
			continue;
		if (skip-- > 0)
			continue;
		break;
	}
	return at;
}

/* ---- rules ---- */

static bool args_fit(const struct check_rule *r, const struct words *w, size_t from)
{
	for (const char *const *group = r->args; group && *group; group++) {
		bool hit = false;

		for (size_t i = from; i < w->n && !hit; i++)
			for (int k = 0; k < w->v[i].n && !hit; k++)
				hit = w->v[i].a[k].kind == ATOM_STR && rule_glob_any(*group, w->v[i].a[k].s, w->v[i].a[k].len);
		if (!hit)
			return false;
	}
	return true;
}

/* A word with a pattern of file names in it may be any program that the pattern fits. */
static bool name_fits(const char *pattern, const char *p, size_t len, bool quoted)
{
	char copy[64];

	if (rule_glob(pattern, p, len))
		return true;
	if (quoted || len >= sizeof(copy) || !(memchr(p, '?', len) || memchr(p, '*', len) || memchr(p, '[', len)) || strpbrk(pattern, "?*["))
		return false;
	/* "*" alone fits everything, and means nothing. */
	memcpy(copy, p, len);
	copy[len] = '\0';
	return strspn(copy, "*?[]") < len && rule_glob(copy, pattern, strlen(pattern));
}

static void match_command(struct scan *s, const struct words *w, size_t at, bool piped, uint32_t start, uint32_t end)
{
	for (int k = 0; k < w->v[at].n; k++) {
		size_t len = w->v[at].a[k].len;
		const char *p = base_name(w->v[at].a[k].s, &len);

		if (!len || !scan_step(s, 8))
			continue;
		for (const struct rule_entry *e = s->rules->commands; e; e = e->next)
			if (name_fits(e->pattern, p, len, w->quoted[at]) && args_fit(e->rule, w, at + 1) && (!e->rule->piped || piped))
				scan_found(s, e, start, end);
	}
}

static void scan_inner(struct scan *s, const struct value *v, uint32_t start, uint32_t end)
{
	for (int k = 0; k < v->n; k++) {
		struct scan in;

		if (v->a[k].kind != ATOM_STR || v->a[k].len < 2 || s->depth >= DEPTH_MAX || !scan_step(s, v->a[k].len * 64ULL + 1000))
			continue;
		scan_init(&in, CHECK_BASH, v->a[k].s, v->a[k].len);
		in.rules = s->rules;
		in.modules = s->modules;
		in.file = s->file;
		in.arena = s->arena;
		in.out = s->out;
		in.whole = s->whole;
		in.whole_len = s->whole_len;
		in.depth = s->depth + 1;
		in.at_start = s->depth ? s->at_start : start;
		in.at_end = s->depth ? s->at_end : end;
		in.bytes_left = s->bytes_left / 2;
		in.steps_left = s->steps_left / 2;
		bool was_broken = in.tree.broken;

		if (in.tree.state == TREE_WHOLE && in.tree.count)
			scan_bash(&in);
		if (in.tree.broken && !was_broken && !s->tree.broken) {
			s->tree.broken = true;
			s->tree.broken_at = in.at_start;
			s->tree.broken_end = in.at_end;
		}
		s->steps_left -= s->steps_left / 2 - in.steps_left;
		s->bytes_left -= s->bytes_left / 2 - in.bytes_left;
		scan_done(&in);
	}
}

/* The word after `-c` (or -xc) of a shell. */
static size_t shell_text(const struct words *w, size_t at)
{
	for (at++; at < w->n; at++) {
		const struct atom *a = value_str(&w->v[at]);

		if (!is_option(&w->v[at]))
			return w->n;
		if (a->s[1] != '-' && memchr(a->s, 'c', a->len)) {
			/* Options may stand between. */
			for (at++; at < w->n && is_option(&w->v[at]); at++)
				;
			return at;
		}
	}
	return w->n;
}

static void look_inside(struct scan *s, const struct words *w, size_t at, uint32_t start, uint32_t end)
{
	static const char *const by_string[] = { "trap", NULL };

	if (is_one_of(&w->v[at], shells) || word_is(&w->v[at], "su") || word_is(&w->v[at], "script")) {
		size_t text = shell_text(w, at);

		if (text < w->n)
			scan_inner(s, &w->v[text], start, end);
	} else if (word_is(&w->v[at], "eval")) {
		struct value all = { 0 };

		for (size_t i = at + 1; i < w->n; i++) {
			struct value space = one(" ", 1), a = { 0 }, b = { 0 };

			if (i == at + 1) {
				all = w->v[i];
				continue;
			}
			value_concat(s, &a, &all, &space);
			value_concat(s, &b, &a, &w->v[i]);
			all = b;
		}
		scan_inner(s, &all, start, end);
	} else if (is_one_of(&w->v[at], by_string) && at + 1 < w->n) {
		scan_inner(s, &w->v[at + 1], start, end);
	}
}

/* A function of that name, defined before and for sure, is what is meant. */
static bool is_own_function(struct scan *s, const struct value *v, uint32_t at)
{
	const struct atom *a = value_str(v);
	struct binding *b = a && v->n == 1 ? binding_find(s, 1, a->s, a->len) : NULL;

	return b && b->sure_from <= at;
}

static bool is_piped(const struct scan *s, uint32_t i)
{
	uint32_t up = node_at(s, i)->parent, c = i;

	while (up != NO_NODE && (node_at(s, up)->kind == K_redirected_statement)) {
		c = up;
		up = node_at(s, up)->parent;
	}
	return up != NO_NODE && node_at(s, up)->kind == K_pipeline && node_at(s, up)->first != c;
}

static void tell_words(struct scan *s, struct words *w, bool piped, uint32_t start, uint32_t end)
{
	size_t at = 0;

	for (int depth = 0; depth < 8 && at < w->n; depth++) {
		size_t k, n = sizeof(wrappers) / sizeof(wrappers[0]);

		if (depth == 0 && is_own_function(s, &w->v[0], start))
			return;
		match_command(s, w, at, piped, start, end);
		look_inside(s, w, at, start, end);
		/* find ... -exec CMD */
		if (word_is(&w->v[at], "find")) {
			for (k = at + 1; k < w->n && !word_is(&w->v[k], "-exec") && !word_is(&w->v[k], "-execdir") && !word_is(&w->v[k], "-ok"); k++)
				;
			at = k + 1;
			continue;
		}
		for (k = 0; k < n && !word_is(&w->v[at], wrappers[k].name); k++)
			;
		if (k == n)
			return;
		/* env -S 'curl x' */
		if (strcmp(wrappers[k].name, "env") == 0)
			for (size_t i = at + 1; i + 1 < w->n; i++)
				if (word_is(&w->v[i], "-S"))
					scan_inner(s, &w->v[i + 1], start, end);
		at = inner_command(w, at, k);
	}
}

static void tell_redirect(struct scan *s, uint32_t i)
{
	uint32_t to = node_child(s, i, F_destination), len;
	const char *text = node_text(s, i, &len);
	const struct value *v = value_of(s, to);
	bool writes = memchr(text, '>', len) != NULL;

	for (int k = 0; k < v->n; k++)
		for (const struct rule_entry *e = s->rules->redirects; e && scan_step(s, 1); e = e->next)
			/* bash itself connects /dev/tcp, in either direction */
			if (v->a[k].kind == ATOM_STR && rule_glob(e->pattern, v->a[k].s, v->a[k].len) &&
			    !rule_list_has(e->rule->except, v->a[k].s, v->a[k].len) &&
			    (writes || strncmp(e->pattern, "/dev/tcp", 8) == 0 || strncmp(e->pattern, "/dev/udp", 8) == 0))
				scan_found(s, e, node_at(s, i)->start, node_at(s, i)->end);
}

/* The command that a redirection belongs to is a shell: what it reads is code. */
static bool feeds_shell(struct scan *s, uint32_t redirect)
{
	uint32_t up = node_at(s, redirect)->parent, body;
	static struct words w;

	while (up != NO_NODE && node_at(s, up)->kind == K_heredoc_redirect)
		up = node_at(s, up)->parent;
	if (up == NO_NODE)
		return false;
	body = node_at(s, up)->kind == K_command ? up : node_child(s, up, F_body);
	if (body == NO_NODE || node_at(s, body)->kind != K_command)
		return false;
	build_words(s, body, &w);
	for (size_t i = 0; i < w.n; i++)
		if (is_one_of(&w.v[i], shells))
			return true;
	return false;
}

static void tell_heredoc(struct scan *s, uint32_t i)
{
	for (uint32_t c = node_at(s, i)->first; c != NO_NODE; c = node_at(s, c)->next)
		if (node_at(s, c)->kind == K_heredoc_body && feeds_shell(s, i)) {
			uint32_t len;
			const char *text = node_text(s, c, &len);
			struct value v = { 0 };

			if (node_at(s, c)->first == NO_NODE || node_at(s, node_at(s, c)->first)->kind == K_heredoc_content)
				value_add(&v, ATOM_STR, text, len);
			else
				eval_parts(s, c, &v, node_at(s, c)->start, node_at(s, c)->end, true);
			/* What is no constant is looked at as it stands. */
			if (!v.n)
				value_add(&v, ATOM_STR, text, len);
			scan_inner(s, &v, node_at(s, c)->start, node_at(s, c)->end);
		}
}

/* echo 'curl x' | bash */
static void tell_pipeline(struct scan *s, uint32_t i)
{
	static struct words w, left;
	uint32_t before = NO_NODE;

	for (uint32_t c = node_at(s, i)->first; c != NO_NODE; before = c, c = node_at(s, c)->next) {
		if (node_at(s, c)->kind != K_command || before == NO_NODE || node_at(s, before)->kind != K_command)
			continue;
		build_words(s, c, &w);
		if (!w.n || !is_one_of(&w.v[0], shells))
			continue;
		build_words(s, before, &left);
		if (left.n > 1 && (word_is(&left.v[0], "echo") || word_is(&left.v[0], "printf")))
			for (size_t k = 1; k < left.n; k++)
				scan_inner(s, &left.v[k], node_at(s, before)->start, node_at(s, before)->end);
	}
}

static void find_functions(struct scan *s)
{
	for (uint32_t i = 0; i < s->tree.count; i++) {
		const struct node *n = node_at(s, i);
		uint32_t name, len;
		const char *text;
		struct binding *b;

		if (n->kind != K_function_definition || n->parent == NO_NODE || node_at(s, n->parent)->kind != K_program)
			continue;
		name = node_child(s, i, F_name);
		if (name == NO_NODE)
			continue;
		text = node_text(s, name, &len);
		b = binding_declare(s, 1, text, len);
		if (n->end < b->sure_from)
			b->sure_from = n->end;
	}
}

/* ---- lines that go on ---- */

static bool is_in_word(char c)
{
	return !strchr(" \t\r\n;&|()<>", c) && c;
}

/* Text that is no code, and in which a backslash before a line's end is dealt with elsewhere, or is none. */
static bool is_text(const struct node *n)
{
	return n->kind == K_raw_string || n->kind == K_ansi_c_string || n->kind == K_comment || n->kind == K_string_content || n->kind == K_heredoc_content ||
	       (n->kind == K_heredoc_body && n->first == NO_NODE);
}

/* bash takes a backslash and a line's end away before it looks for words; the grammar takes them for a blank, and sees two words where there is one. */
static void find_joined(struct scan *s)
{
	const char *text = s->tree.text, *p = text;
	size_t len = s->tree.len;
	uint8_t *quoted = NULL;

	while (!s->tree.broken && (p = memmem(p, len - (size_t)(p - text), "\\\n", 2))) {
		size_t at = (size_t)(p - text), slashes = 1;

		p++;
		while (slashes <= at && text[at - slashes] == '\\')
			slashes++;
		if (slashes % 2 == 0 || !at || at + 2 >= len || !is_in_word(text[at - 1]) || !is_in_word(text[at + 2]))
			continue;
		if (!quoted) {
			quoted = arena_alloc(s->arena, len + 1);
			memset(quoted, 0, len + 1);
			for (uint32_t i = 0; i < s->tree.count; i++)
				if (is_text(node_at(s, i)))
					memset(quoted + node_at(s, i)->start, 1, node_at(s, i)->end - node_at(s, i)->start);
		}
		if (quoted[at])
			continue;
		s->tree.broken = true;
		s->tree.broken_at = (uint32_t)at;
		s->tree.broken_end = (uint32_t)at + 1;
	}
}

void scan_bash(struct scan *s)
{
	struct words w;

	find_joined(s);
	scope_new(s, NO_SCOPE, SCOPE_MODULE);
	scope_new(s, NO_SCOPE, SCOPE_FUNCTION); /* the names of functions are a world of their own */
	find_functions(s);
	for (int round = 0; round < 3; round++) {
		s->changed = false;
		for (uint32_t i = 0; i < s->tree.count && scan_step(s, 1); i++)
			evaluate(s, i);
		if (!s->changed)
			break;
	}
	for (uint32_t i = 0; i < s->tree.count && scan_step(s, 1); i++) {
		const struct node *n = node_at(s, i);

		switch (n->kind) {
		case K_command:
			build_words(s, i, &w);
			tell_words(s, &w, is_piped(s, i), n->start, n->end);
			break;
		case K_file_redirect:
			tell_redirect(s, i);
			break;
		case K_heredoc_redirect:
			tell_heredoc(s, i);
			break;
		case K_herestring_redirect:
			if (feeds_shell(s, i) && n->first != NO_NODE)
				scan_inner(s, value_of(s, n->first), n->start, n->end);
			break;
		case K_pipeline:
			tell_pipeline(s, i);
			break;
		default:
			break;
		}
	}
}
