/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The upcall guest's way between user mode and its kernel, as Linux has it. Interrupts are on in
 * user mode only. The kernel does swapgs on the way in and on the way out. An entry from kernel
 * mode takes the kernel's GS base for loaded.
 *
 * Sources: Intel SDM vol. 3A §6.14 (stack of an interrupt in 64-bit mode), vol. 2 swapgs.
 */
#include "upcall.h"

	.section .text, "ax"

/*
 * The interrupt. On the stack: rip, cs, rflags, rsp, ss. An entry of Linux has a few instructions
 * before its swapgs. Here they take half a millisecond, so that a run of seconds finds what a guest
 * under load finds in hours.
 */
	.globl	interrupt_entry
	.type	interrupt_entry, @function
interrupt_entry:
	testb	$USER_RPL, 8(%rsp)
	jz	2f
	pushq	%rcx
	movl	$BEFORE_SWAPGS, %ecx
1:	decl	%ecx
	jnz	1b
	popq	%rcx
	swapgs
2:
	.irp register, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	pushq	%\register
	.endr
	movq	15 * 8 + 8(%rsp), %rdi		/* cs */
	movq	%rsp, %rbp
	andq	$-16, %rsp
	cld
	call	interrupt
	movq	%rbp, %rsp
	.irp register, r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax
	popq	%\register
	.endr
	testb	$USER_RPL, 8(%rsp)
	jz	3f
	swapgs
3:	iretq
	.size	interrupt_entry, . - interrupt_entry

/* enter_user(rdi: where to, rsi: its stack): interrupts are on there. Does not return. */
	.globl	enter_user
	.type	enter_user, @function
enter_user:
	swapgs
	pushq	$USER_DATA
	pushq	%rsi
	pushq	$RFLAGS_IF | RFLAGS_ALWAYS
	pushq	$USER_CODE
	pushq	%rdi
	iretq
	.size	enter_user, . - enter_user

	.section .note.GNU-stack, "", @progbits
