/* SPDX-License-Identifier: Apache-2.0 */
/* belljar-notary: holds the key, follows the chain by its digests, signs where it has come to. Nobody else can. */
#include "store/notary.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hook.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"
#include "kernel/seccomp.h"
#include "store/sign.h"

/*
 * Theory of operation
 *
 * The front reads what strangers wrote, and the store writes what the front says. Should one of them be taken over, it must not be able to change
 * what was written before. So neither has the key: this process has, and it takes 32-byte digests, one for each receipt, in order. It folds them into a
 * head of its own and signs that. It never goes back: what it signs follows from what it signed last, which it keeps in a file of its own, in a folder
 * that the front and the store of a batch cannot open.
 *
 *	LAST                 -> the last checkpoint; from here on no other notary of this folder may sign
 *	CHECK digest         the database has the receipt of that checkpoint still
 *	ADD digests...       those that came since
 *	SIGN seq, digest     -> a new checkpoint, if this is where the digests led
 *
 * Started with --verify it has no folder and no key, and checks signatures for whoever asks.
 *
 * Any number of notaries may serve one folder, one signature at a time (flock); each reads the file anew under the lock. START is for the owner's
 * own commands (--prune: a record of what was pruned; --adopt: begin from what the database says, after the file was lost).
 *
 * It has no capabilities, no_new_privs, Landlock over its folder alone, a filter with some twenty calls, and cannot be traced.
 */

struct notary {
	bool may_prune, may_adopt, only_verifies;
	uint8_t secret[KEY_SIZE], pub[KEY_SIZE], id[KEY_ID_SIZE];
	EVP_PKEY *key;
	/* between LAST and its end */
	bool begun, checked, started;
	struct checkpoint last; /* the file */
	struct checkpoint from; /* where START began */
	uint64_t seq;
	uint8_t head[DIGEST_SIZE], receipt[DIGEST_SIZE];
};

static int complain(struct notary_reply *r, enum notary_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int complain(struct notary_reply *r, enum notary_status status, const char *fmt, ...)
{
	va_list ap;

	r->status = status;
	va_start(ap, fmt);
	vsnprintf(r->msg, sizeof(r->msg), fmt, ap);
	va_end(ap);
	return -1;
}

static int complain_sys(struct notary_reply *r, const char *what)
{
	const char *text = strerrordesc_np(errno);

	return complain(r, NOTARY_FAILED, "%s: %s", what, text ? text : "unknown error");
}

/* ---- files ---- */

/* Whole or not at all, also after a power cut. */
static int write_file(const char *name, const void *data, size_t len, mode_t mode)
{
	char fresh[64];
	auto_close int fd = -1;

	snprintf(fresh, sizeof(fresh), ".%s.new", name);
	unlinkat(NOTARY_DIR_FD, fresh, 0);
	fd = openat(NOTARY_DIR_FD, fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0 || fd_write_all(fd, data, len) < 0 || fsync(fd) < 0 || renameat(NOTARY_DIR_FD, fresh, NOTARY_DIR_FD, name) < 0)
		return -1;
	return fsync(NOTARY_DIR_FD);
}

/* Exactly `len` bytes: 0; 1 when there is no such file; -1. */
static int read_file(const char *name, void *data, size_t len)
{
	auto_close int fd = openat(NOTARY_DIR_FD, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char more;

	if (fd < 0)
		return errno == ENOENT ? 1 : -1;
	if (fd_read_all(fd, data, len) != 0 || read(fd, &more, 1) != 0) {
		errno = EBADMSG;
		return -1;
	}
	return 0;
}

/* ---- the key ---- */

static int use_key(struct notary *n)
{
	size_t len = KEY_SIZE;

	n->key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, n->secret, KEY_SIZE);
	if (!n->key || EVP_PKEY_get_raw_public_key(n->key, n->pub, &len) != 1)
		return -1;
	checkpoint_key_id(n->pub, n->id);
	OPENSSL_cleanse(n->secret, KEY_SIZE);
	return 0;
}

static int sign(struct notary *n, struct checkpoint *c)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	c->time_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	memcpy(c->key, n->id, KEY_ID_SIZE);
	return sign_checkpoint(n->key, c);
}

/* The first start in this folder: a key, and a checkpoint of nothing. The key comes last: with it the folder is complete. */
static int make_key(struct notary *n, struct notary_reply *r)
{
	struct checkpoint nothing = { .kind = CHECKPOINT_HERE }, there;
	uint8_t secret[KEY_SIZE];
	char pem[KEY_PEM_MAX];
	int rc = read_file(NOTARY_LAST_FILE, &there, sizeof(there));

	if (rc < 0 || (rc == 0 && there.seq && !n->may_adopt))
		return complain(r, NOTARY_REFUSED, "the notary's key is gone, but its last checkpoint (receipt %llu) is there",
				rc == 0 ? (unsigned long long)there.seq : 0ULL);
	if (getrandom(n->secret, KEY_SIZE, 0) != KEY_SIZE)
		return complain_sys(r, "make a key");
	memcpy(secret, n->secret, KEY_SIZE);
	if (use_key(n) < 0 || sign(n, &nothing) < 0)
		return complain(r, NOTARY_FAILED, "libcrypto cannot make an Ed25519 key");
	key_to_pem(n->pub, pem);
	rc = write_file(NOTARY_LAST_FILE, &nothing, sizeof(nothing), 0600) < 0 ||
			     write_file(NOTARY_PUBLIC, pem, strlen(pem), 0600) < 0 ||
			     write_file(NOTARY_KEY, secret, KEY_SIZE, 0600) < 0
		     ? complain_sys(r, "write the notary's key")
		     : 0;
	OPENSSL_cleanse(secret, sizeof(secret));
	return rc;
}

static int take_lock(struct notary_reply *r)
{
	struct timespec pause = { 0, 2000000 };

	for (int i = 0; i < NOTARY_WAIT_MS / 2; i++) {
		if (flock(NOTARY_DIR_FD, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return complain_sys(r, "lock the notary's folder");
		nanosleep(&pause, NULL);
	}
	return complain(r, NOTARY_BUSY, "another notary has been signing for %d seconds", NOTARY_WAIT_MS / 1000);
}

static int load_key(struct notary *n, struct notary_reply *r)
{
	int rc = take_lock(r);

	if (rc < 0)
		return -1;
	rc = read_file(NOTARY_KEY, n->secret, KEY_SIZE);
	if (rc < 0)
		rc = complain_sys(r, "read the notary's key");
	else if (rc == 1)
		rc = make_key(n, r);
	else if (use_key(n) < 0)
		rc = complain(r, NOTARY_FAILED, "libcrypto cannot use the notary's key");
	flock(NOTARY_DIR_FD, LOCK_UN);
	return rc;
}

/* ---- operations ---- */

static void end(struct notary *n)
{
	if (n->begun)
		flock(NOTARY_DIR_FD, LOCK_UN);
	n->begun = n->checked = n->started = false;
}

static bool same(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, DIGEST_SIZE) == 0;
}

/* Its own file, believed only under its own signature. */
static int load_last(struct notary *n, struct notary_reply *r)
{
	struct checkpoint c;
	int rc = read_file(NOTARY_LAST_FILE, &c, sizeof(c));

	if (rc < 0)
		return complain_sys(r, "read the notary's last checkpoint");
	if (rc == 1)
		return complain(r, NOTARY_REFUSED, "the notary has a key, but its last checkpoint is gone");
	if (c.kind != CHECKPOINT_HERE || !sign_check(&c, n->pub))
		return complain(r, NOTARY_REFUSED, "the notary's last checkpoint is not one that it has signed");
	n->last = c;
	return 0;
}

static void go_to(struct notary *n, uint64_t seq, const uint8_t *receipt, const uint8_t *head)
{
	n->seq = seq;
	memcpy(n->receipt, receipt, DIGEST_SIZE);
	memcpy(n->head, head, DIGEST_SIZE);
}

static int op_last(struct notary *n, const struct notary_msg *m, struct notary_reply *r)
{
	(void)m;
	end(n);
	if (take_lock(r) < 0)
		return -1;
	n->begun = true;
	if (load_last(n, r) < 0) {
		if (!n->may_adopt)
			return -1;
		memset(&n->last, 0, sizeof(n->last));
		r->status = NOTARY_OK;
	}
	go_to(n, n->last.seq, n->last.receipt, n->last.head);
	n->checked = n->last.seq == 0 && !n->may_adopt;
	r->checkpoint = n->last;
	return 0;
}

static int op_start(struct notary *n, const struct notary_msg *m, struct notary_reply *r)
{
	if (!n->may_prune && !n->may_adopt)
		return complain(r, NOTARY_REFUSED, "only the owner's own commands may say where to begin");
	go_to(n, m->seq, m->digest[0], m->digest[1]);
	n->from = (struct checkpoint){ .kind = CHECKPOINT_PRUNED, .seq = m->seq };
	memcpy(n->from.receipt, m->digest[0], DIGEST_SIZE);
	memcpy(n->from.head, m->digest[1], DIGEST_SIZE);
	n->started = n->checked = true;
	return 0;
}

static int op_check(struct notary *n, const struct notary_msg *m, struct notary_reply *r)
{
	if (!same(m->digest[0], n->last.receipt))
		return complain(r, NOTARY_REFUSED, "receipt %llu is not the one that was signed",
				(unsigned long long)n->last.seq);
	n->checked = true;
	r->checkpoint = n->last;
	return 0;
}

static int op_add(struct notary *n, const struct notary_msg *m, struct notary_reply *r)
{
	if (!n->checked)
		return complain(r, NOTARY_REFUSED, "digests before the last signed receipt was shown");
	if (m->count > NOTARY_DIGESTS)
		return complain(r, NOTARY_REFUSED, "too many digests");
	for (uint32_t i = 0; i < m->count; i++) {
		checkpoint_fold(n->head, m->digest[i]);
		memcpy(n->receipt, m->digest[i], DIGEST_SIZE);
		n->seq++;
	}
	return 0;
}

static int op_sign(struct notary *n, const struct notary_msg *m, struct notary_reply *r)
{
	struct checkpoint c = { .kind = CHECKPOINT_HERE, .seq = n->seq };

	/* A chain that was begun elsewhere is signed only when the owner adopts it. */
	if (!n->checked || (n->started && !n->may_adopt) || m->seq != n->seq || (n->seq && !same(m->digest[0], n->receipt)))
		return complain(r, NOTARY_REFUSED, "the digests lead to receipt %llu, not to what is to be signed",
				(unsigned long long)n->seq);
	memcpy(c.head, n->head, DIGEST_SIZE);
	memcpy(c.receipt, n->receipt, DIGEST_SIZE);
	if (sign(n, &c) < 0)
		return complain(r, NOTARY_FAILED, "libcrypto cannot sign");
	if (write_file(NOTARY_LAST_FILE, &c, sizeof(c), 0600) < 0)
		return complain_sys(r, "write the notary's last checkpoint");
	r->checkpoint = c;
	return 0;
}

static int op_prune(struct notary *n, const struct notary_msg *m, struct notary_reply *r)
{
	(void)m;
	if (!n->may_prune || !n->started || n->from.seq >= n->last.seq || n->seq != n->last.seq || !same(n->head, n->last.head) ||
	    !same(n->receipt, n->last.receipt))
		return complain(r, NOTARY_REFUSED, "what would be left does not lead to the last checkpoint");
	if (sign(n, &n->from) < 0)
		return complain(r, NOTARY_FAILED, "libcrypto cannot sign");
	r->checkpoint = n->from;
	return 0;
}

/* Anybody can do that; here it costs nobody else a megabyte of libcrypto. */
static int op_verify(struct notary *n, const struct notary_msg *m, struct notary_reply *r)
{
	struct checkpoint c;

	(void)n;
	memcpy(&c, m->digest[1], sizeof(c));
	if (!sign_check(&c, m->digest[0]))
		return complain(r, NOTARY_REFUSED, "not signed by this key");
	return 0;
}

static int op_leave(struct notary *n, const struct notary_msg *m, struct notary_reply *r)
{
	(void)n;
	(void)m;
	(void)r;
	return 0;
}

static const struct notary_row {
	int (*run)(struct notary *n, const struct notary_msg *m, struct notary_reply *r);
	bool first;   /* may begin */
	bool answers; /* when it goes well; a refusal is always told */
	bool ends;
} rows[] = {
	[NOTARY_LAST] = { op_last, true, true, false },	   [NOTARY_START] = { op_start, false, false, false },
	[NOTARY_CHECK] = { op_check, false, true, false }, [NOTARY_ADD] = { op_add, false, false, false },
	[NOTARY_SIGN] = { op_sign, false, true, true },	   [NOTARY_PRUNE] = { op_prune, false, true, true },
	[NOTARY_LEAVE] = { op_leave, true, false, true },  [NOTARY_VERIFY] = { op_verify, true, true, false },
};

/* After a refusal everything is passed over until the next LAST: who asks finds the refusal as the one answer to what it waits for. */
static void serve(struct notary *n, const struct notary_reply *broken)
{
	struct notary_msg m;
	bool refused = false;

	for (;;) {
		struct notary_reply r = { .status = NOTARY_OK };
		ssize_t got = recv(NOTARY_FD, &m, sizeof(m), MSG_TRUNC);
		const struct notary_row *row;
		int rc;

		if (got < 0 && errno == EINTR)
			continue;
		/* Whoever began and does not go on must not keep the others waiting. */
		if (got < 0 && errno == EAGAIN) {
			refused = refused || n->begun;
			end(n);
			continue;
		}
		/* Anything that is no record of ours: whoever is there is not who should be. */
		if (got != sizeof(m) || m.op < NOTARY_LAST || m.op > NOTARY_VERIFY)
			return;
		row = &rows[m.op];
		if (m.op == NOTARY_LAST || m.op == NOTARY_VERIFY)
			refused = false;
		if (refused || (!n->begun && !row->first))
			continue;
		memcpy(r.pub, n->pub, KEY_SIZE);
		if (broken->status != NOTARY_OK || n->only_verifies != (m.op == NOTARY_VERIFY)) {
			r = *broken;
			if (r.status == NOTARY_OK)
				complain(&r, NOTARY_REFUSED, "not what it was started for");
			rc = -1;
		} else {
			rc = row->run(n, &m, &r);
		}
		if (rc < 0 || row->ends)
			end(n);
		refused = rc < 0;
		if ((rc < 0 || row->answers) && send(NOTARY_FD, &r, sizeof(r), MSG_NOSIGNAL) != sizeof(r))
			return;
	}
}

/* ---- what it gives up ---- */

static int confine(bool folder, struct err *e)
{
	int abi = landlock_abi();
	auto_close int rules = -1;
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_sys(e, "hide the notary's memory");
	if (caps_no_new_privs(e) < 0)
		return -1;
	if (abi) {
		rules = landlock_new(abi, e);
		if (rules < 0 || (folder && landlock_allow(rules, abi, "/proc/self/fd/4", LANDLOCK_WRITE_NOEXEC, e) < 0) ||
		    landlock_enforce(rules, e) < 0)
			return -1;
	}
	if (caps_set(0, e) < 0)
		return -1;
	return hook_disabled("notary_seccomp") ? 0 : seccomp_load_notary(e);
}

int main(int argc, char **argv)
{
	static struct notary n;
	struct notary_reply broken = { .status = NOTARY_OK };
	struct err e = { 0 };
	struct stat st;
	uid_t me = geteuid();
	sigset_t all;

	hook_init();
	/* It ends when whoever asks is gone, not with Ctrl-C. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	umask(077);
	for (int i = 1; i < argc; i++) {
		n.may_prune = n.may_prune || strcmp(argv[i], "--prune") == 0;
		n.may_adopt = n.may_adopt || strcmp(argv[i], "--adopt") == 0;
		n.only_verifies = n.only_verifies || strcmp(argv[i], "--verify") == 0;
	}
	if (fstat(NOTARY_FD, &st) < 0 || !S_ISSOCK(st.st_mode) ||
	    (!n.only_verifies && (fstat(NOTARY_DIR_FD, &st) < 0 || !S_ISDIR(st.st_mode)))) {
		fprintf(stderr, "belljar-notary is started by belljar\n");
		return 2;
	}
	setsockopt(NOTARY_FD, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ NOTARY_WAIT_MS / 2000, 0 }, sizeof(struct timeval));
	/* Neither the host's configuration of OpenSSL nor its modules have a say here. */
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
	if (confine(!n.only_verifies, &e) < 0)
		complain(&broken, NOTARY_FAILED, "%s", e.msg);
	else if (!n.only_verifies && ((st.st_mode & 077) || st.st_uid != me))
		complain(&broken, NOTARY_REFUSED, "others may look into the notary's folder, or it is not ours");
	else if (!n.only_verifies)
		load_key(&n, &broken);
	serve(&n, &broken);
	OPENSSL_cleanse(&n, sizeof(n));
	return 0;
}
