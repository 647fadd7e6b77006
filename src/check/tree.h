/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed text as one flat array: children before their parents, so that a walk is a loop, however deep the text is. */
#ifndef BELLJAR_CHECK_TREE_H
#define BELLJAR_CHECK_TREE_H

#include "check/rule.h"

/* The kinds of nodes that anybody asks for, as the grammars call them; all others are K_other. */
#define TREE_KINDS(K) \
	K(other) K(ERROR) K(identifier) K(module) K(program) K(block) K(expression_statement) K(import_statement) K(import_from_statement) \
	K(future_import_statement) K(aliased_import) K(dotted_name) K(relative_import) K(wildcard_import) K(string) K(string_start) K(string_content) \
	K(string_end) K(interpolation) K(type_conversion) K(format_specifier) K(concatenated_string) K(integer) K(call) K(argument_list) K(keyword_argument) \
	K(attribute) K(subscript) K(slice) K(assignment) K(augmented_assignment) K(named_expression) K(pattern_list) K(tuple_pattern) \
	K(list_pattern) K(list_splat_pattern) K(dictionary_splat_pattern) K(tuple) K(list) K(set) K(dictionary) K(pair) K(expression_list) K(parenthesized_expression) \
	K(conditional_expression) K(boolean_operator) K(binary_operator) K(comparison_operator) K(unary_operator) K(await) K(lambda) \
	K(lambda_parameters) K(parameters) K(default_parameter) K(typed_parameter) K(typed_default_parameter) K(function_definition) \
	K(class_definition) K(decorated_definition) K(decorator) K(list_comprehension) K(set_comprehension) K(dictionary_comprehension) \
	K(generator_expression) K(for_in_clause) K(for_statement) K(as_pattern) K(as_pattern_target) K(except_clause) K(global_statement) \
	K(nonlocal_statement) K(delete_statement) K(case_pattern) K(return_statement) K(yield) K(list_splat) K(type) K(match_statement) \
	/* JavaScript */ \
	K(lexical_declaration) K(variable_declaration) K(variable_declarator) K(object_pattern) K(array_pattern) K(pair_pattern) K(rest_pattern) \
	K(object_assignment_pattern) K(assignment_pattern) K(shorthand_property_identifier_pattern) K(shorthand_property_identifier) \
	K(property_identifier) K(private_property_identifier) K(import_clause) K(named_imports) K(import_specifier) K(namespace_import) K(export_statement) K(import) \
	K(call_expression) K(new_expression) K(arguments) K(member_expression) K(subscript_expression) K(template_string) K(template_substitution) \
	K(string_fragment) K(escape_sequence) K(binary_expression) K(ternary_expression) K(sequence_expression) K(assignment_expression) \
	K(augmented_assignment_expression) K(await_expression) K(arrow_function) K(function_expression) K(function_declaration) \
	K(generator_function) K(generator_function_declaration) K(method_definition) K(class_declaration) K(class) K(formal_parameters) \
	K(statement_block) K(catch_clause) K(for_in_statement) K(array) K(object) K(spread_element) K(number) K(this) K(class_static_block) K(field_definition) \
	K(unary_expression) K(computed_property_name) K(meta_property) K(yield_expression) K(class_heritage) K(html_comment) K(regex) K(jsx_text) K(hash_bang_line) \
	/* bash */ \
	K(command) K(command_name) K(word) K(raw_string) K(ansi_c_string) K(concatenation) K(simple_expansion) K(expansion) K(variable_name) \
	K(special_variable_name) K(command_substitution) K(process_substitution) K(variable_assignment) K(file_redirect) K(heredoc_redirect) K(heredoc_body) K(heredoc_start) \
	K(heredoc_content) K(herestring_redirect) K(redirected_statement) K(pipeline) K(list_) K(file_descriptor) K(translated_string) K(declaration_command) K(brace_expression) \
	K(subshell) K(compound_statement) K(comment)

#define TREE_FIELDS(F) \
	F(none) F(name) F(alias) F(module_name) F(function) F(arguments) F(object) F(attribute) F(value) F(subscript) F(left) F(right) F(body) \
	F(parameters) F(parameter) F(expression) F(key) F(source) F(property) F(index) F(constructor) F(argument) F(destination) F(redirect) \
	F(operator) F(variable) F(definition) F(condition) F(consequence) F(alternative) F(kind) F(decorator) F(superclasses) F(type) F(handler) F(descriptor)

enum tree_kind {
#define K(name) K_##name,
	TREE_KINDS(K)
#undef K
	K_COUNT
};

enum tree_field {
#define F(name) F_##name,
	TREE_FIELDS(F)
#undef F
	F_COUNT
};

#define NO_NODE 0xffffffffU

struct node {
	uint32_t start, end; /* bytes of the text */
	uint32_t parent, first, next; /* first child, next sibling */
	uint32_t scope, value; /* what the walk over it finds */
	uint8_t kind, field;
};

enum tree_state { TREE_WHOLE, TREE_TOO_LARGE, TREE_TOO_LONG };

struct tree {
	const char *text;
	size_t len;
	struct node *nodes; /* the root is the last; anonymous ones are left out */
	uint32_t count;
	size_t cap;
	enum tree_state state;
	bool broken;	    /* some of the text fits no rule of the grammar */
	uint32_t broken_at, broken_end;
};

#define TREE_TEXT_MAX (1U << 20)
#define TREE_TIME_US  400000U /* of CPU */

/* Parses; the nodes stay valid until tree_done(). Parsers are kept for the next text. */
void tree_parse(struct tree *t, enum check_language l, const char *text, size_t len);
void tree_done(struct tree *t);

static inline uint32_t tree_child(const struct tree *t, uint32_t n, enum tree_field f)
{
	for (uint32_t c = t->nodes[n].first; c != NO_NODE; c = t->nodes[c].next)
		if (t->nodes[c].field == f)
			return c;
	return NO_NODE;
}

#endif
