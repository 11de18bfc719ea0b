/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes common x86-64 instructions faster than Zydis does; see instruction_common_x86.c. */
#ifndef XTOP_UNWIND_INSTRUCTION_COMMON_H
#define XTOP_UNWIND_INSTRUCTION_COMMON_H

#include "unwind/instruction.h"

/* Like instruction_x86_decode(). Also returns false for an instruction that is not common. */
bool instruction_decode_common(const uint8_t *bytes, size_t n, uint64_t address,
			       struct instruction *instruction);
/* Like instruction_x86_decode(), but only by Zydis. */
bool instruction_decode_zydis(const uint8_t *bytes, size_t n, uint64_t address,
			      struct instruction *instruction);

#endif
