/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints tables of waits and locks as JSON, for tests/cli/json: one with every kind of lock, every
 * way to know its holder, every state of a task and a deadlock; one of a guest without tasks; one
 * before the first look; and a comparison of the last with the first.
 */
#include "config.h"

#include "tests/support/profile_stacks.h"
#include "xtop/export/export.h"
#include "xtop/profile/wait_sites.h"

#define N_CERTAINTIES (OS_HOLDER_NO_TASK + 1)
#define N_KINDS       (N_OS_LOCK_KINDS - 1) /* OS_LOCK_NONE is left out */
#define N_LOCKS       (N_KINDS * N_CERTAINTIES)

static struct frames *frames;

static void add_rows(struct snapshot_waits *waits, uint32_t process, uint32_t site)
{
	waits->rows = calloc(1, sizeof(*waits->rows));
	waits->n_rows = 1;
	waits->rows[0] = (struct snapshot_wait){ .process = process,
						 .thread = FRAME_NONE,
						 .site = site,
						 .kind = WAIT_PIPE,
						 .now = 5,
						 .states = (1U << N_OS_WAIT_STATES) - 1,
						 .longest_ns = 2 * SECOND };
}

/* Task 1 + i waits for lock i, which the next task holds; the last one's the first. */
static void add_locks(struct snapshot_waits *waits, uint32_t process, uint32_t site)
{
	waits->locks = calloc(N_LOCKS, sizeof(*waits->locks));
	waits->lock_tasks = calloc(N_LOCKS + 1, sizeof(*waits->lock_tasks));
	for (uint32_t i = 0; i < N_LOCKS; i++) {
		waits->locks[i] = (struct snapshot_lock){
			.address = 0xffff888004a3c000 + 64 * i,
			.kind = (uint8_t)(1 + i % N_KINDS),
			.name = "i_rwsem of /a \"b\"\\",
			.waits = 3,
			.now = 1,
			.certainty = (uint8_t)(i / N_KINDS),
			.holder_pid = i / N_KINDS ? 1 + (i + 1) % N_LOCKS : 0,
		};
		waits->lock_tasks[i] = (struct snapshot_lock_task){ .pid = 1 + i,
								    .process = process,
								    .thread = FRAME_NONE,
								    .site = site,
								    .lock = i,
								    .waited_ns = SECOND,
								    .n_frames = 1,
								    .frames = { site } };
	}
	waits->n_locks = waits->n_lock_tasks = N_LOCKS;
	/* Two of them wait for each other; one more runs. */
	waits->locks[0].holder_pid = 2;
	waits->locks[1].holder_pid = 1;
	waits->locks[0].certainty = waits->locks[1].certainty = OS_HOLDER_EXACT;
	for (uint32_t i = 0; i < N_LOCKS; i++) {
		waits->lock_tasks[i].holder_pid = waits->locks[i].holder_pid;
		waits->lock_tasks[i].certainty = waits->locks[i].certainty;
	}
	waits->lock_tasks[waits->n_lock_tasks++] =
		(struct snapshot_lock_task){ .pid = N_LOCKS + 1,
					     .process = FRAME_NONE,
					     .thread = FRAME_NONE,
					     .site = FRAME_NONE,
					     .lock = SNAPSHOT_NO_LOCK,
					     .on_cpu = true,
					     .cpu = 1 };
}

static struct snapshot *make(bool has_tasks)
{
	const uint32_t stack[] = { frames_intern_process(frames, "\303\244\"\\", ""),
				   frames_intern(frames, FRAME_KIND_KERNEL, "pipe_read", "[kernel]",
						 0) };
	struct profile *profile;
	struct snapshot *snapshot;

	must(profile_create(4096, 0, frames, &profile));
	if (has_tasks)
		profile_add(profile, stack, 2, 1, 1, 5000);
	must(profile_copy(profile, 1, &snapshot));
	profile_destroy(profile);
	snapshot->waits = calloc(1, sizeof(*snapshot->waits));
	if (!has_tasks)
		return snapshot;
	snapshot->waits->span_live = snapshot->waits->span_ticks = 1000;
	snapshot->waits->counts.passes = 2;
	add_rows(snapshot->waits, stack[0], stack[1]);
	add_locks(snapshot->waits, stack[0], stack[1]);
	return snapshot;
}

static void print(struct snapshot *snapshot)
{
	const struct table_options options = { .title = "web01" };

	must(export_waits_json(snapshot, &options, stdout));
	snapshot_destroy(snapshot);
}

/* Compares a snapshot without waits with the first one. */
static void print_diff(void)
{
	const struct waits_diff_options options = { "old.xrec", "new.xrec", false, true };
	struct snapshot *now = make(false), *base = make(true);

	must(export_waits_diff(now, base, &options, stdout));
	snapshot_destroy(base);
	snapshot_destroy(now);
}

int main(void)
{
	struct snapshot *unsupported;

	must(frames_create(NULL, &frames));
	print(make(true));
	unsupported = make(false);
	unsupported->waits->unsupported = true;
	print(unsupported);
	print(make(false));
	print_diff();
	frames_destroy(frames);
	return 0;
}
