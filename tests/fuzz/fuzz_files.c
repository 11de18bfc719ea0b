/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A right process of a Linux guest in one of three layouts, with its files in the page cache, in
 * which the input changes words: its space with names and tables, the names that a JIT compiler
 * wrote, and which task a sample belongs to. fuzz_process has what is not right to begin with.
 */
#include "config.h"

#include "fuzz.h"
#include "linux/process/path.h"
#include "linux/process/processes.h"
#include "linux/process/tasks.h"
#include "linux/task_finder.h"
#include "tests/fuzz/change.h"
#include "tests/support/made_linux.h"
#include "tests/support/program.h"

#define BASE        0x55d000000000ULL
#define LIB         0x7f1000000000ULL
#define JIT         0x7e0000000000ULL
#define PAGE        GUEST_PAGE_SIZE
#define MAX_CHANGES 32
#define N_KINDS     3

struct world {
	struct made_linux *made;
	struct layout layout; /* the layout that was made */
	struct memory_root root; /* the page tables of MM */
	uint64_t task, mm, file;
	/* TASK; children of it: with the same memory, with none; a kernel thread */
	uint64_t tasks[4];
};

struct change {
	uint64_t address, was;
};

static struct world worlds[N_KINDS];

static void make_files(struct world *world, struct vma *areas)
{
	static const char jit[] = "7e0000000010 20 Interpreter::run\n7e0000000100 80 f();x\n";
	static struct program program;

	program_make(&program, 0, "serve", 1);
	world->file = made_file(world->made, "/bin/server", program.bytes, PROGRAM_BYTES);
	areas[0].file = areas[1].file = world->file;
	program_make(&program, 0, NULL, 2);
	areas[4].file = areas[3].file =
		made_file(world->made, "/lib/libhelp.so", program.bytes, PROGRAM_BYTES);
	made_file(world->made, "/tmp/perf-50.map", jit, sizeof(jit) - 1);
}

static void make_tasks(struct world *world)
{
	world->root = made_mm_root(world->made, world->mm);
	world->tasks[0] = world->task;
	world->tasks[1] = made_task(world->made, 51, 51, "child", world->mm, 0);
	world->tasks[2] = made_task(world->made, 52, 52, "ended", 0, 0);
	world->tasks[3] = made_task(world->made, 53, 53, "kthread", 0, 0);
	for (unsigned i = 0; i < 4; i++) {
		made_set(world->made, world->tasks[i], TASK_START_TIME, 1000 * (i + 1));
		made_set(world->made, world->tasks[i], TASK_REAL_PARENT, world->task);
	}
}

static struct world *world_of(unsigned kind)
{
	struct world *world = &worlds[kind % N_KINDS];
	struct vma areas[] = {
		{ BASE - PAGE, BASE, VMA_READ, 0, 0 },
		{ BASE, BASE + PAGE, VMA_READ | VMA_EXEC, 1, 0 },
		{ JIT, JIT + PAGE, VMA_READ | VMA_WRITE | VMA_EXEC, 0, 0 },
		{ LIB - PAGE, LIB, VMA_READ, 0, 0 },
		{ LIB, LIB + PAGE, VMA_READ | VMA_EXEC, 1, 0 },
	};

	if (world->made)
		return world;
	world->made = made_linux_create(kind % N_KINDS);
	make_files(world, areas);
	world->mm = made_mm(world->made, areas, sizeof(areas) / sizeof(areas[0]));
	world->task = made_task(world->made, 50, 50, "server", world->mm, 0);
	make_tasks(world);
	world->layout = world->made->guest.layout;
	return world;
}

/* Objects, pages of files, or the array of pages: wherever something is. */
static uint64_t take_address(struct fuzz *fuzz, const struct world *world)
{
	uint64_t at = fuzz_u16(fuzz) * 8ULL;

	switch (fuzz_u8(fuzz) % 4) {
	case 0:
		return MADE_DIRECT_MAP + at % (16 * PAGE);
	case 1:
		return MADE_VMEMMAP + at % PAGE;
	default:
		return MADE_OBJECTS + at % (world->made->next - MADE_OBJECTS);
	}
}

static bool change_one(struct fuzz *fuzz, const struct world *world, struct change *change)
{
	struct linux_guest *guest = &world->made->guest;
	enum change_kind kind;
	uint64_t word;

	change->address = take_address(fuzz, world);
	if (!linux_read_u64(guest, change->address, &change->was))
		return false;
	kind = fuzz_change_kind(fuzz);
	word = kind == CHANGE_ADDRESS ? take_address(fuzz, world)
				      : fuzz_change(fuzz, kind, change->was);
	made_put_u64(world->made->memory, guest->root, change->address, word);
	return true;
}

static void put_back(const struct world *world, const struct change *changes, unsigned n)
{
	while (n-- > 0)
		made_put_u64(world->made->memory, world->made->guest.root, changes[n].address,
			     changes[n].was);
	world->made->guest.layout = world->layout;
}

static void look(const struct world *world, struct processes *processes, struct tasks *tasks,
		 uint64_t now_ns)
{
	static const uint64_t places[] = { BASE + 0x100, LIB + 0x100, JIT + 0x14 };
	const struct task *task = tasks_find(tasks, world->task, now_ns);
	const struct space *space = task ? processes_find_space(processes, task, now_ns) : NULL;
	const struct mapping *mapping;
	struct symtab_entry entry;

	for (unsigned i = 0; space && i < sizeof(places) / sizeof(places[0]); i++)
		space_find_symbol(space, places[i], &entry, &mapping);
	processes_poll(processes, now_ns + 1);
}

/*
 * Samples of a task in user mode and in the kernel, on its own page tables or on others, at times
 * before and after it was read first.
 */
static void find_tasks(const struct world *world, struct fuzz *fuzz, struct task_finder *finder)
{
	struct {
		struct sample_vcpu head;
		struct sample_stack stack;
		uint64_t words[2];
	} sample;

	for (unsigned i = 0; i < 6; i++) {
		uint8_t how = fuzz_u8(fuzz);
		struct os_task task = { 0 };

		sample.head = (struct sample_vcpu){
			.size_bytes = sizeof(sample),
			.user = how & 1,
			.n_stacks = how >> 1 & 1,
			.task = world->tasks[how >> 2 & 3],
			.regs = { .rip = BASE + 0x100,
				  .cr0 = 1U << 31,
				  .cr3 = how & 16 ? world->root.cr3 : world->made->guest.root.cr3,
				  .cr4 = 0x20 },
		};
		sample.stack = (struct sample_stack){ .address = MADE_OBJECTS + fuzz_u16(fuzz) * 16,
						      .size_bytes = 16 };
		if (how & 32)
			sample_set_frame(&sample.head,
					 FRAME(world->root.cr3 >> GUEST_PAGE_SHIFT));
		task_finder_find(finder, &sample.head, (uint64_t)(how >> 5) * 100000000, &task);
		fuzz_must(!task.process || strnlen(task.process, 64) < 64, "a name ends");
	}
}

/* What changes between two looks is put into CHANGES, too. */
static unsigned use(const struct world *world, struct fuzz *fuzz, struct change *changes,
		    unsigned n)
{
	const struct processes_settings settings = { .debug.root_fd = -1 };
	static struct path_name name;
	struct processes *processes;
	struct tasks *tasks = NULL;
	const char *note = NULL;

	fuzz_succeed(processes_create(&world->made->guest, &settings, &processes));
	error_destroy(tasks_create(&world->made->guest, &tasks));
	for (unsigned i = 0; tasks && i < 2; i++) {
		look(world, processes, tasks, (1 + i) * CODE_FILE_RETRY_NS);
		n += fuzz->left_bytes && change_one(fuzz, world, &changes[n]);
		memory_refresh(world->made->guest.memory);
	}
	for (unsigned i = 0; i < 16 && (note = processes_next_note(processes, note)); i++)
		;
	path_read(&world->made->guest, world->file, &name);
	if (tasks)
		find_tasks(world, fuzz,
			   &(struct task_finder){ .guest = &world->made->guest,
					   .stacks.guest = &world->made->guest,
						  .tasks = tasks,
						  .processes = processes });
	tasks_destroy(tasks);
	processes_destroy(processes);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct world *world = world_of(fuzz_u8(&fuzz));
	unsigned n_wanted = fuzz_u8(&fuzz) % MAX_CHANGES, n = 0;
	uint16_t member = fuzz_u16(&fuzz);
	struct change changes[MAX_CHANGES + 2];

	if (member & 1) /* the kernel has no such member, or elsewhere */
		world->made->guest.layout.values[(member >> 1) % LAYOUT_MEMBERS] =
			(int16_t)fuzz_u16(&fuzz) < 0 ? -1 : fuzz_u8(&fuzz);
	for (unsigned i = 0; i < n_wanted && fuzz.left_bytes; i++)
		n += change_one(&fuzz, world, &changes[n]);
	memory_refresh(world->made->guest.memory);
	n = use(world, &fuzz, changes, n);
	put_back(world, changes, n);
	memory_refresh(world->made->guest.memory);
	return 0;
}
