/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of --metrics with hostile names, and how many functions of a guest become series. The
 * whole program is in tests/cli/metrics.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/export/metrics_text.h"
#include "xtop/profile/frames.h"
#include "xtop/service/metrics_functions.h"

#define HOUR_NS 3600000000000ULL

/* --- the text --------------------------------------------------------------------------------- */

static char *write_text(const struct metrics_guest *guests, size_t n)
{
	const struct metrics_host host = { .version = "0.1", .xen = "4.17.7" };
	char *text = NULL;
	size_t size_bytes;
	FILE *file = open_memstream(&text, &size_bytes);

	metrics_write_text(&host, guests, n, file);
	fclose(file);
	return text;
}

static void test_escapes(void)
{
	struct metrics_function function = { "operator\"\"_x\\y", "a\nb", 0.25 };
	const struct metrics_guest guest = { .domain = "w\"} 1\n\\",
					     .uuid = "u",
					     .samples = 580,
					     .n_functions = 1,
					     .functions = &function,
					     .functions_rest = 0.75 };
	char *text = write_text(&guest, 1);

	check(strstr(text, "\nxtop_function_self_ratio{domain=\"w\\\"} 1\\n\\\\\",uuid=\"u\","
			   "function=\"operator\\\"\\\"_x\\\\y\",module=\"a\\nb\"} 0.250000\n"),
	      "quotes, backslashes and line feeds are escaped");
	check(strstr(text, ",function=\"[others]\",module=\"\"} 0.750000\n"),
	      "the series of the others has the rest");
	check(strstr(text, "\nxtop_samples_total{domain=\"w\\\"} 1\\n\\\\\",uuid=\"u\"} 580\n"),
	      "a counter has its value");
	check(strstr(text, "\nxtop_build_info{version=\"0.1\",xen=\"4.17.7\"} 1\n"),
	      "the versions of xtop and Xen are there");
	check(!strstr(text, "xtop_push"), "no counters of --push without --push");
	free(text);
}

/* All series of one metric follow its TYPE: how often a metric's name changes is how many TYPEs. */
static void test_groups(void)
{
	const struct metrics_guest guests[3] = { { .domain = "a", .uuid = "1" },
						 { .domain = "b", .uuid = "2" },
						 { .domain = "c", .uuid = "3" } };
	char *text = write_text(guests, 3), *rest = text, *line;
	unsigned n_types = 0, n_helps = 0, n_wrong = 0, n_series = 0;
	char name[128] = "";

	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "# TYPE %127s", name) == 1) {
			n_types++;
		} else if (strncmp(line, "# HELP ", 7) == 0) {
			n_helps++;
		} else if (*line) {
			n_series++;
			n_wrong += strncmp(line, name, strlen(name)) != 0;
		}
	}
	check(n_types > 25 && n_types == n_helps, "%u metrics have a type and a help", n_types);
	check(n_wrong == 0 && n_series > 3 * 21, "%u series follow their types", n_series);
	free(text);
}

/* --- functions -------------------------------------------------------------------------------- */

/* A snapshot with COUNT functions NAME0, NAME1, ... of the weights 1, 1/2, 1/3, ... */
static struct snapshot *make_snapshot(struct frames *frames, const char *name, unsigned count)
{
	struct snapshot *snapshot = snapshot_create(count + 1);

	memset(snapshot->nodes, 0, (count + 1) * sizeof(*snapshot->nodes));
	for (unsigned i = 1; i <= count; i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s%u", name, i - 1);
		snapshot->nodes[i] = (struct snapshot_node){
			.frame = frames_intern(frames, FRAME_KIND_USERLAND, text, "httpd", 0),
			.depth = 1,
			.end = i + 1,
			.self_live = 1.0 / i,
			.self_ticks = 1.0 / i,
			.children_live = 1.0 / i,
			.children_ticks = 1.0 / i,
			.self_total = 1,
			.children_total = 1,
		};
		snapshot->nodes[0].children_ticks += 1.0 / i;
		snapshot->nodes[0].children_live += 1.0 / i;
	}
	snapshot->nodes[0].end = count + 1;
	snapshot->nodes[0].children_total = count;
	snapshot->live_weight = snapshot->total_weight = snapshot->nodes[0].children_ticks;
	snapshot->frames = frames;
	snapshot->n_frames = frames_count(frames);
	return snapshot;
}

static double sum(const struct metrics_functions *functions)
{
	double ratio = functions->rest;

	for (size_t i = 0; i < functions->n; i++)
		ratio += functions->functions[i].ratio;
	return ratio;
}

static bool has(const struct metrics_functions *functions, const char *name)
{
	for (size_t i = 0; i < functions->n; i++)
		if (strcmp(functions->functions[i].name, name) == 0)
			return true;
	return false;
}

static void update(struct metrics_functions *functions, struct frames *frames, const char *name,
		   unsigned count, uint64_t now_ns)
{
	struct snapshot *snapshot = make_snapshot(frames, name, count);

	metrics_functions_update(functions, snapshot, now_ns);
	snapshot_destroy(snapshot);
}

static void test_top(void)
{
	struct metrics_functions functions = { .n = 0 };
	struct frames *frames;

	must(frames_create(NULL, &frames));
	update(&functions, frames, "f", 4, 1);
	/* 1, 1/2, 1/3, 1/4 of 25/12 */
	check(functions.n == 4 && functions.functions[0].ratio > 0.4799 &&
		      functions.functions[0].ratio < 0.4801 && functions.rest == 0,
	      "four functions, the first with %.2f %%", 100 * functions.functions[0].ratio);
	update(&functions, frames, "f", 40, 2);
	check(functions.n == METRICS_COLLECTOR_TOP && functions.rest > 0,
	      "of forty functions the top ones are kept: %zu", functions.n);
	check(sum(&functions) > 0.9999 && sum(&functions) < 1.0001,
	      "the top functions and the others add up to 1");
	frames_destroy(frames);
}

/* A guest that has other names in each interval. */
static void test_hostile(void)
{
	struct metrics_functions functions = { .n = 0 };
	unsigned changes = 0;
	struct frames *frames;

	must(frames_create(NULL, &frames));
	for (unsigned i = 0; i < 1080; i++) { /* three hours, an interval of 10 s each */
		struct metrics_functions before = functions;
		char name[32];

		snprintf(name, sizeof(name), "new%u_", i);
		update(&functions, frames, name, 15, 1 + i * 10000000000ULL);
		for (size_t j = 0; j < functions.n; j++)
			changes += j >= before.n || strcmp(before.functions[j].name,
							   functions.functions[j].name) != 0;
		if (sum(&functions) < 0.9999 || sum(&functions) > 1.0001)
			break;
	}
	check(changes <= 3 * METRICS_MAX_FUNCTIONS && changes > METRICS_MAX_FUNCTIONS,
	      "16,200 names in three hours make %u series", changes);
	check(sum(&functions) > 0.9999 && sum(&functions) < 1.0001,
	      "all functions together are always 1");
	frames_destroy(frames);
}

static void test_keep(void)
{
	struct metrics_functions functions = { .n = 0 };
	struct frames *frames;

	must(frames_create(NULL, &frames));
	update(&functions, frames, "old", 10, 1);
	update(&functions, frames, "mid", 10, HOUR_NS / 2);
	update(&functions, frames, "new", 10, HOUR_NS / 2 + 1);
	check(has(&functions, "old0") && has(&functions, "mid0") && !has(&functions, "new0"),
	      "a function that has a place keeps it");
	check(functions.rest > 0.9999, "a function without a place is among the others");
	update(&functions, frames, "new", 10, HOUR_NS + 2);
	check(!has(&functions, "old0") && has(&functions, "mid0") && has(&functions, "new9"),
	      "after an hour another function has the place");
	frames_destroy(frames);
}

int main(void)
{
	test_escapes();
	test_groups();
	test_top();
	test_hostile();
	test_keep();
	return tap_done();
}
