/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clocks on which times can be told (--clock). Samples have the time of one clock, dom0's
 * CLOCK_MONOTONIC. A struct clocks says how far each other clock was ahead of dom0's at one moment.
 * The resolver fills in a struct clocks about once a second; a snapshot carries the newest one.
 */
#ifndef XTOP_CLOCKS_H
#define XTOP_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum clock_kind {
	CLOCK_DOM0,      /* CLOCK_MONOTONIC of dom0: since dom0's boot */
	CLOCK_UTC,       /* CLOCK_REALTIME of dom0: since 1970 */
	CLOCK_GUEST,     /* CLOCK_MONOTONIC of the guest */
	CLOCK_GUEST_UTC, /* CLOCK_REALTIME of the guest */
};
#define N_CLOCKS 4

/* Zeroed: nothing but dom0's clock is known. */
struct clocks {
	uint64_t at_ns;              /* time of the clocks' reading, on the clock of the samples */
	uint64_t ahead_ns[N_CLOCKS]; /* modulo 2^64, so a clock may also be behind */
	bool known[N_CLOCKS];        /* dom0's clock is always known, whatever its element says */
};

/* Records that the clock KIND showed NS at clocks->at_ns. */
void clocks_set(struct clocks *clocks, enum clock_kind kind, uint64_t ns);
/*
 * Converts TIME_NS from the samples' clock to the clock KIND. Returns false if KIND's time is not
 * known.
 */
bool clocks_convert(const struct clocks *clocks, enum clock_kind kind, uint64_t time_ns,
		    uint64_t *converted_ns);
/*
 * Converts a time as clocks_convert() does, but from two readings; A is the earlier one. A clock is
 * taken to run evenly between the two readings. If the clock was set between them, only A is used.
 */
bool clocks_convert_between(const struct clocks *a, const struct clocks *b, enum clock_kind kind,
			    uint64_t time_ns, uint64_t *converted_ns);

/* Finds a clock by the name that --clock takes: dom0, utc, guest or guest-utc. */
bool clocks_find(const char *name, enum clock_kind *kindp);
const char *clocks_name(enum clock_kind kind);
/* The clock's name in messages, for example "the guest's CLOCK_MONOTONIC". */
const char *clocks_describe(enum clock_kind kind);
/*
 * "1234.567890 s", or "2026-11-22 23:40:12.345678 UTC" of a clock that counts from 1970. At most 40
 * bytes with the NUL.
 */
#define CLOCKS_TEXT_BYTES 40
const char *clocks_format(enum clock_kind kind, uint64_t ns, char text[CLOCKS_TEXT_BYTES]);

#endif
