/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs inside the guest: found out by the resolver from the first registers it sees, then kept
 * up to date. For a Linux guest it knows the kernel's and the modules' code, and of each sample the
 * task and its address space; for anything else there are the files of -k and nothing more.
 *
 *   os_see() ─► Linux? ─► kernel space, recipe for the sampler ─► os_task() for each sample
 *
 * Resolver's thread. Nothing here fails: what could not be found is said in os_describe().
 */
#ifndef XTOP_OS_H
#define XTOP_OS_H

#include <stdbool.h>

#include "xtop/control.h"
#include "xtop/image.h"
#include "xtop/memory.h"
#include "xtop/sample.h"

enum os_kind {
	OS_UNSEEN, /* no vCPU ran yet */
	OS_OTHER,  /* not Linux, or nothing to read it by: a unikernel */
	OS_LINUX,
};

#define OS_NAME_BYTES 16 /* TASK_COMM_LEN */
#define OS_NOTES 3
#define OS_NOTE_BYTES 96

struct kernel_cache;

/*
 * What a cache keeps of one domain. No other domain gets it: what a guest shows under a kernel's
 * build-id is that guest's word.
 */
struct kernel_shelf {
	struct kernel_cache *cache; /* NULL: nothing is kept; not taken over */
	char uuid[40];              /* of the domain */
};

struct os_settings {
	struct memory *memory;     /* NULL: there is nothing to look at; not taken over */
	enum guest_type type;
	struct control *control;
	struct symbols *symbols;   /* of -k; lent */
	const char *root;          /* --root, or NULL */
	struct kernel_shelf shelf; /* of kernels met before */
};

/* Whose a sample is. Strings are raw, and live until the next call. */
struct os_task {
	const char *process, *thread; /* comm of the thread group's leader and of the task; NULL: none */
	uint32_t pid, tgid;
	bool kernel_thread;
	bool idle;                 /* the vCPU's idle task, and nothing interrupted it */
	const struct space *user;  /* NULL: none */
};

struct os_description {
	enum os_kind kind;
	char system[OS_NOTE_BYTES];          /* "Linux 6.1.0-37-amd64"; "" when nothing is known */
	char notes[OS_NOTES][OS_NOTE_BYTES]; /* what is missing and what would help; "" none */
};

/* --- linux/kernel/kernel_cache.c: kernels met before ---------------------------------------------------- */

/*
 * Main's thread, at start. Opens the slots in DIRECTORY, which is made, its parents as well; only
 * files of our own that nobody else can write are taken. NULL: there is no such place; then nothing
 * is kept. One cache serves all guests of a session.
 */
struct kernel_cache *kernel_cache_open(const char *directory);
void kernel_cache_close(struct kernel_cache *cache); /* NULL allowed */

/* --- os.c ------------------------------------------------------------------------------------- */

struct os;

struct xtop_error *os_create(const struct os_settings *settings, struct os **osp);
void os_destroy(struct os *os); /* NULL allowed */

/*
 * The guest has been replaced by another, whose memory, type and UUID these are: all is found out
 * anew.
 */
void os_follow(struct os *os, struct memory *memory, enum guest_type type, const char *uuid);
/* memory_follow() of the guest it is at. */
void os_follow_pages(struct os *os, uint64_t guest_pages);
/* Before a vCPU's sample is unwound: finds out what runs, if that is not known or no longer true. */
void os_see(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns);
/* Taken before the sampler knew how to take the task and all stacks: worth nothing. */
bool os_is_early(const struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns);
bool os_is_linux(const struct os *os);
/* Of a Linux guest: its kernel's code, modules' and all. Never NULL. */
const struct space *os_kernel(const struct os *os);
/* Of a sample of a vCPU that ran; all zero when nothing is known. */
void os_task(struct os *os, const struct sample_vcpu *vcpu, uint64_t now_ns, struct os_task *task);
/* Now and then, also when nothing runs: modules that came and went, bytes that were not there. False: it
 * was not time to look yet. */
bool os_poll(struct os *os, uint64_t now_ns);
void os_describe(const struct os *os, struct os_description *description);
struct os_counts; /* xtop/os_counts.h */
void os_get_counts(const struct os *os, struct os_counts *counts);

#endif
