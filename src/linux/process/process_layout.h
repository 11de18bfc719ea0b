/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a kernel of 32 bits without BTF, of i386 or Arm, keeps its processes' mappings and files.
 * What layout_32.c finds of tasks comes first. Resolver's thread, while the guest runs.
 */
#ifndef XTOP_PROCESS_PROCESS_LAYOUT_H
#define XTOP_PROCESS_PROCESS_LAYOUT_H

#include "linux/kernel/linux_guest.h"
#include "linux/process/vmas.h"

#define PROCESS_TRIAL_AREAS 64

/* A process by which the layout is found. */
struct process_trial {
	struct linux_guest guest; /* a copy; its layout and vmemmap get what is found */
	uint64_t task, mm;        /* addresses of the task_struct and the mm_struct */
	struct memory_root root;  /* the process's page tables */
	/* Areas of files that cannot be written to, and never could. */
	struct vma areas[PROCESS_TRIAL_AREAS];
	size_t n_areas;
	uint64_t vdso; /* start of the area that may be the vDSO; 0: none */
	/* How many areas there are, how many pages they have, and how many of these have code. */
	uint64_t n, n_pages, n_code_pages;
};

/*
 * Fills in what processes.h needs of *GUEST: members of its layout, and vmemmap. False: no process
 * was found that confirms them all, or not yet; *guest is untouched.
 */
bool process_layout_32_find(struct linux_guest *guest);

/*
 * The parts of that, for one process. The first needs trial->guest and trial->task, the second what
 * the first has filled in. False: the process does not confirm what would be found.
 */
bool mm_layout_32_find(struct process_trial *trial);
bool file_layout_32_find(struct process_trial *trial);

/*
 * Fills in what is found by the process of TASK of its number, its waits, exec() and its control
 * group, and LINUX_INIT_PID_NS; needs the others. Best effort: what the process does not confirm
 * stays unknown.
 */
void task_layout_i386_find(struct linux_guest *guest, uint64_t task);
/* The number and the waits alone, by a task that may not be the first one that is tried. */
void task_layout_i386_find_waits(struct linux_guest *guest, uint64_t task);

static inline void process_trial_set(struct process_trial *trial, enum layout_member member,
				     unsigned offset)
{
	trial->guest.layout.values[member] = (int32_t)offset;
}

/* The word at ADDRESS; 0: none, or the address is not the kernel's. */
static inline uint64_t process_trial_word(const struct process_trial *trial, uint64_t address)
{
	uint64_t word;

	return linux_is_kernel_of(&trial->guest, address) &&
			       linux_read_word(&trial->guest, address, &word)
		       ? word
		       : 0;
}

/* Where a number of 8 bytes is that comes at OFFSET: Arm has such numbers at multiples of 8. */
static inline unsigned process_trial_wide(const struct process_trial *trial, unsigned offset)
{
	return root_is_arm(trial->guest.root) ? (offset + 7) & ~7U : offset;
}

static inline bool process_trial_is_pointer(const struct process_trial *trial, uint64_t word)
{
	return linux_is_kernel_of(&trial->guest, word) && word % sizeof(uint32_t) == 0;
}

#endif
