/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes system calls that wait for futexes; see lock_futex.h. The arguments (Linux
 * kernel/futex/syscalls.c, include/uapi/linux/futex.h):
 *
 *   futex(word, command, value, ...)
 *   futex_waitv(waiters, n, flags, ...)      from 5.16
 *   futex_wait(word, value, mask, flags, ..) from 6.7
 *
 * where command has a flag for private futexes, and waiters is an array of
 *
 *   struct futex_waitv { u64 value; u64 word; u32 flags; u32 reserved; }
 *
 * in user memory. A task that waits for several futexes wakes up with the first of them. So it
 * counts as waiting for no lock: it may go on while the other locks are still held.
 */
#include "config.h"

#include "linux/lock_futex.h"

#include "linux/process/sleeper_arch.h"

#define FUTEX_COMMAND     0x7fU
#define FUTEX_PRIVATE     0x80U /* the flags of the later calls have it as FUTEX2_PRIVATE */
#define FUTEX_WAIT        0U
#define FUTEX_LOCK_PI     6U
#define FUTEX_WAIT_BITSET 9U
#define FUTEX_LOCK_PI2    13U
#define FUTEX_WAITERS     0x80000000U

#define GLIBC_LOCKED_WAITERS 2 /* glibc sysdeps/nptl/lowlevellock.h */

static bool lock_futex_is_mutex(uint64_t value)
{
	return (uint32_t)value == GLIBC_LOCKED_WAITERS || (uint32_t)value & FUTEX_WAITERS;
}

static void lock_futex_parse(const struct system_call *call, struct lock_futex *futex)
{
	unsigned command = (unsigned)call->arguments[1] & FUTEX_COMMAND;

	*futex = (struct lock_futex){
		.address = call->arguments[0],
		.is_shared = !(call->arguments[1] & FUTEX_PRIVATE),
		.is_wait = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET,
		.is_pi = command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2,
		.is_mutex = lock_futex_is_mutex(call->arguments[2]),
	};
}

static void lock_futex_set_wait(uint64_t word, uint64_t value, uint64_t flags,
				struct lock_futex *futex)
{
	*futex = (struct lock_futex){
		.address = word,
		.is_shared = !(flags & FUTEX_PRIVATE),
		.is_wait = true,
		.is_mutex = lock_futex_is_mutex(value),
	};
}

static bool lock_futex_read_waiter(const struct linux_guest *guest, const struct lock_task *task,
				   const struct system_call *call, struct lock_futex *futex)
{
	struct {
		uint64_t value, word;
		uint32_t flags, reserved;
	} waiter;

	if (call->arguments[1] != 1 || !task->user || linux_is_kernel(call->arguments[0]) ||
	    memory_read_again(guest->memory, *task->user, call->arguments[0], &waiter,
			      sizeof(waiter)) != sizeof(waiter))
		return false;
	lock_futex_set_wait(waiter.word, waiter.value, waiter.flags, futex);
	return true;
}

bool lock_futex_get(const struct linux_guest *guest, const struct lock_task *task,
		    struct lock_futex *futex)
{
	const struct sleeper_stack stack = { .guest = guest,
					     .task = task->address,
					     .sp = task->sp,
					     .bytes = task->stack,
					     .size_bytes = task->stack_bytes };
	struct system_call call;

	if (!task->mm || !sleeper_arch_get_call(&stack, &call))
		return false;
	switch (call.kind) {
	case CALL_FUTEX:
		lock_futex_parse(&call, futex);
		return true;
	case CALL_FUTEX_WAIT:
		lock_futex_set_wait(call.arguments[0], call.arguments[1], call.arguments[3],
				    futex);
		return true;
	case CALL_FUTEX_WAITV:
		return lock_futex_read_waiter(guest, task, &call, futex);
	case CALL_OTHER:
		break;
	}
	return false;
}
