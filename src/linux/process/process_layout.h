/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the members that lead to processes' mappings and files in a kernel of 32 bits without BTF,
 * of i386 or Arm. layout_32.c has found the members of tasks before. Resolver's thread, while the
 * guest runs.
 */
#ifndef XTOP_PROCESS_PROCESS_LAYOUT_H
#define XTOP_PROCESS_PROCESS_LAYOUT_H

#include "linux/kernel/linux_guest.h"
#include "linux/process/vmas.h"

#define PROCESS_TRIAL_AREAS 64

/* A process whose contents reveal the layout. */
struct process_trial {
	struct linux_guest guest; /* a copy; its layout and vmemmap receive the results */
	uint64_t task, mm;        /* addresses of the task_struct and the mm_struct */
	struct memory_root root;  /* the process's page tables */
	/* Areas of files that are not writable, and never were. */
	struct vma areas[PROCESS_TRIAL_AREAS];
	size_t n_areas;
	uint64_t vdso; /* start of the area that may be the vDSO; 0 if there is none */
	/* Numbers of areas, of pages in them, and of pages with code. */
	uint64_t n, n_pages, n_code_pages;
};

/*
 * Fills in the parts of *GUEST that processes.h needs: members of its layout, and vmemmap. Returns
 * false and leaves *guest untouched if no process confirms all members, or not yet.
 */
bool process_layout_32_find(struct linux_guest *guest);

/*
 * Parts of process_layout_32_find(), for one process. mm_layout_32_find() needs trial->guest and
 * trial->task. file_layout_32_find() needs what mm_layout_32_find() has filled in. Each returns
 * false if the process does not confirm the members.
 */
bool mm_layout_32_find(struct process_trial *trial);
bool file_layout_32_find(struct process_trial *trial);

/*
 * Fills in the members that TASK's process reveals about its pid, its waits, exec() and its control
 * group, and LINUX_INIT_PID_NS; needs the members found before. Members that the process does not
 * confirm stay unknown.
 */
void task_layout_i386_find(struct linux_guest *guest, uint64_t task);
/* Finds only the pid and the waits. TASK may be another task than the one tried first. */
void task_layout_i386_find_waits(struct linux_guest *guest, uint64_t task);

static inline void process_trial_set(struct process_trial *trial, enum layout_member member,
				     unsigned offset)
{
	trial->guest.layout.values[member] = (int32_t)offset;
}

/* The word at ADDRESS; 0 if it cannot be read, or if the address is not the kernel's. */
static inline uint64_t process_trial_word(const struct process_trial *trial, uint64_t address)
{
	return linux_word(&trial->guest, address);
}

/*
 * The offset of an 8-byte number that comes at OFFSET or after. On Arm such numbers are at
 * multiples of 8.
 */
static inline unsigned process_trial_wide(const struct process_trial *trial, unsigned offset)
{
	return root_is_arm(trial->guest.root) ? (offset + 7) & ~7U : offset;
}

static inline bool process_trial_is_pointer(const struct process_trial *trial, uint64_t word)
{
	return linux_is_kernel_of(&trial->guest, word) && word % sizeof(uint32_t) == 0;
}

#endif
