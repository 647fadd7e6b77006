/* SPDX-License-Identifier: Apache-2.0 */
/* The feed as the guest-to-be reads it: writes beneath its folder and nowhere else. */
#include "fuzz.h"

#include "jar/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct feed_plan plan;
	struct err e = { 0 };
	int in = fuzz_fd(data, size), rc;

	fuzz_folder();
	rc = feed_read(in, fuzz_out_fd, &plan, &e);
	MUST(rc == 0 || e.msg[0]);
	if (rc == 0) {
		MUST(plan.go && plan.argv_len && plan.argv_words[plan.argv_len - 1] == '\0' && plan.cwd[0]);
		MUST(!plan.env_len || plan.env_words[plan.env_len - 1] == '\0');
		MUST(memchr(plan.cwd, 0, sizeof(plan.cwd)));
	}
	if (plan.argv_words)
		munmap(plan.argv_words, FEED_WORDS_MAX + 1);
	if (plan.env_words)
		munmap(plan.env_words, FEED_WORDS_MAX + 1);
	close(in);
	fuzz_folder_check();
	return 0;
}
