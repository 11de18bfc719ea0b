/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs code one instruction at a time, on x86-64. */
#ifndef TESTS_WINDOWS_STEPS_H
#define TESTS_WINDOWS_STEPS_H

#include "xtop/base/vcpu.h"

/*
 * Calls FUNCTION, which has Windows' calling convention, with N. SEE gets the registers before each
 * instruction that lies in [START, END).
 */
long steps_run(const void *function, long n, const void *start, const void *end,
	       void (*see)(const struct registers *regs));

#endif
