/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made kernel of 32-bit Arm; see made_arm32.h. */
#include "config.h"

#include "made_arm32.h"

#include <string.h>

#include "linux/kernel/search.h"

static void put(struct made_i386 *made, uint64_t offset, uint64_t word)
{
	made_i386_put(made, offset, word, 4);
}

static void put_code(struct made_i386 *made, uint64_t offset, const uint32_t *code, size_t n)
{
	memcpy(made->bytes + offset, code, n * sizeof(*code));
}

/* Writes a task_struct as put_task() of made_i386.c does, with a canary. The task sleeps. */
static void put_task(struct made_i386 *made, uint64_t task, uint32_t pid, uint32_t tgid,
		     const char *comm)
{
	uint64_t parents = task + MADE_ARM_PID + 12;

	memset(made->bytes + task, 0, 2048);
	put(made, task + 16, MADE_BASE + 0x48000); /* r4: looks like a stack, but is none */
	put(made, task + 48, MADE_BASE + MADE_STACK + 0x1e20);
	put(made, task + 52, MADE_BASE + MADE_TEXT + 0x1230);
	put(made, task + MADE_ARM_STACK - 4, MADE_BASE + 0x48000);
	put(made, task + MADE_ARM_STACK, MADE_BASE + MADE_STACK);
	put(made, task + MADE_ARM_STACK + 8, 0x400000);
	put(made, task + MADE_ARM_PID, pid);
	put(made, task + MADE_ARM_PID + 4, tgid);
	put(made, task + MADE_ARM_PID + 8, 0xdeadbe01);
	put(made, parents, MADE_BASE + MADE_PARENT);
	put(made, parents + 4, MADE_BASE + MADE_PARENT);
	put(made, parents + 24, MADE_BASE + MADE_LEADER);
	memcpy(made->bytes + task + MADE_ARM_COMM, comm, strlen(comm) + 1);
}

/* Entry I describes the I-th 16 bytes of code: its first word is the distance to them. */
static void put_exidx(struct made_i386 *made)
{
	for (uint32_t i = 0; i < MADE_ARM_ENTRIES; i++) {
		uint32_t at = MADE_ARM_EXIDX + 8 * i;

		put(made, at, (MADE_TEXT + 16 * i - at) & 0x7fffffff);
		put(made, at + 4, 0x80b0b0b0);
	}
}

void made_arm32_begin(struct made_i386 *made)
{
	/* movw, movt of the table and of runqueues; ldr, add; ldr of curr and idle */
	static const uint32_t idle_cpu[] = { 0xe92d0810, 0xe3002000, 0xe34c2002, 0xe3003800,
					     0xe34c3002, 0xe7922100, 0xe0833002, 0xe59315d8,
					     0xe59325dc, 0xe1510002 };
	/* mrc, ldr of the CPU, add of the name, ldr of the pid */
	static const uint32_t info[] = { 0xe92d4ff0, 0xee1d5f70, 0xe1a04000, 0xe5953008,
					 0xe285bd1e, 0xe595a630, 0xebdbeae7 };

	made_i386_begin(made, true);
	made_i386_put(made, MADE_TABLES + 0x20 + 8 * 2, 0x8000 | 3, 8);
	made_i386_put(made, MADE_TABLES + 0x20 + 8 * 3, MADE_KERNEL | 3, 8);
	made_i386_put(made, MADE_KERNEL, 1, 8); /* 2 MiB at address 0 */
	put_code(made, MADE_IDLE_CPU, idle_cpu, sizeof(idle_cpu) / sizeof(*idle_cpu));
	put_code(made, MADE_INFO, info, sizeof(info) / sizeof(*info));
	put(made, MADE_ARM_CURRENT + MADE_AREA, MADE_BASE + MADE_TASK);
	put_task(made, MADE_TASK, 71, 70, "thread");
	put_task(made, MADE_LEADER, 70, 70, "leader");
	put_task(made, MADE_PARENT, 1, 1, "init");
	put_exidx(made);
	made->guest.root = (struct memory_root){ .arm64 = { .table0 = MADE_TABLES + 0x20,
							    .table1 = MADE_KERNEL,
							    .size1 = 2,
							    .is_long = true,
							    .kind = ROOT_ARM32 } };
	made->guest.symbols[LINUX_GETPID] = 0;
	memory_refresh(made->guest.memory);
}

void made_arm32_search(struct made_i386 *made)
{
	const struct memory_range image[] = {
		{ .start = MADE_BASE + MADE_TEXT, .end = MADE_BASE + 0x20000, .executable = true },
		{ .start = MADE_BASE + MADE_ARM_EXIDX - 0x1000, .end = MADE_BASE + 0x80000 },
		{ .start = MADE_BASE + 0x80000, .end = MADE_BASE + 0x200000, .writable = true },
	};

	search_symbols(&made->guest, image, 3);
}
