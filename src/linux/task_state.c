/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the states of tasks; see task_state.h. Members that lie close together are read together,
 * in ascending order: a whole task_struct would be several KiB.
 */
#include "config.h"

#include "linux/task_state.h"

#include <string.h>


#define TASK_STATE_CLOSE_BYTES 128 /* members within this distance are read together */

/* Linux include/linux/sched.h. Values without a version are unchanged since v4.14. */
#define TASK_INTERRUPTIBLE   0x0001U
#define TASK_UNINTERRUPTIBLE 0x0002U
#define TASK_STOPPED         0x000cU /* stopped by a signal or by a tracer */
#define TASK_PARKED          0x0040U
#define TASK_DEAD            0x0080U
#define TASK_NOLOAD          0x0400U
#define TASK_RTLOCK_WAIT     0x1000U /* v5.16: waits for a spinlock that sleeps, with PREEMPT_RT */
/* v6.1: frozen by a cgroup's freezer, or to suspend the guest */
#define TASK_FROZEN 0x8000U

/* on_cpu is 0 or 1, in four bytes or in one. Its first byte has the value either way. */
static const struct {
	enum layout_member member;
	uint32_t size_bytes;
	bool needed;
} task_state_members[] = {
	{ TASK_STATE, 4, true },         { TASK_EXIT_STATE, 4, true },
	{ TASK_ON_CPU, 1, true },        { TASK_PID, 4, true },
	{ TASK_SWITCHES, 0, true },      { TASK_PREEMPTIONS, 0, true }, /* size 0: a long */
	{ TASK_START_TIME, 8, true },    { TASK_LAST_ARRIVAL, 8, false },
	{ TASK_LAST_QUEUED, 8, false },  { TASK_RUN_SUM, 8, false },
	{ TASK_RUN_SUM_THEN, 8, false }, { TASK_RUN_DELAY, 8, false },
};
#define N_TASK_STATE_MEMBERS (sizeof(task_state_members) / sizeof(task_state_members[0]))
_Static_assert(N_TASK_STATE_MEMBERS == TASK_STATE_MAX_PARTS, "each member may be a part");

/* Size of member I of task_state_members. */
static uint32_t task_state_bytes(const struct linux_guest *guest, size_t i)
{
	return task_state_members[i].size_bytes ? task_state_members[i].size_bytes
						: linux_word_bytes(guest);
}

/* --- where the members are -------------------------------------------------------------------- */

static uint32_t task_state_reader_find_span(const struct linux_guest *guest, uint32_t *startp)
{
	const struct layout *layout = &guest->layout;
	uint32_t start = UINT32_MAX, end = 0;

	for (size_t i = 0; i < N_TASK_STATE_MEMBERS; i++) {
		uint32_t offset, after;

		if (!layout_has(layout, task_state_members[i].member))
			continue;
		offset = layout_offset(layout, task_state_members[i].member);
		after = offset + task_state_bytes(guest, i);
		start = offset < start ? offset : start;
		end = after > end ? after : end;
	}
	*startp = start;
	return end - start;
}

/* Inserts a member into the parts, which ascend by offset. */
static void task_state_reader_add_part(struct task_state_reader *reader, uint32_t offset,
				       uint32_t size_bytes)
{
	unsigned i = reader->n_parts;

	for (; i > 0 && reader->parts[i - 1].offset > offset; i--)
		reader->parts[i] = reader->parts[i - 1];
	reader->parts[i].offset = offset;
	reader->parts[i].size_bytes = size_bytes;
	reader->n_parts++;
}

void task_state_reader_init(struct task_state_reader *reader, const struct linux_guest *guest)
{
	const struct layout *layout = &guest->layout;
	unsigned n = 0;

	reader->guest = guest;
	task_state_reader_find_span(guest, &reader->span_start);
	for (size_t i = 0; i < N_TASK_STATE_MEMBERS; i++)
		if (layout_has(layout, task_state_members[i].member))
			task_state_reader_add_part(
				reader, layout_offset(layout, task_state_members[i].member),
				task_state_bytes(guest, i));
	for (unsigned i = 1; i < reader->n_parts; i++) {
		uint32_t start = reader->parts[n].offset, end = start + reader->parts[n].size_bytes;

		if (reader->parts[i].offset > end + TASK_STATE_CLOSE_BYTES)
			reader->parts[++n] = reader->parts[i];
		else if (reader->parts[i].offset + reader->parts[i].size_bytes > end)
			reader->parts[n].size_bytes =
				reader->parts[i].offset + reader->parts[i].size_bytes - start;
	}
	reader->n_parts = n + 1;
}

bool task_state_reader_can_read(const struct linux_guest *guest)
{
	uint32_t start;

	for (size_t i = 0; i < N_TASK_STATE_MEMBERS; i++)
		if (task_state_members[i].needed &&
		    !layout_has(&guest->layout, task_state_members[i].member))
			return false;
	return task_state_reader_find_span(guest, &start) <= TASK_STATE_SPAN_BYTES;
}

/* --- reading a state -------------------------------------------------------------------------- */

/* MEMBER of the task_struct in reader->span; 0 if the layout lacks it. */
static uint64_t task_state_get(const struct task_state_reader *reader, enum layout_member member,
			       size_t bytes)
{
	uint64_t value = 0;

	if (layout_has(&reader->guest->layout, member))
		memcpy(&value,
		       reader->span +
			       (layout_offset(&reader->guest->layout, member) - reader->span_start),
		       bytes);
	return value;
}

/*
 * Reads all parts of the task_struct, in ascending order. `state` and on_cpu lie in front of the
 * switches in every kernel so far; the order does not matter for the comparison of two states.
 */
static bool task_state_reader_read_parts(struct task_state_reader *reader, uint64_t task,
					 bool again)
{
	const struct linux_guest *guest = reader->guest;

	if (!linux_is_kernel_of(guest, task))
		return false;
	for (unsigned i = 0; i < reader->n_parts; i++) {
		uint32_t offset = reader->parts[i].offset, bytes = reader->parts[i].size_bytes;

		if ((again ? memory_read_again : memory_read)(
			    guest->memory, guest->root, task + offset,
			    reader->span + (offset - reader->span_start), bytes) != bytes)
			return false;
	}
	return true;
}

static uint64_t task_state_page(uint64_t address)
{
	return address & ~(uint64_t)GUEST_PAGE_MASK;
}

size_t task_state_reader_list_pages(const struct task_state_reader *reader, uint64_t task,
				    uint64_t *addresses, size_t max)
{
	uint64_t last = UINT64_MAX;
	size_t n = 0;

	if (!linux_is_kernel_of(reader->guest, task))
		return 0;
	for (unsigned i = 0; i < reader->n_parts; i++) {
		uint64_t first = task + reader->parts[i].offset;
		uint64_t final = task_state_page(first + reader->parts[i].size_bytes - 1);

		/* The guest chose TASK, so that the address may wrap around to 0. */
		for (uint64_t page = task_state_page(first); n < max; page += GUEST_PAGE_SIZE) {
			if (page != last)
				addresses[n++] = last = page;
			if (page == final)
				break;
		}
	}
	return n;
}

static bool task_state_reader_get(struct task_state_reader *reader, uint64_t task, bool again,
				  struct task_state *state, struct task_state_times *times)
{
	unsigned word_bytes = linux_word_bytes(reader->guest);
	uint64_t sum, then, sleeps;

	if (!task_state_reader_read_parts(reader, task, again))
		return false;
	sleeps = task_state_get(reader, TASK_SWITCHES, word_bytes);
	*state = (struct task_state){
		.switches = sleeps + task_state_get(reader, TASK_PREEMPTIONS, word_bytes),
		.start_time = task_state_get(reader, TASK_START_TIME, 8),
		.pid = (uint32_t)task_state_get(reader, TASK_PID, 4),
		.state = (uint32_t)task_state_get(reader, TASK_STATE, 4),
		.exit_state = (uint32_t)task_state_get(reader, TASK_EXIT_STATE, 4),
		.on_cpu = (uint32_t)task_state_get(reader, TASK_ON_CPU, 1),
	};
	sum = task_state_get(reader, TASK_RUN_SUM, 8);
	then = task_state_get(reader, TASK_RUN_SUM_THEN, 8);
	*times = (struct task_state_times){
		.arrival = task_state_get(reader, TASK_LAST_ARRIVAL, 8),
		.queued = task_state_get(reader, TASK_LAST_QUEUED, 8),
		.run_ns = sum > then ? sum - then : 0,
		.sums = { .sleeps = sleeps,
			  .ran_ns = sum,
			  .delay_ns = task_state_get(reader, TASK_RUN_DELAY, 8) },
	};
	return true;
}

bool task_state_reader_read(struct task_state_reader *reader, uint64_t task,
			    struct task_state *state, struct task_state_times *times)
{
	return task_state_reader_get(reader, task, true, state, times);
}

bool task_state_reader_read_copy(struct task_state_reader *reader, uint64_t task,
				 struct task_state *state, struct task_state_times *times)
{
	return task_state_reader_get(reader, task, false, state, times);
}

bool task_state_equal(const struct task_state *a, const struct task_state *b)
{
	return a->switches == b->switches && a->start_time == b->start_time && a->pid == b->pid &&
	       a->state == b->state && a->exit_state == b->exit_state && !a->on_cpu == !b->on_cpu;
}

bool task_state_is_gone(const struct task_state *state)
{
	return state->exit_state || state->state & TASK_DEAD;
}

enum os_wait_state task_state_wait_state(const struct task_state *state)
{
	if (state->state & TASK_INTERRUPTIBLE)
		return OS_WAIT_SLEEPING;
	if (state->state & TASK_UNINTERRUPTIBLE)
		return state->state & TASK_NOLOAD ? OS_WAIT_IDLE : OS_WAIT_BLOCKED;
	if (state->state & (TASK_RTLOCK_WAIT | TASK_FROZEN)) /* ps shows these states, too */
		return OS_WAIT_BLOCKED;
	return state->state & (TASK_STOPPED | TASK_PARKED) ? OS_WAIT_STOPPED : OS_WAIT_RUNNABLE;
}
