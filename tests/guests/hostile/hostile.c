// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest that attacks its observer. It boots with files of the tiny guest (start.S, boot.c, xen.c,
 * console.c). Its command line then names one scenario, which it repeats for ever:
 *
 *   loops     frame pointers in circles of one, two and 1,000 frames
 *   ladder    8,000 valid frames
 *   edges     stack pointers at 0, at both ends of the hole of addresses that are not canonical, at
 *             the end of the address space
 *   wild      random stack and frame pointers, and random contents where they point; new ones each
 *             microsecond
 *   change    another vCPU writes random words and pieces of chains to the stack
 *   tables    PVH: stacks behind page tables that contain themselves, lead beyond the end of
 *             memory, to devices or to frames that cannot exist, or have bits that must not be set;
 *             a second vCPU changes them all the time
 *   roots     PVH: 32 roots in turn; all entries but two are random
 *   foreign   PV: asks Xen to map frames of other domains, and puts its stack there and into Xen
 *   linux-*   PVH: pretends to be Linux; see linux.c
 *
 * Nothing interrupts the guest: events stay masked, and PVH keeps interrupts off. So the stack
 * pointer may have any value while the guest spins without a push. Every BEAT_TURNS turns it prints
 * the number of turns on the console.
 */
#include "../tiny/tiny.h"
#include "hostile.h"

#include <xen/xen.h>

#define BEAT_TURNS   2000
#define SPIN_ROUNDS  4000 /* about 10 microseconds */
#define STACK_WORDS  0x4000
#define N_ROOTS      32
#define WINDOW       0xffffffffc0400000 /* 2 MiB, behind the tiny guest's fixed window */
#define TABLE_RECURS 0x101              /* this entry of the root is the root itself */

/* Page-table bits, Intel SDM vol. 3A §4.5. */
#define PTE_PRESENT 0x001
#define PTE_WRITE   0x002
#define PTE_LARGE   0x080
#define PTE_FRAME   0x000ffffffffff000

struct scenario {
	const char *name;
	void (*turn)(unsigned int vcpu, uint64_t *random);
};

static uint64_t stack[STACK_WORDS] __attribute__((aligned(HOSTILE_PAGE)));
static uint64_t roots[N_ROOTS][512] __attribute__((aligned(HOSTILE_PAGE)));
static uint64_t window_table[512] __attribute__((aligned(HOSTILE_PAGE)));
static const struct scenario *scenario;

/* xorshift64* */
uint64_t hostile_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

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

static void park(uint64_t rsp, uint64_t rbp)
{
	hostile_park(rsp, rbp, SPIN_ROUNDS, 0);
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Writes a frame at word WORD: a pointer to the caller's frame, and an address in main(). */
static void put_frame(unsigned int word, unsigned int caller)
{
	stack[word] = (uint64_t)&stack[caller];
	stack[word + 1] = (uint64_t)main + 16;
}

static void turn_loops(unsigned int vcpu, uint64_t *random)
{
	static const unsigned int sizes[] = { 1, 2, 1000 };
	unsigned int n = sizes[hostile_random(random) % 3];

	(void)vcpu;
	for (unsigned int i = 0; i < n; i++)
		put_frame(2 * i, i + 1 < n ? 2 * i + 2 : 0);
	park((uint64_t)stack, (uint64_t)stack);
}

static void turn_ladder(unsigned int vcpu, uint64_t *random)
{
	(void)vcpu;
	(void)random;
	if (!stack[0])
		for (unsigned int i = 0; i < STACK_WORDS - 2; i += 2)
			put_frame(i, i + 2);
	park((uint64_t)stack, (uint64_t)stack);
}

static void turn_edges(unsigned int vcpu, uint64_t *random)
{
	static const uint64_t edges[] = {
		0,		    1,	   7,	   8,	  0x7ffffffffff8, 0x7fffffffffff,
		1ULL << 47,	    1ULL << 63,	  -1ULL << 47,
		(-1ULL << 47) - 8,  -8ULL, -16ULL, -1ULL, -4096ULL,
	};
	unsigned int n = sizeof(edges) / sizeof(edges[0]);

	(void)vcpu;
	park(edges[hostile_random(random) % n], edges[hostile_random(random) % n]);
}

static void scribble(uint64_t *random)
{
	uint64_t word = hostile_random(random), value = hostile_random(random);

	if (word >> 63)
		value = (uint64_t)&stack[value % STACK_WORDS];
	else if (word >> 62)
		value = (uint64_t)main + value % 256;
	/* Most writes hit the first page, where the stack pointer is. */
	((volatile uint64_t *)stack)[word >> 60 & 1 ? word % 512 : word % STACK_WORDS] = value;
}

static void turn_wild(unsigned int vcpu, uint64_t *random)
{
	uint64_t rsp = hostile_random(random), rbp = hostile_random(random);
	unsigned int kind = hostile_random(random) % 4;

	(void)vcpu;
	for (unsigned int i = 0; i < 64; i++)
		scribble(random);
	if (kind & 1)
		rsp = (uint64_t)stack + rsp % sizeof(stack);
	if (kind & 2)
		rbp = (uint64_t)stack + rbp % sizeof(stack);
	park(rsp, rbp);
}

static void turn_change(unsigned int vcpu, uint64_t *random)
{
	if (vcpu == 0)
		park((uint64_t)stack, (uint64_t)stack + hostile_random(random) % 4096);
	else
		for (unsigned int i = 0; i < 4096; i++)
			scribble(random);
}

/* --- page tables ------------------------------------------------------------------------------ */

static uint64_t physical(const void *at)
{
	return (uint64_t)at - TINY_VIRT_BASE;
}

static uint64_t *table_of(uint64_t entry)
{
	return (uint64_t *)(TINY_VIRT_BASE + (entry & PTE_FRAME));
}

uint64_t *hostile_table(unsigned int level_index)
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
		return physical(stack) | PTE_PRESENT;
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
	uint64_t *middle = table_of(hostile_table(2)[511]);

	middle[2] = physical(window_table) | PTE_PRESENT | PTE_WRITE;
	for (unsigned int i = 0; i < 64; i++)
		((volatile uint64_t *)window_table)[hostile_random(random) % 512] =
			bad_entry(random);
	if (vcpu)
		return;
	if (hostile_random(random) & 1)
		park(WINDOW + hostile_random(random) % 0x200000, WINDOW);
	else
		park(recursive(random), (uint64_t)stack);
}

static void turn_roots(unsigned int vcpu, uint64_t *random)
{
	uint64_t *root = roots[hostile_random(random) % N_ROOTS];

	(void)vcpu;
	make_root(root, random);
	asm volatile("mov %0, %%cr3" : : "r"(physical(root)) : "memory");
	park(hostile_random(random) & 1 ? recursive(random) : hostile_random(random),
	     hostile_random(random));
	asm volatile("mov %0, %%cr3" : : "r"(physical(root_table)) : "memory");
}

/* --- PV --------------------------------------------------------------------------------------- */

#define PAGE_OF_STACK ((uint64_t)stack + 4 * HOSTILE_PAGE)

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
		park(PAGE_OF_STACK + draw % HOSTILE_PAGE, (uint64_t)stack);
		break;
	case 1:
		park(HYPERVISOR_VIRT_START + draw % (HYPERVISOR_VIRT_END - HYPERVISOR_VIRT_START),
		     (uint64_t)stack);
		break;
	default:
		park(PAGE_OF_STACK - 64, PAGE_OF_STACK - 64 + draw % 256);
	}
}

/* --- the choice of a scenario ----------------------------------------------------------------- */

static void turn_linux(unsigned int vcpu, uint64_t *random)
{
	(void)vcpu;
	hostile_linux_turn(random);
}

static const struct scenario scenarios[] = {
	{ "loops", turn_loops },   { "ladder", turn_ladder }, { "edges", turn_edges },
	{ "wild", turn_wild },	   { "change", turn_change }, { "tables", turn_tables },
	{ "roots", turn_roots },   { "foreign", turn_foreign },
};

/* Stands for all scenarios of linux.c. */
static const struct scenario linux_scenario = { "linux", turn_linux };

static bool is_word(const char *line, const char *word)
{
	while (*word)
		if (*line++ != *word++)
			return false;
	return !*line || *line == ' ';
}

static const struct scenario *find_scenario(const char *line)
{
	for (unsigned int i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (is_word(line, scenarios[i].name))
			return &scenarios[i];
	return hostile_linux(line) ? &linux_scenario : NULL;
}

static void report(uint64_t turns)
{
	console_text("hostile: beat ");
	console_number(turns);
	console_text("\n");
	console_flush();
}

void main(unsigned int vcpu)
{
	uint64_t random = 0x9e3779b97f4a7c15 + vcpu;

	if (vcpu == 0) {
		const struct scenario *found = find_scenario(xen_cmdline());

		if (!found) {
			console_text("hostile: no such scenario\n");
			console_flush();
			xen_poweroff();
		}
		__atomic_store_n(&scenario, found, __ATOMIC_RELEASE);
	}
	while (!__atomic_load_n(&scenario, __ATOMIC_ACQUIRE))
		;
	for (uint64_t turns = 0;; turns++) {
		scenario->turn(vcpu, &random);
		if (vcpu == 0 && turns % BEAT_TURNS == 0)
			report(turns);
	}
}
