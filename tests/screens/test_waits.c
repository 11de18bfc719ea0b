/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The screen of tasks that wait: its table, the toggle of idle pools, the ways to it and back, the
 * other views on waits, and a guest without tasks.
 */
#include "config.h"

#include <locale.h>
#include <unistd.h>

#include "scene.h"
#include "xtop/profile/wait_sites.h"

#define MS 1000000ULL

struct waits_scene {
	struct scene scene;
	struct ui_pipeline waits;
	unsigned starts;
};

static void start_waits(void *context)
{
	((struct waits_scene *)context)->starts++;
}

/* The scene's pipeline gets waits. Its context is the scene, which is the first member. */
static void open_scene(struct waits_scene *waits)
{
	scene_open(&waits->scene);
	fixture_fill(&waits->scene.fixture);
	ui_show(waits->scene.ui, fixture_snapshot(&waits->scene.fixture, 2));
	waits->starts = 0;
	waits->waits = waits->scene.pipeline;
	waits->waits.of_waits = true;
	if (snapshot_slot_create(&waits->waits.slot))
		abort();
	waits->scene.pipeline.waits = &waits->waits;
	waits->scene.pipeline.start_waits = start_waits;
}

static void close_scene(struct waits_scene *waits)
{
	ui_destroy(waits->scene.ui);
	waits->scene.ui = NULL;
	snapshot_slot_destroy(waits->waits.slot);
	snapshot_slot_destroy(waits->scene.pipeline.slot);
	fixture_destroy(&waits->scene.fixture);
}

#define KERNEL "-entry_SYSCALL_64_after_hwframe -do_syscall_64 "

/* 20 s of waits, in milliseconds. */
static const struct {
	const char *stack;
	uint32_t ms, now;
	enum os_wait_state state;
	uint64_t longest_ns;
	const char *process, *site;
	enum wait_kind kind;
	bool kernel;
} waits_of[] = {
	{ "dd _start main write " KERNEL "-ksys_write -ext4_file_write_iter -rq_qos_wait -schedule",
	  54200, 3, OS_WAIT_BLOCKED, 4200 * MS, "dd", "rq_qos_wait", WAIT_BLOCK_IO, true },
	{ "httpd _start main serve pthread_mutex_lock " KERNEL "-do_futex -futex_wait -schedule",
	  31000, 2, OS_WAIT_SLEEPING, 912 * MS, "httpd", "serve", WAIT_FUTEX, false },
	{ "httpd _start main read " KERNEL "-ksys_read -pipe_read -schedule", 20000, 1,
	  OS_WAIT_SLEEPING, 187000 * MS, "httpd", "pipe_read", WAIT_PIPE, true },
	{ "gzip _start main deflate_slow m:[runnable]", 2200, 0, OS_WAIT_RUNNABLE, 12 * MS, "gzip",
	  "deflate_slow", WAIT_CPU, false },
	{ "kworker -ret_from_fork -kthread -worker_thread -schedule", 900000, 45, OS_WAIT_IDLE,
	  20000 * MS, "kworker", "worker_thread", WAIT_WORK, true },
};
#define N_WAITS (sizeof(waits_of) / sizeof(waits_of[0]))

static uint32_t frame_of(struct fixture *fixture, const char *name, bool kernel)
{
	return kernel ? frames_intern(fixture->frames, FRAME_KIND_KERNEL, name, "[kernel]", 0x1000)
		      : fixture_frame(fixture, name);
}

/* FUNCTIONS: the innermost first, those of the kernel after a '-'. */
static void add_stack(struct fixture *fixture, struct snapshot_lock_task *task,
		      const char *functions)
{
	char text[256], *rest = text, *word;

	snprintf(text, sizeof(text), "%s", functions);
	while ((word = strsep(&rest, " ")))
		task->frames[task->n_frames++] =
			frame_of(fixture, word + (word[0] == '-'), word[0] == '-');
}

/*
 * httpd's pool waits for a mutex of glibc whose owner waits for a file's lock, which dd has; cron
 * waits for a lock without a holder, and two workers for each other.
 */
static void add_locks(struct fixture *fixture, struct snapshot_waits *waits)
{
	static const struct snapshot_lock locks[] = {
		{ .address = 0xffff888004a3c0d0, .name = "i_rwsem of access.log",
		  .kind = OS_LOCK_RWSEM, .waits = 12, .longest_ns = 4200 * MS, .live_ticks = 18000,
		  .ticks = 18000, .now = 2, .certainty = OS_HOLDER_EXACT, .holder_pid = 318 },
		{ .address = 0x7f10a2b3c040, .space = 1, .kind = OS_LOCK_FUTEX, .waits = 1234,
		  .longest_ns = 912 * MS, .live_ticks = 31000, .ticks = 31000, .now = 3,
		  .certainty = OS_HOLDER_GUESS, .holder_pid = 412 },
		{ .address = 0xffffffff82a01040, .kind = OS_LOCK_SEMAPHORE, .waits = 1,
		  .longest_ns = 30 * MS, .live_ticks = 20, .ticks = 20, .now = 1 },
		{ .address = 0xffff888005000100, .kind = OS_LOCK_MUTEX, .waits = 1,
		  .longest_ns = 61000 * MS, .live_ticks = 20000, .ticks = 20000, .now = 1,
		  .certainty = OS_HOLDER_EXACT, .holder_pid = 502 },
		{ .address = 0xffff888005000140, .kind = OS_LOCK_MUTEX, .waits = 1,
		  .longest_ns = 61000 * MS, .live_ticks = 20000, .ticks = 20000, .now = 1,
		  .certainty = OS_HOLDER_EXACT, .holder_pid = 501 },
		{ .address = 0xffff888005000200, .kind = OS_LOCK_MUTEX, .waits = 5, .ticks = 3 },
	};
	static const struct {
		uint32_t pid, lock;
		const char *process, *site;
		bool kernel, on_cpu;
		uint64_t waited_ns;
	} tasks[] = {
		{ 318, SNAPSHOT_NO_LOCK, "dd", "rq_qos_wait", true, false, 4200 * MS },
		{ 412, 0, "httpd", "ext4_file_write_iter", true, false, 900 * MS },
		{ 413, 1, "httpd", "serve", false, false, 300 * MS },
		{ 414, 1, "httpd", "serve", false, false, 880 * MS },
		{ 415, 1, "httpd", "serve", false, false, 12 * MS },
		{ 420, 0, "gzip", "ext4_file_write_iter", true, false, 100 * MS },
		{ 431, 2, "cron", "down_read", true, false, 30 * MS },
		{ 501, 3, "worker", "worker_commit", true, false, 61000 * MS },
		{ 502, 4, "worker", "worker_flush", true, false, 61000 * MS },
	};

	waits->locks = calloc(1, sizeof(locks));
	memcpy(waits->locks, locks, sizeof(locks));
	waits->n_locks = sizeof(locks) / sizeof(locks[0]);
	waits->lock_tasks = calloc(sizeof(tasks) / sizeof(tasks[0]), sizeof(*waits->lock_tasks));
	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
		bool has_lock = tasks[i].lock != SNAPSHOT_NO_LOCK;

		waits->lock_tasks[waits->n_lock_tasks++] = (struct snapshot_lock_task){
			.pid = tasks[i].pid,
			.process = frames_intern_process(fixture->frames, tasks[i].process, ""),
			.thread = FRAME_NONE,
			.site = frame_of(fixture, tasks[i].site, tasks[i].kernel),
			.lock = tasks[i].lock,
			.holder_pid = has_lock ? locks[tasks[i].lock].holder_pid : 0,
			.certainty = has_lock ? locks[tasks[i].lock].certainty : 0,
			.state = OS_WAIT_BLOCKED,
			.waited_ns = tasks[i].waited_ns,
		};
	}
	add_stack(fixture, &waits->lock_tasks[0],
		  "-schedule -io_schedule -rq_qos_wait -wbt_wait -ext4_file_write_iter -vfs_write main");
	add_stack(fixture, &waits->lock_tasks[7], "-schedule -__mutex_lock -worker_commit");
	waits->counts.locks_found = 1253;
	waits->counts.locks_unknown = 4;
}

/* A picture of waits. UNSUPPORTED: of a unikernel. */
static struct snapshot *picture(struct waits_scene *waits, bool unsupported)
{
	struct fixture *fixture = &waits->scene.fixture;
	struct profile *of_samples = fixture->profile;
	struct snapshot *snapshot;

	if (profile_create(4096, 10 * FIXTURE_NS, fixture->frames, &fixture->profile))
		abort();
	for (size_t i = 0; i < N_WAITS && !unsupported; i++)
		fixture_add(fixture, waits_of[i].stack, waits_of[i].ms);
	snapshot = fixture_snapshot(fixture, 2);
	snapshot->waits = malloc(sizeof(*snapshot->waits));
	*snapshot->waits = (struct snapshot_waits){
		.unsupported = unsupported,
		.span_live = unsupported ? 0 : 20000,
		.span_ticks = unsupported ? 0 : 20000,
		.counts = { .tasks = 214, .interval_ns = 500 * MS, .left_out = 2 },
	};
	snapshot->waits->rows = calloc(N_WAITS, sizeof(*snapshot->waits->rows));
	for (size_t i = 0; i < N_WAITS && !unsupported; i++)
		snapshot->waits->rows[snapshot->waits->n_rows++] = (struct snapshot_wait){
			.process = frames_intern_process(fixture->frames, waits_of[i].process, ""),
			.thread = FRAME_NONE,
			.site = frame_of(fixture, waits_of[i].site, waits_of[i].kernel),
			.now = waits_of[i].now,
			.kind = waits_of[i].kind,
			.states = (uint8_t)(1U << waits_of[i].state),
			.longest_ns = waits_of[i].longest_ns,
		};
	if (!unsupported)
		add_locks(fixture, snapshot->waits);
	snapshot->n_frames = frames_count(fixture->frames);
	profile_destroy(fixture->profile);
	fixture->profile = of_samples;
	return snapshot;
}

static void keys(struct waits_scene *waits, const char *script)
{
	scene_keys(&waits->scene, 80, 24, script);
}

static void contains(struct waits_scene *waits, const char *what, bool wanted)
{
	screen_contains(&waits->scene, 80, 24, what, wanted);
}

static void test_table(void)
{
	struct waits_scene waits;

	open_scene(&waits);
	keys(&waits, "W");
	check(waits.starts == 1, "W turns the looks at waits on");
	contains(&waits, "No look at the guest's tasks yet. A recording has them only with --waits.", true);
	ui_show(waits.scene.ui, picture(&waits, false));
	screen_check(&waits.scene, "waits-80x24", 80, 24);
	screen_check(&waits.scene, "waits-120x40", 120, 40);
	screen_check(&waits.scene, "waits-40x10", 40, 10);
	keys(&waits, "I");
	contains(&waits, "worker_thread", true);
	keys(&waits, "I>");
	screen_check(&waits.scene, "waits-by-longest-80x24", 80, 24);
	keys(&waits, ",");
	contains(&waits, "Mean▾", true);
	scene_click(&waits.scene, 80, 24, 4, 20);
	screen_check(&waits.scene, "waits-by-longest-80x24", 80, 24);
	scene_click(&waits.scene, 80, 24, 4, 40);
	contains(&waits, "Longest▾", true);
	scene_click(&waits.scene, 80, 24, 4, 2);
	contains(&waits, "Now▾", true);
	scene_click(&waits.scene, 80, 24, 4, 10);
	keys(&waits, "/pipe_<Enter>");
	keys(&waits, "<Enter>");
	contains(&waits, "pipe_read", true);
	screen_check(&waits.scene, "waits-callers-80x24", 80, 24);
	keys(&waits, "qt");
	screen_check(&waits.scene, "waits-tree-80x24", 80, 24);
	keys(&waits, "f");
	screen_check(&waits.scene, "waits-flame-80x24", 80, 24);
	close_scene(&waits);
}

static void test_ways(void)
{
	struct waits_scene waits;

	open_scene(&waits);
	keys(&waits, "W");
	ui_show(waits.scene.ui, picture(&waits, false));
	keys(&waits, "t");
	contains(&waits, "Waits in", false);
	keys(&waits, "W");
	contains(&waits, "Waits in", true);
	keys(&waits, "W");
	contains(&waits, "deflate_slow", true);
	contains(&waits, "Waits in", false);
	keys(&waits, "W");
	check(waits.starts == 1, "the second W only shows the waits");
	contains(&waits, "rq_qos_wait", true);
	keys(&waits, "q");
	contains(&waits, "Waits in", false);
	check(!waits.scene.ui->quitting, "q goes back to the samples");
	keys(&waits, "W\\httpd<Enter>");
	contains(&waits, "pipe_read", true);
	contains(&waits, "rq_qos_wait", false);
	keys(&waits, "tE");
	contains(&waits, "filter: httpd", true);
	keys(&waits, "<Esc>");
	contains(&waits, "Waits in", true);
	contains(&waits, "filter: httpd", true);
	keys(&waits, "<Esc>");
	contains(&waits, "filter: httpd", false);
	contains(&waits, "rq_qos_wait", true);
	keys(&waits, "Z");
	contains(&waits, "frozen", true);
	close_scene(&waits);
}

/*
 * A baseline of the same picture, by sites: dd waited 54,200 of 107,400 ms. Idle pools, which are hidden,
 * are no part of either.
 */
static void test_baseline(void)
{
	struct waits_scene waits;

	open_scene(&waits);
	keys(&waits, "W");
	ui_show(waits.scene.ui, picture(&waits, false));
	keys(&waits, "b");
	contains(&waits, " 50.47   50.47    +0.00   1.00     –  [k] rq_qos_wait", true);
	contains(&waits, "schedule", false);
	close_scene(&waits);
}

/* Presses the keys of SCRIPT, then writes to PATH. *TEXT: what was written. */
static void write_to(struct waits_scene *waits, const char *script, const char *path, char **text)
{
	keys(waits, script);
	keys(waits, path);
	keys(waits, "<Enter>");
	*text = file_read(path);
	check(!unlink(path), "%s was written", path);
}

/* w on the samples writes both profiles, on the waits only them. What is selected counts for both. */
static void test_write(void)
{
	char path[] = "/tmp/xtop-waits-XXXXXX.speedscope.json", *text;
	struct waits_scene waits;
	int fd = mkstemps(path, strlen(".speedscope.json"));

	if (fd < 0 || unlink(path))
		abort();
	close(fd);
	open_scene(&waits);
	keys(&waits, "W");
	ui_show(waits.scene.ui, picture(&waits, false));
	write_to(&waits, "w<C-u>", path, &text);
	check(!strstr(text, "web01: CPU") && strstr(text, "rq_qos_wait"),
	      "the file has the waits alone");
	free(text);
	write_to(&waits, "Ww<C-u>", path, &text);
	check(strstr(text, "web01: CPU") && strstr(text, "web01: waits"),
	      "the file has samples and waits");
	contains(&waits, "without the waits", false);
	check(strstr(text, "deflate_slow") && strstr(text, "rq_qos_wait"),
	      "the file has the functions of samples and waits");
	free(text);
	write_to(&waits, "\\httpd<Enter>w<C-u>", path, &text);
	check(strstr(text, "web01: waits") && strstr(text, "pipe_read") &&
		      !strstr(text, "rq_qos_wait"),
	      "the file's waits are filtered like its samples");
	free(text);
	write_to(&waits, "<Esc>Zw<C-u>", path, &text);
	check(!strstr(text, "web01: waits"), "a frozen picture without waits, which go on");
	contains(&waits, "without the waits", true);
	free(text);
	close_scene(&waits);
}

static void test_locks(void)
{
	struct waits_scene waits;

	open_scene(&waits);
	keys(&waits, "L");
	check(waits.starts == 1, "L turns the looks at waits on, too");
	contains(&waits, "No look at the guest's tasks yet. A recording has them only with --waits.", true);
	ui_show(waits.scene.ui, picture(&waits, false));
	screen_check(&waits.scene, "locks-80x24", 80, 24);
	screen_check(&waits.scene, "locks-120x40", 120, 40);
	screen_check(&waits.scene, "locks-40x10", 40, 10);
	for (int width = 1; width < 90; width += 3)
		scene_draw(&waits.scene, width, 12, NULL, NULL);
	keys(&waits, "<Down>+");
	screen_check(&waits.scene, "locks-stack-80x24", 80, 24);
	screen_check(&waits.scene, "locks-stack-40x10", 40, 10);
	keys(&waits, "<Down><Down><Down><Down><Enter>");
	contains(&waits, "› ext4_file_write_iter", false);
	contains(&waits, "› wbt_wait", true);
	keys(&waits, "q+");
	contains(&waits, "wbt_wait", false);
	keys(&waits, "<Down><Down>+");
	contains(&waits, "The stack of task 412 is not known.", true);
	keys(&waits, "/serve<Enter>");
	keys(&waits, "<Enter>");
	screen_check(&waits.scene, "locks-callers-80x24", 80, 24);
	keys(&waits, "q");
	contains(&waits, "DEADLOCK", true);
	keys(&waits, "W");
	contains(&waits, "Waits in", true);
	keys(&waits, "WL");
	contains(&waits, "DEADLOCK", true);
	close_scene(&waits);
}

/* A deadlock of two seconds ago, and a range since then. */
static void test_past_locks(void)
{
	struct waits_scene waits;
	struct snapshot *snapshot;

	open_scene(&waits);
	keys(&waits, "L");
	ui_show(waits.scene.ui, picture(&waits, false));
	snapshot = picture(&waits, false);
	snapshot->sequence++;
	snapshot->time_ns += 2 * FIXTURE_NS;
	snapshot->waits->span_ticks += 2000;
	snapshot->waits->n_locks = snapshot->waits->n_lock_tasks = 0;
	ui_show(waits.scene.ui, snapshot);
	contains(&waits, "No task waits for a lock.", true);
	keys(&waits, "[");
	contains(&waits, "DEADLOCK", true);
	keys(&waits, "<Down>+");
	contains(&waits, "[k] wbt_wait", true);
	keys(&waits, "{]}");
	contains(&waits, "Who holds locks is known of single moments", true);
	close_scene(&waits);
}

/* A guest's tasks all have the same pid, and deep stacks: one of them is shown. */
static void test_equal_pids(void)
{
	struct waits_scene waits;
	struct snapshot *snapshot;
	unsigned n = 0;
	char *text;

	open_scene(&waits);
	snapshot = picture(&waits, false);
	for (size_t i = 0; i < snapshot->waits->n_lock_tasks; i++) {
		struct snapshot_lock_task *task = &snapshot->waits->lock_tasks[i];

		task->pid = 318;
		task->n_frames = SNAPSHOT_LOCK_FRAMES;
		for (unsigned frame = 0; frame < SNAPSHOT_LOCK_FRAMES; frame++)
			task->frames[frame] = frame_of(&waits.scene.fixture, "wbt_wait", true);
	}
	keys(&waits, "L");
	ui_show(waits.scene.ui, snapshot);
	keys(&waits, "<Down>+");
	scene_draw(&waits.scene, 80, 200, &text, NULL);
	for (const char *at = text; (at = strstr(at, " [k] wbt_wait")); at++)
		n++;
	check_u64(n, SNAPSHOT_LOCK_FRAMES, "frames that are shown of one stack of a lock");
	free(text);
	close_scene(&waits);
}

static void test_unikernel(void)
{
	struct waits_scene waits;

	open_scene(&waits);
	keys(&waits, "W");
	ui_show(waits.scene.ui, picture(&waits, true));
	contains(&waits, "No list of tasks was found in this guest", true);
	keys(&waits, "Wv");
	contains(&waits, "vCPU", true);
	close_scene(&waits);
	scene_open_filled(&waits.scene);
	keys(&waits, "W");
	contains(&waits, "a profile has no tasks that wait", true);
	scene_close(&waits.scene);
}

int main(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	test_table();
	test_ways();
	test_baseline();
	test_write();
	test_locks();
	test_past_locks();
	test_equal_pids();
	test_unikernel();
	return tap_done();
}
