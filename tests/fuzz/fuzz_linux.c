/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel of a Linux guest: tasks, modules with symbols and unwind tables, generated code, the
 * stack layout for the sampler, and clocks. The structures come from the input, or are valid ones
 * that the input changes. They change once more between two polls.
 */
#include "config.h"

#include "guest.h"
#include "linux/kernel/arch.h"
#include "linux/kernel/generated_code.h"
#include "linux/kernel/guest_clock.h"
#include "linux/kernel/hypercalls.h"
#include "linux/kernel/modules.h"
#include "linux/kernel/orc_tables.h"
#include "linux/kernel/stack_layout.h"
#include "linux/process/task_stacks.h"
#include "linux/process/tasks.h"
#include "unwind/orc_table.h"
#include "xtop/os/os_ops.h"

/* Where things are in a valid guest's memory. */
#define SYMBOLS      0x0000 /* one every SYMBOL_BYTES */
#define SYMBOL_BYTES 0x80
#define MODULE       0x2000
#define SYMTAB       0x3000 /* 8 times 24 bytes */
#define STRTAB       0x3400
#define ORC_IP       0x4000
#define ORC          0x4800
#define BPF          0x6000
#define FTRACE       0x6800
#define TASK         0x7000
#define CGROUPS      0x7800
#define CLOCKSOURCE  0x7c00
#define PER_CPU_AREA 0x7d00 /* and a struct vcpu_info after it */
#define CODE         0x8000
#define N_ORC        32
/*
 * The pool lies there again and again. A word of a kernel stack that is code is not taken for a task,
 * so the task is told at a place after the code.
 */
#define STACK_WORD   0x6c00
#define STACK_TOP    (2 * FUZZ_GUEST_BYTES + 0x7000)

#define MAX_ORC_IP_BYTES 0x800 /* long tables take most of the time, and fuzz_orc has them */

static void put(struct fuzz_guest *guest, uint64_t object, enum layout_member member,
		uint64_t value)
{
	if (layout_has(&guest->linux_guest.layout, member))
		object += layout_offset(&guest->linux_guest.layout, member);
	guest->pool[object % FUZZ_GUEST_BYTES / 8] = value;
}

/* A list of one element, OBJECT, that is linked by MEMBER. */
static void put_list(struct fuzz_guest *guest, enum linux_symbol head, uint64_t object,
		     enum layout_member member)
{
	uint64_t link = object;

	if (layout_has(&guest->linux_guest.layout, member))
		link += layout_offset(&guest->linux_guest.layout, member);
	guest->pool[(SYMBOLS + head * SYMBOL_BYTES) / 8] = FUZZ_GUEST_BASE + link;
	guest->pool[link % FUZZ_GUEST_BYTES / 8] = FUZZ_GUEST_BASE + SYMBOLS + head * SYMBOL_BYTES;
}

static void put_orc(struct fuzz_guest *guest)
{
	static const uint8_t call[] = { 8, 0, 0, 0, 5, 2 };
	int32_t *ips = (int32_t *)((char *)guest->pool + ORC_IP);

	for (int32_t i = 0; i < N_ORC; i++) {
		ips[i] = CODE - ORC_IP + 12 * i;
		memcpy((char *)guest->pool + ORC + i * sizeof(call), call, sizeof(call));
	}
}

static void put_module(struct fuzz_guest *guest)
{
	const uint64_t base = FUZZ_GUEST_BASE;
	struct layout *layout = &guest->linux_guest.layout;
	uint64_t memory =
		MODULE + (layout_has(layout, MODULE_MEM) ? layout_offset(layout, MODULE_MEM) : 0);

	put_list(guest, LINUX_MODULES, MODULE, MODULE_LIST);
	put(guest, MODULE, MODULE_CORE_BASE, base + CODE);
	put(guest, MODULE, MODULE_CORE_TEXT_SIZE, 0x1000);
	put(guest, memory, MODULE_MEM_BASE, base + CODE);
	put(guest, memory, MODULE_MEM_SIZE, 0x1000);
	put(guest, MODULE, MODULE_NAME, 0x34747865); /* "ext4" */
	put(guest, MODULE, MODULE_KALLSYMS, base + MODULE + 0x800);
	put(guest, MODULE + 0x800, MOD_KALLSYMS_SYMTAB, base + SYMTAB);
	put(guest, MODULE + 0x800, MOD_KALLSYMS_SYMTAB_COUNT, 8);
	put(guest, MODULE + 0x800, MOD_KALLSYMS_STRTAB, base + STRTAB);
	put(guest, MODULE, MODULE_ORC_COUNT, N_ORC);
	put(guest, MODULE, MODULE_ORC_IP, base + ORC_IP);
	put(guest, MODULE, MODULE_ORC, base + ORC);
	for (unsigned i = 0; i < 8; i++) {
		uint64_t *symbol = &guest->pool[SYMTAB / 8 + 3 * i];

		symbol[0] = (i + 1) | 1ULL << 48 | 0x12ULL << 32;
		symbol[1] = base + CODE + 0x40 * i;
		symbol[2] = i & 1 ? 0x20 : 0;
	}
	snprintf((char *)guest->pool + STRTAB + 1, 16, "some_names");
}

static void put_clock(struct fuzz_guest *guest)
{
	const uint64_t base = FUZZ_GUEST_BASE;
	struct layout *layout = &guest->linux_guest.layout;
	uint64_t keeper = SYMBOLS + LINUX_TIMEKEEPER * SYMBOL_BYTES + 8;
	uint64_t vcpu = PER_CPU_AREA + 0x40;

	layout->values[TK_DATA_TIMEKEEPER] = 8;
	layout->values[TIMEKEEPER_MONO] = 0;
	layout->values[TIMEKEEPER_OFFS_REAL] = 0x60;
	for (int i = TKR_CLOCK; i <= TKR_BASE; i++)
		layout->values[i] = 8 * (i - TKR_CLOCK);
	layout->values[CLOCKSOURCE_NAME] = 0;
	put(guest, keeper, TKR_CLOCK, base + CLOCKSOURCE);
	put(guest, keeper, TKR_MASK, UINT64_MAX);
	put(guest, keeper, TKR_SHIFT, 24);
	put(guest, keeper, TKR_MULT, 1 << 24);
	guest->pool[CLOCKSOURCE / 8] = base + CLOCKSOURCE + 0x40;
	guest->pool[CLOCKSOURCE / 8 + 8] = 0x637374; /* "tsc" */
	guest->pool[(SYMBOLS + LINUX_PER_CPU_OFFSET * SYMBOL_BYTES) / 8] =
		base + PER_CPU_AREA - guest->linux_guest.symbols[LINUX_XEN_VCPU];
	guest->pool[PER_CPU_AREA / 8] = base + vcpu;
	guest->pool[(vcpu + 32) / 8 + 3] = 1U << 31;
}

static void put_kernel(struct fuzz_guest *guest)
{
	const uint64_t base = FUZZ_GUEST_BASE;

	put_module(guest);
	put_orc(guest);
	put_clock(guest);
	put_list(guest, LINUX_BPF_KALLSYMS, BPF, BPF_KSYM_LIST);
	put(guest, BPF, BPF_KSYM_START, base + CODE);
	put(guest, BPF, BPF_KSYM_END, base + CODE + 0x100);
	put(guest, BPF, BPF_KSYM_NAME, 0x676f7270);
	put_list(guest, LINUX_FTRACE_OPS, FTRACE, FTRACE_OPS_LIST);
	put(guest, FTRACE, FTRACE_OPS_TRAMPOLINE, base + CODE);
	put(guest, FTRACE, FTRACE_OPS_TRAMPOLINE_SIZE, 0x100);
	put(guest, TASK, TASK_COMM, 0x68736162);
	put(guest, TASK, TASK_PID, 7);
	put(guest, TASK, TASK_TGID, 7);
	put(guest, TASK, TASK_GROUP_LEADER, base + TASK);
	put(guest, TASK, TASK_STACK, base + STACK_TOP - arch_stack_bytes(&guest->linux_guest));
	guest->pool[STACK_WORD / 8] = base + FUZZ_GUEST_BYTES + TASK;
	put(guest, TASK, TASK_CGROUPS, base + CGROUPS);
	put(guest, CGROUPS, CSS_SET_CGROUP, base + CGROUPS + 0x40);
	put(guest, CGROUPS + 0x40, CGROUP_NODE, base + CGROUPS + 0x80);
	put(guest, CGROUPS + 0x80, KERNFS_NAME, base + CGROUPS + 0x180);
	put(guest, CGROUPS + 0x80, KERNFS_PARENT, base + CGROUPS + 0x100);
	snprintf((char *)guest->pool + CGROUPS + 0x180, 16, "web.service");
	guest->linux_guest.symbols[LINUX_ORC_IP_START] = base + ORC_IP;
	guest->linux_guest.symbols[LINUX_ORC_IP_STOP] = base + ORC_IP + 4 * N_ORC;
	guest->linux_guest.symbols[LINUX_ORC_START] = base + ORC;
}

/* Changes words of a valid kernel. The input tells which, and to what. */
static void spoil(struct fuzz_guest *guest, struct fuzz *fuzz)
{
	unsigned n = fuzz_u8(fuzz) % 32;

	fuzz_guest_fill(guest, &(struct fuzz){ 0 });
	put_kernel(guest);
	for (unsigned i = 0; i < n && fuzz->left_bytes; i++) {
		uint64_t *word = &guest->pool[fuzz_u16(fuzz) % (CODE / 8)];
		uint8_t how = fuzz_u8(fuzz);

		*word = how & 1   ? FUZZ_GUEST_BASE + fuzz_u16(fuzz)
			: how & 2 ? fuzz_u64(fuzz)
				  : *word ^ 1ULL << how / 4;
	}
}

static void find_tasks(struct fuzz_guest *guest, struct tasks *tasks, struct fuzz *fuzz)
{
	for (unsigned i = 0; i < 4; i++) {
		uint64_t address = FUZZ_GUEST_BASE + (i ? fuzz_u16(fuzz) : TASK);
		const struct task *task = tasks_find(tasks, address, i * TASKS_FRESH_NS / 2);

		if (task)
			fuzz_must(memchr(task->comm, 0, sizeof(task->comm)) &&
					  memchr(task->process, 0, sizeof(task->process)) &&
					  memchr(task->cgroup, 0, sizeof(task->cgroup)),
				  "names end");
	}
	(void)guest;
}

/* The end of a stack, as a vCPU of arm64 tells it. */
static void find_task_stacks(struct fuzz_guest *guest, struct tasks *tasks, struct fuzz *fuzz)
{
	struct task_stacks stacks = { .guest = &guest->linux_guest };

	for (unsigned i = 0; i < 3; i++) {
		uint64_t top = FUZZ_GUEST_BASE + (i ? 16ULL * fuzz_u16(fuzz) : STACK_TOP);

		task_stacks_find(&stacks, tasks, top, i * 1000000000ULL);
	}
}

static void find_orc(struct fuzz_guest *guest)
{
	struct symtab *tab;
	struct orc *orc;

	fuzz_succeed(symtab_create(&tab));
	fuzz_succeed(symtab_seal(tab));
	orc = orc_read_kernel(&guest->linux_guest, tab);
	if (orc) {
		hypercalls_add(&guest->linux_guest, orc);
		orc_find(orc, guest->linux_guest.text_start);
	}
	orc_destroy(orc);
	symtab_destroy(tab);
}

/* A module's symbols and tables, which a sample in its code asks for. */
static void read_module(void *context, struct image *image)
{
	(void)context;
	image_symtab(image);
	image_build_tables(image);
}

static void put_symbols(struct fuzz_guest *guest, struct fuzz *fuzz)
{
	struct linux_guest *linux_guest = &guest->linux_guest;

	for (int i = 0; i < N_LINUX_SYMBOLS; i++)
		linux_guest->symbols[i] = FUZZ_GUEST_BASE + SYMBOLS + i * SYMBOL_BYTES;
	linux_guest->symbols[LINUX_HYPERCALLS] = FUZZ_GUEST_BASE + CODE;
	linux_guest->symbols[fuzz_u8(fuzz) % N_LINUX_SYMBOLS] = fuzz_u64(fuzz);
	linux_guest->symbols[LINUX_ORC_IP_STOP] =
		linux_guest->symbols[LINUX_ORC_IP_START] + fuzz_u16(fuzz) % MAX_ORC_IP_BYTES;
	linux_guest->text_start = FUZZ_GUEST_BASE;
	linux_guest->text_end = FUZZ_GUEST_BASE + 0x10000;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct fuzz_guest *guest = fuzz_guest();
	struct registers regs = { .rip = FUZZ_GUEST_BASE };
	struct generated_code *code;
	struct os_clock clock;
	struct tasks *tasks = NULL;
	struct modules *modules;
	struct space *space;
	uint8_t how;

	fuzz_guest_layout(guest, &fuzz);
	put_symbols(guest, &fuzz);
	fuzz_succeed(space_create(&space));
	fuzz_succeed(modules_create(&guest->linux_guest, space, &modules));
	modules_set_new(modules, read_module, NULL);
	fuzz_succeed(generated_code_create(&guest->linux_guest, space, &code));
	error_destroy(tasks_create(&guest->linux_guest, &tasks));
	how = fuzz_u8(&fuzz);
	guest->arm64 = how & 2;
	if (guest->arm64)
		regs = (struct registers){ .arch = ARCH_ARM64, .arm64.pc = FUZZ_GUEST_BASE };
	for (unsigned i = 0; i < 2; i++) {
		if (i)
			guest->pool[fuzz_u16(&fuzz) % (FUZZ_GUEST_BYTES / 8)] = FUZZ_GUEST_BASE;
		else if (how & 1)
			spoil(guest, &fuzz);
		else
			fuzz_guest_fill(guest, &fuzz);
		memory_refresh(guest->memory);
		find_orc(guest);
		modules_poll(modules);
		generated_code_poll(code);
		if (tasks)
			find_tasks(guest, tasks, &fuzz);
		stack_layout_build(&guest->linux_guest, &regs);
		guest_clock_read(&guest->linux_guest, guest->pool[CODE / 8], &clock);
		if (tasks && i) /* last, so that the kept inputs mean what they did */
			find_task_stacks(guest, tasks, &fuzz);
	}
	fuzz_must(modules_counts(modules).n <= MODULES_MAX, "modules are limited");
	modules_destroy(modules);
	generated_code_destroy(code);
	tasks_destroy(tasks);
	space_destroy(space);
	return 0;
}
