/* SPDX-License-Identifier: Apache-2.0 */
/* JavaScript: what names are bound to, what expressions may be, and what of it a rule speaks of. As python.c; only what differs is said here. */
#include "check/scan.h"

#include <string.h>

#include "base/base64.h"

/*
 * Globals have their plain names ("eval", "process.binding"), modules theirs ("child_process.exec"); node: before a module's name and .default
 * after it are dropped, "fs/promises" is "fs.promises". A file is a function, so what it declares hides a global everywhere in it; what a
 * block declares only perhaps.
 */

static bool is_function(uint8_t kind)
{
	return kind == K_arrow_function || kind == K_function_expression || kind == K_function_declaration || kind == K_generator_function ||
	       kind == K_generator_function_declaration || kind == K_method_definition || kind == K_class_static_block;
}

/* ---- scopes ---- */

static void find_scopes(struct scan *s)
{
	struct node *n = s->tree.nodes;

	scope_new(s, NO_SCOPE, SCOPE_MODULE);
	for (uint32_t i = s->tree.count; i-- > 0;) {
		uint32_t up = n[i].parent == NO_NODE ? 0 : n[n[i].parent].value;

		if (n[i].parent != NO_NODE && n[n[i].parent].kind == K_function_declaration && n[i].field == F_name)
			up = n[n[i].parent].scope;
		n[i].scope = up;
		n[i].value = is_function(n[i].kind) ? scope_new(s, up, SCOPE_FUNCTION) : up;
	}
	for (uint32_t i = 0; i < s->tree.count; i++)
		n[i].value = 0;
}

/* Declared for all of its function, or only in a block of it. */
static bool is_whole(const struct scan *s, uint32_t by)
{
	const struct node *n = node_at(s, by);
	uint32_t up = n->parent;

	if (n->kind == K_variable_declaration || n->kind == K_formal_parameters || is_function(n->kind) || n->kind == K_import_clause)
		if (n->kind != K_function_declaration && n->kind != K_generator_function_declaration)
			return true;
	if (up != NO_NODE && node_at(s, up)->kind == K_export_statement)
		up = node_at(s, up)->parent;
	if (up == NO_NODE || node_at(s, up)->kind == K_program)
		return true;
	return node_at(s, up)->kind == K_statement_block && node_at(s, up)->parent != NO_NODE && is_function(node_at(s, node_at(s, up)->parent)->kind);
}

static void declare(struct scan *s, uint32_t scope, uint32_t name, bool whole)
{
	uint32_t len;
	const char *text = node_name(s, name, &len);
	struct binding *b = binding_declare(s, scope, text, len);

	if (whole)
		b->sure_from = 0;
}

/* Every name in a pattern. */
static void declare_targets(struct scan *s, uint32_t target, bool whole)
{
	uint32_t at = target;

	while (at != NO_NODE) {
		const struct node *n = node_at(s, at);
		bool inside = n->kind == K_object_pattern || n->kind == K_array_pattern || n->kind == K_rest_pattern || n->kind == K_pair_pattern ||
			      n->kind == K_assignment_pattern || n->kind == K_object_assignment_pattern || n->kind == K_formal_parameters;

		if ((n->kind == K_identifier && n->field != F_right) || n->kind == K_shorthand_property_identifier_pattern)
			declare(s, n->scope, at, whole);
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

static void declare_names(struct scan *s)
{
	for (uint32_t i = 0; i < s->tree.count; i++) {
		const struct node *n = node_at(s, i);
		uint32_t x;

		switch (n->kind) {
		case K_variable_declarator:
			if (node_child(s, i, F_name) != NO_NODE && n->parent != NO_NODE)
				declare_targets(s, node_child(s, i, F_name), is_whole(s, n->parent));
			break;
		case K_formal_parameters:
			declare_targets(s, i, true);
			break;
		case K_arrow_function:
			if (node_child(s, i, F_parameter) != NO_NODE)
				declare_targets(s, node_child(s, i, F_parameter), true);
			break;
		case K_function_declaration:
		case K_generator_function_declaration:
		case K_class_declaration:
			x = node_child(s, i, F_name);
			if (x != NO_NODE)
				declare(s, n->scope, x, is_whole(s, i));
			break;
		case K_catch_clause:
			if (node_child(s, i, F_parameter) != NO_NODE)
				declare_targets(s, node_child(s, i, F_parameter), false);
			break;
		case K_for_in_statement:
			if (node_child(s, i, F_left) != NO_NODE && node_child(s, i, F_kind) != NO_NODE)
				declare_targets(s, node_child(s, i, F_left), false);
			break;
		default:
			break;
		}
	}
}

/* ---- values ---- */

static void lookup(struct scan *s, struct value *out, uint32_t scope, const char *name, uint32_t len)
{
	for (; scope != NO_SCOPE && scan_step(s, 1); scope = s->scopes[scope].parent) {
		struct binding *b = binding_find(s, scope, name, len);

		if (!b)
			continue;
		value_join(out, &b->value);
		if (b->sure_from == 0)
			return;
	}
	if ((len == 10 && memcmp(name, "globalThis", 10) == 0) || (len == 6 && (memcmp(name, "window", 6) == 0)) || (len == 4 && memcmp(name, "self", 4) == 0))
		value_add(out, ATOM_NAME, "global", 6);
	else
		value_add(out, ATOM_NAME, name, len);
}

/* The name under which rules know a module. */
static void add_module(struct scan *s, const struct value *names, struct value *out)
{
	for (int i = 0; i < names->n; i++) {
		const struct atom *a = &names->a[i];
		const char *p = a->s;
		size_t len = a->len;
		char *text;

		if (a->kind != ATOM_STR || !len || len > NAME_MAX_LEN)
			continue;
		if (len > 5 && memcmp(p, "node:", 5) == 0) {
			p += 5;
			len -= 5;
		}
		/* A file is nobody's module. */
		if (*p == '.' || *p == '/')
			continue;
		text = scan_copy(s, p, len);
		for (size_t k = 0; text && *text != '@' && k < len; k++)
			if (text[k] == '/')
				text[k] = '.';
		value_add(out, ATOM_NAME, text, len);
	}
}

/* A backslash stands before a line's end, which goes with it: its length, or 0. */
static size_t line_end(const char *p, const char *end)
{
	if (*p == '\r')
		return end - p > 1 && p[1] == '\n' ? 2 : 1;
	if (end - p >= 3 && memcmp(p, "\xe2\x80", 2) == 0 && (p[2] == '\xa8' || p[2] == '\xa9'))
		return 3;
	return *p == '\n';
}

/* Constant text with its escapes resolved. */
static void decode(struct scan *s, const char *p, size_t len, struct value *out)
{
	const char *end = p + len;
	char *text;
	size_t n = 0;

	if (!memchr(p, '\\', len)) {
		value_add(out, ATOM_STR, p, len);
		return;
	}
	text = len > STR_MAX ? NULL : scan_room(s, len);
	if (!text)
		return;
	while (p < end) {
		unsigned v = 0;
		size_t digits = 0, skip = 1;

		if (*p != '\\' || p + 1 == end) {
			text[n++] = *p++;
			continue;
		}
		p++;
		if (*p == 'x')
			digits = 2;
		else if (*p == 'u' && p + 1 < end && p[1] == '{')
			skip = 2;
		else if (*p == 'u')
			digits = 4;
		if (*p == 'x' || *p == 'u') {
			p += skip;
			for (size_t k = 0; p < end && (skip == 2 ? *p != '}' : k < digits); k++, p++) {
				int d = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : *p >= 'A' && *p <= 'F' ? *p - 'A' + 10 : 0;

				v = v * 16 + (unsigned)d;
			}
			p += skip == 2 && p < end;
			text[n++] = v < 0x80 ? (char)v : '?';
			continue;
		}
		if (line_end(p, end)) {
			p += line_end(p, end);
			continue;
		}
		if (*p >= '0' && *p <= '7') {
			for (digits = 0; digits < (*p <= '3' ? 3U : 2U) && p + digits < end && p[digits] >= '0' && p[digits] <= '7'; digits++)
				v = v * 8 + (unsigned)(p[digits] - '0');
			p += digits;
			text[n++] = v < 0x80 ? (char)v : '?';
			continue;
		}
		text[n++] = *p == 'n' ? '\n' : *p == 't' ? '\t' : *p == 'r' ? '\r' : *p;
		p++;
	}
	value_add(out, ATOM_STR, text, n);
}

static void decode_string(struct scan *s, uint32_t i, struct value *out)
{
	uint32_t len;
	const char *p = node_text(s, i, &len);

	if (len >= 2 && node_at(s, i)->kind == K_string)
		decode(s, p + 1, len - 2, out);
}

static void eval_template(struct scan *s, uint32_t i, struct value *out)
{
	uint32_t at = node_at(s, i)->start + 1, end = node_at(s, i)->end ? node_at(s, i)->end - 1 : 0;

	value_add(out, ATOM_STR, "", 0);
	for (uint32_t c = node_at(s, i)->first; out->n; c = node_at(s, c)->next) {
		uint32_t stop = c == NO_NODE ? end : node_at(s, c)->start;
		struct value part = { 0 }, next = { 0 };

		if (c != NO_NODE && node_at(s, c)->kind != K_template_substitution)
			continue;
		if (stop >= at)
			decode(s, s->tree.text + at, stop - at, &part);
		value_concat(s, &next, out, &part);
		*out = next;
		if (c == NO_NODE)
			break;
		next.n = 0;
		value_concat(s, &next, out, value_of(s, node_at(s, c)->first));
		*out = next;
		at = node_at(s, c)->end;
	}
}

static uint32_t argument(const struct scan *s, uint32_t call, int position)
{
	uint32_t args = node_child(s, call, F_arguments);

	if (args == NO_NODE || node_at(s, args)->kind != K_arguments)
		return position == 0 ? args : NO_NODE;
	for (uint32_t c = node_at(s, args)->first; c != NO_NODE; c = node_at(s, c)->next)
		if (node_at(s, c)->kind != K_comment && position-- == 0)
			return c;
	return NO_NODE;
}

static bool ends_with(const struct atom *a, const char *end)
{
	size_t n = strlen(end);

	return a->kind == ATOM_NAME && a->len > n && memcmp(a->s + a->len - n, end, n) == 0;
}

/* object.name, where some names lead back to what is known already */
static void add_member(struct scan *s, struct value *out, uint32_t object_node, const struct value *object, const char *name, size_t len)
{
#define IS(x) (len == sizeof(x) - 1 && memcmp(name, x, len) == 0)
	uint8_t kind = object_node == NO_NODE ? K_other : node_at(s, object_node)->kind;

	while (kind == K_parenthesized_expression && node_at(s, object_node)->first != NO_NODE) {
		object_node = node_at(s, object_node)->first;
		kind = node_at(s, object_node)->kind;
	}
	if (IS("constructor")) {
		/* f.constructor is Function, and so is the constructor of any constructor. */
		uint32_t inner = kind == K_member_expression ? node_child(s, object_node, F_property) : kind == K_subscript_expression ? node_child(s, object_node, F_index) : NO_NODE;

		if (is_function(kind) || (inner != NO_NODE && (node_is(s, inner, "constructor") || (value_str(value_of(s, inner)) && value_str(value_of(s, inner))->len == 11 &&
					    memcmp(value_str(value_of(s, inner))->s, "constructor", 11) == 0))) || value_has_name(object, "$constructor") ||
		    value_has_name(object, "Function.prototype") || value_has_name(object, "Function"))
			value_add(out, ATOM_NAME, "Function", 8);
		value_add(out, ATOM_NAME, "$constructor", 12);
		if (value_has_name(object, "module"))
			value_add(out, ATOM_NAME, "module", 6);
		return;
	}
	for (int i = 0; i < object->n; i++) {
		const struct atom *a = &object->a[i];
		struct value one = { 0 };

		if (a->kind != ATOM_NAME)
			continue;
		if (atom_is(a, "global")) {
			if (IS("globalThis") || IS("global") || IS("window") || IS("self"))
				value_add(out, ATOM_NAME, "global", 6);
			else
				value_add(out, ATOM_NAME, name, len);
		} else if (IS("default")) {
			value_add(out, ATOM_NAME, a->s, a->len);
		} else if (IS("require") && (atom_is(a, "module") || atom_is(a, "process.mainModule") || atom_is(a, "require.main"))) {
			value_add(out, ATOM_NAME, "require", 7);
		} else {
			value_add(&one, ATOM_NAME, a->s, a->len);
			value_member(s, out, &one, name, len);
		}
	}
#undef IS
}

static void eval_member(struct scan *s, uint32_t i, struct value *out)
{
	uint32_t object = node_child(s, i, F_object), name = node_child(s, i, node_at(s, i)->kind == K_member_expression ? F_property : F_index), len;

	if (object == NO_NODE || name == NO_NODE)
		return;
	if (node_at(s, i)->kind == K_member_expression) {
		const char *text = node_name(s, name, &len);

		add_member(s, out, object, value_of(s, object), text, len);
		return;
	}
	for (int k = 0; k < value_of(s, name)->n; k++)
		if (value_of(s, name)->a[k].kind == ATOM_STR)
			add_member(s, out, object, value_of(s, object), value_of(s, name)->a[k].s, value_of(s, name)->a[k].len);
}

static const char *const requires[] = { "require", "process.getBuiltinModule", "module._load", "module.Module._load", "$import" };

static bool is_require(const struct atom *a)
{
	for (size_t i = 0; i < sizeof(requires) / sizeof(requires[0]); i++)
		if (atom_is(a, requires[i]))
			return true;
	return false;
}

/* Methods of strings and lists that are used to hide a name. */
static void eval_method(struct scan *s, uint32_t i, uint32_t function, struct value *out)
{
	uint32_t object = node_child(s, function, F_object), property = node_child(s, function, F_property), len;
	const char *name;

	if (object == NO_NODE || property == NO_NODE)
		return;
	name = node_text(s, property, &len);
#define IS(x) (len == sizeof(x) - 1 && memcmp(name, x, len) == 0)
	if (IS("concat") && value_str(value_of(s, object))) {
		*out = *value_of(s, object);
		for (int k = 0; k < 8 && argument(s, i, k) != NO_NODE; k++) {
			struct value next = { 0 };

			value_concat(s, &next, out, value_of(s, argument(s, i, k)));
			*out = next;
		}
	} else if (IS("join") && node_at(s, object)->kind == K_array) {
		struct value sep = *value_of(s, argument(s, i, 0));
		bool first = true;

		if (argument(s, i, 0) == NO_NODE)
			value_add(&sep, ATOM_STR, ",", 1);
		value_add(out, ATOM_STR, "", 0);
		for (uint32_t c = node_at(s, object)->first; c != NO_NODE && out->n; c = node_at(s, c)->next) {
			struct value next = { 0 };

			if (!first) {
				value_concat(s, &next, out, &sep);
				*out = next;
				next.n = 0;
			}
			first = false;
			value_concat(s, &next, out, value_of(s, c));
			*out = next;
		}
	} else if ((IS("toString") || IS("valueOf") || IS("normalize")) && value_str(value_of(s, object))) {
		*out = *value_of(s, object);
	} else if ((IS("toLowerCase") || IS("toUpperCase")) && value_str(value_of(s, object))) {
		const struct atom *x = value_str(value_of(s, object));
		char *text = x->len > STR_MAX ? NULL : scan_copy(s, x->s, x->len);

		for (uint32_t k = 0; text && k < x->len; k++)
			text[k] = (char)(IS("toUpperCase") ? (text[k] >= 'a' && text[k] <= 'z' ? text[k] - 32 : text[k])
							   : (text[k] >= 'A' && text[k] <= 'Z' ? text[k] + 32 : text[k]));
		if (text)
			value_add(out, ATOM_STR, text, x->len);
	}
#undef IS
}

static void eval_char_codes(struct scan *s, uint32_t i, struct value *out)
{
	char text[64];
	size_t n = 0;

	for (int k = 0; argument(s, i, k) != NO_NODE && n < sizeof(text); k++) {
		uint32_t len;
		const char *p = node_text(s, argument(s, i, k), &len);
		unsigned v = 0;

		if (node_at(s, argument(s, i, k))->kind != K_number || len > 3)
			return;
		for (; len; p++, len--) {
			if (*p < '0' || *p > '9')
				return;
			v = v * 10 + (unsigned)(*p - '0');
		}
		if (v > 127)
			return;
		text[n++] = (char)v;
	}
	value_add(out, ATOM_STR, scan_copy(s, text, n), n);
}

static void eval_call(struct scan *s, uint32_t i, struct value *out)
{
	uint32_t function = node_child(s, i, F_function);
	const struct value *f = value_of(s, function);
	const struct value *first = value_of(s, argument(s, i, 0));

	if (function == NO_NODE)
		return;
	if (node_at(s, function)->kind == K_import)
		add_module(s, first, out);
	for (int k = 0; k < f->n; k++) {
		const struct atom *a = &f->a[k];

		if (a->kind != ATOM_NAME)
			continue;
		if (is_require(a))
			add_module(s, first, out);
		else if (atom_is(a, "module.createRequire") || atom_is(a, "module.createRequireFromPath"))
			value_add(out, ATOM_NAME, "require", 7);
		else if (atom_is(a, "String.fromCharCode") || atom_is(a, "String.fromCodePoint"))
			eval_char_codes(s, i, out);
		else if (atom_is(a, "String") || atom_is(a, "Object") || atom_is(a, "Object.assign") || atom_is(a, "util.promisify"))
			value_join(out, first);
		else if (atom_is(a, "Reflect.get") || atom_is(a, "Object.getOwnPropertyDescriptor"))
			for (int m = 0; m < value_of(s, argument(s, i, 1))->n; m++) {
				const struct atom *name = &value_of(s, argument(s, i, 1))->a[m];

				if (name->kind == ATOM_STR)
					add_member(s, out, argument(s, i, 0), first, name->s, name->len);
			}
		else if (ends_with(a, ".bind"))
			value_add(out, ATOM_NAME, a->s, a->len - 5);
		else if ((atom_is(a, "atob") || atom_is(a, "Buffer.from")) && value_str(first)) {
			const struct atom *x = value_str(first), *how = value_str(value_of(s, argument(s, i, 1)));
			char *text;
			size_t n;

			if (atom_is(a, "Buffer.from") && !(how && how->len == 6 && memcmp(how->s, "base64", 6) == 0)) {
				value_join(out, first);
				continue;
			}
			text = x->len <= STR_MAX ? scan_room(s, x->len / 4 * 3 + 4) : NULL;
			if (text && base64_decode(x->s, x->len, text, &n) == 0)
				value_add(out, ATOM_STR, text, n);
		}
	}
	if (node_at(s, function)->kind == K_member_expression)
		eval_method(s, i, function, out);
}

/* A pattern takes its parts of a value. */
struct pattern_todo {
	uint32_t target;
	struct value value;
};

static void bind(struct scan *s, uint32_t scope, const char *name, uint32_t len, const struct value *v)
{
	/* To where it was declared; an assignment to a global makes one. */
	for (uint32_t at = scope; at != NO_SCOPE && scan_step(s, 1); at = s->scopes[at].parent) {
		struct binding *b = binding_find(s, at, name, len);

		if (b || at == 0) {
			binding_add(s, b ? b : binding_declare(s, 0, name, len), v);
			return;
		}
	}
}

static void assign(struct scan *s, uint32_t target, const struct value *v)
{
	struct pattern_todo todo[32];
	size_t n = 0;

	todo[n++] = (struct pattern_todo){ target, *v };
	while (n) {
		struct pattern_todo t = todo[--n];
		const struct node *x = node_at(s, t.target);
		uint32_t len;
		const char *name = node_name(s, t.target, &len);

		if (x->kind == K_identifier || x->kind == K_shorthand_property_identifier_pattern)
			bind(s, x->scope, name, len, &t.value);
		if ((x->kind == K_assignment_pattern || x->kind == K_object_assignment_pattern) && node_child(s, t.target, F_left) != NO_NODE && n < 32) {
			value_join(&t.value, value_of(s, node_child(s, t.target, F_right)));
			todo[n++] = (struct pattern_todo){ node_child(s, t.target, F_left), t.value };
		}
		if (x->kind != K_object_pattern)
			continue;
		for (uint32_t c = x->first; c != NO_NODE; c = node_at(s, c)->next) {
			const struct node *p = node_at(s, c);
			uint32_t key = c, to = c;
			struct value part = { 0 };

			if (p->kind == K_rest_pattern && p->first != NO_NODE) {
				if (n < 32)
					todo[n++] = (struct pattern_todo){ p->first, t.value };
				continue;
			}
			if (p->kind == K_pair_pattern) {
				key = node_child(s, c, F_key);
				to = node_child(s, c, F_value);
			} else if (p->kind == K_object_assignment_pattern) {
				key = to = node_child(s, c, F_left);
			}
			if (key == NO_NODE || to == NO_NODE || n == 32)
				continue;
			if (node_at(s, key)->kind == K_computed_property_name)
				key = node_at(s, key)->first;
			if (key == NO_NODE)
				continue;
			if (value_str(value_of(s, key))) {
				add_member(s, &part, NO_NODE, &t.value, value_str(value_of(s, key))->s, value_str(value_of(s, key))->len);
			} else {
				name = node_name(s, key, &len);
				add_member(s, &part, NO_NODE, &t.value, name, len);
			}
			todo[n++] = (struct pattern_todo){ to, part };
		}
	}
}

static void bind_import(struct scan *s, uint32_t i)
{
	uint32_t source = node_child(s, i, F_source), clause = node_at(s, i)->first, len;
	struct value module = { 0 };
	const char *name;

	if (source == NO_NODE || clause == NO_NODE || node_at(s, clause)->kind != K_import_clause)
		return;
	add_module(s, value_of(s, source), &module);
	for (uint32_t c = node_at(s, clause)->first; c != NO_NODE; c = node_at(s, c)->next) {
		const struct node *n = node_at(s, c);

		if (n->kind == K_identifier || n->kind == K_namespace_import) {
			uint32_t at = n->kind == K_identifier ? c : n->first;

			if (at == NO_NODE)
				continue;
			name = node_text(s, at, &len);
			binding_declare(s, 0, name, len)->sure_from = 0;
			binding_add(s, binding_declare(s, 0, name, len), &module);
		}
		for (uint32_t m = n->kind == K_named_imports ? n->first : NO_NODE; m != NO_NODE; m = node_at(s, m)->next) {
			uint32_t from = node_child(s, m, F_name), to = node_child(s, m, F_alias);
			struct value v = { 0 };

			if (from == NO_NODE)
				continue;
			name = node_text(s, from, &len);
			add_member(s, &v, NO_NODE, &module, name, len);
			name = node_text(s, to == NO_NODE ? from : to, &len);
			binding_declare(s, 0, name, len)->sure_from = 0;
			binding_add(s, binding_declare(s, 0, name, len), &v);
		}
	}
}

static bool has_operator(const struct scan *s, uint32_t i, const char *op)
{
	uint32_t left = node_child(s, i, F_left), right = node_child(s, i, F_right);
	size_t n = strlen(op);

	if (left == NO_NODE || right == NO_NODE)
		return false;
	for (uint32_t at = node_at(s, left)->end; at + n <= node_at(s, right)->start; at++)
		if (memcmp(s->tree.text + at, op, n) == 0)
			return true;
	return false;
}

static void evaluate(struct scan *s, uint32_t i)
{
	const struct node *n = node_at(s, i);
	struct value v = { 0 };
	uint32_t len, x;
	const char *text;

	switch (n->kind) {
	case K_identifier:
	case K_shorthand_property_identifier:
		text = node_name(s, i, &len);
		if (len < NAME_MAX_LEN)
			lookup(s, &v, n->scope, text, len);
		break;
	case K_string:
		decode_string(s, i, &v);
		break;
	case K_template_string:
		eval_template(s, i, &v);
		break;
	case K_member_expression:
	case K_subscript_expression:
		eval_member(s, i, &v);
		break;
	case K_call_expression:
		eval_call(s, i, &v);
		break;
	case K_new_expression:
		if (value_has_name(value_of(s, node_child(s, i, F_constructor)), "String"))
			value_join(&v, value_of(s, argument(s, i, 0)));
		break;
	case K_binary_expression:
		if (has_operator(s, i, "+"))
			value_concat(s, &v, value_of(s, node_child(s, i, F_left)), value_of(s, node_child(s, i, F_right)));
		else if (has_operator(s, i, "||") || has_operator(s, i, "??") || has_operator(s, i, "&&"))
			for (uint32_t c = n->first; c != NO_NODE; c = node_at(s, c)->next)
				value_join(&v, value_of(s, c));
		break;
	case K_ternary_expression:
		value_join(&v, value_of(s, node_child(s, i, F_consequence)));
		value_join(&v, value_of(s, node_child(s, i, F_alternative)));
		break;
	case K_parenthesized_expression:
	case K_await_expression:
		for (uint32_t c = n->first; c != NO_NODE; c = node_at(s, c)->next)
			value_join(&v, value_of(s, c));
		break;
	case K_sequence_expression:
		/* (0, eval) is eval */
		for (uint32_t c = n->first; c != NO_NODE; c = node_at(s, c)->next)
			if (node_at(s, c)->next == NO_NODE)
				value_join(&v, value_of(s, c));
		break;
	case K_variable_declarator:
		if (node_child(s, i, F_name) != NO_NODE && node_child(s, i, F_value) != NO_NODE)
			assign(s, node_child(s, i, F_name), value_of(s, node_child(s, i, F_value)));
		return;
	case K_assignment_expression:
	case K_augmented_assignment_expression:
		x = node_child(s, i, F_left);
		v = *value_of(s, node_child(s, i, F_right));
		if (n->kind == K_augmented_assignment_expression && has_operator(s, i, "+=")) {
			v = (struct value){ 0 };
			value_concat(s, &v, value_of(s, x), value_of(s, node_child(s, i, F_right)));
		}
		if (x != NO_NODE)
			assign(s, x, &v);
		break;
	case K_import_statement:
		bind_import(s, i);
		return;
	default:
		return;
	}
	value_set(s, i, &v);
}

/* ---- rules ---- */

static bool argument_fits(struct scan *s, const struct rule_entry *e, void *ctx)
{
	bool unknown = e->rule->unknown && strcmp(e->rule->unknown, "true") == 0;
	uint32_t arg = NO_NODE;
	const struct value *v;

	if (!e->rule->argument)
		return true;
	for (const char *const *w = e->rule->argument; *w && arg == NO_NODE; w++)
		if (**w >= '0' && **w <= '9')
			arg = argument(s, *(uint32_t *)ctx, **w - '0');
	if (arg == NO_NODE)
		return false;
	v = value_of(s, arg);
	if (!value_is_known(v) && unknown)
		return true;
	for (int i = 0; i < v->n; i++)
		if (v->a[i].kind == ATOM_STR && rule_list_has(e->rule->matches, v->a[i].s, v->a[i].len))
			return true;
	return false;
}

static bool without_argument(struct scan *s, const struct rule_entry *e, void *ctx)
{
	(void)s, (void)ctx;
	return !e->rule->argument;
}

static bool escapes(const struct scan *s, uint32_t i)
{
	uint32_t up = node_at(s, i)->parent;

	while (up != NO_NODE) {
		switch (node_at(s, up)->kind) {
		case K_arguments:
		case K_array:
		case K_spread_element:
		case K_return_statement:
		case K_yield_expression:
		case K_export_statement:
		case K_class_heritage:
			return true;
		case K_pair:
		case K_field_definition:
			return node_at(s, i)->field == F_value;
		case K_arrow_function:
			return node_at(s, i)->field == F_body;
		case K_object:
			return node_at(s, i)->kind == K_shorthand_property_identifier;
		case K_assignment_expression: {
			uint32_t left = node_child(s, up, F_left);

			return node_at(s, i)->field == F_right && left != NO_NODE && (node_at(s, left)->kind == K_member_expression ||
									 node_at(s, left)->kind == K_subscript_expression);
		}
		case K_parenthesized_expression:
		case K_await_expression:
		case K_ternary_expression:
			i = up;
			up = node_at(s, up)->parent;
			continue;
		default:
			return false;
		}
	}
	return false;
}

static void tell_modules(struct scan *s, uint32_t i, uint32_t source)
{
	const struct value *names = value_of(s, source);
	struct value modules = { 0 };

	if (!value_is_known(names))
		scan_import_unknown(s, node_at(s, i)->start, node_at(s, i)->end);
	if (!value_str(names))
		return;
	add_module(s, names, &modules);
	for (int k = 0; k < modules.n; k++)
		scan_import(s, modules.a[k].s, modules.a[k].len, NULL, 0, node_at(s, i)->start, node_at(s, i)->end);
	if (!modules.n)
		scan_import(s, ".", 1, NULL, 0, node_at(s, i)->start, node_at(s, i)->end);
}

static void tell_call(struct scan *s, uint32_t i)
{
	uint32_t function = node_child(s, i, node_at(s, i)->kind == K_new_expression ? F_constructor : F_function), call = i;
	const struct value *f = value_of(s, function);
	bool required = false;

	if (function == NO_NODE)
		return;
	required = node_at(s, function)->kind == K_import;
	for (int k = 0; k < f->n; k++) {
		struct atom a = f->a[k];

		if (a.kind != ATOM_NAME)
			continue;
		/* f.call(..) and f.apply(..) call f */
		if (ends_with(&a, ".call"))
			a.len -= 5;
		else if (ends_with(&a, ".apply"))
			a.len -= 6;
		scan_match(s, RULE_CALL, &a, node_at(s, i)->start, node_at(s, function)->end, argument_fits, &call);
		required = required || is_require(&a);
	}
	if (required)
		tell_modules(s, i, argument(s, i, 0));
}

static void tell_use(struct scan *s, uint32_t i)
{
	const struct node *n = node_at(s, i);
	const struct value *v = value_of(s, i), *object = value_of(s, node_child(s, i, F_object));
	bool called = n->field == F_function || n->field == F_constructor, escaped = !called && v->n && escapes(s, i);

	for (int k = 0; k < v->n; k++) {
		if (v->a[k].kind != ATOM_NAME)
			continue;
		if (n->kind == K_member_expression || n->kind == K_subscript_expression)
			scan_use(s, &v->a[k], object, n->start, n->end);
		if (escaped)
			scan_match(s, RULE_CALL, &v->a[k], n->start, n->end, without_argument, NULL);
	}
	if (n->kind == K_member_expression) {
		uint32_t name = node_child(s, i, F_property), len;
		const char *text = name == NO_NODE ? "" : node_text(s, name, &len);

		for (const struct rule_entry *e = name == NO_NODE ? NULL : rules_first(s->rules, s->lang, text, len); e; e = e->next)
			if (e->what == RULE_NAME && strlen(e->pattern) == len && memcmp(e->pattern, text, len) == 0)
				scan_found(s, e, node_at(s, name)->start, n->end);
	}
	if (n->kind == K_subscript_expression && !value_is_known(value_of(s, node_child(s, i, F_index))))
		for (int k = 0; k < object->n; k++)
			if (object->a[k].kind == ATOM_NAME)
				scan_match(s, RULE_COMPUTED, &object->a[k], n->start, n->end, NULL, NULL);
}

static void tell(struct scan *s, uint32_t i)
{
	switch (node_at(s, i)->kind) {
	case K_call_expression:
	case K_new_expression:
		tell_call(s, i);
		break;
	case K_import_statement:
	case K_export_statement:
		if (node_child(s, i, F_source) != NO_NODE)
			tell_modules(s, i, node_child(s, i, F_source));
		break;
	case K_member_expression:
	case K_subscript_expression:
	case K_identifier:
	case K_shorthand_property_identifier:
		tell_use(s, i);
		break;
	default:
		break;
	}
}

/* ---- comments of HTML ---- */

/* Text in which nothing is code, as the grammar sees it. */
static bool is_quoted(uint8_t kind)
{
	return kind == K_string || kind == K_string_fragment || kind == K_comment || kind == K_html_comment || kind == K_regex || kind == K_jsx_text || kind == K_hash_bang_line;
}

/* "-->" begins a comment where nothing but blanks and comments stands before it on its line. */
static bool begins_line(const char *text, size_t at)
{
	while (at && (text[at - 1] == ' ' || text[at - 1] == '\t' || text[at - 1] == '\v' || text[at - 1] == '\f'))
		at--;
	/* Other blanks and line ends are no ASCII: one of them will do. */
	return !at || text[at - 1] == '\n' || text[at - 1] == '\r' || (unsigned char)text[at - 1] >= 0x80 || (at > 1 && text[at - 1] == '/' && text[at - 2] == '*');
}

/*
 * Scripts may have the comments of HTML, "<!--" and "-->" to the end of a line. Where the grammar takes them for operators (x\n<!--`), it goes on with the
 * rest of the line as code, and what it sees after that is not what runs.
 */
static void find_html(struct scan *s)
{
	const char *text = s->tree.text, *p = text;
	size_t len = s->tree.len;
	uint8_t *quoted;

	if (s->tree.broken || (!memmem(text, len, "<!--", 4) && !memmem(text, len, "-->", 3)))
		return;
	quoted = arena_alloc(s->arena, len + 1);
	memset(quoted, 0, len + 1);
	for (uint32_t i = 0; i < s->tree.count; i++)
		if (is_quoted(node_at(s, i)->kind))
			memset(quoted + node_at(s, i)->start, 1, node_at(s, i)->end - node_at(s, i)->start);
	while ((p = memmem(p, len - (size_t)(p - text), "--", 2))) {
		size_t at = (size_t)(p - text);
		bool open = at >= 2 && p[-1] == '!' && p[-2] == '<', close = at + 2 < len && p[2] == '>' && begins_line(text, at);

		p++;
		if (!(open || close) || quoted[at])
			continue;
		s->tree.broken = true;
		s->tree.broken_at = (uint32_t)(open ? at - 2 : at);
		s->tree.broken_end = (uint32_t)at + 2;
		return;
	}
}

void scan_javascript(struct scan *s)
{
	find_html(s);
	find_scopes(s);
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
