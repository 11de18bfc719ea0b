/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libunwind asks of an address space that is a cursor's: registers of ours, and what there is none of. */
#ifndef TESTS_BENCH_UNW_CURSOR_H
#define TESTS_BENCH_UNW_CURSOR_H

#include <libunwind.h>

#include "unwind/cursor.h"

static inline void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument)
{
	(void)space;
	(void)info;
	(void)argument;
}

static inline int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *argument)
{
	(void)space;
	(void)address;
	(void)argument;
	return -UNW_ENOINFO;
}

static inline int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *argument)
{
	(void)space;
	(void)number;
	(void)value;
	(void)write;
	(void)argument;
	return -UNW_EBADREG;
}

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
