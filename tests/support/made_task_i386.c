/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a made 32-bit kernel keeps of a task; see made_task_i386.h. */
#include "config.h"

#include "made_task_i386.h"

#include <string.h>

#include "xtop/base/registers_i386.h"

#define AT(offset) (MADE_BASE + (offset))
#define PID        70 /* the leader's pid */

static void put(struct made_i386 *made, uint64_t offset, uint64_t word)
{
	made_i386_put(made, offset, word, 4);
}

/* Instructions that gcc 12 wrote for Debian's 6.1. */
static void put_functions(struct made_i386 *made)
{
	/* push %ebp, %ebx, %edi, %esi; pushf; mov %esp, SP(%eax) */
	static const uint8_t change[] = { 0x55, 0x53, 0x57, 0x56, 0x9c, 0x89,
					  0xa0, 0xdc, 0x08, 0x00, 0x00 };
	/* mov %fs:CURRENT, %eax; mov CGROUPS(%eax); mov DFL_CGRP(%eax); mov KN(%eax), %eax */
	static const uint8_t group[] = { 0x64, 0xa1, 0x08, 0x08, 0x02, 0xc0, 0x8b, 0x80,
					 0xd8, 0x06, 0x00, 0x00, 0x8b, 0x40, 0x40, 0x8b,
					 0x80, 0x98, 0x00, 0x00, 0x00 };
	/* adc $0, %edx that is no count; mov ID(%ebx), %eax, %edx; add $1; adc $0; mov back */
	static const uint8_t count[] = { 0x83, 0xd2, 0x00, 0x8b, 0x83, 0x2c, 0x06, 0x00, 0x00, 0x8b,
					 0x93, 0x30, 0x06, 0x00, 0x00, 0x83, 0xc0, 0x01, 0x83, 0xd2,
					 0x00, 0x89, 0x83, 0x2c, 0x06, 0x00, 0x00, 0x89, 0xd8, 0x89,
					 0x93, 0x30, 0x06, 0x00, 0x00 };

	memcpy(made->bytes + MADE_SWITCH, change, sizeof(change));
	memcpy(made->bytes + MADE_CGROUP_ID, group, sizeof(group));
	memcpy(made->bytes + MADE_NEW_EXEC + 0x5a0, count, sizeof(count));
	made->guest.symbols[LINUX_SWITCH] = AT(MADE_SWITCH);
	made->guest.symbols[LINUX_CGROUP_ID] = AT(MADE_CGROUP_ID);
	made->guest.symbols[LINUX_NEW_EXEC] = AT(MADE_NEW_EXEC);
}

static void put_number(struct made_i386 *made, uint64_t task)
{
	uint64_t links = task + MADE_AT_THREAD_PID + 4;

	/* `ptraced` and `ptrace_entry`, two empty lists, look like the same. */
	for (unsigned i = 0; i < 4; i++)
		put(made, task + 1148 + 4 * i, AT(task + 1148 + 8 * (i / 2)));
	put(made, task + MADE_AT_THREAD_PID, AT(MADE_STRUCT_PID));
	put(made, links + 4, AT(MADE_STRUCT_PID + 12));
	put(made, MADE_STRUCT_PID + 12, AT(links));
	put(made, MADE_STRUCT_PID + 52, PID);
	put(made, MADE_STRUCT_PID + 56, AT(MADE_PID_NS));
	put(made, MADE_PID_NS + 8, AT(MADE_PID_ROOT) | 2);
	made_i386_put(made, MADE_PID_ROOT, 6, 1);
	put(made, MADE_PID_ROOT + 20 + 4 * (PID >> 6), AT(MADE_PID_LEAF) | 2);
	put(made, MADE_PID_LEAF + 20 + 4 * (PID & 63), AT(MADE_STRUCT_PID));
}

static void put_stack(struct made_i386 *made)
{
	uint64_t regs = MADE_STACK + 8192 - I386_STACK_PADDING - PT_I386_BYTES;

	put(made, MADE_SLEEP_SP + 16, MADE_SLEEP_BP);
	put(made, MADE_SLEEP_SP + 20, MADE_SLEEP_RETURN);
	put(made, regs + PT_I386_AT(PT_I386_CS), I386_USER_CS);
	put(made, regs + PT_I386_AT(PT_I386_SP), MADE_USER_SP);
	put(made, regs + PT_I386_AT(PT_I386_SS), I386_USER_SS);
}

static void put_waits(struct made_i386 *made, uint64_t task)
{
	put(made, task + MADE_AT_STATE, 1);
	put(made, task + MADE_AT_TASKS, AT(task + MADE_AT_TASKS));
	put(made, task + MADE_AT_TASKS + 4, AT(task + MADE_AT_TASKS));
	made_i386_put(made, task + MADE_AT_ARRIVAL, 1700000000, 8);
	put(made, task + MADE_AT_EXIT_STATE + 8, 17);
	put(made, task + MADE_AT_SWITCHES, 30);
	put(made, task + MADE_AT_SWITCHES + 4, 2);
	put(made, task + MADE_AT_SP, AT(MADE_SLEEP_SP));
}

static void put_group(struct made_i386 *made, uint64_t task)
{
	static const char name[] = "shop.service";

	put(made, task + MADE_AT_CGROUPS, AT(MADE_CSS_SET));
	put(made, MADE_CSS_SET + 64, AT(MADE_CGROUP));
	put(made, MADE_CGROUP + 152, AT(MADE_KERNFS));
	put(made, MADE_KERNFS + 8, AT(MADE_KERNFS + 128));
	put(made, MADE_KERNFS + 12, AT(MADE_KERNFS + 64));
	memcpy(made->bytes + MADE_KERNFS + 64, name, sizeof(name));
}

void made_task_i386(struct made_i386 *made)
{
	uint64_t task = MADE_LEADER;

	made_process_i386(made, task);
	put_functions(made);
	put_number(made, task);
	put_stack(made);
	put_waits(made, task);
	put_group(made, task);
	put(made, task + MADE_AT_EXEC_ID, 3);
	put(made, task + MADE_AT_FS, AT(MADE_FS));
	put(made, MADE_FS + 20, AT(MADE_MOUNT + 16));
	put(made, MADE_FS + 24, AT(MADE_ROOT_DENTRY));
	/* The directory has the file in its list. */
	put(made, MADE_ROOT_DENTRY + 112, AT(MADE_DENTRY + 104));
	put(made, MADE_DENTRY + 104, AT(MADE_ROOT_DENTRY + 112));
	memory_refresh(made->guest.memory);
}
