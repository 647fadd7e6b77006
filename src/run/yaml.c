/* SPDX-License-Identifier: Apache-2.0 */
/* YAML files of an operator: read quietly; errors are ours to print. */
#include "run/yaml.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/utf8.h"

static void be_quiet(struct fy_diag *diag, void *user, const char *buf, size_t len)
{
	(void)diag, (void)user, (void)buf, (void)len;
}

#define FILE_MAX (1U << 20)

/*
 * The whole file, checked before libfyaml sees it: a project's file is as foreign as its code, and libfyaml 0.7.12 never returns from
 * some that are no UTF-8 (found by fuzzing). NUL-terminated; NULL on an error.
 */
static char *read_text(int fd, const char *path, struct err *e)
{
	auto_buf text = BUF_INIT(FILE_MAX);
	char block[4096];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_sys(e, "%s", path);
		e->kind = ERR_INPUT;
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(e, ERR_INPUT, "%s is not a plain file", path);
		return NULL;
	}
	while ((n = read(fd, block, sizeof(block))) > 0)
		if (buf_add(&text, block, (size_t)n) < 0)
			break;
	if (n < 0 || text.failed) {
		err_set(e, ERR_INPUT, "%s cannot be read, or is larger than 1 MiB", path);
		return NULL;
	}
	for (size_t i = 0; i < text.len;) {
		size_t len = utf8_len((const unsigned char *)text.data + i, text.len - i);
		unsigned char c = (unsigned char)text.data[i];

		if (!len || (c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f) {
			err_set(e, ERR_INPUT, "%s is not text in UTF-8 (byte %zu)", path, i);
			return NULL;
		}
		i += len;
	}
	return buf_take(&text);
}

/* Nothing but blanks and comments: libfyaml calls that an error, people do not. */
static bool is_empty(const char *text)
{
	while (*text) {
		text += strspn(text, " \t\r\n");
		if (*text && *text != '#')
			return false;
		text += strcspn(text, "\n");
	}
	return true;
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
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return yaml_open_fd(fd, path, doc, root, e);
}

const char *yaml_shown(const char *key)
{
	size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

	return n && !key[n] && n <= 60 ? key : "(not a name)";
}

int yaml_open_fd(int fd, const char *path, struct fy_document **doc, struct fy_node **root, struct err *e)
{
	struct fy_diag_cfg diag_cfg;
	struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET };
	struct fy_diag *diag;
	auto_free char *text = read_text(fd, path, e);
	char *owned;

	*doc = NULL;
	*root = NULL;
	if (!text)
		return -1;
	if (is_empty(text))
		return 0;
	fy_diag_cfg_default(&diag_cfg);
	diag_cfg.fp = NULL; /* or it wins over output_fn */
	diag_cfg.output_fn = be_quiet;
	diag_cfg.colorize = false;
	diag = fy_diag_create(&diag_cfg);
	cfg.diag = diag;
	/* The text is libfyaml's from here on: freed with the document, or at once when it is no YAML. */
	owned = take_ptr(text);
	*doc = fy_document_build_from_malloc_string(&cfg, owned, strlen(owned));
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

#define LIST_MAX 128

char *yaml_scalar_dup(struct fy_node *n)
{
	size_t len;
	const char *s = fy_node_get_scalar(n, &len);

	return s ? strndup(s, len) : NULL;
}

const char *const *yaml_list_dup(struct fy_node *n)
{
	const char **out = calloc(LIST_MAX + 1, sizeof(*out));
	struct fy_node *item;
	struct fy_node_pair *pair;
	void *it = NULL;
	size_t count = 0;

	if (!out)
		return NULL;
	if (fy_node_is_sequence(n)) {
		while ((item = fy_node_sequence_iterate(n, &it))) {
			char *text = yaml_scalar_dup(item);

			if (!text || count == LIST_MAX) {
				free(text);
				goto bad;
			}
			out[count++] = text;
		}
	} else if (fy_node_is_mapping(n)) {
		while ((pair = fy_node_mapping_iterate(n, &it))) {
			char *k = yaml_scalar_dup(fy_node_pair_key(pair)), *v = yaml_scalar_dup(fy_node_pair_value(pair));
			char *text = NULL;
			bool good = k && v && count < LIST_MAX && asprintf(&text, "%s=%s", k, v) > 0;

			free(k);
			free(v);
			if (!good)
				goto bad;
			out[count++] = text;
		}
	} else {
		goto bad;
	}
	return out;
bad:
	while (count)
		free((char *)out[--count]);
	free(out);
	return NULL;
}
