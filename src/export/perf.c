/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of `perf script` (doc/FORMATS): comments at the head. Then each sample has a line, its
 * frames, innermost first, and an empty line:
 *
 *	nginx 812/815 [001] 86401.203000: 10101010 cpu-clock:
 *		ffffffff8123abc0 vfs_read+0x0 ([kernel.kallsyms])
 *		            1139 main+0x0 (nginx)
 *
 * With --lines a frame's line follows it, and functions that were inlined there come before it, as
 * perf script -F +srcline prints them:
 *
 *		ffffffff8123abc0 get_user (inlined)
 *	  uaccess.h:120
 *		ffffffff8123abc0 vfs_read+0x0 ([kernel.kallsyms])
 *	  read_write.c:468
 *
 * The samples come from the log of a replay. Without a log, each call chain of the snapshot becomes
 * one sample: the number after the time is its weight, and the next sample begins where it ends.
 * After the samples come the call chains of the waits, in the same way, with another event.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <inttypes.h>
#include <string.h>

#include "export/measure.h"
#include "export/notes.h"
#include "export/stacks.h"
#include "xtop/base/build_id.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/text.h"
#include "xtop/profile/sample_log.h"
#include "xtop/query/line_expander.h"
#include "xtop/symbol/symbol.h"

/* Pids of Linux are below: PID_MAX_LIMIT (Linux include/linux/threads.h). */
#define PERF_PID_MAX_LIMIT (4 * 1024 * 1024)

struct perf {
	const struct snapshot *snapshot;
	const struct export_settings *settings;
	struct measure measure;
	FILE *file;
};

/* --- entries ---------------------------------------------------------------------------------- */

static const char *perf_module(const struct perf *perf, const struct frame *frame)
{
	const struct owner *owner = frames_get_owner(perf->snapshot->frames, frame);
	const char *module = owner ? owner->cgroup : frame->module;

	if (strcmp(module, "[kernel]") == 0)
		return "[kernel.kallsyms]"; /* perf's name for the kernel */
	return *module ? module : "[unknown]";
}

static void perf_put_line(const struct perf *perf, const struct line_frame *line)
{
	char raw[LINE_TEXT_BYTES + 16], text[LINE_TEXT_BYTES + 16];

	if (!line_expander_print(line, raw, sizeof(raw)))
		return;
	text_clean(text, sizeof(text), raw, strlen(raw));
	fprintf(perf->file, "  %s\n", text);
}

static void perf_put_inlined(const struct perf *perf, const struct frame *frame,
			     const struct line_frame *line)
{
	_cleanup_free_ char *demangled = symbol_demangle(line->function);
	const char *name = demangled ? demangled : line->function;
	char text[FRAME_NAME_BYTES];

	text_clean(text, sizeof(text), name, strlen(name));
	fprintf(perf->file, "\t%16" PRIx64 " %s (inlined)\n", frame->address, text);
	perf_put_line(perf, line);
}

static void perf_put_function(const struct perf *perf, const struct frame *frame)
{
	fprintf(perf->file, "\t%16" PRIx64 " ", frame->address);
	if (frame->unknown)
		fputs("[unknown]", perf->file);
	else
		fprintf(perf->file, "%s+0x0", frame->name);
	fprintf(perf->file, " (%s)\n", perf_module(perf, frame));
}

/* Snapshots of the screen have for each function the line with most samples. */
static void perf_put_source(const struct perf *perf, uint32_t id)
{
	struct source_position source = source_find(perf->snapshot, perf->settings, id);

	if (source.line)
		fprintf(perf->file, "  %.*s:%" PRIu32 "\n", (int)source.file_bytes, source.file,
			source.line);
}

static void perf_put_frame(const struct perf *perf, uint32_t id)
{
	const struct frame *frame = frames_get(perf->snapshot->frames, id);
	struct line_answer answer = { 0 };
	unsigned outer;

	if (perf->settings->lines)
		line_expander_find(perf->settings->lines, frame, &answer);
	outer = perf->settings->inlined && answer.n ? answer.n - 1 : 0;
	for (unsigned i = 0; i < outer; i++)
		perf_put_inlined(perf, frame, &answer.frames[i]);
	perf_put_function(perf, frame);
	if (answer.n)
		perf_put_line(perf, &answer.frames[outer]);
	else
		perf_put_source(perf, id);
}

struct perf_head {
	const char *name; /* the thread's name, or else the process's */
	const char *event;
	uint32_t pid, tid, vcpu;
	uint64_t time_ns, weight_ns;
};

static const char *perf_event(const struct measure *measure)
{
	return strcmp(measure->type, "cpu") == 0 ? "cpu-clock" : measure->type;
}

/* Prints microseconds as perf does. */
static void perf_put_head(const struct perf *perf, const struct perf_head *head)
{
	fprintf(perf->file,
		"%s %" PRIu32 "/%" PRIu32 " [%03" PRIu32 "] %" PRIu64 ".%06" PRIu64 ": %" PRIu64
		" %s:\n",
		head->name, head->pid, head->tid, head->vcpu, head->time_ns / 1000000000,
		head->time_ns / 1000 % 1000000, head->weight_ns, head->event);
}

static const char *perf_guest(const struct perf *perf)
{
	return perf->settings->domain ? perf->settings->domain : "guest";
}

/* --- a snapshot ------------------------------------------------------------------------------- */

/*
 * Writes an entry for each call chain of SNAPSHOT, the first one at TIME_NS. A snapshot has no
 * process ids, so processes and threads are numbered from PID + 1 on.
 */
static struct xtop_error *perf_put_snapshot(const struct perf *perf,
					    const struct snapshot *snapshot, uint32_t pid,
					    uint64_t time_ns)
{
	const struct measure measure = measure_find(snapshot);
	struct stacks stacks;
	struct stack stack;
	struct numbering processes;
	struct xtop_error *error = stacks_init(&stacks, snapshot, perf->settings);

	if (error)
		return error;
	if (!numbering_init(&processes, snapshot))
		processes.failed = true;
	while (!processes.failed && stacks_next(&stacks, &stack)) {
		uint32_t task = stack.thread != FRAME_NONE ? stack.thread : stack.process;
		struct perf_head head = {
			.name = perf_guest(perf),
			.event = perf_event(&measure),
			.pid = pid,
			.tid = pid,
			.time_ns = time_ns,
			.weight_ns = measure_round(&measure, stack.ticks),
		};

		if (task != FRAME_NONE) {
			head.name = frames_get(snapshot->frames, task)->name;
			head.pid = pid + 1 + numbering_get(&processes, stack.process);
			head.tid = pid + 1 + numbering_get(&processes, task);
		}
		time_ns += head.weight_ns;
		perf_put_head(perf, &head);
		for (size_t i = stack.n; i > 0; i--)
			perf_put_frame(perf, stack.frames[i - 1]);
		fputc('\n', perf->file);
	}
	if (processes.failed)
		error = error_create("no memory to write the text of perf script");
	numbering_deinit(&processes);
	stacks_deinit(&stacks);
	return error;
}

/* --- a recording ------------------------------------------------------------------------------ */

/* Fills CHAIN, innermost first. *NAMEP: the thread's name, or else the process's. */
static size_t perf_collect(const struct perf *perf, uint32_t node, uint32_t *chain,
			   const char **namep, bool *wantedp)
{
	const struct sample_log *log = perf->settings->samples;
	const struct frames *frames = perf->snapshot->frames;
	const struct filter *filter = perf->settings->filter;
	struct logged_node at;
	uint8_t met = 0;
	size_t n = 0;

	for (; node; node = at.parent) {
		const struct frame *frame;

		at = sample_log_node(log, node);
		frame = frames_get(frames, at.frame);
		if (filter)
			met |= filter_ask(filter, frames, at.frame);
		if (frame->kind != FRAME_KIND_OWNER)
			chain[n++] = at.frame;
		else if (!*namep)
			*namep = frame->name;
	}
	*wantedp = !filter || filter_passes(filter, met);
	return n;
}

static void perf_put_sample(const struct perf *perf, const struct logged_sample *sample,
			    uint64_t time_ns)
{
	uint32_t chain[SNAPSHOT_MAX_DEPTH];
	bool wanted;
	struct perf_head head = {
		.event = perf_event(&perf->measure),
		.pid = sample->pid,
		.tid = sample->tid,
		.vcpu = sample->vcpu,
		.time_ns = time_ns,
		.weight_ns = measure_round(&perf->measure, sample->ticks),
	};
	size_t n = perf_collect(perf, sample->node, chain, &head.name, &wanted);

	if (!wanted)
		return;
	if (!head.name)
		head.name = perf_guest(perf);
	perf_put_head(perf, &head);
	for (size_t i = 0; i < n; i++)
		perf_put_frame(perf, chain[i]);
	fputc('\n', perf->file);
}

static struct xtop_error *perf_find_time(const struct perf *perf,
					 const struct logged_sample *sample, uint64_t *time_ns)
{
	enum clock_kind clock = perf->settings->clock;

	if (sample_log_convert(perf->settings->samples, clock, sample->time_ns, time_ns))
		return NULL;
	return error_create("--clock=%s: the recording does not tell times on %s",
			    clocks_name(clock), clocks_describe(clock));
}

/* *FIRST_NS: time of the first sample; untouched if there is none. */
static struct xtop_error *perf_put_recording(const struct perf *perf, uint64_t *first_ns)
{
	size_t n;
	const struct logged_sample *samples = sample_log_get(perf->settings->samples, &n);
	struct xtop_error *error;
	uint64_t time_ns;

	for (size_t i = 0; i < n; i++) {
		error = perf_find_time(perf, &samples[i], &time_ns);
		if (error)
			return error;
		if (i == 0)
			*first_ns = time_ns;
		perf_put_sample(perf, &samples[i], time_ns);
	}
	return NULL;
}

/* --- the head --------------------------------------------------------------------------------- */

/* One line for each file of code whose build-id is known. */
static void perf_put_builds(const struct perf *perf)
{
	const struct frames *frames = perf->snapshot->frames;
	_cleanup_free_ bool *seen = calloc(FRAMES_MAX_BUILDS + 1, sizeof(*seen));

	for (uint32_t id = 0;
	     seen && id < stacks_n_frames(perf->snapshot, perf->settings); id++) {
		const struct frame *frame = frames_get(frames, id);
		char text[BUILD_ID_TEXT_BYTES];

		if (!frame->build || seen[frame->build])
			continue;
		seen[frame->build] = true;
		build_id_to_text(frames_get_build(frames, frame), text);
		fprintf(perf->file, "# build-id: %s %s\n", text, perf_module(perf, frame));
	}
}

/* The first line, as perf script --header prints it, tells readers the format. */
static void perf_put_comments(const struct perf *perf)
{
	struct notes notes;

	notes_build(perf->snapshot, perf->settings, &notes);
	fputs("# ========\n", perf->file);
	for (size_t i = 0; i < notes.n; i++)
		fprintf(perf->file, "# %s\n", notes.lines[i]);
	if (perf->settings->samples && sample_log_lost(perf->settings->samples))
		fprintf(perf->file, "# left out: %" PRIu64 " samples, beyond what is kept\n",
			sample_log_lost(perf->settings->samples));
	perf_put_builds(perf);
	fputs("# ========\n#\n", perf->file);
}

struct xtop_error *export_perf(const struct snapshot *snapshot,
			       const struct export_settings *settings, FILE *file)
{
	const struct perf perf = { .snapshot = snapshot,
				   .settings = settings,
				   .measure = measure_find(snapshot),
				   .file = file };

	const struct snapshot *waits = settings->waits;
	struct xtop_error *error;
	uint64_t first_ns = 0;

	perf_put_comments(&perf);
	if (settings->samples)
		error = perf_put_recording(&perf, &first_ns);
	else
		error = perf_put_snapshot(&perf, snapshot, 0, 0);
	/*
	 * Some readers ignore events, but tell tids apart. So the tids of waits are above all
	 * tids that Linux uses.
	 */
	if (!error && waits)
		error = perf_put_snapshot(&perf, waits, PERF_PID_MAX_LIMIT, first_ns);
	return error;
}
