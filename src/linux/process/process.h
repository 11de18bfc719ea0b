/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of one process: a space built from the mappings of the process. Only processes.c uses
 * this, and decides when. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PROCESS_H
#define XTOP_PROCESS_PROCESS_H

#include "linux/process/code_files.h"
#include "linux/process/jit_names.h"
#include "linux/process/tasks.h"
#include "linux/process/vmas.h"
#include "xtop/base/limit.h"

#define PROCESS_MAX_AREAS LIMIT(8192, 64) /* areas with code, or with parts of files with code */
/* most memory for an area: itself, its mapping, twice in the space */
#define PROCESS_AREA_BYTES 320

/* A mapping of the process that has code. */
struct process_area {
	struct vma vma;
	/* open; NULL if the area has no file, or if the file could not be read */
	struct code_file *file;
	/* the area has a file or is the vDSO; otherwise the process compiled its code */
	bool is_file;
};

struct process {
	uint64_t mm;                /* address of the mm_struct; 0 if the place is free */
	uint32_t tgid, exec_id;     /* the task of the last request */
	struct vmas_key key;        /* key of the areas */
	struct memory_root root;
	struct process_area *areas;
	size_t n_areas;
	struct space *space;
	struct mapping *mappings; /* mappings in the space */
	size_t n_mappings;
	size_t charged_bytes; /* memory charged to the budget, for areas, mappings and space */
	struct jit_names jit;
	bool torn;                  /* some areas are missing, or changed while they were read */
	bool has_jit;               /* some code has no file */
	uint64_t changes, names;    /* code_files_changes(), _names() when the space was filled */
	/* The following members belong to processes.c. */
	uint64_t since_ns; /* time when the present program was first seen */
	uint64_t checked_ns, walked_ns, used_ns, due_ns, retry_delay_ns;
};

/* Data that all processes share. */
struct process_reader {
	const struct linux_guest *guest;
	struct memory_budget *budget;
	struct code_files *files;
	/* code at the same address in all processes; has a reference to its image */
	struct mapping fixed;
	struct vma *vmas; /* areas of the current walk; room for PROCESS_MAX_AREAS */
	size_t n_vmas, n_visited;
	struct jit_allowance allowance;
	/* Counters since the start: */
	uint64_t left_out;  /* areas beyond PROCESS_MAX_AREAS, or without budget */
	/* times that names of compiled code were not read because the budget was full */
	uint64_t no_room;
};

/* PROCESS becomes empty and gets a space. Error: out of memory. */
struct xtop_error *process_init(struct process *process);
void process_deinit(struct process_reader *reader, struct process *process);
/*
 * Walks the areas of the mm_struct at process->mm, whose key is process->key. If the areas change
 * meanwhile, the key is read again. Reads files that are new, or whose time has come. Returns false
 * if memory is out; the process then keeps its old areas.
 */
bool process_read_areas(struct process_reader *reader, struct process *process, uint64_t now_ns);
/* Looks for names of compiled code, if the process has such code. TASK is one of its threads. */
void process_poll_jit(struct process_reader *reader, struct process *process,
		      const struct task *task, uint64_t now_ns);
/* Updates the space to the present areas and images. A change raises the space's generation. */
void process_fill_space(struct process_reader *reader, struct process *process);

#endif
