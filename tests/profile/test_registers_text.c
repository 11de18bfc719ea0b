/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers as text: all lines of an x86-64, an i386, an arm64 and a 32-bit Arm vCPU. Each register
 * has a number of its own.
 */
#include "config.h"

#include <string.h>

#include "profile/registers_text.h"
#include "tests/support/tap.h"

static void check_lines(const struct registers *regs, unsigned n, const char *const *some,
			const char *what)
{
	char text[REGISTERS_TEXT_BYTES], all[32 * REGISTERS_TEXT_BYTES] = "";
	unsigned i = 0;

	for (; registers_put_line(regs, i, text); i++)
		strcat(strcat(all, text), "\n");
	check_u64(i, n, what);
	for (; *some; some++)
		check(strstr(all, *some), "%s: %s", what, *some);
}

int main(void)
{
	struct registers regs = { .rip = 0xffffffff81000010, .r15 = 0x1515 };

	check_lines(&regs, 7,
		    (const char *const[]){ "rip ffffffff81000010", "r15 0000000000001515", NULL },
		    "x86-64");
	regs = (struct registers){ .width = WIDTH_32_PAE, .rip = 0xc1000010, .rsp = 0xc2ffe000,
				   .rbp = 0xc2ffe0b0, .rdx = 0xd0, .cr0 = CR0_PG | 1,
				   .cr3 = 0x1234560, .cr4 = CR4_PAE };
	check_lines(&regs, 5,
		    (const char *const[]){ "eip c1000010  esp c2ffe000  eflags 00000000",
					   "edx 000000d0", "ebp c2ffe0b0  cr0 80000001  cr3 01234560",
					   "cr4 00000020", NULL },
		    "i386");
	regs.width = WIDTH_64;
	regs.cs = CS_USER_32;
	regs.cr3 = 0x123456000;
	check_lines(&regs, 5, (const char *const[]){ "eip c1000010", "cr3 123456000", NULL },
		    "a 32-bit program below a kernel of x86-64");
	regs = (struct registers){ .arch = ARCH_ARM64 };
	for (unsigned i = 0; i < 31; i++)
		regs.arm64.x[i] = 0xabcd00000000 + i;
	regs.arm64.pc = 0x1000;
	regs.arm64.pstate = 5;
	regs.arm64.sp_el1 = 0x2000;
	check_lines(&regs, 13,
		    (const char *const[]){ "pc 0000000000001000  sp 0000000000002000",
					   "x30 0000abcd0000001e", NULL },
		    "arm64");
	regs.arm64.pstate = 0x60000013;
	check_lines(&regs, 7,
		    (const char *const[]){ "pc 00001000  cpsr 60000013", "r0 00000000  r1 00000001",
					   "r12 0000000c  sp 00000013  lr 00000012", NULL },
		    "32-bit Arm, svc mode");
	regs.arm64.pstate = 0x60000010;
	regs.arm64.tcr = 2ULL << 30 | 16;
	check_lines(&regs, 7,
		    (const char *const[]){ "cpsr 60000010  tcr 80000010",
					   "r12 0000000c  sp 0000000d  lr 0000000e", NULL },
		    "a 32-bit program below a kernel of 64 bits");
	return tap_done();
}
