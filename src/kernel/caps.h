/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities and ids: the last things a process can give away. */
#ifndef BELLJAR_KERNEL_CAPS_H
#define BELLJAR_KERNEL_CAPS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define CAP_BIT(c) (1ULL << (c))

/* Empties the bounding set and the ambient set. Needs CAP_SETPCAP in the own user namespace. */
int caps_drop_bounding(struct err *e);
/* Sets permitted = effective = keep, inheritable = 0. */
int caps_set(uint64_t keep, struct err *e);
/* Keeps `keep` alone, in every set, so that a program executed under another id than root's has it too. */
int caps_keep_ambient(uint64_t keep, struct err *e);
/* The effective set. */
uint64_t caps_effective(void);
int caps_no_new_privs(struct err *e);

#endif
