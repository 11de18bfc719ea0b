/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel of made_i386.h as one of 32-bit Arm with long descriptors: the same addresses, and code
 * that gcc 12 wrote for these functions of Debian's armmp-lpae 6.1.
 */
#ifndef TESTS_MADE_ARM32_H
#define TESTS_MADE_ARM32_H

#include "tests/support/made_i386.h"
#include "xtop/base/limit.h"

#define MADE_ARM_COMM    1920 /* offset in task_struct, as the next two */
#define MADE_ARM_PID     1584
#define MADE_ARM_STACK   540
#define MADE_ARM_QUEUE   0x20800 /* runqueues, a per-CPU variable: its offset in an area */
#define MADE_ARM_CURR    1496	 /* offset of `curr` in struct rq */
#define MADE_ARM_CURRENT (MADE_ARM_QUEUE + MADE_ARM_CURR)
#define MADE_ARM_EXIDX   0x70000 /* unwind tables */
#define MADE_ARM_ENTRIES LIMIT(5000, 1000) /* functions in the unwind tables */

/* Makes the kernel anew. */
void made_arm32_begin(struct made_i386 *made);
/* Searches the kernel again for data that has no name. */
void made_arm32_search(struct made_i386 *made);

#endif
