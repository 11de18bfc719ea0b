/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a replay: chains share nodes, keep their names, and are bounded. */
#include "config.h"

#include "tests/support/must.h"
#include "tests/support/tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/profile/sample_log.h"

static void add(struct sample_log *log, uint64_t time_ns, const uint32_t *frames, size_t n)
{
	struct logged_sample sample = { .time_ns = time_ns, .ticks = 1.5, .pid = 7, .tid = 8 };

	sample_log_add(log, &sample, frames, n);
}

/* "TIME:inner,outer TIME:..." */
static const char *text_of(const struct sample_log *log)
{
	static char text[512];
	size_t n, length = 0;
	const struct logged_sample *samples = sample_log_get(log, &n);

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		struct logged_node at;

		length += (size_t)sprintf(text + length, "%s%" PRIu64 ":", i ? " " : "",
					  samples[i].time_ns);
		for (uint32_t node = samples[i].node; node; node = at.parent) {
			at = sample_log_node(log, node);
			length += (size_t)sprintf(text + length, "%" PRIu32 ",", at.frame);
		}
	}
	return text;
}

static uint32_t better_name(void *context, uint32_t frame)
{
	return frame == 20 ? *(const uint32_t *)context : frame;
}

static void test_chains(void)
{
	static const uint32_t first[] = { 10, 20, 30 }, second[] = { 10, 20 }, third[] = { 20, 10 };
	struct sample_log *log;
	uint32_t now = 99;
	size_t n;

	must(sample_log_create(&log));
	check_string(text_of(log), "", "text of a new log");
	add(log, 1, first, 3);
	add(log, 2, second, 2);
	add(log, 2, third, 2);
	add(log, 1, first, 3);
	add(log, 3, NULL, 0);
	check_string(text_of(log), "1:30,20,10, 2:20,10, 2:10,20, 1:30,20,10, 3:",
		     "chains in the order of the recording");
	check_u64(sample_log_get(log, &n)[0].node, sample_log_get(log, &n)[3].node,
		  "equal chains have one node");
	sample_log_rename(log, better_name, &now);
	check_string(text_of(log), "1:30,99,10, 2:99,10, 2:10,99, 1:30,99,10, 3:", "a better name");
	add(log, 4, second, 2);
	check(strstr(text_of(log), " 4:20,10,"), "an old name that comes again");
	sample_log_clear(log);
	check_string(text_of(log), "", "text of a cleared log");
	sample_log_destroy(log);
}

/* More chains than are kept: what does not fit is counted, what was there stays. */
static void test_bound(void)
{
	struct sample_log *log;
	size_t n;

	must(sample_log_create(&log));
	for (uint32_t i = 0; i < SAMPLE_LOG_MAX_NODES + 10; i++)
		add(log, i, &i, 1);
	sample_log_get(log, &n);
	check_u64(n, SAMPLE_LOG_MAX_NODES - 1, "samples are kept up to the bound of chains");
	check_u64(sample_log_lost(log), 11, "samples beyond the bound are counted");
	sample_log_destroy(log);
}

/* Between two readings a clock is told by both; a reading that lacks it is passed over. */
static void test_clocks(void)
{
	struct clocks first = { .at_ns = 100 }, blind = { .at_ns = 200 }, last = { .at_ns = 300 };
	struct sample_log *log;
	uint64_t told = 5;

	clocks_set(&first, CLOCK_GUEST, 1100);
	clocks_set(&last, CLOCK_GUEST, 1340);
	must(sample_log_create(&log));
	check(!sample_log_convert(log, CLOCK_GUEST, 1, &told) && told == 5,
	      "the guest's clock is not told without a reading");
	check(sample_log_convert(log, CLOCK_DOM0, 1, &told) && told == 1,
	      "dom0's clock is told without a reading");
	sample_log_add_clocks(log, &blind);
	check(!sample_log_convert(log, CLOCK_GUEST, 1, &told),
	      "a reading without the guest's clock");
	sample_log_destroy(log);
	must(sample_log_create(&log));
	sample_log_add_clocks(log, &first);
	sample_log_add_clocks(log, &blind);
	sample_log_add_clocks(log, &last);
	check(sample_log_convert(log, CLOCK_GUEST, 50, &told) && told == 1050, "before all: %d",
	      (int)told);
	check(sample_log_convert(log, CLOCK_GUEST, 150, &told) && told == 1160, "in between: %d",
	      (int)told);
	check(sample_log_convert(log, CLOCK_GUEST, 250, &told) && told == 1280,
	      "after the one without it: %d", (int)told);
	check(sample_log_convert(log, CLOCK_GUEST, 400, &told) && told == 1440, "after all: %d",
	      (int)told);
	sample_log_destroy(log);
}

int main(void)
{
	test_clocks();
	test_chains();
	test_bound();
	return tap_done();
}
