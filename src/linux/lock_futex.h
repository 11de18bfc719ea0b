/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The futex that a sleeping task waits for, according to the task's system call. Everything is read
 * while the guest runs, and is hostile. Resolver's thread.
 */
#ifndef XTOP_LINUX_LOCK_FUTEX_H
#define XTOP_LINUX_LOCK_FUTEX_H

#include "linux/kernel/linux_guest.h"
#include "linux/lock_task.h"

struct lock_futex {
	uint64_t address; /* address of the word, in user memory */
	bool is_shared;   /* other processes may use the futex as well */
	bool is_wait;     /* the call waits for a change of the word */
	bool is_pi;       /* the call takes a lock with priority inheritance */
	bool is_mutex;    /* the call waits with a value that only a mutex has */
};

/*
 * Returns false and leaves *FUTEX untouched if TASK's system call waits for no futex, or for
 * several.
 */
bool lock_futex_get(const struct linux_guest *guest, const struct lock_task *task,
		    struct lock_futex *futex);

#endif
