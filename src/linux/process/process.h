/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process's code: what it has mapped, turned into a space. Used by processes.c alone, which says
 * when. Resolver's thread.
 */
#ifndef XTOP_PROCESS_PROCESS_H
#define XTOP_PROCESS_PROCESS_H

#include "linux/process/tasks.h"
#include "linux/process/files.h"
#include "linux/process/vmas.h"
#include "xtop/limit.h"

#define PROCESS_MAX_AREAS  LIMIT(8192, 64) /* of a process that have code, or parts of files with code */
#define PROCESS_AREA_BYTES 320  /* what one takes at most: its area, its mapping, twice in the space */

struct process_area {
	struct vma vma;
	struct code_file *file; /* NULL: not a file's; a reference */
	bool code;              /* of a file or vDSO; else compiled by the process */
};

/* Names from /tmp/perf-PID.map. */
struct process_jit {
	struct image *image; /* NULL: no names */
	size_t kept_bytes;   /* of the room */
	struct file_identity identity;
	uint64_t due_ns, retry_ns;
};

struct process {
	uint64_t mm; /* 0: free */
	uint32_t tgid;
	char comm[TASK_NAME_BYTES]; /* of the task that was sampled last */
	struct vmas_key key;
	struct memory_root root;
	struct process_area *areas; /* with code */
	size_t n_areas;
	struct space *space;
	struct mapping *mappings; /* that the space has */
	size_t n_mappings;
	size_t kept_bytes;        /* of the room, for areas, mappings and space */
	struct process_jit jit;
	bool torn;                /* the areas changed while they were read, or one was not there */
	bool has_jit;
	uint64_t changes;         /* files_changes() when the space was filled */
	/* processes.c's */
	uint64_t checked_ns, walked_ns, used_ns, due_ns, retry_ns;
};

/* What reading needs besides the process; one for all. */
struct process_reader {
	const struct linux_guest *linux_guest;
	struct room *room;
	struct files *files;
	struct vma *vmas; /* PROCESS_MAX_AREAS */
	size_t n_vmas, n_visited;
	/* since the start */
	uint64_t left_out; /* areas beyond the limit, or without room */
	uint64_t no_room;  /* times names of compiled code were not read for want of it */
};

/* Empty, but for its space. */
struct xtop_error *process_init(struct process *process);
void process_deinit(struct process_reader *reader, struct process *process);
void process_forget_jit(struct process_reader *reader, struct process *process);
/*
 * Walks the areas, process->key was just read. Reads files that are new, or whose time has come.
 * False: out of memory; what was there stays.
 */
bool process_read_areas(struct process_reader *reader, struct process *process, uint64_t now_ns);
/* Looks for names of compiled code, if there is such code and it is time. TASK is one of its. */
void process_read_jit(struct process_reader *reader, struct process *process,
		      const struct task *task, uint64_t now_ns);
/* Makes the space what areas and images are now. Its generation rises if that is a change. */
void process_fill_space(struct process_reader *reader, struct process *process);

#endif
