/* SPDX-License-Identifier: Apache-2.0 */
/* The guest's system call filter: compiled at build time from seccomp_table.h, loaded last. */
#ifndef BELLJAR_KERNEL_SECCOMP_H
#define BELLJAR_KERNEL_SECCOMP_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The guest's whole. Nobody loads it: it is what the two halves below must come to for every call (tests/unit/test_seccomp.c), and what the profile is named by. */
extern const struct sock_filter seccomp_guest_filter[];
extern const size_t seccomp_guest_filter_len;
/* Split in two: what zygotes and their children live under, and a guest's process while its jar is made; and what a guest adds before it begins. */
extern const struct sock_filter seccomp_zygote_filter[], seccomp_last_filter[];
extern const size_t seccomp_zygote_filter_len, seccomp_last_filter_len;
/* The first half for a zygote that bears seats (jar/seat.h): calls that change a process's memory unseen are reported too (and go on). Their numbers, then -1. */
extern const struct sock_filter seccomp_seat_filter[];
extern const size_t seccomp_seat_filter_len;
extern const int seccomp_notes[];
/* The guest's for a jar with an allow-list: execve and execveat are reported too (and go on), there is no memfd_create. */
extern const struct sock_filter seccomp_allow_filter[];
extern const size_t seccomp_allow_filter_len;
/* The same three where no memory cgroup counts what a guest allocates: no memfd_create, no System V objects, and UNIX sockets are reported as the others are. */
extern const struct sock_filter seccomp_guest_uncounted_filter[], seccomp_zygote_uncounted_filter[], seccomp_allow_uncounted_filter[];
extern const size_t seccomp_guest_uncounted_filter_len, seccomp_zygote_uncounted_filter_len, seccomp_allow_uncounted_filter_len;
/* First 12 hex digits of the SHA-256 of the filter: the profile's name in results. */
extern const char seccomp_guest_profile[], seccomp_allow_profile[], seccomp_guest_uncounted_profile[], seccomp_allow_uncounted_profile[];
/* The name of the profile that a guest has. */
const char *seccomp_profile(bool allow_list, bool uncounted);

/* The front's own, while it reads foreign bytes (seccomp_front_table.h). */
extern const struct sock_filter seccomp_front_filter[];
extern const size_t seccomp_front_filter_len;

/* Of the process that writes a batch's receipts, and of the notary. */
extern const struct sock_filter seccomp_store_filter[], seccomp_notary_filter[];
extern const size_t seccomp_store_filter_len, seccomp_notary_filter_len;

/* Loads the front's filter, the store's, the notary's for good. Needs no_new_privs. */
int seccomp_load_front(struct err *e);
int seccomp_load_store(struct err *e);
int seccomp_load_notary(struct err *e);

/* Loads the first half into the calling process; children inherit filter and listener. Returns the descriptor on which the kernel reports calls
 * of the kill set (it must be given to the supervisor before exec), or -1. Needs no_new_privs, or CAP_SYS_ADMIN in the caller's user namespace. */
int seccomp_load_zygote(bool uncounted, struct err *e);
int seccomp_load_seat(struct err *e);
/* The guest's for an allow-list, whole. */
int seccomp_load_allow(bool uncounted, struct err *e);
/* The second half. 0 or -1. */
int seccomp_load_last(struct err *e);

/* A call that was reported, as the kernel told it. */
struct seccomp_event {
	uint32_t pid;	/* in the reader's pid namespace */
	uint32_t arch;	/* AUDIT_ARCH_* */
	int32_t nr;
	uint64_t id;
	uint64_t args[6];
};

/* Reads one report from a listener; 0, or -1 when it was withdrawn (the caller died). The caller stays
 * blocked in the kernel until it is killed or the listener is closed. */
int seccomp_read_event(int listener, struct seccomp_event *out);
/* Whether it is a start of a program, which seccomp_go_on() lets the kernel decide on: all else that is reported ends in death. */
bool seccomp_is_start(const struct seccomp_event *ev);
void seccomp_go_on(int listener, const struct seccomp_event *ev);
/* kill() with a signal that does not exist: the caller says that it ends with 0 (src/guest/finish.c, node/preload.js). Its supervisor decides whether that is so. */
#define SECCOMP_END_SIGNAL 0x626a656eU
bool seccomp_is_end(const struct seccomp_event *ev);
/* socket() or socketpair(): the supervisor decides by counting (jar/sockets.h). */
bool seccomp_is_socket(const struct seccomp_event *ev);
/* Of the UNIX family: it leaves nothing in its network namespace. */
bool seccomp_is_unix_socket(const struct seccomp_event *ev);
/* The call fails with `error` (ENOBUFS). */
void seccomp_refuse(int listener, const struct seccomp_event *ev, int error);
/* A call that is reported for the sake of a seat: its guest's memory will not be used again. It goes on. */
bool seccomp_is_note(const struct seccomp_event *ev);
/* Whether its caller still waits: else what was read of that process meanwhile may be another's. */
bool seccomp_still_waits(int listener, const struct seccomp_event *ev);

/* "reboot", or NULL for a number that this build does not know. */
const char *seccomp_syscall_name(uint32_t arch, int nr);
/* "x86_64", "i386", "x32", "unknown". */
const char *seccomp_arch_name(uint32_t arch, int nr);

#endif
