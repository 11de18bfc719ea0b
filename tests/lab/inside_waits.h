/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What xtop tells of the tasks that wait in a guest, and of the locks; see inside.c. */
#ifndef TESTS_LAB_INSIDE_WAITS_H
#define TESTS_LAB_INSIDE_WAITS_H

#include "xtop/base/vcpu.h"
#include "xtop/memory/memory.h"

/*
 * Finds the guest's system by REGS, as the resolver does, and makes a few passes over all tasks.
 * PUT gets lines without an order:
 *
 *	wait STATES KIND PROCESS THREAD SITE     a row of the table of waits; KIND without blanks
 *	lock THREAD KIND CERTAINTY HOLDER NAME   a task that waits for a lock, and the thread that
 *	                                         holds it, "-" where there is none
 */
void inside_read_waits(struct memory *memory, enum guest_type type, const struct registers *regs,
		       void (*put)(void *context, const char *line), void *context);

#endif
