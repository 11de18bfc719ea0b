/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What copying the stacks of one vCPU adds to the stopped window, with all pages mapped, for a
 * unikernel and for a Linux guest. Each copies 1 KiB at the stack pointer; the difference is what
 * Linux needs besides. Runs on the guest in memory of the tests. In the lab with --deterministic a
 * ns is an instruction, and tests/lab/numbers.test reads the figures. Elsewhere, instructions a
 * copy:
 *
 *   valgrind --tool=callgrind --dump-after=measure tests/bench/bench_copy
 */
#include "config.h"

#include <stdio.h>
#include <time.h>

#include "sample/copy.h"
#include "tests/support/memory_guest.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/sample/recipe.h"

#define ROUNDS  20001
#define PER_CPU 0xffff888003a00000ULL
#define TASK    0xffff888004000000ULL
#define STACK   0xffffc90000200000ULL
#define MM      0xffff888005000000ULL
#define IRQ     0xffffc90000301000ULL
#define USER    0x00007ffc12340000ULL
#define CODE    0x0000000000401000ULL
#define LIST    0x00007f0012340000ULL /* frames of an interpreter */
#define OBJECTS 0x00007f0012350000ULL /* their functions */
#define NAMES   0x00007f0012360000ULL /* the functions' names */
#define FRAMES  6
#define KIB     1024

static struct memory_guest *memory;
static struct control *control;
static struct copier copier;
static char record[SAMPLE_STACK_LIMIT_BYTES + 4096];
static uint64_t next_frame = 0x500;

static void add_pages(uint64_t address, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		memory_guest_page(memory, next_frame);
		memory_guest_map(memory, memory->regs[0].cr3, address + i * GUEST_PAGE_SIZE,
				 next_frame++);
	}
}

static void put(uint64_t address, uint64_t word)
{
	uint64_t entry = *memory_guest_entry(memory, memory->regs[0].cr3, 4, 1, address);
	uint64_t *page = memory_guest_page(memory, entry >> 12);

	page[address % GUEST_PAGE_SIZE / 8] = word;
}

static void make_guest(void)
{
	memory = memory_guest_create(1);
	error_destroy(control_create(&control));
	copier = (struct copier){ .guest = &memory->guest.info, .control = control };
	error_destroy(frame_cache_create(&memory->guest.mapper, 256, FRAME_CACHE_ROUND_NS,
					 &copier.cache));
	add_pages(PER_CPU, 1);
	add_pages(TASK, 1);
	add_pages(MM, 1);
	add_pages(STACK, 4);
	add_pages(IRQ, 4);
	add_pages(USER, 2);
	add_pages(CODE, 1);
	put(TASK + 0x900, MM);
	put(MM + 0x178, USER + 0x100 + KIB);
	put(PER_CPU + 0x40, TASK);
	put(PER_CPU + 0x48, STACK + 0x4000);
	put(PER_CPU + 0x50, IRQ + 0x4000 - 8);
	put(IRQ + 0x4000 - 8, STACK + 0x4000 - KIB);
	put(STACK + 0x4000 - 168 + 136, 0x33);
	put(STACK + 0x4000 - 168 + 152, USER + 0x100);
	control_set_stack_top(control, memory->regs[0].cr3, USER, USER + 0x100 + KIB);
	control_set_stack_top(control, memory->regs[0].cr3, STACK, STACK + 0x4000);
	memory->regs[0].gs_base_kernel = PER_CPU;
	memory->regs[0].rip = CODE;
}

static void use_stacks(void)
{
	const struct linux_stacks stacks = {
		.kernel_cr3 = memory->regs[0].cr3,
		.current_per_cpu = 0x40,
		.top_per_cpu = 0x48,
		.irq_stack_per_cpu = 0x50,
		.stack_bytes = 0x4000,
		.regs_below_top = 168,
		.irq_stack_bytes = 0x4000,
		.irq_above = 8,
		.task_mm = 0x900,
		.mm_start_stack = 0x178,
	};

	control_set_linux_stacks(control, &stacks);
	copy_poll_stacks(&copier);
}

/* An interpreter's frames, as CPython's are copied: two words each, one of the function, a hash. */
static void use_recipe(void)
{
	const struct recipe recipe = { .base = LIST,
				       .n_loads = 1,
				       .n_words = 4,
				       .n_far = 2,
				       .far = 8,
				       .deep = 24,
				       .words = { 8, 16, recipe_after(32), recipe_after(40) },
				       .shape = RECIPE_LIST };

	add_pages(LIST, 1);
	add_pages(OBJECTS, 2);
	add_pages(NAMES, 2);
	put(LIST, LIST + 64);
	for (uint64_t i = 0; i < FRAMES; i++) {
		uint64_t node = LIST + 64 * (i + 1), object = OBJECTS + 1300 / 8 * 8 * i;

		put(node, i + 1 < FRAMES ? node + 64 : 0);
		put(node + 8, object);
		put(object + 40, NAMES + 1200 * i);
	}
	control_set_recipe(control, memory->regs[0].cr3, &recipe);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Measures all rounds together, so that reading the clock costs nothing. */
static void measure(const char *name, uint64_t rsp, bool user)
{
	struct registers regs = memory->regs[0];
	struct copied copied;
	uint64_t begin_ns;

	regs.rsp = rsp;
	copy_prepare(&copier, &regs, user);
	copy_vcpu(&copier, &regs, user, record, &copied);
	begin_ns = now_ns();
	for (unsigned i = 0; i < ROUNDS; i++) {
		frame_cache_stop(copier.cache);
		copy_vcpu(&copier, &regs, user, record, &copied);
	}
	printf("\"%s_ns\": %.0f, \"%s_pieces\": %u, \"%s_bytes\": %zu%s\n", name,
	       (double)(now_ns() - begin_ns) / ROUNDS, name, copied.n_stacks, name,
	       copied.size_bytes, copied.missed ? ", \"missed\": 1" : "");
}

int main(void)
{
	make_guest();
	measure("unikernel", STACK + 0x4000 - KIB, false);
	use_stacks();
	measure("linux_user", USER + 0x100, true);
	measure("linux_system_call", STACK + 0x4000 - KIB, false);
	use_recipe();
	measure("linux_user_list", USER + 0x100, true);
	control_set_recipe(control, memory->regs[0].cr3, NULL);
	measure("linux_interrupt", IRQ + 0x4000 - KIB, false);
	control_set_stack_top(control, memory->regs[0].cr3, USER, USER); /* forget the end */
	measure("linux_user_new", USER + 0x100, true);
	measure("linux_system_call_new", STACK + 0x4000 - KIB, false);
	frame_cache_destroy(copier.cache);
	control_destroy(control);
	memory_guest_destroy(memory);
	return 0;
}
