/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes the most common x86-64 instructions of compiled code by tables of opcodes; see
 * instruction_common.h. Zydis would take several times as long, because it describes all operands.
 * Zydis decodes the instructions that are not in the tables. A test compares both decoders at every
 * byte of real code (tests/unwind/test_instruction). Any thread; pure functions.
 *
 *   [66, F2, F3]  [REX]  [0F] opcode  [ModRM]  [SIB]  [displacement]  [immediate]
 *
 * (Intel SDM vol. 2 §2.1). The tables have opcodes with a prefix only for SSE, after 0F.
 */
#include "config.h"

#include "unwind/instruction_common.h"

#include <string.h>

const uint32_t instruction_call_lost = 1U << REG_RAX | 1U << REG_RCX | 1U << REG_RDX |
				       1U << REG_RSI | 1U << REG_RDI | 1U << REG_R8 |
				       1U << REG_R9 | 1U << REG_R10 | 1U << REG_R11;

enum common_kind {
	COMMON_NONE,     /* left to Zydis */
	COMMON_READ,     /* writes no register and no word of 64 bits */
	COMMON_WRITE_REG, /* writes ModRM.reg */
	COMMON_WRITE_RM, /* writes ModRM.rm, if that is a register */
	COMMON_COMPARE,  /* cmp; left to Zydis if rsp is compared with a register */
	COMMON_XOR,      /* xor; left to Zydis if rbp is set to 0, which begins a chain */
	COMMON_STORE,    /* mov ModRM.reg to ModRM.rm */
	COMMON_LOAD,     /* mov ModRM.rm to ModRM.reg */
	COMMON_LEA,
	COMMON_GROUP,    /* add, or, and, sub, xor, cmp with an immediate; ModRM.reg tells which */
	COMMON_NUMBER,   /* mov an immediate to ModRM.rm */
	COMMON_NUMBER_REG, /* mov an immediate to the register in the opcode */
	COMMON_PUSH,
	COMMON_POP,
	COMMON_CALL,
	COMMON_JUMP,
	COMMON_BRANCH,
	COMMON_RETURN,
	COMMON_LEAVE,
	COMMON_NOP,      /* nop of one byte */
	COMMON_NOP_RM,   /* nop with ModRM, /0 */
};

struct common_opcode {
	uint8_t kind;  /* enum common_kind */
	uint8_t modrm; /* 1: a ModRM byte follows */
	uint8_t immediate_bytes;
};

#define RM(kind) { COMMON_##kind, 1, 0 }
#define RM_IMMEDIATE(kind, bytes) { COMMON_##kind, 1, bytes }
#define PLAIN(kind, bytes) { COMMON_##kind, 0, bytes }
#define EIGHT(from, ...) [(from) ... (from) + 7] = __VA_ARGS__
#define SIXTEEN(from, ...) [(from) ... (from) + 15] = __VA_ARGS__

static const struct common_opcode common_opcodes[256] = {
	[0x01] = RM(WRITE_RM), [0x03] = RM(WRITE_REG), /* add */
	[0x09] = RM(WRITE_RM), [0x0b] = RM(WRITE_REG), /* or */
	[0x21] = RM(WRITE_RM), [0x23] = RM(WRITE_REG), /* and */
	[0x29] = RM(WRITE_RM), [0x2b] = RM(WRITE_REG), /* sub */
	[0x31] = RM(XOR),      [0x33] = RM(XOR),
	[0x38] = RM(READ),     [0x39] = RM(COMPARE), [0x3a] = RM(READ), [0x3b] = RM(COMPARE),
	[0x3c] = PLAIN(READ, 1), [0x3d] = PLAIN(READ, 4), /* cmp with al, eax */
	EIGHT(0x50, PLAIN(PUSH, 0)),
	EIGHT(0x58, PLAIN(POP, 0)),
	[0x69] = RM_IMMEDIATE(WRITE_REG, 4), [0x6b] = RM_IMMEDIATE(WRITE_REG, 1), /* imul */
	SIXTEEN(0x70, PLAIN(BRANCH, 1)),
	[0x80] = RM_IMMEDIATE(GROUP, 1), [0x81] = RM_IMMEDIATE(GROUP, 4),
	[0x83] = RM_IMMEDIATE(GROUP, 1),
	[0x84] = RM(READ), [0x85] = RM(READ), /* test */
	[0x89] = RM(STORE), [0x8b] = RM(LOAD), [0x8d] = RM(LEA),
	[0x90] = PLAIN(NOP, 0),
	[0xa8] = PLAIN(READ, 1), [0xa9] = PLAIN(READ, 4), /* test with al, eax */
	EIGHT(0xb8, PLAIN(NUMBER_REG, 4)),
	[0xc1] = RM_IMMEDIATE(WRITE_RM, 1), /* shifts */
	[0xd1] = RM(WRITE_RM), [0xd3] = RM(WRITE_RM),
	[0xc3] = PLAIN(RETURN, 0),
	[0xc7] = RM_IMMEDIATE(NUMBER, 4),
	[0xc9] = PLAIN(LEAVE, 0),
	[0xe8] = PLAIN(CALL, 4), [0xe9] = PLAIN(JUMP, 4), [0xeb] = PLAIN(JUMP, 1),
};

/* Opcodes after 0F. */
static const struct common_opcode common_opcodes_0f[256] = {
	[0x10] = RM(READ), [0x11] = RM(READ), /* movups, movss ... */
	[0x28] = RM(READ), [0x29] = RM(READ), /* movaps */
	[0x1f] = RM(NOP_RM),
	SIXTEEN(0x40, RM(WRITE_REG)), /* cmov */
	[0x57] = RM(READ),            /* xorps */
	SIXTEEN(0x80, PLAIN(BRANCH, 4)),
	[0xaf] = RM(WRITE_REG),       /* imul */
	[0xb6] = RM(WRITE_REG), [0xb7] = RM(WRITE_REG), /* movzx */
	[0xbe] = RM(WRITE_REG), [0xbf] = RM(WRITE_REG), /* movsx */
};

/* Opcodes after 66 0F, F2 0F or F3 0F: moves and arithmetic of SSE registers. */
static const struct common_opcode common_opcodes_sse[256] = {
	[0x10] = RM(READ), [0x11] = RM(READ), [0x58] = RM(READ), [0x59] = RM(READ),
	[0x5c] = RM(READ), [0x5e] = RM(READ),
};

struct common_parts {
	const uint8_t *at, *end; /* bytes that are not decoded yet */
	uint8_t rex, opcode;
	bool wide;        /* the operands have 64 bits */
	bool prefix;      /* there is a prefix 66, F2 or F3 */
	uint8_t mod, reg, rm; /* fields of ModRM; reg and rm are enum unwind_register */
	bool index, rip;  /* the memory operand has an index; the operand is relative to rip */
	uint8_t base;     /* the memory operand's base register; REG_NONE: it has none */
	uint8_t group;    /* ModRM.reg without the bit of REX */
	int32_t displacement;
	int32_t immediate;
};

/* --- parts ------------------------------------------------------------------------------------ */

static bool common_decode_number(struct common_parts *parts, unsigned n, int32_t *value)
{
	int32_t number = 0;

	if ((size_t)(parts->end - parts->at) < n)
		return false;
	if (n == 1) {
		*value = (int8_t)*parts->at;
	} else if (n == 4) {
		memcpy(&number, parts->at, n);
		*value = number;
	}
	parts->at += n;
	return true;
}

/* Decodes SIB (Intel SDM vol. 2 §2.1.5, table 2-3). */
static bool common_decode_sib(struct common_parts *parts)
{
	uint8_t sib, index;

	if (parts->at == parts->end)
		return false;
	sib = *parts->at++;
	index = (sib >> 3 & 7) | (parts->rex & 2) << 2;
	parts->index = index != 4;
	parts->base = register_numbers[(sib & 7) | (parts->rex & 1) << 3];
	if ((sib & 7) == 5 && parts->mod == 0)
		parts->base = REG_NONE;
	return true;
}

/* Decodes ModRM, SIB and the displacement (Intel SDM vol. 2 §2.1.5, table 2-2). */
static bool common_decode_modrm(struct common_parts *parts)
{
	bool far;
	uint8_t modrm, rm;

	if (parts->at == parts->end)
		return false;
	modrm = *parts->at++;
	rm = modrm & 7;
	parts->mod = modrm >> 6;
	parts->group = modrm >> 3 & 7;
	parts->reg = register_numbers[parts->group | (parts->rex & 4) << 1];
	parts->rm = register_numbers[rm | (parts->rex & 1) << 3];
	if (parts->mod == 3)
		return true;
	parts->base = parts->rm;
	parts->rip = parts->mod == 0 && rm == 5;
	if (rm == 4 && !common_decode_sib(parts))
		return false;
	far = parts->mod == 2 || parts->rip || (parts->mod == 0 && parts->base == REG_NONE);
	if (parts->rip)
		parts->base = REG_NONE;
	return common_decode_number(parts, far ? 4 : parts->mod == 1 ? 1 : 0, &parts->displacement);
}

static const struct common_opcode *common_decode_opcode(struct common_parts *parts)
{
	const struct common_opcode *opcodes = common_opcodes;
	uint8_t byte = *parts->at;

	if (byte == 0x66 || byte == 0xf2 || byte == 0xf3) {
		opcodes = common_opcodes_sse;
		parts->prefix = true;
		parts->at++;
	}
	if (parts->at < parts->end && (*parts->at & 0xf0) == 0x40)
		parts->rex = *parts->at++;
	parts->wide = parts->rex & 8;
	if (parts->end - parts->at < 2) /* one byte is left: no 0F and opcode */
		return parts->at < parts->end && !parts->prefix
			       ? &common_opcodes[parts->opcode = *parts->at++]
			       : NULL;
	if (*parts->at == 0x0f) {
		parts->at++;
		if (!parts->prefix)
			opcodes = common_opcodes_0f;
	} else if (parts->prefix) {
		return NULL;
	}
	return &opcodes[parts->opcode = *parts->at++];
}

/* --- effects ---------------------------------------------------------------------------------- */

/* Whether the operand is memory at register + displacement. */
static bool common_is_place(const struct common_parts *parts)
{
	return parts->mod != 3 && !parts->index && parts->base != REG_NONE;
}

static void common_add(struct instruction *to, unsigned dest, unsigned source, int32_t value)
{
	to->effect = EFFECT_ADD;
	to->dest = (uint8_t)dest;
	to->source = (uint8_t)source;
	to->value = value;
}

static void common_store(const struct common_parts *parts, unsigned source, struct instruction *to)
{
	if (!parts->wide || !common_is_place(parts))
		return;
	to->effect = EFFECT_STORE;
	to->dest = parts->base;
	to->source = (uint8_t)source;
	to->value = parts->displacement;
}

static bool common_move(const struct common_parts *parts, struct instruction *to)
{
	bool stores = parts->opcode == 0x89;
	unsigned dest = stores ? parts->rm : parts->reg;

	if (!stores && parts->reg == REG_RSP && parts->mod != 3 && parts->base == REG_NONE)
		return false;
	if (stores && parts->mod != 3) {
		common_store(parts, parts->reg, to);
	} else if (parts->wide && parts->mod == 3) {
		common_add(to, dest, stores ? parts->reg : parts->rm, 0);
	} else if (parts->wide && common_is_place(parts)) {
		to->effect = EFFECT_LOAD;
		to->dest = (uint8_t)dest;
		to->source = parts->base;
		to->value = parts->displacement;
	} else {
		to->lost = 1U << dest;
	}
	return true;
}

static bool common_lea(const struct common_parts *parts, struct instruction *to)
{
	if (parts->mod == 3 || (parts->reg == REG_RSP && parts->base == REG_NONE))
		return false;
	if (parts->wide && common_is_place(parts))
		common_add(to, parts->reg, parts->base, parts->displacement);
	else
		to->lost = 1U << parts->reg;
	return true;
}

/* Decodes group 1 of Intel SDM vol. 2, appendix A, table A-6. */
static bool common_group(const struct common_parts *parts, struct instruction *to)
{
	enum { ADD = 0, AND = 4, SUB = 5, XOR = 6, CMP = 7 };
	bool byte = parts->opcode == 0x80;

	if (parts->group == CMP || parts->mod != 3)
		return true;
	if (byte || parts->group == XOR || parts->immediate == INT32_MIN)
		return false;
	if (parts->wide && parts->group == ADD) {
		common_add(to, parts->rm, parts->rm, parts->immediate);
	} else if (parts->wide && parts->group == SUB) {
		common_add(to, parts->rm, parts->rm, -parts->immediate);
	} else if (parts->wide && parts->group == AND) {
		to->effect = EFFECT_ALIGN;
		to->dest = parts->rm;
		to->value = parts->immediate;
	} else {
		to->lost = 1U << parts->rm;
	}
	return true;
}

static bool common_number(const struct common_parts *parts, struct instruction *to)
{
	if (parts->group || (parts->mod == 3 && parts->rm == REG_RSP))
		return false;
	if (parts->mod == 3)
		to->lost = 1U << parts->rm;
	else
		common_store(parts, REG_NONE, to);
	return true;
}

static unsigned common_opcode_register(const struct common_parts *parts)
{
	return register_numbers[(parts->opcode & 7) | (parts->rex & 1) << 3];
}

static void common_stack(const struct common_parts *parts, enum instruction_effect effect,
			 struct instruction *to)
{
	to->effect = (uint8_t)effect;
	to->size = sizeof(uint64_t);
	if (effect == EFFECT_PUSH)
		to->source = (uint8_t)common_opcode_register(parts);
	else
		to->dest = (uint8_t)common_opcode_register(parts);
}

/* Sets the effect and the flow. Returns false if the instruction is left to Zydis. */
static bool common_effect(const struct common_parts *parts, enum common_kind kind,
			  struct instruction *to)
{
	switch (kind) {
	case COMMON_NONE:
		return false;
	case COMMON_READ:
		return true;
	case COMMON_WRITE_REG:
		to->lost = 1U << parts->reg;
		return true;
	case COMMON_WRITE_RM:
		to->lost = parts->mod == 3 ? 1U << parts->rm : 0;
		return true;
	case COMMON_COMPARE:
		return parts->mod != 3 || (parts->reg != REG_RSP && parts->rm != REG_RSP);
	case COMMON_XOR:
		if (parts->mod == 3 && parts->reg == parts->rm && parts->reg == REG_RBP)
			return false;
		if (parts->opcode == 0x33)
			to->lost = 1U << parts->reg;
		else if (parts->mod == 3)
			to->lost = 1U << parts->rm;
		return true;
	case COMMON_STORE:
	case COMMON_LOAD:
		return common_move(parts, to);
	case COMMON_LEA:
		return common_lea(parts, to);
	case COMMON_GROUP:
		return common_group(parts, to);
	case COMMON_NUMBER:
		return common_number(parts, to);
	case COMMON_NUMBER_REG:
		to->lost = 1U << common_opcode_register(parts);
		return !parts->wide && common_opcode_register(parts) != REG_RSP;
	case COMMON_PUSH:
		common_stack(parts, EFFECT_PUSH, to);
		return true;
	case COMMON_POP:
		common_stack(parts, EFFECT_POP, to);
		return true;
	case COMMON_CALL:
		to->flow = INSTRUCTION_CALL;
		to->lost = instruction_call_lost;
		return true;
	case COMMON_JUMP:
		to->flow = INSTRUCTION_JUMP;
		return true;
	case COMMON_BRANCH:
		to->flow = INSTRUCTION_BRANCH;
		return true;
	case COMMON_RETURN:
		to->flow = INSTRUCTION_RETURN;
		return true;
	case COMMON_LEAVE:
		to->effect = EFFECT_LEAVE;
		return true;
	case COMMON_NOP:
		to->filler = true;
		return !parts->rex;
	case COMMON_NOP_RM:
		to->filler = true;
		return parts->group == 0;
	}
	return false;
}

bool instruction_decode_common(const uint8_t *bytes, size_t n, uint64_t address,
			       struct instruction *instruction)
{
	struct instruction to = { .dest = REG_NONE, .source = REG_NONE };
	struct common_parts parts = { .at = bytes, .end = bytes + n, .base = REG_NONE };
	const struct common_opcode *opcode = n ? common_decode_opcode(&parts) : NULL;

	if (!opcode || opcode->kind == COMMON_NONE ||
	    (opcode->modrm && !common_decode_modrm(&parts)) ||
	    !common_decode_number(&parts, opcode->immediate_bytes, &parts.immediate) ||
	    !common_effect(&parts, (enum common_kind)opcode->kind, &to))
		return false;
	to.length = (uint8_t)(parts.at - bytes);
	if (to.flow == INSTRUCTION_CALL || to.flow == INSTRUCTION_JUMP ||
	    to.flow == INSTRUCTION_BRANCH)
		to.target = address + to.length + (uint64_t)(int64_t)parts.immediate;
	*instruction = to;
	return true;
}
