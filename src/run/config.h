/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: system, user and project files and the environment, below what the command line says. */
#ifndef BELLJAR_RUN_CONFIG_H
#define BELLJAR_RUN_CONFIG_H

#include "run/request.h"

/* Later ones win; a project's file can only tighten. */
enum config_source { CONFIG_DEFAULT, CONFIG_SYSTEM, CONFIG_USER, CONFIG_PROJECT, CONFIG_ENV, CONFIG_SOURCES };

#define CONFIG_ROWS 64

/* `pool:` of the system's or the user's file; 0 and empty: what fits. */
struct config_pool {
	uint64_t floor, ceiling, zygotes;
	bool recycle;
	struct strlist preload;
};

extern const struct opt config_pool_opts[];

struct config {
	struct config_pool pool;
	bool allow_host_network;     /* `allow-host-network: true`, system or user file only */
	struct strlist layers;	     /* NAME=SRC:DST, from `layers`; for --ro @NAME */
	uint8_t from[CONFIG_ROWS];   /* enum config_source of each row of request_opts */
	char paths[CONFIG_SOURCES][512];
};

/* Fills the request with defaults, files and environment, in that order. */
int config_load(struct config *c, struct request *r, struct arena *a, struct err *e);
/* What the operator must have allowed. */
int config_allows(const struct config *c, const struct request *r, struct err *e);
const char *config_source_name(enum config_source s);

#endif
