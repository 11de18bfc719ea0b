/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a few instructions of functions in a kernel of i386, for offsets of members that nothing
 * else tells. What is found is a guess. (Intel SDM vol. 2A §2.1.5: ModRM.) Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_CODE_I386_H
#define XTOP_LINUX_KERNEL_CODE_I386_H

#include <string.h>

#include "linux/kernel/linux_guest.h"

#define CODE_I386_MAX_BYTES 4096 /* of a function */

struct code_i386 {
	uint8_t bytes[CODE_I386_MAX_BYTES];
	size_t at, end; /* where to look on */
};

/* False: the kernel has no such function, or SIZE_BYTES of it cannot be read. */
bool code_i386_read(const struct linux_guest *guest, enum linux_symbol function, size_t size_bytes,
		    struct code_i386 *code);
/*
 * The register that `current` is loaded into, `mov %fs:CURRENT, %reg`; moves CODE behind that. -1:
 * none.
 */
int code_i386_find_current(struct code_i386 *code, uint32_t current);
/* The displacement of the first OPCODE that has one of 32 bits from REG. 0: none. */
uint32_t code_i386_find_member(const struct code_i386 *code, uint8_t opcode, int reg);
/*
 * The next `mov OFFSET(%reg), %other` of *REG: sets *OFFSET, and *REG to the other register. Moves
 * CODE behind that. False: there is none.
 */
bool code_i386_follow(struct code_i386 *code, int *reg, uint32_t *offset);

static inline uint32_t code_i386_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

#endif
