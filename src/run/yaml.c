/* SPDX-License-Identifier: Apache-2.0 */
/* YAML files of an operator: read quietly; errors are ours to print. */
#include "run/yaml.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void be_quiet(struct fy_diag *diag, void *user, const char *buf, size_t len)
{
	(void)diag, (void)user, (void)buf, (void)len;
}

/* Nothing but blanks and comments: libfyaml calls that an error, people do not. */
static bool is_empty(const char *path)
{
	FILE *f = fopen(path, "re");
	bool empty = true, comment = false;
	int c;

	if (!f)
		return false;
	while (empty && (c = fgetc(f)) != EOF) {
		if (c == '#')
			comment = true;
		else if (c == '\n')
			comment = false;
		else if (!comment && !isspace(c))
			empty = false;
	}
	fclose(f);
	return empty;
}

/* "---" and nothing after it. */
static bool is_null(struct fy_node *n)
{
	size_t len = 0;
	const char *text = fy_node_is_scalar(n) ? fy_node_get_scalar(n, &len) : NULL;

	return text && (len == 0 || (len == 1 && text[0] == '~') || (len == 4 && strncmp(text, "null", 4) == 0));
}

int yaml_open(const char *path, struct fy_document **doc, struct fy_node **root, struct err *e)
{
	struct fy_diag_cfg diag_cfg;
	struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET };
	struct fy_diag *diag;

	*doc = NULL;
	*root = NULL;
	if (is_empty(path))
		return 0;
	fy_diag_cfg_default(&diag_cfg);
	diag_cfg.fp = NULL; /* or it wins over output_fn */
	diag_cfg.output_fn = be_quiet;
	diag_cfg.colorize = false;
	diag = fy_diag_create(&diag_cfg);
	cfg.diag = diag;
	*doc = fy_document_build_from_file(&cfg, path);
	fy_diag_unref(diag);
	*root = *doc ? fy_document_root(*doc) : NULL;
	if (*doc && (!*root || is_null(*root))) {
		*root = NULL;
		return 0;
	}
	if (*root && fy_node_is_mapping(*root))
		return 0;
	if (*doc)
		fy_document_destroy(*doc);
	*doc = NULL;
	return err_set(e, ERR_INPUT, "%s is not a YAML mapping", path);
}
