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
/* Words of an environment that pass the hooks on to a program. */
char *hook_env_fault(void);
char *hook_env_disabled(void);
#define HOOK_ENV hook_env_fault(), hook_env_disabled(),
#else
#define HOOK_ENV
static inline void hook_init(void) {}
static inline bool hook_fault(const char *step) { (void)step; return false; }
static inline bool hook_disabled(const char *guard) { (void)guard; return false; }
#endif

#endif
