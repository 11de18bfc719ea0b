// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program without symbols, unwind tables and frame pointers, and static: its C library has none,
 * either. It runs alone, with the word bare on the kernel's command line. Its phases are those of
 * user.c, and more that are called by pointers alone, jump by tables, and align their frames.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "work.h"

static volatile unsigned sink;

/* --- switch: a jump by a table, in a function that has saved registers ------------------------ */

WORK static unsigned turn(unsigned value, unsigned way)
{
	switch (way) {
	case 0:
		spin(40);
		return value * 3;
	case 1:
		spin(30);
		return value ^ sink;
	case 2:
		spin(50);
		return value + 17;
	case 3:
		spin(20);
		return value >> 3;
	case 4:
		spin(60);
		return ~value;
	case 5:
		spin(25);
		return value - sink;
	default:
		return 0;
	}
}

static void phase_switch(void)
{
	unsigned value = sink;

	for (unsigned i = 0; i < 60; i++)
		value = turn(value, i % 6);
	sink = value;
}

/* --- align: a frame whose stack pointer is aligned, and one of any size ----------------------- */

WORK static unsigned aligned(unsigned n)
{
	_Alignas(64) unsigned char bytes[256];

	memset(bytes, (int)n, sizeof(bytes));
	spin(n);
	return bytes[n % sizeof(bytes)];
}

WORK static unsigned grown(unsigned n)
{
	unsigned char *bytes = __builtin_alloca(n);

	memset(bytes, (int)n, n);
	spin(n);
	return bytes[n / 2];
}

static void phase_align(void)
{
	for (unsigned i = 32; i < 96; i += 4)
		sink += aligned(i) + grown(i);
}

/* --- climb: recursion, each level by another pointer ------------------------------------------ */

WORK static unsigned climb_odd(unsigned depth);
WORK static unsigned climb_even(unsigned depth);
static unsigned (*volatile climbs[])(unsigned) = { climb_even, climb_odd };

WORK static unsigned climb_odd(unsigned depth)
{
	spin(20 + depth);
	return depth ? climbs[(depth - 1) % 2](depth - 1) + 1 : sink;
}

WORK static unsigned climb_even(unsigned depth)
{
	spin(30 + depth);
	return depth ? climbs[(depth - 1) % 2](depth - 1) * 3 : sink;
}

static void phase_climb(void)
{
	sink += climbs[1](25);
}

static struct phase phases[] = {
	{ .name = "sort", .unit = phase_sort, .percent = 20 },
	{ .name = "deep", .unit = phase_deep, .percent = 15 },
	{ .name = "clock", .unit = phase_clock, .percent = 15 },
	{ .name = "switch", .unit = phase_switch, .percent = 20 },
	{ .name = "align", .unit = phase_align, .percent = 15 },
	{ .name = "climb", .unit = phase_climb, .percent = 15 },
	{ .name = NULL },
};

int main(void)
{
	struct work work = { .name = "bare", .phases = phases };

	run_init(work.name);
	user_init();
	run_ready(work.name);
	for (;;)
		run_round(&work);
}
