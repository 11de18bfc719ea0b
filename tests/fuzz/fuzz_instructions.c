/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function's bytes as instructions: rows, jumps, weights and text. The input: where the function
 * lies and what is missing of it, the size of its words, the architecture, the syntax, a few
 * samples, its code.
 */
#include "config.h"

#include "fuzz.h"
#include "xtop/query/instructions.h"

#define MAX_COUNTS 8

static void check_rows(const struct instructions *instructions, const struct annotation *annotation)
{
	uint32_t at = 0;

	for (size_t i = 0; i < instructions->n; i++) {
		const struct instruction_row *row = &instructions->rows[i];

		fuzz_must(row->distance == at && row->length, "rows follow each other");
		fuzz_must(row->jump == INSTRUCTION_NONE || row->jump < instructions->n,
			  "jumps lead to rows");
		fuzz_must(row->target == INSTRUCTION_NONE || row->target < annotation->n_targets,
			  "targets exist");
		at += row->length;
	}
	fuzz_must(at == annotation->n_bytes, "all bytes are in a row");
}

static void print_rows(const struct instructions *instructions, const struct annotation *annotation,
		       const struct frames *frames, struct instruction_format format)
{
	for (size_t i = 0; i < instructions->n; i++) {
		char text[INSTRUCTION_TEXT_BYTES], address[24];

		instructions_print(annotation, frames, &instructions->rows[i], &format, text);
		instructions_print_address(annotation, &instructions->rows[i], &format, address);
		fuzz_must(*text && strlen(text) < sizeof(text), "each row has a text");
		for (const char *c = text; *c; c++)
			fuzz_must(*c >= ' ' && *c < 0x7f, "of plain characters");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct annotation annotation = { .version = 1 };
	struct annotation_count counts[MAX_COUNTS] = { 0 };
	struct annotation_target target = { .frame = FRAME_NONE };
	struct instructions instructions = { 0 };
	struct instruction_format format;
	struct frames *frames;
	uint8_t flags = fuzz_u8(&fuzz);

	format = (struct instruction_format){ .syntax = flags & 1, .addresses = flags >> 1 & 1 };
	annotation.address = (uint64_t)(int64_t)(int32_t)fuzz_u32(&fuzz);
	annotation.word_bytes = flags & 32 ? 4 : 8;
	annotation.arch = flags & 64 ? ARCH_ARM64 : ARCH_X86;
	annotation.missing[0] = flags & 4;
	annotation.missing[1] = flags & 8;
	annotation.counts = counts;
	annotation.n_counts = fuzz_u8(&fuzz) % MAX_COUNTS;
	for (size_t i = 0; i < annotation.n_counts; i++)
		counts[i] = (struct annotation_count){ fuzz_u16(&fuzz), 1, 1, 1 };
	annotation.targets = &target;
	annotation.n_targets = 1;
	target.distance = fuzz_u8(&fuzz);
	annotation.n_bytes = (uint32_t)(fuzz.left_bytes < 4096 ? fuzz.left_bytes : 4096);
	annotation.bytes = (uint8_t *)fuzz.at;
	annotation.size_bytes = annotation.n_bytes;
	fuzz_succeed(frames_create(NULL, &frames));
	fuzz_succeed(instructions_update(&instructions, &annotation));
	check_rows(&instructions, &annotation);
	print_rows(&instructions, &annotation, frames, format);
	if (instructions.n)
		instructions_hottest(&instructions, flags & 16);
	instructions_deinit(&instructions);
	frames_destroy(frames);
	return 0;
}
