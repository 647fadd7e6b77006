/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: checked, written and read as a line of JSON. */
#include "store/checkpoint.h"

#include <jansson.h>
#include <string.h>

#include "store/canon.h"

static const char *const kinds[] = { [CHECKPOINT_HERE] = "checkpoint", [CHECKPOINT_PRUNED] = "prune" };

int checkpoint_to_json(const struct checkpoint *c, struct buf *out)
{
	struct canon j = { out, true };
	char signature[SIGNATURE_SIZE * 2 + 1];

	digest_hex(c->signature, SIGNATURE_SIZE, signature);
	canon_open(&j, NULL);
	canon_hex(&j, "head", c->head, DIGEST_SIZE);
	canon_hex(&j, "key", c->key, KEY_ID_SIZE);
	canon_hex(&j, "receipt", c->receipt, DIGEST_SIZE);
	canon_int(&j, "seq", (int64_t)c->seq);
	canon_str(&j, "signature", signature);
	canon_int(&j, "time_ms", c->time_ms);
	canon_str(&j, "type", kinds[c->kind == CHECKPOINT_PRUNED]);
	canon_close(&j);
	return out->failed ? -1 : 0;
}

static bool get_bytes(const json_t *o, const char *key, uint8_t *out, size_t len)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text && strlen(text) == json_string_length(json_object_get(o, key)) && digest_from_hex(text, out, len);
}

static int read_object(const json_t *o, struct checkpoint *c)
{
	const json_t *seq = json_object_get(o, "seq"), *when = json_object_get(o, "time_ms");
	const char *type = json_string_value(json_object_get(o, "type"));

	if (json_object_size(o) != 7 || !type || !json_is_integer(seq) || json_integer_value(seq) < 0 || !json_is_integer(when))
		return -1;
	for (c->kind = 0; c->kind < 2 && strcmp(type, kinds[c->kind]) != 0;)
		c->kind++;
	c->seq = (uint64_t)json_integer_value(seq);
	c->time_ms = json_integer_value(when);
	return c->kind < 2 && get_bytes(o, "head", c->head, DIGEST_SIZE) && get_bytes(o, "receipt", c->receipt, DIGEST_SIZE) &&
			       get_bytes(o, "key", c->key, KEY_ID_SIZE) && get_bytes(o, "signature", c->signature, SIGNATURE_SIZE)
		       ? 0
		       : -1;
}

int checkpoint_from_json(const char *text, size_t len, struct checkpoint *out, struct err *e)
{
	json_error_t je;
	json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES, &je);
	struct checkpoint c = { 0 };
	int rc = json_is_object(o) ? read_object(o, &c) : -1;

	json_decref(o);
	if (rc < 0) {
		err_set(e, ERR_INPUT, "not a checkpoint");
		return err_hint(e, "it is the line that 'belljar audit anchor' prints");
	}
	*out = c;
	return 0;
}
