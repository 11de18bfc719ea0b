/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame instructions (DWARF 5 §6.4.2, §7.24). The high 2 bits of the first byte:
 *
 *   01 advance_loc (low 6 bits)   10 offset (register, uleb)   11 restore (register)
 *   00 the low 6 bits are the opcode, operands follow; with the GNU opcodes of LSB Core 5.0 §10.5
 *
 * The CIE's program sets up the state that `restore` goes back to. Then the FDE's program runs, and
 * each advance ends a row. A program has no jumps, so its running time is bounded by its size. An
 * instruction that cannot be read ends the program.
 */
#include "config.h"

#include "unwind/cfi_program.h"

#include <string.h>

enum cfi_opcode {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER_RULE = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION_RULE = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	/*
	 * Arm64: the return address is signed from here on, or no longer signed. These have no
	 * operands. cursor_arm64_strip() removes the signature from every return address anyway.
	 */
	CFA_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_NEGATE_RA_STATE = 0x2d, /* SPARC's GNU_window_save on other architectures */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,

	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_HIGH_MASK = 0xc0,
};

/* --- expressions ------------------------------------------------------------------------------ */

/*
 * Operations of DWARF 5 §7.7.1. libunwind evaluates expressions without a limit on steps, and does
 * not check divisors. So only expressions that must end and cannot trap are allowed.
 *
 *   06 deref  08..11 constants  12..14 dup drop over  15 pick  16 swap  17 rot  19 abs  1a and
 *   1c minus  1e..22 mul neg not or plus  23 plus_uconst  24..27 shl shr shra xor
 *   29..2e comparisons  30..4f lit  70..80 breg  94 deref_size  96 nop
 *
 * Not allowed: div 1b, mod 1d; bra 28 and skip 2f, which could also land within an operand.
 */
enum { OPERAND_NONE = 1, OPERAND_1, OPERAND_2, OPERAND_4, OPERAND_8, OPERAND_LEB };

/* clang-format off */
static const uint8_t cfi_operands[256] = {
	[0x06] = OPERAND_NONE,		[0x08 ... 0x09] = OPERAND_1,
	[0x0a ... 0x0b] = OPERAND_2,	[0x0c ... 0x0d] = OPERAND_4,
	[0x0e ... 0x0f] = OPERAND_8,	[0x10 ... 0x11] = OPERAND_LEB,
	[0x12 ... 0x14] = OPERAND_NONE, [0x15] = OPERAND_1,
	[0x16 ... 0x17] = OPERAND_NONE, [0x19 ... 0x1a] = OPERAND_NONE,
	[0x1c] = OPERAND_NONE,		[0x1e ... 0x22] = OPERAND_NONE,
	[0x23] = OPERAND_LEB,		[0x24 ... 0x27] = OPERAND_NONE,
	[0x29 ... 0x2e] = OPERAND_NONE, [0x30 ... 0x4f] = OPERAND_NONE,
	[0x70 ... 0x80] = OPERAND_LEB, /* breg of an existing register */
	[0x94] = OPERAND_1,		[0x96] = OPERAND_NONE,
};
/* clang-format on */

static bool cfi_skip_operand(struct cfi_reader *reader, uint8_t operation)
{
	uint8_t operand = cfi_operands[operation];

	if (operand == OPERAND_LEB)
		cfi_read_uleb(reader);
	else if (operand > OPERAND_NONE)
		cfi_read_bytes(reader, 1U << (operand - OPERAND_1));
	return operand && !reader->bad;
}

#define CFI_MAX_EXPRESSION_BYTES 256

/* Whether the expression has only known operations, no loops and no division. */
static bool cfi_expression_is_safe(const uint8_t *expression, size_t size_bytes)
{
	struct cfi_reader reader;

	if (!expression || !size_bytes || size_bytes > CFI_MAX_EXPRESSION_BYTES)
		return false;
	reader = (struct cfi_reader){ .at = expression, .end = expression + size_bytes };
	while (!reader.bad && reader.at < reader.end)
		if (!cfi_skip_operand(&reader, cfi_read(&reader, 1)))
			return false;
	return !reader.bad;
}

/* --- instructions ----------------------------------------------------------------------------- */

/* Rules for registers outside struct cfi_state (vector registers, flags) are dropped. */
static void cfi_set(struct cfi_program *program, uint64_t number, struct cfi_place place)
{
	if (number < program->state.n_places)
		program->state.registers[number] = place;
}

static void cfi_set_value(struct cfi_program *program, uint64_t number, enum cfi_where where,
			  uint64_t value)
{
	cfi_set(program, number, (struct cfi_place){ .where = where, .value = value });
}

static void cfi_restore(struct cfi_program *program, uint64_t number)
{
	if (number < program->state.n_places)
		program->state.registers[number] = program->initial.registers[number];
}

static void cfi_set_expression(struct cfi_program *program, uint64_t number, enum cfi_where where)
{
	uint64_t length = cfi_read_uleb(&program->reader);
	const uint8_t *expression = cfi_read_bytes(&program->reader, length);

	cfi_set(program, number,
		(struct cfi_place){ .where = where,
				    .value = length,
				    .expression = expression,
				    .safe = cfi_expression_is_safe(expression, length) });
}

/* GCC and GAS compute the CFA only from general registers. A cursor has no other registers. */
static void cfi_set_cfa_register(struct cfi_program *program, uint64_t number)
{
	const struct cfi_cie *cie = &program->fde->cie;
	unsigned n_numbers = cfi_machine(cie->is_short, cie->is_arm64)->n_numbers;

	program->state.cfa = number < n_numbers ? CFA_REGISTER : CFA_UNSAID;
	program->state.cfa_register = number;
}

static void cfi_set_cfa_expression(struct cfi_program *program)
{
	uint64_t length = cfi_read_uleb(&program->reader);

	program->state.cfa = CFA_EXPRESSION;
	program->state.cfa_offset = length;
	program->state.cfa_expression = cfi_read_bytes(&program->reader, length);
	program->state.cfa_safe = cfi_expression_is_safe(program->state.cfa_expression, length);
}

static void cfi_advance(struct cfi_program *program, uint64_t by)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(by, program->fde->cie.code_align, &bytes) ||
	    __builtin_add_overflow(program->location, bytes, &program->location))
		program->reader.bad = true;
}

static void cfi_set_location(struct cfi_program *program)
{
	const struct cfi_fde *fde = program->fde;
	uint64_t address = fde->program_address + (program->reader.at - fde->program);
	uint64_t location = cfi_read_pointer(&program->reader, fde->cie.encoding, address);

	if (location < program->location) /* DWARF 5 §6.4.2.1: always greater */
		program->reader.bad = true;
	program->location = location;
	program->set_location = true;
}

/* Clears only the registers that the machine has, because this runs for each FDE. */
static void cfi_clear_state(struct cfi_state *state, const struct cfi_cie *cie)
{
	unsigned n = cfi_machine(cie->is_short, cie->is_arm64)->n_places;

	memset(state, 0, offsetof(struct cfi_state, registers) + n * sizeof(state->registers[0]));
	state->n_places = n;
}

static void cfi_copy_state(struct cfi_state *to, const struct cfi_state *from)
{
	memcpy(to, from,
	       offsetof(struct cfi_state, registers) + from->n_places * sizeof(from->registers[0]));
}

static void cfi_remember(struct cfi_program *program)
{
	if (program->n_remembered == CFI_MAX_STATES)
		program->reader.bad = true;
	else
		cfi_copy_state(&program->remembered[program->n_remembered++], &program->state);
}

static void cfi_recall(struct cfi_program *program)
{
	if (!program->n_remembered)
		program->reader.bad = true;
	else
		cfi_copy_state(&program->state, &program->remembered[--program->n_remembered]);
}

/* Runs an instruction that sets the rule of one register. The first operand is its number. */
static void cfi_run_register_rule(struct cfi_program *program, enum cfi_opcode opcode)
{
	struct cfi_reader *reader = &program->reader;
	int64_t align = program->fde->cie.data_align;
	uint64_t number = cfi_read_uleb(reader);

	switch (opcode) {
	case CFA_OFFSET_EXTENDED:
		cfi_set_value(program, number, WHERE_OFFSET, cfi_read_uleb(reader) * align);
		break;
	case CFA_OFFSET_EXTENDED_SF:
		cfi_set_value(program, number, WHERE_OFFSET,
			      (uint64_t)cfi_read_sleb(reader) * align);
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		cfi_set_value(program, number, WHERE_OFFSET, -(cfi_read_uleb(reader) * align));
		break;
	case CFA_VAL_OFFSET:
		cfi_set_value(program, number, WHERE_VAL_OFFSET, cfi_read_uleb(reader) * align);
		break;
	case CFA_VAL_OFFSET_SF:
		cfi_set_value(program, number, WHERE_VAL_OFFSET,
			      (uint64_t)cfi_read_sleb(reader) * align);
		break;
	case CFA_RESTORE_EXTENDED:
		cfi_restore(program, number);
		break;
	case CFA_UNDEFINED:
		cfi_set_value(program, number, WHERE_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		cfi_set_value(program, number, WHERE_SAME, 0);
		break;
	case CFA_REGISTER_RULE:
		cfi_set_value(program, number, WHERE_REGISTER, cfi_read_uleb(reader));
		break;
	case CFA_EXPRESSION_RULE:
		cfi_set_expression(program, number, WHERE_EXPRESSION);
		break;
	case CFA_VAL_EXPRESSION:
		cfi_set_expression(program, number, WHERE_VAL_EXPRESSION);
		break;
	default: /* the length of an unknown instruction is unknown, too */
		reader->bad = true;
	}
}

static void cfi_run_extended(struct cfi_program *program, enum cfi_opcode opcode)
{
	struct cfi_reader *reader = &program->reader;
	struct cfi_state *state = &program->state;
	int64_t align = program->fde->cie.data_align;

	switch (opcode) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
		cfi_set_location(program);
		break;
	case CFA_ADVANCE_LOC1:
		cfi_advance(program, cfi_read(reader, 1));
		break;
	case CFA_ADVANCE_LOC2:
		cfi_advance(program, cfi_read(reader, 2));
		break;
	case CFA_ADVANCE_LOC4:
		cfi_advance(program, cfi_read(reader, 4));
		break;
	case CFA_REMEMBER_STATE:
		cfi_remember(program);
		break;
	case CFA_RESTORE_STATE:
		cfi_recall(program);
		break;
	case CFA_DEF_CFA:
		cfi_set_cfa_register(program, cfi_read_uleb(reader));
		state->cfa_offset = cfi_read_uleb(reader);
		break;
	case CFA_DEF_CFA_SF:
		cfi_set_cfa_register(program, cfi_read_uleb(reader));
		state->cfa_offset = (uint64_t)cfi_read_sleb(reader) * align;
		break;
	case CFA_DEF_CFA_REGISTER:
		reader->bad |= state->cfa != CFA_REGISTER;
		cfi_set_cfa_register(program, cfi_read_uleb(reader));
		break;
	case CFA_DEF_CFA_OFFSET:
		reader->bad |= state->cfa != CFA_REGISTER;
		state->cfa_offset = cfi_read_uleb(reader);
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		reader->bad |= state->cfa != CFA_REGISTER;
		state->cfa_offset = (uint64_t)cfi_read_sleb(reader) * align;
		break;
	case CFA_DEF_CFA_EXPRESSION:
		cfi_set_cfa_expression(program);
		break;
	case CFA_GNU_ARGS_SIZE: /* only exceptions need it */
		cfi_read_uleb(reader);
		break;
	case CFA_NEGATE_RA_STATE_WITH_PC:
	case CFA_NEGATE_RA_STATE:
		reader->bad |= !program->fde->cie.is_arm64;
		break;
	default:
		cfi_run_register_rule(program, opcode);
	}
}

static void cfi_run(struct cfi_program *program)
{
	uint8_t byte = cfi_read(&program->reader, 1), low = byte & ~CFA_HIGH_MASK;
	uint64_t align = program->fde->cie.data_align;

	switch (byte & CFA_HIGH_MASK) {
	case CFA_ADVANCE_LOC:
		cfi_advance(program, low);
		break;
	case CFA_OFFSET:
		cfi_set_value(program, low, WHERE_OFFSET, cfi_read_uleb(&program->reader) * align);
		break;
	case CFA_RESTORE:
		cfi_restore(program, low);
		break;
	default:
		cfi_run_extended(program, low);
	}
}

static void cfi_set_program(struct cfi_program *program, const uint8_t *bytes, size_t size_bytes)
{
	program->reader = (struct cfi_reader){ bytes, bytes + size_bytes, false,
					       program->fde->cie.is_short };
}

void cfi_program_start(struct cfi_program *program, const struct cfi_fde *fde)
{
	program->fde = fde;
	program->location = fde->start;
	program->n_remembered = 0;
	program->set_location = false;
	cfi_clear_state(&program->state, &fde->cie);
	cfi_clear_state(&program->initial, &fde->cie);
	cfi_set_program(program, fde->cie.program, fde->cie.program_bytes);
	while (!program->reader.bad && program->reader.at < program->reader.end)
		cfi_run(program);
	program->bad = program->reader.bad || program->location != fde->start;
	cfi_copy_state(&program->initial, &program->state);
	program->ended = program->bad;
	cfi_set_program(program, fde->program, fde->program_bytes);
}

bool cfi_program_next(struct cfi_program *program)
{
	struct cfi_reader *reader = &program->reader;

	if (program->ended)
		return false;
	program->row_start = program->location;
	while (!reader->bad && reader->at < reader->end && program->location == program->row_start)
		cfi_run(program); /* an advance moves the location and nothing else */
	if (reader->bad) {
		program->bad = program->ended = true;
		return false;
	}
	program->row_end = program->location;
	if (program->location == program->row_start || program->location >= program->fde->end) {
		program->row_end = program->fde->end;
		program->ended = true;
	}
	return program->row_start < program->row_end;
}

/* --- rows that are safe for libunwind --------------------------------------------------------- */

bool cfi_state_is_safe(const struct cfi_state *state)
{
	if (state->cfa == CFA_UNSAID || (state->cfa == CFA_EXPRESSION && !state->cfa_safe))
		return false;
	for (unsigned i = 0; i < state->n_places; i++) {
		const struct cfi_place *place = &state->registers[i];

		if ((place->where == WHERE_EXPRESSION || place->where == WHERE_VAL_EXPRESSION) &&
		    !place->safe)
			return false;
		if (place->where == WHERE_REGISTER && (uint64_t)place->value >= state->n_places)
			return false;
	}
	return true;
}

bool cfi_program_is_safe(struct cfi_program *program, const struct cfi_fde *fde)
{
	for (cfi_program_start(program, fde); cfi_program_next(program);)
		if (!cfi_state_is_safe(&program->state))
			return false;
	return !program->bad;
}
