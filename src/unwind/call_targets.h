/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guesses where functions begin in code that has neither symbols nor tables: at the targets of
 * direct calls. All code is searched for calls once. The nearest call targets before and after an
 * address are then the bounds of the function at that address. A function that is called only
 * through pointers lies between the end of another function and its upper bound; flow_run.c finds
 * such functions by their instructions.
 *
 *   code ─► calls ─► one bit for each byte of code: a call leads here ─► bounds of a function
 *
 * Resolver's thread. The code is hostile. Bounds are guesses, and flow_run.c checks the
 * instructions between them.
 */
#ifndef XTOP_UNWIND_CALL_TARGETS_H
#define XTOP_UNWIND_CALL_TARGETS_H

#include "xtop/base/limit.h"
#include "xtop/unwind/code.h"

#define CALL_TARGETS_MAX_BYTES LIMIT(32U << 20, 64U << 10) /* bytes of code; needs 4 MiB of bits */

struct call_targets;
struct computed_machine;

/* For the code in [START, END). NULL: out of memory, or more than CALL_TARGETS_MAX_BYTES. */
struct call_targets *call_targets_create(const struct computed_machine *machine, uint64_t start,
					 uint64_t end);
void call_targets_destroy(struct call_targets *targets); /* NULL allowed */
size_t call_targets_memory_bytes(const struct call_targets *targets);

/* Adds ADDRESS, where a function is known to begin even if no call leads there. */
void call_targets_add(struct call_targets *targets, uint64_t address);
/*
 * Continues to search the code of SOURCE, as far as it may be read in this turn. Returns true when
 * all code was searched once, except missing pages.
 */
bool call_targets_read(struct call_targets *targets, const struct code_source *source);
/*
 * Finds the nearest target at or before ADDRESS (*START) and the nearest target after ADDRESS
 * (*END). Returns false if no target is near at or before ADDRESS.
 */
bool call_targets_find(struct call_targets *targets, const struct code_source *source,
		       uint64_t address, uint64_t *start, uint64_t *end);

#endif
