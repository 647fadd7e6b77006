/* SPDX-License-Identifier: Apache-2.0 */
/* Python: scopes, what names are bound to, what expressions may be, and what of it a rule speaks of. */
#include "check/scan.h"

#include <string.h>

#include "base/base64.h"

/*
 * Theory of operation
 *
 * 1. Parents first: every node gets its scope; `global` and `nonlocal`; every name that a scope binds is declared in it.
 * 2. Children first, in the order of the text: every expression gets its value; assignments and imports add theirs to the name's. Again
 *    while names are still found to be more than was thought (a function may use what is bound below it), a few times at most.
 * 3. Once more, and calls, imports and uses are told to the rules.
 *
 * Flow is not followed: a name may be anything that is ever bound to it. Only where a name of the module surely hides a builtin (bound at the
 * top level, before the place that is looked at) is the builtin not meant.
 */

#define GLOBALS "$globals"

static uint32_t scope_at(const struct scan *s, uint32_t i)
{
	return s->tree.nodes[i].scope;
}

static bool is_scope(uint8_t kind)
{
	return kind == K_function_definition || kind == K_lambda || kind == K_class_definition || kind == K_list_comprehension ||
	       kind == K_set_comprehension || kind == K_dictionary_comprehension || kind == K_generator_expression;
}

/* ---- 1: scopes ---- */

static void find_scopes(struct scan *s)
{
	struct node *n = s->tree.nodes;

	scope_new(s, NO_SCOPE, SCOPE_MODULE);
	/* `value` holds a node's inner scope until there are values. */
	for (uint32_t i = s->tree.count; i-- > 0;) {
		uint32_t up = n[i].parent == NO_NODE ? 0 : n[n[i].parent].value;

		/* The name of a function belongs to where it is defined. */
		if (n[i].parent != NO_NODE && is_scope(n[n[i].parent].kind) && n[i].field == F_name)
			up = n[n[i].parent].scope;
		n[i].scope = up;
		n[i].value = is_scope(n[i].kind) ? scope_new(s, up, n[i].kind == K_class_definition ? SCOPE_CLASS : SCOPE_FUNCTION) : up;
	}
	for (uint32_t i = 0; i < s->tree.count; i++)
		n[i].value = 0;
}

static void find_globals(struct scan *s)
{
	for (uint32_t i = 0; i < s->tree.count; i++) {
		const struct node *n = node_at(s, i);

		if (n->kind != K_global_statement && n->kind != K_nonlocal_statement)
			continue;
		for (uint32_t c = n->first; c != NO_NODE; c = node_at(s, c)->next) {
			uint32_t len, up = 0;
			const char *name = node_name(s, c, &len);
			struct binding *b;

			if (n->kind == K_nonlocal_statement)
				up = s->scopes[n->scope].parent;
			if (n->scope == 0 || up == NO_SCOPE)
				continue;
			b = binding_declare(s, n->scope, name, len);
			b->redirect = up;
		}
	}
}

/* Runs whatever happens: a statement of the module itself. */
static bool is_sure(const struct scan *s, uint32_t i)
{
	while (i != NO_NODE) {
		const struct node *n = node_at(s, i);

		if (n->kind == K_module)
			return true;
		if (n->kind != K_expression_statement && n->kind != K_assignment && n->kind != K_function_definition && n->kind != K_decorated_definition &&
		    n->kind != K_class_definition && n->kind != K_import_statement && n->kind != K_import_from_statement && n->kind != K_aliased_import &&
		    n->kind != K_identifier && n->kind != K_dotted_name)
			return false;
		i = n->parent;
	}
	return false;
}

/* `name` (an identifier) is bound by the node `by`. */
static struct binding *declare(struct scan *s, uint32_t scope, uint32_t name, uint32_t by)
{
	uint32_t len;
	const char *text = node_name(s, name, &len);
	struct binding *b = binding_declare(s, scope, text, len);

	if (b->scope == 0 && scope == 0 && is_sure(s, by) && node_at(s, by)->end < b->sure_from)
		b->sure_from = node_at(s, by)->end;
	return b;
}

/* A target of an assignment: an identifier, or a pattern of them. What lies in a call or an attribute is no target. */
static void declare_targets(struct scan *s, uint32_t target, uint32_t by)
{
	uint32_t at = target;

	/* Down and along by hand: patterns nest as deep as the text says. */
	while (at != NO_NODE) {
		const struct node *n = node_at(s, at);
		bool inside = n->kind == K_pattern_list || n->kind == K_tuple_pattern || n->kind == K_list_pattern || n->kind == K_list_splat_pattern ||
			      n->kind == K_tuple || n->kind == K_list || n->kind == K_as_pattern_target || n->kind == K_dictionary_splat_pattern;

		if (n->kind == K_identifier) {
			struct binding *b = declare(s, n->scope, at, by);

			/* What a loop, a parameter or `with` gives it, nobody says. */
			if (node_at(s, by)->kind != K_assignment && node_at(s, by)->kind != K_named_expression)
				b->value.more = true;
		}
		if (inside && n->first != NO_NODE) {
			at = n->first;
			continue;
		}
		while (at != target && node_at(s, at)->next == NO_NODE)
			at = node_at(s, at)->parent;
		if (at == target)
			return;
		at = node_at(s, at)->next;
	}
}

static void declare_parameters(struct scan *s, uint32_t params)
{
	for (uint32_t c = node_at(s, params)->first; c != NO_NODE; c = node_at(s, c)->next) {
		const struct node *n = node_at(s, c);
		uint32_t name = n->kind == K_identifier ? c : node_child(s, c, F_name);

		if (name == NO_NODE && n->kind == K_typed_parameter)
			name = n->first;
		if (name == NO_NODE)
			name = c;
		declare_targets(s, name, c);
	}
}

static void declare_imports(struct scan *s, uint32_t i)
{
	const struct node *n = node_at(s, i);

	for (uint32_t c = n->first; c != NO_NODE; c = node_at(s, c)->next) {
		uint32_t name;

		if (node_at(s, c)->field != F_name)
			continue;
		if (node_at(s, c)->kind == K_aliased_import)
			name = node_child(s, c, F_alias);
		else
			name = node_at(s, c)->first; /* of a.b.c the name a is bound */
		if (name != NO_NODE)
			declare(s, n->scope, name, i);
	}
}

static void declare_names(struct scan *s)
{
	for (uint32_t i = 0; i < s->tree.count; i++) {
		const struct node *n = node_at(s, i);
		uint32_t x = NO_NODE;

		switch (n->kind) {
		case K_assignment:
			/* `x: int` binds nothing. */
			if (node_child(s, i, F_right) != NO_NODE)
				x = node_child(s, i, F_left);
			break;
		case K_augmented_assignment:
		case K_for_statement:
		case K_for_in_clause:
			x = node_child(s, i, F_left);
			break;
		case K_named_expression:
			x = node_child(s, i, F_name);
			break;
		case K_as_pattern:
			x = node_child(s, i, F_alias);
			break;
		case K_function_definition:
		case K_class_definition:
			x = node_child(s, i, F_name);
			if (x != NO_NODE)
				declare(s, n->scope, x, i);
			x = NO_NODE;
			break;
		case K_parameters:
		case K_lambda_parameters:
			declare_parameters(s, i);
			break;
		case K_import_statement:
		case K_import_from_statement:
			declare_imports(s, i);
			break;
		case K_delete_statement:
			for (uint32_t c = n->first; c != NO_NODE; c = node_at(s, c)->next) {
				uint32_t len;
				const char *name = node_name(s, c, &len);

				binding_declare(s, n->scope, name, len)->deleted = true;
			}
			break;
		default:
			break;
		}
		if (x != NO_NODE)
			declare_targets(s, x, i);
	}
}

/* ---- 2: values ---- */

static void add_builtin(struct scan *s, struct value *out, const char *name, uint32_t len)
{
	/* Kept under a scope that nothing else has. */
	struct binding *b = binding_find(s, NO_SCOPE - 1, name, len);
	struct value builtins = { 0 };

	if (!b) {
		b = binding_declare(s, NO_SCOPE - 1, name, len);
		if (len == 12 && memcmp(name, "__builtins__", 12) == 0) {
			value_add(&b->value, ATOM_NAME, "builtins", 8);
		} else {
			value_add(&builtins, ATOM_NAME, "builtins", 8);
			value_member(s, &b->value, &builtins, name, len);
		}
	}
	value_join(out, &b->value);
}

static void add_stars(struct scan *s, struct value *out, uint32_t scope, const char *name, uint32_t len)
{
	for (const struct star *x = s->scopes[scope].stars; x && scan_step(s, 1); x = x->next) {
		struct value module = { 0 };

		value_add(&module, ATOM_NAME, x->module.s, x->module.len);
		value_member(s, out, &module, name, len);
	}
}

/* What a name may be where it stands. */
static void lookup(struct scan *s, struct value *out, uint32_t scope, const char *name, uint32_t len, uint32_t at)
{
	uint32_t first = scope;

	for (; scope != NO_SCOPE && scan_step(s, 1); scope = s->scopes[scope].parent) {
		enum scope_kind kind = s->scopes[scope].kind;
		struct binding *b;

		/* What a class binds is not seen by its methods. */
		if (kind == SCOPE_CLASS && scope != first)
			continue;
		b = binding_find(s, scope, name, len);
		if (b && b->redirect != NO_SCOPE) {
			scope = b->redirect;
			kind = s->scopes[scope].kind;
			b = binding_find(s, scope, name, len);
		}
		if (b)
			value_join(out, &b->value);
		if (b && kind == SCOPE_FUNCTION)
			return;
		if (b && kind == SCOPE_MODULE && !b->deleted && b->sure_from <= at)
			return;
		if (s->scopes[scope].stars)
			add_stars(s, out, scope, name, len);
	}
	add_builtin(s, out, name, len);
}

/* An escape sequence at p (after the backslash): the character it stands for, or -1 when it is left as it is. */
static long escape_of(const char *p, const char *end, size_t *used)
{
	static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
	const char *hit;
	size_t digits = *p == 'x' ? 2 : *p == 'u' ? 4 : *p == 'U' ? 8 : 0;
	long c = 0;

	if (*p >= '0' && *p <= '7') {
		for (*used = 0; *used < 3 && p + *used < end && p[*used] >= '0' && p[*used] <= '7'; (*used)++)
			c = c * 8 + (p[*used] - '0');
		return c;
	}
	*used = 1;
	if (digits) {
		if ((size_t)(end - p) < digits + 1)
			return -1;
		for (size_t i = 1; i <= digits; i++) {
			char d = p[i];
			int v = d >= '0' && d <= '9' ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : d >= 'A' && d <= 'F' ? d - 'A' + 10 : -1;

			if (v < 0)
				return -1;
			c = c * 16 + v;
		}
		*used = digits + 1;
		return c;
	}
	hit = *p ? strchr(from, *p) : NULL;
	return hit ? to[hit - from] : -1;
}

static size_t put_utf8(char *out, long c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	/* No name that a rule speaks of has others. */
	out[0] = '?';
	return 1;
}

/* Constant text with its escapes resolved. */
static void decode(struct scan *s, struct value *out, const char *p, size_t len, bool raw)
{
	const char *end = p + len;
	char *text;
	size_t n = 0, used;

	if (raw || !memchr(p, '\\', len)) {
		value_add(out, ATOM_STR, p, len);
		return;
	}
	text = len > STR_MAX ? NULL : scan_room(s, len);
	if (!text)
		return;
	while (p < end) {
		long c;

		if (*p != '\\' || p + 1 == end) {
			text[n++] = *p++;
			continue;
		}
		p++;
		if (*p == '\n' || (*p == '\r' && p + 1 < end && p[1] == '\n')) {
			p += *p == '\r' ? 2 : 1;
			continue;
		}
		/* A character by its name: which one is Python's to know, so the text is no constant here. */
		if (*p == 'N' && p + 1 < end && p[1] == '{')
			return;
		c = escape_of(p, end, &used);
		if (c < 0)
			text[n++] = '\\';
		else {
			n += put_utf8(text + n, c);
			p += used;
		}
	}
	value_add(out, ATOM_STR, text, n);
}

/* A string: its parts one after the other; one that is not constant makes it anything. */
static void eval_string(struct scan *s, uint32_t i, struct value *out)
{
	uint32_t at, start = node_child(s, i, F_none), end = NO_NODE;
	struct value sum = { 0 };
	bool raw = false;
	uint32_t len;

	for (uint32_t c = node_at(s, i)->first; c != NO_NODE; c = node_at(s, c)->next) {
		if (node_at(s, c)->kind == K_string_start)
			start = c;
		if (node_at(s, c)->kind == K_string_end)
			end = c;
	}
	if (start == NO_NODE || end == NO_NODE || node_at(s, start)->kind != K_string_start)
		return;
	for (const char *p = node_text(s, start, &len); len; p++, len--)
		raw = raw || *p == 'r' || *p == 'R';
	value_add(&sum, ATOM_STR, "", 0);
	at = node_at(s, start)->end;
	for (uint32_t c = node_at(s, start)->next; c != NO_NODE; c = node_at(s, c)->next) {
		struct value part = { 0 }, next = { 0 };

		if (node_at(s, c)->kind == K_interpolation || c == end) {
			decode(s, &part, s->tree.text + at, node_at(s, c)->start - at, raw);
			value_concat(s, &next, &sum, &part);
			sum = next;
			at = node_at(s, c)->end;
		}
		if (node_at(s, c)->kind == K_interpolation) {
			next.n = 0;
			for (uint32_t k = node_at(s, c)->first; k != NO_NODE; k = node_at(s, k)->next)
				if (node_at(s, k)->kind == K_format_specifier)
					return;
			value_concat(s, &next, &sum, value_of(s, node_child(s, c, F_expression)));
			sum = next;
		}
		if (!sum.n)
			return;
		if (c == end)
			break;
	}
	*out = sum;
}

static void eval_concatenated(struct scan *s, uint32_t i, struct value *out)
{
	size_t total = 0;

	/* A page of text is nobody's name: not even put together. */
	for (uint32_t c = node_at(s, i)->first; c != NO_NODE; c = node_at(s, c)->next)
		total += node_at(s, c)->end - node_at(s, c)->start;
	if (total > STR_MAX)
		return;
	value_add(out, ATOM_STR, "", 0);
	for (uint32_t c = node_at(s, i)->first; c != NO_NODE; c = node_at(s, c)->next) {
		struct value next = { 0 };

		if (node_at(s, c)->kind != K_string)
			continue;
		value_concat(s, &next, out, value_of(s, c));
		*out = next;
	}
}

/* The i-th positional argument, or one by keyword. NO_NODE: not there; *unknown: it may be (a splat). */
static uint32_t argument(const struct scan *s, uint32_t call, int position, const char *keyword, bool *unknown)
{
	uint32_t args = node_child(s, call, F_arguments);
	int at = 0;

	if (unknown)
		*unknown = false;
	if (args == NO_NODE)
		return NO_NODE;
	if (node_at(s, args)->kind == K_generator_expression)
		return position == 0 ? args : NO_NODE;
	for (uint32_t c = node_at(s, args)->first; c != NO_NODE; c = node_at(s, c)->next) {
		uint8_t kind = node_at(s, c)->kind;

		if (kind == K_comment)
			continue;
		if (kind == K_keyword_argument) {
			if (keyword && node_is(s, node_child(s, c, F_name), keyword))
				return node_child(s, c, F_value);
			continue;
		}
		if ((kind == K_list_splat || kind == K_other) && unknown)
			*unknown = true;
		if (kind != K_list_splat && at++ == position)
			return c;
	}
	return NO_NODE;
}

static long integer_of(const struct scan *s, uint32_t i)
{
	uint32_t len;
	const char *p;
	long v = 0;
	int base = 10;

	if (i == NO_NODE || node_at(s, i)->kind != K_integer)
		return -1;
	p = node_text(s, i, &len);
	if (len > 2 && p[0] == '0' && strchr("xXoObB", p[1])) {
		base = strchr("xX", p[1]) ? 16 : strchr("oO", p[1]) ? 8 : 2;
		p += 2;
		len -= 2;
	}
	for (; len && v < 0x110000; p++, len--) {
		int d = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : *p >= 'A' && *p <= 'F' ? *p - 'A' + 10 : *p == '_' ? -2 : -1;

		if (d == -2)
			continue;
		if (d < 0 || d >= base)
			return -1;
		v = v * base + d;
	}
	return v;
}

/* bytes([111, 115]), ''.join(map(chr, [111, 115])): the characters. */
static void eval_numbers(struct scan *s, uint32_t list, struct value *out)
{
	char text[64 * 2];
	size_t n = 0;

	if (list == NO_NODE || (node_at(s, list)->kind != K_list && node_at(s, list)->kind != K_tuple))
		return;
	for (uint32_t c = node_at(s, list)->first; c != NO_NODE; c = node_at(s, c)->next) {
		long v = integer_of(s, c);

		if (v < 0 || v >= 0x800 || n + 2 > sizeof(text))
			return;
		n += put_utf8(text + n, v);
	}
	value_add(out, ATOM_STR, scan_copy(s, text, n), n);
}

/* ''.join(['o', 's']) and ''.join(map(chr, [..])) */
static void eval_join(struct scan *s, const struct value *sep, uint32_t list, struct value *out)
{
	bool first = true;

	if (list == NO_NODE)
		return;
	if (node_at(s, list)->kind == K_call && value_has_name(value_of(s, node_child(s, list, F_function)), "builtins.map") &&
	    value_has_name(value_of(s, argument(s, list, 0, NULL, NULL)), "builtins.chr")) {
		eval_numbers(s, argument(s, list, 1, NULL, NULL), out);
		return;
	}
	if (node_at(s, list)->kind == K_string) {
		/* ''.join('os') */
		const struct atom *x = value_str(sep);

		if (x && !x->len)
			*out = *value_of(s, list);
		return;
	}
	if (node_at(s, list)->kind != K_list && node_at(s, list)->kind != K_tuple)
		return;
	value_add(out, ATOM_STR, "", 0);
	for (uint32_t c = node_at(s, list)->first; c != NO_NODE && out->n; c = node_at(s, c)->next) {
		struct value next = { 0 };

		if (node_at(s, c)->kind == K_comment)
			continue;
		if (!first) {
			value_concat(s, &next, out, sep);
			*out = next;
			next.n = 0;
		}
		first = false;
		value_concat(s, &next, out, value_of(s, c));
		*out = next;
	}
}

static void eval_reversed(struct scan *s, const struct value *v, struct value *out)
{
	for (int i = 0; i < v->n; i++) {
		const struct atom *a = &v->a[i];
		char *text = a->kind == ATOM_STR && a->len <= STR_MAX ? scan_room(s, a->len) : NULL;

		for (uint32_t k = 0; text && k < a->len; k++)
			text[k] = a->s[a->len - 1 - k];
		if (text)
			value_add(out, ATOM_STR, text, a->len);
	}
}

/* Methods of constant strings that are used to hide one. */
static void eval_string_method(struct scan *s, uint32_t call, const struct value *object, const char *name, uint32_t len, struct value *out)
{
#define IS(text) (len == sizeof(text) - 1 && memcmp(name, text, len) == 0)
	const struct atom *x = value_str(object);
	uint32_t first = argument(s, call, 0, NULL, NULL);

	if (!x)
		return;
	if (IS("decode") || IS("encode") || IS("strip") || IS("format")) {
		/* {} of format() is resolved only when there is none. */
		if (!IS("format") || !memchr(x->s, '{', x->len))
			value_join(out, object);
	} else if (IS("lower") || IS("casefold") || IS("upper")) {
		char *text = x->len > STR_MAX ? NULL : scan_copy(s, x->s, x->len);

		for (uint32_t i = 0; text && i < x->len; i++)
			text[i] = (char)(IS("upper") ? (text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i])
						     : (text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]));
		if (text)
			value_add(out, ATOM_STR, text, x->len);
	} else if (IS("join")) {
		eval_join(s, object, first, out);
	} else if (IS("replace")) {
		const struct atom *from = value_str(value_of(s, first)), *to = value_str(value_of(s, argument(s, call, 1, NULL, NULL)));
		char *text = from && to && from->len && to->len <= from->len && x->len <= STR_MAX ? scan_room(s, x->len) : NULL;
		size_t n = 0;

		for (uint32_t i = 0; text && i < x->len;) {
			if (x->len - i >= from->len && memcmp(x->s + i, from->s, from->len) == 0) {
				memcpy(text + n, to->s, to->len);
				n += to->len;
				i += from->len;
			} else {
				text[n++] = x->s[i++];
			}
		}
		if (text)
			value_add(out, ATOM_STR, text, n);
	}
#undef IS
}

static void eval_hex(struct scan *s, const struct atom *x, struct value *out)
{
	char *text = x && x->len <= STR_MAX ? scan_room(s, x->len) : NULL;
	size_t n = 0;

	for (uint32_t i = 0; text && i + 1 < x->len + 1; i++) {
		int v = 0;

		if (x->s[i] == ' ')
			continue;
		if (i + 1 >= x->len)
			return;
		for (int k = 0; k < 2; k++) {
			char d = x->s[i + (uint32_t)k];
			int h = d >= '0' && d <= '9' ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : d >= 'A' && d <= 'F' ? d - 'A' + 10 : -1;

			if (h < 0)
				return;
			v = v * 16 + h;
		}
		text[n++] = (char)v;
		i++;
	}
	if (text)
		value_add(out, ATOM_STR, text, n);
}

static void eval_base64(struct scan *s, const struct atom *x, struct value *out)
{
	char *text = x && x->len <= STR_MAX ? scan_room(s, x->len / 4 * 3 + 4) : NULL;
	size_t n;

	if (text && base64_decode(x->s, x->len, text, &n) == 0)
		value_add(out, ATOM_STR, text, n);
}

/* The top of "os.path", and all of it: __import__ returns one or the other. */
static void add_module(struct scan *s, const struct value *names, struct value *out, bool top)
{
	for (int i = 0; i < names->n; i++) {
		const struct atom *a = &names->a[i];
		const char *dot;

		if (a->kind != ATOM_STR || !a->len || a->len > NAME_MAX_LEN)
			continue;
		dot = memchr(a->s, '.', a->len);
		if (top && dot)
			value_add(out, ATOM_NAME, scan_copy(s, a->s, (size_t)(dot - a->s)), (size_t)(dot - a->s));
		value_add(out, ATOM_NAME, scan_copy(s, a->s, a->len), a->len);
	}
}

/* container[key] for the containers that hold what a module holds */
static void eval_item(struct scan *s, uint32_t scope, const struct value *container, const struct value *key, uint32_t at, struct value *out)
{
	for (int k = 0; k < key->n; k++) {
		const struct atom *name = &key->a[k];

		for (int i = 0; name->kind == ATOM_STR && i < container->n; i++) {
			const struct atom *c = &container->a[i];
			struct value object = { 0 };

			if (c->kind != ATOM_NAME)
				continue;
			if (atom_is(c, "sys.modules")) {
				value_add(out, ATOM_NAME, name->s, name->len);
			} else if (atom_is(c, GLOBALS)) {
				lookup(s, out, 0, name->s, name->len, at);
			} else if (atom_is(c, "builtins")) {
				value_member(s, out, container, name->s, name->len);
			} else if (c->len > 9 && memcmp(c->s + c->len - 9, ".__dict__", 9) == 0) {
				value_add(&object, ATOM_NAME, c->s, c->len - 9);
				value_member(s, out, &object, name->s, name->len);
			}
		}
	}
	(void)scope;
}

static bool ends_with(const struct atom *a, const char *end)
{
	size_t n = strlen(end);

	return a->len > n && memcmp(a->s + a->len - n, end, n) == 0;
}

enum builtin_call { CALL_IMPORT, CALL_MODULE, CALL_GETATTR, CALL_GLOBALS, CALL_VARS, CALL_SAME, CALL_CHR, CALL_BYTES, CALL_HEX, CALL_BASE64, CALL_ATTRGETTER,
		    CALL_OBJECT_GETATTR, CALL_RESOLVE };

/* Functions whose result can be said. */
static const struct {
	const char *name;
	enum builtin_call what;
} known_calls[] = {
	{ "builtins.__import__", CALL_IMPORT }, { "importlib.__import__", CALL_IMPORT }, { "importlib.import_module", CALL_MODULE },
	{ "builtins.getattr", CALL_GETATTR },	{ "builtins.globals", CALL_GLOBALS },	 { "builtins.locals", CALL_GLOBALS },
	{ "builtins.vars", CALL_VARS },		{ "functools.partial", CALL_SAME },	 { "builtins.str", CALL_SAME },
	{ "builtins.chr", CALL_CHR },		{ "builtins.bytes", CALL_BYTES },	 { "builtins.bytearray", CALL_BYTES },
	{ "builtins.bytes.fromhex", CALL_HEX }, { "builtins.bytearray.fromhex", CALL_HEX }, { "binascii.unhexlify", CALL_HEX },
	{ "base64.b64decode", CALL_BASE64 },	{ "operator.attrgetter", CALL_ATTRGETTER }, { "builtins.object.__getattribute__", CALL_OBJECT_GETATTR },
	{ "builtins.type.__getattribute__", CALL_OBJECT_GETATTR }, { "importlib.reload", CALL_SAME }, { "inspect.getattr_static", CALL_GETATTR },
	{ "pydoc.locate", CALL_RESOLVE },	{ "pkgutil.resolve_name", CALL_RESOLVE },
};

static void members(struct scan *s, const struct value *object, const struct value *names, struct value *out)
{
	for (int i = 0; i < names->n; i++)
		if (names->a[i].kind == ATOM_STR)
			value_member(s, out, object, names->a[i].s, names->a[i].len);
}

static void eval_known_call(struct scan *s, uint32_t i, enum builtin_call what, struct value *out)
{
	uint32_t first = argument(s, i, 0, what == CALL_IMPORT || what == CALL_MODULE ? "name" : NULL, NULL), second = argument(s, i, 1, NULL, NULL);
	const struct value *x = value_of(s, first), *y = value_of(s, second);
	char c[4];
	size_t n;

	switch (what) {
	case CALL_IMPORT:
		add_module(s, x, out, true);
		break;
	case CALL_MODULE:
	case CALL_RESOLVE:
		add_module(s, x, out, false);
		break;
	case CALL_OBJECT_GETATTR:
	case CALL_GETATTR:
		members(s, x, y, out);
		break;
	case CALL_GLOBALS:
		value_add(out, ATOM_NAME, GLOBALS, sizeof(GLOBALS) - 1);
		break;
	case CALL_VARS:
		if (first == NO_NODE)
			value_add(out, ATOM_NAME, GLOBALS, sizeof(GLOBALS) - 1);
		value_member(s, out, x, "__dict__", 8);
		break;
	case CALL_SAME:
		value_join(out, x);
		break;
	case CALL_CHR:
		if (integer_of(s, first) >= 0) {
			n = put_utf8(c, integer_of(s, first));
			value_add(out, ATOM_STR, scan_copy(s, c, n), n);
		}
		break;
	case CALL_BYTES:
		eval_numbers(s, first, out);
		value_join(out, x);
		break;
	case CALL_HEX:
		eval_hex(s, value_str(x), out);
		break;
	case CALL_BASE64:
		eval_base64(s, value_str(x), out);
		break;
	case CALL_ATTRGETTER:
		if (value_str(x)) {
			struct value getter = { 0 };

			value_add(&getter, ATOM_NAME, "$getter", 7);
			value_member(s, out, &getter, value_str(x)->s, value_str(x)->len);
		}
		break;
	}
}

static void eval_call(struct scan *s, uint32_t i, struct value *out)
{
	uint32_t function = node_child(s, i, F_function);
	const struct value *f = value_of(s, function);

	for (int k = 0; k < f->n; k++) {
		const struct atom *a = &f->a[k];
		struct value object = { 0 };

		if (a->kind != ATOM_NAME)
			continue;
		for (size_t c = 0; c < sizeof(known_calls) / sizeof(known_calls[0]); c++)
			if (atom_is(a, known_calls[c].name))
				eval_known_call(s, i, known_calls[c].what, out);
		if (a->len > 8 && memcmp(a->s, "$getter.", 8) == 0)
			value_member(s, out, value_of(s, argument(s, i, 0, NULL, NULL)), a->s + 8, a->len - 8);
		if (ends_with(a, ".__getattribute__") || ends_with(a, ".__getattr__")) {
			value_add(&object, ATOM_NAME, a->s, a->len - (ends_with(a, ".__getattr__") ? 12 : 17));
			members(s, &object, value_of(s, argument(s, i, 0, NULL, NULL)), out);
		}
		if (ends_with(a, ".get") || ends_with(a, ".__getitem__") || ends_with(a, ".pop")) {
			value_add(&object, ATOM_NAME, a->s, a->len - (ends_with(a, ".__getitem__") ? 12 : 4));
			eval_item(s, scope_at(s, i), &object, value_of(s, argument(s, i, 0, NULL, NULL)), node_at(s, i)->start, out);
		}
	}
	if (function != NO_NODE && node_at(s, function)->kind == K_attribute) {
		uint32_t name = node_child(s, function, F_attribute), len;
		const char *text = name == NO_NODE ? "" : node_text(s, name, &len);

		if (name != NO_NODE)
			eval_string_method(s, i, value_of(s, node_child(s, function, F_object)), text, len, out);
	}
}

static void eval_attribute(struct scan *s, uint32_t i, struct value *out)
{
	uint32_t object = node_child(s, i, F_object), name = node_child(s, i, F_attribute), len;
	const char *text;

	if (object == NO_NODE || name == NO_NODE)
		return;
	text = node_name(s, name, &len);
#define IS(x) (len == sizeof(x) - 1 && memcmp(text, x, len) == 0)
	if (IS("__call__") || IS("__wrapped__"))
		value_join(out, value_of(s, object));
	else if (IS("__builtins__") || IS("f_builtins"))
		value_add(out, ATOM_NAME, "builtins", 8);
	else if (IS("__globals__") || IS("f_globals"))
		value_add(out, ATOM_NAME, GLOBALS, sizeof(GLOBALS) - 1);
	else
		value_member(s, out, value_of(s, object), text, len);
#undef IS
}

static void eval_subscript(struct scan *s, uint32_t i, struct value *out)
{
	uint32_t object = node_child(s, i, F_value), key = node_child(s, i, F_subscript), len;
	const char *text;

	if (object == NO_NODE || key == NO_NODE)
		return;
	if (node_at(s, key)->kind == K_slice) {
		text = node_text(s, key, &len);
		if (len == 4 && memcmp(text, "::-1", 4) == 0)
			eval_reversed(s, value_of(s, object), out);
		return;
	}
	eval_item(s, scope_at(s, i), value_of(s, object), value_of(s, key), node_at(s, i)->start, out);
}

/* Adds the value of what is assigned to a target; tuples are matched one by one. */
static void assign(struct scan *s, uint32_t target, uint32_t source)
{
	const struct node *t = node_at(s, target);
	uint32_t len;
	const char *name;

	if (t->kind == K_identifier) {
		name = node_name(s, target, &len);
		binding_add(s, binding_declare(s, t->scope, name, len), value_of(s, source));
		return;
	}
	if (t->kind != K_pattern_list && t->kind != K_tuple_pattern && t->kind != K_list_pattern)
		return;
	if (node_at(s, source)->kind != K_expression_list && node_at(s, source)->kind != K_tuple && node_at(s, source)->kind != K_list)
		return;
	for (uint32_t a = t->first, b = node_at(s, source)->first; a != NO_NODE && b != NO_NODE; a = node_at(s, a)->next, b = node_at(s, b)->next)
		if (node_at(s, a)->kind == K_identifier) {
			name = node_name(s, a, &len);
			binding_add(s, binding_declare(s, node_at(s, a)->scope, name, len), value_of(s, b));
		}
}

/* The text of a dotted name: the names of its parts, without blanks between them. */
static bool dotted(struct scan *s, uint32_t i, struct atom *out)
{
	uint32_t len;
	const char *p = node_name(s, i, &len);
	char *text;
	size_t n = 0;

	*out = (struct atom){ p, len, ATOM_NAME };
	if (len >= NAME_MAX_LEN)
		return false;
	while (n < len && p[n] != ' ' && p[n] != '\t' && p[n] != '\\' && p[n] != '\n')
		n++;
	if (n == len)
		return true;
	text = scan_room(s, len);
	n = 0;
	for (uint32_t k = 0; text && k < len; k++)
		if (p[k] != ' ' && p[k] != '\t' && p[k] != '\\' && p[k] != '\n')
			text[n++] = p[k];
	*out = (struct atom){ text, (uint32_t)n, ATOM_NAME };
	return text != NULL;
}

static void bind_import(struct scan *s, uint32_t i)
{
	const struct node *n = node_at(s, i);
	uint32_t module = node_child(s, i, F_module_name), len;
	struct value from = { 0 };
	struct atom name;

	if (module != NO_NODE && node_at(s, module)->kind == K_dotted_name && dotted(s, module, &name))
		value_add(&from, ATOM_NAME, name.s, name.len);
	for (uint32_t c = n->first; c != NO_NODE; c = node_at(s, c)->next) {
		uint32_t target = c, source = c;
		struct value v = { 0 };
		const char *text;

		if (node_at(s, c)->kind == K_wildcard_import && from.n) {
			struct star *x = s->scopes[n->scope].stars;

			while (x && (x->module.len != from.a[0].len || memcmp(x->module.s, from.a[0].s, x->module.len) != 0))
				x = x->next;
			if (!x) {
				x = arena_alloc(&s->work, sizeof(*x));
				*x = (struct star){ s->scopes[n->scope].stars, from.a[0] };
				s->scopes[n->scope].stars = x;
				s->changed = true;
			}
			continue;
		}
		if (node_at(s, c)->field != F_name)
			continue;
		if (node_at(s, c)->kind == K_aliased_import) {
			target = node_child(s, c, F_alias);
			source = node_child(s, c, F_name);
		}
		if (target == NO_NODE || source == NO_NODE || !dotted(s, source, &name))
			continue;
		if (n->kind == K_import_from_statement) {
			value_member(s, &v, &from, name.s, name.len);
		} else if (target == source) {
			/* import a.b binds a */
			const char *dot = memchr(name.s, '.', name.len);

			value_add(&v, ATOM_NAME, name.s, dot ? (size_t)(dot - name.s) : name.len);
			target = node_at(s, c)->first;
		} else {
			value_add(&v, ATOM_NAME, name.s, name.len);
		}
		if (target == NO_NODE)
			continue;
		text = node_name(s, target, &len);
		if (node_at(s, target)->kind == K_dotted_name && node_at(s, target)->first != NO_NODE)
			text = node_name(s, node_at(s, target)->first, &len);
		binding_add(s, binding_declare(s, n->scope, text, len), &v);
	}
}

static bool has_operator(const struct scan *s, uint32_t i, char op)
{
	uint32_t left = node_child(s, i, F_left), right = node_child(s, i, F_right);

	if (left == NO_NODE || right == NO_NODE)
		return false;
	for (uint32_t at = node_at(s, left)->end; at < node_at(s, right)->start; at++)
		if (s->tree.text[at] == op)
			return true;
	return false;
}

static bool is_loaded(const struct scan *s, uint32_t i)
{
	const struct node *n = node_at(s, i);
	uint8_t up = n->parent == NO_NODE ? K_other : node_at(s, n->parent)->kind;

	return !(n->field == F_attribute || up == K_dotted_name || up == K_global_statement || up == K_nonlocal_statement || up == K_parameters ||
		 (n->field == F_name && up != K_named_expression));
}

static void evaluate(struct scan *s, uint32_t i)
{
	const struct node *n = node_at(s, i);
	struct value v = { 0 };
	uint32_t len;
	const char *text;

	switch (n->kind) {
	case K_identifier:
		if (!is_loaded(s, i))
			return;
		text = node_name(s, i, &len);
		if (len < NAME_MAX_LEN)
			lookup(s, &v, n->scope, text, len, n->start);
		break;
	case K_string:
		eval_string(s, i, &v);
		break;
	case K_concatenated_string:
		eval_concatenated(s, i, &v);
		break;
	case K_attribute:
		eval_attribute(s, i, &v);
		break;
	case K_subscript:
		eval_subscript(s, i, &v);
		break;
	case K_call:
		eval_call(s, i, &v);
		break;
	case K_binary_operator:
		if (has_operator(s, i, '+'))
			value_concat(s, &v, value_of(s, node_child(s, i, F_left)), value_of(s, node_child(s, i, F_right)));
		break;
	case K_parenthesized_expression:
	case K_await:
	case K_boolean_operator:
	case K_conditional_expression:
		for (uint32_t c = n->first; c != NO_NODE; c = node_at(s, c)->next)
			value_join(&v, value_of(s, c));
		break;
	case K_named_expression:
		v = *value_of(s, node_child(s, i, F_value));
		if (node_child(s, i, F_name) != NO_NODE && node_child(s, i, F_value) != NO_NODE)
			assign(s, node_child(s, i, F_name), node_child(s, i, F_value));
		break;
	case K_assignment:
		if (node_child(s, i, F_left) != NO_NODE && node_child(s, i, F_right) != NO_NODE)
			assign(s, node_child(s, i, F_left), node_child(s, i, F_right));
		/* a = b = c */
		v = *value_of(s, node_child(s, i, F_right));
		break;
	case K_augmented_assignment:
		/* s = 'sys'; s += 'tem' */
		if (node_child(s, i, F_left) != NO_NODE && node_at(s, node_child(s, i, F_left))->kind == K_identifier) {
			text = node_name(s, node_child(s, i, F_left), &len);
			value_concat(s, &v, value_of(s, node_child(s, i, F_left)), value_of(s, node_child(s, i, F_right)));
			binding_add(s, binding_declare(s, n->scope, text, len), &v);
		}
		return;
	case K_import_statement:
	case K_import_from_statement:
		bind_import(s, i);
		break;
	default:
		return;
	}
	value_set(s, i, &v);
}

/* ---- 3: rules ---- */

/* Whether the argument that a rule asks for is there and has one of its patterns. */
static bool argument_fits(struct scan *s, const struct rule_entry *e, void *ctx)
{
	uint32_t call = *(uint32_t *)ctx, arg = NO_NODE;
	bool splat = false, unknown = e->rule->unknown && strcmp(e->rule->unknown, "true") == 0;
	const struct value *v;

	if (!e->rule->argument)
		return true;
	for (const char *const *w = e->rule->argument; *w && arg == NO_NODE; w++) {
		bool digit = **w >= '0' && **w <= '9';

		arg = argument(s, call, digit ? **w - '0' : -1, digit ? NULL : *w, &splat);
	}
	if (arg == NO_NODE)
		return splat && unknown;
	v = value_of(s, arg);
	if (!value_is_known(v) && unknown)
		return true;
	for (int i = 0; i < v->n; i++)
		if (v->a[i].kind == ATOM_STR && rule_list_has(e->rule->matches, v->a[i].s, v->a[i].len))
			return true;
	return false;
}

/* A function that is handed on instead of called: whoever gets it can call it. */
static bool escapes(const struct scan *s, uint32_t i)
{
	const struct node *n = node_at(s, i);
	uint32_t up = n->parent;

	while (up != NO_NODE) {
		const struct node *p = node_at(s, up);

		switch (p->kind) {
		case K_argument_list:
			/* Of a class's bases too. */
			return true;
		case K_keyword_argument:
		case K_default_parameter:
		case K_typed_default_parameter:
			return node_at(s, i)->field == F_value;
		case K_list:
		case K_tuple:
		case K_set:
		case K_return_statement:
		case K_yield:
		case K_decorator:
		case K_expression_list:
			return true;
		case K_pair:
			return node_at(s, i)->field == F_value;
		case K_lambda:
			return node_at(s, i)->field == F_body;
		case K_assignment: {
			uint32_t left = node_child(s, up, F_left);

			if (node_at(s, i)->field != F_right || left == NO_NODE)
				return false;
			/* A plain name is followed, unless it is a class's. */
			return node_at(s, left)->kind != K_identifier || s->scopes[p->scope].kind == SCOPE_CLASS;
		}
		case K_parenthesized_expression:
		case K_conditional_expression:
		case K_boolean_operator:
		case K_await:
		case K_list_comprehension:
			i = up;
			up = p->parent;
			continue;
		default:
			return false;
		}
	}
	return false;
}

static bool without_argument(struct scan *s, const struct rule_entry *e, void *ctx)
{
	(void)s, (void)ctx;
	return !e->rule->argument;
}

static void tell_call(struct scan *s, uint32_t i)
{
	uint32_t function = node_child(s, i, F_function), call = i, end, name;
	const struct value *f = value_of(s, function);
	bool imports = false;

	if (function == NO_NODE)
		return;
	end = node_at(s, function)->end;
	for (int k = 0; k < f->n; k++) {
		const struct atom *a = &f->a[k];

		if (a->kind != ATOM_NAME)
			continue;
		scan_match(s, RULE_CALL, a, node_at(s, i)->start, end, argument_fits, &call);
		if (atom_is(a, "builtins.__import__") || atom_is(a, "importlib.import_module") || atom_is(a, "importlib.__import__"))
			imports = true;
		/* getattr(os, x): nobody can say what that is. */
		if (atom_is(a, "builtins.getattr") && !value_is_known(value_of(s, argument(s, i, 1, NULL, NULL)))) {
			const struct value *object = value_of(s, argument(s, i, 0, NULL, NULL));

			for (int o = 0; o < object->n; o++)
				if (object->a[o].kind == ATOM_NAME)
					scan_match(s, RULE_COMPUTED, &object->a[o], node_at(s, i)->start, node_at(s, i)->end, NULL, NULL);
		}
	}
	/* What getattr(os, 'system') is, is used. */
	for (int k = 0; k < value_of(s, i)->n; k++)
		if (value_of(s, i)->a[k].kind == ATOM_NAME)
			scan_use(s, &value_of(s, i)->a[k], value_of(s, argument(s, i, 0, NULL, NULL)), node_at(s, i)->start, node_at(s, i)->end);
	if (!imports)
		return;
	name = argument(s, i, 0, "name", NULL);
	if (!value_is_known(value_of(s, name)))
		scan_import_unknown(s, node_at(s, i)->start, node_at(s, i)->end);
	for (int k = 0; k < value_of(s, name)->n; k++)
		if (value_of(s, name)->a[k].kind == ATOM_STR)
			scan_import(s, value_of(s, name)->a[k].s, value_of(s, name)->a[k].len, NULL, 0, node_at(s, i)->start, node_at(s, i)->end);
}

static void tell_import(struct scan *s, uint32_t i)
{
	uint32_t module = node_child(s, i, F_module_name);
	struct atom from = { "", 0, ATOM_NAME }, name;
	bool relative = module != NO_NODE && node_at(s, module)->kind == K_relative_import;

	if (module != NO_NODE && !dotted(s, module, &from))
		return;
	for (uint32_t c = node_at(s, i)->first; c != NO_NODE; c = node_at(s, c)->next) {
		const struct node *n = node_at(s, c);
		uint32_t source = n->kind == K_aliased_import ? node_child(s, c, F_name) : c;

		if (n->kind == K_wildcard_import) {
			scan_import(s, from.s, from.len, NULL, 0, node_at(s, i)->start, n->end);
			continue;
		}
		if (n->field != F_name || source == NO_NODE || !dotted(s, source, &name))
			continue;
		if (relative) {
			scan_import(s, ".", 1, NULL, 0, n->start, n->end);
		} else if (module != NO_NODE) {
			struct value v = { 0 }, object = { 0 };

			scan_import(s, from.s, from.len, name.s, name.len, n->start, n->end);
			value_add(&object, ATOM_NAME, from.s, from.len);
			value_member(s, &v, &object, name.s, name.len);
			if (v.n)
				scan_match(s, RULE_ATTRIBUTE, &v.a[0], n->start, n->end, NULL, NULL);
		} else {
			scan_import(s, name.s, name.len, NULL, 0, n->start, n->end);
		}
	}
}

static void tell_use(struct scan *s, uint32_t i)
{
	const struct node *n = node_at(s, i);
	const struct value *v = value_of(s, i), *object = n->kind == K_attribute ? value_of(s, node_child(s, i, F_object)) : NULL;
	bool called = n->field == F_function, escaped = !called && v->n && escapes(s, i);

	for (int k = 0; k < v->n; k++) {
		if (v->a[k].kind != ATOM_NAME)
			continue;
		if (n->kind != K_identifier)
			scan_use(s, &v->a[k], object ? object : value_of(s, node_child(s, i, F_value)), n->start, n->end);
		if (escaped)
			scan_match(s, RULE_CALL, &v->a[k], n->start, n->end, without_argument, NULL);
	}
	if (n->kind == K_attribute) {
		uint32_t name = node_child(s, i, F_attribute), len;
		const char *text = name == NO_NODE ? "" : node_text(s, name, &len);

		for (const struct rule_entry *e = name == NO_NODE ? NULL : rules_first(s->rules, s->lang, text, len); e; e = e->next)
			if (e->what == RULE_NAME && strlen(e->pattern) == len && memcmp(e->pattern, text, len) == 0)
				scan_found(s, e, node_at(s, name)->start, n->end);
	}
	if (n->kind == K_subscript && !value_is_known(value_of(s, node_child(s, i, F_subscript)))) {
		object = value_of(s, node_child(s, i, F_value));
		for (int k = 0; k < object->n; k++) {
			struct atom a = object->a[k];

			if (a.kind != ATOM_NAME)
				continue;
			if (ends_with(&a, ".__dict__"))
				a.len -= 9;
			else if (!atom_is(&a, "builtins") && !atom_is(&a, GLOBALS))
				continue;
			scan_match(s, RULE_COMPUTED, &a, n->start, n->end, NULL, NULL);
		}
	}
}

static void tell(struct scan *s, uint32_t i)
{
	switch (node_at(s, i)->kind) {
	case K_call:
		tell_call(s, i);
		if (value_of(s, i)->n && escapes(s, i))
			for (int k = 0; k < value_of(s, i)->n; k++)
				if (value_of(s, i)->a[k].kind == ATOM_NAME)
					scan_match(s, RULE_CALL, &value_of(s, i)->a[k], node_at(s, i)->start, node_at(s, i)->end, without_argument, NULL);
		break;
	case K_import_statement:
	case K_import_from_statement:
		tell_import(s, i);
		break;
	case K_attribute:
	case K_subscript:
	case K_identifier:
		tell_use(s, i);
		break;
	default:
		break;
	}
}

void scan_python(struct scan *s)
{
	find_scopes(s);
	find_globals(s);
	declare_names(s);
	for (int round = 0; round < 4; round++) {
		s->changed = false;
		for (uint32_t i = 0; i < s->tree.count && scan_step(s, 1); i++)
			evaluate(s, i);
		if (!s->changed)
			break;
	}
	for (uint32_t i = 0; i < s->tree.count && scan_step(s, 1); i++)
		tell(s, i);
}
