/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of stdin tests: from the kernel's evidence, and from a checker's exit status. */
#include "grade/judge_verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"

const char *judge_verdict_name(enum judge_verdict v)
{
	static const char *const names[JUDGE_VERDICTS] = { NULL, "AC", "PC", "PE", "WA", "TLE", "MLE", "OLE", "RE", "CE", "JE" };

	return names[v];
}

/* ---- the program ---- */

static void say_error(const struct verdict *v, char detail[JUDGE_DETAIL])
{
	snprintf(detail, JUDGE_DETAIL, "%.*s", JUDGE_DETAIL - 1, v->error);
}

/* Memory goes first: a program that waits for a child which the kernel killed must not be told that it is slow. */
static enum judge_verdict past_memory(const struct step_result *s, char detail[JUDGE_DETAIL])
{
	char size[32];

	format_bytes(s->limits.memory_bytes, size, sizeof(size));
	if (s->evidence.cg.oom_kills)
		snprintf(detail, JUDGE_DETAIL, "went past its memory limit of %s (out-of-memory kills: %llu)", size,
			 (unsigned long long)s->evidence.cg.oom_kills);
	else
		snprintf(detail, JUDGE_DETAIL, "went past its memory limit of %s", size);
	return JUDGE_MLE;
}

static enum judge_verdict past_time(const struct verdict *v, const struct step_result *s, char detail[JUDGE_DETAIL])
{
	double cpu = (double)s->evidence.cg.cpu_ns / 1e9;

	if (v->reason == REASON_WALL_TIME)
		snprintf(detail, JUDGE_DETAIL, "still there after %.3g s of wall clock; it used %.2f s of CPU", (double)s->limits.wall_ms / 1000, cpu);
	else
		snprintf(detail, JUDGE_DETAIL, "used %.2f s of CPU, its limit is %.3g s", cpu, (double)s->limits.cpu_ms / 1000);
	return JUDGE_TLE;
}

enum judge_verdict judge_verdict_of_run(const struct verdict *v, const struct step_result *s, uint64_t output_max, char detail[JUDGE_DETAIL])
{
	const struct jar_evidence *ev = &s->evidence;

	detail[0] = '\0';
	say_error(v, detail);
	/* Nothing of it ran. That it is no program at all (126, 127) is its own fault. */
	if (v->status == STATUS_ERROR)
		return v->exit_status == 126 || v->exit_status == 127 ? JUDGE_RE : JUDGE_JE;
	if (ev->cg.oom_kills || v->reason == REASON_MEMORY)
		return past_memory(s, detail);
	if (s->out[0].total > output_max || s->out[1].total > output_max || v->reason == REASON_OUTPUT) {
		char size[32];

		format_bytes(output_max, size, sizeof(size));
		snprintf(detail, JUDGE_DETAIL, "wrote more than %s to standard %s", size, s->out[0].total > output_max ? "output" : "error");
		return JUDGE_OLE;
	}
	/* Past its time by a little it may have ended before anybody looked. */
	if (v->status == STATUS_TIMEOUT || (s->limits.cpu_ms && ev->cg.cpu_ns > s->limits.cpu_ms * NS_PER_MS))
		return past_time(v, s, detail);
	if (v->status == STATUS_KILLED)
		return v->reason == REASON_SYSCALL ? JUDGE_RE : JUDGE_JE;
	if (v->status != STATUS_COMPLETED)
		return JUDGE_JE;
	if (!v->exited)
		return JUDGE_RE;
	if (v->exit_code == 0)
		return JUDGE_AC;
	snprintf(detail, JUDGE_DETAIL, "exit code %d", v->exit_code);
	return JUDGE_RE;
}

/* ---- the checker ---- */

/* The first word that is a number. */
static bool find_points(const struct output *o, double *out)
{
	auto_buf text = BUF_INIT(65536);
	char *save = NULL;

	if (output_truncated(o) || output_view(o, &text) < 0 || !text.data)
		return false;
	for (char *w = strtok_r(text.data, " \t\r\n", &save); w; w = strtok_r(NULL, " \t\r\n", &save)) {
		char *end;

		if (strspn(w, "+-.0123456789eE") != strlen(w))
			continue;
		*out = strtod(w, &end);
		if (end != w && !*end && isfinite(*out))
			return true;
	}
	return false;
}

static void say_words(const struct step_result *s, char detail[JUDGE_DETAIL])
{
	/* testlib speaks on stderr, others on stdout. */
	for (int i = 1; i >= 0; i--) {
		auto_buf text = BUF_INIT(s->out[i].view_max * 2 + 1024);

		if (output_view(&s->out[i], &text) < 0 || !text.len)
			continue;
		snprintf(detail, JUDGE_DETAIL, "%.*s", (int)strcspn(text.data, "\n"), text.data);
		return;
	}
}

static const struct {
	int code;
	enum judge_verdict verdict;
} checker_codes[] = {
	{ 0, JUDGE_AC }, { 1, JUDGE_WA }, { 2, JUDGE_PE }, { 7, JUDGE_PC },
	{ 4, JUDGE_PE }, /* testlib: dirt */
	{ 8, JUDGE_PE }, /* testlib: an unexpected end of file */
};

enum judge_verdict judge_verdict_of_checker(const struct verdict *v, const struct step_result *s, double points_max, double *points,
					    char detail[JUDGE_DETAIL])
{
	enum judge_verdict out = JUDGE_JE;

	*points = 0;
	detail[0] = '\0';
	if (v->status != STATUS_COMPLETED || !v->exited) {
		snprintf(detail, JUDGE_DETAIL, "the checker: %.*s", JUDGE_DETAIL - 20, v->error);
		return JUDGE_JE;
	}
	/* One of its processes was killed for memory: what it says may be half of it. */
	if (s->evidence.cg.oom_kills) {
		snprintf(detail, JUDGE_DETAIL, "the checker went past its memory limit");
		return JUDGE_JE;
	}
	for (size_t i = 0; i < sizeof(checker_codes) / sizeof(checker_codes[0]); i++)
		if (checker_codes[i].code == v->exit_code)
			out = checker_codes[i].verdict;
	if (out == JUDGE_JE) {
		char words[JUDGE_DETAIL] = "";

		say_words(s, words);
		snprintf(detail, JUDGE_DETAIL, "the checker failed with exit code %d%s%.*s", v->exit_code, words[0] ? ": " : "", JUDGE_DETAIL - 80, words);
		return JUDGE_JE;
	}
	say_words(s, detail);
	if (out != JUDGE_PC) {
		*points = out == JUDGE_AC ? points_max : 0;
		return out;
	}
	if (!(find_points(&s->out[1], points) || find_points(&s->out[0], points)) || !(*points >= 0 && *points <= points_max)) {
		*points = 0;
		snprintf(detail, JUDGE_DETAIL, "the checker exited with 7 (a part of the points) without a number from 0 to %g", points_max);
		return JUDGE_JE;
	}
	return *points == points_max && points_max > 0 ? JUDGE_AC : *points > 0 ? JUDGE_PC : JUDGE_WA;
}
