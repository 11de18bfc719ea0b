/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the offsets of a task's name and pid in code of i386; see layout_32.h.
 *
 *   64 8b 05+8*reg  s32        mov  %fs:CURRENT_TASK, %reg; 64 a1 for %eax
 *      8d 80+8*to+reg  s32     lea  COMM(%reg), %to
 *      ff b0+reg       s32     push PID(%reg); 8b 80+8*to+reg: mov
 *
 * (Intel SDM vol. 2A §2.1.5: ModRM.) Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/code_i386.h"
#include "linux/kernel/layout_32.h"

bool layout_i386_read_code(const struct linux_guest *guest, struct layout_32_names *names)
{
	struct code_i386 code;
	int reg;

	if (!code_i386_read(guest, LINUX_STACK_INFO, LAYOUT_32_CODE_BYTES, &code))
		return false;
	reg = code_i386_find_current(&code, (uint32_t)guest->symbols[LINUX_CURRENT_TASK]);
	if (reg < 0 || reg == 4)
		return false;
	names->comm = code_i386_find_member(&code, 0x8d, reg);
	names->pid = code_i386_find_member(&code, 0xff, reg);
	if (!names->pid)
		names->pid = code_i386_find_member(&code, 0x8b, reg);
	return layout_32_are_names(names);
}
