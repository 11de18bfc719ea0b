// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the hostile guest does with an x86-64 processor; see hostile.h: stack pointers, page tables,
 * frames of other domains.
 */
#include "../tiny/tiny.h"
#include "hostile.h"

#include <xen/xen.h>

#define N_ROOTS      32
#define WINDOW       0xffffffffc0400000 /* 2 MiB, after the tiny guest's fixed window */
#define TABLE_RECURS 0x101              /* this entry of the root is the root itself */

/* Page-table bits, Intel SDM vol. 3A §4.5. */
#define PTE_PRESENT 0x001
#define PTE_WRITE   0x002
#define PTE_LARGE   0x080
#define PTE_FRAME   0x000ffffffffff000
#define PTE_R       0x8000000000000081 /* present, large, no code */
#define PTE_RX      0x0000000000000081

static uint64_t roots[N_ROOTS][512] __attribute__((aligned(HOSTILE_PAGE)));
static uint64_t window_table[512] __attribute__((aligned(HOSTILE_PAGE)));

asm(".globl hostile_spin, hostile_park\n"
    ".type hostile_park, @function\n"
    "hostile_park:\n"
    "	push %rbx\n"
    "	push %rbp\n"
    "	mov %rsp, %rbx\n"
    "	lea hostile_back(%rip), %r8\n"
    "	lea hostile_spin(%rip), %rax\n"
    "	test %rcx, %rcx\n"
    "	cmovnz %rcx, %rax\n"
    "	mov %rdi, %rsp\n"
    "	mov %rsi, %rbp\n"
    "	jmp *%rax\n"
    "hostile_spin:\n"
    "1:	dec %rdx\n"
    "	jnz 1b\n"
    "	jmp *%r8\n"
    "hostile_back:\n"
    "	mov %rbx, %rsp\n"
    "	pop %rbp\n"
    "	pop %rbx\n"
    "	ret\n"
    ".size hostile_park, . - hostile_park\n");

const uint64_t hostile_edges[] = {
	0,		    1,	   7,	   8,	  0x7ffffffffff8, 0x7fffffffffff,
	1ULL << 47,	    1ULL << 63,	  -1ULL << 47,
	(-1ULL << 47) - 8,  -8ULL, -16ULL, -1ULL, -4096ULL,
};
const unsigned int n_hostile_edges = sizeof(hostile_edges) / sizeof(hostile_edges[0]);

/* --- page tables ------------------------------------------------------------------------------ */

static uint64_t physical(const void *at)
{
	return (uint64_t)at - TINY_VIRT_BASE;
}

static uint64_t *table_of(uint64_t entry)
{
	return (uint64_t *)(TINY_VIRT_BASE + (entry & PTE_FRAME));
}

/* The page table of the code's own addresses: 3 is the root, 1 has 2 MiB pages. */
static uint64_t *table_at(unsigned int level_index)
{
	uint64_t *root = (uint64_t *)root_table, *upper = table_of(root[511]);

	return level_index == 3 ? root : level_index == 2 ? upper : table_of(upper[510]);
}

static uint64_t bad_entry(uint64_t *random)
{
	uint64_t draw = hostile_random(random);

	switch (draw >> 61) {
	case 0: /* the table itself */
		return physical(window_table) | PTE_PRESENT | PTE_WRITE;
	case 1: /* the local APIC and its neighbours */
		return (0xfee00000 + (draw % 16 << 12)) | PTE_PRESENT | PTE_WRITE;
	case 2: /* beyond the end of memory */
		return ((draw & 0xffff) << 26) | PTE_PRESENT;
	case 3: /* beyond the memory of any machine */
		return PTE_FRAME | PTE_PRESENT;
	case 4: /* all bits */
		return draw | PTE_PRESENT;
	case 5: /* a large page at a level that has none, or one that is not aligned */
		return (draw & PTE_FRAME) | PTE_LARGE | PTE_PRESENT;
	case 6:
		return physical(hostile_stack) | PTE_PRESENT;
	default:
		return 0;
	}
}

/* Writes random entries to the root, except those that this code itself needs. */
static void make_root(uint64_t *root, uint64_t *random)
{
	for (unsigned int i = 0; i < 511; i++)
		root[i] = bad_entry(random);
	root[0] = ((uint64_t *)root_table)[0];
	root[511] = ((uint64_t *)root_table)[511];
	root[TABLE_RECURS] = physical(root) | PTE_PRESENT | PTE_WRITE;
}

static uint64_t sign_extended(uint64_t address)
{
	return (uint64_t)((int64_t)(address << 16) >> 16);
}

/* Returns an address whose stack is the entries of the root, or anything to which they lead. */
static uint64_t recursive(uint64_t *random)
{
	uint64_t r = TABLE_RECURS, draw = hostile_random(random);

	if (draw & 1)
		return sign_extended(r << 39 | r << 30 | r << 21 | r << 12) + draw % 512 * 8;
	return sign_extended(r << 39 | draw % (1ULL << 39));
}

static void turn_tables(unsigned int vcpu, uint64_t *random)
{
	uint64_t *middle = table_of(table_at(2)[511]);

	middle[2] = physical(window_table) | PTE_PRESENT | PTE_WRITE;
	for (unsigned int i = 0; i < 64; i++)
		((volatile uint64_t *)window_table)[hostile_random(random) % 512] =
			bad_entry(random);
	if (vcpu)
		return;
	if (hostile_random(random) & 1)
		hostile_park_at(WINDOW + hostile_random(random) % 0x200000, WINDOW);
	else
		hostile_park_at(recursive(random), (uint64_t)hostile_stack);
}

static void turn_roots(unsigned int vcpu, uint64_t *random)
{
	uint64_t *root = roots[hostile_random(random) % N_ROOTS];

	(void)vcpu;
	make_root(root, random);
	asm volatile("mov %0, %%cr3" : : "r"(physical(root)) : "memory");
	hostile_park_at(hostile_random(random) & 1 ? recursive(random) : hostile_random(random),
	     hostile_random(random));
	asm volatile("mov %0, %%cr3" : : "r"(physical(root_table)) : "memory");
}

/* --- PV --------------------------------------------------------------------------------------- */

#define PAGE_OF_STACK ((uint64_t)hostile_stack + 4 * HOSTILE_PAGE)

static void map_anyhow(uint64_t address, uint64_t entry)
{
	long result = __HYPERVISOR_update_va_mapping;

	asm volatile("syscall"
		     : "+a"(result), "+D"(address), "+S"(entry)
		     : "d"((uint64_t)UVMF_INVLPG)
		     : "rcx", "r8", "r9", "r10", "r11", "memory", "cc");
}

/* Stacks in Xen's part of the address space (public/arch-x86/xen-x86_64.h) and in ours. */
static void turn_foreign(unsigned int vcpu, uint64_t *random)
{
	uint64_t draw = hostile_random(random);

	(void)vcpu;
	/* Maps nothing, or any machine frame that may exist. */
	map_anyhow(PAGE_OF_STACK,
		   draw & 1 ? 0 : (draw % (1ULL << 24) << 12) | PTE_PRESENT | PTE_WRITE);
	switch (draw >> 62) {
	case 0:
		hostile_park_at(PAGE_OF_STACK + draw % HOSTILE_PAGE, (uint64_t)hostile_stack);
		break;
	case 1:
		hostile_park_at(HYPERVISOR_VIRT_START + draw % (HYPERVISOR_VIRT_END - HYPERVISOR_VIRT_START),
		     (uint64_t)hostile_stack);
		break;
	default:
		hostile_park_at(PAGE_OF_STACK - 64, PAGE_OF_STACK - 64 + draw % 256);
	}
}

const struct scenario hostile_scenarios[] = {
	{ "tables", turn_tables }, { "roots", turn_roots }, { "foreign", turn_foreign },
};
const unsigned int n_hostile_scenarios =
	sizeof(hostile_scenarios) / sizeof(hostile_scenarios[0]);

void hostile_map(uint64_t address, uint64_t phys, bool is_code)
{
	table_at(1)[(address - TINY_VIRT_BASE) >> 21] = phys | (is_code ? PTE_RX : PTE_R);
}
