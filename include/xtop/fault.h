/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads of guest pages that may go away under the reader (base/fault.c): SIGBUS, which is a crash
 * everywhere else. Any thread; what is armed is the thread's own.
 */
#ifndef XTOP_FAULT_H
#define XTOP_FAULT_H

#include <stddef.h>

/* Before anything below; again does nothing more. */
void fault_install(void);
/* What is to be done, async-signal-safe, before a SIGBUS that is none of these ends the process; NULL: nothing. */
void fault_on_death(void (*last_words)(void));
/* Between the two, a SIGBUS on this thread reads zeros instead, and is counted. */
void fault_arm(void);
/* For a mapping of several pages, which cannot be replaced in part: one fault makes all zeros. */
void fault_arm_range(void *start, size_t size_bytes);
unsigned fault_disarm(void); /* pages that went away since fault_arm() */
unsigned fault_count(void);  /* the same, still armed */

#endif
