/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entry points of the tiny guest of 32 bits on arm64, its page tables and its stacks. The loader
 * reads the header of a zImage, puts the image at TINY_RAM_BASE + TINY_LOAD_OFFSET, and starts the
 * first instruction in svc mode with the MMU off, and the device tree's address in r2:
 *
 *   image_start -> MMU on -> _start              vCPU 0
 *   secondary_entry -> MMU on -> secondary_start the others: PSCI passes their number in r0
 *
 * Outermost frames are as in start_arm64.S: r11 is 0, and the CFI says that lr is undefined.
 *
 * Sources: Linux Documentation/arm/booting.rst; Xen 4.17 tools/libs/guest/xg_dom_armzimageloader.c;
 * Arm ARM DDI 0487J.a §G5.4 (page tables), and the system registers by their names.
 */
#include "tiny.h"

#define TINY_RAM_BASE	0x40000000
#define PHYS(symbol)	((symbol) - TINY_VIRT_BASE + TINY_RAM_BASE)

/* Cached, shareable memory, which may be written and run. */
#define SECTION		0x11c0e
#define DEVICE_SECTION	0x00c16
#define DEVICE_BASE	0x09000000
#define PTE_PAGE	0x47e
#define PTE_TABLE	0x001
#define TTBR_CACHED	0x04a
#define DACR_CLIENT	1
#define SCTLR_M_C_Z_I	0x1805

	.syntax	unified
	.arm
	.cfi_sections .debug_frame

	.section .head, "ax"
	.globl	image_start
	.type	image_start, %function
image_start:
	b	primary_entry
	.skip	0x20
	.long	0x016f2818		/* the magic number, at 0x24 */
	.long	0			/* may be loaded anywhere */
	.long	image_bytes
	.size	image_start, . - image_start

	.section .text, "ax"

/* Turns the MMU on, and goes on at r1, a virtual address. Keeps r0 and r2. */
	.type	mmu_on, %function
mmu_on:
	mov	r3, #0
	mcr	p15, 0, r3, c2, c0, 2	/* TTBCR: short descriptors, all in TTBR0 */
	ldr	r3, =PHYS(root_table) + TTBR_CACHED
	mcr	p15, 0, r3, c2, c0, 0
	mov	r3, #DACR_CLIENT
	mcr	p15, 0, r3, c3, c0, 0
	mcr	p15, 0, r3, c8, c7, 0	/* TLBIALL */
	mcr	p15, 0, r3, c7, c5, 0	/* ICIALLU */
	dsb
	isb
	mrc	p15, 0, r3, c1, c0, 0
	ldr	r12, =SCTLR_M_C_Z_I
	orr	r3, r3, r12
	bic	r3, r3, #2		/* no alignment checks */
	mcr	p15, 0, r3, c1, c0, 0
	isb
	bx	r1
	.size	mmu_on, . - mmu_on

	.type	primary_entry, %function
primary_entry:
	ldr	r1, =_start
	b	mmu_on
	.size	primary_entry, . - primary_entry

	.globl	secondary_entry
	.type	secondary_entry, %function
secondary_entry:
	ldr	r1, =secondary_start
	b	mmu_on
	.size	secondary_entry, . - secondary_entry
	.ltorg

/* ---- The outermost frames ----------------------------------------------------------- */
	.globl	_start
	.type	_start, %function
_start:						/* r2: the device tree, physical */
	.cfi_startproc
	.cfi_undefined lr
	mov	r11, #0
	mov	r3, #0
	ldr	r0, =bss_start
	ldr	r1, =bss_end
1:	cmp	r0, r1
	strlo	r3, [r0], #4
	blo	1b
	ldr	sp, =TINY_FIX_BASE + TINY_STACK_PAGES * 4096
	mov	r1, r2
	mov	r0, #TINY_PVH
	bl	boot
	mov	r0, #0
	bl	main
	udf	#0				/* keeps main's return address inside _start */
	.cfi_endproc
	.size	_start, . - _start

	.globl	secondary_start
	.type	secondary_start, %function
secondary_start:				/* r0: vCPU number */
	.cfi_startproc
	.cfi_undefined lr
	mov	r11, #0
	add	r2, r0, #1
	ldr	r3, =TINY_STACK_PAGES * 4096
	ldr	r1, =TINY_FIX_BASE
	mla	sp, r2, r3, r1
	bl	main
	udf	#0
	.cfi_endproc
	.size	secondary_start, . - secondary_start

/* Division of 64 bits, for a compiler without libgcc: r0-r1 by r2-r3; the remainder in r2-r3. */
	.globl	__aeabi_uldivmod
	.type	__aeabi_uldivmod, %function
__aeabi_uldivmod:
	.cfi_startproc
	push	{r11, lr}
	.cfi_def_cfa_offset 8
	.cfi_offset lr, -4
	.cfi_offset r11, -8
	mov	r11, sp
	.cfi_def_cfa_register r11
	sub	sp, sp, #16
	add	r12, sp, #8
	str	r12, [sp]
	bl	divide
	ldrd	r2, r3, [sp, #8]
	mov	sp, r11
	pop	{r11, pc}
	.cfi_endproc
	.size	__aeabi_uldivmod, . - __aeabi_uldivmod

/*
 * Page tables, complete before the first instruction:
 *
 *   root[0x090]          devices, 1 MiB
 *   root[0x400]          TINY_RAM_BASE, 1 MiB, for mmu_on only
 *   root[0xc00..0xc0f]   RAM in sections of 1 MiB at TINY_VIRT_BASE
 *   root[0xffc, 0xffd]   -> fix: TINY_FIX_BASE, 4 KiB pages, stacks in reverse order (start.S)
 */
	.section .data, "aw"
	.balign	16384
	.globl	root_table
	.type	root_table, %object
root_table:
	.skip	0x90 * 4
	.long	DEVICE_BASE + DEVICE_SECTION
	.skip	(0x400 - 0x91) * 4
	.long	TINY_RAM_BASE + SECTION
	.skip	0x7ff * 4
	.set	.Li, 0
	.rept	16
	.long	TINY_RAM_BASE + .Li * 0x100000 + SECTION
	.set	.Li, .Li + 1
	.endr
	.skip	(0xffc - 0xc10) * 4
	.long	PHYS(fix_table) + PTE_TABLE
	.long	PHYS(fix_table) + 0x400 + PTE_TABLE
	.skip	2 * 4
	.size	root_table, . - root_table

	.balign	4096
	.globl	fix_table
	.type	fix_table, %object
fix_table:
	.set	.Li, TINY_MAX_VCPUS * TINY_STACK_PAGES
	.rept	TINY_MAX_VCPUS * TINY_STACK_PAGES
	.set	.Li, .Li - 1
	.long	PHYS(stacks) + .Li * 4096 + PTE_PAGE
	.endr
	.skip	(512 - TINY_MAX_VCPUS * TINY_STACK_PAGES) * 4
	.size	fix_table, . - fix_table

	.section .bss, "aw", %nobits
	.balign	4096
	.globl	stacks
	.type	stacks, %object
stacks:
	.skip	TINY_MAX_VCPUS * TINY_STACK_PAGES * 4096
	.size	stacks, . - stacks

	.section .note.GNU-stack, "", %progbits
