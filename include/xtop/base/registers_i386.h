/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the Linux kernel on i386 saves registers, for all stages that read them. */
#ifndef XTOP_REGISTERS_I386_H
#define XTOP_REGISTERS_I386_H

#include <stdbool.h>
#include <stdint.h>

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

/*
 * User code enters the kernel on the CPU's entry stack, which ends with its page. There the
 * processor saves the last five words of a struct pt_regs, and entry code pushes the others before
 * it moves them all to the task's stack; on the way back it pops them there (Linux
 * arch/x86/entry/entry_32.S, SWITCH_TO_KERNEL_STACK, SWITCH_TO_ENTRY_STACK). So while the stack
 * pointer is within such a pt_regs, the task's stack has the registers of an earlier entry.
 */
#define I386_USER_CS 0x73 /* asm/segment.h */
#define I386_USER_SS 0x7b

/* Returns the address of the pt_regs on an entry stack if SP is within it, otherwise 0. */
static inline uint64_t i386_entry_regs(uint64_t sp)
{
	uint64_t end = (sp | 0xfff) + 1;

	return end - sp >= PT_I386_AT(N_PT_I386 - PT_I386_IP) && end - sp <= PT_I386_BYTES
		       ? end - PT_I386_BYTES
		       : 0;
}

/*
 * __kernel_vsyscall() of the vDSO puts the user's stack pointer into ebp before `sysenter` (Linux
 * arch/x86/entry/vdso/vdso32/system_call.S). entry_SYSENTER_32 has nothing on the entry stack but,
 * for a moment, flags and eax. On the task's stack it saves 0 as the stack pointer, and
 * do_SYSENTER_32() replaces the 0. On the way back the entry stack has flags and eax again; ecx is
 * the user's stack pointer and edx the user's address, already while registers are popped.
 *
 * Returns true if SP is at the end of the entry stack or of the task's stack, or at most 12 bytes
 * below.
 */
static inline bool i386_is_sysenter(uint64_t sp)
{
	return (-sp & 0xfff) <= 12;
}

/* The words on the user's stack while __kernel_vsyscall() has called the kernel. */
enum vsyscall_i386_word {
	VSYSCALL_I386_BP,
	VSYSCALL_I386_DX,
	VSYSCALL_I386_CX,
	VSYSCALL_I386_RETURN,
	N_VSYSCALL_I386
};

/*
 * Bytes between the user's pt_regs and the end of the stack, without CONFIG_VM86
 * (asm/thread_info.h). With CONFIG_VM86 there are 16.
 */
#define I386_STACK_PADDING 8

#endif
