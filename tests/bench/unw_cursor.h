/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets libunwind read the registers of our cursor. */
#ifndef TESTS_BENCH_UNW_CURSOR_H
#define TESTS_BENCH_UNW_CURSOR_H

#include "unwind/cursor.h"
#include "unwind/unw_none.h"

static inline int unw_read_register(const struct cursor *cursor, unw_regnum_t number,
				    unw_word_t *value)
{
	static const enum unwind_register ours[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI,
						     REG_RDI, REG_RBP, REG_RSP, REG_R8,  REG_R9,
						     REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
						     REG_R15, REG_RIP };

	if (number < 0 || number > UNW_X86_64_RIP)
		return -UNW_EBADREG;
	*value = cursor->regs[ours[number]];
	return 0;
}

#endif
