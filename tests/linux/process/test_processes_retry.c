/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is read of processes again because it was missing, and how much is kept of processes. */
#include "config.h"

#include <stdlib.h>

#include "tests/linux/process/process_fixture.h"

static void test_retry(struct process_fixture *fixture)
{
	uint64_t inode, memory, folio, generation;
	const struct space *space;
	const char *note;

	begin(fixture, MADE_TREE);
	make_process(fixture);
	inode = made_inode_of(fixture->made, fixture->lib);
	made_cache_entry(fixture->made, inode, 2, 0);
	space = space_at(fixture, fixture->task_address, 0);
	check_string(name_at(space, LIB + FUNCTION), "libhelp.so+0x1100",
		     "a library without the page with its symbols has no names");
	note = processes_next_note(fixture->processes, NULL);
	check(note && strstr(note, "--root"), "a missing page gives a note");
	generation = space ? space_generation(space) : 0;
	folio = made_folio(fixture->made, 2, 1, &memory);
	program_make(&fixture->program, 0, "helper", 2);
	made_put(fixture->made->memory, fixture->made->guest.root, memory,
		 fixture->program.bytes + 0x2000, 0x1000);
	made_cache_entry(fixture->made, inode, 2, folio);
	processes_poll(fixture->processes, 999 * MS);
	check_string(name_at(space, LIB + FUNCTION), "libhelp.so+0x1100",
		     "an incomplete file is not read before its time");
	processes_poll(fixture->processes, 1 * S);
	check_string(name_at(space, LIB + FUNCTION), "helper",
		     "an incomplete file is read again after a second");
	check(space && space_generation(space) != generation,
	      "a file read again changes the space's generation");
	check_u64(processes_counts(fixture->processes).retries, 1,
		  "number of retries after the file became whole");
	processes_poll(fixture->processes, 100 * S);
	check_u64(processes_counts(fixture->processes).retries, 1,
		  "number of retries long after the file became whole");
	end(fixture);

	/* A page that never comes: few retries, and none for a process that nobody asks for. */
	begin(fixture, MADE_TREE);
	make_process(fixture);
	made_cache_entry(fixture->made, made_inode_of(fixture->made, fixture->lib), 2, 0);
	space_at(fixture, fixture->task_address, 0);
	for (uint64_t now = 0; now < 3600 * S; now += 250 * MS)
		processes_poll(fixture->processes, now);
	check(processes_counts(fixture->processes).retries <= 6,
	      "an hour unused: %" PRIu64 " retries", processes_counts(fixture->processes).retries);
	for (uint64_t now = 3600 * S; now < 7200 * S; now += 250 * MS) {
		if (now % S == 0)
			space_at(fixture, fixture->task_address, now);
		processes_poll(fixture->processes, now);
	}
	check(processes_counts(fixture->processes).retries <= 6 + 60 + 6,
	      "an hour in use: %" PRIu64, processes_counts(fixture->processes).retries);
	end(fixture);
}

/* Two processes map a file that was incomplete: one retry fills both spaces. */
static void test_retry_shared(struct process_fixture *fixture)
{
	uint64_t inode, memory, folio, other;
	struct vma areas[N_USUAL];
	const struct space *a, *b;

	begin(fixture, MADE_TREE);
	make_process(fixture);
	usual_areas(fixture, areas);
	other = made_task(fixture->made, 51, 51, "other", made_mm(fixture->made, areas, N_USUAL),
			  0);
	inode = made_inode_of(fixture->made, fixture->lib);
	made_cache_entry(fixture->made, inode, 2, 0);
	a = space_at(fixture, fixture->task_address, 0);
	b = space_at(fixture, other, 0);
	folio = made_folio(fixture->made, 2, 1, &memory);
	made_put(fixture->made->memory, fixture->made->guest.root, memory,
		 fixture->program.bytes + 0x2000, 0x1000);
	made_cache_entry(fixture->made, inode, 2, folio);
	processes_poll(fixture->processes, 1 * S);
	check_string(name_at(a, LIB + FUNCTION), "helper",
		     "one retry gives names to the first process");
	check_string(name_at(b, LIB + FUNCTION), "helper",
		     "one retry gives names to the second process");
	check_u64(processes_counts(fixture->processes).files.retries, 1,
		  "number of retries for a shared file");
	end(fixture);
}

/*
 * One file is read in each walk: a process with many files must not keep all other samples waiting.
 */
static void test_put_off(struct process_fixture *fixture)
{
	const struct processes_settings settings = { .debug.root_fd = -1, .walk_bytes = 1 };
	const struct space *space;

	begin(fixture, MADE_TREE);
	processes_destroy(fixture->processes);
	must(processes_create(&fixture->made->guest, &settings, &fixture->processes));
	make_process(fixture);
	space = space_at(fixture, fixture->task_address, 0);
	check_string(name_at(space, BASE + FUNCTION), "serve", "the first file of a walk is read");
	check_string(name_at(space, LIB + FUNCTION), "nothing",
		     "the second file of a walk with a small limit is not read");
	check(processes_counts(fixture->processes).files.put_off == 1 &&
		      processes_counts(fixture->processes).files.reads == 1,
	      "the second file of a walk is counted as put off");
	processes_poll(fixture->processes, PROCESSES_RETRY_NS);
	check_string(name_at(space, LIB + FUNCTION), "helper",
		     "the second file is read at the next poll");
	check_u64(processes_counts(fixture->processes).torn, 0,
		  "number of torn processes after the poll");
	end(fixture);
}

static void test_torn(struct process_fixture *fixture)
{
	const struct space *space;

	begin(fixture, MADE_TREE);
	make_process(fixture);
	made_set_u32(fixture->made, fixture->mm, MM_MAP_COUNT, N_USUAL + 1);
	space = space_at(fixture, fixture->task_address, 0);
	check_string(name_at(space, BASE + FUNCTION), "serve",
		     "the areas that could be read have names");
	check_u64(processes_counts(fixture->processes).torn, 1,
		  "number of torn processes after areas changed");
	made_set_u32(fixture->made, fixture->mm, MM_MAP_COUNT, N_USUAL);
	processes_poll(fixture->processes, PROCESSES_RETRY_NS);
	check_u64(processes_counts(fixture->processes).torn, 0,
		  "number of torn processes after the areas were read again");
	check_u64(processes_counts(fixture->processes).walks, 2, "number of walks after one retry");
	end(fixture);
}

/* When the number of areas is read, the guest unmaps an area. */
static void on_use(void *context, frame_t frame, const void *page, size_t offset, size_t size_bytes)
{
	const struct process_fixture *fixture = context;
	uint64_t count = fixture->mm + made_offset(fixture->made, MM_MAP_COUNT);

	(void)frame, (void)page;
	if (offset == (count & GUEST_PAGE_MASK) && size_bytes == sizeof(uint32_t))
		made_put_u32(fixture->made->memory, fixture->made->guest.root, count, N_USUAL);
}

static void test_changing(struct process_fixture *fixture)
{
	const struct memory_watcher watcher = { .use = on_use, .context = fixture };

	begin(fixture, MADE_TREE);
	make_process(fixture);
	made_set_u32(fixture->made, fixture->mm, MM_MAP_COUNT, N_USUAL + 1);
	memory_set_watcher(fixture->made->guest.memory, &watcher);
	check_string(name_at(space_at(fixture, fixture->task_address, 0), LIB + FUNCTION), "helper",
		     "areas that changed during the walk are read");
	check_u64(processes_counts(fixture->processes).torn, 0,
		  "number of torn processes after a walk that was repeated at once");
	memory_set_watcher(fixture->made->guest.memory, &(struct memory_watcher){ 0 });
	end(fixture);
}

static void test_bound(struct process_fixture *fixture)
{
	struct vma areas[N_USUAL];
	uint64_t first = 0;

	begin(fixture, MADE_TREE);
	usual_areas(fixture, areas);
	for (uint32_t i = 0; i < PROCESSES_MAX + 200; i++) {
		uint64_t task = made_task(fixture->made, 100 + i, 100 + i, "bomb",
					  made_mm(fixture->made, areas, N_USUAL), 0);

		first = first ? first : task;
		if (!space_at(fixture, task, i * MS))
			check(false, "process %u", i);
	}
	check_u64(processes_counts(fixture->processes).kept, PROCESSES_MAX,
		  "number of processes at the limit");
	check_u64(processes_counts(fixture->processes).evicted, 200,
		  "number of processes that made room");
	check_u64(processes_counts(fixture->processes).files.kept, 2,
		  "number of files for all these processes");
	check_string(name_at(space_at(fixture, first, 5000 * MS), BASE + FUNCTION), "serve",
		     "a process that made room is read again");
	end(fixture);
}

/* A process with more areas than are kept of one. */
static void test_areas_bound(struct process_fixture *fixture)
{
	size_t n = PROCESS_MAX_AREAS + 100;
	struct vma *areas = calloc(n, sizeof(*areas));
	const struct space *space;

	begin(fixture, MADE_LIST);
	for (size_t i = 0; i < n; i++)
		areas[i] = (struct vma){ JIT + 2 * i * PAGE, JIT + (2 * i + 1) * PAGE, VMA_EXEC, 0,
					 0 };
	fixture->mm = made_mm(fixture->made, areas, n);
	fixture->task_address = made_task(fixture->made, 9, 9, "many", fixture->mm, 0);
	space = space_at(fixture, fixture->task_address, 0);
	check(space && space_find(space, JIT) && !space_find(space, areas[n - 1].start),
	      "the first areas of a large process are kept");
	check_u64(processes_counts(fixture->processes).left_out, 100,
		  "number of areas that were left out");
	free(areas);
	end(fixture);
}

/*
 * One budget for everything that is kept: a process that nobody asked for in a minute makes way,
 * one that is in use does not, and areas without budget are counted.
 */
static void test_budget(struct process_fixture *fixture)
{
	const struct processes_settings settings = { .debug.root_fd = -1, .budget_bytes = 60000 };
	const uint64_t later = PROCESSES_IDLE_NS + 2 * S;
	struct vma areas[200];
	const struct space *space;
	uint64_t other, third;

	begin(fixture, MADE_TREE);
	processes_destroy(fixture->processes);
	must(processes_create(&fixture->made->guest, &settings, &fixture->processes));
	for (size_t i = 0; i < 200; i++)
		areas[i] = (struct vma){ JIT + 2 * i * PAGE, JIT + (2 * i + 1) * PAGE, VMA_EXEC, 0,
					 0 };
	fixture->mm = made_mm(fixture->made, areas, 200);
	fixture->task_address = made_task(fixture->made, 50, 50, "one", fixture->mm, 0);
	other = made_task(fixture->made, 51, 51, "two", made_mm(fixture->made, areas, 200), 0);
	space = space_at(fixture, fixture->task_address, 0);
	check(space && space_find(space, JIT), "the first process has its areas");
	check_u64(processes_counts(fixture->processes).room_bytes, 200 * PROCESS_AREA_BYTES,
		  "the first process exceeds the budget");
	space = space_at(fixture, other, S);
	check(space && !space_find(space, JIT),
	      "the second process has no areas while the first is in use");
	check_u64(processes_counts(fixture->processes).left_out, 200,
		  "number of areas left out without budget");
	check(processes_counts(fixture->processes).torn == 1,
	      "a process without areas counts as torn");
	space = space_at(fixture, other, later);
	processes_poll(fixture->processes, later);
	check(space && space_find(space, JIT),
	      "a second process gets its areas when the first is idle");
	check(processes_counts(fixture->processes).made_room == 1 &&
		      processes_counts(fixture->processes).kept == 1,
	      "the idle process is dropped");
	check_u64(processes_counts(fixture->processes).room_bytes, 200 * PROCESS_AREA_BYTES,
		  "the idle process's budget is free");
	third = made_task(fixture->made, 52, 52, "node", made_mm(fixture->made, areas, 1), 0);
	space = space_at(fixture, third, later + S);
	check(space && !space_find(space, JIT), "a third process has no areas without budget");
	check_u64(processes_counts(fixture->processes).left_out, 201,
		  "number of areas left out with a third process");
	end(fixture);
}

int main(void)
{
	struct process_fixture fixture = { 0 };

	test_budget(&fixture);
	test_retry(&fixture);
	test_retry_shared(&fixture);
	test_put_off(&fixture);
	test_torn(&fixture);
	test_changing(&fixture);
	test_bound(&fixture);
	test_areas_bound(&fixture);
	return tap_done();
}
