/* SPDX-License-Identifier: Apache-2.0 */
/* judge_verdict: evidence to verdict, and what a checker's exit status means. */
#include "unit.h"

#include "grade/judge_verdict.h"

static struct step_result step;

static enum judge_verdict judged(const struct jar_evidence *ev, uint64_t out, uint64_t err)
{
	struct verdict v;
	char detail[JUDGE_DETAIL];
	enum judge_verdict r;

	memset(&step, 0, sizeof(step));
	step.evidence = *ev;
	step.limits = (struct jar_limits){ .wall_ms = 4000, .cpu_ms = 1000, .memory_bytes = 64 << 20, .log_bytes = 1001 };
	step.out[0].total = out;
	step.out[1].total = err;
	verdict_make(&v, ev, &step.limits);
	r = judge_verdict_of_run(&v, &step, 1000, detail);
	assert_true(r == JUDGE_AC || detail[0]);
	return r;
}

#define EV(...)	   (&(struct jar_evidence){ __VA_ARGS__ })
#define EXITED(n)  .code = CLD_EXITED, .status = (n)
#define KILLED	   .code = CLD_KILLED, .status = SIGKILL

TEST(of_evidence)
{
	const uint64_t s = 1000000000ULL;

	assert_int_equal(judged(EV(EXITED(0)), 1000, 1000), JUDGE_AC);
	assert_int_equal(judged(EV(EXITED(1)), 0, 0), JUDGE_RE);
	assert_int_equal(judged(EV(EXITED(137)), 0, 0), JUDGE_RE);
	assert_int_equal(judged(EV(EXITED(124)), 0, 0), JUDGE_RE);
	assert_int_equal(judged(EV(KILLED), 0, 0), JUDGE_RE);
	assert_int_equal(judged(EV(.code = CLD_DUMPED, .status = SIGSEGV), 0, 0), JUDGE_RE);
	assert_int_equal(judged(EV(KILLED, .ended_by = JAR_ENDED_CPU), 0, 0), JUDGE_TLE);
	assert_int_equal(judged(EV(KILLED, .ended_by = JAR_ENDED_WALL), 0, 0), JUDGE_TLE);
	/* It ended in the last moment, and had used too much. */
	assert_int_equal(judged(EV(EXITED(0), .cg.cpu_ns = s + 1), 0, 0), JUDGE_TLE);
	assert_int_equal(judged(EV(EXITED(0), .cg.cpu_ns = s), 0, 0), JUDGE_AC);
	/* Memory is never told as time, nor as a crash, nor passed over. */
	assert_int_equal(judged(EV(KILLED, .ended_by = JAR_ENDED_WALL, .cg.oom_kills = 1), 0, 0), JUDGE_MLE);
	assert_int_equal(judged(EV(KILLED, .ended_by = JAR_ENDED_CPU, .cg.oom_kills = 1), 0, 0), JUDGE_MLE);
	assert_int_equal(judged(EV(KILLED, .cg.oom_kills = 2), 0, 0), JUDGE_MLE);
	assert_int_equal(judged(EV(EXITED(1), .cg.oom_kills = 1), 0, 0), JUDGE_MLE);
	assert_int_equal(judged(EV(EXITED(0), .cg.oom_kills = 1), 0, 0), JUDGE_MLE);
	assert_int_equal(judged(EV(KILLED, .ended_by = JAR_ENDED_MEMORY), 0, 0), JUDGE_MLE);
	/* Either stream; also when nobody had time to end it. */
	assert_int_equal(judged(EV(KILLED, .ended_by = JAR_ENDED_OUTPUT), 1001, 0), JUDGE_OLE);
	assert_int_equal(judged(EV(EXITED(0)), 1001, 0), JUDGE_OLE);
	assert_int_equal(judged(EV(EXITED(0)), 0, 1001), JUDGE_OLE);
	assert_int_equal(judged(EV(KILLED, .ended_by = JAR_ENDED_SYSCALL), 0, 0), JUDGE_RE);
	assert_int_equal(judged(EV(KILLED, .ended_by = JAR_ENDED_OUTSIDE), 0, 0), JUDGE_JE);
	assert_int_equal(judged(EV(KILLED, .ended_by = JAR_ENDED_CANCELLED), 0, 0), JUDGE_JE);
}

TEST(of_errors)
{
	static const struct {
		int kind;
		enum judge_verdict v;
	} rows[] = { { ERR_SETUP, JUDGE_JE }, { ERR_INTERNAL, JUDGE_JE }, { ERR_BUSY, JUDGE_JE }, { ERR_INPUT, JUDGE_JE }, { ERR_NOT_EXEC, JUDGE_RE }, { ERR_NOT_FOUND, JUDGE_RE } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };
		struct verdict v;
		char detail[JUDGE_DETAIL];

		memset(&step, 0, sizeof(step));
		err_set(&e, rows[i].kind, "x");
		verdict_error(&v, &e);
		ROW_OK(judge_verdict_of_run(&v, &step, 1000, detail) == rows[i].v, "%d", rows[i].kind);
	}
}

static enum judge_verdict checked(int code, const char *out, const char *err, double max, double *points)
{
	struct jar_evidence ev = { .code = CLD_EXITED, .status = code };
	const char *text[2] = { out, err };
	struct verdict v;
	char detail[JUDGE_DETAIL];
	enum judge_verdict r;

	memset(&step, 0, sizeof(step));
	step.limits = (struct jar_limits){ .wall_ms = 1000, .memory_bytes = 1 << 20 };
	verdict_make(&v, &ev, &step.limits);
	for (int i = 0; i < 2; i++) {
		output_init(&step.out[i], 1000, 1000);
		assert_int_equal(output_add(&step.out[i], text[i], strlen(text[i]), "", NULL), 0);
	}
	*points = -1;
	r = judge_verdict_of_checker(&v, &step, max, points, detail);
	output_done(&step.out[0]);
	output_done(&step.out[1]);
	return r;
}

TEST(of_checkers)
{
	static const struct {
		int code;
		const char *out, *err;
		double max;
		enum judge_verdict v;
		double points;
	} rows[] = {
		{ 0, "", "ok", 3, JUDGE_AC, 3 }, { 1, "", "", 3, JUDGE_WA, 0 }, { 2, "", "", 3, JUDGE_PE, 0 }, { 4, "", "", 3, JUDGE_PE, 0 }, { 8, "", "", 3, JUDGE_PE, 0 },
		{ 3, "", "fail", 3, JUDGE_JE, 0 }, { 5, "", "", 3, JUDGE_JE, 0 }, { 127, "", "", 3, JUDGE_JE, 0 }, { 255, "", "", 3, JUDGE_JE, 0 },
		{ 7, "", "points 1.5 half", 3, JUDGE_PC, 1.5 }, { 7, "1.5\n", "", 3, JUDGE_PC, 1.5 }, { 7, "9", "2", 3, JUDGE_PC, 2 }, { 7, "", "0", 3, JUDGE_WA, 0 },
		{ 7, "", "3", 3, JUDGE_AC, 3 }, { 7, "", "0", 0, JUDGE_WA, 0 },
		/* No number, or none that can be. */
		{ 7, "", "", 3, JUDGE_JE, 0 }, { 7, "many", "lots", 3, JUDGE_JE, 0 }, { 7, "", "3.1", 3, JUDGE_JE, 0 }, { 7, "", "-1", 3, JUDGE_JE, 0 }, { 7, "", "1e999", 3, JUDGE_JE, 0 },
		{ 7, "", "nan", 3, JUDGE_JE, 0 }, { 7, "", "inf", 3, JUDGE_JE, 0 }, { 7, "", "e", 3, JUDGE_JE, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		double points;
		enum judge_verdict v = checked(rows[i].code, rows[i].out, rows[i].err, rows[i].max, &points);

		ROW_OK(v == rows[i].v && points == rows[i].points, "%zu: %s %g", i, judge_verdict_name(v), points);
	}
}

TEST(of_checkers_that_did_not_end)
{
	const struct jar_evidence evs[] = {
		{ .code = CLD_KILLED, .status = SIGKILL, .ended_by = JAR_ENDED_CPU }, { .code = CLD_KILLED, .status = SIGKILL, .ended_by = JAR_ENDED_WALL },
		{ .code = CLD_KILLED, .status = SIGSEGV }, { .code = CLD_KILLED, .status = SIGKILL, .cg.oom_kills = 1 }, { .code = CLD_EXITED, .status = 0, .cg.oom_kills = 1 },
		{ .code = CLD_KILLED, .status = SIGKILL, .ended_by = JAR_ENDED_OUTPUT },
	};

	for (size_t i = 0; i < COUNT(evs); i++) {
		struct verdict v;
		double points;
		char detail[JUDGE_DETAIL];

		memset(&step, 0, sizeof(step));
		step.evidence = evs[i];
		step.limits = (struct jar_limits){ .wall_ms = 1000, .memory_bytes = 1 << 20, .cpu_ms = 1 };
		verdict_make(&v, &evs[i], &step.limits);
		ROW_OK(judge_verdict_of_checker(&v, &step, 1, &points, detail) == JUDGE_JE && points == 0 && detail[0], "%zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_evidence), cmocka_unit_test(of_errors), cmocka_unit_test(of_checkers), cmocka_unit_test(of_checkers_that_did_not_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
