/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spaces of the guest's processes: which code lies where, for the samples that ran it. Made when
 * a process is first asked for, checked when it is asked for again, bounded. Resolver's thread.
 *
 *   task (linux/process/tasks.c) ─► processes_space() ─► struct space: images with names and unwind tables
 */
#ifndef XTOP_PROCESS_PROCESSES_H
#define XTOP_PROCESS_PROCESSES_H

#include "linux/kernel/linux.h"
#include "linux/process/tasks.h"
#include "linux/process/files.h"
#include "xtop/error.h"
#include "xtop/image.h"
#include "xtop/limit.h"

#define PROCESSES_MAX        LIMIT(1024, 16) /* kept; the one unused for longest makes room */
#define PROCESSES_FRESH_NS   100000000ULL  /* a process checked so lately is not checked again */
#define PROCESSES_WALK_NS    1000000000ULL /* areas are read that often where changes go unseen */
#define PROCESSES_RETRY_NS   100000000ULL  /* areas that changed while they were read */
#define PROCESSES_IDLE_NS    60000000000ULL /* nothing is retried for one not asked for so long */
#define PROCESSES_POLL_READS 4             /* of processes, in one poll */

struct processes;

struct processes_settings {
	int root_fd;                   /* --root DIR, the caller's; -1: none */
	const struct symbols *symbols; /* of -k, or NULL; lent */
	size_t room_bytes;             /* for all that is kept; 0: ROOM_MAX_BYTES */
	uint64_t walk_bytes;           /* read of new files for one walk; 0: FILES_MAX_WALK_BYTES */
};

struct processes_counts {
	unsigned kept;
	unsigned torn;        /* of these: areas changed while they were read, or were not there */
	unsigned jit, named_jit; /* with code of a compiler; with names for it */
	uint64_t asked, checks, walks, retries;
	uint64_t unreadable;  /* an mm_struct that is not there, or none */
	uint64_t evicted;
	uint64_t left_out;    /* areas beyond PROCESS_MAX_AREAS, or that there was no room for */
	uint64_t no_room;     /* times names of compiled code were not read for want of room */
	uint64_t made_room;   /* of those evicted, for want of room */
	size_t room_bytes;    /* taken */
	struct files_counts files;
};

/*
 * LINUX_GUEST, which has a layout, and the symbols outlive the processes. A directory that cannot be
 * opened is no error but a note. Error: out of memory.
 */
struct xtop_error *processes_create(const struct linux_guest *linux_guest,
				    const struct processes_settings *settings,
				    struct processes **processesp);
void processes_destroy(struct processes *processes); /* NULL allowed */

/*
 * NULL: a kernel thread, or it cannot be read. Holds until the next call of processes_space() or
 * processes_poll(). Calls memory_refresh() when it finds that the process changed.
 */
const struct space *processes_space(struct processes *processes, const struct task *task,
				    uint64_t now_ns);
/*
 * The page tables of the process that processes_space() was asked for, by its mm. False: not kept. A
 * sample whose CR3 (without its low bits; KPTI: without bit 12 too) is another was taken before an
 * exec().
 */
bool processes_root(struct processes *processes, uint64_t mm, struct memory_root *root);
/* Whether CR3, a vCPU's, is that root: bit 12 tells a pair of isolated page tables apart. */
bool processes_is_root(struct memory_root root, uint64_t cr3);
/*
 * Of user code whose process cannot be read any more: the page at ADDRESS, by the FRAME it lay in at
 * TIME_NS. NULL: no known file's. As files_by_frame(); holds until the next call.
 */
const struct space *processes_by_frame(struct processes *processes, uint64_t address, frame_t frame,
				       uint64_t time_ns);
/* Whether CR3 is that of any process that is kept. */
bool processes_have_root(const struct processes *processes, uint64_t cr3);
/*
 * Of a task that has no mm any more, or another one than when it was sampled under the page tables
 * CR3: the space of the process it was, if it was met as such. NULL: it was not.
 */
const struct space *processes_former(struct processes *processes, uint64_t cr3, uint32_t tgid);
/* Once in a while, several times a second: reads again what was missing. */
void processes_poll(struct processes *processes, uint64_t now_ns);
struct processes_counts processes_counts(const struct processes *processes);
/*
 * What is missing, why, and what would help: one short line each. PREVIOUS NULL: the first; NULL:
 * no more. They last until it is asked for the first again.
 */
const char *processes_note(struct processes *processes, const char *previous);

#endif
