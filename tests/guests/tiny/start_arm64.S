/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entry points of the tiny guest of arm64, its page tables and its stacks. The loader reads the
 * header of a Linux image and starts the first instruction with the MMU off, at EL1, and the device
 * tree's address in x0:
 *
 *   image_start -> MMU on -> _start              vCPU 0
 *   secondary_entry -> MMU on -> secondary_start the others: PSCI passes their number in x0
 *
 * RAM begins at TINY_RAM_BASE; physical = virtual - TINY_VIRT_BASE + TINY_RAM_BASE. Outermost frames
 * are as in start.S: x29 is 0, and the CFI says that the return address, x30, is undefined.
 *
 * Sources: Linux Documentation/arm64/booting.rst; Arm ARM DDI 0487J.a §D8 (page tables), and the
 * system registers by their names; Xen 4.17 public/arch-arm.h (memory map of a guest).
 */
#include "tiny.h"

#define TINY_RAM_BASE	0x40000000
#define PHYS(symbol)	((symbol) - TINY_VIRT_BASE + TINY_RAM_BASE)

/* Descriptors: bit 0 valid, bit 1 a table, or a page of the last level; 0x700: accessed, inner
   shareable. The memory's kind is a number in MAIR: 0 is cached memory, 1 a device's. */
#define PTE_TABLE	0x003
#define PTE_PAGE	0x703
#define PTE_BLOCK	0x701
#define PTE_DEVICE	0x405

#define MAIR		0x00ff
/* Both halves have 39 bits (T0SZ, T1SZ 25), pages of 4 KiB, cached walks; IPS 40 bits. */
#define TCR		0x00000002b5193519
#define SCTLR_M_C_I	0x1005

	.section .head, "ax"
	.globl	image_start
	.type	image_start, @function
image_start:
	b	primary_entry
	.long	0
	.quad	TINY_LOAD_OFFSET	/* from the beginning of RAM */
	.quad	image_bytes
	.quad	0xa			/* little-endian, pages of 4 KiB, anywhere */
	.quad	0, 0, 0
	.ascii	"ARM\x64"
	.long	0
	.size	image_start, . - image_start

	.section .text, "ax"

/* Turns the MMU on, and goes on at x1, a virtual address. Keeps x0. */
	.type	mmu_on, @function
mmu_on:
	ldr	x2, =MAIR
	msr	mair_el1, x2
	ldr	x2, =TCR
	msr	tcr_el1, x2
	adrp	x2, root_table
	msr	ttbr0_el1, x2
	msr	ttbr1_el1, x2
	tlbi	vmalle1
	dsb	nsh
	isb
	mrs	x2, sctlr_el1
	mov	x3, #SCTLR_M_C_I
	orr	x2, x2, x3
	msr	sctlr_el1, x2
	isb
	br	x1
	.size	mmu_on, . - mmu_on

	.type	primary_entry, @function
primary_entry:
	ldr	x1, =_start
	b	mmu_on
	.size	primary_entry, . - primary_entry

	.globl	secondary_entry
	.type	secondary_entry, @function
secondary_entry:
	ldr	x1, =secondary_start
	b	mmu_on
	.size	secondary_entry, . - secondary_entry

/* ---- The outermost frames ----------------------------------------------------------- */
	.globl	_start
	.type	_start, @function
_start:						/* x0: the device tree, physical */
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	ldr	x1, =TINY_FIX_BASE + TINY_STACK_PAGES * 4096
	mov	sp, x1
	mov	x1, x0
	mov	x0, #TINY_PVH
	bl	boot
	mov	x0, #0
	bl	main
	brk	#0				/* keeps main's return address inside _start */
	.cfi_endproc
	.size	_start, . - _start

	.globl	secondary_start
	.type	secondary_start, @function
secondary_start:				/* x0: vCPU number */
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	add	x2, x0, #1
	mov	x3, #TINY_STACK_PAGES * 4096
	ldr	x1, =TINY_FIX_BASE
	madd	x1, x2, x3, x1
	mov	sp, x1
	bl	main
	brk	#0
	.cfi_endproc
	.size	secondary_start, . - secondary_start

/*
 * Page tables, complete before the first instruction. Both halves have the same root, of the
 * middle level, because 39 bits need three levels:
 *
 *   root[0]   0: devices, 1 GiB            root[1]   TINY_RAM_BASE: RAM, 1 GiB, for mmu_on only
 *   root[510] -> large: RAM in blocks of 2 MiB at TINY_VIRT_BASE
 *   root[511] -> fix_middle -> fix: TINY_FIX_BASE, 4 KiB pages, stacks in reverse order (start.S)
 */
	.section .data, "aw"
	.balign	4096
	.globl	root_table
	.type	root_table, @object
root_table:
	.quad	PTE_DEVICE
	.quad	TINY_RAM_BASE + PTE_BLOCK
	.skip	508 * 8
	.quad	PHYS(large_table) + PTE_TABLE
	.quad	PHYS(fix_middle_table) + PTE_TABLE
	.size	root_table, . - root_table

large_table:
	.set	.Li, 0
	.rept	512
	.quad	TINY_RAM_BASE + .Li * 0x200000 + PTE_BLOCK
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

	.section .note.GNU-stack, "", @progbits
