/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of all kinds of code in the spaces of processes: programs, libraries, vsyscall, vDSO, compiled
 * code, and code of a process that has ended.
 */
#include "config.h"

#include "tests/linux/process/process_fixture.h"
#include "unwind/computed.h"

static void test_names(struct process_fixture *fixture)
{
	const struct space *space;
	const struct mapping *mapping;
	struct memory_root root;
	uint64_t kernel_task;

	begin(fixture, MADE_TREE);
	make_process(fixture);
	space = space_at(fixture, fixture->task_address, 0);
	check_string(name_at(space, BASE + FUNCTION), "serve",
		     "a function of the program has its name");
	check_string(name_at(space, LIB + FUNCTION + 5), "helper",
		     "a function of a library has its name");
	check_string(name_at(space, LIB + 8), "libhelp.so+0x1008",
		     "an address between symbols has the file and an offset");
	check_string(name_at(space, BASE + PAGE), "nothing", "data has no mapping");
	mapping = space ? space_find(space, BASE) : NULL;
	check(mapping && mapping->bias == BASE - PROGRAM_TEXT && mapping->kind == MAPPING_CODE,
	      "the bias of the program's code");
	check(processes_get_root(fixture->processes, fixture->mm, &root) &&
		      root.cr3 == made_mm_root(fixture->made, fixture->mm).cr3,
	      "the page tables of a process are known");
	check(!processes_get_root(fixture->processes, fixture->mm + 8, &root),
	      "an mm that is not kept has no page tables");
	check(processes_has_root(fixture->processes,
				 (struct memory_root){ .cr3 = root.cr3 | 0x1007 }),
	      "the pair of page tables with flags is known");
	check(!processes_has_root(fixture->processes,
				  (struct memory_root){ .cr3 = root.cr3 + 0x2000 }),
	      "other page tables are not known");
	kernel_task = made_task(fixture->made, 2, 2, "kthreadd", 0, 0);
	check(!space_at(fixture, kernel_task, 0), "a kernel thread has no space");
	end(fixture);
}

#define VSYSCALL 0xffffffffff600000ULL

/* Linux lets a call of the page fault, so a user part begins at a function's first instruction. */
static void test_vsyscall(struct process_fixture *fixture)
{
	static struct {
		struct sample_vcpu vcpu;
		struct sample_stack stack;
		uint64_t words[4];
	} made_sample = { .words = { BASE + FUNCTION, 2, 3, 4 } };
	const struct mapping *mapping;
	const struct space *space;
	struct cursor cursor;

	begin(fixture, MADE_TREE);
	make_process(fixture);
	space = space_at(fixture, fixture->task_address, 0);
	check_string(name_at(space, VSYSCALL), "vgettimeofday",
		     "vsyscall: the first function has its name");
	check_string(name_at(space, VSYSCALL + 0x400), "vtime",
		     "vsyscall: the second function has its name");
	check_string(name_at(space, VSYSCALL + 0x809), "vgetcpu",
		     "vsyscall: the third function has its name");
	check_string(name_at(space, VSYSCALL + 0x40a), "[vsyscall]+0x40a",
		     "vsyscall: an address after a function has an offset");
	check_string(name_at(space, VSYSCALL + PAGE), "nothing",
		     "vsyscall: nothing is after the page");
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
	      "vsyscall: the caller is found");
	end(fixture);
}

static void test_vdso_jit(struct process_fixture *fixture)
{
	struct vma areas[N_USUAL + 2];
	struct memory_root root;
	const struct space *space;
	const struct mapping *mapping;
	uint64_t generation, map, inode;
	const char *note;
	const char text[] = "7e0000000100 80 Function:~main\n";

	begin(fixture, MADE_TREE);
	areas[0] = usual[1];
	areas[0].file = fixture->exe;
	areas[1] = (struct vma){ JIT, JIT + PAGE, VMA_READ | VMA_WRITE | VMA_EXEC, JIT >> 12, 0 };
	areas[2] = (struct vma){ VDSO, VDSO + 3 * PAGE, VMA_READ | VMA_EXEC, 0, 0 };
	fixture->mm = made_mm(fixture->made, areas, 3);
	made_set(fixture->made, fixture->mm, MM_VDSO, VDSO);
	program_make(&fixture->program, 0, "__vdso_time", 9);
	root = made_mm_root(fixture->made, fixture->mm);
	made_put(fixture->made->memory, root, VDSO, fixture->program.bytes, PROGRAM_BYTES);
	fixture->task_address = made_task(fixture->made, 50, 50, "node", fixture->mm, 0);
	space = space_at(fixture, fixture->task_address, 0);
	check_string(name_at(space, VDSO + PROGRAM_FUNCTION), "__vdso_time",
		     "a function of the vDSO has its name");
	mapping = space ? space_find(space, VDSO) : NULL;
	check(mapping && mapping->image && strcmp(mapping->image->name, "[vdso]") == 0 &&
		      mapping->image->symtab,
	      "the vDSO is read from the process's memory");
	mapping = space ? space_find(space, JIT) : NULL;
	check(mapping && mapping->kind == MAPPING_ANONYMOUS && !mapping->image,
	      "compiled code has a mapping without an image");
	check(processes_counts(fixture->processes).jit == 1 &&
		      processes_counts(fixture->processes).named_jit == 0,
	      "the process with compiled code is counted");
	note = processes_next_note(fixture->processes, NULL);
	check(note && strstr(note, "perf-PID.map"), "a missing map gives a note");
	generation = space ? space_generation(space) : 0;

	map = made_file(fixture->made, "/tmp/perf-50.map", text, sizeof(text) - 1);
	inode = made_inode_of(fixture->made, map);
	space = space_at(fixture, fixture->task_address, 500 * MS);
	check(space && space_generation(space) == generation,
	      "a missing map is not searched again too soon");
	space = space_at(fixture, fixture->task_address, 1 * S);
	check_string(name_at(space, JIT + 0x110), "Function:~main", "a map names compiled code");
	mapping = space ? space_find(space, JIT + 8) : NULL;
	check(mapping && mapping->kind == MAPPING_ANONYMOUS,
	      "an address that the map lacks belongs to [jit]");
	check(space && space_generation(space) != generation,
	      "a new map changes the space's generation");
	check(!processes_next_note(fixture->processes, NULL),
	      "no note is given if nothing is missing");
	generation = space_generation(space);
	space = space_at(fixture, fixture->task_address, 3 * S);
	check(space && space_generation(space) == generation,
	      "an unchanged map leaves the space as it is");
	made_set(fixture->made, inode, INODE_SIZE, 0);
	space = space_at(fixture, fixture->task_address, 5 * S);
	check_string(name_at(space, JIT + 0x110), "Function:~main",
		     "a map that was emptied removes no names");
	end(fixture);
}

/* A process that has not used its vDSO yet: the kernel's own copy has the bytes. */
static void test_vdso_image(struct process_fixture *fixture)
{
	struct vma area = { VDSO, VDSO + 3 * PAGE, VMA_READ | VMA_EXEC, 0, 0 };
	uint64_t image, data;

	begin(fixture, MADE_TREE);
	fixture->mm = made_mm(fixture->made, &area, 1);
	made_set(fixture->made, fixture->mm, MM_VDSO, VDSO);
	image = made_object(fixture->made, 64, 64);
	data = made_object(fixture->made, PROGRAM_BYTES, PAGE);
	program_make(&fixture->program, 0, "__vdso_time", 9);
	made_put(fixture->made->memory, fixture->made->guest.root, data, fixture->program.bytes,
		 PROGRAM_BYTES);
	made_set(fixture->made, image, VDSO_IMAGE_DATA, data);
	made_set(fixture->made, image, VDSO_IMAGE_SIZE, PROGRAM_BYTES);
	made_set(fixture->made, fixture->mm, MM_VDSO_IMAGE, image);
	fixture->task_address = made_task(fixture->made, 50, 50, "server", fixture->mm, 0);
	check_string(name_at(space_at(fixture, fixture->task_address, 0), VDSO + PROGRAM_FUNCTION),
		     "__vdso_time", "a function of the kernel's copy of the vDSO has its name");
	check_u64(processes_counts(fixture->processes).torn, 0,
		  "number of torn processes with the kernel's copy");
	made_set(fixture->made, image, VDSO_IMAGE_SIZE, 1ULL << 40);
	made_areas(fixture->made, fixture->mm, &area, 1);
	check_string(name_at(space_at(fixture, fixture->task_address, 2 * PROCESSES_FRESH_NS),
			     VDSO + PROGRAM_FUNCTION),
		     "nothing", "a vDSO of a terabyte is refused");
	check_u64(processes_counts(fixture->processes).torn, 1,
		  "number of torn processes with a refused vDSO");
	end(fixture);
}

static void test_containers_pid(struct process_fixture *fixture)
{
	struct vma area = { JIT, JIT + PAGE, VMA_READ | VMA_EXEC, 0, 0 };
	const char text[] = "7e0000000100 80 inside\n";
	uint64_t pid;

	begin(fixture, MADE_TREE);
	fixture->mm = made_mm(fixture->made, &area, 1);
	fixture->task_address = made_task(fixture->made, 5000, 5000, "java", fixture->mm, 0);
	pid = made_object(fixture->made, 512, 64);
	made_set_u32(fixture->made, pid, PID_LEVEL, 1);
	made_put_u32(fixture->made->memory, fixture->made->guest.root,
		     pid + made_offset(fixture->made, PID_NUMBERS) + 16, 7);
	made_set(fixture->made, fixture->task_address, TASK_THREAD_PID, pid);
	made_file(fixture->made, "/tmp/perf-5000.map", "7e0000000100 80 outside\n", 24);
	made_file(fixture->made, "/tmp/perf-7.map", text, sizeof(text) - 1);
	check_string(name_at(space_at(fixture, fixture->task_address, 0), JIT + 0x100), "inside",
		     "a map with the pid of the process's own namespace is used");
	end(fixture);
}

static frame_t frame_of(struct process_fixture *fixture, uint64_t file, uint64_t page)
{
	return made_cache_frame(fixture->made, made_inode_of(fixture->made, file), page);
}

/* Code of a process that ended before it could be read. */
static void test_by_frame(struct process_fixture *fixture)
{
	const uint64_t elsewhere = BASE + 0x12345000;
	const struct space *space, *again;
	const struct mapping *mapping;
	frame_t frame;
	uint64_t now_ns;

	begin(fixture, MADE_TREE);
	make_process(fixture);
	frame = frame_of(fixture, fixture->exe, 1);
	now_ns = memory_now_ns(fixture->made->guest.memory);
	check(!processes_find_by_frame(fixture->processes, elsewhere, frame, now_ns),
	      "a frame of a file that no process has mapped yet is unknown");
	space_at(fixture, fixture->task_address, 0);
	now_ns = memory_now_ns(fixture->made->guest.memory);
	space = processes_find_by_frame(fixture->processes, elsewhere + FUNCTION, frame, now_ns);
	check_string(name_at(space, elsewhere + FUNCTION), "serve",
		     "a function is found by its frame, wherever the page was mapped");
	check_string(name_at(space, elsewhere + 8), "server+0x1008",
		     "an address between symbols, found by its frame, has the file and an offset");
	mapping = space ? space_find(space, elsewhere) : NULL;
	check(mapping && mapping->start == elsewhere && mapping->end == elsewhere + 2 * PAGE,
	      "a space found by a frame has the page's segment");
	check_string(name_at(space, elsewhere + PAGE + 8), "server+0x2008",
		     "a caller in another page of the segment is found");
	check_string(name_at(space, elsewhere + 2 * PAGE), "nothing",
		     "an address after the segment is not found");
	again = processes_find_by_frame(fixture->processes, LIB + FUNCTION,
					frame_of(fixture, fixture->lib, 1), now_ns);
	check_string(name_at(again, LIB + FUNCTION), "helper",
		     "a function of another file is found by its frame");
	check_string(name_at(again, elsewhere + FUNCTION), "nothing",
		     "the space loses the page of the previous request");
	check(!processes_find_by_frame(fixture->processes, elsewhere,
				       frame_of(fixture, fixture->exe, 0), now_ns),
	      "a page of a program without code is unknown");
	check(!processes_find_by_frame(fixture->processes, elsewhere, FRAME(0), now_ns),
	      "frame 0 is unknown");
	made_cache_entry(fixture->made, made_inode_of(fixture->made, fixture->exe), 1, 0);
	check(!processes_find_by_frame(fixture->processes, elsewhere + FUNCTION, frame, now_ns),
	      "a frame that may have another page now is unknown");
	end(fixture);
}

/* A program of x32 is not compiled code: no map could name it. */
static void test_elf32(struct process_fixture *fixture)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)fixture->program.bytes;
	const struct space *space;
	const char *note;
	uint64_t file;
	struct vma area;

	begin(fixture, MADE_TREE);
	program_make(&fixture->program, 0, "serve", 7);
	header->e_ident[EI_CLASS] = ELFCLASS32;
	header->e_machine = EM_X86_64;
	file = made_file(fixture->made, "/bin/old", fixture->program.bytes, PROGRAM_BYTES);
	area = (struct vma){ 0x8048000, 0x8048000 + PAGE, VMA_READ | VMA_EXEC, 1, file };
	fixture->mm = made_mm(fixture->made, &area, 1);
	fixture->task_address = made_task(fixture->made, 50, 50, "old", fixture->mm, 0);
	space = space_at(fixture, fixture->task_address, 0);
	check_string(name_at(space, 0x8048000 + 0x10), "old+0x1010",
		     "a program of x32 has its file and an offset as name");
	check(processes_counts(fixture->processes).jit == 0 &&
		      processes_counts(fixture->processes).files.elf32 == 1,
	      "a program of x32 is counted, and not as compiled code");
	note = processes_next_note(fixture->processes, NULL);
	check(note && strstr(note, "x32") && !processes_next_note(fixture->processes, note),
	      "the only note: %s", note ? note : "no note");
	end(fixture);
}

int main(void)
{
	struct process_fixture fixture = { 0 };

	test_elf32(&fixture);
	test_names(&fixture);
	test_vsyscall(&fixture);
	test_vdso_jit(&fixture);
	test_vdso_image(&fixture);
	test_containers_pid(&fixture);
	test_by_frame(&fixture);
	return tap_done();
}
