/* SPDX-License-Identifier: Apache-2.0 */
/* Runs code, then tests a function: cc run.c $(pkg-config --cflags --libs belljar) && ./a.out */
#include <belljar.h>
#include <stdio.h>
#include <string.h>

static int show(char *result)
{
	if (!result) {
		fprintf(stderr, "error: %s\n", belljar_error());
		return 1;
	}
	puts(result);
	belljar_free(result);
	return 0;
}

int main(void)
{
	static const char hello[] = "{\"code\": \"print(6 * 7)\", \"limits\": {\"wall_ms\": 5000}}";
	static const char add[] = "{\"code\": \"def add(a, b):\\n    return a + b\"}";
	static const char cases[] = "{\"func\": \"add\", \"cases\": [{\"args\": [1, 2], \"expected\": 3}, {\"args\": [\"a\", \"b\"], \"expected\": \"ab\"}]}";
	struct belljar *jar = belljar_open(NULL);
	int bad;

	if (!jar)
		return show(NULL);
	bad = show(belljar_run(jar, hello, strlen(hello), NULL));
	bad |= show(belljar_test(jar, add, strlen(add), cases, strlen(cases), NULL));
	belljar_close(jar);
	return bad;
}
