/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of counters; see counters.h. --stats prints it in this order and with these names
 * (doc/FORMATS): a new counter comes after the others of its group, and no name ever changes.
 *
 * Not in the table: the sampler's state, which is a word in --stats; the histogram of stopped
 * times; and what --stats shows in other places or not at all (tests/query/test_counters.c lists
 * these).
 */
#include "config.h"

#include "xtop/query/counters.h"

#include <stddef.h>

/* --- the names of elements, by their enum; beside them the words of the screen ---------------- */

const char *const counter_vcpu_states[N_VCPU_STATES] = {
	[VCPU_OFFLINE] = "offline",
	[VCPU_BLOCKED] = "blocked",
	[VCPU_RUNNABLE] = "runnable",
	[VCPU_RUNNING] = "running",
	[VCPU_LOCK_WAIT] = "lock_wait",
};

static const char *const counter_stops[N_UNWIND_STOPS] = {
	[UNWIND_COMPLETE] = "complete",
	[UNWIND_CUT] = "cut",
	[UNWIND_LOOP] = "loop",
	[UNWIND_BAD] = "bad",
	[UNWIND_TOO_DEEP] = "too_deep",
	[UNWIND_NO_TABLES] = "no_tables",
	[UNWIND_REPLACED] = "replaced",
};

static const char *const counter_unwind_bys[N_UNWIND_BYS] = {
	[UNWIND_BY_REGISTERS] = "registers",
	[UNWIND_BY_ORC] = "orc",
	[UNWIND_BY_GO] = "go",
	[UNWIND_BY_SEH] = "seh",
	[UNWIND_BY_CFI] = "cfi",
	[UNWIND_BY_COMPUTED] = "computed",
	[UNWIND_BY_FP] = "frame_pointers",
	[UNWIND_BY_GUESS] = "guess",
};

const char *const counter_unwind_by_words[N_UNWIND_BYS] = {
	[UNWIND_BY_REGISTERS] = "registers",
	[UNWIND_BY_ORC] = "ORC",
	[UNWIND_BY_GO] = "Go",
	[UNWIND_BY_SEH] = "SEH",
	[UNWIND_BY_CFI] = "CFI",
	[UNWIND_BY_COMPUTED] = "computed",
	[UNWIND_BY_FP] = "frame pointers",
	[UNWIND_BY_GUESS] = "guess",
};

static const char *const counter_parts[N_UNWIND_PARTS] = {
	[UNWIND_KERNEL] = "kernel",
	[UNWIND_USER] = "user",
};

const char *const counter_stop_words[N_UNWIND_STOPS] = {
	[UNWIND_COMPLETE] = "whole",
	[UNWIND_CUT] = "stack cut short",
	[UNWIND_LOOP] = "loop",
	[UNWIND_BAD] = "no frame",
	[UNWIND_TOO_DEEP] = "too deep",
	[UNWIND_NO_TABLES] = "no unwind tables",
	[UNWIND_REPLACED] = "return address replaced",
};

static const char *const counter_cuts[N_SAMPLE_CUTS] = {
	[CUT_NONE] = "none",
	[CUT_LIMIT] = "limit",
	[CUT_NOT_PRESENT] = "not_present",
	[CUT_NOT_MAPPED] = "not_mapped",
	[CUT_FAULT] = "fault",
	[CUT_NO_PAGING] = "no_paging",
};

const char *const counter_cut_words[N_SAMPLE_CUTS] = {
	[CUT_NONE] = "nothing copied",
	[CUT_LIMIT] = "deeper than was copied",
	[CUT_NOT_PRESENT] = "page not there",
	[CUT_NOT_MAPPED] = "page not mapped",
	[CUT_FAULT] = "page went away",
	[CUT_NO_PAGING] = "no paging",
};

static const char *const counter_unknown_causes[N_UNKNOWN_CAUSES] = {
	[UNKNOWN_NO_SYMBOLS] = "no_symbols",
	[UNKNOWN_BETWEEN] = "between",
	[UNKNOWN_NOT_PRESENT] = "not_present",
	[UNKNOWN_NO_PROCESS] = "no_process",
	[UNKNOWN_NO_AREA] = "no_area",
	[UNKNOWN_JIT] = "jit",
	[UNKNOWN_NO_FRAME] = "no_frame",
};

const char *const counter_unknown_cause_words[N_UNKNOWN_CAUSES] = {
	[UNKNOWN_NO_SYMBOLS] = "no symbols",
	[UNKNOWN_BETWEEN] = "between symbols",
	[UNKNOWN_NOT_PRESENT] = "page not there",
	[UNKNOWN_NO_PROCESS] = "process gone",
	[UNKNOWN_NO_AREA] = "outside all areas",
	[UNKNOWN_JIT] = "compiled code",
	[UNKNOWN_NO_FRAME] = "no frame",
};

/* --- the table -------------------------------------------------------------------------------- */

/* clang-format off: a table */
#define AT(member) offsetof(struct snapshot_run, member)
#define STOPPED(name, kind, member) { COUNTERS_STOPPED, kind, name, AT(stopped.member), NULL, 0 }
#define SAMPLER(name)  { COUNTERS_SAMPLER, COUNTER_U64, #name, AT(sampler.name), NULL, 0 }
#define SAMPLER_DOUBLE(name) \
	{ COUNTERS_SAMPLER, COUNTER_DOUBLE, #name, AT(sampler.name), NULL, 0 }
#define RESOLVER(name)                                                                             \
	{                                                                                          \
		COUNTERS_RESOLVER, COUNTER_U64, #name, offsetof(struct snapshot, resolver.name),   \
			NULL, 0                                                                    \
	}
#define BY(name, elements, n)                                                                      \
	{                                                                                          \
		COUNTERS_RESOLVER, COUNTER_ARRAY, #name, offsetof(struct snapshot, resolver.name), \
			elements, n                                                                \
	}
#define TICKS_BY(name, elements, n)                                                                \
	{                                                                                          \
		COUNTERS_RESOLVER, COUNTER_TICKS, #name, offsetof(struct snapshot, resolver.name), \
			elements, n                                                                \
	}
#define RESOLVER_DOUBLE(name)                                                                      \
	{                                                                                          \
		COUNTERS_RESOLVER, COUNTER_DOUBLE, #name,                                          \
			offsetof(struct snapshot, resolver.name), NULL, 0                          \
	}
#define OS(name)       { COUNTERS_OS, COUNTER_U64, #name, AT(os.name), NULL, 0 }

const struct counter counters[] = {
	STOPPED("n", COUNTER_U64, n),
	STOPPED("min", COUNTER_U64, min_ns),
	STOPPED("p50", COUNTER_U64, p50_ns),
	STOPPED("p90", COUNTER_U64, p90_ns),
	STOPPED("p99", COUNTER_U64, p99_ns),
	STOPPED("max", COUNTER_U64, max_ns),
	STOPPED("mean", COUNTER_DOUBLE, mean_ns),

	SAMPLER_DOUBLE(rate_asked_hz),
	SAMPLER_DOUBLE(rate_now_hz),
	SAMPLER(ticks),
	SAMPLER(samples),
	SAMPLER(late),
	SAMPLER(missed),
	SAMPLER(skipped_budget),
	SAMPLER(waited),
	SAMPLER(idle_ticks),
	SAMPLER(unstopped),
	SAMPLER(lost),
	SAMPLER(refused),
	SAMPLER(retakes),
	SAMPLER(stops),
	SAMPLER(stopped_ns),
	SAMPLER(elapsed_ns),
	SAMPLER(mapped_pages),
	SAMPLER(maps),
	SAMPLER(faults),
	SAMPLER(cpu_ns),
	SAMPLER(restarts),
	SAMPLER_DOUBLE(stopped_share),
	SAMPLER_DOUBLE(stopped_share_max),
	SAMPLER(given_up),

	RESOLVER(samples),
	RESOLVER(user),
	RESOLVER(frames),
	RESOLVER(frames_unknown),
	RESOLVER(samples_unknown),
	RESOLVER(samples_function),
	RESOLVER(samples_offset),
	RESOLVER(early),
	RESOLVER(idle),
	RESOLVER(bad_records),
	RESOLVER(evicted_nodes),
	RESOLVER(frames_refused),
	RESOLVER(program_frames),
	RESOLVER(program_frames_unknown),
	RESOLVER(recipes),
	RESOLVER(recipes_refused),
	RESOLVER(first_name_bytes),
	RESOLVER(cpu_ns),
	TICKS_BY(states, counter_vcpu_states, N_VCPU_STATES),
	BY(stops, counter_stops, N_UNWIND_STOPS),
	BY(parts, counter_parts, N_UNWIND_PARTS),
	BY(parts_complete, counter_parts, N_UNWIND_PARTS),
	BY(cuts, counter_cuts, N_SAMPLE_CUTS),
	BY(frames_by, counter_unwind_bys, N_UNWIND_BYS),
	BY(unknown_causes, counter_unknown_causes, N_UNKNOWN_CAUSES),
	RESOLVER(unresolved),
	RESOLVER_DOUBLE(weight),
	RESOLVER_DOUBLE(weight_unknown),
	RESOLVER_DOUBLE(weight_function),
	RESOLVER_DOUBLE(weight_offset),
	RESOLVER_DOUBLE(weight_truncated),

	OS(areas_left_out),
	OS(files_no_room),
	OS(files_cut),
	OS(files_too_large),
	OS(jit_no_room),
	OS(processes_evicted),
	OS(tasks_evicted),
	OS(tasks_refused),
	OS(cgroups_unreadable),
	OS(modules_cut),
	OS(code_by_frame),
	OS(room_bytes),
};
/* clang-format on */
const size_t n_counters = sizeof(counters) / sizeof(counters[0]);

static const char *counter_base(const struct counter *counter, const struct snapshot *snapshot,
				const struct snapshot_run *run)
{
	return counter->group == COUNTERS_RESOLVER ? (const char *)snapshot : (const char *)run;
}

const void *counter_value(const struct counter *counter, const struct snapshot *snapshot)
{
	return counter_base(counter, snapshot, snapshot_get_run(snapshot)) + counter->offset;
}

/* --- a range of time -------------------------------------------------------------------------- */

/* Whether the counter only grows. Rates and present amounts may become less. */
static bool counter_grows(const struct counter *counter)
{
	if (counter->group == COUNTERS_RESOLVER)
		return true;
	return counter->group == COUNTERS_SAMPLER && counter->kind == COUNTER_U64 &&
	       counter->offset != AT(sampler.mapped_pages);
}

static void counter_subtract(const struct counter *counter, struct snapshot *snapshot,
			     const struct snapshot *before)
{
	size_t n = counter->n ? counter->n : 1;
	char *at = (char *)counter_base(counter, snapshot, snapshot->run) + counter->offset;
	const char *was = counter_value(counter, before);

	for (size_t i = 0; i < n; i++, at += sizeof(uint64_t), was += sizeof(uint64_t)) {
		if (counter->kind == COUNTER_U64 || counter->kind == COUNTER_ARRAY) {
			uint64_t *value = (uint64_t *)at, old = *(const uint64_t *)was;

			*value -= old <= *value ? old : 0;
		} else {
			double *value = (void *)at, old = *(const double *)(const void *)was;

			*value -= old <= *value ? old : 0;
		}
	}
}

void counters_subtract(struct snapshot *snapshot, const struct snapshot *before)
{
	struct sampler_counts *sampler = snapshot->run ? &snapshot->run->sampler : NULL;
	bool was_reset = snapshot_was_reset(before, snapshot);

	for (size_t i = 0; i < n_counters; i++)
		if (counter_grows(&counters[i]) &&
		    (counters[i].group == COUNTERS_RESOLVER ? !was_reset : sampler != NULL))
			counter_subtract(&counters[i], snapshot, before);
	if (sampler)
		sampler->stopped_share = sampler->elapsed_ns ? (double)sampler->stopped_ns /
								       (double)sampler->elapsed_ns
							     : 0;
}
