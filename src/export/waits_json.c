/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of waits and locks as one JSON object on one line, for scripts (doc/FORMATS, and the
 * schema doc/waits.schema.json). They have the figures that waits_table.c and locks_table.c print,
 * not rounded, and idle pools as well. Main's thread.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <inttypes.h>
#include <stdlib.h>

#include "export/json.h"
#include "xtop/query/locks.h"
#include "xtop/query/waits.h"

#define WAITS_JSON_VERSION 1

static const char *waits_json_name(const struct snapshot *snapshot, uint32_t frame)
{
	return frame == FRAME_NONE ? "" : frames_get(snapshot->frames, frame)->name;
}

static void waits_put_row(struct json *json, const struct snapshot *snapshot,
			  const struct waits_row *row, bool totals)
{
	char states[WAITS_STATES_BYTES];

	json_open(json, NULL, '{');
	json_u64(json, "now", row->now);
	json_double(json, "mean", totals ? row->mean_total : row->mean);
	json_double(json, "longest_s", (double)row->longest_ns / 1e9);
	json_text(json, "state", waits_states(row, states));
	json_text(json, "for", wait_kind_names[row->site.kind]);
	json_text(json, "process", waits_json_name(snapshot, row->process));
	json_text(json, "thread", waits_json_name(snapshot, row->thread));
	json_text(json, "site", waits_json_name(snapshot, row->site.frame));
	json_bool(json, "idle", row->site.idle);
	json_close(json, '}');
}

static const char *waits_json_holder(uint8_t certainty)
{
	switch ((enum os_holder)certainty) {
	case OS_HOLDER_UNKNOWN:
		break;
	case OS_HOLDER_EXACT:
		return "exact";
	case OS_HOLDER_LAST:
		return "last reader";
	case OS_HOLDER_GUESS:
		return "guess";
	case OS_HOLDER_NO_TASK:
		return "not a task";
	}
	return "unknown";
}

static void waits_put_lock(struct json *json, const struct snapshot *snapshot, uint32_t number,
			   bool totals)
{
	const struct locks_line line = { .kind = LOCKS_LOCK, .lock = number };
	const struct snapshot_lock *lock = &snapshot->waits->locks[number];
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64, lock->address);
	json_open(json, NULL, '{');
	json_text(json, "kind", locks_kind_names[lock->kind]);
	json_text(json, "name", lock->name);
	json_text(json, "address", lock->kind == OS_LOCK_SPINLOCK ? "" : address);
	json_u64(json, "now", lock->now);
	json_double(json, "mean", locks_mean(snapshot, &line, totals));
	json_double(json, "longest_s", (double)lock->longest_ns / 1e9);
	json_u64(json, "waits", lock->waits);
	json_text(json, "holder", waits_json_holder(lock->certainty));
	json_u64(json, "holder_pid", lock->holder_pid);
	json_close(json, '}');
}

/* A task that waits for a lock or holds one. LOCK is an index into "locks"; absent: no wait. */
static void waits_put_task(struct json *json, const struct snapshot *snapshot,
			   const struct snapshot_lock_task *task)
{
	json_open(json, NULL, '{');
	json_u64(json, "pid", task->pid);
	json_text(json, "process", waits_json_name(snapshot, task->process));
	json_text(json, "thread", waits_json_name(snapshot, task->thread));
	json_text(json, "site", waits_json_name(snapshot, task->site));
	if (task->lock != SNAPSHOT_NO_LOCK)
		json_u64(json, "lock", task->lock);
	json_bool(json, "on_cpu", task->on_cpu);
	json_double(json, "waited_s", (double)task->waited_ns / 1e9);
	json_open(json, "stack", '[');
	for (uint32_t i = 0; i < task->n_frames; i++)
		json_text(json, NULL, waits_json_name(snapshot, task->frames[i]));
	json_close(json, ']');
	json_close(json, '}');
}

static void waits_put_head(struct json *json, const struct snapshot *snapshot,
			   const struct waits_table *table, const struct locks_forest *forest,
			   const struct table_options *options)
{
	const struct snapshot_waits *waits = snapshot->waits;
	struct waits_idle idle = waits_count_idle(table);

	json_u64(json, "version", WAITS_JSON_VERSION);
	json_text(json, "title", options->title);
	json_bool(json, "tasks_known", !waits->unsupported);
	json_u64(json, "tasks", waits->counts.tasks);
	json_double(json, "elapsed_s", waits->span_ticks / 1e3);
	json_double(json, "rate_hz",
		    waits->span_ticks > 0 ? (double)waits->counts.passes * 1e3 / waits->span_ticks
					  : 0);
	json_double(json, "idle", options->totals ? idle.mean_total : idle.mean);
	json_u64(json, "left_out", waits->counts.left_out);
	json_u64(json, "waiters", forest->waiters);
	json_u64(json, "deadlocks", forest->deadlocks);
}

static void waits_put(struct json *json, const struct snapshot *snapshot,
		      const struct waits_table *table, const struct locks_forest *forest,
		      const struct table_options *options)
{
	const struct snapshot_waits *waits = snapshot->waits;
	char text[LOCKS_TEXT_BYTES];

	json_open(json, NULL, '{');
	waits_put_head(json, snapshot, table, forest, options);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < table->n; i++)
		waits_put_row(json, snapshot, &table->rows[i], options->totals);
	json_close(json, ']');
	json_open(json, "locks", '[');
	for (size_t i = 0; i < waits->n_locks; i++)
		waits_put_lock(json, snapshot, (uint32_t)i, options->totals);
	json_close(json, ']');
	json_open(json, "lock_tasks", '[');
	for (size_t i = 0; i < waits->n_lock_tasks; i++)
		waits_put_task(json, snapshot, &waits->lock_tasks[i]);
	json_close(json, ']');
	json_open(json, "circles", '[');
	for (size_t i = 0; i < forest->n && forest->lines[i].kind == LOCKS_DEADLOCK; i++) {
		locks_describe(snapshot, &forest->lines[i], text);
		json_open(json, NULL, '{');
		json_text(json, "text", text);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

struct xtop_error *export_waits_json(const struct snapshot *snapshot,
				     const struct table_options *options, FILE *file)
{
	struct json json = { .file = file, .compact = true };
	struct locks_forest forest = { 0 };
	struct waits_table table;
	struct xtop_error *error = waits_build_filtered(snapshot, options->filter, &table);

	if (error)
		return error;
	waits_sort(&table, snapshot->frames, WAITS_BY_MEAN, options->totals);
	error = locks_build(snapshot, &forest);
	if (!error) {
		waits_put(&json, snapshot, &table, &forest, options);
		putc('\n', file);
	}
	locks_deinit(&forest);
	waits_deinit(&table);
	return error;
}
