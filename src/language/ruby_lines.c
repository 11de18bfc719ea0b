/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The line that a frame of Ruby executes. struct rb_iseq_constant_body has, some words after the
 * function's names, its struct iseq_insn_info: an array of entries that begin with a line, and a
 * table from instructions to entries (iseq.c, struct succ_index_table). The table has a bit for
 * each instruction. The number of bits that are set up to an instruction is the number of its
 * entry:
 *
 *   imm_part   6 words: 9 numbers of 7 bits each, the counts up to the first 54 instructions
 *   succ_part  blocks of 512 instructions: the count before, the counts before each further 64,
 *              the bits
 */
#include "config.h"

#include "language/ruby_objects.h"

#define BODY_SIZE        4  /* number of words of instructions */
#define INFO_SEARCHED    12 /* words after the names, in which the struct is searched for */
#define FIRST_COUNTED    54 /* instructions that the first part counts */
#define COUNTED_PER_WORD 9
#define COUNT_BITS       7
#define BLOCK_COUNTED    512
#define BLOCK_FIRST      48
#define BLOCK_BYTES      80
#define BLOCK_BITS       16
#define BLOCK_COUNT_BITS 9
#define MAX_LINE         10000000

/* struct iseq_insn_info, in words */
enum { INFO_ENTRIES, INFO_POSITIONS, INFO_N_ENTRIES, INFO_TABLE, N_INFO_WORDS };

/* How many entries begin up to INSTRUCTION, by the table at TABLE. */
static uint64_t ruby_count_entries(const struct runtime_process *process, uint64_t table,
				   uint64_t instruction)
{
	uint64_t block, counts, at, bits, n = 0;
	uint32_t before = 0;

	if (instruction < FIRST_COUNTED)
		return runtime_read_word(process, table + instruction / COUNTED_PER_WORD * 8) >>
			       instruction % COUNTED_PER_WORD * COUNT_BITS &
		       ((1 << COUNT_BITS) - 1);
	instruction -= FIRST_COUNTED;
	block = table + BLOCK_FIRST + instruction / BLOCK_COUNTED * BLOCK_BYTES;
	at = instruction % BLOCK_COUNTED;
	memory_read_u32(process->memory, process->root, block, &before);
	counts = runtime_read_word(process, block + 8);
	if (at >= 64)
		n = counts >> (at / 64 - 1) * BLOCK_COUNT_BITS & ((1 << BLOCK_COUNT_BITS) - 1);
	bits = runtime_read_word(process, block + BLOCK_BITS + at / 64 * 8);
	return before + n + (uint64_t)__builtin_popcountll(bits << (63 - at % 64));
}

uint32_t ruby_read_line(const struct runtime_process *process, const struct runtime_frame *frame)
{
	uint64_t body = runtime_read_word(process, frame->code + ISEQ_BODY);
	uint64_t instruction = (frame->position - runtime_read_word(process, body + BODY_CODE)) / 8;
	uint64_t entry_bytes = ruby_read_version(process) >= RUBY_VERSION(3, 1) ? 12 : 8;
	uint32_t n_instructions = 0, line = 0;
	uint64_t words[INFO_SEARCHED], at = ruby_find_location(process, frame->code);

	memory_read_u32(process->memory, process->root, body + BODY_SIZE, &n_instructions);
	if (!at || instruction > n_instructions ||
	    !ruby_read_words(process, at, words, INFO_SEARCHED))
		return 0;
	instruction -= instruction > 0; /* the pc is after the instruction that is executed */
	for (unsigned i = 0; i + N_INFO_WORDS <= INFO_SEARCHED; i++) {
		const uint64_t *info = &words[i];
		uint64_t n = (uint32_t)info[INFO_N_ENTRIES], entry;

		if (!runtime_is_pointer(info[INFO_ENTRIES]) || info[INFO_POSITIONS] || !n ||
		    n > n_instructions || !runtime_is_pointer(info[INFO_TABLE]))
			continue;
		entry = ruby_count_entries(process, info[INFO_TABLE], instruction);
		if (!entry || entry > n)
			return 0;
		memory_read_u32(process->memory, process->root,
				info[INFO_ENTRIES] + (entry - 1) * entry_bytes, &line);
		return line <= MAX_LINE ? line : 0;
	}
	return 0;
}
