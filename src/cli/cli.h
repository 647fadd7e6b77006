/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: one function per verb, and how errors look. */
#ifndef BELLJAR_CLI_CLI_H
#define BELLJAR_CLI_CLI_H

#include "base/opt.h"

/* A verb. `run` gets argv from the verb on and returns the exit status. */
struct cli_cmd {
	const struct opt_cmd *opts;
	int (*run)(int argc, char **argv);
};

extern const struct opt_cmd cmd_run_opts, cmd_batch_opts, cmd_languages_opts, cmd_ps_opts, cmd_kill_opts, cmd_clean_opts, cmd_doctor_opts,
	cmd_config_opts, cmd_bench_opts, cmd_check_opts, cmd_audit_opts, cmd_test_opts,
	cmd_eval_opts, cmd_explain_opts, cmd_judge_opts, cmd_swebench_opts;
int cmd_run(int argc, char **argv);
int cmd_batch(int argc, char **argv);
/* For tests: what a front that was taken over could still do. Only in builds with hooks. */
int cmd_batch_debug(void);
int cmd_judge(int argc, char **argv);
int cmd_languages(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_ps(int argc, char **argv);
int cmd_kill(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_config(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_audit(int argc, char **argv);
int cmd_test(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_swebench(int argc, char **argv);

/* "error: what: why", then "hint: ...", on stderr. Returns the exit status of its kind. */
int cli_error(const struct err *e);
/* Prints to stderr; names that a guest chose are shown without what would steer a terminal, on one line. */
void cli_print_safe(const char *fmt, const char *a, const char *b);
void cli_print_safe_to(FILE *to, const char *fmt, const char *a, const char *b);
/* Colours: a terminal, and no NO_COLOR. */
bool cli_colour(int fd);
/* Parses a verb's options; true when the verb is done (help or error), with *status set. */
bool cli_parse(const struct opt_cmd *cmd, int argc, char **argv, void *dst, struct opt_rest *rest, struct arena *a, int *status);

#endif
