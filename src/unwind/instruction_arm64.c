/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes instructions of A64; see instruction.h. All instructions have four bytes. Bits 28 to 25
 * tell the group of an instruction (Arm ARM DDI 0487J.a, chapter C4.1):
 *
 *   0000  undefined, SME        x1x0  loads and stores
 *   0010  SVE                   x101  arithmetic of registers
 *   100x  arithmetic of numbers x111  SIMD and floating point
 *   101x  branches, system
 *
 * Only these matter for unwinding:
 *
 *   stp str ldp ldr with a base register, which they may move      EFFECT_STORE, EFFECT_LOAD
 *   add sub mov of 64 bits, also with sp                           EFFECT_ADD
 *   mov of a number; add or sub of such a register to sp           EFFECT_NUMBER, EFFECT_MOVE
 *   and to sp                                                      EFFECT_ALIGN
 *
 * Other instructions only lose the registers that they write. SVE instructions count as writing no
 * register: code saves a preserved register before writing it, and all instructions that save are
 * decoded. Any thread; pure functions.
 */
#include "config.h"

#include "unwind/instruction_arm64.h"

#include <string.h>

#define WORD_BYTES    4
#define ZERO_REGISTER 31 /* sp in some instructions */
#define FIRST_TARGET_HINT 0xd503241fU /* bti; bits 7 and 6 tell which calls and jumps may arrive */

#define IS(code, mask, value) (((code) & (mask)) == (value))

static uint32_t arm64_field(uint32_t code, unsigned from, unsigned n)
{
	return code >> from & ((1U << n) - 1);
}

/* The signed number in N bits from bit FROM on. */
static int32_t arm64_signed(uint32_t code, unsigned from, unsigned n)
{
	return (int32_t)(code << (32 - from - n)) >> (32 - n);
}

/* --- registers -------------------------------------------------------------------------------- */

#define NO REG_NONE
/* clang-format off */
static const uint8_t arm64_code_registers[32] = {
	NO, NO, NO, NO, NO, NO, NO, NO,
	NO, NO, NO, NO, CODE_ARM64_X12, CODE_ARM64_X13, NO, NO,
	CODE_ARM64_X16, NO, NO, CODE_ARM64_X19, CODE_ARM64_X20, CODE_ARM64_X21, CODE_ARM64_X22,
	CODE_ARM64_X23,
	CODE_ARM64_X24, CODE_ARM64_X25, CODE_ARM64_X26, CODE_ARM64_X27, CODE_ARM64_X28,
	CODE_ARM64_FP, CODE_ARM64_LR, NO,
};
/* clang-format on */
#undef NO

/* The register NUMBER, where 31 is the zero register. REG_NONE: states do not have it. */
static uint8_t arm64_register(uint32_t number)
{
	return arm64_code_registers[number];
}

/* The register NUMBER, where 31 is sp. REG_NONE: states do not have it. */
static uint8_t arm64_register_or_sp(uint32_t number)
{
	return number == ZERO_REGISTER ? (uint8_t)CODE_ARM64_SP : arm64_code_registers[number];
}

static void arm64_lose(struct instruction *to, uint8_t reg)
{
	if (reg != REG_NONE)
		to->lost |= 1U << reg;
}

static void arm64_add(struct instruction *to, uint8_t dest, uint8_t source, int32_t value)
{
	if (dest == REG_NONE)
		return;
	if (source == REG_NONE) {
		arm64_lose(to, dest);
		return;
	}
	to->effect = EFFECT_ADD;
	to->dest = dest;
	to->source = source;
	to->value = value;
}

/* --- loads and stores ------------------------------------------------------------------------- */

/* What a load or store does to its base register. */
struct arm64_base {
	uint8_t reg;
	int32_t offset; /* address of the memory - the base's old value */
	int32_t moves;  /* added to the base */
};

static void arm64_move_base(struct instruction *to, const struct arm64_base *base)
{
	if (base->moves)
		arm64_add(to, base->reg, base->reg, base->moves);
}

/*
 * A load of N words of 64 bits to the registers FIRST and SECOND, which may be REG_NONE. The values
 * are unknown if the base is REG_NONE.
 */
static void arm64_load(struct instruction *to, const struct arm64_base *base, unsigned n,
		       uint8_t first, uint8_t second)
{
	if (base->reg == REG_NONE) {
		arm64_lose(to, first);
		arm64_lose(to, second);
		return;
	}
	if (first == REG_NONE && second == REG_NONE) {
		arm64_move_base(to, base);
		return;
	}
	to->effect = EFFECT_LOAD;
	to->source = base->reg;
	to->value = base->offset;
	to->moves = base->moves;
	to->dest = first;
	to->second = second;
	to->pair = n == 2 && first != REG_NONE && second != REG_NONE;
	if (first == REG_NONE) {
		to->dest = second;
		to->value += 8;
	}
}

static void arm64_store(struct instruction *to, const struct arm64_base *base, unsigned n,
			uint8_t first, uint8_t second)
{
	if (base->reg == REG_NONE)
		return;
	to->effect = EFFECT_STORE;
	to->dest = base->reg;
	to->value = base->offset;
	to->moves = base->moves;
	to->source = first;
	to->second = second;
	to->pair = n == 2;
}

/* BITS is the addressing mode: 1 post-index, 3 pre-index; other modes do not move the base. */
static struct arm64_base arm64_base_of(uint32_t code, unsigned bits, int32_t offset)
{
	return (struct arm64_base){ .reg = arm64_register_or_sp(arm64_field(code, 5, 5)),
				    .offset = bits == 1 ? 0 : offset,
				    .moves = bits & 1 ? offset : 0 };
}

/* ldp, stp, ldpsw, also with SIMD registers. */
static void arm64_decode_pair(struct instruction *to, uint32_t code)
{
	unsigned opc = arm64_field(code, 30, 2);
	bool simd = code >> 26 & 1, load = code >> 22 & 1, words = !simd && opc == 2;
	unsigned scale = simd ? 2 + opc : 2 + opc / 2;
	uint8_t first = arm64_register(arm64_field(code, 0, 5));
	uint8_t second = arm64_register(arm64_field(code, 10, 5));
	struct arm64_base base;

	if (!simd && opc == 1 && !load)
		scale = 4; /* stgp */
	base = arm64_base_of(code, arm64_field(code, 23, 2),
			     arm64_signed(code, 15, 7) * (1 << scale));
	if (words && load)
		arm64_load(to, &base, 2, first, second);
	else if (words)
		arm64_store(to, &base, 2, first, second);
	else
		arm64_move_base(to, &base);
	if (!words && load && !simd) {
		arm64_lose(to, first);
		arm64_lose(to, second);
	}
}

/* A load or store of one register, at a base and a number. */
static void arm64_decode_single(struct instruction *to, uint32_t code, unsigned bits,
				int32_t offset)
{
	unsigned size = arm64_field(code, 30, 2), opc = arm64_field(code, 22, 2);
	bool simd = code >> 26 & 1, prefetch = size == 3 && opc == 2;
	struct arm64_base base = arm64_base_of(code, bits, offset);
	uint8_t reg = arm64_register(arm64_field(code, 0, 5));

	if (!simd && size == 3 && opc == 0)
		arm64_store(to, &base, 1, reg, REG_NONE);
	else if (!simd && size == 3 && opc == 1)
		arm64_load(to, &base, 1, reg, REG_NONE);
	else
		arm64_move_base(to, &base);
	if (!simd && opc && !prefetch && to->effect != EFFECT_LOAD)
		arm64_lose(to, reg);
}

static void arm64_decode_register(struct instruction *to, uint32_t code)
{
	unsigned size = arm64_field(code, 30, 2), opc = arm64_field(code, 22, 2);
	bool simd = code >> 26 & 1;
	unsigned scale = simd && opc >= 2 ? 4 : size;

	if (code >> 24 & 1)
		arm64_decode_single(to, code, 0, (int32_t)(arm64_field(code, 10, 12) << scale));
	else if (!(code >> 21 & 1))
		arm64_decode_single(to, code, arm64_field(code, 10, 2), arm64_signed(code, 12, 9));
	else if (!simd && !IS(code, 0x00200c00, 0x00200800)) { /* atomics, and signed addresses */
		arm64_lose(to, arm64_register(arm64_field(code, 0, 5)));
		if (IS(code, 0x00200c00, 0x00200c00))
			arm64_lose(to, arm64_register_or_sp(arm64_field(code, 5, 5)));
	} else if (!simd && opc && !(size == 3 && opc == 2)) {
		arm64_lose(to, arm64_register(arm64_field(code, 0, 5)));
	}
}

/*
 * Exclusive and ordered loads and stores, compare and swap. The registers that they write are lost.
 */
static void arm64_decode_exclusive(struct instruction *to, uint32_t code)
{
	arm64_lose(to, arm64_register(arm64_field(code, 16, 5)));
	if (IS(code, 0x80a00000, 0x00200000)) /* casp: an even register and the next */
		arm64_lose(to, arm64_register(arm64_field(code, 16, 5) | 1));
	if (code >> 22 & 1) {
		arm64_lose(to, arm64_register(arm64_field(code, 0, 5)));
		arm64_lose(to, arm64_register(arm64_field(code, 10, 5)));
	}
}

/* Memory tags, copies of memory, and ordered loads at an offset. */
static void arm64_decode_unusual(struct instruction *to, uint32_t code)
{
	arm64_lose(to, arm64_register(arm64_field(code, 0, 5)));
	if (code >> 10 & 1)
		arm64_lose(to, arm64_register_or_sp(arm64_field(code, 5, 5)));
	if (IS(code, 0x00200c00, 0x00000400) && arm64_field(code, 22, 2) != 3) /* a copy's source */
		arm64_lose(to, arm64_register(arm64_field(code, 16, 5)));
}

static void arm64_decode_memory(struct instruction *to, uint32_t code)
{
	bool simd = code >> 26 & 1;

	switch (arm64_field(code, 28, 2)) {
	case 0:
		if (!simd)
			arm64_decode_exclusive(to, code);
		else if (code >> 23 & 1) /* several SIMD registers, and the base moves */
			arm64_lose(to, arm64_register_or_sp(arm64_field(code, 5, 5)));
		break;
	case 1:
		if (code >> 24 & 1)
			arm64_decode_unusual(to, code);
		else if (!simd) /* the value comes from a place near the instruction */
			arm64_lose(to, arm64_register(arm64_field(code, 0, 5)));
		break;
	case 2:
		arm64_decode_pair(to, code);
		break;
	default:
		arm64_decode_register(to, code);
		break;
	}
}

/* --- arithmetic ------------------------------------------------------------------------------- */

/* add or sub of a number, with 64 bits and without setting flags. False: another instruction. */
static bool arm64_decode_add(struct instruction *to, uint32_t code)
{
	int32_t value = (int32_t)(arm64_field(code, 10, 12) << (code >> 22 & 1 ? 12 : 0));

	if (!IS(code, 0xbf800000, 0x91000000))
		return false;
	arm64_add(to, arm64_register_or_sp(arm64_field(code, 0, 5)),
		  arm64_register_or_sp(arm64_field(code, 5, 5)),
		  code >> 30 & 1 ? -value : value);
	return true;
}

/*
 * movz, and movk to bits that are 0, of numbers below 2^31, to registers that are not preserved.
 * Returns false for other instructions.
 */
static bool arm64_decode_wide(struct instruction *to, uint32_t code)
{
	int32_t value = (int32_t)(arm64_field(code, 5, 16) << (code >> 21 & 1 ? 16 : 0));
	uint8_t dest = arm64_register(arm64_field(code, 0, 5));

	if (!IS(code, 0x5fc00000, 0x52800000) || value < 0 || dest < CODE_ARM64_X12 ||
	    dest == REG_NONE)
		return false;
	if (code >> 29 & 1) {
		arm64_add(to, dest, dest, value);
		return true;
	}
	to->effect = EFFECT_NUMBER;
	to->dest = dest;
	to->value = value;
	return true;
}

static void arm64_decode_number(struct instruction *to, uint32_t code)
{
	uint32_t dest = arm64_field(code, 0, 5);
	bool logical = IS(code, 0x1f800000, 0x12000000);

	if (arm64_decode_add(to, code) || arm64_decode_wide(to, code))
		return;
	if (logical && dest == ZERO_REGISTER && arm64_field(code, 29, 2) != 3) {
		to->effect = EFFECT_ALIGN;
		to->dest = CODE_ARM64_SP;
		return;
	}
	to->begins = code == 0xd280001d; /* mov x29, #0 */
	if (IS(code, 0x1f800000, 0x11800000)) /* addg, subg may write sp */
		arm64_lose(to, arm64_register_or_sp(dest));
	else
		arm64_lose(to, arm64_register(dest));
}

/* add or sub of a whole register to sp. Returns false for other instructions. */
static bool arm64_decode_move(struct instruction *to, uint32_t code)
{
	uint8_t source = arm64_register(arm64_field(code, 16, 5));

	if (!IS(code, 0xbfe0ffff, 0x8b2063ff) || source == REG_NONE)
		return false;
	to->effect = EFFECT_MOVE;
	to->dest = CODE_ARM64_SP;
	to->source = source;
	to->value = code >> 30 & 1 ? -1 : 1;
	return true;
}

static void arm64_decode_registers(struct instruction *to, uint32_t code)
{
	uint32_t dest = arm64_field(code, 0, 5), source = arm64_field(code, 16, 5);
	bool is_extended = IS(code, 0x3fe00000, 0x0b200000);
	bool is_tag = IS(code, 0xffe0fc00, 0x9ac01000); /* irg */

	if (IS(code, 0xffe0ffe0, 0xaa0003e0) && source != ZERO_REGISTER) { /* mov */
		arm64_add(to, arm64_register(dest), arm64_register(source), 0);
		return;
	}
	if (IS(code, 0x1fe00000, 0x1a400000)) /* ccmp, ccmn: flags only */
		return;
	if (is_extended && arm64_decode_move(to, code))
		return;
	to->begins = code == 0xaa1f03fd; /* mov x29, xzr */
	/* add and sub of an extended register, and irg, may write sp */
	arm64_lose(to, is_extended || is_tag ? arm64_register_or_sp(dest) : arm64_register(dest));
}

/* SIMD and floating-point instructions that write a general register. */
static void arm64_decode_simd(struct instruction *to, uint32_t code)
{
	unsigned kind = arm64_field(code, 16, 3);
	bool from = kind == 2 || kind == 3 || kind == 7; /* the move takes a general register */

	if ((IS(code, 0x5f200000, 0x1e000000) || IS(code, 0x5f20fc00, 0x1e200000)) && from)
		return;
	if (IS(code, 0x5f200000, 0x1e000000) || IS(code, 0x5f20fc00, 0x1e200000) ||
	    IS(code, 0xbfe0ec00, 0x0e002c00))
		arm64_lose(to, arm64_register(arm64_field(code, 0, 5)));
}

/* addvl and addpl are the only SVE instructions that write sp. */
static void arm64_decode_sve(struct instruction *to, uint32_t code)
{
	if (IS(code, 0xffa0f000, 0x04205000))
		arm64_lose(to, arm64_register_or_sp(arm64_field(code, 0, 5)));
}

/* --- control ---------------------------------------------------------------------------------- */

/* Registers that a called function may change. */
#define CALL_LOST                                                                                  \
	(1U << CODE_ARM64_LR | 1U << CODE_ARM64_X12 | 1U << CODE_ARM64_X13 | 1U << CODE_ARM64_X16)

static void arm64_call(struct instruction *to)
{
	to->flow = INSTRUCTION_CALL;
	to->lost = CALL_LOST;
}

/* A branch's target: N signed bits from bit FROM on are the distance in words. */
static uint64_t arm64_target(uint64_t address, uint32_t code, unsigned from, unsigned n)
{
	return address + (uint64_t)((int64_t)arm64_signed(code, from, n) * WORD_BYTES);
}

/* br, blr, ret, eret, and their forms for signed addresses. */
static void arm64_decode_indirect(struct instruction *to, uint32_t code)
{
	switch (arm64_field(code, 21, 3)) {
	case 1:
		arm64_call(to);
		break;
	case 2: /* ret has 30, retaa has 31 */
		to->flow =
			arm64_field(code, 5, 5) >= 30 ? INSTRUCTION_RETURN : INSTRUCTION_INDIRECT;
		to->by_link = to->flow == INSTRUCTION_RETURN;
		break;
	case 4:
	case 5:
		to->flow = INSTRUCTION_END;
		break;
	default: /* bti c lets only a jump by x16 or x17 lead to another function */
		to->flow = INSTRUCTION_INDIRECT;
		to->tail = arm64_field(code, 5, 5) == 16 || arm64_field(code, 5, 5) == 17;
		to->by_link = arm64_field(code, 5, 5) == 30;
		break;
	}
}

/* Hints, barriers, and system registers. */
static void arm64_decode_system(struct instruction *to, uint32_t code)
{
	to->filler = code == 0xd503201f; /* nop */
	/* bti; paciasp and pacibsp mark targets of calls, too */
	to->marks_target = IS(code, 0xffffff3f, FIRST_TARGET_HINT) || code == 0xd503233f ||
			   code == 0xd503237f;
	if (code >> 21 & 1) /* mrs, sysl */
		arm64_lose(to, arm64_register(arm64_field(code, 0, 5)));
}

static void arm64_decode_branch(struct instruction *to, uint32_t code, uint64_t address)
{
	if (IS(code, 0x7c000000, 0x14000000)) { /* b, bl */
		to->flow = INSTRUCTION_JUMP;
		if (code >> 31)
			arm64_call(to);
		to->target = arm64_target(address, code, 0, 26);
	} else if (IS(code, 0xff000000, 0x54000000) || IS(code, 0x7e000000, 0x34000000)) {
		to->flow = INSTRUCTION_BRANCH; /* b.cond, cbz, cbnz */
		to->target = arm64_target(address, code, 5, 19);
	} else if (IS(code, 0x7e000000, 0x36000000)) { /* tbz, tbnz */
		to->flow = INSTRUCTION_BRANCH;
		to->target = arm64_target(address, code, 5, 14);
	} else if (IS(code, 0xfe000000, 0xd6000000)) {
		arm64_decode_indirect(to, code);
	} else if (IS(code, 0xffc00000, 0xd5000000)) {
		arm64_decode_system(to, code);
	} else if (IS(code, 0xffe0001f, 0xd4200000) || IS(code, 0xffe0001f, 0xd4400000)) {
		to->flow = INSTRUCTION_TRAP; /* brk, hlt */
	}
}

bool instruction_arm64_decode(const uint8_t *bytes, size_t n, uint64_t address,
			      struct instruction *instruction)
{
	struct instruction to = { .length = WORD_BYTES, .dest = REG_NONE, .source = REG_NONE };
	uint32_t code;

	if (n < WORD_BYTES || address % WORD_BYTES)
		return false;
	memcpy(&code, bytes, sizeof(code));
	switch (arm64_field(code, 25, 4)) {
	case 0:
		if (code >> 16 && !(code >> 31))
			return false;
		if (!(code >> 16)) { /* udf; zeros are also fillers */
			to.flow = INSTRUCTION_TRAP;
			to.filler = !code;
		}
		break;
	case 1:
	case 3:
		return false; /* unallocated */
	case 2:
		arm64_decode_sve(&to, code);
		break;
	case 8:
	case 9:
		arm64_decode_number(&to, code);
		break;
	case 10:
	case 11:
		arm64_decode_branch(&to, code, address);
		break;
	case 5:
	case 13:
		arm64_decode_registers(&to, code);
		break;
	case 7:
	case 15:
		arm64_decode_simd(&to, code);
		break;
	default:
		arm64_decode_memory(&to, code);
		break;
	}
	*instruction = to;
	return true;
}

bool instruction_arm64_ends_call(const uint8_t bytes[INSTRUCTION_MAX_CALL_BYTES])
{
	struct instruction call;

	return instruction_arm64_decode(bytes + INSTRUCTION_MAX_CALL_BYTES - WORD_BYTES, WORD_BYTES,
					0, &call) &&
	       call.flow == INSTRUCTION_CALL;
}
