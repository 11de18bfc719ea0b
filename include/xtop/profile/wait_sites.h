/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a task waits, and what for, by the names of the functions on its stack. The innermost
 * functions of a sleeping task belong to the scheduler and to the lock, and do not tell the place.
 * The site is the first function further out. At some sites a thread waits for work: it is idle.
 *
 * The names are those of Linux and of C libraries. A guest chooses its names. A function that is
 * not known is a site, and waits for WAIT_OTHER. Any thread.
 */
#ifndef XTOP_WAIT_SITES_H
#define XTOP_WAIT_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/profile/frames.h"

enum wait_kind {
	WAIT_OTHER,
	WAIT_CPU, /* the task can run, and waits for a CPU */
	WAIT_MUTEX,
	WAIT_RWSEM,
	WAIT_PERCPU_RWSEM,
	WAIT_RT_MUTEX,
	WAIT_SEMAPHORE,
	WAIT_FUTEX,
	WAIT_SPINLOCK, /* a vCPU waits; a sleeping task never waits for a spinlock */
	WAIT_PAGE_FAULT,
	WAIT_PAGE_LOCK,
	WAIT_BLOCK_IO,
	WAIT_JOURNAL,
	WAIT_INODE, /* the task waits until the inode is written, or gone */
	WAIT_FILE_LOCK, /* flock(), fcntl(), or until a lease is given back */
	WAIT_NFS, /* the task waits for a server, or for another task's request to it */
	WAIT_PIPE,
	WAIT_SOCKET,
	WAIT_TTY,
	WAIT_POLL, /* poll, select, epoll */
	WAIT_TIMER,
	WAIT_CHILD,
	WAIT_SIGNAL,
	WAIT_COMPLETION, /* one task waits until another has done something */
	WAIT_RCU,
	WAIT_WORK, /* a thread of the kernel has nothing to do */
	N_WAIT_KINDS
};
extern const char *const wait_kind_names[N_WAIT_KINDS];

/* The innermost frame of a task that waits for a CPU, a FRAME_KIND_MARK. */
#define WAIT_RUNNABLE_MARK "[runnable]"

struct wait_site {
	uint32_t frame; /* the function; FRAME_NONE: the stack has none */
	enum wait_kind kind;
	bool idle;      /* the thread waits for work */
};

/*
 * A cache of what the table knows of each frame's name, so that each name is compared once. The
 * caller has room for N bytes, all 0 at first; byte i belongs to frame i. Frames from N on are
 * looked up each time.
 */
struct wait_classes {
	uint8_t *classes;
	uint32_t n;
};

/* Finds where a task waits, and what for. STACK has the ids of N frames, outermost first. */
struct wait_site wait_site_find(const struct frames *frames, const struct wait_classes *classes,
				const uint32_t *stack, size_t n);

enum wait_spinning {
	WAIT_SPINS_NOT,
	WAIT_SPINS,
	WAIT_SPUN, /* spinning was given up: the vCPU is or was halted until the lock is free */
};

/*
 * Whether a vCPU with this stack waits for a spinlock that another vCPU has: its innermost function
 * is the one in which the kernel spins, or that function has halted the vCPU. Xen calls a vCPU
 * runnable that was halted and has been woken, until it has a physical CPU.
 */
enum wait_spinning wait_find_spinning(const struct frames *frames, const uint32_t *stack, size_t n);

#endif
