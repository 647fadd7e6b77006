/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: system, user and project files and the environment, below what the command line says. */
#ifndef BELLJAR_RUN_CONFIG_H
#define BELLJAR_RUN_CONFIG_H

#include "run/ceiling.h"
#include "run/logs.h"
#include "run/request.h"

/* Later ones win; a project's file can only tighten. */
enum config_source { CONFIG_DEFAULT, CONFIG_SYSTEM, CONFIG_USER, CONFIG_PROJECT, CONFIG_ENV, CONFIG_OPTION, CONFIG_SOURCES };

#define CONFIG_ROWS CEILING_ROWS

/* `pool:` of the system's or the user's file; 0 and empty: what fits. */
struct config_pool {
	uint64_t floor, ceiling, zygotes;
	bool recycle;
	struct strlist preload;
};

/* `trees:`, the same; 0: what fits. */
struct config_trees {
	uint64_t max;
};

/* `receipts:`, the same. */
struct config_receipts {
	uint64_t code_max;
};

/* Mappings of the system's and the user's file: "pool.floor". */
struct config_section {
	const char *name;
	const struct opt *opts;
	size_t at; /* in struct config */
};

#define CONFIG_SECTIONS 4

extern const struct config_section config_sections[]; /* ended by a NULL name */

struct config {
	struct config_pool pool;
	struct config_trees trees;
	struct logs_bounds logs;
	struct config_receipts receipts;
	uint32_t system_has[CONFIG_SECTIONS]; /* of each section: rows that the system file sets */
	bool allow_host_network;     /* `allow-host-network: true`, system or user file only */
	bool bars_host_network;	     /* the system file says false: the user's cannot say true */
	struct ceiling system;	     /* what the system file sets: nothing after it goes past it */
	struct strlist layers;	     /* NAME=SRC:DST, from `layers`; for --ro @NAME */
	uint8_t from[CONFIG_ROWS];   /* enum config_source of each row of request_opts */
	char paths[CONFIG_SOURCES][512];
};

/* Fills the request with defaults, files and environment, in that order. */
int config_load(struct config *c, struct request *r, struct arena *a, struct err *e);
/* The command line has been read, over `before`: options that go past the system file's ceiling are an error, other values are lowered to it. */
int config_hold(const struct config *c, const struct request *before, struct request *r, struct arena *a, struct err *e);
/* The ceiling of request objects: all that files, environment and command line (`rest` of `cmd`) have set, as it stands in `r`. */
void config_ceiling(const struct config *c, const struct request *r, const struct opt_cmd *cmd, const struct opt_rest *rest, struct ceiling *out);
/* What the operator must have allowed. */
int config_allows(const struct config *c, const struct request *r, struct err *e);
const char *config_source_name(enum config_source s);

#endif
