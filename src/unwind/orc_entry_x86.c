/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes one entry of an x86-64 kernel's ORC table, of any version, to a struct orc_row.
 * Resolver's thread; pure functions.
 *
 * In the kernel (arch/x86/include/asm/orc_types.h) there are two parallel arrays, sorted by address
 * at build time or at boot:
 *
 *   __start_orc_unwind_ip   s32  code address minus the address of this word
 *   __start_orc_unwind      s16 sp_offset, s16 bp_offset, u16 bit fields:
 *
 *         0..3    4..7    8..                        registers
 *   V1    sp_reg  bp_reg  type:2 end:1               0 none, 1 PREV_SP, 2 DX, 3 DI, 4 BP, 5 SP,
 *   V2    sp_reg  bp_reg  type:2 signal:1 end:1      6 R10, 7 R13, 8 BP_INDIRECT, 9 SP_INDIRECT,
 *   V3    sp_reg  bp_reg  type:3 signal:1            10 AX
 *   V4    sp_reg  bp_reg  type:3 signal:1            0 none, 1 AX, 2 DX, 3 SP, 4 BP, 5 DI, 6 R10,
 *                                                    7 R13, 8 PREV_SP, 9 SP_ and 10 BP_INDIRECT
 *
 *   type:2  0 CALL 1 REGS 2 PARTIAL;  type:3  0 UNDEFINED 1 END 2 CALL 3 REGS 4 PARTIAL
 *
 * (Linux commit fb799447ae29 ("x86,objtool: Split UNWIND_HINT_EMPTY in two"), in v6.4; drgn,
 * libdrgn/orc.h and orc_info.c.) An entry holds up to the address of the next entry.
 */
#include "config.h"

#include "unwind/orc_table.h"

/* --- layouts ---------------------------------------------------------------------------------- */

struct orc_layout orc_layout_of(enum orc_version version)
{
	struct orc_layout layout = { .bp_reg_shift = 4, .type_shift = 8, .end_shift = -1 };

	layout.type_bits = version <= ORC_V2 ? 2 : 3;
	layout.signal_shift = version == ORC_V1 ? -1 : version == ORC_V2 ? 10 : 11;
	if (version <= ORC_V2)
		layout.end_shift = version == ORC_V1 ? 10 : 11;
	layout.renumbered = version == ORC_V4;
	return layout;
}

static uint16_t orc_flags(const void *entries, size_t i)
{
	const uint8_t *bytes = (const uint8_t *)entries + i * ORC_ENTRY_BYTES + 4;

	return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static int16_t orc_s16(const uint8_t *bytes)
{
	return (int16_t)(bytes[0] | bytes[1] << 8);
}

/*
 * In all layouts most entries are calls with a frame by the stack pointer (87 % of the entries of
 * Debian's 6.1 and 6.12). V1 and V2 differ in bit 10. In V1 bit 10 is the end mark, which no entry
 * of type REGS with a register has. In V2 bit 10 is the signal mark, which most entries of type
 * REGS have.
 */
bool orc_guess_layout(const void *entries, size_t n, enum orc_version *version)
{
	size_t calls[3] = { 0 }, regs = 0, marked = 0;

	for (size_t i = 0; i < n; i++) {
		uint16_t flags = orc_flags(entries, i);
		unsigned sp_reg = flags & 15, type = flags >> 8 & 7;

		calls[0] += sp_reg == 5 && !(type & 3);
		calls[1] += sp_reg == 5 && type == 2;
		calls[2] += sp_reg == 3 && type == 2;
		regs += sp_reg && (type & 3) == 1;
		marked += sp_reg && (type & 3) == 1 && type & 4;
	}
	if (2 * calls[2] > n)
		*version = ORC_V4;
	else if (2 * calls[1] > n)
		*version = ORC_V3;
	else if (2 * calls[0] > n)
		*version = 2 * marked > regs ? ORC_V2 : ORC_V1;
	else
		return false;
	return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

static uint8_t orc_register(unsigned number, bool renumbered)
{
	static const uint8_t renumbering[] = { ORC_UNDEFINED,   ORC_AX,         ORC_DX,
					       ORC_SP,          ORC_BP,         ORC_DI,
					       ORC_R10,         ORC_R13,        ORC_PREV_SP,
					       ORC_SP_INDIRECT, ORC_BP_INDIRECT };

	if (number >= N_ORC_REGISTERS)
		return N_ORC_REGISTERS; /* orc_step() returns STEP_BAD */
	return renumbered ? renumbering[number] : (uint8_t)number;
}

/*
 * Types of two bits have no ORC_END and ORC_NOTHING: sp_reg is 0 for both, and the end mark tells
 * which.
 */
static uint8_t orc_type(uint16_t flags, const struct orc_layout *layout)
{
	static const uint8_t types[] = { ORC_CALL, ORC_REGS, ORC_PARTIAL, N_ORC_TYPES };
	unsigned type = flags >> layout->type_shift & ((1U << layout->type_bits) - 1);

	if (layout->type_bits != 2)
		return type < N_ORC_TYPES ? (uint8_t)type : N_ORC_TYPES;
	if (flags >> layout->sp_reg_shift & 15)
		return types[type];
	return layout->end_shift >= 0 && flags >> layout->end_shift & 1 ? ORC_END : ORC_NOTHING;
}

uint8_t orc_decode_type(const void *entries, size_t i, const struct orc_layout *layout)
{
	return orc_type(orc_flags(entries, i), layout);
}

struct orc_row orc_decode(const void *entries, size_t i, const struct orc_layout *layout)
{
	const uint8_t *bytes = (const uint8_t *)entries + i * ORC_ENTRY_BYTES;
	uint16_t flags = orc_flags(entries, i);
	struct orc_row row = { .type = orc_type(flags, layout) };

	if (row.type == ORC_NOTHING || row.type == ORC_END)
		return row;
	row.sp_offset = orc_s16(bytes);
	row.bp_offset = orc_s16(bytes + 2);
	row.sp_reg = orc_register(flags >> layout->sp_reg_shift & 15, layout->renumbered);
	row.bp_reg = orc_register(flags >> layout->bp_reg_shift & 15, layout->renumbered);
	row.signal = layout->signal_shift >= 0 ? flags >> layout->signal_shift & 1
					       : row.type != ORC_CALL;
	return row;
}
