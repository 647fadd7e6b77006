/* SPDX-License-Identifier: Apache-2.0 */
/* Values, names and findings: what the walks over the three languages share. */
#include "check/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void scan_init(struct scan *s, enum check_language l, const char *text, size_t len)
{
	*s = (struct scan){ .lang = l, .bytes_left = SCAN_BYTES, .steps_left = SCAN_STEPS, .value_count = 1, .whole = text, .whole_len = len };
	tree_parse(&s->tree, l, text, len);
}

void scan_done(struct scan *s)
{
	tree_done(&s->tree);
	arena_free(&s->work);
	free(s->values);
	free(s->scopes);
	free(s->table);
}

bool scan_step(struct scan *s, uint64_t n)
{
	if (s->steps_left < n) {
		s->steps_left = 0;
		s->out->incomplete = true;
		return false;
	}
	s->steps_left -= n;
	return true;
}

static void *grow(void *p, uint32_t *cap, uint32_t need, size_t size)
{
	if (need <= *cap)
		return p;
	*cap = need < 64 ? 64 : need * 2;
	p = realloc(p, *cap * size);
	if (!p)
		abort(); /* a front without memory has nothing to say */
	return p;
}

bool node_is(const struct scan *s, uint32_t i, const char *text)
{
	uint32_t len;
	const char *t = i == NO_NODE ? "" : node_text(s, i, &len);

	return i != NO_NODE && strlen(text) == len && memcmp(t, text, len) == 0;
}

/* ---- identifiers ---- */

static const char *plain_of(uint32_t c)
{
	size_t low = 0, high = nfkc_count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (nfkc_rows[mid].c == c)
			return nfkc_rows[mid].plain;
		if (nfkc_rows[mid].c < c)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static uint32_t decode(const unsigned char *p, size_t n)
{
	static const uint8_t masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = p[0] & masks[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* \u0065 and \u{65}; what is no ASCII stays as it is. */
static size_t unescape(const char *p, size_t len, char *out)
{
	size_t at = 3, digits = 0;
	uint32_t c = 0;
	bool braces = len > 3 && p[2] == '{';

	if (len < 4 || p[1] != 'u')
		return 0;
	for (at = braces ? 3 : 2; at < len && (braces ? p[at] != '}' : digits < 4); at++, digits++) {
		char d = p[at];
		int v = d >= '0' && d <= '9' ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : d >= 'A' && d <= 'F' ? d - 'A' + 10 : -1;

		if (v < 0 || c > 0xffff)
			return 0;
		c = c * 16 + (uint32_t)v;
	}
	if (c == 0 || c >= 0x80)
		return 0;
	*out = (char)c;
	return at + braces <= len ? at + braces : len;
}

const char *node_name(struct scan *s, uint32_t i, uint32_t *len)
{
	const char *p = node_text(s, i, len);
	size_t n = 0, at = 0;
	bool odd = false;
	char *out;

	for (uint32_t k = 0; k < *len && !odd; k++)
		odd = (unsigned char)p[k] >= 0x80 || p[k] == '\\';
	out = odd && *len < NAME_MAX_LEN ? scan_room(s, *len) : NULL;
	if (!out)
		return p;
	while (at < *len) {
		size_t step = utf8_len((const unsigned char *)p + at, *len - at);
		const char *plain = NULL;

		if (s->lang == CHECK_PYTHON && step > 1)
			plain = plain_of(decode((const unsigned char *)p + at, step));
		else if (p[at] == '\\')
			step = unescape(p + at, *len - at, out + n);
		if (p[at] == '\\' && step) {
			n++;
			at += step;
			continue;
		}
		step = step ? step : 1;
		/* No longer than it was: three letters at most, of three bytes at least. */
		if (plain && strlen(plain) <= step) {
			memcpy(out + n, plain, strlen(plain));
			n += strlen(plain);
		} else {
			memcpy(out + n, p + at, step);
			n += step;
		}
		at += step;
	}
	*len = (uint32_t)n;
	return out;
}

/* ---- values ---- */

char *scan_room(struct scan *s, size_t len)
{
	if (len + 32 > s->bytes_left) {
		s->bytes_left = 0;
		s->out->incomplete = true;
		return NULL;
	}
	s->bytes_left -= len + 32;
	return arena_alloc(&s->work, len + 1);
}

char *scan_copy(struct scan *s, const char *text, size_t len)
{
	char *p = scan_room(s, len);

	if (p && len)
		memcpy(p, text, len);
	return p;
}

bool atom_is(const struct atom *a, const char *name)
{
	return a->kind == ATOM_NAME && strlen(name) == a->len && memcmp(a->s, name, a->len) == 0;
}

bool value_has_name(const struct value *v, const char *name)
{
	for (int i = 0; i < v->n; i++)
		if (atom_is(&v->a[i], name))
			return true;
	return false;
}

const struct atom *value_str(const struct value *v)
{
	for (int i = 0; i < v->n; i++)
		if (v->a[i].kind == ATOM_STR)
			return &v->a[i];
	return NULL;
}

bool value_add(struct value *v, enum atom_kind kind, const char *text, size_t len)
{
	if (!text)
		return false;
	for (int i = 0; i < v->n; i++)
		if (v->a[i].kind == kind && v->a[i].len == len && memcmp(v->a[i].s, text, len) == 0)
			return false;
	if (v->n == VALUE_MAX)
		return false;
	v->a[v->n++] = (struct atom){ text, (uint32_t)len, (uint8_t)kind };
	return true;
}

bool value_is_known(const struct value *v)
{
	return value_str(v) && !v->more;
}

bool value_join(struct value *v, const struct value *more)
{
	bool grew = more->more && !v->more;

	v->more = v->more || more->more;

	for (int i = 0; i < more->n; i++)
		grew = value_add(v, more->a[i].kind, more->a[i].s, more->a[i].len) || grew;
	return grew;
}

void value_set(struct scan *s, uint32_t node, const struct value *v)
{
	uint32_t *at = &s->tree.nodes[node].value;

	if (!v->n)
		return;
	if (!*at) {
		s->values = grow(s->values, &s->value_cap, s->value_count + 1, sizeof(*s->values));
		*at = s->value_count++;
	}
	s->values[*at] = *v;
}

void value_member(struct scan *s, struct value *out, const struct value *object, const char *member, size_t len)
{
	char text[NAME_MAX_LEN * 2];

	if (len >= NAME_MAX_LEN)
		return;
	for (int i = 0; i < object->n; i++) {
		const struct atom *a = &object->a[i];
		const char *from = a->s;
		size_t n = a->len;

		if (a->kind != ATOM_NAME)
			continue;
		/* Of a name that is longer than any real one, the end is what counts: rules are looked for at every dot. */
		while (n + len + 1 > NAME_MAX_LEN) {
			const char *dot = memchr(from, '.', n);

			if (!dot)
				break;
			n -= (size_t)(dot + 1 - from);
			from = dot + 1;
		}
		if (n + len + 1 > NAME_MAX_LEN)
			continue;
		memcpy(text, from, n);
		text[n] = '.';
		memcpy(text + n + 1, member, len);
		value_add(out, ATOM_NAME, scan_copy(s, text, n + 1 + len), n + 1 + len);
	}
}

void value_concat(struct scan *s, struct value *out, const struct value *a, const struct value *b)
{
	size_t max = s->lang == CHECK_BASH ? STR_MAX * 16 : STR_MAX;

	out->more = a->more || b->more;

	for (int i = 0; i < a->n; i++)
		for (int k = 0; k < b->n; k++) {
			const struct atom *x = &a->a[i], *y = &b->a[k];
			char *text;

			if (x->kind != ATOM_STR || y->kind != ATOM_STR || x->len + y->len > max || out->n == VALUE_MAX)
				continue;
			if (!x->len || !y->len) {
				value_add(out, ATOM_STR, x->len ? x->s : y->s, x->len + y->len);
				continue;
			}
			text = scan_room(s, x->len + y->len);
			if (text) {
				memcpy(text, x->s, x->len);
				memcpy(text + x->len, y->s, y->len);
			}
			value_add(out, ATOM_STR, text, x->len + y->len);
		}
}

/* ---- names ---- */

uint32_t scope_new(struct scan *s, uint32_t parent, enum scope_kind kind)
{
	s->scopes = grow(s->scopes, &s->scope_cap, s->scope_count + 1, sizeof(*s->scopes));
	s->scopes[s->scope_count] = (struct scope){ parent, kind, NULL };
	return s->scope_count++;
}

static uint32_t bucket(const struct scan *s, uint32_t scope, const char *name, uint32_t len)
{
	uint32_t h = 2166136261U ^ scope * 0x9e3779b1U;

	for (uint32_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619U;
	return (h ^ h >> 15) & (s->table_size - 1);
}

static void rehash(struct scan *s)
{
	uint32_t old_size = s->table_size;
	struct binding **old = s->table;

	s->table_size = old_size ? old_size * 4 : 256;
	s->table = calloc(s->table_size, sizeof(struct binding *));
	if (!s->table)
		abort(); /* a front without memory has nothing to say */
	for (uint32_t i = 0; i < old_size; i++)
		for (struct binding *b = old[i], *next; b; b = next) {
			uint32_t at = bucket(s, b->scope, b->name, b->len);

			next = b->next;
			b->next = s->table[at];
			s->table[at] = b;
		}
	free(old);
}

struct binding *binding_find(struct scan *s, uint32_t scope, const char *name, uint32_t len)
{
	if (!s->table_size)
		return NULL;
	for (struct binding *b = s->table[bucket(s, scope, name, len)]; b; b = b->next)
		if (b->scope == scope && b->len == len && memcmp(b->name, name, len) == 0)
			return b;
	return NULL;
}

struct binding *binding_declare(struct scan *s, uint32_t scope, const char *name, uint32_t len)
{
	struct binding *b = binding_find(s, scope, name, len);
	uint32_t at;

	if (b && b->redirect != NO_SCOPE && b->redirect != scope)
		return binding_declare(s, b->redirect, name, len);
	if (b)
		return b;
	if (s->binding_count >= s->table_size)
		rehash(s);
	b = arena_alloc(&s->work, sizeof(*b));
	*b = (struct binding){ .scope = scope, .name = name, .len = len, .sure_from = NO_NODE, .redirect = NO_SCOPE };
	at = bucket(s, scope, name, len);
	b->next = s->table[at];
	s->table[at] = b;
	s->binding_count++;
	return b;
}

void binding_add(struct scan *s, struct binding *b, const struct value *v)
{
	static const struct value anything = { .more = true };

	if (!v->n)
		v = &anything;
	if (value_join(&b->value, v))
		s->changed = true;
}

/* ---- findings ---- */

void scan_found(struct scan *s, const struct rule_entry *e, uint32_t start, uint32_t end)
{
	if (s->depth) {
		start = s->at_start;
		end = s->at_end;
	}
	check_add(s->out, e->rule->id, e->error, e->rule->message, e->rule->why, s->file, s->whole, s->whole_len, start, end, s->arena);
}

static bool is_excepted(const struct check_rule *r, const char *name, size_t len)
{
	for (const char *const *x = r->except; x && *x; x++) {
		size_t n = strlen(*x);

		if (rule_glob(*x, name, len) || (len > n && name[n] == '.' && memcmp(name, *x, n) == 0))
			return true;
	}
	return false;
}

/* A name of a module's contents: rules are looked for at each dot, since modules hold other modules (shutil.os.system). */
void scan_match(struct scan *s, enum rule_what what, const struct atom *name, uint32_t start, uint32_t end,
		bool (*only)(struct scan *s, const struct rule_entry *e, void *ctx), void *ctx)
{
	for (size_t at = 0, parts = 0; at < name->len && parts < 64; parts++) {
		const char *rest = name->s + at, *dot;
		size_t len = name->len - at, part;

		if (at && *rest == '_' && len > 1) {
			/* random._os is os too. */
			rest++;
			len--;
		}
		dot = memchr(rest, '.', len);
		part = dot ? (size_t)(dot - rest) : len;
		if (!scan_step(s, 1))
			return;
		for (const struct rule_entry *e = rules_first(s->rules, s->lang, rest, part); e; e = e->next)
			if (e->what == what && (!at || strchr(e->pattern, '.')) && rule_glob(e->pattern, rest, len) &&
			    !is_excepted(e->rule, rest, len) && (!only || only(s, e, ctx)))
				scan_found(s, e, start, end);
		if (!dot)
			break;
		at = (size_t)(dot + 1 - name->s);
	}
}

static bool is_under(const char *name, size_t len, const char *module)
{
	size_t n = strlen(module);

	return len >= n && memcmp(name, module, n) == 0 && (len == n || name[n] == '.' || name[n] == '/');
}

static bool list_covers(const struct strlist *l, const char *name, size_t len)
{
	for (size_t i = 0; l && i < l->n; i++)
		if (is_under(name, len, l->v[i]))
			return true;
	return false;
}

static void found_module(struct scan *s, const char *rule, const char *message, uint32_t start, uint32_t end)
{
	check_add(s->out, rule, true, message, NULL, s->file, s->whole, s->whole_len, start, end, s->arena);
}

static bool is_left_out(const struct strlist *allow, const char *name, size_t len, const char *full, size_t full_len)
{
	return allow && allow->n && name[0] != '.' && !list_covers(allow, name, len) && !list_covers(allow, full, full_len);
}

/* What the request itself says of a module. `full` is the module with what is taken of it. */
static void check_lists(struct scan *s, const char *name, size_t len, const char *full, size_t full_len, uint32_t start, uint32_t end)
{
	const struct check_modules *m = s->modules;

	if (m->none)
		found_module(s, "import", "this request allows no imports", start, end);
	else if (list_covers(m->deny, name, len) || list_covers(m->deny, full, full_len))
		found_module(s, "module", arena_fmt(s->arena, "the module %.*s is denied by the request", (int)(full_len < 80 ? full_len : 80), full), start, end);
	else if (is_left_out(m->allow, name, len, full, full_len) || is_left_out(m->allow_too, name, len, full, full_len))
		found_module(s, "module", arena_fmt(s->arena, "the module %.*s is not among those that the request allows", (int)(len < 80 ? len : 80), name), start, end);
}

static void match_import(struct scan *s, const char *name, size_t len, size_t from, uint32_t start, uint32_t end)
{
	const char *dot = memchr(name, '.', len);
	size_t part = dot ? (size_t)(dot - name) : len;

	for (const struct rule_entry *e = rules_first(s->rules, s->lang, name, part); e; e = e->next)
		if (e->what == RULE_IMPORT && is_under(name, len, e->pattern) && strlen(e->pattern) > from && !is_excepted(e->rule, name, len))
			scan_found(s, e, start, end);
}

void scan_import(struct scan *s, const char *module, size_t len, const char *member, size_t member_len, uint32_t start, uint32_t end)
{
	char *full;

	/* Somebody else's name cannot be longer. */
	if (len > STR_MAX || member_len > STR_MAX || !scan_step(s, 1))
		return;
	full = scan_room(s, len + 1 + member_len);
	if (!full)
		return;
	memcpy(full, module, len);
	full[len] = member ? '.' : '\0';
	if (member)
		memcpy(full + len + 1, member, member_len);
	check_lists(s, full, len, full, member ? len + 1 + member_len : len, start, end);
	match_import(s, full, member ? len + 1 + member_len : len, 0, start, end);
}

void scan_import_unknown(struct scan *s, uint32_t start, uint32_t end)
{
	const struct check_modules *m = s->modules;

	if (m->none)
		found_module(s, "import", "this request allows no imports", start, end);
	else if ((m->allow && m->allow->n) || (m->allow_too && m->allow_too->n) || (m->deny && m->deny->n))
		found_module(s, "module", "the name of this module is computed, and the request has a list of modules", start, end);
}

void scan_use(struct scan *s, const struct atom *name, const struct value *object, uint32_t start, uint32_t end)
{
	size_t before = 0;

	/* Only the step into a module is its use: not os again in os.path.join. */
	for (int i = 0; object && i < object->n; i++)
		if (object->a[i].kind == ATOM_NAME && object->a[i].len < name->len && object->a[i].len > before &&
		    memcmp(object->a[i].s, name->s, object->a[i].len) == 0)
			before = object->a[i].len;
	if (before)
		match_import(s, name->s, name->len, before, start, end);
	scan_match(s, RULE_ATTRIBUTE, name, start, end, NULL, NULL);
}
