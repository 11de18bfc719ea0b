/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made 32-bit kernel; see made_i386.h. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "linux/kernel/search.h"
#include "made_i386.h"
#include "must.h"

static void made_read(void *context, const frame_t *frames, size_t n, void *to, bool *ok)
{
	const struct made_i386 *made = context;

	for (size_t i = 0; i < n; i++) {
		ok[i] = frames[i].value < MADE_FRAMES + MADE_HIGH;
		if (ok[i])
			memcpy((char *)to + i * 4096, made->bytes + frames[i].value * 4096, 4096);
	}
}

static void made_close(void *context)
{
	(void)context;
}

void made_i386_put(struct made_i386 *made, uint64_t offset, uint64_t value, size_t n)
{
	memcpy(made->bytes + offset, &value, n);
}

static void put_code(struct made_i386 *made, uint64_t offset, const uint8_t *code, size_t n)
{
	memcpy(made->bytes + offset, code, n);
}

/* Writes a task_struct with these numbers and this name, whose pointers lead to tasks. */
static void put_task(struct made_i386 *made, uint64_t task, uint32_t pid, uint32_t tgid,
		     const char *comm, bool has_canary)
{
	uint64_t parents = task + MADE_PID + 8 + (has_canary ? 4 : 0);

	made_i386_put(made, task + 16, 0, 4);
	made_i386_put(made, task + 20, MADE_BASE + MADE_STACK, 4);
	made_i386_put(made, task + 28, 0x400000, 4);
	made_i386_put(made, task + MADE_PID, pid, 4);
	made_i386_put(made, task + MADE_PID + 4, tgid, 4);
	if (has_canary)
		made_i386_put(made, task + MADE_PID + 8, 0xdeadbe01, 4);
	made_i386_put(made, parents, MADE_BASE + MADE_PARENT, 4);
	made_i386_put(made, parents + 4, MADE_BASE + MADE_PARENT, 4);
	made_i386_put(made, parents + 24, MADE_BASE + MADE_LEADER, 4);
	memset(made->bytes + task + MADE_COMM, 0, 16);
	memcpy(made->bytes + task + MADE_COMM, comm, strlen(comm));
}

void made_i386_begin(struct made_i386 *made, bool has_canary)
{
	/* mov %fs:CURRENT, %eax */
	static const uint8_t getpid[] = { 0x55, 0x31, 0xc9, 0x64, 0xa1, 0x08, 0x08, 0x02, 0xc0 };
	/* mov $0xc3e8a9c0, %eax; add PER_CPUS(,%edx,4), %eax */
	static const uint8_t idle_cpu[] = { 0x55, 0xb8, 0xc0, 0xa9, 0xe8, 0xc3, 0x03,
					    0x04, 0x95, 0x00, 0x00, 0x02, 0xc0 };
	/* mov %fs:CURRENT, %edx; push $0; lea COMM(%edx), %eax; push %eax; push PID(%edx) */
	static const uint8_t info[] = { 0x64, 0x8b, 0x15, 0x08, 0x08, 0x02, 0xc0, 0x6a,
					0x00, 0x8d, 0x82, 0x84, 0x05, 0x00, 0x00, 0x50,
					0xff, 0xb2, 0x54, 0x04, 0x00, 0x00 };

	memset(made->bytes, 0, MADE_END);
	memset(made->bytes + MADE_FRAMES * 4096, 0, MADE_HIGH * 4096);
	/* entry 2 of the page-directory-pointer table is the process's own */
	made_i386_put(made, MADE_TABLES + 0x20 + 8 * 2, 0x8000 | 1, 8);
	made_i386_put(made, MADE_TABLES + 0x20 + 8 * 3, MADE_KERNEL | 1, 8);
	made_i386_put(made, MADE_KERNEL, 0x80 | 3, 8); /* 2 MiB at address 0 */
	made_i386_put(made, MADE_OWN + 8 * 3, MADE_KERNEL | 1, 8);
	put_code(made, MADE_GETPID, getpid, sizeof(getpid));
	put_code(made, MADE_IDLE_CPU, idle_cpu, sizeof(idle_cpu));
	put_code(made, MADE_INFO, info, sizeof(info));
	made_i386_put(made, MADE_PER_CPUS, MADE_AREA, 4);
	made_i386_put(made, MADE_CURRENT + MADE_AREA, MADE_BASE + MADE_TASK, 4);
	put_task(made, MADE_TASK, 71, 70, "thread", has_canary);
	put_task(made, MADE_LEADER, 70, 70, "leader", has_canary);
	put_task(made, MADE_PARENT, 1, 1, "init", has_canary);
	made->guest.root = (struct memory_root){ .cr3 = MADE_TABLES + 0x20, .width = WIDTH_32_PAE };
	memset(made->guest.symbols, 0, sizeof(made->guest.symbols));
	made->guest.symbols[LINUX_TEXT] = MADE_BASE + MADE_TEXT;
	made->guest.symbols[LINUX_GETPID] = MADE_BASE + MADE_GETPID;
	made->guest.symbols[LINUX_IDLE_CPU] = MADE_BASE + MADE_IDLE_CPU;
	made->guest.symbols[LINUX_STACK_INFO] = MADE_BASE + MADE_INFO;
	made->guest.symbols[LINUX_BANNER] = MADE_BASE;
	layout_init(&made->guest.layout);
	memory_refresh(made->guest.memory);
}

void made_i386_search(struct made_i386 *made)
{
	const struct memory_range data = { .start = MADE_BASE,
					   .end = MADE_BASE + MADE_END,
					   .writable = true };

	search_symbols(&made->guest, &data, 1);
}

static struct made_i386 *made_i386_only;

struct made_i386 *made_i386(void)
{
	static const struct memory_ops ops = { .read = made_read, .close = made_close };
	struct made_i386 *made = made_i386_only;

	if (!made) {
		made = calloc(1, sizeof(*made));
		if (!made)
			abort();
		must(memory_create(&ops, made, &made->guest.memory));
		made_i386_only = made;
	}
	made_i386_begin(made, true);
	return made;
}

void made_i386_destroy(void)
{
	memory_destroy(made_i386_only->guest.memory);
	free(made_i386_only);
	made_i386_only = NULL;
}
