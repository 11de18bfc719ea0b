// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the hostile guest does with an arm64 processor; see hostile.h: stack pointers and page tables.
 * Its upper half has 39 bits and three levels (tiny/start_arm64.S). Without an access through it the
 * stack pointer may have any value, also one that is not aligned (Arm ARM DDI 0487J.a §D1.3.8.2).
 */
#include "../tiny/tiny.h"
#include "hostile.h"

#define N_ROOTS      32
#define WINDOW       0xffffffffc0400000 /* 2 MiB, after the tiny guest's fixed window */
#define HALF         (-1ULL << 39)      /* the upper half */
#define TABLE_CODE   510                /* entries of the root: TINY_VIRT_BASE, the fixed window */
#define TABLE_FIX    511
#define TABLE_LINUX  256                /* HOSTILE_TEXT */
#define TABLE_RECURS 0x101              /* this entry of the root is the root itself */

/* Descriptors, Arm ARM §D8.3: valid; a table, or a page at the last level; accessed, shareable. */
#define PTE_VALID 0x001
#define PTE_TABLE 0x003
#define PTE_PAGE  0x703
#define PTE_BLOCK 0x701
#define PTE_RO    0x080
#define PTE_XN    (3ULL << 53)
#define PTE_FRAME 0x0000fffffffff000

static uint64_t roots[N_ROOTS][512] __attribute__((aligned(HOSTILE_PAGE)));
static uint64_t window_table[512] __attribute__((aligned(HOSTILE_PAGE)));
static uint64_t linux_table[512] __attribute__((aligned(HOSTILE_PAGE)));

asm(".globl hostile_spin, hostile_park\n"
    ".type hostile_park, %function\n"
    "hostile_park:\n"
    "	stp x29, x30, [sp, #-16]!\n"
    "	mov x9, sp\n"
    "	adr x10, hostile_back\n"
    "	adr x11, hostile_spin\n"
    "	cmp x3, #0\n"
    "	csel x11, x3, x11, ne\n"
    "	mov sp, x0\n"
    "	mov x29, x1\n"
    "	br x11\n"
    "hostile_spin:\n"
    "1:	subs x2, x2, #1\n"
    "	b.ne 1b\n"
    "	br x10\n"
    "hostile_back:\n"
    "	mov sp, x9\n"
    "	ldp x29, x30, [sp], #16\n"
    "	ret\n"
    ".size hostile_park, . - hostile_park\n");

const uint64_t hostile_edges[] = {
	0,	    1,		 7,		8,	    0x7ffffffff8, 0x7fffffffff,
	1ULL << 39, 1ULL << 48,	 1ULL << 55,	1ULL << 63, HALF,	  HALF - 8,
	-8ULL,	    -16ULL,	 -1ULL,		-4096ULL,   HALF ^ 0xa5ULL << 56,
};
const unsigned int n_hostile_edges = sizeof(hostile_edges) / sizeof(hostile_edges[0]);

/* --- page tables ------------------------------------------------------------------------------ */

static uint64_t physical(const void *at)
{
	return (uint64_t)at - TINY_VIRT_BASE + HOSTILE_RAM;
}

static uint64_t *table_of(uint64_t entry)
{
	return (uint64_t *)(TINY_VIRT_BASE + (entry & PTE_FRAME) - HOSTILE_RAM);
}

static uint64_t bad_entry(uint64_t *random)
{
	uint64_t draw = hostile_random(random);

	switch (draw >> 61) {
	case 0: /* the table itself */
		return physical(window_table) | PTE_PAGE;
	case 1: /* the interrupt controller and its neighbours (public/arch-arm.h, GUEST_GICV3_*) */
		return (0x03000000 + (draw % 64 << 12)) | PTE_PAGE;
	case 2: /* beyond the end of memory */
		return ((draw & 0xffff) << 28) | PTE_PAGE;
	case 3: /* beyond the memory of any machine */
		return PTE_FRAME | PTE_PAGE;
	case 4: /* all bits */
		return draw | PTE_VALID;
	case 5: /* a block at a level that has none, or one that is not aligned */
		return (draw & PTE_FRAME) | PTE_BLOCK;
	case 6:
		return physical(hostile_stack) | PTE_PAGE;
	default:
		return 0;
	}
}

/* Writes random entries to the root, except those that this code itself needs. */
static void make_root(uint64_t *root, uint64_t *random)
{
	for (unsigned int i = 0; i < TABLE_CODE; i++)
		root[i] = bad_entry(random);
	root[TABLE_CODE] = ((uint64_t *)root_table)[TABLE_CODE];
	root[TABLE_FIX] = ((uint64_t *)root_table)[TABLE_FIX];
	root[TABLE_RECURS] = physical(root) | PTE_TABLE;
}

static void load_root(const void *root)
{
	asm volatile("dsb ishst; msr ttbr1_el1, %0; isb; tlbi vmalle1; dsb nsh; isb"
		     : : "r"(physical(root)) : "memory");
}

/* Returns an address whose stack is the entries of the root, or anything to which they lead. */
static uint64_t recursive(uint64_t *random)
{
	uint64_t r = TABLE_RECURS, draw = hostile_random(random);

	if (draw & 1)
		return (HALF | r << 30 | r << 21 | r << 12) + draw % 512 * 8;
	return HALF | r << 30 | draw % (1ULL << 30);
}

static void turn_tables(unsigned int vcpu, uint64_t *random)
{
	uint64_t *middle = table_of(((uint64_t *)root_table)[TABLE_FIX]);

	middle[2] = physical(window_table) | PTE_TABLE;
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
	load_root(root);
	hostile_park_at(hostile_random(random) & 1 ? recursive(random) : hostile_random(random),
			hostile_random(random));
	load_root(root_table);
}

const struct scenario hostile_scenarios[] = { { "tables", turn_tables }, { "roots", turn_roots } };
const unsigned int n_hostile_scenarios =
	sizeof(hostile_scenarios) / sizeof(hostile_scenarios[0]);

void hostile_map(uint64_t address, uint64_t phys, bool is_code)
{
	linux_table[address >> 21 & 511] = phys | PTE_BLOCK | PTE_RO | (is_code ? 0 : PTE_XN);
	((uint64_t *)root_table)[TABLE_LINUX] = physical(linux_table) | PTE_TABLE;
	asm volatile("dsb ishst; isb" : : : "memory");
}
