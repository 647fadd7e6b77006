/* SPDX-License-Identifier: Apache-2.0 */
/* Text that is built into a zygote. */
#ifndef BELLJAR_GUEST_ZYGOTE_H
#define BELLJAR_GUEST_ZYGOTE_H

extern const char zygote_sample_py[];

#endif
