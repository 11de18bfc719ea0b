/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is found in a 32-bit kernel without names of data and without BTF: its page tables, its running
 * task, and where a task has its names. The code is made of instructions that gcc 12 wrote for these
 * functions of Linux 6.1, and of neighbours of them. All memory is one page of 2 MiB at 3 GiB.
 */
#include "config.h"

#include "linux/kernel/layout_i386.h"
#include "linux/kernel/search.h"
#include "linux/process/tasks.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/walk.h"

#define BASE   UINT64_C(0xc0000000)
#define FRAMES 512

#define TABLES 0x1000 /* of the vCPU's process: the top table is at 0x20 there */
#define KERNEL 0x2000 /* the table that the top tables share */
#define OWN    0x9000 /* swapper_pg_dir */

#define TEXT      0x10000
#define GETPID    (TEXT + 0x100)
#define IDLE_CPU  (TEXT + 0x200)
#define INFO      (TEXT + 0x300)
#define PER_CPUS  0x20000 /* __per_cpu_offset */
#define CURRENT   0x20808 /* current_task */
#define AREA      0x30000 /* from a variable to that of CPU 0 */
#define TASK      0x40080
#define LEADER    0x41080
#define PARENT    0x42080
#define STACK     0x44000

#define COMM  1412
#define PID   1108

static uint8_t bytes[FRAMES * 4096];
static struct linux_guest guest;

static void guest_read(void *context, const frame_t *frames, size_t n, void *to, bool *ok)
{
	(void)context;
	for (size_t i = 0; i < n; i++) {
		ok[i] = frames[i].value < FRAMES;
		if (ok[i])
			memcpy((char *)to + i * 4096, bytes + frames[i].value * 4096, 4096);
	}
}

static void guest_close(void *context)
{
	(void)context;
}

static void put(uint64_t offset, uint64_t value, size_t n)
{
	memcpy(bytes + offset, &value, n);
}

static void put_code(uint64_t offset, const uint8_t *code, size_t n)
{
	memcpy(bytes + offset, code, n);
}

/* A task_struct with these names; the pointers are right. */
static void put_task(uint64_t task, uint32_t pid, uint32_t tgid, const char *comm, bool has_canary)
{
	uint64_t parents = task + PID + 8 + (has_canary ? 4 : 0);

	put(task + 16, 0, 4);
	put(task + 20, BASE + STACK, 4);
	put(task + 28, 0x400000, 4);
	put(task + PID, pid, 4);
	put(task + PID + 4, tgid, 4);
	if (has_canary)
		put(task + PID + 8, 0xdeadbe01, 4);
	put(parents, BASE + PARENT, 4);
	put(parents + 4, BASE + PARENT, 4);
	put(parents + 24, BASE + LEADER, 4);
	memset(bytes + task + COMM, 0, 16);
	memcpy(bytes + task + COMM, comm, strlen(comm));
}

static void begin(bool has_canary)
{
	/* mov %fs:CURRENT, %eax */
	static const uint8_t getpid[] = { 0x55, 0x31, 0xc9, 0x64, 0xa1, 0x08, 0x08, 0x02, 0xc0 };
	/* mov $0xc3e8a9c0, %eax; add PER_CPUS(,%edx,4), %eax */
	static const uint8_t idle_cpu[] = { 0x55, 0xb8, 0xc0, 0xa9, 0xe8, 0xc3, 0x03,
					    0x04, 0x95, 0x00, 0x00, 0x02, 0xc0 };
	/* mov %fs:CURRENT, %edx; push $0; lea COMM(%edx), %eax; push %eax; push PID(%edx) */
	static const uint8_t info[] = { 0x64, 0x8b, 0x15, 0x08, 0x08, 0x02, 0xc0, 0x6a, 0x00,
					0x8d, 0x82, 0x84, 0x05, 0x00, 0x00, 0x50, 0xff, 0xb2,
					0x54, 0x04, 0x00, 0x00 };

	memset(bytes, 0, sizeof(bytes));
	put(TABLES + 0x20 + 8 * 2, 0x8000 | 1, 8); /* of the process */
	put(TABLES + 0x20 + 8 * 3, KERNEL | 1, 8);
	put(KERNEL, 0x80 | 3, 8); /* 2 MiB at address 0 */
	put(OWN + 8 * 3, KERNEL | 1, 8);
	put_code(GETPID, getpid, sizeof(getpid));
	put_code(IDLE_CPU, idle_cpu, sizeof(idle_cpu));
	put_code(INFO, info, sizeof(info));
	put(PER_CPUS, AREA, 4);
	put(CURRENT + AREA, BASE + TASK, 4);
	put_task(TASK, 71, 70, "thread", has_canary);
	put_task(LEADER, 70, 70, "leader", has_canary);
	put_task(PARENT, 1, 1, "init", has_canary);
	guest.root = (struct memory_root){ .cr3 = TABLES + 0x20, .width = WIDTH_32_PAE };
	memset(guest.symbols, 0, sizeof(guest.symbols));
	guest.symbols[LINUX_TEXT] = BASE + TEXT;
	guest.symbols[LINUX_GETPID] = BASE + GETPID;
	guest.symbols[LINUX_IDLE_CPU] = BASE + IDLE_CPU;
	guest.symbols[LINUX_STACK_INFO] = BASE + INFO;
	guest.symbols[LINUX_BANNER] = BASE;
	layout_init(&guest.layout);
	memory_refresh(guest.memory);
}

static void search(void)
{
	const struct memory_range data = { .start = BASE, .end = BASE + FRAMES * 4096,
					   .writable = true };

	search_symbols(&guest, &data, 1);
}

static void test_symbols(void)
{
	begin(true);
	search();
	check_u64(guest.symbols[LINUX_PAGE_TABLES], BASE + OWN, "the kernel's own page tables");
	check_u64(guest.symbols[LINUX_CURRENT_TASK], BASE + CURRENT, "current_task");
	check_u64(guest.symbols[LINUX_PER_CPU_OFFSET], BASE + PER_CPUS, "__per_cpu_offset");
	check_u64(layout_i386_read_current(&guest), BASE + TASK, "the running task");

	begin(true);
	put(OWN + 8 * 3, 0x3000 | 1, 8);
	search();
	check_u64(guest.symbols[LINUX_PAGE_TABLES], 0, "other tables are not the kernel's");

	begin(true);
	put(OWN, 0x8000 | 1, 8);
	search();
	check_u64(guest.symbols[LINUX_PAGE_TABLES], 0, "nor are those of a process");
}

/* Tables of two levels, with pages of 4 MiB. */
static void test_without_pae(void)
{
	begin(true);
	memset(bytes + TABLES, 0, 0x2000);
	put(TABLES + 4, 0x8000 | 1, 4);
	put(TABLES + 4 * 768, 0x80 | 3, 4);
	put(OWN + 8 * 3, 0, 8);
	put(OWN + 4 * 768, 0x80 | 3, 4);
	guest.root = (struct memory_root){ .cr3 = TABLES, .width = WIDTH_32 };
	search();
	check_u64(guest.symbols[LINUX_PAGE_TABLES], BASE + OWN, "page tables without PAE");
}

static bool has(enum layout_member member, unsigned offset)
{
	return layout_has(&guest.layout, member) &&
	       layout_offset(&guest.layout, member) == offset;
}

static void test_members(bool has_canary)
{
	unsigned leader = PID + 32 + (has_canary ? 4 : 0);

	begin(has_canary);
	search();
	check(layout_i386_find(&guest, &guest.layout), "members are found");
	check(has(TASK_COMM, COMM) && has(TASK_PID, PID) && has(TASK_TGID, PID + 4),
	      "names and numbers");
	check(has(TASK_GROUP_LEADER, leader), "the leader, %s canary",
	      has_canary ? "behind a" : "without");
	check(has(TASK_STACK, 20) && has(TASK_FLAGS, 28), "stack and flags");
	check(!layout_has(&guest.layout, TASK_MM), "nothing is known of the memory");
}

static void test_no_members(void)
{
	struct layout before = guest.layout;

	begin(true);
	search();
	layout_init(&before);
	put(LEADER + PID + 36, BASE + TASK, 4);
	memory_refresh(guest.memory);
	check(!layout_i386_find(&guest, &guest.layout), "a leader that does not lead itself");
	check(memcmp(&guest.layout, &before, sizeof(before)) == 0, "the layout stays as it was");
	begin(true);
	search();
	put(TASK + COMM, 0x01, 1);
	memory_refresh(guest.memory);
	check(!layout_i386_find(&guest, &guest.layout), "a name that is none");
	begin(true);
	search();
	put(INFO + 1, 0, 1);
	memory_refresh(guest.memory);
	check(!layout_i386_find(&guest, &guest.layout), "a function that does not load current");
	begin(true);
	put(PER_CPUS, 0x10000000, 4);
	search();
	check(!layout_i386_find(&guest, &guest.layout), "an area that is not there");
	begin(true);
	guest.symbols[LINUX_STACK_INFO] = 0;
	search();
	check(!layout_i386_find(&guest, &guest.layout), "a kernel without the function");
}

static void test_tasks(void)
{
	struct tasks *tasks;
	const struct task *task;

	begin(true);
	search();
	guest.has_layout = layout_i386_find(&guest, &guest.layout);
	must(tasks_create(&guest, &tasks));
	task = tasks_find(tasks, BASE + TASK, 1);
	check(task && strcmp(task->comm, "thread") == 0 && strcmp(task->process, "leader") == 0 &&
		      task->pid == 71 && task->tgid == 70 && !task->kernel_thread,
	      "a thread has its own name and the process's");
	put(TASK + 28, 0x200000, 4);
	memory_refresh(guest.memory);
	tasks_invalidate(tasks, BASE + TASK);
	task = tasks_find(tasks, BASE + TASK, 1);
	check(task && task->kernel_thread, "a thread of the kernel");
	check(!tasks_find(tasks, 0x40080, 1), "no task is below 3 GiB");
	tasks_destroy(tasks);
}

int main(void)
{
	static const struct memory_ops ops = { .read = guest_read, .close = guest_close };

	must(memory_create(&ops, NULL, &guest.memory));
	test_symbols();
	test_without_pae();
	test_members(true);
	test_members(false);
	test_no_members();
	test_tasks();
	memory_destroy(guest.memory);
	return tap_done();
}
