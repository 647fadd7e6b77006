/* SPDX-License-Identifier: Apache-2.0 */
/* The last step of a copy out of a jar: what has come is put in its place. */
#ifndef BELLJAR_RUN_PLACE_H
#define BELLJAR_RUN_PLACE_H

#include "run/artifacts.h"

/*
 * All has come and lies in the staging folder. In this order: what must not come is refused; files and folders go where nothing of another
 * kind is; then those that change a path's kind; then links; what the program removed goes last, and only when nothing is missing of what
 * should have come. What the host itself changed while the program ran stays as the host has it.
 */
void artifacts_place(struct artifacts *x);
/* Removes the staging folder with all in it. */
void place_clear(struct artifacts *x);

#endif
