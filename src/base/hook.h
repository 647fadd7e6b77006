/* SPDX-License-Identifier: Apache-2.0 */
/* Test hooks: make a named step fail, switch a named guard off. Compiled out of normal builds. */
#ifndef BELLJAR_BASE_HOOK_H
#define BELLJAR_BASE_HOOK_H

#include <stdbool.h>

#ifdef BELLJAR_TEST_HOOKS
/* Reads BELLJAR_FAULT and BELLJAR_UNSAFE_DISABLE once, in the process that starts first. */
void hook_init(void);
bool hook_fault(const char *step);
bool hook_disabled(const char *guard);
#else
static inline void hook_init(void) {}
static inline bool hook_fault(const char *step) { (void)step; return false; }
static inline bool hook_disabled(const char *guard) { (void)guard; return false; }
#endif

#endif
