/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A clock for a test, in the place of the machine's: time goes on only when the program sleeps or
 * reads the clock, and when the test says so. How busy the machine is makes no difference. A test
 * that is linked with made_clock.c replaces libc's clock_gettime() and clock_nanosleep(). One
 * thread.
 */
#ifndef MADE_CLOCK_H
#define MADE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

extern struct made_clock {
	uint64_t now_ns;
	uint64_t reading_ns;    /* time that a reading of the clock takes */
	uint64_t readings;      /* readings of all clocks so far */
	uint64_t (*late)(void); /* how late a sleep ends, in ns, negative: early */
	bool real;              /* the machine's clock, for what another process waits for */
} made_clock;

#endif
