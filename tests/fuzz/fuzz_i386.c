/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 32-bit kernel whose data has no names: its page tables, its running task, the members of a task,
 * a task's names, the layout of a process's mappings and files, and these; modules, and tasks that
 * sleep. The kernel is a valid one that the input changes. Or it is one of 32-bit Arm, of which the
 * first half and the unwind tables are looked at.
 */
#include "config.h"

#include <string.h>

#include "linux/kernel/arch.h"
#include "linux/kernel/exidx_tables.h"
#include "linux/kernel/layout_32.h"
#include "linux/kernel/module_layout_i386.h"
#include "linux/kernel/modules.h"
#include "linux/kernel/stack_layout.h"
#include "linux/process/process_layout.h"
#include "linux/process/processes.h"
#include "linux/sleepers.h"
#include "tests/fuzz/change.h"
#include "tests/support/made_arm32.h"
#include "tests/support/made_module_i386.h"
#include "tests/support/made_task_i386.h"

/* Where the kernel has what is looked at; a change is within so many bytes of one of them. */
static const uint32_t places[] = { MADE_TABLES,
				   MADE_KERNEL,
				   MADE_OWN,
				   MADE_GETPID,
				   MADE_IDLE_CPU,
				   MADE_INFO,
				   MADE_PER_CPUS,
				   MADE_CURRENT,
				   MADE_TASK,
				   MADE_LEADER,
				   MADE_PARENT,
				   MADE_TASK + MADE_PID,
				   MADE_LEADER + MADE_PID,
				   MADE_TASK + MADE_COMM,
				   MADE_LEADER + MADE_COMM,
				   MADE_CURRENT + MADE_AREA,
				   MADE_TASK + MADE_MM_AT,
				   MADE_USER_TABLES,
				   MADE_USER_PAGES + 8 * 0x48,
				   MADE_MM,
				   MADE_MM + 64,
				   MADE_MM + 460,
				   MADE_MAPLE,
				   MADE_MAPLE + 128,
				   MADE_AREAS,
				   MADE_AREAS + MADE_AREA_BYTES,
				   MADE_FILE,
				   MADE_DENTRY,
				   MADE_MOUNT,
				   MADE_INODE,
				   MADE_INODE + 256,
				   MADE_XA_NODE,
				   MADE_MODULES,
				   MADE_PRINT_MODULES,
				   MADE_MODULE + MADE_MODULE_STRUCT,
				   MADE_MODULE + MADE_MODULE_STRUCT + MADE_MODULE_CORE,
				   MADE_MODULE + MADE_MODULE_STRUCT + MADE_MODULE_KALLSYMS,
				   MADE_MODULE + MADE_MODULE_SYMBOLS,
				   MADE_SWITCH,
				   MADE_CGROUP_ID,
				   MADE_NEW_EXEC + 0x5a0,
				   MADE_STRUCT_PID,
				   MADE_PID_NS,
				   MADE_PID_ROOT,
				   MADE_PID_LEAF,
				   MADE_FS,
				   MADE_CSS_SET + 64,
				   MADE_CGROUP + 152,
				   MADE_KERNFS,
				   MADE_LEADER + MADE_AT_STATE,
				   MADE_LEADER + MADE_AT_TASKS,
				   MADE_LEADER + MADE_AT_EXIT_STATE,
				   MADE_LEADER + MADE_AT_THREAD_PID,
				   MADE_LEADER + MADE_AT_SWITCHES,
				   MADE_LEADER + MADE_AT_EXEC_ID,
				   MADE_LEADER + MADE_AT_SP,
				   MADE_SLEEP_SP };
#define N_PLACES (sizeof(places) / sizeof(places[0]))
#define NEAR_BYTES 64

static void find_task(struct made_i386 *made)
{
	struct tasks *tasks;
	const struct task *task;
	uint64_t current = layout_32_read_current(&made->guest);

	fuzz_must(!current || current >= MADE_BASE, "a task is in the kernel's memory");
	made->guest.has_layout = layout_32_find(&made->guest, &made->guest.layout);
	if (!made->guest.has_layout)
		return;
	fuzz_succeed(tasks_create(&made->guest, &tasks));
	task = tasks_find(tasks, MADE_BASE + MADE_TASK, 1);
	if (task)
		fuzz_must(memchr(task->comm, 0, sizeof(task->comm)) != NULL, "a name has an end");
	tasks_destroy(tasks);
}

static void add_wait(void *context, const struct os_wait *wait)
{
	(void)context;
	if (wait->vcpu)
		fuzz_must(wait->vcpu->n_stacks <= SAMPLE_MAX_STACKS, "a sample of a task");
}

static void end_wait(void *context, void *kept, uint64_t waited_ns)
{
	(void)context;
	(void)kept;
	(void)waited_ns;
}

static void find_waits(struct made_i386 *made, struct processes *processes)
{
	static const struct os_waits_sink sink = { add_wait, end_wait, NULL, NULL };
	struct sleepers *sleepers;
	struct tasks *tasks;

	if (!sleepers_can_read(&made->guest))
		return;
	fuzz_succeed(tasks_create(&made->guest, &tasks));
	fuzz_succeed(sleepers_create(&made->guest, tasks, processes, &sleepers));
	for (unsigned i = 1; i < 5; i++)
		sleepers_read(sleepers, i * 1000000000ULL, 1000000000, &sink);
	sleepers_destroy(sleepers);
	tasks_destroy(tasks);
}

/* A module's symbols and tables, which a sample in its code asks for. */
static void read_module(void *context, struct image *image)
{
	(void)context;
	image_symtab(image);
	image_build_tables(image);
}

static void find_modules(struct made_i386 *made)
{
	struct modules *modules;
	struct space *space;

	module_layout_i386_find(&made->guest);
	fuzz_succeed(space_create(&space));
	fuzz_succeed(modules_create(&made->guest, space, &modules));
	modules_set_new(modules, read_module, NULL);
	modules_poll(modules);
	fuzz_must(modules_counts(modules).n <= MODULES_MAX, "modules are limited");
	modules_destroy(modules);
	space_destroy(space);
}

/* What the running task has mapped, as for a sample, and again a little later. */
static void find_space(struct made_i386 *made)
{
	const struct task task = { .address = MADE_BASE + MADE_TASK,
				   .pid = 71,
				   .tgid = 70,
				   .mm = MADE_BASE + MADE_MM };
	const struct processes_settings settings = { .debug.root_fd = -1, .at_once = true };
	struct processes *processes;
	const struct space *space;

	if (!made->guest.has_layout || !process_layout_32_find(&made->guest))
		return;
	fuzz_must(made->guest.vmemmap >= MADE_BASE, "an array is in the kernel's memory");
	fuzz_succeed(processes_create(&made->guest, &settings, &processes));
	for (unsigned i = 0; i < 2; i++) {
		space = processes_find_space(processes, &task, i * 2 * CODE_FILE_RETRY_NS);
		if (space)
			space_find(space, MADE_CODE);
		processes_poll(processes, (i * 2 + 1) * CODE_FILE_RETRY_NS);
	}
	find_waits(made, processes);
	processes_destroy(processes);
}

static bool check_right(struct made_i386 *made)
{
	made_i386_search(made);
	fuzz_must(layout_32_read_current(&made->guest) == MADE_BASE + MADE_TASK,
		  "a right kernel is found");
	find_task(made);
	fuzz_must(made->guest.has_layout, "so are its members");
	made_process_i386(made, MADE_TASK);
	made_task_i386(made);
	made_module_i386(made, 2);
	made_i386_search(made);
	find_space(made);
	fuzz_must(sleepers_can_read(&made->guest), "tasks that sleep");
	fuzz_must(module_layout_i386_find(&made->guest), "modules");
	fuzz_must(layout_has(&made->guest.layout, TASK_MM), "and a process");
	return true;
}

/* Places of the kernel of Arm. */
static const uint32_t arm32_places[] = { MADE_TABLES + 0x20,
					 MADE_KERNEL,
					 MADE_IDLE_CPU,
					 MADE_INFO,
					 MADE_PER_CPUS,
					 MADE_ARM_CURRENT + MADE_AREA,
					 MADE_TASK,
					 MADE_TASK + 48,
					 MADE_TASK + MADE_ARM_STACK,
					 MADE_TASK + MADE_ARM_PID,
					 MADE_TASK + MADE_ARM_COMM,
					 MADE_LEADER + MADE_ARM_PID,
					 MADE_LEADER + MADE_ARM_COMM,
					 MADE_PARENT + MADE_ARM_PID,
					 MADE_ARM_EXIDX,
					 MADE_ARM_EXIDX + 8 * 20,
					 MADE_ARM_EXIDX + 8 * (MADE_ARM_ENTRIES - 8) };
#define N_ARM32_PLACES (sizeof(arm32_places) / sizeof(arm32_places[0]))

static uint32_t place_at(uint8_t number, bool arm32)
{
	return arm32 ? arm32_places[number % N_ARM32_PLACES] : places[number % N_PLACES];
}

static void spoil(struct made_i386 *made, struct fuzz *fuzz, bool arm32)
{
	while (fuzz->left_bytes) {
		uint8_t where = fuzz_u8(fuzz);
		uint64_t at = place_at(where, arm32) + fuzz_u8(fuzz) % NEAR_BYTES, was = 0;
		enum change_kind kind = fuzz_change_kind(fuzz);

		memcpy(&was, made->bytes + at, 4);
		made_i386_put(made, at,
			      kind == CHANGE_ADDRESS ? MADE_BASE + place_at(fuzz_u8(fuzz), arm32)
						     : fuzz_change(fuzz, kind, was),
			      where & 0x80 ? 1 : 4);
	}
}

/* --- a kernel of 32-bit Arm ------------------------------------------------------------------- */

static void use_arm32(struct made_i386 *made, struct fuzz *fuzz)
{
	const struct registers regs = { .arch = ARCH_ARM64 };
	struct memory_root root;
	struct image *image;

	made_arm32_begin(made);
	spoil(made, fuzz, true);
	memory_refresh(made->guest.memory);
	made_arm32_search(made);
	find_task(made);
	stack_layout_build(&made->guest, &regs);
	if (arch_find_kernel_root(&made->guest, &root))
		arch_is_same_process(root, made->guest.root, true);
	fuzz_succeed(image_create("kernel", &image));
	exidx_read_kernel(&made->guest, image);
	image_unref(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static bool is_checked;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct made_i386 *made = made_i386();
	uint8_t how = fuzz_u8(&fuzz);

	if (!is_checked)
		is_checked = check_right(made);
	if (how & 128) {
		use_arm32(made, &fuzz);
		return 0;
	}
	made_i386_begin(made, how & 1);
	if (how & 2) {
		memset(made->bytes + MADE_TABLES, 0, 0x2000);
		made_i386_put(made, MADE_TABLES + 4 * 768, 0x80 | 3, 4);
		made_i386_put(made, MADE_OWN + 4 * 768, 0x80 | 3, 4);
		made->guest.root = (struct memory_root){ .cr3 = MADE_TABLES, .width = WIDTH_32 };
	}
	made->guest.vmemmap = 0;
	if (how & 4)
		(how & 64 ? made_process_65_i386 : made_process_i386)(
			made, how & 8 ? MADE_PARENT : MADE_TASK);
	if (how & 16)
		made_task_i386(made);
	if (how & 32)
		(how & 64 ? made_module_65_i386 : made_module_i386)(made, 2);
	spoil(made, &fuzz, false);
	memory_refresh(made->guest.memory);
	made_i386_search(made);
	find_task(made);
	find_space(made);
	find_modules(made);
	return 0;
}
