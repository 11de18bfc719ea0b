/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at tasks; see look.h. Members that lie close together are read together, ascending: all of
 * a task_struct would be several KiB.
 */
#include "config.h"

#include "linux/look.h"

#include <string.h>

#include "linux/kernel/member.h"

#define LOOK_CLOSE_BYTES 128 /* members so close are read together */

/* Linux include/linux/sched.h; the same since v4.14, but for those with a version. */
#define TASK_INTERRUPTIBLE   0x0001U
#define TASK_UNINTERRUPTIBLE 0x0002U
#define TASK_STOPPED         0x000cU /* by a signal, by a tracer */
#define TASK_PARKED          0x0040U
#define TASK_DEAD            0x0080U
#define TASK_NOLOAD          0x0400U
#define TASK_RTLOCK_WAIT     0x1000U /* v5.16: for a spinlock that sleeps, with PREEMPT_RT */
#define TASK_FROZEN          0x8000U /* v6.1: by a cgroup's freezer, or to suspend the guest */

/* on_cpu is 0 or 1, in four bytes or in one (layout.c): the first byte tells. */
static const struct {
	enum layout_member member;
	uint32_t size_bytes;
	bool needed;
} look_members[] = {
	{ TASK_STATE, 4, true },         { TASK_EXIT_STATE, 4, true },
	{ TASK_ON_CPU, 1, true },        { TASK_PID, 4, true },
	{ TASK_SWITCHES, 0, true },      { TASK_PREEMPTIONS, 0, true }, /* longs */
	{ TASK_START_TIME, 8, true },    { TASK_LAST_ARRIVAL, 8, false },
	{ TASK_LAST_QUEUED, 8, false },  { TASK_RUN_SUM, 8, false },
	{ TASK_RUN_SUM_THEN, 8, false }, { TASK_RUN_DELAY, 8, false },
};
#define N_LOOK_MEMBERS (sizeof(look_members) / sizeof(look_members[0]))
_Static_assert(N_LOOK_MEMBERS == LOOK_MAX_PARTS, "each member may be a part");

/* Bytes of member I. */
static uint32_t look_bytes(const struct linux_guest *guest, size_t i)
{
	return look_members[i].size_bytes ? look_members[i].size_bytes : linux_word_bytes(guest);
}

/* --- where the members are ------------------------------------------------------------------- */

static uint32_t looker_find_span(const struct linux_guest *guest, uint32_t *startp)
{
	const struct layout *layout = &guest->layout;
	uint32_t start = UINT32_MAX, end = 0;

	for (size_t i = 0; i < N_LOOK_MEMBERS; i++) {
		uint32_t offset, behind;

		if (!layout_has(layout, look_members[i].member))
			continue;
		offset = layout_offset(layout, look_members[i].member);
		behind = offset + look_bytes(guest, i);
		start = offset < start ? offset : start;
		end = behind > end ? behind : end;
	}
	*startp = start;
	return end - start;
}

/* Adds a member to the parts, which ascend: to one that it lies close behind, or as a new one. */
static void looker_add_part(struct looker *looker, uint32_t offset, uint32_t size_bytes)
{
	unsigned i = looker->n_parts;

	for (; i > 0 && looker->parts[i - 1].offset > offset; i--)
		looker->parts[i] = looker->parts[i - 1];
	looker->parts[i].offset = offset;
	looker->parts[i].size_bytes = size_bytes;
	looker->n_parts++;
}

void looker_init(struct looker *looker, const struct linux_guest *guest)
{
	const struct layout *layout = &guest->layout;
	unsigned n = 0;

	looker->guest = guest;
	looker_find_span(guest, &looker->span_start);
	for (size_t i = 0; i < N_LOOK_MEMBERS; i++)
		if (layout_has(layout, look_members[i].member))
			looker_add_part(looker, layout_offset(layout, look_members[i].member),
					look_bytes(guest, i));
	for (unsigned i = 1; i < looker->n_parts; i++) {
		uint32_t start = looker->parts[n].offset,
			 end = start + looker->parts[n].size_bytes;

		if (looker->parts[i].offset > end + LOOK_CLOSE_BYTES)
			looker->parts[++n] = looker->parts[i];
		else if (looker->parts[i].offset + looker->parts[i].size_bytes > end)
			looker->parts[n].size_bytes = looker->parts[i].offset +
							looker->parts[i].size_bytes - start;
	}
	looker->n_parts = n + 1;
}

bool looker_can_read(const struct linux_guest *guest)
{
	uint32_t start;

	for (size_t i = 0; i < N_LOOK_MEMBERS; i++)
		if (look_members[i].needed && !layout_has(&guest->layout, look_members[i].member))
			return false;
	return looker_find_span(guest, &start) <= LOOK_SPAN_BYTES;
}

/* --- a look ---------------------------------------------------------------------------------- */

/* The member of the task_struct in looker->span; 0: there is none. */
static uint64_t look_get(const struct looker *looker, enum layout_member member, size_t bytes)
{
	uint64_t value = 0;

	if (layout_has(&looker->guest->layout, member))
		memcpy(&value,
		       looker->span + (layout_offset(&looker->guest->layout, member) -
					 looker->span_start),
		       bytes);
	return value;
}

/*
 * All parts of the task_struct, ascending. `state` and on_cpu lie in front of the switches in every
 * kernel so far; the order does not matter for what a look is used for.
 */
static bool looker_read_parts(struct looker *looker, uint64_t task, bool again)
{
	const struct linux_guest *guest = looker->guest;

	if (!linux_is_kernel_of(guest, task))
		return false;
	for (unsigned i = 0; i < looker->n_parts; i++) {
		uint32_t offset = looker->parts[i].offset, bytes = looker->parts[i].size_bytes;

		if ((again ? memory_read_again : memory_read)(
			    guest->memory, guest->root, task + offset,
			    looker->span + (offset - looker->span_start), bytes) != bytes)
			return false;
	}
	return true;
}

static uint64_t look_page(uint64_t address)
{
	return address & ~(uint64_t)GUEST_PAGE_MASK;
}

size_t looker_list_pages(const struct looker *looker, uint64_t task, uint64_t *addresses,
			 size_t max)
{
	uint64_t last = UINT64_MAX;
	size_t n = 0;

	if (!linux_is_kernel_of(looker->guest, task))
		return 0;
	for (unsigned i = 0; i < looker->n_parts; i++) {
		uint64_t first = task + looker->parts[i].offset;
		uint64_t final = look_page(first + looker->parts[i].size_bytes - 1);

		/* TASK is what the guest says: behind the last address comes 0. */
		for (uint64_t page = look_page(first); n < max; page += GUEST_PAGE_SIZE) {
			if (page != last)
				addresses[n++] = last = page;
			if (page == final)
				break;
		}
	}
	return n;
}

static bool looker_get(struct looker *looker, uint64_t task, bool again, struct look *look,
		       struct look_times *times)
{
	unsigned word_bytes = linux_word_bytes(looker->guest);
	uint64_t sum, then, sleeps;

	if (!looker_read_parts(looker, task, again))
		return false;
	sleeps = look_get(looker, TASK_SWITCHES, word_bytes);
	*look = (struct look){
		.switches = sleeps + look_get(looker, TASK_PREEMPTIONS, word_bytes),
		.start_time = look_get(looker, TASK_START_TIME, 8),
		.pid = (uint32_t)look_get(looker, TASK_PID, 4),
		.state = (uint32_t)look_get(looker, TASK_STATE, 4),
		.exit_state = (uint32_t)look_get(looker, TASK_EXIT_STATE, 4),
		.on_cpu = (uint32_t)look_get(looker, TASK_ON_CPU, 1),
	};
	sum = look_get(looker, TASK_RUN_SUM, 8);
	then = look_get(looker, TASK_RUN_SUM_THEN, 8);
	*times = (struct look_times){
		.arrival = look_get(looker, TASK_LAST_ARRIVAL, 8),
		.queued = look_get(looker, TASK_LAST_QUEUED, 8),
		.run_ns = sum > then ? sum - then : 0,
		.sums = { .sleeps = sleeps,
			  .ran_ns = sum,
			  .delay_ns = look_get(looker, TASK_RUN_DELAY, 8) },
	};
	return true;
}

bool looker_read(struct looker *looker, uint64_t task, struct look *look, struct look_times *times)
{
	return looker_get(looker, task, true, look, times);
}

bool looker_read_copy(struct looker *looker, uint64_t task, struct look *look,
		      struct look_times *times)
{
	return looker_get(looker, task, false, look, times);
}

bool look_equal(const struct look *a, const struct look *b)
{
	return a->switches == b->switches && a->start_time == b->start_time && a->pid == b->pid &&
	       a->state == b->state && a->exit_state == b->exit_state && !a->on_cpu == !b->on_cpu;
}

bool look_is_gone(const struct look *look)
{
	return look->exit_state || look->state & TASK_DEAD;
}

enum os_wait_state look_state(const struct look *look)
{
	if (look->state & TASK_INTERRUPTIBLE)
		return OS_WAIT_SLEEPING;
	if (look->state & TASK_UNINTERRUPTIBLE)
		return look->state & TASK_NOLOAD ? OS_WAIT_IDLE : OS_WAIT_BLOCKED;
	if (look->state & (TASK_RTLOCK_WAIT | TASK_FROZEN)) /* as ps shows them */
		return OS_WAIT_BLOCKED;
	return look->state & (TASK_STOPPED | TASK_PARKED) ? OS_WAIT_STOPPED : OS_WAIT_RUNNABLE;
}
