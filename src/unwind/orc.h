/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ORC: how a Linux kernel for x86-64 unwinds its own code (Documentation/arch/x86/orc-unwinder.rst).
 * A table of the kernel, and one of each module, says for every code address where the caller's
 * frame is. Here the tables are turned into a compact one: 3 bytes an entry.
 *
 *   bytes of the guest or of a vmlinux ─► orc_create()  ─► struct orc ─► orc_step()   orc_step.c
 *   our cache on disk                  ─► orc_unpack() ──┘                 orc_pack.c
 *
 * Addresses are the image's: what is kept of a table does not depend on where the kernel lies.
 * Resolver's thread; the bytes are hostile.
 */
#ifndef XTOP_UNWIND_ORC_H
#define XTOP_UNWIND_ORC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cursor.h"
#include "xtop/error.h"
#include "xtop/limit.h"
#include "xtop/symbol.h"

#define ORC_MAX_ENTRIES    (4U << 20)
#define ORC_MAX_TEXT_BYTES (1ULL << 28) /* what one table may span */
#define ORC_MAX_ROWS       LIMIT(UINT16_MAX, 255) /* different ones; a kernel has some 5,000 */
#define ORC_MAX_SPECIALS   64
#define ORC_ENTRY_BYTES    6
#define ORC_IP_BYTES       4

struct orc;

/* --- where the bits of an entry are ----------------------------------------------------------- */

/*
 * The third 16-bit word of an entry: shifts and widths, as BTF's struct orc_entry has them less 32.
 * sp_reg and bp_reg are 4 bits each.
 */
struct orc_layout {
	uint8_t sp_reg_shift, bp_reg_shift;
	uint8_t type_shift, type_bits; /* 2: CALL is 0; 3: CALL is 2 */
	int8_t signal_shift;           /* -1: none */
	int8_t end_shift;              /* -1: none */
	bool renumbered;               /* SP is 3, not 5 */
};

/* ORC_V1: 4.14 to 6.2, ORC_V2: 6.3, ORC_V3: 6.4 to 7.0, ORC_V4: from 7.1 on; and what was backported. */
enum orc_version { ORC_V1 = 1, ORC_V2, ORC_V3, ORC_V4 };
struct orc_layout orc_layout_of(enum orc_version version);
/*
 * By what most entries of a kernel are: CALL with the stack pointer. False: neither layout fits; a
 * small module's table may have too little in it.
 */
bool orc_guess_layout(const void *entries, size_t n, enum orc_version *version);

/* --- tables ----------------------------------------------------------------------------------- */

/* Need not outlive orc_create(). */
struct orc_source {
	const void *ips;     /* N times s32: address of the code less the address of the word itself */
	const void *entries; /* N times ORC_ENTRY_BYTES */
	size_t n;
	uint64_t ips_address;          /* of the first word, in the image */
	uint64_t text_start, text_end; /* entries for addresses outside are left out */
};

/* Error: nothing usable in it, beyond a limit, memory. Any order of entries will do. */
struct xtop_error *orc_create(const struct orc_source *source, const struct orc_layout *layout,
			      struct orc **orcp);
void orc_destroy(struct orc *orc); /* NULL allowed */

enum orc_register {
	ORC_UNDEFINED, ORC_PREV_SP, ORC_DX, ORC_DI, ORC_BP, ORC_SP, ORC_R10, ORC_R13,
	ORC_BP_INDIRECT, ORC_SP_INDIRECT, ORC_AX,
	N_ORC_REGISTERS
};

enum orc_type { ORC_NOTHING, ORC_END, ORC_CALL, ORC_REGS, ORC_PARTIAL, N_ORC_TYPES };

/* One entry, the same for all versions. */
struct orc_row {
	int16_t sp_offset, bp_offset;
	uint8_t sp_reg, bp_reg; /* enum orc_register */
	uint8_t type;           /* enum orc_type */
	uint8_t signal;         /* 1: the caller was interrupted, it did not call */
};

/* NULL: not covered. */
const struct orc_row *orc_find(const struct orc *orc, uint64_t address);
size_t orc_memory_bytes(const struct orc *orc);

/*
 * orc_pack.c: all of it in one piece of orc_pack_bytes(), relative to the code, which a cache keeps;
 * with the specials. orc_unpack() checks it.
 */
size_t orc_pack_bytes(const struct orc *orc);
void orc_pack(const struct orc *orc, void *pack);
struct xtop_error *orc_unpack(const void *pack, size_t size_bytes, uint64_t text_start,
			      uint64_t text_end, struct orc **orcp);

/* --- code that the tables are silent or wrong about ------------------------------------------- */

enum orc_special {
	ORC_RETPOLINES,  /* __x86_indirect_thunk_*, 32 bytes each: call, then ret to where it jumps */
	ORC_JUMPS,       /* __x86_indirect_its_thunk_*: nothing but a jump, the caller is on top */
	ORC_TRAMPOLINES, /* return_to_handler and the like: put in the place of a return address */
};

/* Later ones and those beyond ORC_MAX_SPECIALS are dropped; neighbours of a kind merge. */
void orc_add_special(struct orc *orc, enum orc_special kind, uint64_t start, uint64_t end);
/* All of these that SYMTAB, of the same image, knows by name. */
void orc_add_specials_of(struct orc *orc, const struct symtab *symtab);

/* --- orc_step.c ------------------------------------------------------------------------------- */

/* ROW is orc_find()'s for cursor_pc(), or NULL. BIAS: address in the guest - address in the image. */
enum unwind_step orc_step(const struct orc *orc, const struct orc_row *row, uint64_t bias,
			  struct cursor *cursor);
/* False: ADDRESS is ordinary code. */
bool orc_find_special(const struct orc *orc, uint64_t address, enum orc_special *kind,
		      uint64_t *start);

#endif
