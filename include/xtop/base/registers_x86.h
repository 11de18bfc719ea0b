/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of x86-64 that several stages read: paging, and how Linux saves all registers. */
#ifndef XTOP_REGISTERS_X86_H
#define XTOP_REGISTERS_X86_H

#include <stdbool.h>
#include <stdint.h>

/* Intel SDM vol. 3A §4.1.1: paging is on; entries have 64 bits; page tables have five levels. */
#define CR0_PG   (1ULL << 31)
#define CR4_PAE  (1ULL << 5)
#define CR4_LA57 (1ULL << 12)

/*
 * Which page tables a vCPU has: those of 64-bit mode (EFER.LMA is set), and the two kinds of a
 * 32-bit guest (Intel SDM vol. 3A §4.1.1, §4.3, §4.4). Part of the recording format.
 */
enum register_width {
	WIDTH_64,     /* four or five levels, also in compatibility mode */
	WIDTH_32_PAE, /* three levels, entries of 64 bits */
	WIDTH_32,     /* two levels, entries of 32 bits */
};

/*
 * The selectors of 32-bit user code in compatibility mode: Linux's __USER32_CS (Linux
 * arch/x86/include/asm/segment.h), and in a PV guest Xen's FLAT_RING3_CS32 (Xen 4.17
 * public/arch-x86/xen-x86_64.h). No register that Xen gives has CS.L.
 */
#define CS_USER_32    0x23
#define CS_USER_32_PV 0xe023

/* Bytes of a word on the stack of code with these registers. */
static inline unsigned code_word_bytes(enum register_width width, uint64_t cs)
{
	return width != WIDTH_64 || cs == CS_USER_32 || cs == CS_USER_32_PV ? 4 : 8;
}

/*
 * CR3: bits 12 to 51 are the address of the top page table, the others are flags or a
 * process-context number (Intel SDM vol. 3A §2.5). With page-table isolation Linux has two top
 * tables for each process, side by side in 8 KiB: bit 12 is set for user mode's table (Linux
 * arch/x86/entry/calling.h, PTI_USER_PGTABLE_BIT). Without page-table isolation, the neighbouring
 * page may be the top table of another process: since Linux commit 4ce385f56434 ("x86/mm: Fix
 * _pgd_alloc() for Xen PV mode") each process has one page (in v6.15).
 */
#define CR3_TABLE_MASK 0x000ffffffffff000ULL
#define CR3_USER_TABLE (1ULL << 12)

/*
 * With PAE the top table has 32 bytes, and its address is bits 5 to 31 (Intel SDM vol. 3A §4.4.1).
 * The top table of a PV guest may lie above 4 GiB.
 */
#define CR3_PAE_TABLE 0x000fffffffffffe0ULL

static inline bool cr3_is_same_table(uint64_t a, uint64_t b)
{
	return !((a ^ b) & CR3_TABLE_MASK);
}

/*
 * Whether BITS is the difference between the two top tables that a process has with page-table
 * isolation. OWN is mm->pgd of the process.
 */
static inline bool cr3_differs_as_pair(uint64_t own, uint64_t bits)
{
	return bits == CR3_USER_TABLE && !(own & CR3_USER_TABLE);
}

/*
 * Whether CR3 is one of the two top tables that a process has with page-table isolation. OWN is
 * mm->pgd of the process.
 */
static inline bool cr3_is_of_pair(uint64_t own, uint64_t cr3)
{
	uint64_t differ = (own ^ cr3) & CR3_TABLE_MASK;

	return !differ || cr3_differs_as_pair(own, differ);
}

/*
 * struct pt_regs, the registers as Linux saves them at the end of a stack (Linux
 * arch/x86/include/asm/ptrace.h; the same since 2.6), as words. The processor saves the last five.
 */
enum pt_regs_word {
	PT_REGS_R15, PT_REGS_R14, PT_REGS_R13, PT_REGS_R12, PT_REGS_RBP, PT_REGS_RBX,
	PT_REGS_R11, PT_REGS_R10, PT_REGS_R9, PT_REGS_R8, PT_REGS_RAX, PT_REGS_RCX,
	PT_REGS_RDX, PT_REGS_RSI, PT_REGS_RDI,
	PT_REGS_ORIG_RAX, /* number of the system call */
	PT_REGS_RIP, PT_REGS_CS, PT_REGS_RFLAGS, PT_REGS_RSP, PT_REGS_SS,
	N_PT_REGS
};
#define PT_REGS_BYTES     (8 * N_PT_REGS)
#define PT_REGS_PROCESSOR PT_REGS_RIP /* the first word that the processor saves */

#endif
