/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several stages know of Linux on i386: where its kernel is, and how it saves registers. */
#ifndef XTOP_REGISTERS_I386_H
#define XTOP_REGISTERS_I386_H

#define I386_KERNEL_START 0xc0000000ULL /* CONFIG_VMSPLIT_3G */
#define I386_END          (1ULL << 32)

/*
 * struct pt_regs as words of 4 bytes (Linux arch/x86/include/asm/ptrace.h). From 5.5 on the last
 * two are there also when the kernel itself was interrupted (arch/x86/entry/entry_32.S,
 * FIXUP_FRAME). The upper half of `cs` has flags of the kernel's.
 */
enum pt_i386_word {
	PT_I386_BX, PT_I386_CX, PT_I386_DX, PT_I386_SI, PT_I386_DI, PT_I386_BP, PT_I386_AX,
	PT_I386_DS, PT_I386_ES, PT_I386_FS, PT_I386_GS, PT_I386_ORIG_AX,
	PT_I386_IP, PT_I386_CS, PT_I386_FLAGS, PT_I386_SP, PT_I386_SS,
	N_PT_I386
};
#define PT_I386_AT(word) (4 * (word)) /* byte offset */
#define PT_I386_BYTES    PT_I386_AT(N_PT_I386)

/* Above the user's pt_regs (asm/thread_info.h): without CONFIG_VM86, with it 16. */
#define I386_STACK_PADDING 8

#endif
