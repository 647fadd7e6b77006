/* SPDX-License-Identifier: Apache-2.0 */
/* Base trees: a repository at one commit, unpacked once, shown to many jars. */
#include "grade/swe_tree.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "grade/swe_guest.h"
#include "kernel/sys.h"
#include "run/state.h"

#define LINE_MAX_BYTES (256U << 10)
#define MAX_ENTRIES    2000000U
#define MAX_BYTES      (16ULL << 30)

int swe_trees_open(struct swe_trees *t, struct err *e)
{
	char state[400];

	t->fd = -1;
	t->open_modes = geteuid() != 0;
	if (state_dir(state, sizeof(state), e) < 0)
		return -1;
	snprintf(t->dir, sizeof(t->dir), "%s/trees", state);
	if (mkdir(t->dir, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s", t->dir);
	t->fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return t->fd < 0 ? err_sys(e, "open %s", t->dir) : 0;
}

void swe_trees_close(struct swe_trees *t)
{
	fd_close(&t->fd);
}

bool swe_repo_ok(const char *repo)
{
	const char *slash = strchr(repo, '/');
	size_t n = strlen(repo);

	if (!slash || slash == repo || !slash[1] || strchr(slash + 1, '/') || n > 140)
		return false;
	for (const char *p = repo; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-/", *p))
			return false;
	/* "a/b__c" and "a__b/c" would be one tree. */
	for (const char *p = repo; p + 1 < slash; p++)
		if (p[0] == '_' && p[1] == '_')
			return false;
	return repo[0] != '.' && slash[1] != '.' && slash[-1] != '_';
}

static bool is_repository(const char *path)
{
	char inside[SWE_PATH_MAX + 16];
	struct stat st;

	snprintf(inside, sizeof(inside), "%s/objects", path);
	if (stat(inside, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	snprintf(inside, sizeof(inside), "%s/HEAD", path);
	return stat(inside, &st) == 0;
}

int swe_mirror_find(const char *repos, const char *repo, char out[SWE_PATH_MAX], struct err *e)
{
	/* Between owner and name, and behind it; NULL: without the owner. */
	static const struct {
		const char *between, *behind;
	} forms[] = { { "/", "" }, { "__", "" }, { "+", "" }, { "+", "/repo" }, { NULL, "" } };
	static const char *const ends[] = { "", ".git", "/.git" };
	char owner[160];
	const char *name;

	if (!swe_repo_ok(repo))
		return err_set(e, ERR_INPUT, "'%.100s' is not owner/name of a repository", repo);
	snprintf(owner, sizeof(owner), "%s", repo);
	*strchr(owner, '/') = '\0';
	name = strchr(repo, '/') + 1;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		for (size_t k = 0; k < sizeof(ends) / sizeof(ends[0]); k++) {
			int n = snprintf(out, SWE_PATH_MAX, "%s/%s%s%s%s%s", repos, forms[i].between ? owner : "", forms[i].between ? forms[i].between : "", name,
					 forms[i].behind, ends[k]);

			if (n > 0 && n < SWE_PATH_MAX && is_repository(out))
				return 0;
		}
	err_set(e, ERR_INPUT, "no mirror of %s in %s", repo, repos);
	return err_hint(e, "git clone --mirror https://github.com/%s %s/%s__%s.git, or: belljar swebench checkout --network %s", repo, repos, owner, name, repo);
}

static void name_of(const char *repo, const char *commit, char out[256])
{
	const char *slash = strchr(repo, '/');

	snprintf(out, 256, "%.*s__%.140s@%.64s", (int)(slash ? slash - repo : 0), repo, slash ? slash + 1 : repo, commit);
}

int swe_tree_find(const struct swe_trees *t, const char *repo, const char *commit, char out[SWE_PATH_MAX])
{
	char name[256];
	struct stat st;

	name_of(repo, commit, name);
	if (fstatat(t->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	snprintf(out, SWE_PATH_MAX, "%.700s/%s", t->dir, name);
	return 1;
}

/* ---- making one ---- */

void swe_build_request(struct request *out, const struct request *base, const char *mirror, const char *commit, struct arena *a)
{
	request_copy(out, base);
	out->language = NULL;
	out->network = "none";
	swe_guest_add(out, "/usr/bin/python3", "tree", 0, a);
	strlist_add(a, &out->argv, commit);
	strlist_add(a, &out->layer, arena_fmt(a, "%s:/mirror", mirror));
	out->limits.wall_ms = 600000;
	out->limits.cpu_ms = 0;
	out->limits.memory_bytes = 6ULL << 30;
	out->limits.disk_bytes = 4ULL << 30;
	out->limits.cpus_milli = 2000;
	out->limits.pids = 64;
}

int swe_build_begin(struct swe_build *b, const struct swe_trees *t, const char *repo, const char *commit, struct err *e)
{
	static unsigned serial;

	memset(b, 0, sizeof(*b));
	b->trees = t;
	b->repo = repo;
	b->commit = commit;
	b->line.max = LINE_MAX_BYTES;
	snprintf(b->temp, sizeof(b->temp), "new-%d-%u", getpid(), serial++);
	/* Of one who had our number and died. */
	state_remove_tree(t->fd, b->temp);
	b->root = -1;
	if (mkdirat(t->fd, b->temp, 0755) < 0)
		return err_sys(e, "make a folder in %s", t->dir);
	b->root = openat(t->fd, b->temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (b->root < 0 || fchmod(b->root, t->open_modes ? 0777 : 0755) < 0)
		return err_sys(e, "open a folder in %s", t->dir);
	swe_tar_init(&b->tar, b->root, t->open_modes ? 0666 : 0, MAX_ENTRIES, MAX_BYTES);
	return 0;
}

void swe_build_said(struct swe_build *b, const char *data, size_t len)
{
	const char *end;
	size_t n;

	if (b->err.kind)
		return;
	if (b->info) {
		swe_tar_add(&b->tar, data, len);
		return;
	}
	end = memchr(data, '\n', len);
	n = end ? (size_t)(end - data) : len;
	if (buf_add(&b->line, data, n) < 0) {
		err_set(&b->err, ERR_INPUT, "the jar said something that is no tree");
		return;
	}
	if (!end)
		return;
	b->info = json_loadb(b->line.data ? b->line.data : "", b->line.len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(b->info))
		err_set(&b->err, ERR_INPUT, "the jar said something that is no tree");
	else
		swe_tar_add(&b->tar, end + 1, len - n - 1);
}

static bool is_id(const char *s)
{
	size_t n = s ? strspn(s, "0123456789abcdef") : 0;

	return s && !s[n] && (n == 40 || n == 64);
}

static int why_none(struct swe_build *b, const struct result *res, struct err *e)
{
	const char *error = json_string_value(json_object_get(b->info, "error")), *hint = json_string_value(json_object_get(b->info, "hint"));

	if (error) {
		err_set(e, ERR_INPUT, "%s: %s", b->repo, error);
		return hint ? err_hint(e, "%s", hint) : -1;
	}
	if (res->verdict.status == STATUS_ERROR)
		return err_set(e, ERR_SETUP, "%s: %s", b->repo, res->verdict.error);
	if (res->verdict.status != STATUS_COMPLETED || !res->verdict.exited || res->verdict.exit_code != 0)
		return err_set(e, ERR_INPUT, "%s: git did not end well (%s)", b->repo, res->verdict.error[0] ? res->verdict.error : "exit status");
	if (b->err.kind) {
		*e = b->err;
		return err_wrap(e, "%s", b->repo);
	}
	return 0;
}

/* Beside the tree, for who asks later; nothing depends on it. */
static void keep_info(const struct swe_build *b, const char *name)
{
	char file[280];
	auto_close int fd = -1;

	snprintf(file, sizeof(file), "%s.json", name);
	fd = openat(b->trees->fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)!fd_write_all(fd, b->line.data, b->line.len);
}

json_t *swe_tree_info(const struct swe_trees *t, const char *repo, const char *commit)
{
	char name[256], file[280];
	auto_free char *text = malloc(LINE_MAX_BYTES + 1);
	ssize_t n;

	name_of(repo, commit, name);
	snprintf(file, sizeof(file), "%s.json", name);
	n = text ? fd_read_file(t->fd, file, text, LINE_MAX_BYTES) : -1;
	return n > 0 ? json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

/* Whatever happened in the jar: this is what git finds who looks into a tree. */
static int own_config(const struct swe_build *b, struct err *e)
{
	static const char text[] = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = false\n\tcheckstat = minimal\n"
				   "\ttrustctime = false\n\tautocrlf = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";
	static const char sha256[] = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n";
	auto_close int git = sys_openat2(b->root, ".git", O_PATH | O_DIRECTORY | O_CLOEXEC, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), fd = -1;
	bool long_ids = strlen(json_string_value(json_object_get(b->info, "commit"))) == 64;

	if (git < 0)
		return err_set(e, ERR_INPUT, "%s: the tree has no .git", b->repo);
	state_remove_tree(git, "hooks");
	state_remove_tree(git, "info");
	state_remove_tree(git, "modules");
	state_remove_tree(git, "config.worktree");
	state_remove_tree(git, "commondir");
	state_remove_tree(git, "objects/info/alternates");
	state_remove_tree(git, "config");
	fd = openat(git, "config", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, text, sizeof(text) - 1) < 0 || (long_ids && fd_write_all(fd, sha256, sizeof(sha256) - 1) < 0) ||
	    fchmod(fd, b->trees->open_modes ? 0666 : 0644) < 0)
		return err_sys(e, "write the tree's .git/config");
	return 0;
}

int swe_build_end(struct swe_build *b, const struct result *res, char out[SWE_PATH_MAX], struct err *e)
{
	const char *commit = json_string_value(json_object_get(b->info, "commit"));
	char name[256];

	if (why_none(b, res, e) < 0)
		return -1;
	if (swe_tar_end(&b->tar) < 0) {
		*e = b->tar.err;
		return err_wrap(e, "%s", b->repo);
	}
	if (!is_id(commit) || (is_id(b->commit) && strcmp(b->commit, commit) != 0))
		return err_set(e, ERR_INPUT, "%s: the jar named another commit", b->repo);
	if (own_config(b, e) < 0)
		return -1;
	name_of(b->repo, commit, name);
	/* Somebody else may have been faster: theirs is as good. */
	if (renameat(b->trees->fd, b->temp, b->trees->fd, name) < 0 && errno != EEXIST && errno != ENOTEMPTY)
		return err_sys(e, "keep %s/%s", b->trees->dir, name);
	snprintf(out, SWE_PATH_MAX, "%.700s/%s", b->trees->dir, name);
	keep_info(b, name);
	return 0;
}

void swe_build_drop(struct swe_build *b)
{
	fd_close(&b->tar.out);
	fd_close(&b->root);
	if (b->temp[0])
		state_remove_tree(b->trees->fd, b->temp);
	b->temp[0] = '\0';
	buf_done(&b->line);
	json_decref(b->info);
	b->info = NULL;
}
