/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the guest's files share: a made-up guest and its table of files. */
#ifndef TESTS_LINUX_CODE_FIXTURE_H
#define TESTS_LINUX_CODE_FIXTURE_H

#include "linux/process/code_files.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/program.h"
#include "tests/support/tap.h"

#define S 1000000000ULL

struct code_fixture {
	struct made_linux *made;
	struct code_files *files;
	struct program program;
	struct memory_budget budget;
};

static inline void begin(struct code_fixture *fixture, const struct code_files_settings *given)
{
	struct code_files_settings settings = { .debug.root_fd = -1 };

	if (given)
		settings = *given;
	fixture->budget = (struct memory_budget){ .max_bytes = MEMORY_BUDGET_BYTES };
	settings.budget = &fixture->budget;
	fixture->made = made_linux_create(MADE_TREE);
	must(code_files_create(&fixture->made->guest, &settings, &fixture->files));
}

static inline void end(struct code_fixture *fixture)
{
	code_files_destroy(fixture->files);
	check_u64(fixture->budget.used_bytes, 0, "the whole budget is given back");
	made_linux_destroy(fixture->made);
}

static inline struct code_file *get(struct code_fixture *fixture, uint64_t file, uint64_t now_ns)
{
	struct guest_file source = { 0 };

	if (!guest_file_find_inode(&fixture->made->guest, file, &source))
		return NULL;
	return code_files_open(fixture->files, &source, now_ns);
}

/* Opens and closes the file, as a walk of a process's areas does. */
static inline void touch(struct code_fixture *fixture, uint64_t file, uint64_t now_ns)
{
	struct code_file *opened = get(fixture, file, now_ns);

	check(opened, "a file that can be opened");
	if (opened)
		code_file_close(opened);
}

static inline const char *function_of(const struct code_file *file)
{
	struct symtab_entry entry;

	return file && file->image->symtab &&
			       symtab_find(file->image->symtab, PROGRAM_FUNCTION + 4, &entry)
		       ? entry.name
		       : "";
}

#endif
