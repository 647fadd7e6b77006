/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SWE-bench's foreign bytes. First byte: 0 to 5 a log of that style (its lines are also taken for names, and a run is graded from both); 6
 * instances; 7 predictions; 8 a patch; 9 a job from a test patch; 10 lines that become
 * frames; 11 bytes of frames.
 */
#include "fuzz.h"

#include "grade/swe_frames.h"
#include "grade/swe_patch.h"
#include "grade/swe_report.h"
#include "grade/swe_spec.h"

static void check_names(enum swe_style s, struct span line, struct arena *a)
{
	const char *canon = swe_name_canon(s, line, a), *plain = swe_name_unrename(s, canon, "_q", a);
	struct span f = swe_name_function(s, canon);

	MUST(strlen(canon) <= line.n && f.n <= strlen(canon));
	if (plain)
		MUST(strlen(plain) + 2 == strlen(canon));
	MUST(swe_name_before_message(span_of(canon)).n <= strlen(canon));
}

static void check_log(enum swe_style s, const char *text, size_t len)
{
	struct arena a = { 0 };
	struct strlist ids = { 0 }, none = { 0 };
	struct swe_result results[64];
	struct swe_run run = { .style = s, .has_reporter = true, .results = results, .log = text, .log_len = len, .finished = true, .has_exit = true };
	struct swe_grade_in in = { .fail_to_pass = &ids, .pass_to_pass = &none, .has_patch = true, .applied = true, .run = &run };
	struct span rest = { text, len }, line;
	struct swe_log l;
	struct swe_verdict v;
	json_t *report;
	char *out;

	swe_log_parse(&l, s, text, len, "_q", &a);
	for (size_t i = 0; i < l.map.n; i++) {
		MUST(l.map.v[i].id[0] && l.map.v[i].outcome > SWE_MISSING && l.map.v[i].outcome < SWE_OUTCOMES);
		MUST(swe_map_find(&l.map, l.map.v[i].id) == &l.map.v[i]);
	}
	while (span_line(&rest, &line)) {
		check_names(s, line, &a);
		if (run.n < sizeof(results) / sizeof(results[0]) && line.n) {
			results[run.n] = (struct swe_result){ .id = arena_dup_len(&a, line.p, line.n), .doc = run.n % 3 ? NULL : "Doc.", .outcome = (enum swe_outcome)((unsigned char)line.p[0] % SWE_OUTCOMES) };
			strlist_add(&a, &ids, results[run.n++].id);
		}
	}
	run.exit = len % 2;
	swe_grade(&v, &in, &a);
	MUST(v.f2p_ok <= v.f2p_n && v.resolved == (v.gradable && v.f2p_ok == v.f2p_n) && v.resolved == !v.reason);
	/* Positive evidence only: what the reporter never saw pass has not. */
	for (size_t i = 0; i < v.f2p_n; i++)
		MUST(!v.f2p[i].ok || swe_outcome_good(v.f2p[i].outcome));
	run.finished = false;
	swe_grade(&v, &in, &a);
	MUST(!v.resolved && v.f2p_ok == 0);
	report = swe_report_instance("x", NULL, true, &v);
	out = swe_report_text(report);
	MUST(out);
	free(out);
	json_decref(report);
	swe_log_done(&l);
	arena_free(&a);
}

static const char one[] = "{\"instance_id\": \"x\", \"repo\": \"a/b\", \"FAIL_TO_PASS\": [], \"PASS_TO_PASS\": []}";

static void check_data(bool predictions, const char *text, size_t len)
{
	struct swe_instances t = { 0 };
	struct swe_predictions p = { 0 };
	struct err e = { 0 };
	int rc = predictions ? swe_instances_parse(&t, one, sizeof(one) - 1, "f", &e) : swe_instances_parse(&t, text, len, "f", &e);

	if (rc == 0 && predictions)
		rc = swe_predictions_parse(&p, &t, text, len, "p", &e);
	if (rc < 0)
		MUST(e.kind == ERR_INPUT && e.msg[0]);
	for (size_t i = 0; rc == 0 && i < t.n; i++)
		MUST(swe_instance_find(&t, t.v[i].id) == &t.v[i] && !strchr(t.v[i].id, '/') && t.v[i].id[0] != '.');
	for (size_t i = 0; rc == 0 && i < p.n; i++) {
		const char *folder = swe_model_folder(p.v[i].model, &p.arena);

		MUST(p.v[i].instance == t.v && folder[0] && folder[0] != '.' && !strchr(folder, '/'));
	}
	swe_predictions_done(&p);
	swe_instances_done(&t);
}

static void check_patch(const char *text, size_t len)
{
	struct arena a = { 0 };
	struct swe_patch p;

	swe_patch_read(&p, text, len, &a);
	for (size_t i = 0; i < p.n; i++)
		MUST(!p.v[i].new_path || p.v[i].new_path[0]);
	arena_free(&a);
}

static void check_job(const char *text, size_t len)
{
	const char *cut = len ? memchr(text, 0xff, len) : NULL;
	struct arena a = { 0 };
	struct swe_instance i = { .id = "x", .repo = "django/django", .version = "5.0", .test_patch = text, .test_patch_len = cut ? (size_t)(cut - text) : len };
	struct err e = { 0 };
	struct swe_job j;

	if (cut)
		i.test_cmd = arena_dup_len(&a, cut + 1, len - i.test_patch_len - 1);
	if (swe_job_make(&j, &i, "/testbed", NULL, NULL, &a, &e) < 0)
		MUST(e.msg[0]);
	else
		MUST(j.argv.n > 0 && (i.test_cmd || j.test_files.n));
	arena_free(&a);
}

static void check_frames(bool raw, const char *text, size_t len)
{
	struct span rest = { text, len }, line;
	struct swe_session s;
	struct swe_run run;

	swe_session_init(&s);
	if (raw)
		swe_session_add(&s, text, len);
	while (!raw && span_line(&rest, &line)) {
		unsigned char head[4] = { (unsigned char)line.n, (unsigned char)(line.n >> 8), (unsigned char)(line.n >> 16), 0 };

		swe_session_add(&s, (const char *)head, 4);
		swe_session_add(&s, line.p, line.n);
	}
	swe_session_run(&s, SWE_DJANGO, true, &run);
	MUST(!run.finished || (s.ended && s.finished && s.ready && s.apply && !s.bad));
	MUST(s.bad == (s.bad && s.tampering_n > 0));
	for (size_t i = 0; i < s.n; i++)
		MUST(s.results[i].id && s.results[i].outcome > SWE_MISSING && s.results[i].outcome < SWE_OUTCOMES);
	swe_session_done(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (!size)
		return 0;
	if (data[0] < SWE_STYLES)
		check_log((enum swe_style)data[0], text, size - 1);
	else if (data[0] < 8)
		check_data(data[0] == 7, text, size - 1);
	else if (data[0] == 8)
		check_patch(text, size - 1);
	else if (data[0] == 9)
		check_job(text, size - 1);
	else if (data[0] <= 11)
		check_frames(data[0] == 11, text, size - 1);
	return 0;
}
