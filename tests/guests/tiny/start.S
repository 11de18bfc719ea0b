/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entry points of the tiny guest, its page tables for PVH, its stacks, and the notes that
 * describe to Xen how to start it.
 *
 *   PVH:  pvh_start (32-bit, paging off, ebx = struct hvm_start_info) -> long mode -> _start
 *   PV:   pv_start  (64-bit, paging on, rsi = struct start_info)                   -> _start
 *
 * Both end in _start, which is the outermost frame of every call chain of vCPU 0. For the other
 * vCPUs the outermost frame is secondary_start. An unwinder sees that these are outermost:
 * rbp is 0 there, and the CFI says that the return address is undefined (DWARF 5 §6.4.4).
 *
 * Sources: Xen 4.17 docs/misc/pvh.pandoc, public/elfnote.h, public/xen.h "Start-of-day
 * memory layout"; Intel SDM vol. 3A §4.5 (page tables), §9.8.5 (entering long mode).
 */
#include <xen/elfnote.h>
#include "tiny.h"

#define PHYS(symbol)	((symbol) - TINY_VIRT_BASE)

/* Page-table bits, Intel SDM vol. 3A table 4-15 and following. */
#define PTE_TABLE	0x03		/* present, writable */
#define PTE_PAGE	0x03
#define PTE_LARGE	0x83		/* ... and PS: this entry maps a page of 2 MiB */

#define CR0_PE_PG	0x80000001
#define CR4_PAE		0x20
#define MSR_EFER	0xc0000080
#define EFER_LME	0x100

	.section .text, "ax"

/* ---- PVH: 32-bit code, running at physical addresses ------------------------------- */
	.code32
	.globl	pvh_start
	.type	pvh_start, @function
pvh_start:
	movl	$CR4_PAE, %eax
	movl	%eax, %cr4
	movl	$PHYS(root_table), %eax
	movl	%eax, %cr3
	movl	$MSR_EFER, %ecx
	rdmsr
	orl	$EFER_LME, %eax
	wrmsr
	movl	$CR0_PE_PG, %eax
	movl	%eax, %cr0
	/* This is compatibility mode; a far jump through our own GDT enters 64-bit mode. */
	lgdtl	PHYS(gdt_pointer)
	ljmpl	$8, $PHYS(pvh_start64)
	.size	pvh_start, . - pvh_start

	.code64
	.type	pvh_start64, @function
pvh_start64:
	/* Still at a low address; the jump to _start below goes to the high address. */
	xorl	%eax, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movl	$TINY_PVH, %edi
	movl	%ebx, %esi
	movq	$TINY_FIX_BASE + TINY_STACK_PAGES * 4096, %rsp
	movq	$_start, %rax
	jmpq	*%rax
	.size	pvh_start64, . - pvh_start64

/* ---- PV: already in 64-bit mode at the linked address ------------------------------ */
	.globl	pv_start
	.type	pv_start, @function
pv_start:
	cld
	movl	$TINY_PV, %edi
	movq	$stacks + TINY_STACK_PAGES * 4096, %rsp
	jmp	_start
	.size	pv_start, . - pv_start

/* ---- The outermost frames ----------------------------------------------------------- */
	.globl	_start
	.type	_start, @function
_start:						/* edi flavour, rsi start_info */
#ifdef TINY_LATE_STACK
/*
 * As many kernels begin: the segments, then the stack, and nothing that an unwinder could read
 * (tests/lab/entry.test).
 */
	xorl	%eax, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %fs
	movl	%eax, %gs
	movl	%eax, %ss
	movq	$TINY_FIX_BASE + TINY_STACK_PAGES * 4096, %rsp
	call	boot
	xorl	%edi, %edi
	call	main
1:	hlt
	jmp	1b
	.size	_start, . - _start
	.globl	secondary_start
secondary_start:
	ud2
#else
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	call	boot
	xorl	%edi, %edi
	call	main
	ud2					/* keeps main's return address inside _start */
	.cfi_endproc
	.size	_start, . - _start

	.globl	secondary_start
	.type	secondary_start, @function
secondary_start:				/* rdi vCPU number, rsp its stack */
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	call	main
	ud2
	.cfi_endproc
	.size	secondary_start, . - secondary_start
#endif

/*
 * ---- A kernel with a hypercall page, declared as Mini-OS does. Xen writes the stubs: for PV
 * because of the note below, for PVH when xen.c asks for it.
 */
#ifdef TINY_HYPERCALL_PAGE
	.balign	4096
	.globl	hypercall_page
hypercall_page:
	.skip	4096
#endif

/* ---- PVH's GDT: one 64-bit code segment; data segments are null in long mode -------- */
	.section .rodata, "a"
	.balign	8
gdt:
	.quad	0
	.quad	0x00209b0000000000		/* present, code, readable, accessed, L */
gdt_pointer:
	.word	. - gdt - 1
	.long	PHYS(gdt)

/*
 * PVH's page tables, complete before the first instruction:
 *
 *   root[0], root[511] -> upper        (the low half for pvh_start only)
 *   upper[0], upper[510] -> large      0 and TINY_VIRT_BASE: 1 GiB in 2 MiB pages
 *   upper[511] -> fix_middle -> fix    TINY_FIX_BASE: 4 KiB pages
 *
 * The fixed window has the frames of the stacks in reverse order: neighbours in virtual
 * memory are never neighbours in physical memory. A reader that crosses a page boundary
 * of a stack without another walk of the tables reads the wrong page. The window's last
 * page, TINY_FIX_CONSOLE, gets the console ring later.
 */
	.section .data, "aw"
	.balign	4096
	.globl	root_table
	.type	root_table, @object
root_table:
	.quad	PHYS(upper_table) + PTE_TABLE
	.skip	510 * 8
	.quad	PHYS(upper_table) + PTE_TABLE
	.size	root_table, . - root_table

upper_table:
	.quad	PHYS(large_table) + PTE_TABLE
	.skip	509 * 8
	.quad	PHYS(large_table) + PTE_TABLE
	.quad	PHYS(fix_middle_table) + PTE_TABLE

large_table:
	.set	.Li, 0
	.rept	512
	.quad	.Li * 0x200000 + PTE_LARGE
	.set	.Li, .Li + 1
	.endr

fix_middle_table:
	.quad	PHYS(fix_table) + PTE_TABLE
	.skip	511 * 8

	.globl	fix_table
	.type	fix_table, @object
fix_table:
	.set	.Li, TINY_MAX_VCPUS * TINY_STACK_PAGES
	.rept	TINY_MAX_VCPUS * TINY_STACK_PAGES
	.set	.Li, .Li - 1
	.quad	PHYS(stacks) + .Li * 4096 + PTE_PAGE
	.endr
	.skip	(512 - TINY_MAX_VCPUS * TINY_STACK_PAGES) * 8
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

/*
 * Notes for Xen's domain builder (and for QEMU, which reads PHYS32_ENTRY). Without
 * HYPERCALL_PAGE xen.c has the instructions itself, so there is one stub less to unwind.
 */
.macro xen_note type, desc:vararg
	.balign	4
	.long	2f - 1f, 4f - 3f, \type
1:	.asciz	"Xen"
2:	.balign	4
3:	\desc
4:	.balign	4
.endm

	.section .note.Xen, "a", @note
	xen_note XEN_ELFNOTE_XEN_VERSION,	.asciz "xen-3.0"
	xen_note XEN_ELFNOTE_GUEST_OS,		.asciz "tiny"
	xen_note XEN_ELFNOTE_LOADER,		.asciz "generic"
	xen_note XEN_ELFNOTE_VIRT_BASE,		.quad TINY_VIRT_BASE
	xen_note XEN_ELFNOTE_ENTRY,		.quad pv_start
#ifdef TINY_HYPERCALL_PAGE
	xen_note XEN_ELFNOTE_HYPERCALL_PAGE,	.quad hypercall_page
#endif
#ifdef TINY_BSD_SYMTAB
	xen_note XEN_ELFNOTE_BSD_SYMTAB,	.asciz "yes"
#endif
	xen_note XEN_ELFNOTE_PHYS32_ENTRY,	.quad PHYS(pvh_start)

	.section .note.GNU-stack, "", @progbits
