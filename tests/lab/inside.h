/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of inside share: the guest, and the lines that are printed; see inside.c. */
#ifndef TESTS_LAB_INSIDE_H
#define TESTS_LAB_INSIDE_H

#include "linux/kernel/generated_code.h"
#include "linux/kernel/linux_attach.h"
#include "linux/kernel/modules.h"
#include "linux/process/processes.h"
#include "linux/process/tasks.h"
#include "xtop/memory/memory.h"

struct lines {
	char **line;
	size_t n, capacity;
};

/* Members that xtop itself does not need. */
enum own_member { OWN_TASKS, OWN_THREAD_NODE, OWN_SIGNAL, OWN_THREAD_HEAD, OWN_TYPETAB, N_OWN };

struct inside {
	struct memory *memory;
	enum guest_type type;
	struct registers regs;
	bool user;        /* a dump's vCPU runs user code */
	const char *dump; /* the file; NULL: a domain */
	struct linux_kernel kernel;
	struct kallsyms *kallsyms;
	struct space *space;
	struct modules *modules;
	struct generated_code *generated;
	struct tasks *tasks;
	struct processes *processes;
	struct lines lines; /* the lines of one WHAT */
	uint32_t pid;       /* the process whose areas are visited */
	struct memory_counts attached;
	double attached_s;
	uint64_t offsets[N_OWN]; /* offsets in bytes */
	bool has_typetab;
};

/* Prints the message and ends the program. */
void inside_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Adds a line of the present WHAT. */
void inside_add(struct inside *inside, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Compares two lines for qsort() and bsearch(). */
int inside_compare_lines(const void *a, const void *b);

/* --- inside_symbols.c ------------------------------------------------------------------------- */
void inside_add_kernel(struct inside *inside, bool text_only);
void inside_add_module_symbols(struct inside *inside);
void inside_add_misnamed(struct inside *inside);
void inside_add_functions(struct inside *inside);

/* --- inside_layout.c -------------------------------------------------------------------------- */
void inside_add_searched(struct inside *inside);
void inside_add_runstate(struct inside *inside);
void inside_add_members(struct inside *inside);

/* --- inside_processes.c ----------------------------------------------------------------------- */
void inside_add_modules(struct inside *inside);
void inside_add_code(struct inside *inside);
void inside_add_build_ids(struct inside *inside);
void inside_add_tasks(struct inside *inside);
void inside_add_areas(struct inside *inside);
void inside_add_frames(struct inside *inside);

#endif
