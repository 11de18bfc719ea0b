/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of processes share: a made-up guest with a program, a library and a process. */
#ifndef TESTS_LINUX_PROCESS_FIXTURE_H
#define TESTS_LINUX_PROCESS_FIXTURE_H

#include <stdio.h>

#include "linux/process/process.h"
#include "linux/process/processes.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/program.h"
#include "tests/support/tap.h"

#define MS   1000000ULL
#define S    (1000 * MS)
#define PAGE GUEST_PAGE_SIZE
#define BASE 0x55d000000000ULL /* the program's code */
#define LIB  0x7f1000000000ULL
#define VDSO 0x7fff00001000ULL
#define JIT  0x7e0000000000ULL

struct process_fixture {
	struct made_linux *made;
	struct processes *processes;
	struct tasks *tasks;
	struct program program;
	uint64_t exe, lib;         /* addresses of struct file */
	uint64_t mm, task_address; /* addresses of the process that was made last */
};

static inline void begin(struct process_fixture *fixture, enum made_areas kind)
{
	static const struct processes_settings none = { .debug.root_fd = -1 };

	fixture->made = made_linux_create(kind);
	must(processes_create(&fixture->made->guest, &none, &fixture->processes));
	must(tasks_create(&fixture->made->guest, &fixture->tasks));
	program_make(&fixture->program, 0, "serve", 1);
	fixture->exe =
		made_file(fixture->made, "/bin/server", fixture->program.bytes, PROGRAM_BYTES);
	program_make(&fixture->program, 0, "helper", 2);
	fixture->lib =
		made_file(fixture->made, "/lib/libhelp.so", fixture->program.bytes, PROGRAM_BYTES);
}

static inline void end(struct process_fixture *fixture)
{
	tasks_destroy(fixture->tasks);
	processes_destroy(fixture->processes);
	made_linux_destroy(fixture->made);
}

static const struct vma usual[] = {
	{ BASE - PAGE, BASE, VMA_READ, 0, 0 },
	{ BASE, BASE + PAGE, VMA_READ | VMA_EXEC, 1, 0 },
	{ BASE + PAGE, BASE + 2 * PAGE, VMA_READ | VMA_WRITE, 0, 0 },
	{ LIB - PAGE, LIB, VMA_READ, 0, 0 },
	{ LIB, LIB + PAGE, VMA_READ | VMA_EXEC, 1, 0 },
};
#define N_USUAL 5

static inline void usual_areas(struct process_fixture *fixture, struct vma *areas)
{
	memcpy(areas, usual, sizeof(usual));
	areas[0].file = areas[1].file = fixture->exe;
	areas[3].file = areas[4].file = fixture->lib;
}

static inline void make_process(struct process_fixture *fixture)
{
	struct vma areas[N_USUAL];

	usual_areas(fixture, areas);
	fixture->mm = made_mm(fixture->made, areas, N_USUAL);
	fixture->task_address = made_task(fixture->made, 50, 50, "server", fixture->mm, 0);
}

static inline const struct space *space_at(struct process_fixture *fixture, uint64_t task,
					   uint64_t now_ns)
{
	const struct task *found = tasks_find(fixture->tasks, task, now_ns);

	return found ? processes_find_space(fixture->processes, found, now_ns) : NULL;
}

/* The name at ADDRESS, or "module+offset". */
static inline const char *name_at(const struct space *space, uint64_t address)
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

#endif
