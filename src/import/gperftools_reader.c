/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gperftools' profiles (docs/cpuprofile-fileformat.html and src/heap-profile-table.cc of
 * gperftools). A CPU profile has words of the program's machine, 32 or 64 bits:
 *
 *	0 3 0 PERIOD 0                  the head: 3 words follow; the period in microseconds
 *	COUNT N ADDRESS * N             a stack, innermost first, that was met COUNT times
 *	0 1 0                           the end
 *
 * and then the text of /proc/PID/maps. A heap profile is text:
 *
 *	heap profile:    3:    1024 [   10:     5000] @ heap_v2/524288
 *	     1:      512 [     4:     2000] @ 0x400dce 0x4007d0
 *	MAPPED_LIBRARIES:
 *	00400000-00404000 r-xp 00000000 08:01 123 /usr/bin/prog
 *
 * with the objects and bytes in use, and all that were allocated. A profile of contention is text,
 * too, with the cycles that were waited and the number of waits:
 *
 *	--- contention:
 *	cycles/second = 3201000000
 *	sampling period = 100
 *	  19490304  27 @ 0xbccc97 0xc61202
 *
 * None of them has names: a frame is an address in a file.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/readers.h"
#include "xtop/base/vector.h"
#include "xtop/import/import.h"

#define GPERF_MAX_BYTES    LIMIT(256U << 20, 1U << 16)
#define GPERF_MAX_MAPPINGS LIMIT(65536, 256)
#define GPERF_HEAD_WORDS   5
#define GPERF_NS_PER_US    1000
#define GPERF_MAX_COUNT    0x1p53
#define GPERF_DEFAULT      "inuse_space"

reader_knows_fn gperftools_knows;
reader_read_fn gperftools_read;

struct gperf_mapping {
	uint64_t start, end, offset;
	bool has_offset;
	char *file;
};

struct gperf_reader {
	struct builder *builder;
	char *bytes; /* the whole file, with a NUL after it */
	size_t n, capacity;
	bool is_text;                   /* a profile of the heap or of contention */
	struct gperf_mapping *mappings; /* ascending */
	size_t n_mappings, mappings_capacity;
	uint32_t
		frames[BUILDER_MAX_STACK]; /* FIRST and later, outermost first; filled backwards */
	size_t first;
};

/* --- words ------------------------------------------------------------------------------------ */

struct gperf_words {
	const char *bytes;
	size_t n;      /* words */
	unsigned size; /* bytes of a word */
	bool swapped;
};

static uint64_t gperf_word(const struct gperf_words *words, size_t i)
{
	uint64_t large;
	uint32_t small;

	if (words->size == sizeof(large)) {
		memcpy(&large, words->bytes + i * sizeof(large), sizeof(large));
		return words->swapped ? __builtin_bswap64(large) : large;
	}
	memcpy(&small, words->bytes + i * sizeof(small), sizeof(small));
	return words->swapped ? __builtin_bswap32(small) : small;
}

/* Finds the size and the byte order of the file's words. False: it is no CPU profile. */
static bool gperf_find_words(const char *bytes, size_t n, struct gperf_words *words)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		*words = (struct gperf_words){ bytes, 0, kind & 1 ? 4 : 8, kind & 2 };
		words->n = n / words->size;
		if (words->n >= GPERF_HEAD_WORDS && !gperf_word(words, 0) &&
		    gperf_word(words, 1) >= 3 && gperf_word(words, 1) < 64 &&
		    !gperf_word(words, 2) && gperf_word(words, 3) > 0 &&
		    gperf_word(words, 3) < 1U << 31)
			return true;
	}
	return false;
}

static bool gperf_is_heap(const struct import_head *head)
{
	return head->is_text && !strncmp(head->text, "heap profile:", 13);
}

static bool gperf_is_locks(const struct import_head *head)
{
	return head->is_text && !strncmp(head->text, "--- contention", 14);
}

bool gperftools_knows(const struct import_head *head)
{
	struct gperf_words words;

	return gperf_is_heap(head) || gperf_is_locks(head) ||
	       gperf_find_words(head->bytes, head->n, &words);
}

/* --- mappings --------------------------------------------------------------------------------- */

/* Takes a line of /proc/PID/maps, or "START-END: FILE". Other lines are left out. */
static bool gperf_add_mapping(struct gperf_reader *reader, char *line)
{
	struct gperf_mapping mapping = { .start = 0 };
	int file = 0;
	int n = sscanf(line, " %" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &mapping.start,
		       &mapping.end, &mapping.offset, &file);

	mapping.has_offset = file != 0;
	if (n < 2 || (!file && sscanf(line, " %*x-%*x: %n", &file) < 0) || !file || !line[file])
		return true;
	mapping.file = line + file;
	if (reader->n_mappings == GPERF_MAX_MAPPINGS)
		return true;
	if (!vector_reserve(reader->mappings, reader->mappings_capacity, reader->n_mappings + 1))
		return false;
	reader->mappings[reader->n_mappings++] = mapping;
	return true;
}

static int gperf_compare(const void *a, const void *b)
{
	const struct gperf_mapping *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void gperf_sort_mappings(struct gperf_reader *reader)
{
	if (reader->n_mappings)
		qsort(reader->mappings, reader->n_mappings, sizeof(*reader->mappings),
		      gperf_compare);
}

/* TEXT is changed: its lines end in NULs. */
static bool gperf_read_mappings(struct gperf_reader *reader, char *text)
{
	for (char *line = strtok_r(text, "\n", &text); line; line = strtok_r(NULL, "\n", &text))
		if (!gperf_add_mapping(reader, line))
			return false;
	gperf_sort_mappings(reader);
	return true;
}

static const struct gperf_mapping *gperf_find_mapping(const struct gperf_reader *reader,
						      uint64_t address)
{
	size_t low = 0, high = reader->n_mappings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (address < reader->mappings[middle].start)
			high = middle;
		else if (address >= reader->mappings[middle].end)
			low = middle + 1;
		else
			return &reader->mappings[middle];
	}
	return NULL;
}

/* --- stacks ----------------------------------------------------------------------------------- */

/*
 * Stacks are pushed from the innermost frame on. The address after a call may belong to the next
 * function. The interrupted instruction of a CPU profile is no such address. In text, the innermost
 * frame has called the allocator, or the lock (pprof's profile/legacy_profile.go, parseHeap() and
 * parseContention()).
 */
static bool gperf_push(struct gperf_reader *reader, uint64_t address)
{
	const struct gperf_mapping *mapping;
	struct code_place place;

	if (!reader->first)
		return false;
	if (address && (reader->is_text || reader->first < BUILDER_MAX_STACK))
		address--;
	mapping = gperf_find_mapping(reader, address);
	place = (struct code_place){ .address = address };
	if (mapping) {
		place.file = mapping->file;
		place.is_mapped = mapping->has_offset;
		place.start = mapping->start;
		place.offset = mapping->offset;
	}
	reader->frames[--reader->first] = builder_intern_place(reader->builder, &place);
	return true;
}

static bool gperf_add(struct gperf_reader *reader, uint64_t samples, double ticks)
{
	return builder_add(reader->builder, reader->frames + reader->first,
			   BUILDER_MAX_STACK - reader->first, samples, ticks);
}

/* Takes "0x400dce 0x4007d0", innermost first. False: there are too many. */
static bool gperf_push_addresses(struct gperf_reader *reader, const char *text)
{
	uint64_t address;
	char *end;

	for (reader->first = BUILDER_MAX_STACK;; text = end) {
		address = strtoull(text, &end, 16);
		if (end == text)
			return true;
		if (!gperf_push(reader, address))
			return false;
	}
}

/* Adds the stack; COUNT events have VALUE in all. Returns what is wrong; NULL: nothing. */
static const char *gperf_add_value(struct gperf_reader *reader, double count, double value)
{
	reader->builder->n_read++;
	value = trunc(value); /* pprof has whole bytes, objects and nanoseconds */
	if (!(value > 0))
		return NULL;
	if (!(value < GPERF_MAX_COUNT && count < GPERF_MAX_COUNT))
		return "a value of 2^53 or more";
	return gperf_add(reader, count >= 1 ? (uint64_t)(count + 0.5) : 1, value)
		       ? NULL
		       : "too many samples";
}

/* --- CPU profiles ----------------------------------------------------------------------------- */

/* The index of the word after the last stack; 0: the file is damaged. */
static size_t gperf_find_end(const struct gperf_words *words)
{
	size_t at = 2 + (size_t)gperf_word(words, 1);

	while (at + 3 <= words->n) {
		uint64_t n = gperf_word(words, at + 1);

		if (!gperf_word(words, at) && n == 1 && !gperf_word(words, at + 2))
			return at;
		if (n > words->n - at - 2)
			return 0;
		at += 2 + (size_t)n;
	}
	return 0;
}

static struct xtop_error *gperf_read_stack(struct gperf_reader *reader,
					   const struct gperf_words *words, size_t at)
{
	uint64_t count = gperf_word(words, at), n = gperf_word(words, at + 1);

	reader->first = BUILDER_MAX_STACK;
	for (uint64_t i = 0; i < n; i++)
		if (!gperf_push(reader, gperf_word(words, at + 2 + i)))
			return error_create("damaged at byte %zu: a stack is too deep",
					    at * words->size);
	if (count && ((double)count >= GPERF_MAX_COUNT || !gperf_add(reader, count, (double)count)))
		return error_create("damaged at byte %zu: too many samples", at * words->size);
	return NULL;
}

static struct xtop_error *gperf_read_cpu(struct gperf_reader *reader,
					 const struct gperf_words *words)
{
	struct xtop_error *error = NULL;
	size_t end = gperf_find_end(words);

	if (!end)
		return error_create("damaged: gperftools' profile is cut short");
	if (!gperf_read_mappings(reader, reader->bytes + (end + 3) * words->size))
		return error_create("out of memory");
	builder_set_value(reader->builder, "cpu", "nanoseconds",
			  (double)gperf_word(words, 3) * GPERF_NS_PER_US);
	for (size_t at = 2 + (size_t)gperf_word(words, 1); at < end && !error;
	     at += 2 + (size_t)gperf_word(words, at + 1))
		error = gperf_read_stack(reader, words, at);
	return error;
}

/* --- heap profiles ---------------------------------------------------------------------------- */

static const char *const gperf_values[] = { "inuse_objects", "inuse_space", "alloc_objects",
					    "alloc_space" };
#define N_GPERF_VALUES 4

struct gperf_heap {
	unsigned value; /* index of what is read in gperf_values[] */
	double rate;    /* mean bytes between two samples; 0: all allocations are there */
};

/*
 * How many allocations a sampled one of BYTES in OBJECTS stands for: a large allocation is more
 * likely to be sampled than a small one (gperftools' src/pprof, AdjustSamples()).
 */
static double gperf_scale(const struct gperf_heap *heap, double objects, double bytes)
{
	return heap->rate > 1 && objects > 0 && bytes > 0
		       ? 1 / -expm1(-bytes / objects / heap->rate)
		       : 1;
}

/* Parses "1: 512 [ 4: 2000] @". Returns what follows; NULL: it is no such line. */
static const char *gperf_parse_values(const char *line, double values[N_GPERF_VALUES])
{
	int end = 0;

	if (sscanf(line, " %lf: %lf [ %lf: %lf ] @%n", &values[0], &values[1], &values[2],
		   &values[3], &end) < N_GPERF_VALUES ||
	    !end)
		return NULL;
	return line + end;
}

static const char *gperf_add_heap_line(struct gperf_reader *reader, const struct gperf_heap *heap,
				       const char *line)
{
	unsigned first = heap->value & 2;
	double values[N_GPERF_VALUES], scale;
	const char *addresses = gperf_parse_values(line, values);

	if (!addresses)
		return "no stack of a heap profile";
	if (!gperf_push_addresses(reader, addresses))
		return "more functions than xtop reads";
	scale = gperf_scale(heap, values[first], values[first + 1]);
	return gperf_add_value(reader, values[first] * scale, values[heap->value] * scale);
}

/* Reads HEAD, the first line of a heap profile. */
static struct xtop_error *gperf_begin_heap(struct gperf_reader *reader, const char *head,
					   struct gperf_heap *heap)
{
	const char *wanted = reader->builder->wanted, *kind = strstr(head, "@ ");
	unsigned value = 0;
	char name[16];
	double rate;

	while (value < N_GPERF_VALUES &&
	       strcmp(wanted ? wanted : GPERF_DEFAULT, gperf_values[value]))
		value++;
	*heap = (struct gperf_heap){ .value = value };
	if (value == N_GPERF_VALUES)
		return error_create("there is no value '%s', but inuse_objects, inuse_space, "
				    "alloc_objects, alloc_space",
				    wanted);
	if (kind && sscanf(kind, "@ %15[a-z_0-9]/%lf", name, &rate) == 2)
		heap->rate = strstr(name, "_v2") ? rate : !strcmp(name, "heap") ? rate / 2 : 0;
	reader->builder->several_values = true;
	for (unsigned i = 0; i < N_GPERF_VALUES; i++)
		builder_offer_value(reader->builder, gperf_values[i], i == value);
	builder_set_value(reader->builder, gperf_values[value], value & 1 ? "bytes" : "count", 1);
	return NULL;
}

/* --- profiles of waiting for locks ------------------------------------------------------------ */

/* What the lines before the stacks of a contention profile say. */
struct gperf_locks {
	double cycles_a_second, period; /* one of PERIOD waits is in the file */
	bool counts_waits;              /* a wait counts 1, whatever its time */
};

static struct xtop_error *gperf_begin_locks(struct gperf_reader *reader, struct gperf_locks *locks)
{
	struct builder *builder = reader->builder;
	const char *wanted = builder->wanted;
	bool counts_waits = wanted && !strcmp(wanted, "contentions");

	if (wanted && !counts_waits && strcmp(wanted, "delay") != 0)
		return error_create("there is no value '%s', but contentions, delay", wanted);
	*locks = (struct gperf_locks){ 1e9, 1, counts_waits };
	builder->several_values = true;
	builder_offer_value(builder, "contentions", counts_waits);
	builder_offer_value(builder, "delay", !counts_waits);
	if (counts_waits)
		builder_set_value(builder, "contentions", "count", 1);
	else
		builder_set_value(builder, "delay", "nanoseconds", 1);
	return NULL;
}

/* Takes "cycles/second = 2000000000", "sampling period = 100" and the like. False: other lines. */
static bool gperf_set_locks(struct gperf_locks *locks, const char *line)
{
	const char *equals = strchr(line, '=');
	double value = equals ? strtod(equals + 1, NULL) : 0;

	if (!equals)
		return false;
	if (!strncmp(line, "cycles/second", 13) && value > 0)
		locks->cycles_a_second = value;
	else if (!strncmp(line, "sampling period", 15) && value > 0)
		locks->period = value;
	return true;
}

static const char *gperf_add_lock_line(struct gperf_reader *reader, struct gperf_locks *locks,
				       const char *line)
{
	double cycles, waits;
	int end = 0;

	if (sscanf(line, " %lf %lf @%n", &cycles, &waits, &end) < 2 || !end)
		return gperf_set_locks(locks, line) ? NULL : "no stack of waits";
	if (!gperf_push_addresses(reader, line + end))
		return "more functions than xtop reads";
	waits *= locks->period;
	cycles *= locks->period;
	return gperf_add_value(reader, waits,
			       locks->counts_waits ? waits : cycles * 1e9 / locks->cycles_a_second);
}

/* --- text ------------------------------------------------------------------------------------- */

/* The line after LINE, whose end is a NUL; NULL: there is none. */
static char *gperf_next_line(const struct gperf_reader *reader, char *line)
{
	line += strlen(line) + 1;
	return line < reader->bytes + reader->n ? line : NULL;
}

/* Ends each line by a NUL, and takes the mappings. */
static bool gperf_split_lines(struct gperf_reader *reader)
{
	for (size_t i = 0; i < reader->n; i++)
		if (reader->bytes[i] == '\n')
			reader->bytes[i] = '\0';
	for (char *line = reader->bytes; line; line = gperf_next_line(reader, line))
		if (!gperf_add_mapping(reader, line))
			return false;
	gperf_sort_mappings(reader);
	return true;
}

/* Whether LINE has nothing of a stack: a heading, a mapping, or what a mapping's line refers to. */
static bool gperf_is_other_line(const char *line)
{
	uint64_t start, end;

	line += strspn(line, " \t\r");
	return !*line || *line == '%' || !strncmp(line, "---", 3) ||
	       !strncmp(line, "MAPPED_LIBRARIES:", 17) ||
	       (strchr(line, '=') && !strchr(line, ' ')) ||
	       sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2;
}

static struct xtop_error *gperf_read_text(struct gperf_reader *reader, bool is_heap)
{
	struct gperf_heap heap = { 0 };
	struct gperf_locks locks = { 0 };
	struct xtop_error *error;
	uint64_t number = 1;

	if (!gperf_split_lines(reader))
		return error_create("out of memory");
	error = is_heap ? gperf_begin_heap(reader, reader->bytes, &heap)
			: gperf_begin_locks(reader, &locks);
	for (char *line = reader->bytes; !error && (line = gperf_next_line(reader, line));) {
		const char *wrong;

		number++;
		if (gperf_is_other_line(line))
			continue;
		wrong = is_heap ? gperf_add_heap_line(reader, &heap, line)
				: gperf_add_lock_line(reader, &locks, line);
		if (wrong)
			error = builder_skip(reader->builder, number, wrong);
	}
	return error;
}

/* --- the file --------------------------------------------------------------------------------- */

static struct xtop_error *gperf_load(struct gperf_reader *reader, struct import_source *source,
				     const struct import_head *head)
{
	size_t wanted, n = head->n;
	struct xtop_error *error;

	if (!vector_reserve(reader->bytes, reader->capacity, n + 1))
		return error_create("out of memory");
	memcpy(reader->bytes, head->bytes, n);
	for (reader->n = n; n;) {
		if (reader->n > GPERF_MAX_BYTES)
			return error_create("is larger than xtop reads of gperftools' files");
		if (!vector_reserve(reader->bytes, reader->capacity, 2 * reader->n + 1))
			return error_create("out of memory");
		wanted = reader->n;
		error = source_read(source, reader->bytes + reader->n, wanted, &n);
		if (error)
			return error;
		reader->n += n;
		if (n < wanted)
			break;
	}
	reader->bytes[reader->n] = '\0';
	return NULL;
}

struct xtop_error *gperftools_read(struct import_source *source, const struct import_head *head,
				   struct builder *builder)
{
	struct gperf_reader *reader = calloc(1, sizeof(*reader));
	struct gperf_words words;
	struct xtop_error *error;

	if (!reader)
		return error_create("out of memory");
	reader->builder = builder;
	source_forget(source);
	reader->is_text = gperf_is_heap(head) || gperf_is_locks(head);
	error = gperf_load(reader, source, head);
	if (!error && reader->is_text)
		error = gperf_read_text(reader, gperf_is_heap(head));
	else if (!error && gperf_find_words(reader->bytes, reader->n, &words))
		error = gperf_read_cpu(reader, &words);
	free(reader->mappings);
	free(reader->bytes);
	free(reader);
	return error;
}
