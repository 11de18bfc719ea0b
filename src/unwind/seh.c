/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One step by Windows' unwind tables (Microsoft, "x64 exception handling", struct UNWIND_INFO).
 *
 *   byte 0   version (3 bits), flags (5)    flag 4: the UNWIND_INFO continues in another one
 *        1   bytes of the prolog
 *        2   number of codes
 *        3   frame register (4 bits), its distance from rsp when it was set, in 16 bytes (4)
 *        4   codes of 2 bytes each, the last instruction of the prolog first:
 *            offset after the instruction, operation (4 bits), operand (4)
 *            then, after an even number of codes, the RUNTIME_FUNCTION in which it continues
 *
 * A step undoes the prolog's operations that have been executed. A function without an entry is a
 * leaf: it changes neither the stack pointer nor a register that it must preserve. An epilog has
 * undone some operations already, and no table says how many. But an epilog can only be
 *
 *   add $N, %rsp | lea N(%frame), %rsp    at most once, first
 *   pop %REG                              any number
 *   ret | jmp                             the last
 *
 * So the instructions at the address tell whether they are an epilog. Registers are numbered as in
 * instruction codes. All bytes are the guest's: every number is checked. Resolver's thread.
 */
#include "config.h"

#include "unwind/seh.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/sorted.h"

#define SEH_MAX_CHAIN     32  /* most UNWIND_INFOs that continue each other */
#define SEH_HEAD_BYTES    4
#define SEH_CHAINED       4   /* flag: the UNWIND_INFO continues in another one */
#define SEH_EPILOG_BYTES  48  /* a lea of 8, 8 pops of 2, a jmp of 6, rounded up */

enum seh_operation {
	SEH_PUSH,
	SEH_ALLOC_LARGE,
	SEH_ALLOC_SMALL,
	SEH_SET_FRAME,
	SEH_SAVE,
	SEH_SAVE_FAR,
	SEH_EPILOG_OR_XMM,     /* version 2: describes an epilog; 1: saves half a register */
	SEH_SPARE,
	SEH_SAVE_XMM,
	SEH_SAVE_XMM_FAR,
	SEH_MACHINE_FRAME,
	N_SEH_OPERATIONS,
};

struct seh {
	struct seh_tables tables;
};

static void seh_free_tables(const struct seh_tables *tables)
{
	free(tables->functions);
	free(tables->infos);
	if (tables->source.close)
		tables->source.close(tables->source.context);
}

struct xtop_error *seh_create(const struct seh_tables *tables, struct seh **sehp)
{
	struct seh *seh = tables->n ? malloc(sizeof(*seh)) : NULL;

	*sehp = seh;
	if (seh) {
		seh->tables = *tables;
		return NULL;
	}
	seh_free_tables(tables);
	return tables->n ? error_create("out of memory for unwind tables") : NULL;
}

void seh_destroy(struct seh *seh)
{
	if (!seh)
		return;
	seh_free_tables(&seh->tables);
	free(seh);
}

size_t seh_memory_bytes(const struct seh *seh)
{
	return sizeof(*seh) + seh->tables.n * sizeof(*seh->tables.functions) +
	       seh->tables.infos_bytes;
}

const struct seh_function *seh_find(const struct seh_tables *tables, uint64_t address)
{
	size_t n = sorted_count(tables->functions, tables->n, start, address);

	return n && address < tables->functions[n - 1].end ? &tables->functions[n - 1] : NULL;
}

/* --- a frame ---------------------------------------------------------------------------------- */

/* Registers while operations are undone. At the end they are the caller's. */
struct seh_frame {
	struct cursor *cursor;
	uint64_t regs[N_UNWIND_REGISTERS];
	uint32_t known; /* bit i: register i (enum unwind_register) is known */
	uint64_t base; /* address that saved registers' offsets are relative to */
	bool machine;  /* the processor has saved the words of an interrupted instruction */
};

static bool frame_read(struct seh_frame *frame, uint64_t address, uint64_t *word)
{
	return cursor_read(frame->cursor, address, word, 1);
}

static bool frame_pop(struct seh_frame *frame, unsigned reg)
{
	uint64_t word;

	if (!frame_read(frame, frame->regs[REG_RSP], &word))
		return false;
	frame->regs[REG_RSP] += sizeof(word);
	frame->regs[reg] = word;
	frame->known |= 1U << reg;
	return true;
}

static enum unwind_step frame_return(struct seh_frame *frame)
{
	struct cursor *cursor = frame->cursor;

	if (!frame->machine && !frame_pop(frame, REG_RIP))
		return STEP_CUT;
	if (!frame->regs[REG_RIP])
		return STEP_OUTERMOST;
	memcpy(cursor->regs, frame->regs, sizeof(frame->regs));
	cursor->known = frame->known | 1U << REG_RIP | 1U << REG_RSP;
	cursor->interrupted = frame->machine;
	return STEP_CALLER;
}

/* --- UNWIND_INFO ------------------------------------------------------------------------------ */

static uint32_t seh_u16(const uint8_t *slot)
{
	return (uint32_t)slot[0] | (uint32_t)slot[1] << 8;
}

static uint32_t seh_u32(const uint8_t *slot)
{
	return seh_u16(slot) | seh_u16(slot + 2) << 16;
}

/* The UNWIND_INFO at ADDRESS, with all codes readable. NULL if it is damaged or missing. */
static const uint8_t *seh_info(const struct seh *seh, uint32_t address)
{
	uint64_t at = (uint64_t)address - seh->tables.infos_start;
	size_t bytes = seh->tables.infos_bytes;
	const uint8_t *info;
	unsigned version;

	if (address % 4 || at >= bytes || bytes - at < SEH_HEAD_BYTES)
		return NULL;
	info = seh->tables.infos + at;
	version = info[0] & 7;
	if ((version != 1 && version != 2) ||
	    bytes - at < SEH_HEAD_BYTES + 2U * ((info[2] + 1U) & ~1U) +
				 (info[0] >> 3 & SEH_CHAINED ? sizeof(struct seh_function) : 0))
		return NULL;
	return info;
}

/* The UNWIND_INFO in which INFO continues. NULL if INFO does not continue, or if it is missing. */
static const uint8_t *seh_next_info(const struct seh *seh, const uint8_t *info)
{
	const uint8_t *function = info + SEH_HEAD_BYTES + 2 * ((info[2] + 1U) & ~1U);

	return info[0] >> 3 & SEH_CHAINED ? seh_info(seh, seh_u32(function + 8)) : NULL;
}

/* The UNWIND_INFO of the function's first part, where INFO's chain ends. */
static const uint8_t *seh_first_info(const struct seh *seh, const uint8_t *info)
{
	const uint8_t *next;

	for (unsigned i = 0; i < SEH_MAX_CHAIN && info; i++) {
		next = seh_next_info(seh, info);
		if (!next)
			break;
		info = next;
	}
	return info;
}

/* --- epilogs ---------------------------------------------------------------------------------- */

/* Undoes an epilog's first instruction if it moves the stack pointer. Returns its bytes, or 0. */
static size_t epilog_move(struct seh_frame *frame, const uint8_t *code, unsigned frame_register)
{
	bool is_add = code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81) && code[2] == 0xc4;
	unsigned reg = (code[2] & 7) | (code[0] & 1) << 3, mode = code[2] >> 6;
	bool is_near = is_add ? code[1] == 0x83 : mode == 1;
	int32_t distance = (int8_t)code[3];

	if (!is_add && ((code[0] & 0xfe) != 0x48 || code[1] != 0x8d || (code[2] & 0x38) != 0x20 ||
			!frame_register || reg != frame_register || (code[2] & 7) == 4 ||
			(mode != 1 && mode != 2)))
		return 0;
	if (!is_near)
		memcpy(&distance, code + 3, sizeof(distance));
	frame->regs[REG_RSP] =
		frame->regs[is_add ? REG_RSP : register_numbers[reg]] + (uint64_t)(int64_t)distance;
	return is_near ? 4 : 7;
}

/* Whether the direct jump at ADDRESS leaves FUNCTION and its other parts. */
static bool epilog_jumps_away(const struct seh *seh, const struct seh_function *function,
			      const uint8_t *code, uint64_t address)
{
	const struct seh_function *other;
	int32_t far;

	memcpy(&far, code + 1, sizeof(far));
	other = seh_find(&seh->tables, code[0] == 0xeb ? address + 2 + (uint64_t)(int8_t)code[1]
						       : address + 5 + (uint64_t)(int64_t)far);
	return !other || seh_first_info(seh, seh_info(seh, other->info)) !=
				 seh_first_info(seh, seh_info(seh, function->info));
}

static bool epilog_is_end(const struct seh *seh, const struct seh_function *function,
			  const uint8_t *code, uint64_t address)
{
	if (code[0] == 0xc3 || code[0] == 0xc2)
		return true;
	if (code[0] == 0xe9 || code[0] == 0xeb)
		return epilog_jumps_away(seh, function, code, address);
	if (code[0] == 0xf3 && code[1] == 0xc3)
		return true;
	code += code[0] == 0x48;
	return code[0] == 0xff && code[1] == 0x25; /* jmp through a table of imports */
}

/*
 * Executes the rest of an epilog. Returns false, with *FRAME undefined, if the code is no epilog,
 * or if some of the code could not be read.
 */
static bool seh_undo_epilog(const struct seh *seh, struct seh_frame *frame, uint64_t address,
			    const struct seh_function *function, unsigned frame_register)
{
	uint8_t code[SEH_EPILOG_BYTES + 8] = { 0 };
	size_t at, n;

	if (!seh->tables.source.read)
		return false;
	n = seh->tables.source.read(seh->tables.source.context, address, code, SEH_EPILOG_BYTES);
	for (at = epilog_move(frame, code, frame_register); at < n;) {
		unsigned high = code[at] == 0x41 ? 8 : 0, reg;

		if (epilog_is_end(seh, function, code + at, address + at))
			return true;
		at += high != 0;
		reg = code[at] - 0x58U;
		if (reg > 7 || !frame_pop(frame, register_numbers[reg | high]))
			return false;
		at++;
	}
	return false;
}

/* --- undoing the prolog ----------------------------------------------------------------------- */

/* How many slots of 2 bytes a code has. 0: the operation does not exist. */
static unsigned seh_slots(unsigned version, unsigned operation, unsigned operand)
{
	static const uint8_t slots[N_SEH_OPERATIONS] = { 1, 2, 1, 1, 2, 3, 2, 3, 2, 3, 1 };

	if (operation >= N_SEH_OPERATIONS)
		return 0;
	if (operation == SEH_ALLOC_LARGE && operand)
		return operand == 1 ? 3 : 0;
	if (operation == SEH_EPILOG_OR_XMM && version == 2)
		return 1;
	return slots[operation];
}

static bool frame_load(struct seh_frame *frame, unsigned operand, uint64_t distance)
{
	unsigned reg = register_numbers[operand];
	uint64_t word;

	if (!frame_read(frame, frame->base + distance, &word))
		return false;
	frame->regs[reg] = word;
	frame->known |= 1U << reg;
	return true;
}

/* Restores from rip, cs, rflags, rsp, ss. OPERAND 1: an error code lies below these words. */
static bool frame_machine(struct seh_frame *frame, unsigned operand)
{
	uint64_t at = frame->regs[REG_RSP] + 8 * (operand & 1), rip, rsp;

	if (!frame_read(frame, at, &rip) || !frame_read(frame, at + 24, &rsp))
		return false;
	frame->regs[REG_RIP] = rip;
	frame->regs[REG_RSP] = rsp;
	frame->machine = true;
	return true;
}

/* Undoes one operation. Returns false if stack bytes are missing. */
static bool frame_undo(struct seh_frame *frame, const uint8_t *info, const uint8_t *slot)
{
	unsigned operation = slot[1] & 15, operand = slot[1] >> 4;
	uint64_t distance;

	switch (operation) {
	case SEH_PUSH:
		return frame_pop(frame, register_numbers[operand]);
	case SEH_ALLOC_LARGE:
		distance = operand ? seh_u32(slot + 2) : 8 * (uint64_t)seh_u16(slot + 2);
		frame->regs[REG_RSP] += distance;
		return true;
	case SEH_ALLOC_SMALL:
		frame->regs[REG_RSP] += 8 * operand + 8;
		return true;
	case SEH_SET_FRAME:
		frame->regs[REG_RSP] =
			frame->regs[register_numbers[info[3] & 15]] - 16 * (uint64_t)(info[3] >> 4);
		return true;
	case SEH_SAVE:
		return frame_load(frame, operand, 8 * (uint64_t)seh_u16(slot + 2));
	case SEH_SAVE_FAR:
		return frame_load(frame, operand, seh_u32(slot + 2));
	case SEH_MACHINE_FRAME:
		return frame_machine(frame, operand);
	default: /* other operations do not matter for the chain */
		return true;
	}
}

/* Whether the frame register was set, DONE bytes into the prolog. */
static bool seh_has_frame(const uint8_t *info, unsigned done)
{
	const uint8_t *slot = info + SEH_HEAD_BYTES;
	unsigned n = info[2], slots;

	if (!(info[3] & 15))
		return false;
	for (unsigned i = 0; i < n; i += slots, slot += 2 * slots) {
		slots = seh_slots(info[0] & 7, slot[1] & 15, slot[1] >> 4);
		if (!slots)
			return false;
		if ((slot[1] & 15) == SEH_SET_FRAME)
			return slot[0] <= done;
	}
	return true; /* the function's first part has set the register */
}

/* Undoes the operations in the first DONE bytes of INFO's prolog. */
static enum unwind_step seh_undo_info(struct seh_frame *frame, const uint8_t *info, unsigned done)
{
	const uint8_t *slot = info + SEH_HEAD_BYTES;
	unsigned n = info[2], slots;

	frame->base = frame->regs[REG_RSP];
	if (seh_has_frame(info, done)) {
		if (!(frame->known >> register_numbers[info[3] & 15] & 1))
			return STEP_BAD;
		frame->base =
			frame->regs[register_numbers[info[3] & 15]] - 16 * (uint64_t)(info[3] >> 4);
	}
	for (unsigned i = 0; i < n; i += slots, slot += 2 * slots) {
		slots = seh_slots(info[0] & 7, slot[1] & 15, slot[1] >> 4);
		if (!slots || slots > n - i)
			return STEP_BAD;
		if (slot[0] <= done && !frame_undo(frame, info, slot))
			return STEP_CUT;
	}
	return STEP_CALLER;
}

/* Undoes the prologs of INFO and of all UNWIND_INFOs in which it continues. */
static enum unwind_step seh_undo_all(const struct seh *seh, struct seh_frame *frame,
				     const uint8_t *info, unsigned done)
{
	for (unsigned i = 0; i < SEH_MAX_CHAIN; i++, done = UINT8_MAX) {
		enum unwind_step step = seh_undo_info(frame, info, done);

		if (step != STEP_CALLER)
			return step;
		if (!(info[0] >> 3 & SEH_CHAINED))
			return STEP_CALLER;
		info = seh_next_info(seh, info);
		if (!info)
			return STEP_BAD;
	}
	return STEP_BAD;
}

/* --- a step ----------------------------------------------------------------------------------- */

static void frame_begin(struct seh_frame *frame, struct cursor *cursor)
{
	*frame = (struct seh_frame){ .cursor = cursor, .known = cursor->known };
	memcpy(frame->regs, cursor->regs, sizeof(frame->regs));
}

/* A step at ADDRESS, which lies in FUNCTION. INFO is FUNCTION's UNWIND_INFO. */
static enum unwind_step seh_step_function(const struct seh *seh,
					  const struct seh_function *function,
					  const uint8_t *info, uint64_t address,
					  struct cursor *cursor)
{
	uint64_t distance = address - function->start;
	unsigned done = distance < info[1] ? (unsigned)distance : UINT8_MAX;
	struct seh_frame frame;
	enum unwind_step step;

	frame_begin(&frame, cursor);
	if (cursor->interrupted && distance >= info[1] &&
	    seh_undo_epilog(seh, &frame, address, function, info[3] & 15))
		return frame_return(&frame);
	frame_begin(&frame, cursor);
	step = seh_undo_all(seh, &frame, info, done);
	return step == STEP_CALLER ? frame_return(&frame) : step;
}

enum unwind_step seh_step(struct seh *seh, uint64_t bias, struct cursor *cursor)
{
	uint64_t address = cursor_pc(cursor) - bias, rip = cursor->regs[REG_RIP] - bias;
	const struct seh_function *function = seh_find(&seh->tables, address);
	const uint8_t *info = function ? seh_info(seh, function->info) : NULL;
	struct seh_frame frame;

	if (cursor->word_bytes != sizeof(uint64_t))
		return STEP_NOT_COVERED;
	if (function)
		return info ? seh_step_function(seh, function, info, rip, cursor)
			    : STEP_NOT_COVERED;
	if (!cursor->interrupted)
		return STEP_NOT_COVERED; /* a leaf makes no calls */
	frame_begin(&frame, cursor);
	return frame_return(&frame);
}
