/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording in the place of a guest's memory (memory.h). Its pages come through the ring, between
 * the samples, and the resolver hands them on here in their turn: what it then reads is what was
 * there when that sample was named for the first time. A page that did not come is not there.
 *
 * A page that was read twice for one sample, and changed between, comes twice: the second waits until
 * as many reads have been made as there were then. Times wait to be asked for, one after the other.
 *
 * Resolver's thread; no more than RECORDING_MAX_PAGES pages, RECORDED_MAX_WAITING changes and
 * RECORDED_MAX_TIMES times that wait, whatever the file says.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/memory.h"
#include "xtop/recording.h"
#include "xtop/recording_format.h"

#define RECORDED_MAX_WAITING 1024 /* 4 MiB */
#define RECORDED_MAX_TIMES                                                                         \
	1024 /* some for each vCPU of a sample; what is more goes over the last */

struct recorded_change {
	struct recorded_change *next;
	struct recording_page page; /* its lines follow */
};

struct recorded {
	struct pages *pages;
	uint64_t now_ns;                       /* as it was said last */
	uint64_t times_ns[RECORDED_MAX_TIMES]; /* of this turn */
	size_t n_times, n_told;
	uint64_t n_reads;                       /* in this turn */
	struct recorded_change *waiting, **end; /* in the order of the file */
	size_t n_waiting;
};

static bool recorded_change(struct recorded *recorded, const struct recording_page *page)
{
	if (!page->lines)
		return pages_drop(recorded->pages, FRAME(page->frame));
	return pages_change(recorded->pages, FRAME(page->frame), page->lines, page + 1);
}

/* The first that waits is made. */
static void recorded_make_change(struct recorded *recorded)
{
	struct recorded_change *change = recorded->waiting;

	recorded_change(recorded, &change->page);
	recorded->waiting = change->next;
	if (!change->next)
		recorded->end = &recorded->waiting;
	recorded->n_waiting--;
	free(change);
}

/* --- behind struct memory --------------------------------------------------------------------- */

static void recorded_read(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	struct recorded *recorded = context;

	recorded->n_reads++;
	while (recorded->waiting && recorded->waiting->page.read <= recorded->n_reads)
		recorded_make_change(recorded);
	for (size_t i = 0; i < n; i++) {
		const char *page = pages_find(recorded->pages, frames[i]);

		ok[i] = page;
		if (page)
			memcpy((char *)pages + i * GUEST_PAGE_SIZE, page, GUEST_PAGE_SIZE);
	}
}

static uint64_t recorded_now_ns(void *context)
{
	struct recorded *recorded = context;

	if (recorded->n_told < recorded->n_times)
		recorded->now_ns = recorded->times_ns[recorded->n_told++];
	return recorded->now_ns;
}

static void recorded_close(void *context)
{
	struct recorded *recorded = context;

	while (recorded->waiting)
		recorded_make_change(recorded);
	pages_destroy(recorded->pages);
	free(recorded);
}

static const struct memory_ops recorded_ops = { .read = recorded_read,
						.close = recorded_close,
						.now_ns = recorded_now_ns };

struct xtop_error *recorded_open(struct memory **memoryp, struct recorded **recordedp)
{
	struct recorded *recorded = calloc(1, sizeof(*recorded));
	struct xtop_error *error;

	if (!recorded)
		return error_create("out of memory");
	recorded->end = &recorded->waiting;
	error = pages_create(RECORDING_MAX_PAGES, &recorded->pages);
	if (error) {
		recorded_close(recorded);
		return error;
	}
	error = memory_create(&recorded_ops, recorded, memoryp);
	if (!error)
		*recordedp = recorded;
	return error;
}

/* --- notes ------------------------------------------------------------------------------------ */

/* False: out of memory. */
static bool recorded_wait(struct recorded *recorded, const struct recording_page *page,
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
		recorded_make_change(recorded);
	return true;
}

static bool recorded_take_page(struct recorded *recorded, const struct recording_page *page,
			       size_t size_bytes)
{
	if (size_bytes < sizeof(*page) ||
	    size_bytes != sizeof(*page) + pages_lines_bytes(page->lines))
		return false;
	return page->read ? recorded_wait(recorded, page, size_bytes)
			  : recorded_change(recorded, page);
}

void recorded_end_turn(struct recorded *recorded)
{
	while (recorded->waiting)
		recorded_make_change(recorded);
	recorded->n_reads = 0;
	if (recorded->n_times)
		recorded->now_ns = recorded->times_ns[recorded->n_times - 1];
	recorded->n_times = recorded->n_told = 0;
}

bool recorded_take(struct recorded *recorded, const struct recording_note *note, size_t size_bytes)
{
	if (size_bytes < sizeof(*note) + sizeof(uint64_t))
		return false;
	switch (note->type) {
	case RECORDING_PAGE:
		return recorded_take_page(recorded, (const struct recording_page *)(note + 1),
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
