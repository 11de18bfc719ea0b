/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 32-bit kernel whose data has no names: its page tables, its running task, the members of a task,
 * and a task's names. The kernel is a valid one that the input changes.
 */
#include "config.h"

#include <string.h>

#include "linux/kernel/layout_i386.h"
#include "linux/process/tasks.h"
#include "tests/fuzz/change.h"
#include "tests/support/made_i386.h"

/* Where the kernel has what is looked at; a change is within so many bytes of one of them. */
static const uint32_t places[] = { MADE_TABLES,
				   MADE_KERNEL,
				   MADE_OWN,
				   MADE_GETPID,
				   MADE_IDLE_CPU,
				   MADE_INFO,
				   MADE_PER_CPUS,
				   MADE_CURRENT,
				   MADE_TASK,
				   MADE_LEADER,
				   MADE_PARENT,
				   MADE_TASK + MADE_PID,
				   MADE_LEADER + MADE_PID,
				   MADE_TASK + MADE_COMM,
				   MADE_LEADER + MADE_COMM,
				   MADE_CURRENT + MADE_AREA };
#define NEAR_BYTES 64

static void find_task(struct made_i386 *made)
{
	struct tasks *tasks;
	const struct task *task;
	uint64_t current = layout_i386_read_current(&made->guest);

	fuzz_must(!current || current >= MADE_BASE, "a task is in the kernel's memory");
	made->guest.has_layout = layout_i386_find(&made->guest, &made->guest.layout);
	if (!made->guest.has_layout)
		return;
	fuzz_succeed(tasks_create(&made->guest, &tasks));
	task = tasks_find(tasks, MADE_BASE + MADE_TASK, 1);
	if (task)
		fuzz_must(memchr(task->comm, 0, sizeof(task->comm)) != NULL, "a name has an end");
	tasks_destroy(tasks);
}

static bool check_right(struct made_i386 *made)
{
	made_i386_search(made);
	fuzz_must(layout_i386_read_current(&made->guest) == MADE_BASE + MADE_TASK,
		  "a right kernel is found");
	find_task(made);
	fuzz_must(made->guest.has_layout, "so are its members");
	return true;
}

static void spoil(struct made_i386 *made, struct fuzz *fuzz)
{
	while (fuzz->left_bytes) {
		uint8_t where = fuzz_u8(fuzz);
		uint64_t at = places[where % 16] + fuzz_u8(fuzz) % NEAR_BYTES, was = 0;
		enum change_kind kind = fuzz_change_kind(fuzz);

		memcpy(&was, made->bytes + at, 4);
		made_i386_put(made, at,
			      kind == CHANGE_ADDRESS ? MADE_BASE + places[fuzz_u8(fuzz) % 16]
						     : fuzz_change(fuzz, kind, was),
			      where & 0x80 ? 1 : 4);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static bool is_checked;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct made_i386 *made = made_i386();
	uint8_t how = fuzz_u8(&fuzz);

	if (!made)
		return 0;
	if (!is_checked)
		is_checked = check_right(made);
	made_i386_begin(made, how & 1);
	if (how & 2) {
		memset(made->bytes + MADE_TABLES, 0, 0x2000);
		made_i386_put(made, MADE_TABLES + 4 * 768, 0x80 | 3, 4);
		made_i386_put(made, MADE_OWN + 4 * 768, 0x80 | 3, 4);
		made->guest.root = (struct memory_root){ .cr3 = MADE_TABLES, .width = WIDTH_32 };
	}
	spoil(made, &fuzz);
	memory_refresh(made->guest.memory);
	made_i386_search(made);
	find_task(made);
	return 0;
}
