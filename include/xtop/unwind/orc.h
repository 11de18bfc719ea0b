/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ORC: how a Linux kernel for x86-64 unwinds its own code (Linux
 * Documentation/arch/x86/orc-unwinder.rst). A table of the kernel, and one of each module, says for
 * every code address where the caller's frame is. The tables become compact ones of 3 bytes an
 * entry (unwind/orc.c):
 *
 *   bytes of the guest or of a vmlinux ─► orc_create()  ─► struct orc ─► orc_step()
 *   our cache on disk                  ─► orc_unpack() ──┘
 *
 * Addresses are the image's: a table does not depend on where the kernel lies. Resolver's thread.
 * The bytes are hostile.
 */
#ifndef XTOP_ORC_H
#define XTOP_ORC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/base/limit.h"

#define ORC_MAX_ENTRIES    (4U << 20)
#define ORC_MAX_TEXT_BYTES (1ULL << 28) /* code that one table covers */
#define ORC_MAX_ROWS       LIMIT(UINT16_MAX, 255) /* different ones; a kernel has some 5,000 */
#define ORC_MAX_SPECIALS   64
#define ORC_ENTRY_BYTES    6
#define ORC_IP_BYTES       4

struct orc;

/* --- where the bits of an entry are ----------------------------------------------------------- */

/*
 * The third 16-bit word of an entry: shifts and widths, as BTF's struct orc_entry has them less 32.
 * sp_reg and bp_reg have 4 bits each.
 */
struct orc_layout {
	uint8_t sp_reg_shift, bp_reg_shift;
	uint8_t type_shift, type_bits; /* 2: CALL is 0; 3: CALL is 2 */
	int8_t signal_shift;           /* -1: none */
	int8_t end_shift;              /* -1: none */
	bool renumbered;               /* SP is 3, not 5 */
};

/* ORC_V1: 4.14 to 6.2, ORC_V2: 6.3, ORC_V3: 6.4 to 7.0, ORC_V4: from 7.1 on; and backports. */
enum orc_version { ORC_V1 = 1, ORC_V2, ORC_V3, ORC_V4 };
struct orc_layout orc_layout_of(enum orc_version version);
/*
 * Guesses from what most entries of a kernel are: CALL with the stack pointer. False: no layout
 * fits. A small module's table may have too few entries for a guess.
 */
bool orc_guess_layout(const void *entries, size_t n, enum orc_version *version);

/* --- tables ----------------------------------------------------------------------------------- */

/* Need not outlive orc_create(). */
struct orc_source {
	const void *ips;     /* N times s32: address of the code less the word's own address */
	const void *entries; /* N times ORC_ENTRY_BYTES */
	size_t n;
	uint64_t ips_address;          /* of the first word, in the image */
	uint64_t text_start, text_end; /* entries for addresses outside are left out */
};

/* Entries may come in any order. Error: no usable entry, beyond a limit, or out of memory. */
struct xtop_error *orc_create(const struct orc_source *source, const struct orc_layout *layout,
			      struct orc **orcp);
void orc_destroy(struct orc *orc); /* NULL allowed */

/*
 * One piece of orc_pack_bytes() bytes, for a cache: the table and its specials, relative to the
 * start of the code. orc_unpack() checks the bytes.
 */
size_t orc_pack_bytes(const struct orc *orc);
void orc_pack(const struct orc *orc, void *pack);
struct xtop_error *orc_unpack(const void *pack, size_t size_bytes, uint64_t text_start,
			      uint64_t text_end, struct orc **orcp);

/* --- code for which the tables have no entry or a wrong one ----------------------------------- */

enum orc_special {
	ORC_RETPOLINES,  /* __x86_indirect_thunk_*, 32 bytes each: a call, then a ret as the jump */
	ORC_LEAVES,      /* never moves the stack pointer: the return address is on top */
	ORC_TRAMPOLINES, /* return_to_handler and the like: put in the place of a return address */
	ORC_HYPERCALLS,  /* the stubs of a Xen PV guest, 32 bytes each, which push rcx and r11 */
	ORC_SWITCH,      /* __switch_to_asm: calls inside of it fill the return stack buffer */
};
#define N_ORC_SPECIALS 5

/* Neighbours of a kind merge. What comes after ORC_MAX_SPECIALS ranges is dropped. */
void orc_add_special(struct orc *orc, enum orc_special kind, uint64_t start, uint64_t end);

#endif
