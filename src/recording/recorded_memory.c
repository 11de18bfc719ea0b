/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording in the place of a guest's memory (memory.h). Its pages come through the ring,
 * between the samples, and the resolver hands them on to this file. So the resolver reads what was
 * there when it named the sample in the run. A page that has not come is not there.
 *
 * A page that was read twice for one sample, and changed in between, comes twice. The second change
 * waits until the resolver has made as many reads as it had made in the run. Times wait until the
 * resolver asks for them, one after the other.
 *
 * Resolver's thread. Whatever the file says, there are at most RECORDING_MAX_PAGES pages,
 * RECORDED_MAX_WAITING changes that wait and RECORDED_MAX_TIMES times that wait.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "recording/format.h"
#include "xtop/memory/memory.h"

#define RECORDED_MAX_WAITING 1024 /* 4 MiB */
#define RECORDED_MAX_TIMES   1024 /* a few for each vCPU of a sample; more replace the last one */

struct recorded_change {
	struct recorded_change *next;
	struct recording_page page; /* its lines follow */
};

struct recorded_memory {
	struct memory *memory; /* memory that reads these pages */
	struct page_mirror *mirror;
	uint64_t now_ns;                       /* what recorded_now_ns() returned last */
	uint64_t times_ns[RECORDED_MAX_TIMES]; /* times of this turn */
	size_t n_times, n_asked;               /* N_ASKED of the N_TIMES were returned */
	uint64_t n_reads;                      /* reads in this turn */
	struct recorded_change *waiting, **end; /* changes that wait, in the order of the file */
	size_t n_waiting;
};

/*
 * Writes the lines of PAGE to the copy of the page that recorded->memory keeps. The file has only
 * lines that were read. They come when they were first read, which may be long after their page was
 * copied.
 */
static void recorded_correct_copy(const struct recorded_memory *recorded,
				  const struct recording_page *page)
{
	const char *bytes = page_mirror_find(recorded->mirror, FRAME(page->frame));

	for (uint64_t lines = page->lines; lines; lines &= lines - 1)
		memory_correct_copy(recorded->memory, FRAME(page->frame), bytes,
				    __builtin_ctzll(lines) * PAGE_LINE_BYTES, PAGE_LINE_BYTES);
}

static bool recorded_apply(struct recorded_memory *recorded, const struct recording_page *page)
{
	if (!page->lines)
		return page_mirror_remove(recorded->mirror, FRAME(page->frame));
	if (!page_mirror_apply(recorded->mirror, FRAME(page->frame), page->lines, page + 1))
		return false;
	recorded_correct_copy(recorded, page);
	return true;
}

/* Applies the change that has waited longest. */
static void recorded_apply_first(struct recorded_memory *recorded)
{
	struct recorded_change *change = recorded->waiting;

	recorded_apply(recorded, &change->page);
	recorded->waiting = change->next;
	if (!change->next)
		recorded->end = &recorded->waiting;
	recorded->n_waiting--;
	free(change);
}

/* --- the calls of struct memory --------------------------------------------------------------- */

static void recorded_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	struct recorded_memory *recorded = context;

	recorded->n_reads++;
	while (recorded->waiting && recorded->waiting->page.read <= recorded->n_reads)
		recorded_apply_first(recorded);
	for (size_t i = 0; i < n; i++) {
		const char *page = page_mirror_find(recorded->mirror, frames[i]);

		ok[i] = page;
		if (page)
			memcpy((char *)pages + i * GUEST_PAGE_SIZE, page, GUEST_PAGE_SIZE);
	}
}

static uint64_t recorded_now_ns(void *context)
{
	struct recorded_memory *recorded = context;

	if (recorded->n_asked < recorded->n_times)
		recorded->now_ns = recorded->times_ns[recorded->n_asked++];
	return recorded->now_ns;
}

static void recorded_close(void *context)
{
	struct recorded_memory *recorded = context;

	while (recorded->waiting)
		recorded_apply_first(recorded);
	page_mirror_destroy(recorded->mirror);
	free(recorded);
}

static const struct memory_ops recorded_ops = { .read = recorded_read,
						.close = recorded_close,
						.now_ns = recorded_now_ns };

struct xtop_error *recorded_memory_open(struct memory **memoryp, struct recorded_memory **recordedp)
{
	struct recorded_memory *recorded = calloc(1, sizeof(*recorded));
	struct xtop_error *error;

	if (!recorded)
		return error_create("out of memory");
	recorded->end = &recorded->waiting;
	error = page_mirror_create(RECORDING_MAX_PAGES, &recorded->mirror);
	if (error) {
		recorded_close(recorded);
		return error;
	}
	error = memory_create(&recorded_ops, recorded, memoryp);
	if (error)
		return error;
	recorded->memory = *memoryp;
	*recordedp = recorded;
	return NULL;
}

/* --- notes ------------------------------------------------------------------------------------ */

/* Lets PAGE wait for its read. Returns false if there is no memory. */
static bool recorded_delay(struct recorded_memory *recorded, const struct recording_page *page,
			   size_t size_bytes)
{
	struct recorded_change *change = malloc(sizeof(*change) - sizeof(*page) + size_bytes);

	if (!change)
		return false;
	change->next = NULL;
	memcpy(&change->page, page, size_bytes);
	*recorded->end = change;
	recorded->end = &change->next;
	if (++recorded->n_waiting > RECORDED_MAX_WAITING)
		recorded_apply_first(recorded);
	return true;
}

static bool recorded_add_page(struct recorded_memory *recorded, const struct recording_page *page,
			      size_t size_bytes)
{
	if (size_bytes < sizeof(*page) ||
	    size_bytes != sizeof(*page) + page_lines_bytes(page->lines))
		return false;
	return page->read ? recorded_delay(recorded, page, size_bytes)
			  : recorded_apply(recorded, page);
}

void recorded_memory_end_turn(struct recorded_memory *recorded)
{
	while (recorded->waiting)
		recorded_apply_first(recorded);
	recorded->n_reads = 0;
	if (recorded->n_times)
		recorded->now_ns = recorded->times_ns[recorded->n_times - 1];
	recorded->n_times = recorded->n_asked = 0;
}

bool recorded_memory_apply(struct recorded_memory *recorded, const struct recording_note *note,
			   size_t size_bytes)
{
	if (size_bytes < sizeof(*note) + sizeof(uint64_t))
		return false;
	switch (note->type) {
	case RECORDING_PAGE:
		return recorded_add_page(recorded, (const struct recording_page *)(note + 1),
					 size_bytes - sizeof(*note));
	case RECORDING_TIME:
		if (recorded->n_times == RECORDED_MAX_TIMES)
			recorded->n_times--;
		recorded->times_ns[recorded->n_times++] = recording_note_time(note);
		return true;
	default:
		return false;
	}
}
