/* SPDX-License-Identifier: Apache-2.0 */
/* The notary's client. */
#include "store/signer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "keeper/spawn.h"

/* ---- starting ---- */

/* Between vfork and exec: nothing but system calls. */
static _Noreturn void become_notary(const char *path, const char *option, int sock, int dir, int null, char **envp)
{
	char *argv[] = { "belljar-notary", (char *)option, NULL };
	/* Out of the way of the numbers that they are to get. */
	int high_sock = fcntl(sock, F_DUPFD, 10), high_dir = fcntl(dir, F_DUPFD, 10);

	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			_exit(127);
	if (high_sock < 0 || high_dir < 0 || dup2(high_sock, NOTARY_FD) < 0 || dup2(high_dir, NOTARY_DIR_FD) < 0)
		_exit(127);
	close_range(NOTARY_DIR_FD + 1, ~0U, 0);
	execve(path, argv, envp);
	_exit(127);
}

static int open_folder(const char *state_dir, struct err *e)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/" NOTARY_DIR, state_dir);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(e, "open %s", path) : fd;
}

int signer_start(const char *state_dir, enum signer_mode mode, struct err *e)
{
	static const char *const options[] = {
		[SIGNER_PLAIN] = NULL, [SIGNER_PRUNE] = "--prune", [SIGNER_ADOPT] = "--adopt", [SIGNER_VERIFY] = "--verify"
	};
	char path[512], *envp[] = { NULL, NULL };
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_close int dir = mode == SIGNER_VERIFY ? open("/dev/null", O_RDWR | O_CLOEXEC) : open_folder(state_dir, e);
	int sock[2];
	pid_t pid;

	if (dir < 0)
		return -1;
#ifdef BELLJAR_TEST_HOOKS
	static char disable[320];
	if (getenv("BELLJAR_UNSAFE_DISABLE")) {
		snprintf(disable, sizeof(disable), "BELLJAR_UNSAFE_DISABLE=%s", getenv("BELLJAR_UNSAFE_DISABLE"));
		envp[0] = disable;
	}
#endif
	spawn_path("belljar-notary", path, sizeof(path));
	if (access(path, X_OK) < 0) {
		err_sys(e, "start %s", path);
		return err_hint(e, "belljar-notary must stand beside belljar-keeper: build or install both");
	}
	if (null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make the notary's socket");
	pid = vfork();
	if (pid == 0)
		become_notary(path, options[mode], sock[1], dir, null, envp);
	close(sock[1]);
	if (pid < 0) {
		close(sock[0]);
		return err_sys(e, "start %s", path);
	}
	return sock[0];
}

/* ---- asking ---- */

static int put(int sock, const struct notary_msg *m, struct err *e)
{
	/* A refusal waits to be read: it says more than a broken pipe. */
	if (send(sock, m, sizeof(*m), MSG_NOSIGNAL) == sizeof(*m) || errno == EPIPE || errno == ECONNRESET)
		return 0;
	return err_sys(e, "ask the notary");
}

static int put_op(int sock, enum notary_op op, uint64_t seq, const uint8_t *receipt, const uint8_t *head, struct err *e)
{
	struct notary_msg m = { .op = op, .seq = seq };

	if (receipt)
		memcpy(m.digest[0], receipt, DIGEST_SIZE);
	if (head)
		memcpy(m.digest[1], head, DIGEST_SIZE);
	return put(sock, &m, e);
}

static int receive(int sock, struct notary_reply *r, struct err *e)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	ssize_t n;
	int ready;

	do
		ready = poll(&p, 1, NOTARY_WAIT_MS * 2);
	while (ready < 0 && errno == EINTR);
	n = ready > 0 ? recv(sock, r, sizeof(*r), 0) : -1;
	if (n == sizeof(*r))
		return 0;
	err_set(e, ERR_SETUP, ready == 0 ? "the notary does not answer" : "the notary ended unexpectedly");
	return err_hint(e, "receipts are kept and chained; 'belljar audit checkpoint' has them signed");
}

static int answer(int sock, struct checkpoint *out, struct err *e)
{
	struct notary_reply r = { .status = NOTARY_FAILED };

	if (receive(sock, &r, e) < 0)
		return -1;
	if (r.status != NOTARY_OK) {
		r.msg[sizeof(r.msg) - 1] = '\0';
		err_set(e, r.status == NOTARY_REFUSED ? ERR_DENIED : ERR_SETUP, "the notary %s: %s",
			r.status == NOTARY_REFUSED ? "refuses to sign" : "cannot sign", r.msg);
		return err_hint(e, "belljar audit verify");
	}
	*out = r.checkpoint;
	return 0;
}

/* ---- digests ---- */

struct shown {
	int sock;
	struct notary_msg m;
	uint64_t last; /* seq of the last one */
	uint64_t end;  /* not past this one */
	uint8_t hash[DIGEST_SIZE];
	struct err *e;
};

static int flush_digests(struct shown *d)
{
	int rc = d->m.count ? put(d->sock, &d->m, d->e) : 0;

	d->m.count = 0;
	return rc;
}

static int show(uint64_t seq, const uint8_t *hash, void *ctx)
{
	struct shown *d = ctx;

	if (d->end && seq > d->end)
		return 1;
	if (seq != d->last + 1) {
		err_set(d->e, ERR_DENIED, "receipt %llu is missing", (unsigned long long)d->last + 1);
		err_hint(d->e, "belljar audit verify");
		return -1;
	}
	d->last = seq;
	memcpy(d->hash, hash, DIGEST_SIZE);
	memcpy(d->m.digest[d->m.count++], hash, DIGEST_SIZE);
	return d->m.count == NOTARY_DIGESTS ? flush_digests(d) : 0;
}

/* All digests after d->last, to d->end or the chain's. */
static int show_all(struct shown *d, struct store *s)
{
	d->m.op = NOTARY_ADD;
	return store_each_hash(s, d->last, show, d, d->e) < 0 || flush_digests(d) < 0 ? -1 : 0;
}

static int leave(int sock, int rc)
{
	struct err ignored;

	put_op(sock, NOTARY_LEAVE, 0, NULL, NULL, &ignored);
	return rc;
}

/* The database must still have what was signed last. */
static int check_last(int sock, struct store *s, const struct checkpoint *last, struct err *e)
{
	struct checkpoint again;
	uint8_t hash[DIGEST_SIZE];
	int rc;

	if (!last->seq)
		return 0;
	rc = store_hash_at(s, last->seq, hash, e);
	if (rc == 1) {
		err_set(e, ERR_DENIED,
			"the notary has signed receipt %llu, which the database does not have: receipts were removed, or it is an old copy",
			(unsigned long long)last->seq);
		err_hint(e, "belljar audit verify");
	}
	return rc || put_op(sock, NOTARY_CHECK, 0, hash, NULL, e) < 0 ? -1 : answer(sock, &again, e);
}

/* What the notary has signed and the database does not have yet: whoever asked died before it could be kept. */
static int keep_last(struct store *s, const struct checkpoint *last, struct err *e)
{
	struct checkpoint there;
	int rc = store_last_checkpoint(s, &there, e);

	return rc == 0 && memcmp(there.signature, last->signature, SIGNATURE_SIZE) == 0 ? 0 : store_add_checkpoint(s, last, e);
}

int signer_sign(int sock, struct store *s, struct checkpoint *out, struct err *e)
{
	struct checkpoint last = { 0 };
	struct shown d = { .sock = sock, .e = e };

	if (put_op(sock, NOTARY_LAST, 0, NULL, NULL, e) < 0 || answer(sock, &last, e) < 0)
		return -1;
	d.last = last.seq;
	memcpy(d.hash, last.receipt, DIGEST_SIZE);
	if (check_last(sock, s, &last, e) < 0 || show_all(&d, s) < 0)
		return leave(sock, -1);
	if (last.seq && d.last == last.seq) {
		*out = last;
		return leave(sock, keep_last(s, &last, e));
	}
	if (put_op(sock, NOTARY_SIGN, d.last, d.hash, NULL, e) < 0 || answer(sock, out, e) < 0)
		return -1;
	return store_add_checkpoint(s, out, e);
}

int signer_adopt(int sock, struct store *s, struct checkpoint *out, struct err *e)
{
	struct checkpoint last = { 0 }, from = { 0 };
	struct shown d = { .sock = sock, .e = e };

	if (store_last_prune(s, &from, e) < 0 || put_op(sock, NOTARY_LAST, 0, NULL, NULL, e) < 0 || answer(sock, &last, e) < 0)
		return -1;
	d.last = from.seq;
	memcpy(d.hash, from.receipt, DIGEST_SIZE);
	if (put_op(sock, NOTARY_START, from.seq, from.receipt, from.head, e) < 0 || show_all(&d, s) < 0)
		return leave(sock, -1);
	if (put_op(sock, NOTARY_SIGN, d.last, d.hash, NULL, e) < 0 || answer(sock, out, e) < 0)
		return -1;
	return store_add_checkpoint(s, out, e);
}

int signer_prune(int sock, struct store *s, const struct checkpoint *from, struct checkpoint *out, struct err *e)
{
	struct checkpoint last = { 0 };
	struct shown d = { .sock = sock, .e = e, .last = from->seq };

	if (put_op(sock, NOTARY_LAST, 0, NULL, NULL, e) < 0 || answer(sock, &last, e) < 0)
		return -1;
	d.end = last.seq;
	if (put_op(sock, NOTARY_START, from->seq, from->receipt, from->head, e) < 0 || show_all(&d, s) < 0)
		return leave(sock, -1);
	return put_op(sock, NOTARY_PRUNE, 0, NULL, NULL, e) < 0 ? -1 : answer(sock, out, e);
}

int signer_check(int sock, const struct checkpoint *c, const uint8_t pub[KEY_SIZE], struct err *e)
{
	struct notary_msg m = { .op = NOTARY_VERIFY };
	struct notary_reply r = { .status = NOTARY_FAILED };

	memcpy(m.digest[0], pub, KEY_SIZE);
	memcpy(m.digest[1], c, sizeof(*c));
	if (put(sock, &m, e) < 0 || receive(sock, &r, e) < 0)
		return -1;
	return r.status != NOTARY_OK;
}

/* ---- the folder ---- */

static int read_whole(const char *state_dir, const char *name, char *out, size_t size, struct err *e)
{
	char path[512];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/" NOTARY_DIR "/%s", state_dir, name);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	n = fd < 0 ? -1 : read(fd, out, size);
	return n < 0 ? err_sys(e, "read %s", path) : (int)n;
}

int signer_last(const char *state_dir, struct checkpoint *out, struct err *e)
{
	char data[sizeof(*out) + 1];
	int n = read_whole(state_dir, NOTARY_LAST_FILE, data, sizeof(data), e);

	if (n <= 0)
		return n < 0 ? -1 : 1;
	if (n != sizeof(*out))
		return err_set(e, ERR_INPUT, "the notary's last checkpoint is not one");
	memcpy(out, data, sizeof(*out));
	return out->kind == CHECKPOINT_HERE ? 0 : err_set(e, ERR_INPUT, "the notary's last checkpoint is not one");
}

int signer_key(const char *state_dir, uint8_t pub[KEY_SIZE], struct err *e)
{
	char text[512];
	int n = read_whole(state_dir, NOTARY_PUBLIC, text, sizeof(text) - 1, e);

	if (n <= 0)
		return n < 0 ? -1 : 1;
	text[n] = '\0';
	return key_from_pem(text, pub, e);
}

bool signer_is_due(struct store *s)
{
	struct checkpoint c;
	struct err e;
	int64_t age;

	if (store_last_checkpoint(s, &c, &e) != 0)
		return true;
	/* A clock that went back makes it due too. */
	age = receipt_now_ms() - c.time_ms;
	return age < 0 || age >= SIGNER_INTERVAL_MS;
}
