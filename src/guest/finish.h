/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a guest, as Py_RunMain has it. */
#ifndef BELLJAR_GUEST_FINISH_H
#define BELLJAR_GUEST_FINISH_H

#include <stdbool.h>

/* In the zygote, when all is loaded: what is there now is every guest's, and no guest takes it apart. */
void finish_settle(void);
/* In a guest, in its jar: the end of this process is the end of the run. */
void finish_is_guest(void);
/* flush_std_files(). The second time nobody is told any more, since Python has taken sys apart by then. */
int finish_flush(bool tell);
/* What sys.exit() was given; SystemExit is what was raised. */
int finish_exit_code(void);
/* Threads, atexit, flush, the program's own modules and its garbage; then the process ends. */
_Noreturn void finish(int code, bool interrupted);

#endif
