/* SPDX-License-Identifier: Apache-2.0 */
/* The loopback interface of a fresh network namespace. */
#ifndef BELLJAR_KERNEL_NET_H
#define BELLJAR_KERNEL_NET_H

#include "base/err.h"

/* Brings `lo` up; needs CAP_NET_ADMIN over the own network namespace. */
int net_loopback_up(struct err *e);

#endif
