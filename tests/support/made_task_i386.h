/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Linux 6.1 keeps of the leader of the process in made_process_i386.h: its number in init_pid_ns,
 * its stack while it sleeps, how often it has called exec(), its root directory and its control group;
 * and the functions by which these are found.
 */
#ifndef TESTS_MADE_TASK_I386_H
#define TESTS_MADE_TASK_I386_H

#include "tests/support/made_process_i386.h"

#define MADE_SWITCH     (MADE_TEXT + 0x500) /* __switch_to_asm() */
#define MADE_CGROUP_ID  (MADE_TEXT + 0x600) /* bpf_get_current_cgroup_id() */
#define MADE_NEW_EXEC   (MADE_TEXT + 0x800) /* begin_new_exec() */
#define MADE_STRUCT_PID 0x57000
#define MADE_PID_NS     0x57100
#define MADE_PID_ROOT   0x57200 /* nodes of its tree, for numbers from 64 to 127 */
#define MADE_PID_LEAF   0x57400
#define MADE_FS         0x57600
#define MADE_CSS_SET    0x57700
#define MADE_CGROUP     0x57800
#define MADE_KERNFS     0x57a00
#define MADE_SLEEP_SP   (MADE_STACK + 0x1f00)

/* In task_struct. */
enum {
	MADE_AT_STATE = 16,
	MADE_AT_ON_CPU = 36,
	MADE_AT_ARRIVAL = 952,
	MADE_AT_TASKS = 968,
	MADE_AT_EXIT_STATE = 1036,
	MADE_AT_THREAD_PID = 1164,
	MADE_AT_SWITCHES = 1276,
	MADE_AT_FS = 1452,
	MADE_AT_EXEC_ID = 1580,
	MADE_AT_CGROUPS = 1752,
	MADE_AT_SP = 2268,
};

#define MADE_SLEEP_RETURN 0xc0011234U /* return address of the scheduler's switch */
#define MADE_SLEEP_BP     0xc0045f40U
#define MADE_USER_SP      (MADE_CODE + 0xf00)

/* Adds all that to the leader. The kernel and the process have been made. */
void made_task_i386(struct made_i386 *made);

#endif
