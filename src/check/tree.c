/* SPDX-License-Identifier: Apache-2.0 */
/* tree-sitter, bounded: by size, by time, and with no recursion of ours over what it found. */
#include "check/tree.h"

#include <stdlib.h>
#include <string.h>
#include <tree_sitter/api.h>

#include "base/clock.h"

const TSLanguage *tree_sitter_python(void);
const TSLanguage *tree_sitter_bash(void);
const TSLanguage *tree_sitter_javascript(void);

static const TSLanguage *(*const grammars[CHECK_LANGUAGES])(void) = {
	[CHECK_PYTHON] = tree_sitter_python, [CHECK_BASH] = tree_sitter_bash, [CHECK_JAVASCRIPT] = tree_sitter_javascript
};

static const char *const kind_names[] = {
#define K(name) #name,
	TREE_KINDS(K)
#undef K
};

static const char *const field_names[] = {
#define F(name) #name,
	TREE_FIELDS(F)
#undef F
};

/* What is kept of a language: its parser, and our numbers for its names. */
static struct grammar {
	TSParser *parser;
	uint8_t *kinds;
	uint8_t fields[128];
} kept[CHECK_LANGUAGES];

/* Arrays that grow; kept for the next text unless they are large. */
static struct {
	struct node *nodes;
	size_t nodes_cap;
	struct open_node {
		uint32_t first, last;
	} *stack;
	size_t stack_cap;
} room;

#define ROOM_KEPT 65536

static void *grow(void *p, size_t *cap, size_t need, size_t size)
{
	if (need <= *cap)
		return p;
	*cap = need > *cap * 2 ? need + 1024 : *cap * 2;
	p = realloc(p, *cap * size);
	if (!p)
		abort(); /* a front without memory has nothing to say */
	return p;
}

/* ---- names to numbers ---- */

#define SLOTS 512

static unsigned hash(const char *s)
{
	unsigned h = 2166136261U;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619U;
	return (h ^ h >> 15) % SLOTS;
}

static uint8_t kind_of(const char *name)
{
	static uint8_t slots[SLOTS];
	static bool ready;
	unsigned at;

	if (!ready) {
		for (int i = 1; i < K_COUNT; i++) {
			for (at = hash(kind_names[i]); slots[at]; at = (at + 1) % SLOTS)
				;
			slots[at] = (uint8_t)i;
		}
		ready = true;
	}
	for (at = hash(name); slots[at]; at = (at + 1) % SLOTS)
		if (strcmp(kind_names[slots[at]], name) == 0)
			return slots[at];
	return K_other;
}

static uint8_t field_of(const char *name)
{
	for (int i = 1; name && i < F_COUNT; i++)
		if (strcmp(field_names[i], name) == 0)
			return (uint8_t)i;
	return F_none;
}

static struct grammar *open_grammar(enum check_language l)
{
	struct grammar *g = &kept[l];
	const TSLanguage *lang;
	uint32_t symbols, fields;

	if (g->parser)
		return g;
	lang = grammars[l]();
	symbols = ts_language_symbol_count(lang);
	fields = ts_language_field_count(lang);
	g->kinds = calloc(symbols + 1, 1);
	g->parser = ts_parser_new();
	if (!g->kinds || !g->parser || !ts_parser_set_language(g->parser, lang))
		abort(); /* the grammar was built for another library: a build that is wrong */
	for (uint32_t i = 0; i < symbols; i++)
		if (ts_language_symbol_type(lang, (TSSymbol)i) == TSSymbolTypeRegular)
			g->kinds[i] = kind_of(ts_language_symbol_name(lang, (TSSymbol)i));
	for (uint32_t i = 1; i <= fields && i < sizeof(g->fields); i++)
		g->fields[i] = field_of(ts_language_field_name_for_id(lang, (TSFieldId)i));
	return g;
}

/* ---- flat ---- */

struct flat {
	struct tree *t;
	const struct grammar *g;
	size_t depth;
};

/* The children of a node (beginning with `first`) are there: it comes after them, and after its siblings so far. */
static void emit(struct flat *f, TSNode n, TSFieldId field, uint32_t first)
{
	struct tree *t = f->t;
	struct open_node *list = &room.stack[f->depth];
	uint32_t at = t->count++, start = ts_node_start_byte(n), end = ts_node_end_byte(n);
	TSSymbol symbol = ts_node_symbol(n);
	struct node *x;

	room.nodes = grow(room.nodes, &room.nodes_cap, (size_t)at + 1, sizeof(*room.nodes));
	x = &room.nodes[at];
	end = end < t->len ? end : (uint32_t)t->len;
	*x = (struct node){ .start = start < end ? start : end, .end = end, .parent = NO_NODE, .first = first, .next = NO_NODE,
			    .kind = symbol == (TSSymbol)-1 ? K_ERROR : f->g->kinds[symbol], .field = field < sizeof(f->g->fields) ? f->g->fields[field] : F_none };
	if (x->kind == K_ERROR && (!t->broken || x->start < t->broken_at)) {
		t->broken = true;
		t->broken_at = x->start;
		t->broken_end = x->end;
	}
	for (uint32_t c = first; c != NO_NODE; c = room.nodes[c].next)
		room.nodes[c].parent = at;
	if (list->first == NO_NODE)
		list->first = at;
	else
		room.nodes[list->last].next = at;
	list->last = at;
}

static void push(struct flat *f)
{
	f->depth++;
	room.stack = grow(room.stack, &room.stack_cap, f->depth + 1, sizeof(*room.stack));
	room.stack[f->depth] = (struct open_node){ NO_NODE, NO_NODE };
}

/* Anonymous leaves ("(", "def") are left out. A missing token is a place where the parser made something up. */
static void leaf(struct flat *f, TSTreeCursor *c, TSNode n)
{
	struct tree *t = f->t;

	if (t->broken && ts_node_is_missing(n) && t->broken_at == NO_NODE)
		t->broken_at = t->broken_end = ts_node_start_byte(n);
	if (ts_node_is_named(n))
		emit(f, n, ts_tree_cursor_current_field_id(c), NO_NODE);
}

/* Time of our own: a busy machine must not change what is found. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void flatten(struct flat *f, TSNode root, uint64_t deadline_ns)
{
	TSTreeCursor c = ts_tree_cursor_new(root);
	struct tree *t = f->t;
	unsigned steps = 0;
	bool over = false;

	t->broken = ts_node_has_error(root);
	t->broken_at = NO_NODE;
	room.stack = grow(room.stack, &room.stack_cap, 1, sizeof(*room.stack));
	room.stack[0] = (struct open_node){ NO_NODE, NO_NODE };
	while (!over) {
		if (ts_tree_cursor_goto_first_child(&c)) {
			push(f);
			continue;
		}
		leaf(f, &c, ts_tree_cursor_current_node(&c));
		while (!over && !ts_tree_cursor_goto_next_sibling(&c)) {
			over = !ts_tree_cursor_goto_parent(&c);
			if (over)
				break;
			uint32_t first = room.stack[f->depth--].first;
			emit(f, ts_tree_cursor_current_node(&c), ts_tree_cursor_current_field_id(&c), first);
		}
		if (++steps % 4096 == 0 && cpu_ns() > deadline_ns) {
			t->state = TREE_TOO_LONG;
			over = true;
		}
	}
	ts_tree_cursor_delete(&c);
	if (t->broken_at == NO_NODE)
		t->broken_at = t->broken_end = 0;
}

struct watch_time {
	const struct tree *t;
	uint64_t deadline_ns;
	unsigned calls;
};

/* True ends the parser's work. */
static bool is_late(TSParseState *state)
{
	struct watch_time *w = state->payload;

	return ++w->calls % 16 == 0 && cpu_ns() > w->deadline_ns;
}

static const char *read_text(void *payload, uint32_t at, TSPoint point, uint32_t *len)
{
	const struct tree *t = payload;

	(void)point;
	*len = at < t->len ? (uint32_t)t->len - at : 0;
	return *len ? t->text + at : "";
}

void tree_parse(struct tree *t, enum check_language l, const char *text, size_t len)
{
	struct watch_time time = { .t = t, .deadline_ns = cpu_ns() + TREE_TIME_US * 1000ULL };
	struct grammar *g = open_grammar(l);
	struct flat f = { .t = t, .g = g };
	TSInput input = { .payload = t, .read = read_text, .encoding = TSInputEncodingUTF8 };
	TSParseOptions options = { .payload = &time, .progress_callback = is_late };
	TSTree *tree;

	*t = (struct tree){ .text = text, .len = len };
	if (len > TREE_TEXT_MAX) {
		t->state = TREE_TOO_LARGE;
		return;
	}
	tree = ts_parser_parse_with_options(g->parser, NULL, input, options);
	if (!tree) {
		/* What it has of this text must not be taken up again with the next. */
		ts_parser_reset(g->parser);
		t->state = TREE_TOO_LONG;
		return;
	}
	flatten(&f, ts_tree_root_node(tree), time.deadline_ns);
	ts_tree_delete(tree);
	/* The array is this tree's: a text within the text is parsed while it is in use. */
	t->nodes = room.nodes;
	t->cap = room.nodes_cap;
	room.nodes = NULL;
	room.nodes_cap = 0;
	if (t->state != TREE_WHOLE)
		t->count = 0;
}

void tree_done(struct tree *t)
{
	if (room.nodes || t->cap > ROOM_KEPT) {
		free(t->nodes);
	} else {
		room.nodes = t->nodes;
		room.nodes_cap = t->cap;
	}
	t->nodes = NULL;
	t->count = 0;
	if (room.stack_cap > ROOM_KEPT) {
		free(room.stack);
		room.stack = NULL;
		room.stack_cap = 0;
	}
}
