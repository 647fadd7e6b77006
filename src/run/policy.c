/* SPDX-License-Identifier: Apache-2.0 */
/* What the static check says of a request before anything is started. */
#include "run/policy.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "check/tree.h"

#define FILES_MAX 256 /* of a request, that are looked at */

static const char too_large[] = "too large, or too tangled, to be looked at whole", too_many[] = "one file too many: it was not looked at",
		  not_read[] = "it could not be read, or is too large, and so was not looked at";

enum check_language policy_language(const struct request *r)
{
	return r->lang && r->lang->check ? check_language_find(r->lang->check) : CHECK_NONE;
}

/* Runs text of one kind; each text says for itself whether it was understood. */
static void check_one(const struct request *r, const struct check_rules *rules, enum check_language l, const char *file, const char *text, size_t len,
		      struct arena *a, struct check_result *out)
{
	struct check_modules m = { &r->allow_modules, &r->allow_modules_request, &r->deny_modules, !r->allow_imports };
	bool broken = out->broken, incomplete = out->incomplete;

	out->broken = out->incomplete = false;
	check_text(l, rules, &m, file, text, len, a, out);
	if (out->incomplete)
		check_add(out, "parse", policy_can_refuse(r), too_large, NULL, file, text, len, 0, 0, a);
	/* Nobody asks the language about other files than the code. */
	if (file && out->broken) {
		check_add(out, "parse", policy_can_refuse(r), "this part was not understood, and so not checked", NULL, file, text, len, out->broken_at, out->broken_end, a);
		out->broken = false;
	}
	out->broken = out->broken || broken;
	out->incomplete = out->incomplete || incomplete;
}

static enum check_language language_of_name(const char *path)
{
	const char *dot = strrchr(path, '.');
	static const struct {
		const char *ending;
		enum check_language l;
	} rows[] = { { ".py", CHECK_PYTHON }, { ".pyw", CHECK_PYTHON }, { ".sh", CHECK_BASH }, { ".bash", CHECK_BASH }, { ".js", CHECK_JAVASCRIPT }, { ".mjs", CHECK_JAVASCRIPT },
		     { ".cjs", CHECK_JAVASCRIPT } };

	for (size_t i = 0; dot && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcasecmp(dot, rows[i].ending) == 0)
			return rows[i].l;
	return CHECK_NONE;
}

/* A file of the host that goes in, when it is a small plain one. NULL: it cannot be looked at. */
static const char *read_source(const char *path, size_t *len, struct arena *a)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TREE_TEXT_MAX)
		return NULL;
	text = arena_alloc(a, (size_t)st.st_size + 1);
	if (fd_read_all(fd, text, (size_t)st.st_size) != 0)
		return NULL;
	*len = (size_t)st.st_size;
	return text;
}

bool policy_can_refuse(const struct request *r)
{
	return r->policy == POLICY_ENFORCE || (r->policy != POLICY_OFF && (r->allow_modules.n || r->allow_modules_request.n || r->deny_modules.n || !r->allow_imports));
}

/* A list of modules is obeyed whatever the policy is; so are the reasons why it could not be compared with all imports. */
static bool refuses(const struct request *r, const struct check_finding *f)
{
	static const char *const of_lists[] = { "module", "import", "parse", "encoding" };

	if (!f->error || r->policy == POLICY_ENFORCE)
		return f->error;
	for (size_t i = 0; i < sizeof(of_lists) / sizeof(of_lists[0]); i++)
		if (strcmp(f->rule, of_lists[i]) == 0)
			return policy_can_refuse(r);
	return false;
}

int policy_check(const struct request *r, struct arena *a, struct check_result *out, struct err *e)
{
	const struct check_rules *rules;
	enum check_language l = policy_language(r);
	size_t looked = 0;

	if (r->policy == POLICY_OFF)
		return 0;
	rules = rules_of(r->rules, e);
	if (!rules)
		return -1;
	if (l)
		check_one(r, rules, l, NULL, r->code, r->code_len, a, out);
	for (size_t i = 0; i < r->file_count; i++) {
		const struct request_file *f = &r->files[i];
		enum check_language fl = language_of_name(f->path);
		const char *text = f->content;
		size_t len = f->len;

		if (!fl)
			continue;
		if (looked++ < FILES_MAX && f->source)
			text = read_source(f->source, &len, a);
		if (looked > FILES_MAX || !text)
			check_add(out, "parse", policy_can_refuse(r), looked > FILES_MAX ? too_many : not_read, NULL, f->path, "", 0, 0, 0, a);
		else
			check_one(r, rules, fl, f->path, text, len, a, out);
		if (looked > FILES_MAX)
			break;
	}
	return 0;
}

void policy_add_parse(const struct request *r, struct arena *a, struct check_result *out)
{
	check_add(out, "parse", true, "the language accepts this, but the check did not understand it, and so did not look at it", NULL, NULL, r->code, r->code_len,
		  out->broken_at, out->broken_end, a);
	out->broken = false;
}

int policy_decide(const struct request *r, const struct check_result *c, struct err *e)
{
	const struct check_finding *first = NULL;
	size_t errors = r->policy == POLICY_ENFORCE ? c->errors : 0;

	if (!policy_can_refuse(r))
		return 0;
	for (size_t i = 0; i < c->count; i++) {
		if (!refuses(r, &c->list[i]))
			continue;
		first = first ? first : &c->list[i];
		errors += r->policy != POLICY_ENFORCE;
	}
	/* The list of findings has a bound: what is not in it may be of a denied module. */
	if (r->policy != POLICY_ENFORCE && c->total > c->count)
		errors++;
	if (!errors)
		return 0;
	err_set(e, ERR_DENIED, "the static check refuses it (%zu violations)", errors);
	if (first)
		err_set(e, ERR_DENIED, "the static check refuses it: %s line %u, column %u: %s (%s)%s", first->file ? first->file : r->code_name ? r->code_name : "code",
			first->line, first->column, first->message, first->rule, errors > 1 ? ", and more" : "");
	return err_hint(e, r->policy == POLICY_ENFORCE ? "belljar check shows all; --policy warn records what is found and runs it"
						       : "belljar check shows all; leave out the list of modules to run it");
}
