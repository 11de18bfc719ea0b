/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of tasks that wait, out of nodes and rows: means, states, order, idle pools, hiding. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/query/selection.h"
#include "xtop/query/waits.h"

#define S 1000000000ULL

static struct frames *frames;

static uint32_t kernel(const char *name)
{
	return frames_intern(frames, FRAME_KIND_KERNEL, name, "[kernel]", 0);
}

static uint32_t process(const char *name)
{
	return frames_intern_process(frames, name, "");
}

/* MS of a stack: process, thread (NULL: none), then kernel functions from the outermost in. */
static void add(struct profile *profile, const char *name, const char *thread,
		const char *functions, uint32_t ms)
{
	uint32_t stack[16];
	size_t n = 0;
	char text[256], *rest = text, *word;

	stack[n++] = process(name);
	if (thread)
		stack[n++] = frames_intern_thread(frames, thread, stack[0]);
	snprintf(text, sizeof(text), "%s", functions);
	while ((word = strsep(&rest, " ")))
		stack[n++] = kernel(word);
	profile_add(profile, stack, n, 1, ms / 100, ms);
}

static struct snapshot *make(void)
{
	struct profile *profile;
	struct snapshot *snapshot;

	must(profile_create(4096, 0, frames, &profile));
	add(profile, "cat", NULL, "ksys_read pipe_read schedule __schedule", 20000);
	add(profile, "db", "writer", "ksys_write ext4_write down_write schedule", 5000);
	add(profile, "db", "writer", "ksys_write ext4_write mutex_lock schedule", 1000);
	add(profile, "kworker", NULL, "kthread worker_thread schedule", 90000);
	must(profile_copy(profile, 1, &snapshot));
	profile_destroy(profile);
	snapshot->waits = malloc(sizeof(*snapshot->waits));
	*snapshot->waits = (struct snapshot_waits){ .span_live = 10000, .span_ticks = 10000 };
	snapshot->waits->rows = calloc(2, sizeof(*snapshot->waits->rows));
	snapshot->waits->n_rows = 2;
	snapshot->waits->rows[0] = (struct snapshot_wait){
		.process = process("cat"), .thread = FRAME_NONE, .site = kernel("pipe_read"),
		.kind = WAIT_PIPE, .now = 2, .states = 1U << OS_WAIT_SLEEPING, .longest_ns = 3 * S
	};
	snapshot->waits->rows[1] =
		(struct snapshot_wait){ .process = process("db"),
					.thread = frames_intern_thread(frames, "writer",
								       process("db")),
					.site = kernel("ext4_write"),
					.kind = WAIT_RWSEM,
					.now = 1,
					.states = 1U << OS_WAIT_SLEEPING | 1U << OS_WAIT_BLOCKED,
					.longest_ns = 9 * S };
	return snapshot;
}

static char *table_text(const struct snapshot *snapshot, enum waits_order order)
{
	struct waits_table table;
	char *text, states[WAITS_STATES_BYTES];
	size_t size;
	FILE *file = open_memstream(&text, &size);

	must(waits_build(snapshot, &table));
	waits_sort(&table, frames, order, false);
	for (size_t i = 0; i < table.n; i++) {
		const struct waits_row *row = &table.rows[i];

		fprintf(file, "%s%s%s %s %s %.1f %u %s%s\n", frames_get(frames, row->process)->name,
			row->thread == FRAME_NONE ? "" : "/",
			row->thread == FRAME_NONE ? "" : frames_get(frames, row->thread)->name,
			frames_get(frames, row->site.frame)->name, wait_kind_names[row->site.kind],
			row->mean, row->now, row->known ? waits_states(row, states) : "?",
			row->site.idle ? " idle" : "");
	}
	fclose(file);
	waits_deinit(&table);
	return text;
}

static void check_table(const struct snapshot *snapshot, enum waits_order order, const char *want,
			const char *name)
{
	char *text = table_text(snapshot, order);

	check_string(text, want, name);
	free(text);
}

static void test_table(void)
{
	struct snapshot *snapshot = make();
	struct waits_table table;
	struct waits_idle idle;

	check_table(snapshot, WAITS_BY_MEAN,
		    "kworker worker_thread work 9.0 0 ? idle\n"
		    "cat pipe_read pipe 2.0 2 S\n"
		    "db/writer ext4_write rwsem 0.5 1 SD\n"
		    "db/writer ext4_write mutex 0.1 0 ?\n",
		    "means are weights by the span; one site waits for two things");
	check_table(snapshot, WAITS_BY_LONGEST,
		    "db/writer ext4_write rwsem 0.5 1 SD\n"
		    "cat pipe_read pipe 2.0 2 S\n"
		    "db/writer ext4_write mutex 0.1 0 ?\n"
		    "kworker worker_thread work 9.0 0 ? idle\n",
		    "by the longest wait, then by names");
	must(waits_build(snapshot, &table));
	idle = waits_count_idle(&table);
	check(idle.mean > 8.99 && idle.mean < 9.01, "idle pools are counted");
	waits_deinit(&table);
	snapshot_destroy(snapshot);
}

static void test_hidden(void)
{
	struct selection selection = { .process = FRAME_NONE, .hide_idle = true };
	struct snapshot *snapshot = make(), selected;

	must(selection_apply(&selection, snapshot, &selected));
	check_table(&selected, WAITS_BY_MEAN,
		    "cat pipe_read pipe 2.0 2 S\n"
		    "db/writer ext4_write rwsem 0.5 1 SD\n"
		    "db/writer ext4_write mutex 0.1 0 ?\n",
		    "idle pools can be hidden");
	check(selected.total_weight == 26000, "idle pools are hidden from all shares");
	selection_deinit(&selected, snapshot);
	snapshot_waits_destroy(snapshot->waits);
	snapshot->waits = NULL;
	must(selection_apply(&selection, snapshot, &selected));
	check(selected.total_weight == 116000, "samples of the CPU have no idle pools");
	selection_deinit(&selected, snapshot);
	snapshot_destroy(snapshot);
}

static void test_copy(void)
{
	struct snapshot *snapshot = make(), *copy = snapshot_copy(snapshot);

	snapshot_destroy(snapshot);
	check(copy && copy->waits->n_rows == 2 && copy->waits->rows[1].longest_ns == 9 * S,
	      "a copy has rows of its own");
	snapshot_destroy(copy);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_table();
	test_hidden();
	test_copy();
	frames_destroy(frames);
	return tap_done();
}
