/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common instructions, decoded faster than by Zydis; see instruction_common_x86.c. */
#ifndef XTOP_UNWIND_INSTRUCTION_COMMON_H
#define XTOP_UNWIND_INSTRUCTION_COMMON_H

#include "unwind/instruction.h"

/* As instruction_x86_decode(). False: the instruction is another one, or none. */
bool instruction_decode_common(const uint8_t *bytes, size_t n, uint64_t address,
			       struct instruction *instruction);
/* The same for all instructions, by Zydis alone. */
bool instruction_decode_zydis(const uint8_t *bytes, size_t n, uint64_t address,
			      struct instruction *instruction);

#endif
