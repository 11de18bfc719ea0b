/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function's code as an annotation, with what it calls and its source lines; see seen_code.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "profile/seen_code.h"
#include "profile/seen_function.h"
#include "xtop/base/vector.h"
#include "xtop/unwind/disassemble.h"

/* What building an annotation needs. */
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

/* --- what is called --------------------------------------------------------------------------- */

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
