/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .ARM.exidx and .ARM.extab (IHI 0038 §5, §6.3); see exidx.h. An entry of the index has two words:
 *
 *   0          the function's distance from this word (bits 30..0, signed)
 *   1          1: the function cannot be unwound
 *              bit 31 set: the function's unwinding instructions, in the form of §6.3
 *              else the distance of the function's entry in .ARM.extab from this word
 *
 *   an entry of .ARM.extab, in words with the most significant byte first
 *   10000000 i  i  i                 three instructions
 *   100000xx n  i  i   and n words   xx 01 or 10: two instructions, and four in each further word
 *   0...                             a language's routine, then g++'s form: n i i i, and n words
 *
 * Entries ascend, and each entry holds up to the next entry. Linkers end the index with an entry
 * that cannot be unwound. All bytes are the guest's. Resolver's thread.
 */
#include "config.h"

#include "unwind/exidx.h"

#include <stdlib.h>

#include "unwind/cfi_builder.h"
#include "unwind/cursor_arm32.h"
#include "unwind/links_arm32.h"
#include "xtop/base/work.h"

#define EXIDX_ENTRY_BYTES   8
#define EXIDX_CANNOT_UNWIND 1
#define EXIDX_INLINE        0x80000000
#define EXIDX_LAST_BYTES    256  /* bytes of code for which the last entry holds */
#define EXIDX_MAX_BYTES     1024 /* one function's unwinding instructions: n has 8 bits */

struct exidx {
	struct cfi *rows;
	struct links *links; /* borrowed; NULL: no instructions are read */
	bool is_linux;
};

/* --- the sections ----------------------------------------------------------------------------- */

static bool exidx_read(const struct exidx_section *section, uint64_t offset, uint32_t *word)
{
	if (!section->bytes || offset > section->size_bytes ||
	    section->size_bytes - offset < sizeof(*word))
		return false;
	memcpy(word, section->bytes + offset, sizeof(*word));
	return true;
}

/* The address to which WORD, a word at ADDRESS, refers: R_ARM_PREL31. */
static uint32_t exidx_target(uint32_t word, uint32_t address)
{
	return address + (uint32_t)((int32_t)(word << 1) >> 1);
}

struct exidx_bytes {
	size_t n;
	uint8_t bytes[EXIDX_MAX_BYTES];
};

/* Adds the N low bytes of WORD, the most significant first. */
static void exidx_add(struct exidx_bytes *to, uint32_t word, unsigned n)
{
	while (n-- && to->n < EXIDX_MAX_BYTES)
		to->bytes[to->n++] = (uint8_t)(word >> 8 * n);
}

/*
 * Reads the instructions of the .ARM.extab entry at ADDRESS. Returns false if its form is unknown.
 */
static bool exidx_read_entry(const struct exidx_section *table, uint32_t address,
			     struct exidx_bytes *to)
{
	uint64_t offset = address - table->address;
	uint32_t word, n_more = 0;

	to->n = 0;
	if (!exidx_read(table, offset, &word))
		return false;
	if (!(word & EXIDX_INLINE)) {
		offset += sizeof(word);
		if (!exidx_read(table, offset, &word))
			return false;
		n_more = word >> 24;
		exidx_add(to, word, 3);
	} else if (word >> 24 == 0x80) {
		exidx_add(to, word, 3);
	} else if (word >> 24 == 0x81 || word >> 24 == 0x82) {
		n_more = word >> 16 & 0xff;
		exidx_add(to, word, 2);
	} else {
		return false;
	}
	for (uint32_t i = 0; i < n_more; i++) {
		offset += sizeof(word);
		if (!exidx_read(table, offset, &word))
			return false;
		exidx_add(to, word, 4);
	}
	return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct cfi_rule exidx_rule_of(const struct exidx_sections *sections, uint32_t offset,
				     size_t *left_bytes)
{
	uint32_t at = sections->index.address + offset + 4, word;
	struct exidx_bytes instructions = { .n = 0 };

	if (!exidx_read(&sections->index, offset + 4, &word))
		return (struct cfi_rule){ .kind = RULE_NONE };
	if (word == EXIDX_CANNOT_UNWIND)
		return (struct cfi_rule){ .kind = RULE_OUTERMOST };
	if (word & EXIDX_INLINE) {
		if (word >> 24 != 0x80)
			return (struct cfi_rule){ .kind = RULE_NONE };
		exidx_add(&instructions, word, 3);
	} else if (!exidx_read_entry(&sections->table, exidx_target(word, at), &instructions)) {
		return (struct cfi_rule){ .kind = RULE_NONE };
	}
	if (instructions.n > *left_bytes)
		return (struct cfi_rule){ .kind = RULE_NONE };
	*left_bytes -= instructions.n;
	return exidx_rule(instructions.bytes, instructions.n);
}

/* Reads where the function of the entry at OFFSET begins. Returns false after the last entry. */
static bool exidx_read_start(const struct exidx_section *index, uint32_t offset, uint32_t *start)
{
	uint32_t word;

	if (!exidx_read(index, offset, &word))
		return false;
	*start = exidx_target(word, index->address + offset) & ~1U;
	return true;
}

/* Adds the rows of all entries. Entries that do not ascend are left out and counted. */
static void exidx_add_rows(struct cfi_builder *rows, const struct exidx_sections *sections)
{
	size_t left_bytes = CFI_MAX_PROGRAM_BYTES;
	uint64_t reached = rows->cfi->base;
	uint32_t start;

	for (uint32_t offset = 0; exidx_read_start(&sections->index, offset, &start) &&
				  offset / EXIDX_ENTRY_BYTES < CFI_MAX_FDES &&
				  rows->cfi->n_rows + 2 < CFI_MAX_ROWS && !rows->no_memory &&
				  !work_is_over(sections->work);
	     offset += EXIDX_ENTRY_BYTES) {
		struct cfi_rule rule;

		if (start < reached) {
			rows->cfi->n_refused++;
			continue;
		}
		rule = exidx_rule_of(sections, offset, &left_bytes);
		cfi_builder_add(rows, start, &rule);
		rows->cfi->n_fdes++;
		reached = (uint64_t)start + 1;
	}
	if (rows->cfi->n_rows && reached + EXIDX_LAST_BYTES - rows->cfi->base < UINT32_MAX)
		cfi_builder_add(rows, reached + EXIDX_LAST_BYTES, &cfi_rule_none);
}

struct xtop_error *exidx_compile(const struct exidx_sections *sections, struct exidx **exidxp)
{
	struct cfi_builder rows = { 0 };
	struct exidx *exidx;
	uint32_t base;

	*exidxp = NULL;
	if (sections->index.size_bytes >= UINT32_MAX || sections->table.size_bytes >= UINT32_MAX ||
	    !exidx_read_start(&sections->index, 0, &base))
		return NULL;
	exidx = calloc(1, sizeof(*exidx));
	if (exidx && cfi_builder_init(&rows, base)) {
		exidx_add_rows(&rows, sections);
		exidx->rows = cfi_builder_finish(&rows);
	}
	cfi_builder_deinit(&rows);
	if (!exidx || !exidx->rows) {
		free(exidx);
		return error_create("out of memory for .ARM.exidx");
	}
	exidx->is_linux = sections->is_linux;
	*exidxp = exidx;
	return NULL;
}

void exidx_destroy(struct exidx *exidx)
{
	if (!exidx)
		return;
	cfi_destroy(exidx->rows);
	free(exidx);
}

size_t exidx_memory_bytes(const struct exidx *exidx)
{
	return sizeof(*exidx) + cfi_memory_bytes(exidx->rows);
}

void exidx_set_links(struct exidx *exidx, struct links *links)
{
	exidx->links = links;
}

/* --- a step ----------------------------------------------------------------------------------- */

/* Whether lr has the return address of an interrupted function that saves lr on the stack. */
static bool exidx_is_bare(const struct cfi_rule *rule, struct exidx *exidx, uint64_t pc)
{
	bool in_link;

	return rule->slot[PRESERVED_RETURN] < rule->n_words && exidx->links &&
	       links_find(exidx->links, pc, true, &in_link) && in_link;
}

static enum unwind_step exidx_step_thumb(const struct cfi_rule *rule, struct exidx *exidx,
					 uint64_t pc, struct cursor *cursor)
{
	if (!exidx_is_bare(rule, exidx, pc))
		return cfi_arm32_rule_step(rule, cursor);
	if (!cursor->regs[REG_ARM32_LR])
		return STEP_OUTERMOST;
	cursor_arm32_go_to(cursor, cursor->regs[REG_ARM32_LR]);
	cursor->known &= cfi_machine_arm32.preserved_mask;
	cursor->interrupted = false;
	return STEP_CALLER;
}

/*
 * Changes RULE for an interrupted function that has made only FRAME so far. Values that the
 * function has not saved yet are in their registers. If lr has changed, the function has saved all
 * registers.
 */
static struct cfi_rule exidx_adapt(const struct cfi_rule *rule, const struct frame_arm32 *frame)
{
	struct cfi_rule adapted = *rule;

	if (!frame->in_link && -rule->low * (int64_t)sizeof(uint32_t) > frame->depth_bytes)
		return adapted;
	adapted.reg = REG_SP;
	adapted.offset = (int32_t)frame->depth_bytes;
	if (!frame->in_link)
		return adapted;
	adapted.slot[PRESERVED_RETURN] = CFI_RULE_WORDS;
	if (-rule->low * (int64_t)sizeof(uint32_t) > frame->depth_bytes)
		adapted.n_words = 0;
	return adapted;
}

static enum unwind_step exidx_step_first(const struct cfi_rule *rule, struct exidx *exidx,
					 uint64_t pc, struct cursor *cursor)
{
	struct cfi_rule adapted = *rule;
	struct frame_arm32 frame;

	if (cursor->thumb)
		return exidx_step_thumb(rule, exidx, pc, cursor);
	if (exidx->links && links_find_frame(exidx->links, pc, &frame))
		adapted = exidx_adapt(rule, &frame);
	return cfi_arm32_rule_step(&adapted, cursor);
}

/* A step to interrupted kernel code. The kernel has saved all registers of this code. */
static enum unwind_step exidx_step_registers(const struct cfi_rule *rule, struct cursor *cursor)
{
	uint64_t words[PT_ARM32_WORDS];

	if (cursor->user || !(cursor->known >> rule->reg & 1))
		return STEP_NOT_COVERED;
	if (!cursor_read_short(cursor, cursor->regs[rule->reg] + rule->offset, words,
			       PT_ARM32_WORDS))
		return STEP_CUT;
	cursor_arm32_set(cursor, words);
	return STEP_CALLER;
}

/*
 * Whether code that is marked as not unwindable has no caller. Linkers mark all code without
 * tables. In Linux marked code has no caller. In other programs the chain of frame pointers must
 * end there, too, as at the start of a stack.
 */
static bool exidx_is_outermost(const struct exidx *exidx, const struct cursor *cursor)
{
	return !cursor->interrupted && (exidx->is_linux || (cursor->known >> REG_ARM32_R11 & 1 &&
							    !cursor->regs[REG_ARM32_R11]));
}

enum unwind_step exidx_step(struct exidx *exidx, uint64_t bias, struct cursor *cursor)
{
	uint64_t pc = cursor_pc(cursor) - bias;
	const struct cfi_rule *rule;

	if (!cursor_is_arm32(cursor))
		return STEP_NOT_COVERED;
	rule = cfi_find(exidx->rows, pc);
	switch (rule ? (enum cfi_rule_kind)rule->kind : RULE_NONE) {
	case RULE_REGISTERS_ARM32:
		return exidx_step_registers(rule, cursor);
	case RULE_CFA_ARM32:
		return cursor->interrupted ? exidx_step_first(rule, exidx, pc, cursor)
					   : cfi_arm32_rule_step(rule, cursor);
	case RULE_OUTERMOST:
		return exidx_is_outermost(exidx, cursor) ? STEP_OUTERMOST : STEP_NOT_COVERED;
	default:
		return STEP_NOT_COVERED;
	}
}
