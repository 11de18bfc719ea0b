/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of perf script, of a snapshot and of a recording's samples. The Firefox profiler opens
 * such files in tests/readers.
 */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xtop/export/export.h"
#include "xtop/profile/sample_log.h"
#include "xtop/query/line_expander.h"
#include "xtop/supervise/line_client.h"

static struct line_client *lines;

static struct frames *frames;

/* Without the head of comments. */
static char *perf(struct snapshot *snapshot, const struct export_settings *settings)
{
	char *text, *end;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	snapshot->run->sampler.rate_asked_hz = 100;
	must(export_perf(snapshot, settings, file));
	fclose(file);
	check(strncmp(text, "# ========\n# made by: xtop", 26) == 0, "the head is perf's");
	end = strstr(text, "\n# ========\n#\n") + strlen("\n# ========\n#\n");
	memmove(text, end, strlen(end) + 1);
	return text;
}

static void check_perf(struct snapshot *snapshot, const struct export_settings *settings,
		       const char *expected, const char *what)
{
	char *text = perf(snapshot, settings);

	check_string(text, expected, what);
	free(text);
}

static void test_snapshot(void)
{
	static const char *const stacks[] = { "@httpd;main;.read 3", "?10 1*2.5", "@idle;%t;main 1",
					      NULL };
	const struct export_settings settings = { .domain = "web01" };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);

	check_perf(snapshot, &settings,
		   "httpd 1/1 [000] 0.000000: 30000000 cpu-clock:\n"
		   "\t            1000 read+0x0 (prog)\n"
		   "\t            2000 main+0x0 ([kernel.kallsyms])\n"
		   "\n"
		   "web01 0/0 [000] 0.030000: 25000000 cpu-clock:\n"
		   "\t               0 [unknown] ([kernel.kallsyms])\n"
		   "\n"
		   "idle 2/2 [000] 0.055000: 10000000 cpu-clock:\n"
		   "\t            2000 main+0x0 ([kernel.kallsyms])\n"
		   "\t               0 [truncated]+0x0 ([unknown])\n"
		   "\n",
		   "a snapshot: one entry for each call chain, with its weight");
	snapshot_destroy(snapshot);
}

static void log_sample(struct sample_log *log, struct logged_sample sample, const char *names)
{
	char *copy = strdup(names), *state;
	uint32_t ids[8];
	size_t n = 0;

	for (char *name = strtok_r(copy, ";", &state); name; name = strtok_r(NULL, ";", &state))
		ids[n++] = stacks_frame(frames, name);
	sample_log_add(log, &sample, ids, n);
	free(copy);
}

static void test_recording(void)
{
	static const char *const stacks[] = { "@httpd;main 1", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks);
	struct export_settings settings = { .domain = "web01" };
	struct filter *filter;
	struct sample_log *log;

	must(sample_log_create(&log));
	settings.samples = log;
	log_sample(log, (struct logged_sample){ 1002003999, 1, 0, 12, 13, 1 }, "@httpd;main;.read");
	log_sample(log, (struct logged_sample){ 2000000000, 2.5, 0, 0, 0, 0 }, "main");
	snapshot->n_frames = frames_count(frames);
	check_perf(snapshot, &settings,
		   "httpd 12/13 [001] 1.002003: 10000000 cpu-clock:\n"
		   "\t            1000 read+0x0 (prog)\n"
		   "\t            2000 main+0x0 ([kernel.kallsyms])\n"
		   "\n"
		   "web01 0/0 [000] 2.000000: 25000000 cpu-clock:\n"
		   "\t            2000 main+0x0 ([kernel.kallsyms])\n"
		   "\n",
		   "a recording: one entry for each sample");
	must(filter_create("httpd", &filter));
	settings.filter = filter;
	check_perf(snapshot, &settings,
		   "httpd 12/13 [001] 1.002003: 10000000 cpu-clock:\n"
		   "\t            1000 read+0x0 (prog)\n"
		   "\t            2000 main+0x0 ([kernel.kallsyms])\n"
		   "\n",
		   "filtered");
	filter_destroy(filter);
	sample_log_destroy(log);
	snapshot_destroy(snapshot);
}

/* --- waits ------------------------------------------------------------------------------------ */

static struct snapshot *waits_snapshot(void)
{
	static const char *const stacks[] = { "@httpd;.read;futex_wait 3*2", NULL };
	struct snapshot *waits = stacks_snapshot(frames, stacks);

	waits->waits = calloc(1, sizeof(*waits->waits));
	return waits;
}

/* Milliseconds of waits, by threads that no sample has. */
#define WAIT_ENTRY(TIME)                                                                           \
	"httpd 4194305/4194305 [000] " TIME ": 6000000 wait:\n"                                    \
	"\t            2000 futex_wait+0x0 ([kernel.kallsyms])\n"                                  \
	"\t            1000 read+0x0 (prog)\n"                                                     \
	"\n"

static void test_waits(void)
{
	static const char *const stacks[] = { "@httpd;main 1", NULL };
	struct snapshot *snapshot = stacks_snapshot(frames, stacks), *waits = waits_snapshot();
	struct export_settings settings = { .domain = "web01", .waits = waits };
	struct sample_log *log;

	check_perf(snapshot, &settings,
		   "httpd 1/1 [000] 0.000000: 10000000 cpu-clock:\n"
		   "\t            2000 main+0x0 ([kernel.kallsyms])\n"
		   "\n" WAIT_ENTRY("0.000000"),
		   "waits after a snapshot");
	must(sample_log_create(&log));
	settings.samples = log;
	log_sample(log, (struct logged_sample){ 1002003999, 1, 0, 12, 13, 1 }, "@httpd;main");
	check_perf(snapshot, &settings,
		   "httpd 12/13 [001] 1.002003: 10000000 cpu-clock:\n"
		   "\t            2000 main+0x0 ([kernel.kallsyms])\n"
		   "\n" WAIT_ENTRY("1.002003"),
		   "waits after a recording's samples");
	sample_log_destroy(log);
	settings.samples = NULL;
	settings.waits = NULL;
	check_perf(waits, &settings,
		   "httpd 1/1 [000] 0.000000: 6000000 wait:\n"
		   "\t            2000 futex_wait+0x0 ([kernel.kallsyms])\n"
		   "\t            1000 read+0x0 (prog)\n"
		   "\n",
		   "waits alone");
	snapshot_destroy(waits);
	snapshot_destroy(snapshot);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void *open_made(int fd, int alt_fd, const char **why)
{
	static int file;

	(void)fd, (void)alt_fd, (void)why;
	return &file;
}

static void do_nothing(void *file)
{
	(void)file;
}

/* At 0x20 main() has add() inlined, by line 2, and add() a function without a line. */
static void find_made(void *file, const struct line_place *place, struct line_answer *answer)
{
	(void)file;
	answer->n = 0;
	if (place->address == 0x20) {
		answer->frames[answer->n++] = (struct line_frame){ "bare", "", 0, 0 };
		answer->frames[answer->n++] =
			(struct line_frame){ "_ZN3app3addEi", "inc/\033add.h", 7, 1 };
	}
	if (place->address != 0x30)
		answer->frames[answer->n++] =
			(struct line_frame){ "main", "src/main.c", (uint32_t)place->address / 16, 1 };
}

static const struct line_reader made_reader = {
	.open = open_made, .find = find_made, .trim = do_nothing, .close = do_nothing
};

/* One sample of main at each of three places. */
static struct snapshot *snapshot_with_lines(uint32_t file)
{
	const struct build_id build = { .size_bytes = 0 };
	uint32_t function = frames_intern_function(
		frames, &(struct frame_function){ FRAME_KIND_USERLAND, "main", "prog", 0x1000,
						  &build, NULL });
	struct snapshot *snapshot;
	struct profile *profile;

	must(profile_create(PROFILE_MAX_NODES, 10000000000, frames, &profile));
	for (uint64_t address = 0x10; address <= 0x30; address += 0x10) {
		uint32_t place = frames_intern_line(frames, function, file, address);

		profile_add(profile, &place, 1, 1, 1, 1);
	}
	must(profile_copy(profile, 1, &snapshot));
	profile_destroy(profile);
	return snapshot;
}

static void test_lines(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct export_settings settings = { .domain = "web01", .inlined = true };
	struct snapshot *snapshot;

	must(line_client_start(&made_reader, &lines));
	settings.lines = lines;
	snapshot = snapshot_with_lines(line_client_add_file(lines, fd, -1, "prog", NULL, 0));
	must(line_expander_ask(lines, snapshot, 20));
	check_perf(snapshot, &settings,
		   "web01 0/0 [000] 0.000000: 10000000 cpu-clock:\n"
		   "\t            1000 main+0x0 (prog)\n"
		   "  main.c:1\n"
		   "\n"
		   "web01 0/0 [000] 0.010000: 10000000 cpu-clock:\n"
		   "\t            1000 bare (inlined)\n"
		   "\t            1000 app::add (inlined)\n"
		   "  _add.h:7\n"
		   "\t            1000 main+0x0 (prog)\n"
		   "  main.c:2\n"
		   "\n"
		   "web01 0/0 [000] 0.020000: 10000000 cpu-clock:\n"
		   "\t            1000 main+0x0 (prog)\n"
		   "\n",
		   "lines, and inlined functions");
	settings.inlined = false;
	check_perf(snapshot, &settings,
		   "web01 0/0 [000] 0.000000: 10000000 cpu-clock:\n"
		   "\t            1000 main+0x0 (prog)\n"
		   "  main.c:1\n"
		   "\n"
		   "web01 0/0 [000] 0.010000: 10000000 cpu-clock:\n"
		   "\t            1000 main+0x0 (prog)\n"
		   "\n"
		   "web01 0/0 [000] 0.020000: 10000000 cpu-clock:\n"
		   "\t            1000 main+0x0 (prog)\n"
		   "\n",
		   "without inlined functions: the innermost line, if it is known");
	snapshot_destroy(snapshot);
	line_client_stop(lines);
	close(fd);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_snapshot();
	test_recording();
	test_waits();
	test_lines();
	frames_destroy(frames);
	return tap_done();
}
