/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that every guest of a zygote writes to: taken at once instead of fault by fault. */
#ifndef BELLJAR_GUEST_PAGES_H
#define BELLJAR_GUEST_PAGES_H

/* In the zygote: finds out, by a child that does what guests do. */
void pages_learn(void);
/* In a guest, first of all. */
void pages_touch(void);

#endif
