/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The views of what the host knows: who takes the guest's physical CPUs, and exits to Xen. Tables
 * are made up: half of the guest's time goes to a neighbour, and the kernel's clock is a port.
 */
#include "config.h"

#include <locale.h>

#include "scene.h"
#include "xtop/profile/exit_names.h"
#include "xtop/profile/time_histogram.h"

#define US 1000
#define MS 1000000

static struct takers_table *make_takers(void)
{
	struct takers_table *table = calloc(1, sizeof(*table));

	*table = (struct takers_table){
		.looks = 240,
		.span_ns = 24 * SECOND,
		.schedule = { .weight = 256 },
		.pool = { .id = 0, .n_cpus = 8, .n_idle = 3 },
		.steal = { 0.402, 0.38 },
		.domid = 5,
		.n_takers = 3,
		.n_vcpus = 2,
		.takers = { { .domid = 7,
			      .weight = 512,
			      .name = "db07",
			      .share = { 0.71, 0.7 },
			      .error = { 0.015, 0.01 },
			      .cpus = { 1.62, 1.6 } },
			    { .domid = 5,
			      .weight = 256,
			      .name = "web01",
			      .share = { 0.22, 0.23 },
			      .error = { 0.012, 0.01 },
			      .cpus = { 0.9, 0.9 } },
			    { .domid = TAKER_XEN,
			      .share = { 0.07, 0.07 },
			      .error = { 0.01, 0.01 } } },
	};
	for (unsigned i = 0; i < 2; i++)
		table->vcpus[i] = (struct taken_vcpu){
			.cpu = 3,
			.online = true,
			.waited = { 0.42 - 0.03 * i, 0.4 },
			.ran = { 0.45, 0.45 },
			.longest_ns = (310 - 100 * i) * MS,
			.affinity = "3",
			.by = { 7, 5, TAKER_XEN },
			.by_share = { 0.71, 0.22, 0.07 },
		};
	return table;
}

/* A reason with the times of COUNT exits, in one second. */
static struct exits_row make_row(uint32_t handler, uint32_t detail, uint64_t count, double mean_us)
{
	struct exits_weight weight = { count, (double)count * mean_us * US };

	return (struct exits_row){
		.reason = { .kind = EXIT_VMX, .handler = handler, .detail = detail },
		.live = weight,
		.total = weight,
		.p99_ns = (uint64_t)(mean_us * 1.6 * US),
		.longest_ns = (uint64_t)(mean_us * 40 * US),
		.frame = FRAME_NONE,
	};
}

static void add_times(struct exits_table *table, size_t number, unsigned n, double ns)
{
	while (n--)
		time_histogram_add(&table->times[number], ns);
}

/* Three of a hundred exits take 1.6 times as long as the others. */
static void make_times(struct exits_table *table)
{
	table->times = calloc(table->n_rows + table->n_vcpus, sizeof(*table->times));
	for (uint32_t i = 0; i < table->n_rows; i++) {
		struct exits_row *row = &table->rows[i];

		row->times = i;
		add_times(table, i, 97, row->total.ns / (double)row->total.count);
		add_times(table, i, 3, (double)row->p99_ns);
	}
	for (unsigned i = 0; i < table->n_vcpus; i++)
		for (unsigned j = 0; j < EXITS_LOG2; j++)
			add_times(table, table->n_rows + i, table->wakes[i].log2[j],
				  1.2 * (double)(1ULL << j));
}

static struct exits_table *make_exits(struct fixture *fixture, uint64_t lost)
{
	struct exits_table *table = calloc(1, sizeof(*table));
	const char *const reasons[] = { "[exit I/O port read 0xb008]", "[exit MSR write 0x80b]",
					"[exit CPUID leaf 0xb]" };
	const char *const functions[] = { "acpi_pm_read", "native_apic_msr_eoi", "deflate_slow" };

	*table = (struct exits_table){
		.tracing = true,
		.live_span_ns = SECOND,
		.span_ns = SECOND,
		.records = 81233,
		.lost = lost,
		.cpu_ns = 4 * MS,
		.n_vcpus = 2,
		.n_rows = 3,
		.n_causes = 3,
		.wakes = calloc(2, sizeof(*table->wakes)),
		.rows = calloc(3, sizeof(*table->rows)),
		.causes = calloc(3, sizeof(*table->causes)),
	};
	table->rows[0] = make_row(0x82016, 0xb008, 21000, 5.3);
	table->rows[1] = make_row(0x8200d, 0x80b, 1800, 2.4);
	table->rows[2] = make_row(0x8200e, 0xb, 40, 21.9);
	for (uint32_t i = 0; i < 3; i++) {
		table->rows[i].frame = fixture_frame(fixture, reasons[i]);
		table->causes[i] = (struct exits_cause){
			.row = i,
			.place.frame = fixture_frame(fixture, functions[i]),
			.live = table->rows[i].live,
			.total = table->rows[i].total,
		};
	}
	for (unsigned i = 0; i < 2; i++)
		table->wakes[i] = (struct exits_wakes){
			1200 - 1087 * i,
			11000,
			80000,
			301000 * (i + 1),
			14e6,
			7,
			.log2 = { [13] = i ? 10 : 290, i ? 50 : 750, i ? 50 : 160, [20] = 3 * i },
		};
	make_times(table);
	return table;
}

static void host_show(struct scene *scene, uint64_t lost)
{
	struct snapshot *snapshot = fixture_snapshot(&scene->fixture, 2);

	snapshot->worth_live = snapshot->worth_total = (struct batches_worth){ 60, 4692 };
	snapshot->run->takers = make_takers();
	snapshot->run->exits = make_exits(&scene->fixture, lost);
	snapshot->n_frames = FRAMES_MAX;
	snapshot->run->exits->xen_ticks = 0.119 * snapshot->live_weight;
	ui_show(scene->ui, snapshot);
}

static void test_takers(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	host_show(&scene, 0);
	scene_keys(&scene, 80, 24, "T");
	screen_check(&scene, "takers-80x24", 80, 24);
	screen_check(&scene, "takers-120x40", 120, 40);
	screen_check(&scene, "takers-40x10", 40, 10);
	scene_close(&scene);
}

static void test_exits(void)
{
	struct scene scene;
	char line[256];

	scene_open_filled(&scene);
	host_show(&scene, 0);
	scene_keys(&scene, 80, 24, "O");
	screen_check(&scene, "exits-80x24", 80, 24);
	scene_keys(&scene, 80, 24, "<Enter>");
	screen_check(&scene, "exits-open-80x24", 80, 24);
	screen_check(&scene, "exits-open-40x10", 40, 10);
	scene_keys(&scene, 80, 24, ">>");
	screen_contains(&scene, 80, 24, "Longest▾", true);
	scene_keys(&scene, 80, 24, ">");
	screen_contains(&scene, 80, 24, "Rate▾", true);
	scene_click(&scene, 80, 24, 6, 42);
	screen_contains(&scene, 80, 24, "Longest▾", true);
	scene_click(&scene, 80, 24, 6, 22); /* the mean has no order */
	screen_contains(&scene, 80, 24, "99 %▾", true);
	scene_click(&scene, 80, 24, 6, 60);
	screen_contains(&scene, 80, 24, "99 %▾", true);
	scene_click(&scene, 80, 24, 6, 8);
	screen_contains(&scene, 80, 24, "Rate▾", true);
	screen_contains(&scene, 80, 24, "none lost", true);
	host_show(&scene, 9578);
	screen_check(&scene, "exits-lost-120x40", 120, 40);
	scene_click(&scene, 80, 24, 12, 5);
	check(scene_cursor_line(&scene, line, sizeof(line)) == 12, "a click selects a vCPU: %s",
	      line);
	scene_keys(&scene, 80, 24, "+");
	screen_check(&scene, "exits-vcpu-80x24", 80, 24);
	screen_check(&scene, "exits-vcpu-40x10", 40, 10);
	scene_keys(&scene, 80, 24, "<Down>+"); /* a line of the histogram is left, too */
	scene_click(&scene, 80, 24, 14, 5);
	check(scene_cursor_line(&scene, line, sizeof(line)) == 12, "a head cannot be selected: %s",
	      line);
	scene_click(&scene, 80, 24, 16, 5);
	check(scene_cursor_line(&scene, line, sizeof(line)) == 16,
	      "a row below a head can be selected: %s", line);
	scene_keys(&scene, 80, 24, "w");
	screen_contains(&scene, 80, 24, "Write exits since start to:", true);
	scene_keys(&scene, 80, 24, "<Esc>");
	scene_close(&scene);
}

/* Another view was open meanwhile: there is room to say so on 80 columns, after many records, too. */
static void test_stopped(void)
{
	struct snapshot *snapshot;
	struct scene scene;

	scene_open_filled(&scene);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->exits = make_exits(&scene.fixture, 0);
	snapshot->run->exits->tracing = false;
	snapshot->run->exits->records = 1109541;
	ui_show(scene.ui, snapshot);
	scene_keys(&scene, 80, 24, "O");
	screen_contains(&scene, 80, 24, "none lost · not traced now", true);
	scene_close(&scene);
}

/* A filter leaves what functions that match cause, or reasons that match. */
static void test_filter(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	host_show(&scene, 0);
	scene_keys(&scene, 80, 24, "O\\defl<Enter>");
	screen_contains(&scene, 80, 24, "CPUID leaf 0xb", true);
	screen_contains(&scene, 80, 24, "I/O port read", false);
	screen_contains(&scene, 80, 24, " 40 exits a second, 0.1 %", true);
	scene_keys(&scene, 80, 24, "\\<C-u>port read<Enter>");
	screen_contains(&scene, 80, 24, " 21,000 exits a second", true);
	screen_contains(&scene, 80, 24, "CPUID leaf 0xb", false);
	scene_close(&scene);
}

/* There was no room for the causes of a reason: a filter leaves it by its own name. */
static void test_filter_refused(void)
{
	struct scene scene;
	struct exits_table *table;

	scene_open_filled(&scene);
	host_show(&scene, 0);
	table = scene.ui->guest->live->run->exits;
	table->n_causes--; /* that of CPUID */
	scene_keys(&scene, 80, 24, "O\\cpuid<Enter>");
	screen_contains(&scene, 80, 24, "CPUID leaf 0xb", true);
	screen_contains(&scene, 80, 24, " 40 exits a second", true);
	screen_contains(&scene, 80, 24, "MSR write", false);
	scene_close(&scene);
}

/* Reasons fill the screen: a head says that the waits stand below. */
static void test_more(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	host_show(&scene, 0);
	scene_keys(&scene, 80, 24, "O");
	screen_contains(&scene, 80, 24, "↓ waits by vCPU", false);
	screen_contains(&scene, 80, 11, "Reason, functions ↓ waits by vCPU", true);
	screen_contains(&scene, 60, 11, "↓ waits", false);
	scene_keys(&scene, 80, 11, "G");
	screen_contains(&scene, 80, 11, "↓ waits by vCPU", false);
	scene_close(&scene);
}

/* Enter profiles a neighbour, if there is a list of domains, and does nothing on other rows. */
static void test_open_taker(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	host_show(&scene, 0);
	scene_keys(&scene, 80, 24, "T<Enter>");
	screen_contains(&scene, 80, 24, "no list of domains", true);
	scene_keys(&scene, 80, 24, "<Down><Enter><Down><Enter><Down><Enter>");
	screen_contains(&scene, 80, 24, "no list of domains", false);
	screen_contains(&scene, 80, 24, "Neighbour", true);
	scene_close(&scene);
}

/* Nobody takes time, and nothing exits: the first head is that of the vCPUs. */
static void test_alone(void)
{
	struct snapshot *snapshot;
	struct scene scene;

	scene_open_filled(&scene);
	snapshot = fixture_snapshot(&scene.fixture, 2);
	snapshot->run->takers = make_takers();
	snapshot->run->takers->n_takers = 0;
	snapshot->run->exits = make_exits(&scene.fixture, 0);
	snapshot->run->exits->n_rows = snapshot->run->exits->n_causes = 0;
	ui_show(scene.ui, snapshot);
	scene_keys(&scene, 80, 24, "T");
	screen_contains(&scene, 80, 24, "vCPU  CPU  Steal", true);
	screen_contains(&scene, 80, 24, "Neighbour", false);
	scene_keys(&scene, 80, 24, "O");
	screen_contains(&scene, 80, 24, "vCPU      Waits", true);
	screen_contains(&scene, 80, 24, "Reason, functions", false);
	scene_close(&scene);
}

/* Multiplies what came since the start. */
static void multiply(struct exits_table *table, unsigned factor)
{
	for (size_t i = 0; i < table->n_rows + table->n_vcpus; i++)
		for (size_t j = 0; j < TIME_HISTOGRAM_BUCKETS; j++)
			table->times[i].counts[j] *= factor;
	table->span_ns *= factor;
	table->records *= factor;
	for (size_t i = 0; i < table->n_rows; i++) {
		table->rows[i].total.count *= factor;
		table->rows[i].total.ns *= factor;
		table->causes[i].total = table->rows[i].total;
	}
	for (unsigned i = 0; i < table->n_vcpus; i++) {
		table->wakes[i].count *= factor;
		table->wakes[i].ns *= factor;
		for (size_t j = 0; j < EXITS_LOG2; j++)
			table->wakes[i].log2[j] *= factor;
	}
}

/* What the looks found until SECOND: db07 has taken time only since the third one. */
static struct takers_table *make_takers_at(unsigned second)
{
	struct takers_table *table = make_takers();
	double late = second > 2 ? second - 2 : 0;

	table->looks = 10 * second;
	table->span_ns = second * SECOND;
	table->takers[0].share.total = late / (late + second);
	table->takers[1].share.total = second / (late + second);
	table->takers[2].share.total = 0;
	for (unsigned i = 0; i < 2; i++) {
		table->vcpus[i].span_ms = 1000 * second;
		table->vcpus[i].waited.total = 0.2 * (late + second) / second;
		if (second == 4)
			table->vcpus[0].longest_ns = 999 * MS;
	}
	return table;
}

/* Two of five seconds: exits and takers are those of this time, and of no other. */
static void test_range(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	for (unsigned second = 1; second <= 5; second++) {
		struct snapshot *snapshot;

		scene.fixture.time_ns += SECOND;
		scene.ui->now_ns += SECOND;
		snapshot = fixture_snapshot(&scene.fixture, 2);
		snapshot->run->takers = make_takers_at(second);
		snapshot->run->exits = make_exits(&scene.fixture, 0);
		multiply(snapshot->run->exits, second);
		if (second >= 4) /* an EOI that took long */
			snapshot->run->exits->rows[1].longest_ns = 7 * MS;
		if (second >= 4)
			add_times(snapshot->run->exits, 1, 1, 7 * MS);
		snapshot->n_frames = FRAMES_MAX;
		ui_show(scene.ui, snapshot);
	}
	scene_keys(&scene, 100, 24, "O[[[{]]}");
	screen_contains(&scene, 100, 24, "22,840 exits a second", true);
	screen_contains(&scene, 100, 24, "162,466 records, none lost", true);
	scene_keys(&scene, 100, 24, "<Enter>");
	screen_check(&scene, "exits-range-100x24", 100, 24);
	scene_keys(&scene, 100, 24, "T");
	screen_check(&scene, "takers-range-100x24", 100, 24);
	scene_keys(&scene, 100, 24, "O");
	scene_keys(&scene, 100, 24, "w");
	screen_contains(&scene, 100, 24, "Write the range to:", true);
	scene_keys(&scene, 100, 24, "<Esc><Esc>");
	screen_contains(&scene, 100, 24, "live", true);
	scene_close(&scene);
}

/* A picture that has neither: no view opens, and a line says why. */
static void test_nothing(void)
{
	struct scene scene;

	scene_open_filled(&scene);
	scene_keys(&scene, 80, 24, "T");
	screen_contains(&scene, 80, 24, "who takes the CPUs: this recording has none", true);
	scene_keys(&scene, 80, 24, "O");
	screen_contains(&scene, 80, 24, "exits to Xen: this recording has none", true);
	scene_close(&scene);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	setenv("TZ", "UTC", 1);
	test_takers();
	test_exits();
	test_stopped();
	test_filter();
	test_filter_refused();
	test_more();
	test_open_taker();
	test_alone();
	test_range();
	test_nothing();
	return tap_done();
}
