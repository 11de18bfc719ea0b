/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that map, call exec(), end, or get another process's mm_struct or page tables; and files that
 * processes share.
 */
#include "config.h"

#include "tests/linux/process/process_fixture.h"

/* Makes a process whose own top table has bit 12 of its address as BIT, and reads it. */
static uint64_t make_process_beside(struct process_fixture *fixture, uint64_t bit)
{
	do
		make_process(fixture);
	while ((made_mm_root(fixture->made, fixture->mm).cr3 & CR3_USER_TABLE) != bit);
	space_at(fixture, fixture->task_address, 0);
	return made_mm_root(fixture->made, fixture->mm).cr3;
}

/* Whether a vCPU with the page tables CR3 runs the process that has MM_STRUCT. */
static bool is_of(struct process_fixture *fixture, uint64_t mm_struct, uint64_t cr3)
{
	return processes_has_mm_root(fixture->processes, mm_struct,
				     (struct memory_root){ .cr3 = cr3 });
}

/* The table beside mm->pgd is the same process's with page-table isolation, else another one's. */
static void test_table_beside(struct process_fixture *fixture)
{
	uint64_t lower, lower_mm, upper;

	begin(fixture, MADE_TREE);
	lower = make_process_beside(fixture, 0);
	lower_mm = fixture->mm;
	upper = make_process_beside(fixture, CR3_USER_TABLE);
	check(is_of(fixture, lower_mm, lower) && is_of(fixture, lower_mm, lower | 0x1007),
	      "if there may be isolation, both tables are the process's");
	check(!is_of(fixture, fixture->mm, upper & ~CR3_USER_TABLE),
	      "the table below an upper one is not the process's");
	check(is_of(fixture, lower_mm, lower | 0x1007),
	      "a lower table proves nothing about isolation");
	check(is_of(fixture, fixture->mm, upper | 7),
	      "a vCPU that uses an upper table as its process's own proves that there is no isolation");
	check(!is_of(fixture, lower_mm, lower | 0x1007),
	      "without isolation the table beside is another process's");
	check(!processes_has_root(fixture->processes,
				  (struct memory_root){ .cr3 = lower | 0x1007 }) &&
		      !processes_find_past(fixture->processes,
					   (struct memory_root){ .cr3 = lower | 0x1007 }, 50),
	      "without isolation no search finds a process by the table beside");
	check(is_of(fixture, lower_mm, lower | 7),
	      "without isolation a process's own table is its own");
	check(!is_of(fixture, 0, 0), "no mm has no table");
	end(fixture);
}

static void test_mmap(struct process_fixture *fixture, enum made_areas kind, uint64_t after)
{
	struct vma areas[N_USUAL];
	const struct space *space;
	uint64_t generation, walks;

	begin(fixture, kind);
	make_process(fixture);
	space = space_at(fixture, fixture->task_address, 0);
	generation = space ? space_generation(space) : 0;
	walks = processes_counts(fixture->processes).walks;
	check_u64(walks, 1, "number of walks after the first sample");
	for (int i = 1; i <= 50; i++)
		space_at(fixture, fixture->task_address, i * 11 * MS);
	check_u64(processes_counts(fixture->processes).walks, 1,
		  "number of walks while nothing changes");

	usual_areas(fixture, areas); /* the library is elsewhere: counts and sizes are the same */
	areas[3].start += 16 * PAGE, areas[3].end += 16 * PAGE;
	areas[4].start += 16 * PAGE, areas[4].end += 16 * PAGE;
	made_areas(fixture->made, fixture->mm, areas, N_USUAL);
	space = space_at(fixture, fixture->task_address, 550 * MS + PROCESSES_FRESH_NS + after);
	check_string(name_at(space, LIB + FUNCTION), "nothing",
		     "the library's old address has no name");
	check_string(name_at(space, LIB + 16 * PAGE + FUNCTION), "helper",
		     "the library's new address has its name");
	check(space && space_generation(space) != generation,
	      "a library that moved changes the space's generation");
	generation = space_generation(space);
	areas[2].end += PAGE; /* the data grows */
	made_areas(fixture->made, fixture->mm, areas, N_USUAL);
	space = space_at(fixture, fixture->task_address, 800 * MS + 2 * after);
	check(processes_counts(fixture->processes).walks > 2 && space &&
		      space_generation(space) == generation,
	      "data that grew is walked, and the space stays");
	check_u64(processes_counts(fixture->processes).files.reads, 2,
		  "number of file reads after the areas changed");
	end(fixture);
}

/* Another process gets the mm_struct of one that ended, with the same counts, sizes and tree. */
static void test_reuse(struct process_fixture *fixture)
{
	struct vma areas[N_USUAL];
	const struct space *space;

	begin(fixture, MADE_EARLY);
	make_process(fixture);
	made_set(fixture->made, fixture->mm, MM_START_STACK, 0x7ffc00001000);
	space_at(fixture, fixture->task_address, 0);
	usual_areas(fixture, areas);
	areas[1].file = fixture->lib;
	made_areas(fixture->made, fixture->mm, areas, N_USUAL);
	made_set(fixture->made, fixture->mm, MM_START_STACK, 0x7ffd00002000);
	space = space_at(fixture, fixture->task_address, 2 * PROCESSES_FRESH_NS);
	check_string(name_at(space, BASE + FUNCTION), "helper",
		     "a replaced program is noticed at once");
	made_unmap(fixture->made->memory, fixture->made->guest.root, fixture->mm, 1024);
	memory_refresh(fixture->made->guest.memory);
	check(!space_at(fixture, fixture->task_address, 4 * PROCESSES_FRESH_NS),
	      "an mm_struct whose memory is gone has no space");
	check_u64(processes_counts(fixture->processes).kept, 0,
		  "number of processes after one became unreadable");
	check_u64(processes_counts(fixture->processes).unreadable, 1,
		  "the unreadable mm_struct is counted");
	end(fixture);
}

/* A program that has just begun maps its library between two samples that are 5 ms apart. */
static void test_young(struct process_fixture *fixture)
{
	struct vma areas[N_USUAL];

	begin(fixture, MADE_TREE);
	usual_areas(fixture, areas);
	fixture->mm = made_mm(fixture->made, areas, 3);
	fixture->task_address = made_task(fixture->made, 50, 50, "server", fixture->mm, 0);
	check_string(name_at(space_at(fixture, fixture->task_address, 0), LIB + FUNCTION),
		     "nothing", "a young program has no library yet");
	space_at(fixture, fixture->task_address, 5 * MS);
	made_areas(fixture->made, fixture->mm, areas, N_USUAL);
	made_set(fixture->made, fixture->mm, MM_MAP_COUNT, N_USUAL);
	check_string(name_at(space_at(fixture, fixture->task_address, 10 * MS), LIB + FUNCTION),
		     "helper", "a young program has its library at the next sample");
	for (uint64_t now = 10 * MS; now < 2 * S; now += 5 * MS)
		space_at(fixture, fixture->task_address, now);
	made_areas(fixture->made, fixture->mm, areas, 3);
	made_set(fixture->made, fixture->mm, MM_MAP_COUNT, 3);
	check_string(
		name_at(space_at(fixture, fixture->task_address, 2 * S + PROCESSES_FRESH_NS / 10),
			LIB + FUNCTION),
		"helper", "an older program is not checked for each sample");
	end(fixture);
}

/* The mm_struct gets another program, 2 s after it was seen first, right after it was checked. */
static void begin_other(struct process_fixture *fixture)
{
	struct vma areas[N_USUAL];

	begin(fixture, MADE_TREE);
	make_process(fixture);
	for (uint64_t now = 0; now < 1950 * MS; now += 5 * MS)
		space_at(fixture, fixture->task_address, now);
	usual_areas(fixture, areas);
	areas[1].file = fixture->lib;
	made_areas(fixture->made, fixture->mm, areas, N_USUAL);
	made_set(fixture->made, fixture->mm, MM_START_STACK, 0x7ffd00002000);
}

static void test_other(struct process_fixture *fixture)
{
	begin_other(fixture);
	check_string(
		name_at(space_at(fixture, made_task(fixture->made, 51, 51, "other", fixture->mm, 0),
				 1950 * MS),
			BASE + FUNCTION),
		"helper", "another process in the mm_struct has its program at once");
	end(fixture);
	begin_other(fixture);
	made_set_u32(fixture->made, fixture->task_address, TASK_PID, 51);
	made_set_u32(fixture->made, fixture->task_address, TASK_TGID, 51);
	check_string(name_at(space_at(fixture, fixture->task_address, 1950 * MS), BASE + FUNCTION),
		     "helper", "another process in the same task_struct has its program at once");
	end(fixture);
	begin_other(fixture);
	made_set_u32(fixture->made, fixture->task_address, TASK_SELF_EXEC_ID, 1);
	check_string(name_at(space_at(fixture, fixture->task_address, 1950 * MS), BASE + FUNCTION),
		     "helper", "a task that called exec() twice has its program at once");
	end(fixture);
}

static void test_shared(struct process_fixture *fixture)
{
	struct vma areas[N_USUAL];
	uint64_t other_mm, other;
	const struct space *a, *b;

	begin(fixture, MADE_TREE);
	make_process(fixture);
	usual_areas(fixture, areas);
	areas[1].start += 0x100000, areas[1].end += 0x100000;
	areas[0].start += 0x100000, areas[0].end += 0x100000;
	areas[2].start += 0x100000, areas[2].end += 0x100000;
	other_mm = made_mm(fixture->made, areas, N_USUAL);
	other = made_task(fixture->made, 51, 51, "server", other_mm, 0);
	a = space_at(fixture, fixture->task_address, 0);
	b = space_at(fixture, other, 0);
	check(a && b && space_find(a, BASE)->image == space_find(b, BASE + 0x100000)->image,
	      "two processes share the image of a file");
	check_u64(processes_counts(fixture->processes).files.reads, 2,
		  "number of file reads for two processes");
	end(fixture);
}

int main(void)
{
	struct process_fixture fixture = { 0 };

	test_table_beside(&fixture);
	test_mmap(&fixture, MADE_TREE, 0);
	test_mmap(&fixture, MADE_EARLY, PROCESSES_WALK_NS);
	test_mmap(&fixture, MADE_LIST, PROCESSES_WALK_NS);
	test_reuse(&fixture);
	test_young(&fixture);
	test_other(&fixture);
	test_shared(&fixture);
	return tap_done();
}
