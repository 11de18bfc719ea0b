/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to import/: builds the profile of a file out of frames and stacks. Main's thread. */
#ifndef IMPORT_BUILDER_H
#define IMPORT_BUILDER_H

#include "xtop/import/code_names.h"
#include "xtop/import/import.h"
#include "xtop/profile/profile.h"

/* The most samples of a file. The limit keeps sums of samples far below 2^64. */
#define BUILDER_MAX_SAMPLES (1ULL << 60)
/* A deeper stack is refused. A stack of more than SNAPSHOT_MAX_DEPTH frames is shortened. */
#define BUILDER_MAX_STACK LIMIT(1U << 16, 1U << 13)

#define BUILDER_SKIPPED_BYTES 160
#define BUILDER_MAX_VALUES    64
#define BUILDER_VALUE_BYTES   1024 /* a value with a longer name cannot be chosen on the screen */

struct builder {
	struct frames *frames;
	struct profile *profile;
	struct resolver_counts counts;
	uint64_t duration_ns; /* 0: the file does not say */
	struct snapshot_value value;
	bool several_values; /* the file has more than samples and their weight */
	char *values[BUILDER_MAX_VALUES]; /* what --value can be for this file; not clean */
	size_t n_values, chosen;          /* values[chosen] is read, if there are any */
	/* Lines, or other parts of the file, that were read and that could not be read. */
	uint64_t n_read, n_skipped;
	char note[BUILDER_SKIPPED_BYTES]; /* what is left out of the profile; "": nothing; clean */
	char first_skipped
		[BUILDER_SKIPPED_BYTES]; /* place of the first skipped part, and reason; clean */
	bool strict;                     /* a skipped part is an error */
	const char *wanted;                        /* import_settings.value */
	const struct code_names *names;            /* import_settings.names */
	uint64_t n_addresses;                      /* addresses that have no name in the file */
	uint64_t n_unnamed; /* addresses that have no name in NAMES either */
};

struct xtop_error *builder_init(struct builder *builder, const struct import_settings *settings);
void builder_deinit(struct builder *builder);
/*
 * Counts a line that cannot be read. WHAT says why. With STRICT it is an error.
 */
struct xtop_error *builder_skip(struct builder *builder, uint64_t line, const char *what);
/* Says what of the file is left out. The text need not be clean. */
void builder_note(struct builder *builder, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Says what the values of the file are. Texts need not be clean; NULL: not known. */
void builder_set_value(struct builder *builder, const char *type, const char *unit,
		       double per_tick);
/* Says that the file has the value NAME. CHOSEN: it is read. NAME need not be clean. */
void builder_offer_value(struct builder *builder, const char *name, bool chosen);
/*
 * Adds a stack of N frame ids, outermost first. It has SAMPLES samples, more than 0, which together
 * weigh TICKS. False: the file has more than BUILDER_MAX_SAMPLES.
 */
bool builder_add(struct builder *builder, const uint32_t *frames, size_t n, uint64_t samples,
		 double ticks);
/*
 * The id of a frame; added if new. The names of xtop's own marks, such as "[unknown]", give these
 * marks. MODULE NULL: none. FRAME_KIND_OWNER: a process.
 */
uint32_t builder_intern(struct builder *builder, enum frame_kind kind, const char *name,
			const char *module);
/*
 * The id of a function at ADDRESS in FILE, a path or one of perf's names such as "[vdso]" and
 * "[kernel.kallsyms]". The file tells whose code it is. NAME NULL: not known. FILE NULL: none.
 */
uint32_t builder_intern_code(struct builder *builder, const char *name, const char *file,
			     uint64_t address);
/* The frame of PLACE, to which the file gives no name; NAMES may. Sets PLACE->is_kernel. */
uint32_t builder_intern_place(struct builder *builder, struct code_place *place);

#endif
