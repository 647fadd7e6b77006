/* SPDX-License-Identifier: Apache-2.0 */
/* Base trees: a repository at one commit, unpacked once, shown to many jars. */
#include "grade/swe_tree.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "grade/swe_clean.h"
#include "grade/swe_guest.h"
#include "kernel/sys.h"
#include "run/state.h"

#define LINE_MAX_BYTES (256U << 10)
#define MAX_ENTRIES    2000000U
#define MAX_BYTES      (16ULL << 30)
/* A folder with nothing in it: what is built is built in a layer over it, at the path that the tests see. */
#define EMPTY	       "empty"

static int open_folder(char dir[SWE_PATH_MAX], const char *state, const char *name, int *fd, struct err *e)
{
	snprintf(dir, SWE_PATH_MAX, "%s/%s", state, name);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s", dir);
	*fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? err_sys(e, "open %s", dir) : 0;
}

int swe_trees_open(struct swe_trees *t, struct err *e)
{
	char state[400];

	t->fd = t->canary_fd = -1;
	t->open_modes = geteuid() != 0;
	if (state_dir(state, sizeof(state), e) < 0 || open_folder(t->dir, state, "trees", &t->fd, e) < 0)
		return -1;
	t->held = NULL;
	t->held_n = t->held_cap = 0;
	if (mkdirat(t->fd, EMPTY, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make %s/" EMPTY, t->dir);
	return open_folder(t->canary_dir, state, "canaries", &t->canary_fd, e);
}

void swe_trees_close(struct swe_trees *t)
{
	while (t->held_n)
		fd_close(&t->held[--t->held_n]);
	free(t->held);
	t->held = NULL;
	fd_close(&t->fd);
	fd_close(&t->canary_fd);
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

void swe_tree_name(const char *repo, const char *commit, const char *build_key, char out[SWE_TREE_NAME])
{
	const char *slash = strchr(repo, '/');

	snprintf(out, SWE_TREE_NAME, "%.*s__%.140s@%.64s." SWE_TREE_LAYOUT "%s%.16s", (int)(slash ? slash - repo : 0), repo, slash ? slash + 1 : repo, commit, *build_key ? "+" : "", build_key);
}

/* ---- those in use ---- */

static bool is_same(int dir, const char *name, int fd)
{
	struct stat a, b;

	return fstatat(dir, name, &a, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &b) == 0 && S_ISDIR(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool keep_lock(struct swe_trees *t, int fd)
{
	if (t->held_n == t->held_cap) {
		size_t cap = t->held_cap ? t->held_cap * 2 : 64;
		int *more = realloc(t->held, cap * sizeof(*more));

		if (!more)
			return false;
		t->held = more;
		t->held_cap = cap;
	}
	t->held[t->held_n++] = fd;
	return true;
}

/* False: there is none. */
static bool use(struct swe_trees *t, const char *name)
{
	auto_close int fd = openat(t->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char file[SWE_TREE_NAME + 8];

	/* Who has it alone is about to rename it. */
	if (fd < 0 || flock(fd, LOCK_SH) < 0 || !is_same(t->fd, name, fd) || !keep_lock(t, fd))
		return false;
	(void)take_fd(&fd);
	snprintf(file, sizeof(file), "%s.json", name);
	utimensat(t->fd, file, NULL, AT_SYMLINK_NOFOLLOW);
	return true;
}

int swe_tree_find(struct swe_trees *t, const char *repo, const char *commit, const char *build_key, char out[SWE_PATH_MAX])
{
	char name[SWE_TREE_NAME];

	swe_tree_name(repo, commit, build_key, name);
	if (!use(t, name))
		return 0;
	snprintf(out, SWE_PATH_MAX, "%.700s/%s", t->dir, name);
	return 1;
}

bool swe_tree_remove(const struct swe_trees *t, const char *name)
{
	auto_close int fd = openat(t->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char gone[64], file[SWE_TREE_NAME + 8];
	static unsigned serial;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_same(t->fd, name, fd))
		return false;
	snprintf(gone, sizeof(gone), "new-%d-gone-%u", getpid(), serial++);
	if (renameat(t->fd, name, t->fd, gone) < 0)
		return false;
	snprintf(file, sizeof(file), "%s.json", name);
	unlinkat(t->fd, file, 0);
	state_remove_tree(t->fd, gone);
	return true;
}

/* ---- making one ---- */

/* The row's limits for what is built, beside what git needs. */
static void build_limits(struct request *out, const struct swe_job *j)
{
	out->limits.wall_ms += j->wall_ms;
	out->limits.cpus_milli = j->cpus_milli;
	out->limits.pids = 256;
	if (out->limits.memory_bytes < j->memory_bytes)
		out->limits.memory_bytes = j->memory_bytes;
}

void swe_build_request(const struct swe_build *b, struct request *out, const struct request *base, const char *mirror, const struct swe_job *j, struct arena *a)
{
	bool build = j && j->build;

	request_copy(out, base);
	out->language = NULL;
	out->network = "none";
	swe_guest_add(out, "/usr/bin/python3", "tree", 1, a);
	strlist_add(a, &out->argv, b->commit);
	strlist_add(a, &out->layer, arena_fmt(a, "%s:/mirror", mirror));
	out->limits.wall_ms = 600000;
	out->limits.cpu_ms = 0;
	out->limits.memory_bytes = 6ULL << 30;
	out->limits.disk_bytes = 4ULL << 30;
	out->limits.cpus_milli = 2000;
	out->limits.pids = 64;
	if (!build)
		return;
	build_limits(out, j);
	out->files[out->file_count++] = (struct request_file){ .path = ".belljar/build.json", .content = j->build, .len = strlen(j->build), .mode = 0644 };
	strlist_add(a, &out->layer, arena_fmt(a, "%s/" EMPTY ":" SWE_TREE, b->trees->dir));
	for (size_t i = 0; i < j->show.n; i++)
		strlist_add(a, &out->ro, j->show.v[i]);
}

int swe_build_begin(struct swe_build *b, struct swe_trees *t, const char *repo, const char *commit, const char *build_key, struct err *e)
{
	static unsigned serial;

	memset(b, 0, sizeof(*b));
	b->trees = t;
	b->repo = repo;
	b->commit = commit;
	b->build_key = build_key;
	if (t->max_bytes)
		swe_clean_room(t);
	b->line.max = LINE_MAX_BYTES;
	snprintf(b->temp, sizeof(b->temp), "new-%d-%u", getpid(), serial++);
	/* Of one who had our number and died. */
	state_remove_tree(t->fd, b->temp);
	b->root = -1;
	if (mkdirat(t->fd, b->temp, 0755) < 0)
		return err_sys(e, "make a folder in %s", t->dir);
	b->root = openat(t->fd, b->temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* The lock says that it is not left over. */
	if (b->root < 0 || flock(b->root, LOCK_SH) < 0 || fchmod(b->root, t->open_modes ? 0777 : 0755) < 0)
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

/* Beside the tree: what it is, and how large. Nothing depends on the rest of it. */
static void keep_info(const struct swe_build *b, const char *name)
{
	char file[SWE_TREE_NAME + 8];
	auto_close int fd = -1;
	auto_free char *text = NULL;

	json_object_set_new(b->info, "bytes", json_integer((json_int_t)b->tar.bytes + (json_int_t)b->tar.entries * 4096));
	text = json_dumps(b->info, JSON_COMPACT);
	snprintf(file, sizeof(file), "%s.json", name);
	fd = openat(b->trees->fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && text)
		(void)!fd_write_all(fd, text, strlen(text));
}

json_t *swe_tree_info(const struct swe_trees *t, const char *repo, const char *commit, const char *build_key)
{
	char name[SWE_TREE_NAME], file[SWE_TREE_NAME + 8];
	auto_free char *text = malloc(LINE_MAX_BYTES + 1);
	ssize_t n;

	swe_tree_name(repo, commit, build_key, name);
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
	char name[SWE_TREE_NAME];

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
	swe_tree_name(b->repo, commit, b->build_key, name);
	/* Another process may have been faster: its tree is as good. */
	if (renameat(b->trees->fd, b->temp, b->trees->fd, name) < 0 && errno != EEXIST && errno != ENOTEMPTY)
		return err_sys(e, "keep %s/%s", b->trees->dir, name);
	keep_info(b, name);
	if (!use(b->trees, name))
		return err_set(e, ERR_INTERNAL, "%s/%s went away", b->trees->dir, name);
	snprintf(out, SWE_PATH_MAX, "%.700s/%s", b->trees->dir, name);
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
