/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of sampled functions; see seen_code.h. */
#include "config.h"

#include "profile/seen_code.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/hash.h"
#include "xtop/base/vector.h"
#include "xtop/unwind/disassemble.h"

struct seen_function {
	uint32_t frame;
	bool kernel, no_bounds;
	uint8_t word_bytes;  /* width of the code, as struct code has it */
	uint64_t start;      /* in the guest, when the code was last read */
	uint64_t size_bytes; /* the function's size */
	uint32_t n_bytes;    /* how many bytes are kept */
	uint8_t *bytes;
	bool missing[ANNOTATION_MAX_PAGES];
	struct memory_root root; /* the page tables through which it was read */
	uint64_t used_ns;        /* time of the last sample */
	uint64_t due_ns;         /* a sample from this time on reads it again */
	uint64_t due_anew_ns;    /* due_ns for a sample of another width; 0: read once so far */
	uint64_t bias;             /* the image's bias */
	struct image_place *place; /* NULL: the function lies in no image */
};

/* A call or jump of the function that was built last. */
struct seen_call {
	uint32_t frame;
	uint64_t address; /* where the called function begins */
	uint64_t size_bytes;
};

struct seen_code {
	struct seen_function *functions;
	size_t n, capacity;
	struct hash_table by_frame;
	size_t bytes;           /* size of all code */
	uint64_t second;        /* the current second of the samples' clock */
	unsigned pages;         /* number of pages that were read in that second */
	uint32_t caller;        /* the function that was built last; FRAME_NONE: none */
	struct seen_call *calls;
	size_t n_calls, calls_capacity;
};

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

/* --- which functions -------------------------------------------------------------------------- */

struct seen_wanted {
	const struct seen_code *seen;
	uint32_t frame;
};

static bool seen_is_same(const void *context, uint32_t element)
{
	const struct seen_wanted *wanted = context;

	return wanted->seen->functions[element].frame == wanted->frame;
}

static struct seen_function *seen_find(const struct seen_code *seen, uint32_t frame)
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

/* Drops the quarter that was sampled least recently: many at once, since sorting takes time. */
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
	uint64_t start, end;
	const struct mapping *mapping; /* NULL: none */
	bool unknown;
};

static struct seen_bounds seen_find_bounds(const struct seen_sample *sample)
{
	struct seen_bounds bounds = { .start = sample->address,
				      .end = sample->address + SEEN_CODE_UNBOUNDED,
				      .unknown = true };
	struct symtab_entry entry;
	uint64_t start, end, low, high;

	if (bounds.end < bounds.start)
		bounds.end = UINT64_MAX;
	if (!sample->space)
		return bounds;
	if (space_find_symbol(sample->space, sample->address, &entry, &bounds.mapping)) {
		bounds.start = entry.start;
		bounds.end = entry.end;
		bounds.unknown = false;
	} else if (sample->quality <= NAME_FUNCTION && bounds.mapping && bounds.mapping->image &&
		   unwind_tables_guess_function(
			   image_tables(bounds.mapping->image,
					sample->address - bounds.mapping->bias, &low, &high),
			   sample->address - bounds.mapping->bias, &start, &end)) {
		bounds.start = start + bounds.mapping->bias;
		bounds.end = end + bounds.mapping->bias;
		bounds.unknown = false;
	}
	return bounds;
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

/*
 * Makes room for the code from START to END, and keeps what was read if the size is the same.
 * False: out of memory.
 */
static bool seen_resize(struct seen_code *seen, struct seen_function *function, uint64_t start,
			uint64_t end)
{
	uint64_t size_bytes = end - start;
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
	uint64_t size_bytes = bounds.end - bounds.start;

	if (bounds.end <= bounds.start)
		return NULL;
	if (size_bytes > ANNOTATION_MAX_BYTES)
		size_bytes = ANNOTATION_MAX_BYTES;
	if (!seen_count_pages(seen, sample->time_ns, seen_pages(bounds.start, size_bytes)) ||
	    !seen_is_valid(sample))
		return NULL;
	if (!function)
		function = seen_insert(seen, sample->frame);
	if (!function || !seen_resize(seen, function, bounds.start, bounds.end))
		return NULL;
	function->no_bounds = bounds.unknown;
	seen_set_place(function, bounds.mapping);
	return function;
}

void seen_code_add(struct seen_code *seen, const struct seen_sample *sample)
{
	struct seen_function *function = seen_find(seen, sample->frame);

	if (function) {
		function->used_ns = sample->time_ns;
		/*
		 * A vCPU's first sample may have been taken before Xen told the width. A program
		 * that runs the same code with two widths does not get it read at each sample.
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

/* --- what is called --------------------------------------------------------------------------- */

/* What an annotation is built with. */
struct seen_pass {
	struct seen_code *seen;
	struct frames *frames;
	const struct space *kernel;
	struct seen_function *function;
	struct annotation *annotation;
	size_t capacity;
	bool failed;
};

/*
 * Finds the symbol at ADDRESS of the guest, and returns its image. *ENTRY has addresses in the
 * image, and an address in the guest is higher by *BIAS. NULL: the symbol is not known.
 */
static const struct image *seen_find_symbol(struct seen_pass *pass, uint64_t address,
					    uint64_t *bias, struct symtab_entry *entry)
{
	const struct mapping *mapping;
	const struct image *image = NULL;

	if (pass->function->kernel) {
		if (!pass->kernel ||
		    !space_find_symbol(pass->kernel, address, entry, &mapping))
			return NULL;
		entry->start -= mapping->bias;
		entry->end -= mapping->bias;
		*bias = mapping->bias;
		return mapping->image;
	}
	*bias = pass->function->bias;
	if (pass->function->place)
		image = image_place_get(&pass->function->place);
	if (!image || !image->symtab || !symtab_find(image->symtab, address - *bias, entry))
		return NULL;
	return image;
}

static void seen_remember_call(struct seen_code *seen, uint32_t frame, uint64_t address,
			       uint64_t size_bytes)
{
	if (vector_reserve(seen->calls, seen->calls_capacity, seen->n_calls + 1))
		seen->calls[seen->n_calls++] = (struct seen_call){ frame, address, size_bytes };
}

static void seen_add_target(struct seen_pass *pass, uint32_t distance, uint64_t address)
{
	struct annotation *annotation = pass->annotation;
	struct annotation_target target = { .distance = distance, .frame = FRAME_NONE };
	const struct image *image;
	struct symtab_entry entry;
	uint64_t bias;

	image = seen_find_symbol(pass, address, &bias, &entry);
	if (image) {
		target.frame = frames_intern_function(
			pass->frames,
			&(struct frame_function){
				pass->function->kernel ? FRAME_KIND_KERNEL : FRAME_KIND_USERLAND,
				entry.name, image->name, entry.start, &image->build_id, NULL });
		target.offset = address - bias - entry.start;
		seen_remember_call(pass->seen, target.frame, entry.start + bias,
				   entry.end - entry.start);
	}
	if (!vector_reserve(annotation->targets, pass->capacity, annotation->n_targets + 1))
		pass->failed = true;
	else
		annotation->targets[annotation->n_targets++] = target;
}

/* Finds where calls lead, and jumps that leave the function. */
static void seen_find_targets(struct seen_pass *pass)
{
	const struct annotation *annotation = pass->annotation;

	pass->seen->caller = pass->function->frame;
	pass->seen->n_calls = 0;
	for (uint32_t at = 0; at < annotation->n_bytes && !pass->failed;) {
		const struct code code = annotation_get_code(annotation, at);
		struct code_step step = disassemble_step(&code);

		if (step.target && (step.flow == CODE_CALL ||
				    step.target - annotation->address >= annotation->size_bytes))
			seen_add_target(pass, at, step.target);
		at += step.length;
	}
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

/*
 * Reads the code of FRAME, if the function that was built last calls FRAME. NULL: it does not, or
 * nothing can be read.
 */
static struct seen_function *seen_read_called(struct seen_code *seen, uint32_t frame,
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
	if (!function ||
	    !seen_resize(seen, function, call->address, call->address + call->size_bytes))
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

/* --- source lines ----------------------------------------------------------------------------- */

static void seen_find_lines(struct seen_pass *pass)
{
	struct annotation *annotation = pass->annotation;
	const struct image *image;
	struct symtab_entry entry;
	uint64_t bias;

	image = seen_find_symbol(pass, annotation->address, &bias, &entry);
	if (!image)
		return;
	annotation->line_file = image->lines;
	annotation->build_id = image->build_id;
	annotation->line_address = annotation->address - bias;
	if (!image->lines_by_symbol)
		return;
	annotation->line_address = annotation->address - entry.start;
	snprintf(annotation->line_symbol, sizeof(annotation->line_symbol), "%s", entry.name);
}

/* --- building --------------------------------------------------------------------------------- */

static bool seen_fill(struct annotation *annotation, const struct seen_function *function)
{
	annotation->bytes = malloc(function->n_bytes);
	if (!annotation->bytes)
		return false;
	memcpy(annotation->bytes, function->bytes, function->n_bytes);
	memcpy(annotation->missing, function->missing, sizeof(annotation->missing));
	annotation->no_bounds = function->no_bounds;
	annotation->word_bytes = function->word_bytes;
	annotation->arch = function->root.width == ROOT_ARM64 ? ARCH_ARM64 : ARCH_X86;
	annotation->address = function->start;
	annotation->size_bytes = function->size_bytes;
	annotation->n_bytes = function->n_bytes;
	return true;
}

static bool seen_has_any(const struct seen_function *function)
{
	for (unsigned i = 0; function->n_bytes &&
			     i < seen_pages(function->start, function->n_bytes); i++)
		if (!function->missing[i])
			return true;
	return false;
}

static uint64_t seen_hash(const struct annotation *annotation)
{
	uint64_t hash = hash_word(annotation->frame, annotation->address);

	hash = hash_word(hash, annotation->word_bytes | annotation->arch << 8);
	hash = hash_bytes(hash, annotation->bytes, annotation->n_bytes);
	hash = hash_bytes(hash, annotation->missing, sizeof(annotation->missing));
	for (size_t i = 0; i < annotation->n_targets; i++)
		hash = hash_word(hash, annotation->targets[i].frame);
	return hash;
}

/* 32-bit Arm code, below a kernel of 32 or of 64 bits. */
static bool seen_is_arm32(const struct seen_function *function)
{
	return root_is_arm(function->root) && function->word_bytes == sizeof(uint32_t);
}

struct xtop_error *seen_code_build(struct seen_code *seen, uint32_t frame, struct frames *frames,
				   const struct space *kernel, struct memory *memory,
				   struct annotation **annotationp)
{
	struct annotation *annotation = calloc(1, sizeof(*annotation));
	struct seen_pass pass = { .seen = seen, .frames = frames, .kernel = kernel,
				  .annotation = annotation };
	struct seen_function *function = seen_find(seen, frame);

	if (!annotation)
		return error_create("no memory for a function's code");
	annotation->frame = frame;
	annotation->lack = ANNOTATION_NOT_READ;
	if (!function)
		function = seen_read_called(seen, frame, memory);
	if (function && seen_is_arm32(function)) {
		annotation->lack = ANNOTATION_ARM32;
	} else if (function && seen_has_any(function)) {
		pass.function = function;
		pass.failed = !seen_fill(annotation, function);
		annotation->lack = ANNOTATION_HAS_CODE;
		if (!pass.failed) {
			seen_find_lines(&pass);
			seen_find_targets(&pass);
		}
	} else if (!frame_is_function(frames_get(frames, frame))) {
		annotation->lack = ANNOTATION_NO_CODE;
	}
	if (pass.failed) {
		annotation_destroy(annotation);
		return error_create("no memory for a function's code");
	}
	annotation->version = seen_hash(annotation);
	*annotationp = annotation;
	return NULL;
}

void annotation_destroy(struct annotation *annotation)
{
	if (!annotation)
		return;
	free(annotation->bytes);
	free(annotation->counts);
	free(annotation->targets);
	free(annotation->lines);
	free(annotation);
}
