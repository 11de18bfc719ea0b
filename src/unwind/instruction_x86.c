/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86-64 instructions, decoded with Zydis; see instruction.h. Zydis allocates nothing and keeps no
 * state. Any thread.
 */
#include "config.h"

#include "unwind/instruction_common.h"

#include <Zydis/Zydis.h>

/* The general register that REG, of any width, is a part of; REG_NONE if there is none. */
static unsigned instruction_register(ZydisRegister reg)
{
	if (reg < ZYDIS_REGISTER_RAX || reg > ZYDIS_REGISTER_R15)
		reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return register_numbers[reg - ZYDIS_REGISTER_RAX];
	return REG_NONE;
}

struct instruction_parts {
	ZydisDecodedInstruction head;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static unsigned instruction_register_at(const struct instruction_parts *parts, unsigned i)
{
	const ZydisDecodedOperand *operand = &parts->operands[i];

	/* a part of a register does not count as the register */
	if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER || operand->size != 64)
		return REG_NONE;
	return instruction_register(operand->reg.value);
}

/* Returns false unless operand I is memory at register + displacement. */
static bool instruction_place_at(const struct instruction_parts *parts, unsigned i, uint8_t *base,
				 int32_t *displacement)
{
	const ZydisDecodedOperand *operand = &parts->operands[i];

	if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    operand->mem.index != ZYDIS_REGISTER_NONE || parts->head.address_width != 64 ||
	    operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS)
		return false;
	*base = instruction_register(operand->mem.base);
	*displacement = (int32_t)operand->mem.disp.value;
	return *base != REG_NONE;
}

static bool instruction_number_at(const struct instruction_parts *parts, unsigned i, int32_t *value)
{
	const ZydisDecodedOperand *operand = &parts->operands[i];

	if (operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return false;
	*value = (int32_t)operand->imm.value.s;
	return *value == operand->imm.value.s;
}

/* --- effects ---------------------------------------------------------------------------------- */

static void instruction_add(struct instruction *to, unsigned dest, unsigned source, int32_t value)
{
	to->effect = EFFECT_ADD;
	to->dest = dest;
	to->source = source;
	to->value = value;
}

static void instruction_move(const struct instruction_parts *parts, struct instruction *to)
{
	unsigned dest = instruction_register_at(parts, 0);
	unsigned source = instruction_register_at(parts, 1);

	if (dest != REG_NONE && source != REG_NONE) {
		instruction_add(to, dest, source, 0);
	} else if (dest != REG_NONE && instruction_place_at(parts, 1, &to->source, &to->value)) {
		to->effect = EFFECT_LOAD;
		to->dest = dest;
	} else if (parts->operands[0].size == 64 &&
		   instruction_place_at(parts, 0, &to->dest, &to->value)) {
		to->effect = EFFECT_STORE;
		to->source = source;
	}
}

static void instruction_arithmetic(const struct instruction_parts *parts, struct instruction *to)
{
	unsigned dest = instruction_register_at(parts, 0);
	int32_t value = 1;

	if (dest == REG_NONE)
		return;
	switch (parts->head.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
		if (!instruction_number_at(parts, 1, &value) || value == INT32_MIN)
			return;
		break;
	default:
		break;
	}
	if (parts->head.mnemonic == ZYDIS_MNEMONIC_AND) {
		to->effect = EFFECT_ALIGN;
		to->dest = dest;
		to->value = value;
		return;
	}
	if (parts->head.mnemonic == ZYDIS_MNEMONIC_SUB ||
	    parts->head.mnemonic == ZYDIS_MNEMONIC_DEC)
		value = -value;
	instruction_add(to, dest, dest, value);
}

/* Notes whether the stack pointer is compared with another register. */
static void instruction_compare(const struct instruction_parts *parts, struct instruction *to)
{
	unsigned a = instruction_register_at(parts, 0), b = instruction_register_at(parts, 1);

	to->compares = (a == REG_RSP) != (b == REG_RSP) && a != REG_NONE && b != REG_NONE;
	to->source = (uint8_t)(a == REG_RSP ? b : a);
}

/*
 * Whether the instruction loads the code segment: the two words that it pops were pushed just
 * before, and lead to the next instruction, or to a function that comes back there.
 *
 *     push $selector; lea 1f(%rip),%rax; push %rax; lretq; 1: ..
 */
static bool instruction_is_far_return(const struct instruction_parts *parts)
{
	return parts->head.mnemonic == ZYDIS_MNEMONIC_RET &&
	       parts->head.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR &&
	       parts->operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/*
 * The register that a push or pop has as its operand. pushf and popf, which are not of this
 * MNEMONIC, have none: their first operand is the stack pointer.
 */
static unsigned instruction_stack_operand(const struct instruction_parts *parts,
					  ZydisMnemonic mnemonic)
{
	return parts->head.mnemonic == mnemonic ? instruction_register_at(parts, 0) : REG_NONE;
}

static void instruction_effect_of(const struct instruction_parts *parts, struct instruction *to)
{
	switch (parts->head.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		to->effect = EFFECT_PUSH;
		to->source = instruction_stack_operand(parts, ZYDIS_MNEMONIC_PUSH);
		to->size = parts->head.operand_width / 8;
		break;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		to->effect = EFFECT_POP;
		to->dest = instruction_stack_operand(parts, ZYDIS_MNEMONIC_POP);
		to->size = parts->head.operand_width / 8;
		break;
	case ZYDIS_MNEMONIC_MOV:
		instruction_move(parts, to);
		break;
	case ZYDIS_MNEMONIC_LEA:
		to->dest = instruction_register_at(parts, 0);
		if (to->dest != REG_NONE && instruction_place_at(parts, 1, &to->source, &to->value))
			to->effect = EFFECT_ADD;
		break;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		instruction_arithmetic(parts, to);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		to->effect = EFFECT_LEAVE;
		break;
	case ZYDIS_MNEMONIC_RET:
		if (instruction_is_far_return(parts))
			instruction_add(to, REG_RSP, REG_RSP, parts->head.operand_width / 4);
		break;
	case ZYDIS_MNEMONIC_CMP:
		instruction_compare(parts, to);
		break;
	default:
		break;
	}
}

/* The registers that are written, without those that the effect describes. */
static uint32_t instruction_lost(const struct instruction_parts *parts,
				 const struct instruction *to)
{
	uint32_t lost = 0;

	if (to->flow == INSTRUCTION_CALL)
		return instruction_call_lost;
	for (unsigned i = 0; i < parts->head.operand_count; i++) {
		const ZydisDecodedOperand *operand = &parts->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			lost |= 1U << instruction_register(operand->reg.value);
	}
	switch (to->effect) {
	case EFFECT_ADD:
	case EFFECT_ALIGN:
	case EFFECT_LOAD:
		lost &= ~(1U << to->dest);
		break;
	case EFFECT_POP:
		lost &= ~(1U << to->dest | 1U << REG_SP);
		break;
	case EFFECT_PUSH:
		lost &= ~(1U << REG_SP);
		break;
	case EFFECT_LEAVE:
		lost = 0;
		break;
	default:
		if (to->flow == INSTRUCTION_RETURN)
			lost = 0;
		break;
	}
	return lost & ~(1U << REG_NONE | 1U << REG_PC);
}

/* --- control ---------------------------------------------------------------------------------- */

static uint64_t instruction_target(const struct instruction_parts *parts, uint64_t address)
{
	const ZydisDecodedOperand *operand = &parts->operands[0];

	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.base == ZYDIS_REGISTER_RIP)
		return address + parts->head.length + (uint64_t)operand->mem.disp.value;
	if (operand->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !operand->imm.is_relative)
		return 0;
	return address + parts->head.length + (uint64_t)operand->imm.value.s;
}

static enum instruction_flow instruction_flow_of(const struct instruction_parts *parts)
{
	switch (parts->head.mnemonic) {
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
		return INSTRUCTION_END;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_HLT:
		return INSTRUCTION_TRAP;
	/*
	 * Zydis has these in the category of branches. Outside a transaction xabort does nothing.
	 */
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_XEND:
		return INSTRUCTION_NEXT;
	default:
		break;
	}
	switch (parts->head.meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return INSTRUCTION_CALL;
	case ZYDIS_CATEGORY_RET:
		return instruction_is_far_return(parts) ? INSTRUCTION_NEXT : INSTRUCTION_RETURN;
	case ZYDIS_CATEGORY_COND_BR:
		return INSTRUCTION_BRANCH;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return parts->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE
			       ? INSTRUCTION_JUMP
			       : INSTRUCTION_INDIRECT;
	default:
		return INSTRUCTION_NEXT;
	}
}

static bool instruction_is_filler(const struct instruction_parts *parts)
{
	return parts->head.mnemonic == ZYDIS_MNEMONIC_NOP ||
	       parts->head.mnemonic == ZYDIS_MNEMONIC_INT3 ||
	       (parts->head.mnemonic == ZYDIS_MNEMONIC_XCHG && parts->head.length <= 2 &&
		parts->operands[0].reg.value == parts->operands[1].reg.value);
}

/* Whether the instruction is "xor %ebp,%ebp", or sets rsp to a constant or a variable's value. */
static bool instruction_begins(const struct instruction_parts *parts)
{
	const ZydisDecodedOperand *operands = parts->operands;

	if (parts->head.mnemonic == ZYDIS_MNEMONIC_XOR)
		return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       operands[0].reg.value == operands[1].reg.value &&
		       instruction_register(operands[0].reg.value) == REG_RBP;
	if ((parts->head.mnemonic != ZYDIS_MNEMONIC_MOV &&
	     parts->head.mnemonic != ZYDIS_MNEMONIC_LEA) ||
	    (operands[0].reg.value != ZYDIS_REGISTER_RSP &&
	     operands[0].reg.value != ZYDIS_REGISTER_ESP))
		return false;
	return operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	       (operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		operands[1].mem.segment != ZYDIS_REGISTER_FS &&
		operands[1].mem.segment != ZYDIS_REGISTER_GS &&
		(operands[1].mem.base == ZYDIS_REGISTER_RIP ||
		 operands[1].mem.base == ZYDIS_REGISTER_NONE) &&
		operands[1].mem.index == ZYDIS_REGISTER_NONE);
}

/*
 * A call is E8 and a distance of four bytes, or FF /2 and an address: two to seven bytes with a
 * prefix (Intel SDM vol. 2, CALL).
 */
bool instruction_x86_ends_call(const uint8_t bytes[INSTRUCTION_MAX_CALL_BYTES])
{
	struct instruction call;

	for (size_t n = 2; n <= INSTRUCTION_MAX_CALL_BYTES; n++)
		if (instruction_x86_decode(bytes + INSTRUCTION_MAX_CALL_BYTES - n, n, 0, &call) &&
		    call.length == n && call.flow == INSTRUCTION_CALL)
			return true;
	return false;
}

bool instruction_decode_zydis(const uint8_t *bytes, size_t n, uint64_t address,
			      struct instruction *instruction)
{
	struct instruction to = { .dest = REG_NONE, .source = REG_NONE };
	struct instruction_parts parts;
	ZydisDecoderContext context;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, &context, bytes, n, &parts.head)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeOperands(&decoder, &context, &parts.head, parts.operands,
						   parts.head.operand_count)))
		return false;
	to.length = parts.head.length;
	to.flow = instruction_flow_of(&parts);
	if (to.flow == INSTRUCTION_BRANCH || to.flow == INSTRUCTION_JUMP ||
	    to.flow == INSTRUCTION_INDIRECT ||
	    (to.flow == INSTRUCTION_CALL && parts.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE))
		to.target = instruction_target(&parts, address);
	else
		instruction_effect_of(&parts, &to);
	to.lost = instruction_lost(&parts, &to);
	to.begins = instruction_begins(&parts);
	to.marks_target = parts.head.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	to.filler = instruction_is_filler(&parts);
	*instruction = to;
	return true;
}

bool instruction_x86_decode(const uint8_t *bytes, size_t n, uint64_t address,
			    struct instruction *instruction)
{
	return instruction_decode_common(bytes, n, address, instruction) ||
	       instruction_decode_zydis(bytes, n, address, instruction);
}

bool instruction_skips_prefix(const uint8_t *bytes, size_t n)
{
	return n > 1 && bytes[0] == 0xf0; /* lock: glibc skips it in programs with one thread */
}
