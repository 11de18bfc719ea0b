/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows the code that a loader starts, from jump to jump; see entry_jumps.h.
 *
 *   pvh_start (32 bits): .. lgdt ..; ljmp $8,$start64          a far jump, to a physical address
 *   start64:             .. mov $_start,%rax; jmp *%rax        a jump to an address that is known
 *   _start:              .. call main; hlt
 *
 * Instructions are read one after the other. A conditional branch counts as not taken. A call in
 * 32-bit code counts as a step to the next instruction; in 64-bit code it ends the search, because
 * other functions may call the code after it. The constants that mov, lea and push leave are
 * remembered: a far return may stand for a far jump (push selector; push address; lret). Zydis
 * decodes the instructions. Any thread; the bytes are hostile.
 */
#include "config.h"

#include "xtop/unwind/entry_jumps.h"

#include <string.h>

#include <Zydis/Zydis.h>

#define JUMPS_MAX_STEPS 256 /* instructions between two jumps */
#define JUMPS_REGISTERS 16

struct jumps_walk {
	const struct code_source *source;
	entry_jumps_place *place;
	void *context;
	ZydisDecoder decoder;
	bool wide; /* the code runs in 64-bit mode */
	uint64_t constants[JUMPS_REGISTERS];
	uint32_t known;  /* bit i: constants[i] is what register i has */
	uint64_t pushed; /* the last constant that was pushed; 0: unknown */
	ZydisDecodedInstruction head;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static void jumps_start(struct jumps_walk *walk, bool wide)
{
	walk->wide = wide;
	walk->known = 0;
	walk->pushed = 0;
	if (wide)
		ZydisDecoderInit(&walk->decoder, ZYDIS_MACHINE_MODE_LONG_64,
				 ZYDIS_STACK_WIDTH_64);
	else
		ZydisDecoderInit(&walk->decoder, ZYDIS_MACHINE_MODE_LEGACY_32,
				 ZYDIS_STACK_WIDTH_32);
}

/* The number of the general register that REG is, or is the lower half of; -1: none. */
static int jumps_register(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return (int)(reg - ZYDIS_REGISTER_RAX);
	if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
		return (int)(reg - ZYDIS_REGISTER_EAX);
	return -1;
}

/* Whether operand I has the same value whenever this code runs: *VALUE. */
static bool jumps_value(const struct jumps_walk *walk, uint64_t address, unsigned i,
			uint64_t *value)
{
	const ZydisDecodedOperand *operand = &walk->operands[i];
	int reg;

	switch (operand->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		if (operand->imm.is_relative)
			return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&walk->head, operand, address,
								     value));
		*value = walk->wide ? (uint64_t)operand->imm.value.s
				    : (uint32_t)operand->imm.value.u;
		return true;
	case ZYDIS_OPERAND_TYPE_REGISTER:
		reg = jumps_register(operand->reg.value);
		if (reg < 0 || !(walk->known >> reg & 1))
			return false;
		*value = walk->constants[reg];
		return true;
	case ZYDIS_OPERAND_TYPE_POINTER:
		*value = operand->ptr.offset;
		return true;
	default:
		return false;
	}
}

/* Remembers what the instruction leaves in registers and pushes. */
static void jumps_note(struct jumps_walk *walk, uint64_t address)
{
	const ZydisDecodedOperand *operand = &walk->operands[0];
	uint64_t value = 0;
	bool constant = false;
	int reg;

	if (walk->head.mnemonic == ZYDIS_MNEMONIC_PUSH) {
		walk->pushed = jumps_value(walk, address, 0, &value) ? value : 0;
		return;
	}
	if (walk->head.mnemonic == ZYDIS_MNEMONIC_MOV)
		constant = jumps_value(walk, address, 1, &value);
	else if (walk->head.mnemonic == ZYDIS_MNEMONIC_LEA)
		constant = walk->operands[1].mem.base == ZYDIS_REGISTER_RIP &&
			   ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&walk->head, &walk->operands[1],
								 address, &value));
	for (unsigned i = 0; i < walk->head.operand_count; i++) {
		if (walk->operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(walk->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		reg = jumps_register(walk->operands[i].reg.value);
		if (reg >= 0)
			walk->known &= ~(1U << reg);
	}
	if (walk->head.meta.category == ZYDIS_CATEGORY_CALL)
		walk->known = 0;
	reg = constant && operand->type == ZYDIS_OPERAND_TYPE_REGISTER
		      ? jumps_register(operand->reg.value)
		      : -1;
	if (reg < 0)
		return;
	walk->known |= 1U << reg;
	walk->constants[reg] = operand->size == 32 ? (uint32_t)value : value;
}

enum jumps_step { JUMPS_NEXT, JUMPS_NEAR, JUMPS_FAR, JUMPS_END };

/* Where the instruction at ADDRESS leads. JUMPS_NEAR, JUMPS_FAR: to *TARGET. */
static enum jumps_step jumps_step(const struct jumps_walk *walk, uint64_t address,
				  uint64_t *target)
{
	bool far_branch = walk->head.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;

	switch (walk->head.mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		return walk->wide ? JUMPS_END : JUMPS_NEXT;
	case ZYDIS_MNEMONIC_JMP:
		if (!jumps_value(walk, address, 0, target))
			return JUMPS_END;
		return far_branch ? JUMPS_FAR : JUMPS_NEAR;
	case ZYDIS_MNEMONIC_RET:
		*target = walk->pushed;
		if (!walk->pushed)
			return JUMPS_END;
		return far_branch ? JUMPS_FAR : JUMPS_NEAR;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return JUMPS_END;
	default:
		return JUMPS_NEXT;
	}
}

/* Reads on from ADDRESS to the next jump. */
static enum jumps_step jumps_next(struct jumps_walk *walk, uint64_t address, uint64_t *target)
{
	for (unsigned i = 0; i < JUMPS_MAX_STEPS; i++) {
		uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
		size_t n = walk->source->read(walk->source->context, address, bytes, sizeof(bytes));
		enum jumps_step step;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&walk->decoder, bytes, n, &walk->head,
							 walk->operands)))
			return JUMPS_END;
		step = jumps_step(walk, address, target);
		if (step != JUMPS_NEXT)
			return step;
		jumps_note(walk, address);
		address += walk->head.length;
	}
	return JUMPS_END;
}

/*
 * Sets *TARGET to its place in the image, and adds it to ENTRIES. Returns false if *TARGET is no
 * code of the image, if ENTRIES have it already, or if there is no room.
 */
static bool jumps_add(const struct jumps_walk *walk, uint64_t *target, struct entry_points *entries)
{
	if (!walk->place(walk->context, *target, target) ||
	    entry_points_lie_in(entries, *target, *target + 1) ||
	    entries->n_jumps == ENTRY_MAX_JUMPS)
		return false;
	entries->jumps[entries->n_jumps++] = *target;
	return true;
}

/* Follows the code of 64-bit mode from ADDRESS. */
static void jumps_follow_wide(struct jumps_walk *walk, uint64_t address,
			      struct entry_points *entries)
{
	do
		jumps_start(walk, true);
	while (jumps_next(walk, address, &address) == JUMPS_NEAR &&
	       jumps_add(walk, &address, entries));
}

/*
 * Follows the code of 32-bit mode from ADDRESS. Targets of near jumps are followed and not added,
 * because only a far jump shows that this is code of 32-bit mode. Targets of far jumps are added.
 */
static void jumps_follow_short(struct jumps_walk *walk, uint64_t address,
			       struct entry_points *entries)
{
	for (unsigned i = 0; i < ENTRY_MAX_JUMPS; i++) {
		enum jumps_step step;

		jumps_start(walk, false);
		step = jumps_next(walk, address, &address);
		if (step == JUMPS_END)
			return;
		if (step == JUMPS_NEAR ? !walk->place(walk->context, address, &address)
				       : !jumps_add(walk, &address, entries))
			return;
		if (step == JUMPS_FAR)
			jumps_follow_wide(walk, address, entries);
	}
}

void entry_jumps_find(const struct code_source *source, entry_jumps_place *place, void *context,
		      struct entry_points *entries)
{
	struct jumps_walk walk = { .source = source, .place = place, .context = context };

	if (entries->pvh)
		jumps_follow_short(&walk, entries->pvh, entries);
	if (!entries->elf)
		return;
	jumps_follow_short(&walk, entries->elf, entries);
	if (!entries->n_jumps) /* no far jump: a loader starts this code in 64-bit mode */
		jumps_follow_wide(&walk, entries->elf, entries);
}
