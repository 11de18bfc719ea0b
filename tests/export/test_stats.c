/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The statistics: the text of what the contract names, and a small strict scanner of JSON (RFC
 * 8259) over the whole output, whatever names and numbers go in.
 */
#include "xtop/export/export.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/tap.h"

/* --- a scanner: the position after one value, or NULL ---------------------------------------- */

static const char *scan_value(const char *at);

static const char *scan_space(const char *at)
{
	return at + strspn(at, " \n");
}

static const char *scan_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at != '"'; at++) {
		if (*at < 0x20 || *at > 0x7e) /* ASCII only is our own promise */
			return NULL;
		if (*at != '\\')
			continue;
		at++;
		if (*at == 'u') {
			for (int i = 0; i < 4; i++)
				if (!isxdigit((unsigned char)*++at))
					return NULL;
		} else if (!*at || !strchr("\"\\/bfnrt", *at)) {
			return NULL;
		}
	}
	return at + 1;
}

static const char *scan_number(const char *at)
{
	const char *digits;

	at += *at == '-';
	digits = at;
	at += strspn(at, "0123456789");
	if (at == digits || (*digits == '0' && at > digits + 1))
		return NULL;
	if (*at == '.') {
		digits = ++at;
		at += strspn(at, "0123456789");
		if (at == digits)
			return NULL;
	}
	if (*at == 'e') {
		at += 1 + (at[1] == '+' || at[1] == '-');
		digits = at;
		at += strspn(at, "0123456789");
		if (at == digits)
			return NULL;
	}
	return at;
}

static const char *scan_list(const char *at, char close, bool named)
{
	at = scan_space(at + 1);
	if (*at == close)
		return at + 1;
	for (;;) {
		if (named) {
			at = scan_string(at);
			if (!at || *scan_space(at) != ':')
				return NULL;
			at = scan_space(scan_space(at) + 1);
		}
		at = scan_value(at);
		if (!at)
			return NULL;
		at = scan_space(at);
		if (*at == close)
			return at + 1;
		if (*at != ',')
			return NULL;
		at = scan_space(at + 1);
	}
}

static const char *scan_value(const char *at)
{
	if (*at == '{')
		return scan_list(at, '}', true);
	if (*at == '[')
		return scan_list(at, ']', false);
	if (*at == '"')
		return scan_string(at);
	if (strncmp(at, "null", 4) == 0 || strncmp(at, "true", 4) == 0)
		return at + 4;
	if (strncmp(at, "false", 5) == 0)
		return at + 5;
	return scan_number(at);
}

static bool is_json(const char *text)
{
	const char *end = scan_value(text);

	return end && strcmp(end, "\n") == 0;
}

static void test_scanner(void)
{
	check(is_json("{\"a\": [1, -2.5e-3, null], \"b\": {}}\n"), "the scanner accepts JSON");
	check(!is_json("{\"a\": nan}\n") && !is_json("{\"a\": 1,}\n") && !is_json("[01]\n") &&
		      !is_json("[1,5.]\n") && !is_json("{\"a\x01\": 1}\n") &&
		      !is_json("{\"\\x\": 1}\n") && !is_json("{} {}\n"),
	      "the scanner refuses all else");
}

/* --- what is written -------------------------------------------------------------------------- */

static const struct snapshot *waits; /* stats_text() writes them */

static char *stats_text(const struct snapshot *snapshot, const char *domain)
{
	struct stats_info info = { .domain = domain,
				   .waits = waits,
				   .type = "pvh",
				   .wall_s = 10.25,
				   .ui_cpu_s = 0.5,
				   .rss_bytes = 12345678 };
	char *text = NULL;
	size_t size_bytes = 0;
	FILE *file = open_memstream(&text, &size_bytes);

	if (!file || export_stats(snapshot, &info, file) || fclose(file) != 0)
		abort();
	return text;
}

static struct snapshot some_snapshot(struct snapshot_run *run)
{
	*run = (struct snapshot_run){
		.sampler = { .state = SAMPLER_GUEST_GONE,
			     .rate_asked_hz = 99,
			     .rate_now_hz = 98.5,
			     .ticks = 990,
			     .samples = 980,
			     .late = 25,
			     .missed = 26,
			     .skipped_budget = 27,
			     .idle_ticks = 28,
			     .unstopped = 33,
			     .lost = 29,
			     .retakes = 30,
			     .stops = 31,
			     .stopped_ns = 32,
			     .elapsed_ns = 10000000000,
			     .mapped_pages = 34,
			     .maps = 35,
			     .faults = 36,
			     .cpu_ns = 3700000000,
			     .restarts = 42,
			     .stopped_share = 0.0025,
			     .stopped_share_max = 0.0031 },
		.stopped = { .n = 31,
			     .min_ns = 1,
			     .p50_ns = 2,
			     .p90_ns = 3,
			     .p99_ns = 4,
			     .max_ns = UINT64_MAX,
			     .mean_ns = 2.5 },
		.n_vcpus = 2,
		.vcpus = { { .states = { 1, 2, 3, 4 }, .user = 5 },
			   { .states = { 6, 7, 8, 9, 2 }, .user = 10 } },
		.ring_permille = 38,
	};
	return (struct snapshot){
		.n_frames = 7,
		.n_nodes = 9,
		.live_weight = 12.5,
		.total_weight = 990,
		.resolver = { .samples = 990,
			      .lag_ns = 1234567,
			      .states = { 1, 2, 3, 4 },
			      .user = 5,
			      .stops = { 6, 7, 8, 9, 10, 11, 37 },
			      .parts = { 38, 39 },
			      .parts_complete = { 40, 41 },
			      .cuts = { 12, 13, 14, 15, 16, 17 },
			      .unknown_causes = { 31, 32, 33, 34, 35, 36, 37 },
			      .frames = 18,
			      .frames_unknown = 19,
			      .samples_unknown = 20,
			      .bad_records = 21,
			      .evicted_nodes = 22,
			      .frames_refused = 23,
			      .program_frames = 42,
			      .program_frames_unknown = 43,
			      .recipes = 44,
			      .recipes_refused = 45,
			      .cpu_ns = 2400000000 },
		.profile_bytes = 65536,
		.run = run,
	};
}

static void check_has(const char *text, const char *part)
{
	check(strstr(text, part), "statistics have %s", part);
}

static void test_members(void)
{
	struct snapshot_run run;
	struct snapshot snapshot = some_snapshot(&run);
	char *text = stats_text(&snapshot, "web01");

	check(is_json(text), "statistics are JSON");
	check_has(text, "\"version\": 1,");
	check_has(text, "\"domain\": \"web01\",");
	check_has(text, "\"type\": \"pvh\",");
	check_has(text, "\"wall_s\": 10.25,");
	check_has(
		text,
		"\"rate_hz\": {\n    \"asked\": 99,\n    \"reached\": 98,\n    \"now\": 98.5\n  }");
	check_has(
		text,
		"\"stopped_ns\": {\n    \"n\": 31,\n    \"min\": 1,\n    \"p50\": 2,\n"
		"    \"p90\": 3,\n"
		"    \"p99\": 4,\n    \"max\": 18446744073709551615,\n"
		"    \"mean\": 2.5,\n    \"log2\": [");
	check_has(text, "\"program_frames\": 42,\n    \"program_frames_unknown\": 43,\n"
			"    \"recipes\": 44,\n    \"recipes_refused\": 45,");
	check_has(text, "\"state\": \"guest_gone\",");
	check_has(text, "\"stopped_share\": 0.0025,");
	check_has(text, "\"lost\": 29,");
	check_has(
		text,
		"\"stops\": {\n      \"complete\": 6,\n      \"cut\": 7,\n      \"loop\": 8,\n"
		"      \"bad\": 9,\n"
		"      \"too_deep\": 10,\n      \"no_tables\": 11,\n      \"replaced\": 37\n    }");
	check_has(text, "\"ring_permille\": 38,\n    \"lag_ns\": 1234567");
	check_has(text, "\"parts\": {\n      \"kernel\": 38,\n      \"user\": 39\n    }");
	check_has(text, "\"parts_complete\": {\n      \"kernel\": 40,\n      \"user\": 41\n    }");
	check_has(
		text,
		"\"cuts\": {\n      \"none\": 12,\n      \"limit\": 13,\n"
		"      \"not_present\": 14,\n"
		"      \"not_mapped\": 15,\n      \"fault\": 16,\n      \"no_paging\": 17\n    }");
	check_has(text,
		  "\"unknown_causes\": {\n      \"no_symbols\": 31,\n      \"between\": 32,\n"
		  "      \"not_present\": 33,\n      \"no_process\": 34,\n      \"no_area\": 35,\n"
		  "      \"jit\": 36,\n      \"no_frame\": 37\n    }");
	check_has(text, "{\n      \"offline\": 6,\n      \"blocked\": 7,\n      \"runnable\": 8,\n"
			"      \"running\": 9,\n      \"lock_wait\": 2,\n      \"user\": 10,\n"
			"      \"steal_percent\": 25\n    }");
	check_has(
		text,
		"\"cpu_s\": {\n    \"sampler\": 3.7,\n    \"resolver\": 2.4,\n"
		"    \"ui\": 0.5\n  }");
	check_has(text, "\"memory_bytes\": {\n    \"rss\": 12345678,\n    \"profile\": 65536\n  }");
	free(text);
}

/* What was read of the tasks that wait, and what that cost. */
static void test_waits(void)
{
	struct snapshot_run run;
	struct snapshot snapshot = some_snapshot(&run), of_waits = { .total_weight = 7500 };
	struct snapshot_waits part = {
		.span_ticks = 20500,
		.rows_refused = 11,
		.locks_refused = 16,
		.cpu_ns = 1250000000,
		.counts = { .passes = 1, .tasks = 2, .looks = 3, .running = 4, .stacks = 5,
			    .retried = 6, .left_out = 7, .unreadable = 8, .no_room = 9,
			    .locks_found = 12, .locks_unknown = 13, .locks = 14, .locks_moved = 15,
			    .locks_cpu_ns = 250000000 },
	};
	char *text;

	of_waits.resolver.stops[UNWIND_CUT] = 33;
	of_waits.waits = &part;
	text = stats_text(&snapshot, "x");
	check(!strstr(text, "\"waits\""), "statistics have no waits if nobody looked at waits");
	free(text);
	waits = &of_waits;
	text = stats_text(&snapshot, "x");
	check(is_json(text), "statistics with waits are JSON");
	check_has(text,
		  "\"waits\": {\n    \"tasks_known\": true,\n    \"passes\": 1,\n    \"tasks\": 2,\n"
		  "    \"looks\": 3,\n    \"running\": 4,\n    \"stacks\": 5,\n    \"retried\": 6,\n"
		  "    \"left_out\": 7,\n    \"unreadable\": 8,\n    \"no_room\": 9,\n"
		  "    \"rows_refused\": 11,\n    \"locks_found\": 12,\n    \"locks_unknown\": 13,\n"
		  "    \"lock_looks\": 14,\n    \"locks_moved\": 15,\n    \"locks_refused\": 16,\n"
		  "    \"span_s\": 20.5,\n    \"waited_s\": 7.5,\n    \"truncated\": 33,\n"
		  "    \"cpu_s\": 1.25,\n    \"locks_cpu_s\": 0.25\n  }");
	free(text);
	part.unsupported = true;
	text = stats_text(&snapshot, "x");
	check_has(text, "\"tasks_known\": false,");
	free(text);
	waits = NULL;
}

static void test_strings(void)
{
	static const struct {
		const char *raw, *json;
	} cases[] = {
		{ "a\"b\\c/d", "\"a\\\"b\\\\c/d\"" },
		{ "\x01\t\n\x1b[2J\x7f", "\"\\u0001\\u0009\\u000a\\u001b[2J\\u007f\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\\u00e9\\u20ac\\ud83d\\ude00\"" },
		{ "\xe2\x80\xae", "\"\\u202e\"" },                          /* bidi override */
		{ "\xff\x80z", "\"\\ufffd\\ufffdz\"" },                     /* no UTF-8 */
		{ "\xc0\xaf", "\"\\ufffd\\ufffd\"" },                       /* overlong */
		{ "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },            /* surrogate */
		{ "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" }, /* exceeds U+10FFFF */
		{ "\xe2\x82", "\"\\ufffd\\ufffd\"" },                       /* cut */
		{ "", "\"\"" },
	};
	struct snapshot_run run;
	struct snapshot snapshot = some_snapshot(&run);
	char part[128], *text;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = stats_text(&snapshot, cases[i].raw);
		snprintf(part, sizeof(part), "\"domain\": %s,", cases[i].json);
		check(is_json(text) && strstr(text, part), "domain's name %zu in JSON: %s", i,
		      cases[i].json);
		free(text);
	}
	text = stats_text(&snapshot, NULL);
	check(is_json(text), "statistics without a domain's name are JSON");
	free(text);
}

static void test_numbers(void)
{
	struct snapshot_run run;
	struct snapshot snapshot = some_snapshot(&run);
	char *text;

	run.sampler.elapsed_ns = 0;
	run.stopped.mean_ns = NAN;
	snapshot.live_weight = INFINITY;
	run.sampler.stopped_share = 1e-300;
	run.sampler.state = (enum sampler_state)77;
	run.n_vcpus = 1;
	run.vcpus[0].times = (struct vcpu_times){ 1000, 300, 125 };
	text = stats_text(&snapshot, "x");
	check_has(text, "\"steal_percent\": 12.5");
	free(text);
	run.vcpus[0] = (struct snapshot_vcpu){ .user = 0 };
	text = stats_text(&snapshot, "x");
	check_has(text, "\"steal_percent\": null");
	free(text);
	run.n_vcpus = 0;
	text = stats_text(&snapshot, "x");
	check(is_json(text), "JSON in spite of nan, inf and an unknown state");
	check_has(text, "\"mean\": null");
	check_has(text, "\"reached\": 0");
	check_has(text, "\"state\": \"unknown\"");
	free(text);
	run.n_vcpus = GUEST_MAX_VCPUS + 1;
	text = stats_text(&snapshot, "x");
	check(is_json(text), "statistics of more vCPUs than there can be are JSON");
	free(text);
}

/* xtop sets the user's locale for ncurses. Its decimal comma must not get into the file. */
static void test_locale(void)
{
	static const char *const comma[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "de_DE.utf8" };
	struct snapshot_run run;
	struct snapshot snapshot = some_snapshot(&run);
	const char *set = NULL;
	char *text;

	for (size_t i = 0; !set && i < 4; i++)
		set = setlocale(LC_ALL, comma[i]);
	text = stats_text(&snapshot, "x");
	check(strstr(text, "\"wall_s\": 10.25,"), "decimal points in locale %s",
	      set ? set : "C # no other here");
	free(text);
}

int main(void)
{
	test_scanner();
	test_members();
	test_waits();
	test_strings();
	test_numbers();
	test_locale();
	return tap_done();
}
