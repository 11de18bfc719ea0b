/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of Xen's trace, made by the formats of Xen 4.17 public/trace.h, and a table of what they
 * say. They are put one after the other at the time `now`.
 */
#ifndef TESTS_PROFILE_TRACE_RECORDS_H
#define TESTS_PROFILE_TRACE_RECORDS_H

#include <stdint.h>

#include "tests/support/must.h"
#include "xtop/profile/exits.h"

#define GUEST 5
#define KHZ   2000000 /* 2 cycles are a nanosecond */
#define US    2000ULL /* cycles */

static uint32_t words[1 << 16];
static size_t n_words;
static uint64_t now; /* TSC */

static inline void begin(void)
{
	n_words = 0;
	now = 1000 * US;
}

static inline void put(uint32_t event, bool with_tsc, size_t n, const uint32_t *extra)
{
	words[n_words++] = event | (uint32_t)n << 28 | (uint32_t)with_tsc << 31;
	if (with_tsc) {
		words[n_words++] = (uint32_t)now;
		words[n_words++] = (uint32_t)(now >> 32);
	}
	for (size_t i = 0; i < n; i++)
		words[n_words + i] = extra[i];
	n_words += n;
}

/* DOMID's VCPU goes from run state FROM to TO: 0 running, 1 runnable, 2 blocked. */
static inline void put_runstate(uint32_t domid, uint32_t vcpu, uint32_t from, uint32_t to)
{
	put(0x21001 | from << 8 | to << 4, true, 1, (const uint32_t[]){ domid << 16 | vcpu });
}

static inline void put_exit(uint32_t reason, uint64_t address)
{
	put(0x81102, true, 3,
	    (const uint32_t[]){ reason, (uint32_t)address, (uint32_t)(address >> 32) });
}

static inline void put_entry(void)
{
	put(0x81001, true, 0, NULL);
}

/* vCPU n runs the process n + 1. */
static inline struct exits_place name_page(void *context, unsigned vcpu, uint64_t address)
{
	bool user = !(address >> 63);

	(void)context;
	return (struct exits_place){ (uint32_t)(address >> 12 & 0xfffff), user ? vcpu + 1 : 0 };
}

/* PIECE_BYTES 0: all at once. */
static inline struct exits_table *add_all(struct exits *exits, size_t piece_bytes)
{
	size_t all = n_words * 4;

	piece_bytes = piece_bytes ? piece_bytes : all;
	for (size_t at = 0; at < all; at += piece_bytes)
		exits_add(exits, 3, (char *)words + at,
			  all - at < piece_bytes ? all - at : piece_bytes, name_page, NULL);
	return exits_get(exits);
}

/* Afterwards the trace goes on for a second: then the order of all of it is known. */
static inline struct exits_table *add_settled(struct exits *exits, size_t piece_bytes)
{
	uint64_t tsc = now + 1000000 * US;
	const uint32_t later[] = { 0x90021002, (uint32_t)tsc, (uint32_t)(tsc >> 32), GUEST << 16 };

	exits_table_destroy(add_all(exits, piece_bytes));
	for (unsigned i = 0; i < 2; i++)
		exits_add(exits, 0, later, sizeof(later), name_page, NULL);
	return exits_get(exits);
}

static inline struct exits *make_exits(bool is_vmx)
{
	struct exits *exits;

	must(exits_create(0, &exits));
	exits_set_host(exits, GUEST, KHZ, is_vmx);
	return exits;
}

#endif
