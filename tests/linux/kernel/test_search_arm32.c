/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is found in a kernel of 32-bit Arm without names of data and without BTF: its page tables, its
 * unwind tables, its running task, and where a task has its names and its stack.
 */
#include "config.h"

#include "linux/kernel/arch.h"
#include "linux/kernel/exidx_tables.h"
#include "linux/kernel/layout_32.h"
#include "linux/kernel/stack_layout.h"
#include "tests/support/made_arm32.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/memory/walk.h"

static struct made_i386 *made;

static bool has(enum layout_member member, unsigned offset)
{
	return layout_has(&made->guest.layout, member) &&
	       layout_offset(&made->guest.layout, member) == offset;
}

static bool find_members(void)
{
	memory_refresh(made->guest.memory);
	return layout_32_find(&made->guest, &made->guest.layout);
}

static void test_symbols(void)
{
	made_arm32_begin(made);
	made_arm32_search(made);
	check_u64(made->guest.symbols[LINUX_CURRENT_TASK], MADE_BASE + MADE_ARM_CURRENT,
		  "the running task's offset in a CPU's area is found");
	check_u64(made->guest.symbols[LINUX_PER_CPU_OFFSET], MADE_BASE + MADE_PER_CPUS,
		  "the table of the CPUs' areas is found");
	check_u64(layout_32_read_current(&made->guest), MADE_BASE + MADE_TASK,
		  "the running task is read");
	check_u64(made->guest.symbols[LINUX_EXIDX_START], MADE_BASE + MADE_ARM_EXIDX,
		  "the unwind tables are found");
	check_u64(made->guest.symbols[LINUX_EXIDX_STOP],
		  MADE_BASE + MADE_ARM_EXIDX + 8 * MADE_ARM_ENTRIES,
		  "the unwind tables have their end");

	made_arm32_begin(made);
	made_i386_put(made, MADE_IDLE_CPU + 4 * 7, 0xe59325dc, 4); /* idle first */
	made_i386_put(made, MADE_IDLE_CPU + 4 * 8, 0xe59315d8, 4);
	made_arm32_search(made);
	check_u64(made->guest.symbols[LINUX_CURRENT_TASK], MADE_BASE + MADE_ARM_CURRENT,
		  "curr is the first of both members, in any order");

	made_arm32_begin(made);
	made_i386_put(made, MADE_IDLE_CPU + 4 * 2, 0xe3402002, 4); /* movt r2, #2 */
	made_arm32_search(made);
	check_u64(made->guest.symbols[LINUX_CURRENT_TASK], 0, "a table below 3 GiB is left out");
}

static void test_unwind_tables(void)
{
	struct image *image;

	made_arm32_begin(made);
	made_i386_put(made, MADE_ARM_EXIDX + 8 * 3, 0x80000000, 4);
	made_arm32_search(made);
	check_u64(made->guest.symbols[LINUX_EXIDX_START], MADE_BASE + MADE_ARM_EXIDX + 8 * 4,
		  "entries that describe no function are not in the tables");
	must(image_create("kernel", &image));
	exidx_read_kernel(&made->guest, image);
	check(image->tables.exidx && image->tables.links,
	      "the unwind tables and the kernel's code are read");
	image_unref(image);
	made->guest.symbols[LINUX_EXIDX_STOP] = made->guest.symbols[LINUX_EXIDX_START];
	must(image_create("kernel", &image));
	exidx_read_kernel(&made->guest, image);
	check(!image->tables.exidx, "a kernel without unwind tables has none in its image");
	image_unref(image);
}

static void test_members(void)
{
	struct linux_stacks stacks;

	made_arm32_begin(made);
	made_arm32_search(made);
	check(find_members(), "the members of a task are found");
	check(has(TASK_COMM, MADE_ARM_COMM) && has(TASK_PID, MADE_ARM_PID) &&
		      has(TASK_TGID, MADE_ARM_PID + 4),
	      "comm, pid and tgid have their offsets");
	check(has(TASK_GROUP_LEADER, MADE_ARM_PID + 36), "group_leader has its offset");
	check(has(TASK_STACK, MADE_ARM_STACK) && has(TASK_FLAGS, MADE_ARM_STACK + 8),
	      "stack, which the task has slept on, and flags have their offsets");
	made->guest.has_layout = true;
	stacks = stack_layout_build(&made->guest, &(struct registers){ .arch = ARCH_ARM64 });
	check(stacks.current_per_cpu == MADE_BASE + MADE_ARM_CURRENT &&
		      stacks.task_stack == MADE_ARM_STACK && stacks.stack_bytes == 8192,
	      "the sampler gets the stack layout");
	made_i386_put(made, MADE_TASK + 48, 0, 4);
	check(!find_members(), "a task that has slept nowhere gives no layout");

	made_arm32_begin(made);
	made_i386_put(made, MADE_INFO + 4, 0xe1a05000, 4);
	made_arm32_search(made);
	check(!find_members(), "a function that does not load current gives no layout");
}

static void test_roots(void)
{
	struct memory_root root, other;

	made_arm32_begin(made);
	check(arch_read_root(&made->guest, MADE_BASE + 0x1040, &other) &&
		      other.arm64.table0 == 0x1040 && other.width == ROOT_ARM32,
	      "the root of a process's tables is read");
	made->guest.root.arm64.table1 = 0x7000;
	check(arch_find_kernel_root(&made->guest, &root) && root.arm64.table0 == 0x3000 &&
		      root.arm64.size1 == 2,
	      "the kernel's tables with long descriptors are found");
	other = root;
	other.arm64.table0 |= 1ULL << 47;
	check(arch_is_same_process(root, other, true),
	      "tables that differ in their ASID are the same process's");
	other.arm64.table0 = root.arm64.table0 + 0x20;
	check(!arch_is_same_process(root, other, true), "the next table is another process's");
	made->guest.root.arm64.is_long = false;
	made->guest.root.arm64.off0 = true;
	check(arch_find_kernel_root(&made->guest, &root) && root.arm64.table0 == 0x7000 &&
		      !root.arm64.off0,
	      "the kernel's tables with short descriptors are found, with user access off");
	other = root;
	other.arm64.table0 |= 0x4a;
	check(arch_is_same_process(root, other, true),
	      "tables that differ in their attributes are the same process's");
	check_u64(arch_stack_bytes(&made->guest), 8192, "stacks have 8 KiB");
}

int main(void)
{
	made = made_i386();
	test_symbols();
	test_unwind_tables();
	test_members();
	test_roots();
	made_i386_destroy();
	return tap_done();
}
