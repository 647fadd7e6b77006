/* SPDX-License-Identifier: Apache-2.0 */
/* What an init that was born before the request is told later, by its maker over its control channel. */
#ifndef BELLJAR_JAR_ORDER_H
#define BELLJAR_JAR_ORDER_H

#include "jar/jar.h"

/*
 * Two records: the specification, with the data file system and the sources of binds; and the namespaces, which may not be made yet when the first is sent.
 * An allow-list is more than a record (and needs the host's tree): such a jar's init is born when all is known.
 */
int order_give_jar(int control, const struct jar *j, struct err *e);
int order_take_jar(int control, struct jar *j, struct err *e);
int order_give_spaces(int control, const struct jar *j, struct err *e);
int order_take_spaces(int control, struct jar *j, struct err *e);

#endif
