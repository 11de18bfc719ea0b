/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists and per-CPU variables of an arm64 kernel without names of data, by functions that use them.
 * The code is made of instructions of Linux 6.1, and of neighbours of them. All memory is one block of 1 GiB at the beginning of the kernel's window of 39 bits.
 */
#include "config.h"

#include "linux/kernel/search.h"
#include "linux/kernel/stack_layout.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

#define BASE   UINT64_C(0xffffffc000000000)
#define FRAMES 64
#define CODE   0x10000
#define DATA   0x20000
#define LIST   (DATA + 0xa10)
#define FIRST  0x30008 /* first entry of the list */

#define TABLE_FRAME 1

static uint64_t pages[FRAMES][512];
static struct linux_guest guest;

static void guest_read(void *context, const frame_t *frames, size_t n, void *to, bool *ok)
{
	(void)context;
	for (size_t i = 0; i < n; i++) {
		ok[i] = frames[i].value < FRAMES;
		if (ok[i])
			memcpy((char *)to + i * 4096, pages[frames[i].value], 4096);
	}
}

static void guest_close(void *context)
{
	(void)context;
}

static void *at(uint64_t offset)
{
	return (char *)pages + offset;
}

static void put_word(uint64_t offset, uint64_t word)
{
	memcpy(at(offset), &word, sizeof(word));
}

static void begin(void)
{
	struct registers regs = { .arch = ARCH_ARM64 };

	memset(pages, 0, sizeof(pages));
	pages[TABLE_FRAME][256] = 1; /* a block at address 0 */
	regs.arm64.tcr = 2ULL << TCR_ARM64_TG1_SHIFT | 25ULL << TCR_ARM64_T1SZ_SHIFT | 25;
	regs.arm64.ttbr1 = TABLE_FRAME << 12;
	memset(guest.symbols, 0, sizeof(guest.symbols));
	guest.root = walk_root(&regs);
	guest.symbols[LINUX_PRINT_MODULES] = BASE + CODE;
	put_word(LIST, BASE + FIRST);
	put_word(FIRST, BASE + LIST);
	put_word(FIRST + 8, BASE + LIST);
}

static void check_found(const uint32_t *code, size_t bytes, uint64_t expected, const char *what)
{
	memcpy(at(CODE), code, bytes);
	memory_refresh(guest.memory);
	guest.symbols[LINUX_MODULES] = 0;
	search_symbols(&guest, NULL, 0);
	check(guest.symbols[LINUX_MODULES] == expected, "%s: %llx", what,
	      (unsigned long long)guest.symbols[LINUX_MODULES]);
}

/*
 * xen_vcpu_stolen() as gcc 12 wrote it for Debian's 6.1.0-56-arm64, with the places of this guest:
 * adrp x2, TABLE; add x2, x2, #0x10; adrp x1, RUNSTATE; add x1, x1, #0x980; ldr x0, [x2, w0, sxtw #3];
 * paciasp; autiasp; ldr w0, [x0, x1]; cmp w0, #1; cset w0, eq; ret
 */
static const uint32_t stolen[] = { 0xb0000082, 0x91004042, 0xd0000081, 0x91260021,
				   0xf860d840, 0xd503233f, 0xd50323bf, 0xb8616800,
				   0x7100041f, 0x1a9f17e0, 0xd65f03c0 };
#define TABLE    0x21010
#define RUNSTATE 0x22980

static void check_runstate(const uint32_t *code, size_t bytes, bool expected, const char *what)
{
	memset(at(CODE), 0, 4 * 64);
	memcpy(at(CODE), code, bytes);
	memory_refresh(guest.memory);
	guest.symbols[LINUX_STOLEN] = BASE + CODE;
	guest.symbols[LINUX_PER_CPU_OFFSET] = guest.symbols[LINUX_RUNSTATE] = 0;
	search_symbols(&guest, NULL, 0);
	check(guest.symbols[LINUX_PER_CPU_OFFSET] == (expected ? BASE + TABLE : 0) &&
		      guest.symbols[LINUX_RUNSTATE] == (expected ? BASE + RUNSTATE : 0),
	      "%s: %llx, %llx", what, (unsigned long long)guest.symbols[LINUX_PER_CPU_OFFSET],
	      (unsigned long long)guest.symbols[LINUX_RUNSTATE]);
}

static void test_runstate(void)
{
	uint32_t code[sizeof(stolen) / sizeof(stolen[0])];

	begin();
	put_word(TABLE, 0x8000);
	check_runstate(stolen, sizeof(stolen), true, "the table of CPUs, and xen_runstate");
	check_runstate(stolen, sizeof(stolen[0]) * 5, false, "the state is not read");
	memcpy(code, stolen, sizeof(code));
	code[7] = 0xb8616860; /* ldr w0, [x3, x1] */
	check_runstate(code, sizeof(code), false,
		       "the state in another area than the CPU's is not found");
	code[7] = 0xb8606820; /* ldr w0, [x1, x0] */
	check_runstate(code, sizeof(code), true, "the state by swapped registers is found");
	code[5] = 0xd65f03c0; /* ret */
	check_runstate(code, sizeof(code), false, "after the function's end");
	put_word(TABLE, FRAMES << 12);
	check_runstate(stolen, sizeof(stolen), false, "the CPU's area is not in memory");
}

/*
 * el0t_64_sync() of Debian's 6.1.0-56-arm64, with the places of this guest, after the instructions
 * that save and clear registers: mrs x21, sp_el0; adrp x28, ENTRY_TASK; add x28, x28, #0x2f0;
 * mrs x20, tpidr_el1; ldr x28, [x28, x20]; msr sp_el0, x28
 */
static const uint32_t entry[] = { 0xd5384115, 0xd000009c, 0x910bc39c,
				  0xd538d094, 0xf8746b9c, 0xd518411c };
#define ENTRY_TASK 0x222f0
#define ENTRY_AT   45 /* number of instructions in front of the entry */

static void check_entry_task(const uint32_t *code, bool expected, const char *what)
{
	memset(at(CODE), 0, 4 * 64);
	memcpy(at(CODE + 4 * ENTRY_AT), code, sizeof(entry));
	memory_refresh(guest.memory);
	guest.symbols[LINUX_STOLEN] = 0;
	guest.symbols[LINUX_EL0_SYNC] = BASE + CODE;
	guest.symbols[LINUX_PER_CPU_OFFSET] = BASE + TABLE;
	guest.symbols[LINUX_ENTRY_TASK] = 0;
	search_symbols(&guest, NULL, 0);
	check(guest.symbols[LINUX_ENTRY_TASK] == (expected ? BASE + ENTRY_TASK : 0), "%s: %llx",
	      what, (unsigned long long)guest.symbols[LINUX_ENTRY_TASK]);
}

static void test_entry_task(void)
{
	uint32_t code[sizeof(entry) / sizeof(entry[0])];

	begin();
	put_word(TABLE, 0x8000);
	check_entry_task(entry, true, "__entry_task");
	memcpy(code, entry, sizeof(code));
	code[5] = 0xd518411b; /* msr sp_el0, x27 */
	check_entry_task(code, false, "a value that does not become SP_EL0 is not __entry_task");
	memcpy(code, entry, sizeof(code));
	code[4] = 0xf8746b7c; /* ldr x28, [x27, x20] */
	check_entry_task(code, false, "a value at an unknown address is not __entry_task");
	put_word(TABLE, FRAMES << 12);
	check_entry_task(entry, false, "the CPU's area is not in memory");
}

/* What the sampler is told: per-CPU variables count only if the table of CPUs is known. */
static void test_layout(void)
{
	const struct registers regs = { .arch = ARCH_ARM64 };
	struct linux_stacks stacks;

	begin();
	layout_init(&guest.layout);
	guest.layout.values[TASK_STACK] = 32;
	guest.layout.values[TASK_MM] = 64;
	guest.layout.values[MM_START_STACK] = 128;
	guest.layout.values[MM_PGD] = 136;
	guest.layout.values[TASK_THREAD_POINTER] = 144;
	guest.has_layout = true;
	guest.symbols[LINUX_RUNSTATE] = BASE + RUNSTATE;
	guest.symbols[LINUX_ENTRY_TASK] = BASE + ENTRY_TASK;
	stacks = stack_layout_build(&guest, &regs);
	check(stacks.current_per_cpu == CURRENT_IN_REGISTER && stacks.task_stack == 32 &&
		      !stacks.runstate_per_cpu && !stacks.entry_task_per_cpu,
	      "the sampler gets no per-CPU variable without the table");
	guest.symbols[LINUX_PER_CPU_OFFSET] = BASE + TABLE;
	stacks = stack_layout_build(&guest, &regs);
	check(stacks.per_cpu_table == BASE + TABLE && stacks.runstate_per_cpu == BASE + RUNSTATE &&
		      stacks.entry_task_per_cpu == BASE + ENTRY_TASK,
	      "the sampler gets both variables with the table");
	check(stacks.task_mm == 64 && stacks.mm_start_stack == 128 && stacks.mm_pgd == 136,
	      "the sampler gets a process's first stack and page tables");
	check(stacks.task_thread_pointer == 144, "the sampler gets the place of a thread's pointer");
	guest.has_layout = false;
}

int main(void)
{
	static const struct memory_ops ops = { .read = guest_read, .close = guest_close };
	/* adrp x20, DATA; add x20, x20, #0x9c0; ldr x19, [x20, #80]! */
	static const uint32_t anchor[] = { 0xd503233f, 0x90000094, 0x91270294, 0xf8450e93 };
	/* adrp x20, DATA; ldr x19, [x20, #0xa10] */
	static const uint32_t direct[] = { 0xd503233f, 0x90000094, 0xf9450a93, 0xd65f03c0 };
	/* adrp x20, DATA; ldr x19, [x20, #16] */
	static const uint32_t other[] = { 0xd503233f, 0x90000094, 0xf9400a93, 0xd65f03c0 };
	/* x21 has no address that is known */
	static const uint32_t unknown[] = { 0xd503233f, 0x90000094, 0x912702b5, 0xf8450eb3 };
	/* ldr x19, [x20, #-16]!, with x20 = DATA + 0xa20 */
	static const uint32_t back[] = { 0x90000094, 0x91288294, 0xf85f0e93, 0xd65f03c0 };

	must_or_die(memory_create(&ops, NULL, &guest.memory));
	begin();
	check_found(anchor, sizeof(anchor), BASE + LIST, "at a distance from another variable");
	check_found(direct, sizeof(direct), BASE + LIST, "by its own address");
	check_found(back, sizeof(back), BASE + LIST, "a negative distance");
	check_found(other, sizeof(other), 0, "no list is there");
	check_found(unknown, sizeof(unknown), 0, "a register that nothing is known of");
	put_word(FIRST + 8, BASE + FIRST);
	check_found(anchor, sizeof(anchor), 0,
		    "a list whose first member does not lead back is not found");
	begin();
	put_word(LIST, BASE + LIST);
	put_word(LIST + 8, BASE + LIST);
	check_found(anchor, sizeof(anchor), BASE + LIST, "an empty list");
	guest.symbols[LINUX_PRINT_MODULES] = BASE + (FRAMES << 12);
	check_found(anchor, sizeof(anchor), 0, "the function is not in memory");
	test_runstate();
	test_entry_task();
	test_layout();
	memory_destroy(guest.memory);
	return tap_done();
}
