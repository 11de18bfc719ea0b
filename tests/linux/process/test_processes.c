/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spaces of processes: names of all kinds of code; processes that map, call exec(), end, or get
 * another process's mm_struct; what is shared, what is tried again, and how much is kept.
 */
#include "config.h"

#include <stdlib.h>

#include "linux/process/process.h"
#include "linux/process/processes.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/program.h"
#include "tests/support/tap.h"
#include "unwind/computed.h"

#define MS   1000000ULL
#define S    (1000 * MS)
#define PAGE GUEST_PAGE_SIZE
#define BASE 0x55d000000000ULL /* the program's code */
#define LIB  0x7f1000000000ULL
#define VDSO 0x7fff00001000ULL
#define JIT  0x7e0000000000ULL

static struct made_linux *made;
static struct processes *processes;
static struct program program;
static uint64_t exe, lib;
static uint64_t mm, task_address;
static struct tasks *tasks;

static void begin(enum made_areas kind)
{
	static const struct processes_settings none = { .root_fd = -1 };

	made = made_linux_create(kind);
	must(processes_create(&made->guest, &none, &processes));
	must(tasks_create(&made->guest, &tasks));
	program_make(&program, 0, "serve", 1);
	exe = made_file(made, "/bin/server", program.bytes, PROGRAM_BYTES);
	program_make(&program, 0, "helper", 2);
	lib = made_file(made, "/lib/libhelp.so", program.bytes, PROGRAM_BYTES);
}

static void end(void)
{
	tasks_destroy(tasks);
	processes_destroy(processes);
	made_linux_destroy(made);
}

static const struct vma usual[] = {
	{ BASE - PAGE, BASE, VMA_READ, 0, 0 },
	{ BASE, BASE + PAGE, VMA_READ | VMA_EXEC, 1, 0 },
	{ BASE + PAGE, BASE + 2 * PAGE, VMA_READ | VMA_WRITE, 0, 0 },
	{ LIB - PAGE, LIB, VMA_READ, 0, 0 },
	{ LIB, LIB + PAGE, VMA_READ | VMA_EXEC, 1, 0 },
};
#define N_USUAL 5

static void usual_areas(struct vma *areas)
{
	memcpy(areas, usual, sizeof(usual));
	areas[0].file = areas[1].file = exe;
	areas[3].file = areas[4].file = lib;
}

static void make_process(void)
{
	struct vma areas[N_USUAL];

	usual_areas(areas);
	mm = made_mm(made, areas, N_USUAL);
	task_address = made_task(made, 50, 50, "server", mm, 0);
}

static const struct space *space_at(uint64_t task, uint64_t now_ns)
{
	const struct task *found = tasks_find(tasks, task, now_ns);

	return found ? processes_find_space(processes, found, now_ns) : NULL;
}

/* The name at ADDRESS, or "module+offset". */
static const char *name_at(const struct space *space, uint64_t address)
{
	static char text[64];
	const struct mapping *mapping = NULL;
	struct symtab_entry entry;

	if (!space)
		return "no space";
	if (space_find_symbol(space, address, &entry, &mapping))
		return entry.name;
	if (!mapping)
		return "nothing";
	snprintf(text, sizeof(text), "%s+%#" PRIx64, mapping->image ? mapping->image->name : "?",
		 address - mapping->start + mapping->file_offset);
	return text;
}

#define FUNCTION (PROGRAM_FUNCTION - PROGRAM_TEXT) /* within the mapped page */

static void test_names(void)
{
	const struct space *space;
	const struct mapping *mapping;
	struct memory_root root;
	uint64_t kernel_task;

	begin(MADE_TREE);
	make_process();
	space = space_at(task_address, 0);
	check_string(name_at(space, BASE + FUNCTION), "serve", "a function of the program");
	check_string(name_at(space, LIB + FUNCTION + 5), "helper", "a function of a library");
	check_string(name_at(space, LIB + 8), "libhelp.so+0x1008",
		     "between symbols: the file and an offset");
	check_string(name_at(space, BASE + PAGE), "nothing", "data has no mapping");
	mapping = space ? space_find(space, BASE) : NULL;
	check(mapping && mapping->bias == BASE - PROGRAM_TEXT && mapping->kind == MAPPING_CODE,
	      "the bias of the program's code");
	check(processes_get_root(processes, mm, &root) && root.cr3 == made_mm_root(made, mm).cr3,
	      "the page tables of the process");
	check(!processes_get_root(processes, mm + 8, &root),
	      "no page tables of an mm that is not kept");
	check(processes_has_root(processes, (struct memory_root){ .cr3 = root.cr3 | 0x1007 }),
	      "the pair of page tables with flags is known");
	check(!processes_has_root(processes, (struct memory_root){ .cr3 = root.cr3 + 0x2000 }),
	      "other page tables are not known");
	kernel_task = made_task(made, 2, 2, "kthreadd", 0, 0);
	check(!space_at(kernel_task, 0), "a kernel thread has no space");
	end();
}

/* Makes a process whose own top table has bit 12 of its address as BIT, and reads it. */
static uint64_t make_process_beside(uint64_t bit)
{
	do
		make_process();
	while ((made_mm_root(made, mm).cr3 & CR3_USER_TABLE) != bit);
	space_at(task_address, 0);
	return made_mm_root(made, mm).cr3;
}

/* Whether a vCPU with the page tables CR3 runs the process that has MM_STRUCT. */
static bool is_of(uint64_t mm_struct, uint64_t cr3)
{
	return processes_has_mm_root(processes, mm_struct, (struct memory_root){ .cr3 = cr3 });
}

/* The table beside mm->pgd is the same process's with page-table isolation, else another one's. */
static void test_table_beside(void)
{
	uint64_t lower, lower_mm, upper;

	begin(MADE_TREE);
	lower = make_process_beside(0);
	lower_mm = mm;
	upper = make_process_beside(CR3_USER_TABLE);
	check(is_of(lower_mm, lower) && is_of(lower_mm, lower | 0x1007),
	      "there may be isolation: both tables are the process's");
	check(!is_of(mm, upper & ~CR3_USER_TABLE), "but the table of user mode is the upper one");
	check(is_of(lower_mm, lower | 0x1007), "nothing has shown that there is none");
	check(is_of(mm, upper | 7), "a vCPU has an upper table that is a process's own");
	check(!is_of(lower_mm, lower | 0x1007), "so there is none: the table beside is another's");
	check(!processes_has_root(processes, (struct memory_root){ .cr3 = lower | 0x1007 }) &&
		      !processes_find_past(processes, (struct memory_root){ .cr3 = lower | 0x1007 },
					   50),
	      "for all questions");
	check(is_of(lower_mm, lower | 7), "its own is still its own");
	check(!is_of(0, 0), "no mm has none");
	end();
}

#define VSYSCALL 0xffffffffff600000ULL

/* Linux lets a call of the page fault, so a user part begins at a function's first instruction. */
static void test_vsyscall(void)
{
	static struct {
		struct sample_vcpu vcpu;
		struct sample_stack stack;
		uint64_t words[4];
	} made_sample = { .words = { BASE + FUNCTION, 2, 3, 4 } };
	const struct mapping *mapping;
	const struct space *space;
	struct cursor cursor;

	begin(MADE_TREE);
	make_process();
	space = space_at(task_address, 0);
	check_string(name_at(space, VSYSCALL), "vgettimeofday", "vsyscall: the first function");
	check_string(name_at(space, VSYSCALL + 0x400), "vtime", "vsyscall: the second");
	check_string(name_at(space, VSYSCALL + 0x809), "vgetcpu", "vsyscall: the third");
	check_string(name_at(space, VSYSCALL + 0x40a), "[vsyscall]+0x40a", "vsyscall: no function");
	check_string(name_at(space, VSYSCALL + PAGE), "nothing", "behind the page");
	made_sample.vcpu = (struct sample_vcpu){ .size_bytes = sizeof(made_sample),
						 .user = true,
						 .n_stacks = 1 };
	made_sample.vcpu.regs.rip = VSYSCALL + 0x400;
	made_sample.vcpu.regs.rsp = 0x7ffe00000000;
	made_sample.stack = (struct sample_stack){ .kind = STACK_USER,
						   .address = 0x7ffe00000000,
						   .size_bytes = sizeof(made_sample.words) };
	cursor_init(&cursor, &made_sample.vcpu);
	mapping = space ? space_find(space, VSYSCALL) : NULL;
	check(mapping && mapping->image->tables.computed &&
		      computed_step(mapping->image->tables.computed, mapping->bias, &cursor) ==
			      STEP_CALLER &&
		      cursor_pc(&cursor) == BASE + FUNCTION - 1 &&
		      cursor.regs[REG_SP] == 0x7ffe00000008,
	      "vsyscall: the caller");
	end();
}

static void test_vdso_jit(void)
{
	struct vma areas[N_USUAL + 2];
	struct memory_root root;
	const struct space *space;
	const struct mapping *mapping;
	uint64_t generation, map, inode;
	const char *note;
	const char text[] = "7e0000000100 80 Function:~main\n";

	begin(MADE_TREE);
	areas[0] = usual[1];
	areas[0].file = exe;
	areas[1] = (struct vma){ JIT, JIT + PAGE, VMA_READ | VMA_WRITE | VMA_EXEC, JIT >> 12, 0 };
	areas[2] = (struct vma){ VDSO, VDSO + 3 * PAGE, VMA_READ | VMA_EXEC, 0, 0 };
	mm = made_mm(made, areas, 3);
	made_set(made, mm, MM_VDSO, VDSO);
	program_make(&program, 0, "__vdso_time", 9);
	root = made_mm_root(made, mm);
	made_put(made->memory, root, VDSO, program.bytes, PROGRAM_BYTES);
	task_address = made_task(made, 50, 50, "node", mm, 0);
	space = space_at(task_address, 0);
	check_string(name_at(space, VDSO + PROGRAM_FUNCTION), "__vdso_time",
		     "a function of the vDSO");
	mapping = space ? space_find(space, VDSO) : NULL;
	check(mapping && mapping->image && strcmp(mapping->image->name, "[vdso]") == 0 &&
		      mapping->image->symtab,
	      "the vDSO is read out of the process's memory");
	mapping = space ? space_find(space, JIT) : NULL;
	check(mapping && mapping->kind == MAPPING_ANONYMOUS && !mapping->image,
	      "compiled code has a mapping without an image");
	check(processes_counts(processes).jit == 1 && processes_counts(processes).named_jit == 0,
	      "the process with compiled code is counted");
	note = processes_next_note(processes, NULL);
	check(note && strstr(note, "perf-PID.map"), "the missing map is noted");
	generation = space ? space_generation(space) : 0;

	map = made_file(made, "/tmp/perf-50.map", text, sizeof(text) - 1);
	inode = made_inode_of(made, map);
	space = space_at(task_address, 500 * MS);
	check(space && space_generation(space) == generation,
	      "the map is not looked for again yet");
	space = space_at(task_address, 1 * S);
	check_string(name_at(space, JIT + 0x110), "Function:~main", "the map names compiled code");
	mapping = space ? space_find(space, JIT + 8) : NULL;
	check(mapping && mapping->kind == MAPPING_ANONYMOUS,
	      "an address that the map does not have: [jit]");
	check(space && space_generation(space) != generation, "the space has another generation");
	check(!processes_next_note(processes, NULL), "nothing is missing");
	generation = space_generation(space);
	space = space_at(task_address, 3 * S);
	check(space && space_generation(space) == generation,
	      "the map did not change: the space stays");
	made_set(made, inode, INODE_SIZE, 0);
	space = space_at(task_address, 5 * S);
	check_string(name_at(space, JIT + 0x110), "Function:~main",
		     "a map that was emptied removes no names");
	end();
}

/* A process that has not used its vDSO yet: the kernel's own copy has the bytes. */
static void test_vdso_image(void)
{
	struct vma area = { VDSO, VDSO + 3 * PAGE, VMA_READ | VMA_EXEC, 0, 0 };
	uint64_t image, data;

	begin(MADE_TREE);
	mm = made_mm(made, &area, 1);
	made_set(made, mm, MM_VDSO, VDSO);
	image = made_object(made, 64, 64);
	data = made_object(made, PROGRAM_BYTES, PAGE);
	program_make(&program, 0, "__vdso_time", 9);
	made_put(made->memory, made->guest.root, data, program.bytes, PROGRAM_BYTES);
	made_set(made, image, VDSO_IMAGE_DATA, data);
	made_set(made, image, VDSO_IMAGE_SIZE, PROGRAM_BYTES);
	made_set(made, mm, MM_VDSO_IMAGE, image);
	task_address = made_task(made, 50, 50, "server", mm, 0);
	check_string(name_at(space_at(task_address, 0), VDSO + PROGRAM_FUNCTION), "__vdso_time",
		     "a function of the kernel's copy of the vDSO");
	check_u64(processes_counts(processes).torn, 0, "no process is torn");
	made_set(made, image, VDSO_IMAGE_SIZE, 1ULL << 40);
	made_areas(made, mm, &area, 1);
	check_string(
		name_at(space_at(task_address, 2 * PROCESSES_FRESH_NS), VDSO + PROGRAM_FUNCTION),
		"nothing", "a vDSO of a terabyte is refused");
	check_u64(processes_counts(processes).torn, 1, "the process is tried again");
	end();
}

static void test_containers_pid(void)
{
	struct vma area = { JIT, JIT + PAGE, VMA_READ | VMA_EXEC, 0, 0 };
	const char text[] = "7e0000000100 80 inside\n";
	uint64_t pid;

	begin(MADE_TREE);
	mm = made_mm(made, &area, 1);
	task_address = made_task(made, 5000, 5000, "java", mm, 0);
	pid = made_object(made, 512, 64);
	made_set_u32(made, pid, PID_LEVEL, 1);
	made_put_u32(made->memory, made->guest.root, pid + made_offset(made, PID_NUMBERS) + 16, 7);
	made_set(made, task_address, TASK_THREAD_PID, pid);
	made_file(made, "/tmp/perf-5000.map", "7e0000000100 80 outside\n", 24);
	made_file(made, "/tmp/perf-7.map", text, sizeof(text) - 1);
	check_string(name_at(space_at(task_address, 0), JIT + 0x100), "inside",
		     "the map has the pid of the process's own namespace");
	end();
}

static void test_mmap(enum made_areas kind, uint64_t after)
{
	struct vma areas[N_USUAL];
	const struct space *space;
	uint64_t generation, walks;

	begin(kind);
	make_process();
	space = space_at(task_address, 0);
	generation = space ? space_generation(space) : 0;
	walks = processes_counts(processes).walks;
	check_u64(walks, 1, "the areas are read once");
	for (int i = 1; i <= 50; i++)
		space_at(task_address, i * 11 * MS);
	check_u64(processes_counts(processes).walks, 1,
		  "they are not read again while nothing changes");

	usual_areas(areas); /* the library is elsewhere: counts and sizes are the same */
	areas[3].start += 16 * PAGE, areas[3].end += 16 * PAGE;
	areas[4].start += 16 * PAGE, areas[4].end += 16 * PAGE;
	made_areas(made, mm, areas, N_USUAL);
	space = space_at(task_address, 550 * MS + PROCESSES_FRESH_NS + after);
	check_string(name_at(space, LIB + FUNCTION), "nothing", "the old address of the library");
	check_string(name_at(space, LIB + 16 * PAGE + FUNCTION), "helper",
		     "the new address of the library");
	check(space && space_generation(space) != generation, "the space has another generation");
	generation = space_generation(space);
	areas[2].end += PAGE; /* the data grows */
	made_areas(made, mm, areas, N_USUAL);
	space = space_at(task_address, 800 * MS + 2 * after);
	check(processes_counts(processes).walks > 2 && space &&
		      space_generation(space) == generation,
	      "the data grew: the areas are read, and the space stays");
	check_u64(processes_counts(processes).files.reads, 2, "no file was read again");
	end();
}

/* Another process gets the mm_struct of one that ended, with the same counts, sizes and tree. */
static void test_reuse(void)
{
	struct vma areas[N_USUAL];
	const struct space *space;

	begin(MADE_EARLY);
	make_process();
	made_set(made, mm, MM_START_STACK, 0x7ffc00001000);
	space_at(task_address, 0);
	usual_areas(areas);
	areas[1].file = lib;
	made_areas(made, mm, areas, N_USUAL);
	made_set(made, mm, MM_START_STACK, 0x7ffd00002000);
	space = space_at(task_address, 2 * PROCESSES_FRESH_NS);
	check_string(name_at(space, BASE + FUNCTION), "helper",
		     "the other program is noticed at once");
	made_unmap(made->memory, made->guest.root, mm, 1024);
	memory_refresh(made->guest.memory);
	check(!space_at(task_address, 4 * PROCESSES_FRESH_NS),
	      "the memory of the mm_struct is gone: no space");
	check_u64(processes_counts(processes).kept, 0, "the process is dropped");
	check_u64(processes_counts(processes).unreadable, 1, "the unreadable mm_struct is counted");
	end();
}

/* A program that has just begun maps its library between two samples that are 5 ms apart. */
static void test_young(void)
{
	struct vma areas[N_USUAL];

	begin(MADE_TREE);
	usual_areas(areas);
	mm = made_mm(made, areas, 3);
	task_address = made_task(made, 50, 50, "server", mm, 0);
	check_string(name_at(space_at(task_address, 0), LIB + FUNCTION), "nothing",
		     "there is no library yet");
	space_at(task_address, 5 * MS);
	made_areas(made, mm, areas, N_USUAL);
	made_set(made, mm, MM_MAP_COUNT, N_USUAL);
	check_string(name_at(space_at(task_address, 10 * MS), LIB + FUNCTION), "helper",
		     "the library is there at the next sample");
	for (uint64_t now = 10 * MS; now < 2 * S; now += 5 * MS)
		space_at(task_address, now);
	made_areas(made, mm, areas, 3);
	made_set(made, mm, MM_MAP_COUNT, 3);
	check_string(name_at(space_at(task_address, 2 * S + PROCESSES_FRESH_NS / 10),
			     LIB + FUNCTION),
		     "helper", "an older program is not checked for each sample");
	end();
}

/* The mm_struct gets another program, 2 s after it was seen first, right after it was checked. */
static void begin_other(void)
{
	struct vma areas[N_USUAL];

	begin(MADE_TREE);
	make_process();
	for (uint64_t now = 0; now < 1950 * MS; now += 5 * MS)
		space_at(task_address, now);
	usual_areas(areas);
	areas[1].file = lib;
	made_areas(made, mm, areas, N_USUAL);
	made_set(made, mm, MM_START_STACK, 0x7ffd00002000);
}

static void test_other(void)
{
	begin_other();
	check_string(name_at(space_at(made_task(made, 51, 51, "other", mm, 0), 1950 * MS),
			     BASE + FUNCTION),
		     "helper", "another process's program is there at once");
	end();
	begin_other();
	made_set_u32(made, task_address, TASK_PID, 51);
	made_set_u32(made, task_address, TASK_TGID, 51);
	check_string(name_at(space_at(task_address, 1950 * MS), BASE + FUNCTION), "helper",
		     "so it is if the process has the other one's task_struct, too");
	end();
	begin_other();
	made_set_u32(made, task_address, TASK_SELF_EXEC_ID, 1);
	check_string(name_at(space_at(task_address, 1950 * MS), BASE + FUNCTION), "helper",
		     "after two calls of exec() the mm_struct is the first one again");
	end();
}

static frame_t frame_of(uint64_t file, uint64_t page)
{
	return made_cache_frame(made, made_inode_of(made, file), page);
}

/* Code of a process that ended before it could be read. */
static void test_by_frame(void)
{
	const uint64_t elsewhere = BASE + 0x12345000;
	const struct space *space, *again;
	const struct mapping *mapping;
	frame_t frame;
	uint64_t now_ns;

	begin(MADE_TREE);
	make_process();
	frame = frame_of(exe, 1);
	now_ns = memory_now_ns(made->guest.memory);
	check(!processes_find_by_frame(processes, elsewhere, frame, now_ns),
	      "a frame of a file that no process has mapped yet");
	space_at(task_address, 0);
	now_ns = memory_now_ns(made->guest.memory);
	space = processes_find_by_frame(processes, elsewhere + FUNCTION, frame, now_ns);
	check_string(name_at(space, elsewhere + FUNCTION), "serve",
		     "a function by its frame, wherever the page was mapped");
	check_string(name_at(space, elsewhere + 8), "server+0x1008",
		     "between symbols: the file and an offset");
	mapping = space ? space_find(space, elsewhere) : NULL;
	check(mapping && mapping->start == elsewhere && mapping->end == elsewhere + PAGE,
	      "the space has that page only");
	again = processes_find_by_frame(processes, LIB + FUNCTION, frame_of(lib, 1), now_ns);
	check_string(name_at(again, LIB + FUNCTION), "helper", "a function of another file");
	check_string(name_at(again, elsewhere + FUNCTION), "nothing",
		     "the page that was asked for before is gone");
	check(!processes_find_by_frame(processes, elsewhere, frame_of(exe, 0), now_ns),
	      "a page of a program without code");
	check(!processes_find_by_frame(processes, elsewhere, FRAME(0), now_ns), "frame 0 is none");
	made_cache_entry(made, made_inode_of(made, exe), 1, 0);
	check(!processes_find_by_frame(processes, elsewhere + FUNCTION, frame, now_ns),
	      "a frame that may have another page now");
	end();
}

static void test_shared(void)
{
	struct vma areas[N_USUAL];
	uint64_t other_mm, other;
	const struct space *a, *b;

	begin(MADE_TREE);
	make_process();
	usual_areas(areas);
	areas[1].start += 0x100000, areas[1].end += 0x100000;
	areas[0].start += 0x100000, areas[0].end += 0x100000;
	areas[2].start += 0x100000, areas[2].end += 0x100000;
	other_mm = made_mm(made, areas, N_USUAL);
	other = made_task(made, 51, 51, "server", other_mm, 0);
	a = space_at(task_address, 0);
	b = space_at(other, 0);
	check(a && b && space_find(a, BASE)->image == space_find(b, BASE + 0x100000)->image,
	      "two processes share the image of a file");
	check_u64(processes_counts(processes).files.reads, 2, "each of the two files is read once");
	end();
}

static void test_retry(void)
{
	uint64_t inode, memory, folio, generation;
	const struct space *space;
	const char *note;

	begin(MADE_TREE);
	make_process();
	inode = made_inode_of(made, lib);
	made_cache_entry(made, inode, 2, 0);
	space = space_at(task_address, 0);
	check_string(name_at(space, LIB + FUNCTION), "libhelp.so+0x1100",
		     "the page with the symbols is missing");
	note = processes_next_note(processes, NULL);
	check(note && strstr(note, "--root"), "the missing page is noted");
	generation = space ? space_generation(space) : 0;
	folio = made_folio(made, 2, 1, &memory);
	program_make(&program, 0, "helper", 2);
	made_put(made->memory, made->guest.root, memory, program.bytes + 0x2000, 0x1000);
	made_cache_entry(made, inode, 2, folio);
	processes_poll(processes, 999 * MS);
	check_string(name_at(space, LIB + FUNCTION), "libhelp.so+0x1100",
		     "the file is not read before its time");
	processes_poll(processes, 1 * S);
	check_string(name_at(space, LIB + FUNCTION), "helper",
		     "after a second the file is read again");
	check(space && space_generation(space) != generation, "the space has another generation");
	check_u64(processes_counts(processes).retries, 1, "one retry");
	processes_poll(processes, 100 * S);
	check_u64(processes_counts(processes).retries, 1, "a whole file is not retried");
	end();

	/* A page that never comes: few retries, and none for a process that nobody asks for. */
	begin(MADE_TREE);
	make_process();
	made_cache_entry(made, made_inode_of(made, lib), 2, 0);
	space_at(task_address, 0);
	for (uint64_t now = 0; now < 3600 * S; now += 250 * MS)
		processes_poll(processes, now);
	check(processes_counts(processes).retries <= 6, "an hour unused: %" PRIu64 " retries",
	      processes_counts(processes).retries);
	for (uint64_t now = 3600 * S; now < 7200 * S; now += 250 * MS) {
		if (now % S == 0)
			space_at(task_address, now);
		processes_poll(processes, now);
	}
	check(processes_counts(processes).retries <= 6 + 60 + 6, "an hour in use: %" PRIu64,
	      processes_counts(processes).retries);
	end();
}

/* Two processes map a file that was incomplete: one retry fills both spaces. */
static void test_retry_shared(void)
{
	uint64_t inode, memory, folio, other;
	struct vma areas[N_USUAL];
	const struct space *a, *b;

	begin(MADE_TREE);
	make_process();
	usual_areas(areas);
	other = made_task(made, 51, 51, "other", made_mm(made, areas, N_USUAL), 0);
	inode = made_inode_of(made, lib);
	made_cache_entry(made, inode, 2, 0);
	a = space_at(task_address, 0);
	b = space_at(other, 0);
	folio = made_folio(made, 2, 1, &memory);
	made_put(made->memory, made->guest.root, memory, program.bytes + 0x2000, 0x1000);
	made_cache_entry(made, inode, 2, folio);
	processes_poll(processes, 1 * S);
	check_string(name_at(a, LIB + FUNCTION), "helper", "the space of the first process");
	check_string(name_at(b, LIB + FUNCTION), "helper", "the space of the second process");
	check_u64(processes_counts(processes).files.retries, 1, "the file is read once");
	end();
}

/*
 * One file is read in each walk: a process with many files must not keep all other samples waiting.
 */
static void test_put_off(void)
{
	const struct processes_settings settings = { .root_fd = -1, .walk_bytes = 1 };
	const struct space *space;

	begin(MADE_TREE);
	processes_destroy(processes);
	must(processes_create(&made->guest, &settings, &processes));
	make_process();
	space = space_at(task_address, 0);
	check_string(name_at(space, BASE + FUNCTION), "serve", "the first file is read");
	check_string(name_at(space, LIB + FUNCTION), "nothing", "the second file is not");
	check(processes_counts(processes).files.put_off == 1 &&
		      processes_counts(processes).files.reads == 1,
	      "the second file was put off");
	processes_poll(processes, PROCESSES_RETRY_NS);
	check_string(name_at(space, LIB + FUNCTION), "helper",
		     "the next poll reads the second file");
	check_u64(processes_counts(processes).torn, 0, "no process is torn");
	end();
}

static void test_torn(void)
{
	const struct space *space;

	begin(MADE_TREE);
	make_process();
	made_set_u32(made, mm, MM_MAP_COUNT, N_USUAL + 1);
	space = space_at(task_address, 0);
	check_string(name_at(space, BASE + FUNCTION), "serve", "the areas that could be read");
	check_u64(processes_counts(processes).torn, 1, "the process is torn");
	made_set_u32(made, mm, MM_MAP_COUNT, N_USUAL);
	processes_poll(processes, PROCESSES_RETRY_NS);
	check_u64(processes_counts(processes).torn, 0, "the areas are read again");
	check_u64(processes_counts(processes).walks, 2, "one more walk");
	end();
}

/* When the number of areas is read, the guest unmaps an area. */
static void on_use(void *context, frame_t frame, const void *page, size_t offset, size_t size_bytes)
{
	uint64_t count = mm + made_offset(made, MM_MAP_COUNT);

	(void)context, (void)frame, (void)page;
	if (offset == (count & GUEST_PAGE_MASK) && size_bytes == sizeof(uint32_t))
		made_put_u32(made->memory, made->guest.root, count, N_USUAL);
}

static void test_changing(void)
{
	const struct memory_watcher watcher = { .use = on_use };

	begin(MADE_TREE);
	make_process();
	made_set_u32(made, mm, MM_MAP_COUNT, N_USUAL + 1);
	memory_set_watcher(made->guest.memory, &watcher);
	check_string(name_at(space_at(task_address, 0), LIB + FUNCTION), "helper",
		     "areas that changed during the walk");
	check_u64(processes_counts(processes).torn, 0, "they are walked again at once");
	memory_set_watcher(made->guest.memory, &(struct memory_watcher){ 0 });
	end();
}

static void test_bound(void)
{
	struct vma areas[N_USUAL];
	uint64_t first = 0;

	begin(MADE_TREE);
	usual_areas(areas);
	for (uint32_t i = 0; i < PROCESSES_MAX + 200; i++) {
		uint64_t task =
			made_task(made, 100 + i, 100 + i, "bomb", made_mm(made, areas, N_USUAL), 0);

		first = first ? first : task;
		if (!space_at(task, i * MS))
			check(false, "process %u", i);
	}
	check_u64(processes_counts(processes).kept, PROCESSES_MAX, "as many processes as are kept");
	check_u64(processes_counts(processes).evicted, 200, "the other processes made room");
	check_u64(processes_counts(processes).files.kept, 2, "two files are kept for all of them");
	check_string(name_at(space_at(first, 5000 * MS), BASE + FUNCTION), "serve",
		     "a process that made room is read again");
	end();
}

/* A process with more areas than are kept of one. */
static void test_areas_bound(void)
{
	size_t n = PROCESS_MAX_AREAS + 100;
	struct vma *areas = calloc(n, sizeof(*areas));
	const struct space *space;

	begin(MADE_LIST);
	for (size_t i = 0; i < n; i++)
		areas[i] = (struct vma){ JIT + 2 * i * PAGE, JIT + (2 * i + 1) * PAGE, VMA_EXEC, 0,
					 0 };
	mm = made_mm(made, areas, n);
	task_address = made_task(made, 9, 9, "many", mm, 0);
	space = space_at(task_address, 0);
	check(space && space_find(space, JIT) && !space_find(space, areas[n - 1].start),
	      "the first areas are kept");
	check_u64(processes_counts(processes).left_out, 100, "the areas left out are counted");
	free(areas);
	end();
}

/*
 * One budget for everything that is kept: a process that nobody asked for in a minute makes way,
 * one that is in use does not, and areas without budget are counted.
 */
static void test_budget(void)
{
	const struct processes_settings settings = { .root_fd = -1, .budget_bytes = 60000 };
	const uint64_t later = PROCESSES_IDLE_NS + 2 * S;
	struct vma areas[200];
	const struct space *space;
	uint64_t other, third;

	begin(MADE_TREE);
	processes_destroy(processes);
	must(processes_create(&made->guest, &settings, &processes));
	for (size_t i = 0; i < 200; i++)
		areas[i] = (struct vma){ JIT + 2 * i * PAGE, JIT + (2 * i + 1) * PAGE, VMA_EXEC, 0,
					 0 };
	mm = made_mm(made, areas, 200);
	task_address = made_task(made, 50, 50, "one", mm, 0);
	other = made_task(made, 51, 51, "two", made_mm(made, areas, 200), 0);
	space = space_at(task_address, 0);
	check(space && space_find(space, JIT), "the first process has its areas");
	check_u64(processes_counts(processes).room_bytes, 200 * PROCESS_AREA_BYTES,
		  "it exceeds the budget");
	space = space_at(other, S);
	check(space && !space_find(space, JIT),
	      "the second process has no areas while the first is in use");
	check_u64(processes_counts(processes).left_out, 200, "the areas are counted");
	check(processes_counts(processes).torn == 1, "the second process is tried again");
	space = space_at(other, later);
	processes_poll(processes, later);
	check(space && space_find(space, JIT),
	      "the first process is idle: the second has its areas");
	check(processes_counts(processes).made_room == 1 && processes_counts(processes).kept == 1,
	      "the first process is dropped");
	check_u64(processes_counts(processes).room_bytes, 200 * PROCESS_AREA_BYTES,
		  "its budget is free");
	third = made_task(made, 52, 52, "node", made_mm(made, areas, 1), 0);
	space = space_at(third, later + S);
	check(space && !space_find(space, JIT), "a third process has no areas");
	check_u64(processes_counts(processes).left_out, 201, "the third process's area is counted");
	end();
}

/* A program of x32 is not compiled code: no map could name it. */
static void test_elf32(void)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)program.bytes;
	const struct space *space;
	const char *note;
	uint64_t file;
	struct vma area;

	begin(MADE_TREE);
	program_make(&program, 0, "serve", 7);
	header->e_ident[EI_CLASS] = ELFCLASS32;
	header->e_machine = EM_X86_64;
	file = made_file(made, "/bin/old", program.bytes, PROGRAM_BYTES);
	area = (struct vma){ 0x8048000, 0x8048000 + PAGE, VMA_READ | VMA_EXEC, 1, file };
	mm = made_mm(made, &area, 1);
	task_address = made_task(made, 50, 50, "old", mm, 0);
	space = space_at(task_address, 0);
	check_string(name_at(space, 0x8048000 + 0x10), "old+0x1010", "the file and an offset");
	check(processes_counts(processes).jit == 0 && processes_counts(processes).files.elf32 == 1,
	      "a program of x32, and no compiled code");
	note = processes_next_note(processes, NULL);
	check(note && strstr(note, "x32") && !processes_next_note(processes, note),
	      "the only note: %s", note ? note : "no note");
	end();
}

int main(void)
{
	test_elf32();
	test_budget();
	test_names();
	test_table_beside();
	test_vsyscall();
	test_vdso_jit();
	test_vdso_image();
	test_containers_pid();
	test_mmap(MADE_TREE, 0);
	test_mmap(MADE_EARLY, PROCESSES_WALK_NS);
	test_mmap(MADE_LIST, PROCESSES_WALK_NS);
	test_reuse();
	test_young();
	test_other();
	test_by_frame();
	test_shared();
	test_retry();
	test_retry_shared();
	test_put_off();
	test_torn();
	test_changing();
	test_bound();
	test_areas_bound();
	return tap_done();
}
