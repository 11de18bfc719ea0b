/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the profile of a file; see builder.h. */
#include "config.h"

#include "import/builder.h"
#include "xtop/import/import.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/text.h"
#include "xtop/language/language.h"

struct xtop_error *builder_init(struct builder *builder, const struct import_settings *settings)
{
	*builder = (struct builder){ .frames = settings->frames,
				     .strict = settings->strict,
				     .wanted = settings->value,
				     .names = settings->names };
	return profile_create(IMPORT_MAX_NODES, 0, settings->frames, &builder->profile);
}

void builder_deinit(struct builder *builder)
{
	profile_destroy(builder->profile);
	for (size_t i = 0; i < builder->n_values; i++)
		free(builder->values[i]);
}

struct xtop_error *builder_skip(struct builder *builder, uint64_t line, const char *what)
{
	if (builder->strict)
		return error_create("damaged in line %" PRIu64 ": %s", line, what);
	if (!builder->n_skipped++)
		snprintf(builder->first_skipped, sizeof(builder->first_skipped),
			 "line %" PRIu64 ": %s", line, what);
	return NULL;
}

void builder_note(struct builder *builder, const char *format, ...)
{
	char line[BUILDER_SKIPPED_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	text_clean_line(builder->note, sizeof(builder->note), line, strlen(line));
}

void builder_set_value(struct builder *builder, const char *type, const char *unit, double per_tick)
{
	struct snapshot_value *value = &builder->value;

	text_clean(value->type, sizeof(value->type), type ? type : "", sizeof(value->type));
	text_clean(value->unit, sizeof(value->unit), unit ? unit : "", sizeof(value->unit));
	value->per_tick = per_tick;
}

void builder_offer_value(struct builder *builder, const char *name, bool chosen)
{
	size_t at = 0;

	while (at < builder->n_values && strcmp(builder->values[at], name) != 0)
		at++;
	if (at == builder->n_values) {
		if (at == BUILDER_MAX_VALUES ||
		    strnlen(name, BUILDER_VALUE_BYTES) == BUILDER_VALUE_BYTES)
			return;
		builder->values[at] = strdup(name);
		if (!builder->values[at])
			return;
		builder->n_values++;
	}
	if (chosen)
		builder->chosen = at;
}

static void builder_count(struct builder *builder, const uint32_t *frames, size_t n,
			  uint64_t samples, double ticks)
{
	struct resolver_counts *counts = &builder->counts;
	enum unwind_stop stop = UNWIND_COMPLETE;

	/* [truncated] comes right below process and thread */
	for (size_t i = 0; i < n && i < 3; i++)
		if (frames[i] == FRAME_TRUNCATED)
			stop = UNWIND_CUT;
	if (n > SNAPSHOT_MAX_DEPTH)
		stop = UNWIND_TOO_DEEP;
	counts->samples += samples;
	counts->weight += ticks;
	counts->stops[stop] += samples;
	if (stop != UNWIND_COMPLETE)
		counts->weight_truncated += ticks;
	if (n && !frames_get(builder->frames, frames[n - 1])->unknown)
		return;
	counts->samples_unknown += samples;
	counts->weight_unknown += ticks;
}

bool builder_add(struct builder *builder, const uint32_t *frames, size_t n, uint64_t samples,
		 double ticks)
{
	if (samples > BUILDER_MAX_SAMPLES - builder->counts.samples)
		return false;
	builder_count(builder, frames, n, samples, ticks);
	profile_add(builder->profile, frames, n, 1, samples, ticks);
	return true;
}

uint32_t builder_intern(struct builder *builder, enum frame_kind kind, const char *name,
			const char *module)
{
	if (name[0] == '[') {
		if (!strcmp(name, "[truncated]"))
			return FRAME_TRUNCATED;
		if (!strcmp(name, "[evicted]"))
			return FRAME_EVICTED;
		if (!strcmp(name, "[unknown]"))
			name = NULL;
	}
	return kind == FRAME_KIND_OWNER ? frames_intern_process(builder->frames, name, NULL)
					: frames_intern(builder->frames, kind, name, module, 0);
}

static bool builder_ends_in(const char *text, const char *ending)
{
	size_t n = strlen(text), bytes = strlen(ending);

	return n > bytes && strcmp(text + n - bytes, ending) == 0;
}

/*
 * Whether MODULE is a kernel or a kernel module, by the names that perf, xtop and distributions
 * use: "vmlinux-6.1.0-13-amd64" is a kernel with debug information.
 */
static bool builder_is_kernel(const char *module)
{
	static const char *const begins[] = { "[kernel", "[guest.kernel", "vmlinux-", "vmlinuz-" };
	static const char *const ends[] = { ".ko", ".ko.gz", ".ko.xz", ".ko.zst", ".ko.debug" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(module, begins[i], strlen(begins[i])))
			return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (builder_ends_in(module, ends[i]))
			return true;
	return !strcmp(module, "vmlinux") || !strcmp(module, "vmlinux.debug");
}

static enum frame_kind builder_kind(const char *module, uint64_t address)
{
	if (!module)
		return FRAME_KIND_FUNCTION;
	/* perf writes kernel modules as "[nf_conntrack]", and "[vdso]" in user code. */
	if (builder_is_kernel(module) || (module[0] == '[' && address >> (64 - 1)))
		return FRAME_KIND_KERNEL;
	return FRAME_KIND_USERLAND;
}

uint32_t builder_intern_place(struct builder *builder, struct code_place *place)
{
	const char *module = place->file ? code_names_base(place->file) : NULL, *name = NULL;
	enum frame_kind kind = builder_kind(module, place->address);

	if (module && !strncmp(module, "[kernel.kallsyms]", 17))
		module = "[kernel]";
	place->is_kernel = kind == FRAME_KIND_KERNEL;
	if (builder->names) {
		name = code_names_find(builder->names, place);
		builder->n_addresses++;
		builder->n_unnamed += !name;
	}
	return name ? builder_intern(builder, kind, name, module)
		    : frames_intern(builder->frames, kind, NULL, module, place->address);
}

uint32_t builder_intern_code(struct builder *builder, const char *name, const char *file,
			     uint64_t address)
{
	const char *module = file ? code_names_base(file) : NULL;
	enum frame_kind kind = builder_kind(module, address);

	if (!name || !strcmp(name, "[unknown]"))
		return builder_intern_place(
			builder, &(struct code_place){ .address = address, .file = file });
	if (module && !strncmp(module, "[kernel.kallsyms]", 17))
		module = "[kernel]";
	if (!module && runtime_names_program(name))
		kind = FRAME_KIND_USERLAND; /* xtop wrote it, and did not know the program's file */
	return builder_intern(builder, kind, name, module);
}
