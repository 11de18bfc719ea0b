/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the members of a task in a kernel of i386 without BTF, except its names and its memory; see
 * process_layout.h. The order of members is that of Linux 5.10 to 6.1 (include/linux/{sched,pid,
 * pid_namespace,kernfs}.h); each is checked by its contents in the leader of a process:
 *
 *   numbers    thread_pid pid_links[]: the pid's list of tasks leads back to pid_links. The pid has
 *              the task's number, and a namespace whose tree finds the pid by that number:
 *              init_pid_ns
 *   waits      state stack usage flags ptrace on_cpu; nvcsw nivcsw start_time; sched_info tasks ..
 *              mm, where `tasks` is in a list; exit_state exit_code exit_signal pdeath_signal
 *              jobctl, where a process sends SIGCHLD at its end and nothing else is set
 *   stack      __switch_to_asm() stores %esp there: an address in the task's own stack
 *   exec()     begin_new_exec() adds 1 to 64 bits of `current`
 *   fs         after comm: its root is a dentry that is the root of its mount
 *   cgroup     bpf_get_current_cgroup_id() goes from `current` to the kernfs_node, which has a path
 *
 * The parts are independent: each may be found without the others. Resolver's thread.
 */
#include "config.h"

#include "linux/process/process_layout.h"

#include "linux/kernel/code_i386.h"
#include "linux/kernel/layout_32.h"
#include "linux/process/cgroup.h"
#include "linux/process/xarray.h"

#define WORD              4
#define TASK_MAX_BYTES    16384 /* limit for offsets: task_struct of 6.1 has 6,336 bytes */
#define TASK_PID_BYTES    128 /* bytes searched for thread_pid after group_leader: at 20 in 6.1 */
#define TASK_PID_PARTS    64  /* bytes of struct pid searched for `tasks`: at 12 in 6.1 */
#define TASK_NUMBERS      128 /* bytes of struct pid searched for `numbers`: at 52 in 6.1 */
#define TASK_LISTS_BYTES  40  /* size of tasks, pushable_tasks, pushable_dl_tasks: before mm */
#define TASK_SCHED_BYTES  28  /* size of sched_info: a long and three times */
#define TASK_ON_CPU_WORDS 4   /* words from `stack` to on_cpu */
#define TASK_SIGCHLD      17
#define TASK_NAME         16  /* size of comm */
#define TASK_FS_BYTES     128 /* bytes searched for fs after comm: at 40 in 6.1 */
#define FS_ROOT_BYTES     48  /* bytes of fs_struct searched for root: at 20 in 6.1 */
#define SWITCH_BYTES      32  /* bytes of __switch_to_asm() that are read */
#define CGROUP_BYTES      64  /* bytes of bpf_get_current_cgroup_id() that are read */
#define EXEC_BYTES        2048 /* bytes of begin_new_exec() that are read: 6.1 adds at 1,470 */
#define EXEC_NEAR_BYTES   32   /* range around the addition */

static uint64_t task_word(const struct process_trial *trial, unsigned offset)
{
	return process_trial_word(trial, trial->task + offset);
}

static unsigned task_offset(const struct process_trial *trial, enum layout_member member)
{
	return layout_offset(&trial->guest.layout, member);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Whether thread_pid is at OFFSET. *PID becomes its value. */
static bool task_try_pid(struct process_trial *trial, unsigned offset, uint64_t *pid)
{
	uint64_t link = trial->task + offset + WORD, back = task_word(trial, offset + 2 * WORD);

	*pid = task_word(trial, offset);
	if (!process_trial_is_pointer(trial, *pid) || back < *pid || back - *pid > TASK_PID_PARTS ||
	    process_trial_word(trial, back) != link)
		return false;
	process_trial_set(trial, TASK_THREAD_PID, offset);
	process_trial_set(trial, TASK_PID_LINKS, offset + WORD);
	process_trial_set(trial, PID_LEVEL, WORD);
	process_trial_set(trial, PID_TASKS, (unsigned)(back - *pid));
	return true;
}

/* Whether the tree at NS + OFFSET finds PID by NUMBER. */
static bool task_try_tree(struct process_trial *trial, uint64_t ns, unsigned offset,
			  uint64_t number, uint64_t pid)
{
	uint64_t entry;

	process_trial_set(trial, PID_NS_IDR, offset);
	return xarray_find(&trial->guest, ns + offset, number, &entry) && entry == pid;
}

/* Finds the offset of PID's first number, which belongs to init_pid_ns. */
static bool task_find_number(struct process_trial *trial, uint64_t pid)
{
	uint64_t number = (uint32_t)task_word(trial, task_offset(trial, TASK_PID));

	for (unsigned offset = task_offset(trial, PID_TASKS); offset < TASK_NUMBERS;
	     offset += WORD) {
		uint64_t ns = process_trial_word(trial, pid + offset + WORD);

		if (process_trial_word(trial, pid + offset) != number ||
		    !process_trial_is_pointer(trial, ns) ||
		    (!task_try_tree(trial, ns, 0, number, pid) &&
		     !task_try_tree(trial, ns, WORD, number, pid)))
			continue;
		process_trial_set(trial, PID_NUMBERS, offset);
		process_trial_set(trial, UPID_NR, 0);
		process_trial_set(trial, UPID_NS, WORD);
		process_trial_set(trial, UPID_SIZEOF, 2 * WORD);
		trial->guest.symbols[LINUX_INIT_PID_NS] = ns;
		return true;
	}
	return false;
}

static bool task_find_numbers(struct process_trial *trial)
{
	unsigned leader = task_offset(trial, TASK_GROUP_LEADER);
	uint64_t pid;

	for (unsigned offset = leader + WORD; offset < leader + TASK_PID_BYTES; offset += WORD)
		if (task_try_pid(trial, offset, &pid) && task_find_number(trial, pid))
			return true;
	return false;
}

/* --- waits ------------------------------------------------------------------------------------ */

/* Finds exit_state. Returns false if no place, or several, match. */
static bool task_find_exit_state(struct process_trial *trial)
{
	unsigned found = 0;

	for (unsigned offset = task_offset(trial, TASK_MM) + 2 * WORD;
	     offset + 5 * WORD <= task_offset(trial, TASK_PID); offset += WORD)
		if (!task_word(trial, offset) && !task_word(trial, offset + WORD) &&
		    task_word(trial, offset + 2 * WORD) == TASK_SIGCHLD &&
		    !task_word(trial, offset + 3 * WORD) && !task_word(trial, offset + 4 * WORD)) {
			process_trial_set(trial, TASK_EXIT_STATE, offset);
			found++;
		}
	return found == 1;
}

/* Finds sched_info. Without it waits begin when they are first seen. */
static void task_find_sched_info(struct process_trial *trial)
{
	unsigned tasks = task_offset(trial, TASK_MM) - TASK_LISTS_BYTES;
	unsigned info = tasks - TASK_SCHED_BYTES;
	uint64_t list = trial->task + tasks;

	if (process_trial_word(trial, task_word(trial, tasks) + WORD) != list ||
	    process_trial_word(trial, task_word(trial, tasks + WORD)) != list)
		return;
	process_trial_set(trial, TASK_RUN_DELAY, info + WORD);
	process_trial_set(trial, TASK_LAST_ARRIVAL, info + 3 * WORD);
	process_trial_set(trial, TASK_LAST_QUEUED, info + 5 * WORD);
}

/* Finds the member with the stack pointer of a task that does not run. */
static bool task_find_stack_pointer(struct process_trial *trial)
{
	unsigned stack = task_offset(trial, TASK_STACK);
	struct code_i386 code;
	uint32_t offset;

	if (!code_i386_read(&trial->guest, LINUX_SWITCH, SWITCH_BYTES, &code))
		return false;
	offset = code_i386_find_member(&code, 0x89, 0);
	if (!offset || offset >= TASK_MAX_BYTES ||
	    task_word(trial, offset) - task_word(trial, stack) >= STACK_32_BYTES)
		return false;
	process_trial_set(trial, TASK_SP, offset);
	return true;
}

static bool task_find_wait(struct process_trial *trial)
{
	unsigned stack = task_offset(trial, TASK_STACK), start;

	if (!layout_has(&trial->guest.layout, TASK_START_TIME) || !task_find_exit_state(trial) ||
	    !task_find_stack_pointer(trial) ||
	    task_word(trial, stack + TASK_ON_CPU_WORDS * WORD) > 1)
		return false;
	start = task_offset(trial, TASK_START_TIME);
	process_trial_set(trial, TASK_STATE, stack - WORD);
	process_trial_set(trial, TASK_ON_CPU, stack + TASK_ON_CPU_WORDS * WORD);
	process_trial_set(trial, TASK_SWITCHES, start - 2 * WORD);
	process_trial_set(trial, TASK_PREEMPTIONS, start - WORD);
	task_find_sched_info(trial);
	return true;
}

/* --- exec() ----------------------------------------------------------------------------------- */

/* Whether CODE has OPCODE with a member OFFSET of any register between FROM and TO. */
static bool task_has_member(const struct code_i386 *code, uint8_t opcode, size_t from, size_t to,
			    uint32_t offset)
{
	for (size_t at = from; at + 6 <= to && at + 6 <= code->end; at++)
		if (code->bytes[at] == opcode && (code->bytes[at + 1] & 0xc0) == 0x80 &&
		    code_i386_u32(code->bytes + at + 2) == offset)
			return true;
	return false;
}

/*
 *   8b 80+reg.. s32, 8b 80+reg.. s32+4   mov  OFFSET(%reg), both halves
 *   83 c0+low 01, 83 d0+high 00          add  $1; adc  $0
 *   89 80+reg.. s32, 89 80+reg.. s32+4   mov  back
 */
static bool task_is_sum(const struct code_i386 *code, size_t adc, uint32_t *offset)
{
	size_t from = adc > EXEC_NEAR_BYTES ? adc - EXEC_NEAR_BYTES : 0;

	for (size_t at = from; at + 6 <= adc; at++) {
		*offset = code_i386_u32(code->bytes + at + 2);
		if (code->bytes[at] == 0x8b && (code->bytes[at + 1] & 0xc0) == 0x80 &&
		    *offset % WORD == 0 && *offset < TASK_MAX_BYTES &&
		    task_has_member(code, 0x8b, from, adc, *offset + WORD) &&
		    task_has_member(code, 0x89, adc, adc + EXEC_NEAR_BYTES, *offset) &&
		    task_has_member(code, 0x89, adc, adc + EXEC_NEAR_BYTES, *offset + WORD))
			return true;
	}
	return false;
}

static bool task_find_exec_id(struct process_trial *trial)
{
	struct code_i386 code;
	uint32_t offset;

	if (!code_i386_read(&trial->guest, LINUX_NEW_EXEC, EXEC_BYTES, &code))
		return false;
	for (size_t at = 0; at + 3 <= code.end; at++)
		if (code.bytes[at] == 0x83 && (code.bytes[at + 1] & 0xf8) == 0xd0 &&
		    !code.bytes[at + 2] && task_is_sum(&code, at, &offset)) {
			process_trial_set(trial, TASK_SELF_EXEC_ID, offset);
			/* nobody calls exec() 2^32 times */
			return !task_word(trial, offset + WORD);
		}
	return false;
}

/* --- the root directory ----------------------------------------------------------------------- */

/* Whether a struct path at ADDRESS is the root of a whole file system. */
static bool task_is_root(const struct process_trial *trial, uint64_t address)
{
	uint64_t mount = process_trial_word(trial, address);
	uint64_t dentry = process_trial_word(trial, address + task_offset(trial, PATH_DENTRY));

	return process_trial_is_pointer(trial, dentry) &&
	       process_trial_word(trial, mount + task_offset(trial, VFSMOUNT_ROOT)) == dentry &&
	       process_trial_word(trial, dentry + task_offset(trial, DENTRY_PARENT)) == dentry;
}

static bool task_find_fs(struct process_trial *trial)
{
	unsigned comm = task_offset(trial, TASK_COMM);

	for (unsigned offset = comm + TASK_NAME; offset < comm + TASK_FS_BYTES; offset += WORD) {
		uint64_t fs = task_word(trial, offset);

		for (unsigned root = WORD; fs && root < FS_ROOT_BYTES; root += WORD)
			if (task_is_root(trial, fs + root)) {
				process_trial_set(trial, TASK_FS, offset);
				process_trial_set(trial, FS_ROOT, root);
				return true;
			}
	}
	return false;
}

/* --- the control group ------------------------------------------------------------------------ */

static bool task_find_cgroup(struct process_trial *trial)
{
	static const enum layout_member members[] = { TASK_CGROUPS, CSS_SET_CGROUP, CGROUP_NODE };
	uint32_t current = (uint32_t)trial->guest.symbols[LINUX_CURRENT_TASK], offset;
	char path[CGROUP_PATH_BYTES];
	struct code_i386 code;
	int reg;

	if (!code_i386_read(&trial->guest, LINUX_CGROUP_ID, CGROUP_BYTES, &code) ||
	    (reg = code_i386_find_current(&code, current)) < 0)
		return false;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (!code_i386_follow(&code, &reg, &offset) || offset >= TASK_MAX_BYTES)
			return false;
		process_trial_set(trial, members[i], offset);
	}
	/* Two counters precede the parent. */
	process_trial_set(trial, KERNFS_PARENT, 2 * WORD);
	process_trial_set(trial, KERNFS_NAME, 3 * WORD);
	return cgroup_read(&trial->guest, trial->task, path);
}

/* --- all parts -------------------------------------------------------------------------------- */

typedef bool task_part_fn(struct process_trial *trial);

/* Finds N PARTS in the leader of TASK's process. */
static void task_find_parts(struct linux_guest *guest, uint64_t task, task_part_fn *const *parts,
			    size_t n)
{
	uint64_t leader;

	if (!linux_read_word(guest, task + layout_offset(&guest->layout, TASK_GROUP_LEADER),
			     &leader) ||
	    !linux_is_kernel_of(guest, leader))
		return;
	for (size_t i = 0; i < n; i++) {
		struct process_trial trial = { .guest = *guest, .task = leader };

		if (!parts[i](&trial))
			continue;
		guest->layout = trial.guest.layout;
		guest->symbols[LINUX_INIT_PID_NS] = trial.guest.symbols[LINUX_INIT_PID_NS];
	}
}

static task_part_fn *const task_wait_parts[] = { task_find_numbers, task_find_wait };
static task_part_fn *const task_other_parts[] = { task_find_exec_id, task_find_fs,
						  task_find_cgroup };

void task_layout_i386_find_waits(struct linux_guest *guest, uint64_t task)
{
	task_find_parts(guest, task, task_wait_parts,
			sizeof(task_wait_parts) / sizeof(task_wait_parts[0]));
}

void task_layout_i386_find(struct linux_guest *guest, uint64_t task)
{
	task_layout_i386_find_waits(guest, task);
	task_find_parts(guest, task, task_other_parts,
			sizeof(task_other_parts) / sizeof(task_other_parts[0]));
}
