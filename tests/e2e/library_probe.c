/* SPDX-License-Identifier: Apache-2.0 */
/* A caller of libbelljar for tests/e2e/test_library.py: one mode a call, what it found on standard output. */
#include <belljar.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 200
#define SLEEP	"{\"argv\": [\"/bin/sleep\", \"600\"], \"limits\": {\"wall_ms\": 900000}}"

static struct belljar *jar;

static struct belljar *must_open(const char *program)
{
	const struct belljar_options o = { .program = program, .jobs = 4 };
	struct belljar *j = belljar_open(&o);

	if (!j) {
		printf("open: %s\n", belljar_error());
		exit(1);
	}
	return j;
}

static int print(char *result)
{
	printf("%s\n", result ? result : belljar_error());
	belljar_free(result);
	return !result;
}

/* The text is asked for after the call. */
static void told(const char *what, int64_t rc)
{
	printf("%s %lld: %s\n", what, (long long)rc, belljar_error());
}

static void no_child_left(void)
{
	int status;

	printf("children %s\n", waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD ? "none" : "LEFT");
}

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int mode_run(char **words)
{
	jar = must_open(NULL);
	for (; *words; words++)
		print(belljar_run(jar, *words, strlen(*words), NULL));
	belljar_close(jar);
	return 0;
}

static int mode_test(char **words)
{
	jar = must_open(NULL);
	print(belljar_test(jar, words[0], strlen(words[0]), words[1], strlen(words[1]), NULL));
	belljar_close(jar);
	return 0;
}

static void *one(void *number)
{
	char line[200], want[64], *result;
	size_t len;
	int n = (int)(intptr_t)number;

	snprintf(line, sizeof(line), "{\"id\": \"n%d\",\n \"argv\": [\"/bin/echo\", \"said %d\"]}\n", n, n);
	snprintf(want, sizeof(want), "\"stdout\":\"said %d\\n\"", n);
	result = belljar_run(jar, line, strlen(line), &len);
	if (!result || strlen(result) != len || !strstr(result, want))
		printf("thread %d: %s\n", n, result ? result : belljar_error());
	belljar_free(result);
	return result;
}

static int mode_threads(char **words)
{
	pthread_t t[THREADS];
	void *got;
	int good = 0;

	(void)words;
	jar = must_open(NULL);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, one, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &got);
		good += got != NULL;
	}
	printf("good %d of %d\n", good, THREADS);
	belljar_close(jar);
	no_child_left();
	return 0;
}

/* Some are waited for by ticket, last first; the others come as they finish. */
static int mode_tickets(char **words)
{
	static const char line[] = "{\"argv\": [\"/bin/echo\", \"x\"]}";
	int64_t ticket[40], t;
	char *result;
	int waited = 0, next = 0;

	(void)words;
	jar = must_open(NULL);
	for (int i = 0; i < 40; i++)
		ticket[i] = belljar_submit(jar, line, strlen(line));
	for (int i = 38; i >= 0; i -= 2) {
		waited += belljar_wait(jar, ticket[i], &result, NULL) == 0;
		belljar_free(result);
	}
	told("again", belljar_wait(jar, ticket[0], &result, NULL));
	while ((t = belljar_next(jar, &result, NULL)) > 0) {
		next += t % 2 == ticket[1] % 2;
		belljar_free(result);
	}
	printf("waited %d next %d end %lld\n", waited, next, (long long)t);
	told("empty", belljar_submit(jar, " \n", 2));
	belljar_close(jar);
	return 0;
}

static pid_t child(void)
{
	char path[64];
	FILE *f;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static int mode_killed(char **words)
{
	int64_t ticket;
	char *result;

	(void)words;
	jar = must_open(NULL);
	ticket = belljar_submit(jar, SLEEP, strlen(SLEEP));
	belljar_submit(jar, SLEEP, strlen(SLEEP));
	kill(child(), SIGKILL);
	told("wait", belljar_wait(jar, ticket, &result, NULL));
	told("next", belljar_next(jar, &result, NULL));
	told("submit", belljar_submit(jar, SLEEP, strlen(SLEEP)));
	belljar_close(jar);
	no_child_left();
	return 0;
}

/* A program that reads nothing and ends: requests are far more than a socket takes. */
static int mode_program(char **words)
{
	static char big[4 << 20];
	int64_t t = 1;

	memset(big, 'x', sizeof(big));
	jar = must_open(words[0]);
	for (int i = 0; i < 16 && t > 0; i++)
		t = belljar_submit(jar, big, sizeof(big));
	if (t > 0)
		print(belljar_run(jar, SLEEP, strlen(SLEEP), NULL));
	else
		printf("%s\n", belljar_error());
	belljar_close(jar);
	no_child_left();
	return 0;
}

static int mode_close(char **words)
{
	int before = open_fds(), open_now = 0;
	char *result;
	static const char quick[] = "{\"argv\": [\"/bin/echo\", \"x\"]}";

	(void)words;
	jar = must_open(NULL);
	for (int fd = 3; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFD);

		open_now += flags >= 0;
		if (flags >= 0 && !(flags & FD_CLOEXEC))
			printf("descriptor %d stays open\n", fd);
	}
	printf("ours %s\n", open_now >= 4 ? "looked at" : "NOT FOUND");
	belljar_submit(jar, quick, strlen(quick));
	belljar_next(jar, &result, NULL); /* it is up */
	belljar_free(result);
	for (int i = 0; i < 50; i++)
		belljar_submit(jar, SLEEP, strlen(SLEEP));
	belljar_submit(jar, quick, strlen(quick));
	belljar_close(jar);
	no_child_left();
	printf("descriptors %s\n", open_fds() == before ? "as before" : "LEFT");
	jar = must_open(NULL);
	belljar_close(jar);
	belljar_close(NULL);
	no_child_left();
	return 0;
}

/* A caller without its first descriptors, who ignores and blocks signals. */
static int mode_odd(char **words)
{
	sigset_t all;
	int out = fcntl(1, F_DUPFD, 10);

	(void)words;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	signal(SIGPIPE, SIG_IGN);
	close(0);
	close(1);
	close(2);
	jar = belljar_open(NULL);
	static const char line[] = "{\"argv\": [\"/bin/bash\", \"-c\", \"yes | head -1\"]}";
	char *result = jar ? belljar_run(jar, line, strlen(line), NULL) : NULL;

	dprintf(out, "%s\n", result ? result : belljar_error());
	belljar_free(result);
	belljar_close(jar);
	return 0;
}

/* Another command: what it printed, or why not. */
static int command(char **words)
{
	int status = -1;
	size_t len = 0;
	char *out = belljar_command(NULL, (const char *const *)words, &status, &len);

	if (!out) {
		printf("error %s\n", belljar_error());
		return 0;
	}
	printf("status %d length %zu %s\n", status, len, strlen(out) == len ? "whole" : "cut");
	fputs(out, stdout);
	belljar_free(out);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **words);
} modes[] = {
	{ "command", command },
	{ "run", mode_run }, { "test", mode_test }, { "threads", mode_threads }, { "tickets", mode_tickets }, { "killed", mode_killed },
	{ "program", mode_program }, { "close", mode_close }, { "odd", mode_odd },
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, argv[1]) == 0)
			return modes[i].run(argv + 2);
	return 2;
}
