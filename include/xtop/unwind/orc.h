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
#define ORC_MAX_ROWS       LIMIT(UINT16_MAX, 255) /* distinct rows; a kernel has some 5,000 */
#define ORC_MAX_SPECIALS   64
#define ORC_ENTRY_BYTES    6
#define ORC_IP_BYTES       4

struct orc;

/* --- where the bits of an entry are ----------------------------------------------------------- */

/*
 * The bit fields in the third 16-bit word of an entry: bit numbers and widths. BTF's struct
 * orc_entry counts bits from the start of the entry, so its numbers are higher by 32. sp_reg and
 * bp_reg have 4 bits each.
 */
struct orc_layout {
	uint8_t sp_reg_shift, bp_reg_shift;
	uint8_t type_shift, type_bits; /* type_bits 2: the type CALL is 0; 3: CALL is 2 */
	int8_t signal_shift;           /* -1: entries have no such bit */
	int8_t end_shift;              /* -1: entries have no such bit */
	bool renumbered;               /* the register SP has the number 3 instead of 5 */
};

/*
 * Linux 4.14 to 6.2: ORC_V1. 6.3: ORC_V2. 6.4 to 7.0: ORC_V3. From 7.1 on: ORC_V4. Older kernels
 * may have backports.
 */
enum orc_version { ORC_V1 = 1, ORC_V2, ORC_V3, ORC_V4 };
struct orc_layout orc_layout_of(enum orc_version version);
/*
 * Guesses the version of a kernel's N ENTRIES: most entries must be CALL relative to the stack
 * pointer. Returns false if no version fits. A small module's table may have too few entries for a
 * guess.
 */
bool orc_guess_layout(const void *entries, size_t n, enum orc_version *version);

/* --- tables ----------------------------------------------------------------------------------- */

/* A table as the kernel has it. The bytes need not outlive orc_create(). */
struct orc_source {
	const void *ips;     /* n words, s32: the code's address minus the word's own address */
	const void *entries; /* n entries, ORC_ENTRY_BYTES each */
	size_t n;
	uint64_t ips_address;          /* the image's address of ips[0] */
	struct work *work; /* tells when to stop building tables; NULL: never */
	uint64_t text_start, text_end; /* entries for code outside this range are left out */
};

/* Entries may come in any order. Error: no usable entry, a limit exceeded, or out of memory. */
struct xtop_error *orc_create(const struct orc_source *source, const struct orc_layout *layout,
			      struct orc **orcp);
void orc_destroy(struct orc *orc); /* NULL allowed */

/*
 * For the cache on disk: orc_pack() writes the table and its specials as orc_pack_bytes() bytes,
 * with addresses relative to the start of the code. orc_unpack() checks the bytes.
 */
size_t orc_pack_bytes(const struct orc *orc);
void orc_pack(const struct orc *orc, void *pack);
struct xtop_error *orc_unpack(const void *pack, size_t size_bytes, uint64_t text_start,
			      uint64_t text_end, struct orc **orcp);

/* --- code for which the tables have no entry or a wrong one ----------------------------------- */

enum orc_special {
	ORC_RETPOLINES,  /* __x86_indirect_thunk_*, 32 bytes each: a call, then a ret as the jump */
	ORC_LEAVES,      /* code that never moves the stack pointer: the return address is on top */
	ORC_TRAMPOLINES, /* return_to_handler and the like: tracers return to them */
	ORC_HYPERCALLS,  /* the stubs of a Xen PV guest, 32 bytes each, which push rcx and r11 */
	ORC_SWITCH,      /* __switch_to_asm: its inner calls fill the return stack buffer */
};
#define N_ORC_SPECIALS 5

/* Adjacent ranges of one kind merge. Ranges beyond ORC_MAX_SPECIALS are dropped. */
void orc_add_special(struct orc *orc, enum orc_special kind, uint64_t start, uint64_t end);

#endif
