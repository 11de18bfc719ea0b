/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of one process: what the process has mapped, turned into a space. Only processes.c uses
 * this, and decides when. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PROCESS_H
#define XTOP_PROCESS_PROCESS_H

#include "linux/process/code_files.h"
#include "linux/process/jit_names.h"
#include "linux/process/tasks.h"
#include "linux/process/vmas.h"
#include "xtop/base/limit.h"

#define PROCESS_MAX_AREAS  LIMIT(8192, 64) /* with code, or parts of files with code */
#define PROCESS_AREA_BYTES 320 /* an area takes at most: itself, its mapping, twice in the space */

/* A mapping of the process that has code. */
struct process_area {
	struct vma vma;
	struct code_file *file; /* open; NULL: no file, or it could not be read */
	bool is_file;           /* of a file or the vDSO; else the process compiled it */
};

struct process {
	uint64_t mm; /* address of the mm_struct; 0: free */
	uint32_t tgid, exec_id;     /* of the task that asked last */
	struct vmas_key key;        /* of the areas */
	struct memory_root root;
	struct process_area *areas;
	size_t n_areas;
	struct space *space;
	struct mapping *mappings;   /* that the space has */
	size_t n_mappings;
	size_t charged_bytes;       /* to the budget, for areas, mappings and space */
	struct jit_names jit;
	bool torn;                  /* some areas changed while they were read, or were not there */
	bool has_jit;               /* some code has no file */
	uint64_t changes, names;    /* code_files_changes(), _names() when the space was filled */
	/* The rest belongs to processes.c. */
	uint64_t since_ns; /* when the program there was seen first */
	uint64_t checked_ns, walked_ns, used_ns, due_ns, retry_delay_ns;
};

/* What all processes share. */
struct process_reader {
	const struct linux_guest *linux_guest;
	struct memory_budget *budget;
	struct code_files *files;
	struct mapping fixed; /* code at the same place in all; has a reference to its image */
	struct vma *vmas;   /* PROCESS_MAX_AREAS; those of the current walk */
	size_t n_vmas, n_visited;
	struct jit_allowance allowance;
	/* Since the start: */
	uint64_t left_out;  /* areas beyond PROCESS_MAX_AREAS, or without budget */
	uint64_t no_room;   /* times names of compiled code were not read as the budget was full */
};

/* Empty, but for its space. Error: out of memory. */
struct xtop_error *process_init(struct process *process);
void process_deinit(struct process_reader *reader, struct process *process);
/*
 * Walks the areas of the mm_struct at process->mm, whose key is process->key. If the areas change
 * meanwhile, the key is read again. Reads files that are new, or whose time has come. False: out of
 * memory; the process has the areas that it had.
 */
bool process_read_areas(struct process_reader *reader, struct process *process, uint64_t now_ns);
/* Looks for names of compiled code, if the process has such code. TASK is one of its threads. */
void process_poll_jit(struct process_reader *reader, struct process *process,
		      const struct task *task, uint64_t now_ns);
/* Makes the space what areas and images are now. A change raises the space's generation. */
void process_fill_space(struct process_reader *reader, struct process *process);

#endif
