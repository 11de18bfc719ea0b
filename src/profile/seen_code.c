/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of sampled functions, and how it is read; see seen_code.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "profile/seen_code.h"
#include "profile/seen_function.h"
#include "xtop/base/vector.h"

struct xtop_error *seen_code_create(struct seen_code **seenp)
{
	struct seen_code *seen = calloc(1, sizeof(*seen));

	if (!seen)
		return error_create("out of memory");
	seen->caller = FRAME_NONE;
	*seenp = seen;
	return NULL;
}

static void seen_function_deinit(struct seen_code *seen, struct seen_function *function)
{
	seen->bytes -= function->n_bytes;
	image_place_unref(function->place);
	free(function->bytes);
}

void seen_code_clear(struct seen_code *seen)
{
	for (size_t i = 0; i < seen->n; i++)
		seen_function_deinit(seen, &seen->functions[i]);
	hash_table_deinit(&seen->by_frame);
	seen->by_frame = (struct hash_table){ 0 };
	seen->n = seen->n_calls = 0;
	seen->caller = FRAME_NONE;
}

void seen_code_destroy(struct seen_code *seen)
{
	if (!seen)
		return;
	seen_code_clear(seen);
	free(seen->functions);
	free(seen->calls);
	free(seen);
}

size_t seen_code_memory_bytes(const struct seen_code *seen)
{
	return seen->bytes + seen->capacity * sizeof(seen->functions[0]) +
	       seen->by_frame.n_slots * sizeof(seen->by_frame.slots[0]) +
	       seen->calls_capacity * sizeof(seen->calls[0]);
}

/* --- functions that are kept ------------------------------------------------------------------ */

struct seen_wanted {
	const struct seen_code *seen;
	uint32_t frame;
};

static bool seen_is_same(const void *context, uint32_t element)
{
	const struct seen_wanted *wanted = context;

	return wanted->seen->functions[element].frame == wanted->frame;
}

struct seen_function *seen_find(const struct seen_code *seen, uint32_t frame)
{
	const struct seen_wanted wanted = { seen, frame };
	uint32_t found =
		hash_table_find(&seen->by_frame, hash_word(0, frame), seen_is_same, &wanted);

	return found == HASH_NONE ? NULL : &seen->functions[found];
}

static int seen_compare_age(const void *a, const void *b)
{
	const struct seen_function *x = a, *y = b;

	return (x->used_ns < y->used_ns) - (x->used_ns > y->used_ns);
}

/* Drops the quarter that was sampled least recently: sorting takes too long to drop only one. */
static void seen_make_room(struct seen_code *seen)
{
	size_t keep = seen->n - (seen->n + 3) / 4;

	qsort(seen->functions, seen->n, sizeof(seen->functions[0]), seen_compare_age);
	while (seen->n > keep)
		seen_function_deinit(seen, &seen->functions[--seen->n]);
	hash_table_deinit(&seen->by_frame);
	seen->by_frame = (struct hash_table){ 0 };
	for (size_t i = 0; i < seen->n; i++)
		if (!hash_table_add(&seen->by_frame, hash_word(0, seen->functions[i].frame),
				    (uint32_t)i)) {
			seen_code_clear(seen);
			return;
		}
}

/* Adds FRAME, which is new, without code. May move all functions. NULL: out of memory. */
static struct seen_function *seen_insert(struct seen_code *seen, uint32_t frame)
{
	while (seen->n && (seen->n >= SEEN_CODE_MAX_FUNCTIONS ||
			   seen->bytes > SEEN_CODE_MAX_BYTES - ANNOTATION_MAX_BYTES))
		seen_make_room(seen);
	if (!vector_reserve(seen->functions, seen->capacity, seen->n + 1) ||
	    !hash_table_add(&seen->by_frame, hash_word(0, frame), (uint32_t)seen->n))
		return NULL;
	seen->functions[seen->n] = (struct seen_function){ .frame = frame };
	return &seen->functions[seen->n++];
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Where the function of a sample lies in the guest. */
struct seen_bounds {
	uint64_t start, size_bytes;
};

static struct seen_bounds seen_find_bounds(const struct seen_sample *sample)
{
	uint64_t start = sample->address, size_bytes = SEEN_CODE_UNBOUNDED;

	if (sample->name->size_bytes) {
		start -= sample->name->distance;
		size_bytes = sample->name->size_bytes;
	}
	if (size_bytes > UINT64_MAX - start)
		size_bytes = UINT64_MAX - start;
	return (struct seen_bounds){ start, size_bytes };
}

static unsigned seen_pages(uint64_t start, uint64_t size_bytes)
{
	return (unsigned)((((start & GUEST_PAGE_MASK) + size_bytes - 1) >> GUEST_PAGE_SHIFT) + 1);
}

/* Reads FUNCTION's code. Bytes of a page that is missing now stay as they were. */
static void seen_read(struct seen_function *function, struct memory *memory)
{
	uint32_t done = 0;

	for (unsigned page = 0; done < function->n_bytes; page++) {
		uint64_t at = function->start + done;
		uint32_t piece = (uint32_t)(GUEST_PAGE_SIZE - (at & GUEST_PAGE_MASK));
		uint8_t bytes[GUEST_PAGE_SIZE];

		if (piece > function->n_bytes - done)
			piece = function->n_bytes - done;
		if (memory_read(memory, function->root, at, bytes, piece) == piece) {
			memcpy(function->bytes + done, bytes, piece);
			function->missing[page] = false;
		}
		done += piece;
	}
	memory_refresh(memory);
}

static bool seen_is_incomplete(const struct seen_function *function)
{
	for (unsigned i = 0; i < seen_pages(function->start, function->n_bytes); i++)
		if (function->missing[i])
			return true;
	return false;
}

bool seen_has_any(const struct seen_function *function)
{
	for (unsigned i = 0;
	     function->n_bytes && i < seen_pages(function->start, function->n_bytes); i++)
		if (!function->missing[i])
			return true;
	return false;
}

/*
 * Makes room for the SIZE_BYTES of code at START, and keeps what was read if the size is the same.
 * False: out of memory.
 */
static bool seen_resize(struct seen_code *seen, struct seen_function *function, uint64_t start,
			uint64_t size_bytes)
{
	uint32_t n_bytes =
		size_bytes < ANNOTATION_MAX_BYTES ? (uint32_t)size_bytes : ANNOTATION_MAX_BYTES;
	bool same_pages = (function->start & GUEST_PAGE_MASK) == (start & GUEST_PAGE_MASK);
	uint8_t *bytes;

	if (function->n_bytes == n_bytes && same_pages) {
		function->start = start;
		function->size_bytes = size_bytes;
		return true;
	}
	bytes = calloc(1, n_bytes);
	if (!bytes)
		return false;
	free(function->bytes);
	seen->bytes += n_bytes - (size_t)function->n_bytes;
	function->bytes = bytes;
	function->n_bytes = n_bytes;
	function->start = start;
	function->size_bytes = size_bytes;
	memset(function->missing, true, sizeof(function->missing));
	return true;
}

/* Whether the page tables still lead from the sample's address to the page that it ran on. */
static bool seen_is_valid(const struct seen_sample *sample)
{
	frame_t frame;

	return !sample->page.value || (memory_translate(sample->memory, sample->root,
							sample->address, &frame) &&
				       frame.value == sample->page.value);
}

/* Counts PAGES as read in this second. Returns false, and counts nothing, if they are too many. */
static bool seen_count_pages(struct seen_code *seen, uint64_t time_ns, unsigned pages)
{
	uint64_t second = time_ns / 1000000000;

	if (second != seen->second)
		seen->pages = 0;
	seen->second = second;
	if (seen->pages + pages > SEEN_CODE_SECOND_PAGES)
		return false;
	seen->pages += pages;
	return true;
}

static void seen_set_place(struct seen_function *function, const struct mapping *mapping)
{
	image_place_unref(function->place);
	function->place = mapping && mapping->image ? image_place_ref(mapping->image) : NULL;
	function->bias = mapping ? mapping->bias : 0;
}

/* The function of SAMPLE, with room for its code. NULL: it cannot be read now. */
static struct seen_function *seen_prepare(struct seen_code *seen, const struct seen_sample *sample,
					  struct seen_function *function)
{
	struct seen_bounds bounds = seen_find_bounds(sample);
	uint64_t n_bytes = bounds.size_bytes < ANNOTATION_MAX_BYTES ? bounds.size_bytes
								    : ANNOTATION_MAX_BYTES;

	if (!n_bytes)
		return NULL;
	if (!seen_count_pages(seen, sample->time_ns, seen_pages(bounds.start, n_bytes)) ||
	    !seen_is_valid(sample))
		return NULL;
	if (!function)
		function = seen_insert(seen, sample->frame);
	if (!function || !seen_resize(seen, function, bounds.start, bounds.size_bytes))
		return NULL;
	function->no_bounds = !sample->name->size_bytes;
	seen_set_place(function, sample->name->mapping);
	return function;
}

void seen_code_add(struct seen_code *seen, const struct seen_sample *sample)
{
	struct seen_function *function = seen_find(seen, sample->frame);

	if (function) {
		function->used_ns = sample->time_ns;
		/*
		 * A vCPU's first sample may have been taken before Xen told the width. Code that
		 * a program runs with two widths is not read again at each sample.
		 */
		if (sample->time_ns < (sample->word_bytes == function->word_bytes
					       ? function->due_ns
					       : function->due_anew_ns))
			return;
		function->due_ns = sample->time_ns + SEEN_CODE_RETRY_NS;
		function->due_anew_ns = function->due_ns;
	}
	function = seen_prepare(seen, sample, function);
	if (!function)
		return;
	function->kernel = sample->kernel;
	function->word_bytes = sample->word_bytes;
	function->root = sample->root;
	function->used_ns = sample->time_ns;
	seen_read(function, sample->memory);
	function->due_ns = sample->time_ns + (seen_is_incomplete(function) ? SEEN_CODE_RETRY_NS
									   : SEEN_CODE_AGE_NS);
}

/* --- functions that were never sampled -------------------------------------------------------- */

/*
 * Whether the page tables through which FUNCTION was read still lead to its code. After the end of
 * the process these pages may hold anything.
 */
static bool seen_is_there(const struct seen_function *function, struct memory *memory)
{
	uint8_t bytes[64];
	uint32_t n = function->n_bytes < sizeof(bytes) ? function->n_bytes : sizeof(bytes);

	return memory_read(memory, function->root, function->start, bytes, n) == n &&
	       !memcmp(bytes, function->bytes, n);
}

struct seen_function *seen_read_called(struct seen_code *seen, uint32_t frame,
				       struct memory *memory)
{
	struct seen_function *caller = seen_find(seen, seen->caller), *function;
	const struct seen_call *call = NULL;
	struct seen_function from;

	for (size_t i = 0; i < seen->n_calls && !call; i++)
		if (seen->calls[i].frame == frame)
			call = &seen->calls[i];
	if (!caller || !call || !memory || !seen_is_there(caller, memory))
		return NULL;
	from = *caller; /* inserting may move or drop the caller */
	function = seen_insert(seen, frame);
	if (!function || !seen_resize(seen, function, call->address, call->size_bytes))
		return NULL;
	function->kernel = from.kernel;
	function->word_bytes = from.word_bytes;
	function->root = from.root;
	function->used_ns = from.used_ns;
	function->bias = from.bias;
	caller = seen_find(seen, seen->caller);
	if (caller && caller->place) {
		const struct image *image = image_place_get(&caller->place);

		function->place = image ? image_place_ref(image) : NULL;
	}
	seen_read(function, memory);
	return function;
}
