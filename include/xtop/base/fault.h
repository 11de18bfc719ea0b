/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading guest pages that may go away during the read (base/fault.c). Such a read raises SIGBUS,
 * which would end the process. Any thread; each thread arms for itself.
 */
#ifndef XTOP_FAULT_H
#define XTOP_FAULT_H

#include <stddef.h>

/* Call this before all functions below. A second call changes nothing. */
void fault_install(void);
/*
 * Sets the function to call before a SIGBUS ends the process because the thread was not armed.
 * LAST_WORDS must be async-signal-safe. NULL: nothing is called.
 */
void fault_set_last_words(void (*last_words)(void));
/*
 * From here to fault_disarm(), a read of this thread that would raise SIGBUS reads zeros. Faults
 * are counted.
 */
void fault_arm(void);
/*
 * fault_arm() for a mapping of several pages that cannot be replaced in part: one fault makes the
 * whole mapping zeros.
 */
void fault_arm_range(void *start, size_t size_bytes);
unsigned fault_disarm(void); /* returns how many faults there were since fault_arm() */
unsigned fault_count(void);  /* how many faults there were; stays armed */
/*
 * Does what raise() does, but by tgkill(), which main's sandbox allows. musl's raise() calls
 * tkill(), which could reach a thread of any process. Async-signal-safe.
 */
void fault_raise(int signal_number);

#endif
