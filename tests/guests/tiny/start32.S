/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tiny guest in 32 bits: its entry point for PVH, which is left in 32-bit mode, its page tables
 * and its stack. start.S is the same in 64 bits, and explains what is common.
 *
 *   pvh_start (paging off, flat segments, ebx = struct hvm_start_info) -> paging -> _start
 *
 *                            with PAE                   with TINY_TWO_LEVELS
 *   TINY_VIRT_BASE + 0..     pointers[3] -> middle[]    top[768..771]: 4 MiB pages
 *   TINY_FIX_BASE            middle[510] -> fix_table   top[1023] -> fix_table
 *   0.., for pvh_start only  pointers[0] -> middle[]    top[0..3]
 *
 * Sources: Xen 4.17 docs/misc/pvh.pandoc, public/elfnote.h; Intel SDM vol. 3A §4.3, §4.4.
 */
#include <xen/elfnote.h>
#include "tiny.h"

#define PHYS(symbol)	((symbol) - TINY_VIRT_BASE)

#define PTE_POINTER	0x01		/* present: the one bit of a top entry with PAE */
#define PTE_TABLE	0x03
#define PTE_PAGE	0x03
#define PTE_LARGE	0x83

#define CR0_PE_PG	0x80000001
#define CR4_PSE		0x10
#define CR4_PAE		0x20

	.section .text, "ax"
	.code32
	.globl	pvh_start
	.type	pvh_start, @function
pvh_start:
#ifdef TINY_TWO_LEVELS
	movl	$CR4_PSE, %eax
#else
	movl	$CR4_PAE, %eax
#endif
	movl	%eax, %cr4
	movl	$PHYS(root_table), %eax
	movl	%eax, %cr3
	movl	$CR0_PE_PG, %eax
	movl	%eax, %cr0
	movl	$TINY_FIX_BASE + TINY_STACK_PAGES * 4096, %esp
	movl	$_start, %eax
	jmp	*%eax			/* from the low address to the high one */
	.size	pvh_start, . - pvh_start

/* The outermost frame: ebp is 0 there, and the CFI says that there is no return address. */
	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined eip
	xorl	%ebp, %ebp
	pushl	%ebx
	pushl	$TINY_PVH
	call	boot
	pushl	$0
	call	main
	ud2				/* keeps main's return address inside _start */
	.cfi_endproc
	.size	_start, . - _start

	.section .data, "aw"
	.balign	4096
	.globl	root_table
	.type	root_table, @object
#ifdef TINY_TWO_LEVELS
root_table:
	.long	PTE_LARGE, 0x400000 + PTE_LARGE, 0x800000 + PTE_LARGE, 0xc00000 + PTE_LARGE
	.skip	(768 - 4) * 4
	.long	PTE_LARGE, 0x400000 + PTE_LARGE, 0x800000 + PTE_LARGE, 0xc00000 + PTE_LARGE
	.skip	(1023 - 772) * 4
	.long	PHYS(fix_table) + PTE_TABLE
	.size	root_table, . - root_table
#define FIX_ENTRIES	1024
#define FIX_ENTRY_BYTES	4
#else
root_table:
	.long	PHYS(middle_table) + PTE_POINTER, 0
	.quad	0, 0
	.long	PHYS(middle_table) + PTE_POINTER, 0
	.size	root_table, . - root_table
	.balign	4096
middle_table:
	.set	.Li, 0
	.rept	8
	.quad	.Li * 0x200000 + PTE_LARGE
	.set	.Li, .Li + 1
	.endr
	.skip	(510 - 8) * 8
	.long	PHYS(fix_table) + PTE_TABLE, 0
	.quad	0
#define FIX_ENTRIES	512
#define FIX_ENTRY_BYTES	8
#endif

	/* As in start.S: the frames of the stacks in reverse order. */
	.globl	fix_table
	.type	fix_table, @object
fix_table:
	.set	.Li, TINY_MAX_VCPUS * TINY_STACK_PAGES
	.rept	TINY_MAX_VCPUS * TINY_STACK_PAGES
	.set	.Li, .Li - 1
	.long	PHYS(stacks) + .Li * 4096 + PTE_PAGE
#ifndef TINY_TWO_LEVELS
	.long	0
#endif
	.endr
	.skip	(FIX_ENTRIES - TINY_MAX_VCPUS * TINY_STACK_PAGES) * FIX_ENTRY_BYTES
	.size	fix_table, . - fix_table

	.section .bss, "aw", @nobits
	.balign	4096
	.globl	stacks
	.type	stacks, @object
stacks:
	.skip	TINY_MAX_VCPUS * TINY_STACK_PAGES * 4096
	.size	stacks, . - stacks

	.globl	shared_info_page
	.type	shared_info_page, @object
shared_info_page:
	.skip	4096
	.size	shared_info_page, . - shared_info_page

	.section .note.Xen, "a", @note
	.balign	4
	.long	2f - 1f, 4f - 3f, XEN_ELFNOTE_PHYS32_ENTRY
1:	.asciz	"Xen"
2:	.balign	4
3:	.long	PHYS(pvh_start)
4:	.balign	4

	.section .note.GNU-stack, "", @progbits
