/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a few instructions of functions in a kernel of i386, to find offsets of members that
 * nothing else tells. Results are guesses. (Intel SDM vol. 2A §2.1.5: ModRM.) Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_CODE_I386_H
#define XTOP_LINUX_KERNEL_CODE_I386_H

#include <string.h>

#include "linux/kernel/linux_guest.h"

#define CODE_I386_MAX_BYTES 4096 /* most bytes of a function that are read */

struct code_i386 {
	uint8_t bytes[CODE_I386_MAX_BYTES];
	size_t at, end; /* the part of bytes that was not searched yet */
};

/* Returns false if the kernel has no such function, or if SIZE_BYTES of it cannot be read. */
bool code_i386_read(const struct linux_guest *guest, enum linux_symbol function, size_t size_bytes,
		    struct code_i386 *code);
/*
 * The register into which `mov %fs:CURRENT, %reg` loads `current`; -1 if there is no such
 * instruction. Moves CODE past the instruction.
 */
int code_i386_find_current(struct code_i386 *code, uint32_t current);
/* The 32-bit displacement of the first OPCODE with base register REG; 0 if no OPCODE has it. */
uint32_t code_i386_find_member(const struct code_i386 *code, uint8_t opcode, int reg);
/*
 * Finds the next `mov OFFSET(%reg), %other` with base register *REG. Sets *OFFSET, and *REG to the
 * other register. Moves CODE past the instruction. Returns false if there is no such instruction.
 */
bool code_i386_follow(struct code_i386 *code, int *reg, uint32_t *offset);

static inline uint32_t code_i386_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

#endif
