/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of locks share: a made-up guest, and tasks that wait with records on their stacks. */
#ifndef TESTS_LINUX_LOCK_FIXTURE_H
#define TESTS_LINUX_LOCK_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "linux/lock_finder.h"
#include "linux/lock_owner.h"
#include "tests/support/made_linux.h"
#include "tests/support/tap.h"
#include "xtop/base/registers_x86.h"

#define STACK_BYTES 16384
#define LIVE_BYTES  1024 /* live part of a stack: the record in front, registers at the end */
#define RECORD_AT   256

struct lock_fixture {
	struct made_linux *made;
	struct memory_root user; /* page tables of the tasks with an mm_struct */
};

/* A sleeping task. */
struct waiter {
	uint64_t task, stack, record; /* addresses; record is that of the list_head */
	unsigned char bytes[LIVE_BYTES];
	struct lock_task lock_task;
};

static inline void put(struct lock_fixture *fixture, uint64_t address, uint64_t value)
{
	made_put_u64(fixture->made->memory, fixture->made->guest.root, address, value);
	memory_refresh(fixture->made->guest.memory);
}

static inline struct waiter make_waiter(struct lock_fixture *fixture, uint32_t pid,
					enum layout_member list, uint64_t mm)
{
	struct waiter waiter = { .task = made_task(fixture->made, pid, pid, "waiter", mm, 0),
				 .stack = made_object(fixture->made, STACK_BYTES, STACK_BYTES) };

	made_set(fixture->made, waiter.task, TASK_STACK, waiter.stack);
	made_set(fixture->made, waiter.task, TASK_SP, waiter.stack + STACK_BYTES - LIVE_BYTES);
	waiter.record = waiter.stack + STACK_BYTES - LIVE_BYTES + RECORD_AT +
			made_offset(fixture->made, list);
	return waiter;
}

/* The stack's bytes as sleeper_stacks.c reads them. */
static inline const struct lock_task *as_read(struct lock_fixture *fixture, struct waiter *waiter,
					      uint64_t mm)
{
	uint64_t sp = waiter->stack + STACK_BYTES - LIVE_BYTES;

	memory_read(fixture->made->guest.memory, fixture->made->guest.root, sp, waiter->bytes,
		    LIVE_BYTES);
	waiter->lock_task = (struct lock_task){ .address = waiter->task,
						.mm = mm,
						.sp = sp,
						.stack = waiter->bytes,
						.stack_bytes = LIVE_BYTES,
						.user = mm ? &fixture->user : NULL };
	return &waiter->lock_task;
}

static inline bool finds(struct lock_fixture *fixture, struct waiter *waiter, uint64_t mm,
			 enum os_lock_kind kind, struct lock_wait *wait)
{
	return lock_finder_find(&fixture->made->guest, as_read(fixture, waiter, mm), kind, wait);
}

/* Puts N waiters into the list at HEAD, in that order. */
static inline void link_waiters(struct lock_fixture *fixture, uint64_t head,
				const struct waiter *waiters, size_t n, enum layout_member list,
				enum layout_member task)
{
	uint64_t at = head;

	for (size_t i = 0; i < n; i++) {
		uint64_t record = waiters[i].record;

		put(fixture,
		    record - made_offset(fixture->made, list) + made_offset(fixture->made, task),
		    waiters[i].task);
		put(fixture, at, record);
		put(fixture, record + 8, at);
		at = record;
	}
	put(fixture, at, head);
	put(fixture, head + 8, at);
}

static inline void begin(struct lock_fixture *fixture)
{
	fixture->made = made_linux_create(MADE_TREE);
}

static inline void end(struct lock_fixture *fixture)
{
	made_linux_destroy(fixture->made);
}

static inline void check_owner(struct lock_fixture *fixture, const struct lock_wait *wait,
			       enum os_holder certainty, uint64_t task, const char *what)
{
	struct lock_owner owner = lock_owner_read(&fixture->made->guest, wait, NULL);

	check(owner.certainty == certainty && owner.task == task, "%s: %d, %llx", what,
	      (int)owner.certainty, (unsigned long long)owner.task);
}

#define WORD 0x7f0000001000ULL

/* The waiter's system call: futex(WORD, COMMAND, VALUE). */
static inline void put_value(struct lock_fixture *fixture, const struct waiter *waiter,
			     uint64_t value)
{
	put(fixture, waiter->stack + STACK_BYTES - PT_REGS_BYTES + 8 * PT_REGS_RDX, value);
}

static inline void put_call(struct lock_fixture *fixture, const struct waiter *waiter,
			    uint64_t number, uint64_t command)
{
	uint64_t saved = waiter->stack + STACK_BYTES - PT_REGS_BYTES;

	put(fixture, saved + 8 * PT_REGS_ORIG_RAX, number);
	put(fixture, saved + 8 * PT_REGS_RDI, WORD);
	put(fixture, saved + 8 * PT_REGS_RSI, command);
	put_value(fixture, waiter, 2);
	put(fixture, saved + 8 * PT_REGS_CS, 0x33);
	put(fixture, saved + 8 * PT_REGS_RSP, 0x7ffffff0);
}

static inline void put_glibc(struct lock_fixture *fixture, uint32_t lock, uint32_t owner,
			     uint32_t users, uint32_t kind)
{
	const uint32_t words[] = { lock, 0, owner, users, kind };

	made_put(fixture->made->memory, fixture->user, WORD, words, sizeof(words));
	memory_refresh(fixture->made->guest.memory);
}

#endif
