/* SPDX-License-Identifier: Apache-2.0 */
/* SWE-bench: which interpreter runs a repository's tests, and what of the host it needs. */
#ifndef BELLJAR_GRADE_SWE_ENV_H
#define BELLJAR_GRADE_SWE_ENV_H

#include "grade/swe_spec.h"

/*
 * Environments come from --python, --env, --env-map and the keys `python` and `environment` of a row. All of them are looked at once, before the front is
 * confined and before anything runs. One table for the process.
 */

/* --python PATH and --env DIR; NULL: not given. */
int swe_env_options(const char *python, const char *dir, struct err *e);
/*
 * --env-map FILE: "owner/name@version" or "owner/name" to a folder. YAML or JSON (a mapping), or lines of two words.
 */
int swe_env_map(const char *path, struct err *e);
/* Looks at what the rows name. */
int swe_env_rows(struct err *e);

/*
 * Sets python and show of a job, and PATH and VIRTUAL_ENV in its env. --python goes before all; then the map (with the version, without), --env, the
 * row's environment, the row's python, /usr/bin/python3.
 */
int swe_env_choose(struct swe_job *j, const struct swe_instance *i, struct arena *a, struct err *e);
/* What was chosen, as text: reports and trees of other environments are others. In the arena. */
const char *swe_env_key(const struct swe_instance *i, struct arena *a);

#endif
