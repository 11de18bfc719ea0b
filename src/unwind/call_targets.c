/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets of direct calls in code; see call_targets.h. computed_machine.h recognises calls and ends
 * of functions for each architecture. On x86-64, bytes of other instructions may look like calls.
 * So a target must also lie after an instruction that ends a function. Alignment is no proof: one
 * wrong target in 16 is aligned.
 *
 * Missing pages are searched in a later turn (code.h). Resolver's thread.
 */
#include "config.h"

#include "unwind/call_targets.h"

#include <stdlib.h>

#include "unwind/computed_machine.h"

#define CALL_BEFORE_BYTES  COMPUTED_CALL_BEFORE_BYTES
#define CALL_PAGE_BYTES    4096U
#define CALL_CHUNK_BYTES   (16 * CALL_PAGE_BYTES) /* bytes read at once */
#define CALL_MAX_DELAY     64 /* turns between two searches of missing pages */
#define CALL_MAX_DISTANCE  (256U << 10) /* largest distance from an address back to a target */
#define CALL_MAX_REFUSED   256 /* wrong targets that one look-up may remove */
#define CALL_WORD_BITS     64

struct call_targets {
	const struct computed_machine *machine;
	uint64_t start, size_bytes;
	uint64_t *targets; /* a bit for each byte of code */
	uint64_t *pages;   /* a bit for each page that was searched */
	size_t n_pages, next_page;
	uint64_t due_turn; /* turn of the next search of missing pages */
	uint64_t delay;    /* turns from the last search to due_turn */
	bool whole;        /* one search of all pages has ended */
	bool missing;      /* the current search has met missing pages */
};

static size_t call_words(uint64_t bits)
{
	return (size_t)((bits + CALL_WORD_BITS - 1) / CALL_WORD_BITS);
}

static void call_set_bit(uint64_t *words, uint64_t i)
{
	words[i / CALL_WORD_BITS] |= 1ULL << (i % CALL_WORD_BITS);
}

struct call_targets *call_targets_create(const struct computed_machine *machine, uint64_t start,
					 uint64_t end)
{
	struct call_targets *targets;

	if (start >= end || end - start > CALL_TARGETS_MAX_BYTES)
		return NULL;
	targets = calloc(1, sizeof(*targets));
	if (!targets)
		return NULL;
	targets->machine = machine;
	targets->start = start;
	targets->size_bytes = end - start;
	targets->n_pages = (size_t)((end - start + CALL_PAGE_BYTES - 1) / CALL_PAGE_BYTES);
	targets->targets = calloc(call_words(targets->size_bytes), sizeof(uint64_t));
	targets->pages = calloc(call_words(targets->n_pages), sizeof(uint64_t));
	if (!targets->targets || !targets->pages) {
		call_targets_destroy(targets);
		return NULL;
	}
	return targets;
}

void call_targets_destroy(struct call_targets *targets)
{
	if (!targets)
		return;
	free(targets->targets);
	free(targets->pages);
	free(targets);
}

size_t call_targets_memory_bytes(const struct call_targets *targets)
{
	return sizeof(*targets) +
	       (call_words(targets->size_bytes) + call_words(targets->n_pages)) * sizeof(uint64_t);
}

void call_targets_add(struct call_targets *targets, uint64_t address)
{
	if (address - targets->start < targets->size_bytes)
		call_set_bit(targets->targets, address - targets->start);
}

/* --- searching all code ----------------------------------------------------------------------- */

static void call_targets_add_calls(struct call_targets *targets, uint64_t address,
				   const uint8_t *bytes, size_t n)
{
	size_t call_bytes = targets->machine->call_bytes;
	const uint8_t *at = bytes, *end = n < call_bytes ? bytes : bytes + n - call_bytes + 1;
	uint64_t target;

	while (targets->machine->find_call(&at, end, address + (uint64_t)(at - bytes), &target))
		call_targets_add(targets, target);
}

/* How many adjacent pages from PAGE on were not searched yet; at most one chunk. */
static size_t call_targets_count_pages(const struct call_targets *targets, size_t page)
{
	size_t n = 0;

	while (n < CALL_CHUNK_BYTES / CALL_PAGE_BYTES && page + n < targets->n_pages &&
	       !(targets->pages[(page + n) / CALL_WORD_BITS] >> (page + n) % CALL_WORD_BITS & 1))
		n++;
	return n;
}

/* Searches the next pages. Reads some bytes more, because a call may cross the end of a page. */
static void call_targets_read_chunk(struct call_targets *targets, const struct code_source *source,
				    uint8_t *buffer)
{
	size_t page = targets->next_page, n = call_targets_count_pages(targets, page);
	uint64_t offset = (uint64_t)page * CALL_PAGE_BYTES;
	uint64_t left_bytes = targets->size_bytes - offset;
	size_t wanted = n * CALL_PAGE_BYTES + targets->machine->call_bytes - 1, got, pages;

	if (!n) {
		targets->next_page++;
		return;
	}
	if (wanted > left_bytes)
		wanted = (size_t)left_bytes;
	got = source->read(source->context, targets->start + offset, buffer, wanted);
	call_targets_add_calls(targets, targets->start + offset, buffer, got);
	pages = got == left_bytes ? n : got / CALL_PAGE_BYTES;
	for (size_t i = 0; i < pages && i < n; i++)
		call_set_bit(targets->pages, page + i);
	if (pages < n && !(source->turn && !source->turn(source->context))) {
		targets->missing = true;
		pages++; /* continue after the missing page */
	}
	targets->next_page += pages < n ? pages : n;
}

/*
 * Goes on with a search, or begins another one for missing pages if that is due. Returns false if
 * there is no search.
 */
static bool call_targets_begin_search(struct call_targets *targets, uint64_t turn)
{
	if (targets->next_page < targets->n_pages)
		return true;
	if (!targets->missing || !turn || turn < targets->due_turn)
		return false;
	targets->next_page = 0;
	targets->missing = false;
	return true;
}

static void call_targets_end_search(struct call_targets *targets, uint64_t turn)
{
	targets->whole = true;
	targets->delay = targets->delay ? targets->delay * 2 : 1;
	if (targets->delay > CALL_MAX_DELAY)
		targets->delay = CALL_MAX_DELAY;
	targets->due_turn = turn + targets->delay;
}

static bool call_targets_may_read(const struct code_source *source)
{
	return (!source->turn || source->turn(source->context)) &&
	       (!source->may_search || source->may_search(source->context));
}

bool call_targets_read(struct call_targets *targets, const struct code_source *source)
{
	uint64_t turn = source->turn ? source->turn(source->context) : 0;
	uint8_t *buffer;

	if (!call_targets_begin_search(targets, turn))
		return true;
	buffer = malloc(CALL_CHUNK_BYTES + targets->machine->call_bytes);
	while (buffer && targets->next_page < targets->n_pages && call_targets_may_read(source))
		call_targets_read_chunk(targets, source, buffer);
	free(buffer);
	if (targets->next_page >= targets->n_pages)
		call_targets_end_search(targets, turn);
	return targets->whole;
}

/* --- bounds of functions ---------------------------------------------------------------------- */

/* Whether a function can begin at the target OFFSET. Removes the target if not. */
static bool call_targets_begins(struct call_targets *targets, const struct code_source *source,
				uint64_t offset)
{
	uint64_t address = targets->start + offset;
	uint8_t before[CALL_BEFORE_BYTES];

	if (offset < CALL_BEFORE_BYTES ||
	    entry_points_lie_in(&source->entries, address, address + 1) ||
	    source->read(source->context, address - CALL_BEFORE_BYTES, before,
			 CALL_BEFORE_BYTES) != CALL_BEFORE_BYTES ||
	    targets->machine->ends_function(before))
		return true;
	targets->targets[offset / CALL_WORD_BITS] &= ~(1ULL << offset % CALL_WORD_BITS);
	return false;
}

/* The nearest target at or before OFFSET; UINT64_MAX if there is none. */
static uint64_t call_targets_before(const struct call_targets *targets, uint64_t offset)
{
	uint64_t i = offset / CALL_WORD_BITS;
	uint64_t below = ~0ULL >> (CALL_WORD_BITS - 1 - offset % CALL_WORD_BITS);
	uint64_t word = targets->targets[i] & below;

	while (!word) {
		if (!i || offset - i * CALL_WORD_BITS > CALL_MAX_DISTANCE)
			return UINT64_MAX;
		word = targets->targets[--i];
	}
	return i * CALL_WORD_BITS + CALL_WORD_BITS - 1 - (uint64_t)__builtin_clzll(word);
}

/* The nearest target at or after OFFSET; the end of the code if there is none. */
static uint64_t call_targets_after(const struct call_targets *targets, uint64_t offset)
{
	uint64_t i = offset / CALL_WORD_BITS, n = call_words(targets->size_bytes);
	uint64_t word = i < n ? targets->targets[i] & ~0ULL << offset % CALL_WORD_BITS : 0;

	while (!word) {
		if (++i >= n)
			return targets->size_bytes;
		word = targets->targets[i];
	}
	return i * CALL_WORD_BITS + (uint64_t)__builtin_ctzll(word);
}

bool call_targets_find(struct call_targets *targets, const struct code_source *source,
		       uint64_t address, uint64_t *start, uint64_t *end)
{
	uint64_t offset = address - targets->start, first, last;
	unsigned left = CALL_MAX_REFUSED;

	if (offset >= targets->size_bytes)
		return false;
	do
		first = call_targets_before(targets, offset);
	while (first != UINT64_MAX && !call_targets_begins(targets, source, first) && --left);
	if (first == UINT64_MAX || !left)
		return false;
	do
		last = call_targets_after(targets, offset + 1);
	while (last < targets->size_bytes && !call_targets_begins(targets, source, last) &&
	       --left);
	*start = targets->start + first;
	*end = targets->start + last;
	return left;
}
