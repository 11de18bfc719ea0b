/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions for the tests of unwinding, with call chains that are known.
 *
 *   work_tail_call(f)      jumps to f: it is in no chain
 *   work_never_returns(f)  calls f as its last instruction; the return address is the start of
 *   work_behind            another function, with other CFI
 *   work_without_cfi(f)    calls f and has no CFI
 *   work_realigned(f)      as gcc realigns a stack: the CFA is an expression
 *   work_return_in_rdx(f)  keeps its return address in a register for a while
 */
	.text
	.globl work_tail_call, work_never_returns, work_behind, work_without_cfi, work_realigned
	.globl work_return_in_rdx
	.type work_tail_call, @function
	.type work_never_returns, @function
	.type work_behind, @function
	.type work_without_cfi, @function
	.type work_realigned, @function
	.type work_return_in_rdx, @function

work_tail_call:
	.cfi_startproc
	endbr64
	jmp	*%rdi
	.cfi_endproc
	.size work_tail_call, . - work_tail_call

work_never_returns:
	.cfi_startproc
	endbr64
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	lea	24(%rsp), %rbx
	sub	$32, %rsp
	.cfi_def_cfa_offset 48
	call	*%rdi
	.cfi_endproc
	.size work_never_returns, . - work_never_returns
work_behind:
	.cfi_startproc
	/* only got to by the call above: undo what work_never_returns did */
	.cfi_def_cfa_offset 48
	add	$32, %rsp
	.cfi_def_cfa_offset 16
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size work_behind, . - work_behind

work_without_cfi:
	endbr64
	push	%rax
	call	*%rdi
	pop	%rdx
	ret
	.size work_without_cfi, . - work_without_cfi

work_realigned:
	.cfi_startproc
	endbr64
	lea	8(%rsp), %r10
	.cfi_def_cfa r10, 0
	and	$-32, %rsp
	push	-8(%r10)
	push	%rbp
	mov	%rsp, %rbp
	.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00	/* rbp at breg6 (rbp) 0 */
	push	%r10
	.cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06	/* CFA: breg6 (rbp) -8, deref */
	sub	$40, %rsp
	call	*%rdi
	add	$40, %rsp
	pop	%r10
	.cfi_def_cfa r10, 0
	pop	%rbp
	lea	-8(%r10), %rsp
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size work_realigned, . - work_realigned

work_return_in_rdx:
	.cfi_startproc
	endbr64
	pop	%rdx
	.cfi_def_cfa_offset 0
	.cfi_register rip, rdx
	nop
	push	%rdx
	.cfi_def_cfa_offset 8
	.cfi_offset rip, -8
	jmp	*%rdi
	.cfi_endproc
	.size work_return_in_rdx, . - work_return_in_rdx

	.section .note.GNU-stack, "", @progbits
