/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits and locks as JSON, and two runs of them compared. */
#include "config.h"

#include "tests/support/profile_stacks.h"
#include "xtop/export/export.h"
#include "xtop/profile/wait_sites.h"

#define S 1000000000ULL

static struct frames *frames;

static uint32_t process(const char *name)
{
	return frames_intern_process(frames, name, NULL);
}

static uint32_t kernel(const char *name)
{
	return frames_intern(frames, FRAME_KIND_KERNEL, name, "[kernel]", 0);
}

/* In 10 s: PIPE_MS that cat waited for a pipe, JOURNAL_MS that db did for the journal. */
static struct snapshot *make(uint32_t pipe_ms, uint32_t journal_ms)
{
	const uint32_t cat[] = { process("cat"), kernel("pipe_read") };
	const uint32_t db[] = { process("db"), kernel("wait_transaction_locked") };
	const uint32_t idle[] = { process("kworker"), kernel("worker_thread") };
	struct profile *profile;
	struct snapshot *snapshot;
	struct snapshot_waits *waits;

	must(profile_create(4096, 0, frames, &profile));
	profile_add(profile, cat, 2, 1, 1, pipe_ms);
	if (journal_ms)
		profile_add(profile, db, 2, 1, 1, journal_ms);
	profile_add(profile, idle, 2, 1, 1, 10000);
	must(profile_copy(profile, 1, &snapshot));
	profile_destroy(profile);
	waits = snapshot->waits = malloc(sizeof(*waits));
	*waits = (struct snapshot_waits){ .span_live = 10000, .span_ticks = 10000 };
	waits->counts.tasks = 3;
	waits->counts.passes = 20;
	waits->rows = calloc(1, sizeof(*waits->rows));
	waits->n_rows = 1;
	waits->rows[0] = (struct snapshot_wait){ .process = cat[0],
						 .thread = FRAME_NONE,
						 .site = cat[1],
						 .kind = WAIT_PIPE,
						 .now = 2,
						 .states = 1U << OS_WAIT_SLEEPING,
						 .longest_ns = 3 * S };
	return snapshot;
}

/* cat 7 waits for a mutex that db 9 has. */
static struct snapshot *with_lock(struct snapshot *snapshot, double ms, const char *name)
{
	struct snapshot_waits *waits = snapshot->waits;

	waits->locks = calloc(1, sizeof(*waits->locks));
	waits->n_locks = 1;
	waits->locks[0] = (struct snapshot_lock){ .address = 0xffff888004a3c0d0,
						  .kind = OS_LOCK_MUTEX,
						  .waits = 3,
						  .longest_ns = S / 2,
						  .live_ticks = ms,
						  .ticks = ms,
						  .now = 1,
						  .certainty = OS_HOLDER_EXACT,
						  .holder_pid = 9 };
	strcpy(waits->locks[0].name, name);
	waits->lock_tasks = calloc(2, sizeof(*waits->lock_tasks));
	waits->n_lock_tasks = 2;
	waits->lock_tasks[0] = (struct snapshot_lock_task){ .pid = 7,
							    .process = process("cat"),
							    .thread = FRAME_NONE,
							    .site = kernel("pipe_read"),
							    .waited_ns = S / 4,
							    .n_frames = 2,
							    .frames = { kernel("schedule"),
									kernel("pipe_read") } };
	waits->lock_tasks[1] = (struct snapshot_lock_task){ .pid = 9,
							    .process = process("db"),
							    .thread = FRAME_NONE,
							    .site = FRAME_NONE,
							    .lock = SNAPSHOT_NO_LOCK,
							    .on_cpu = true };
	return snapshot;
}

static void test_json(void)
{
	const struct table_options options = { .title = "web01", .totals = true };
	struct snapshot *snapshot = with_lock(make(5000, 0), 2500, "cgroup_mutex");
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	must(export_waits_json(snapshot, &options, file));
	fclose(file);
	check_string(
		text,
		"{\"version\":1,\"title\":\"web01\",\"tasks_known\":true,\"tasks\":3,"
		"\"elapsed_s\":10,\"rate_hz\":2,\"idle\":1,\"left_out\":0,\"waiters\":1,"
		"\"deadlocks\":0,\"sites\":["
		"{\"now\":0,\"mean\":1,\"longest_s\":0,\"state\":\"-\",\"for\":\"work\","
		"\"process\":\"kworker\",\"thread\":\"\",\"site\":\"worker_thread\","
		"\"idle\":true},"
		"{\"now\":2,\"mean\":0.5,\"longest_s\":3,\"state\":\"S\",\"for\":\"pipe\","
		"\"process\":\"cat\",\"thread\":\"\",\"site\":\"pipe_read\",\"idle\":false}],"
		"\"locks\":[{\"kind\":\"mutex\",\"name\":\"cgroup_mutex\","
		"\"address\":\"0xffff888004a3c0d0\",\"now\":1,\"mean\":0.25,\"longest_s\":0.5,"
		"\"waits\":3,\"holder\":\"exact\",\"holder_pid\":9}],"
		"\"lock_tasks\":[{\"pid\":7,\"process\":\"cat\",\"thread\":\"\","
		"\"site\":\"pipe_read\",\"lock\":0,\"on_cpu\":false,\"waited_s\":0.25,"
		"\"stack\":[\"schedule\",\"pipe_read\"]},"
		"{\"pid\":9,\"process\":\"db\",\"thread\":\"\",\"site\":\"\",\"on_cpu\":true,"
		"\"waited_s\":0,\"stack\":[]}],\"circles\":[]}\n",
		"waits and locks as JSON");
	free(text);
	snapshot_destroy(snapshot);
}

static void check_diff(struct snapshot *now, struct snapshot *base, bool all_rows,
		       const char *want, const char *what)
{
	const struct waits_diff_options options = { "old.xrec", "new.xrec", all_rows, false };
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	must(export_waits_diff(now, base, &options, file));
	fclose(file);
	check_string(text, want, what);
	free(text);
	snapshot_destroy(now);
	snapshot_destroy(base);
}

#define HEAD  "old: old.xrec: tasks 3, elapsed 10.0 s\nnew: new.xrec: tasks 3, elapsed 10.0 s\n"
#define SITES "     Old       New     Delta  Old longest  New longest  For         Process           "
#define LOCKS "\n     Old       New     Delta  Old longest  New longest  Lock\n"
#define PIPE  "        3.000        3.000  pipe        cat               -                 pipe_read\n"

static void test_diff(void)
{
	check_diff(with_lock(make(9000, 0), 2500, "cgroup_mutex"), make(5000, 6000), false,
		   HEAD SITES "Thread            Site\n"
			"    0.60      0.00     -0.60        0.000        0.000  journal     db"
			"                -                 wait_transaction_locked\n"
			"    0.50      0.90     +0.40" PIPE LOCKS
			"    0.00      0.25     +0.25        0.000        0.500  mutex cgroup_mutex\n",
		   "what differs most stands first");
	check_diff(with_lock(make(5000, 0), 0, ""), with_lock(make(5000, 0), 1000, ""), true,
		   HEAD SITES "Thread            Site\n"
			"    0.50      0.50     +0.00" PIPE LOCKS
			"    0.10      0.00     -0.10        0.500        0.500  mutex without a name\n",
		   "all rows; an address says nothing of another boot");
	check_diff(make(5000, 0), make(5000, 0), false, HEAD SITES "Thread            Site\n" LOCKS,
		   "what is the same is left out");
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_json();
	test_diff();
	frames_destroy(frames);
	return tap_done();
}
