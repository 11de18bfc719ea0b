/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics as one JSON object (RFC 8259; the members stand in doc/FORMATS, in this order). Each
 * counter struct has a table of its fields, so that none is forgotten in one place and named
 * differently in another. Main's thread, once, at the end.
 *
 * The output is plain ASCII whatever the names in it are: all else is escaped. Numbers do not
 * depend on the locale, and what is no finite number is null.
 */
#include "config.h"

#include "xtop/export.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "xtop/utf8.h"

#define STATS_VERSION          1
#define STATS_MAX_STRING_BYTES 4096

/* --- JSON ------------------------------------------------------------------------------------- */

struct json {
	FILE *file;
	unsigned depth;
	bool comma; /* a value stands before the next one at this depth */
};

static void json_indent(struct json *json)
{
	fprintf(json->file, "%s%*s", json->depth ? "\n" : "", (int)(2 * json->depth), "");
}

/*
 * What goes before a value: a comma if due, its name (NULL in arrays). Names are ours: not escaped.
 */
static void json_begin(struct json *json, const char *name)
{
	if (json->comma)
		fputc(',', json->file);
	json_indent(json);
	if (name)
		fprintf(json->file, "\"%s\": ", name);
	json->comma = true;
}

static void json_open(struct json *json, const char *name, char bracket)
{
	json_begin(json, name);
	fputc(bracket, json->file);
	json->depth++;
	json->comma = false;
}

static void json_close(struct json *json, char bracket)
{
	json->depth--;
	fputc('\n', json->file);
	fprintf(json->file, "%*s%c", (int)(2 * json->depth), "", bracket);
	json->comma = true;
}

static void json_u64(struct json *json, const char *name, uint64_t value)
{
	json_begin(json, name);
	fprintf(json->file, "%" PRIu64, value);
}

static void json_double(struct json *json, const char *name, double value)
{
	json_begin(json, name);
	if (isfinite(value))
		fprintf(json->file, "%.9g", value);
	else
		fputs("null", json->file);
}

static void json_put_character(FILE *file, uint32_t code)
{
	if (code == '"' || code == '\\')
		fprintf(file, "\\%c", (int)code);
	else if (code >= 0x20 && code < 0x7f)
		fputc((int)code, file);
	else if (code < 0x10000)
		fprintf(file, "\\u%04" PRIx32, code);
	else /* a pair of surrogates: RFC 8259 §7 */
		fprintf(file, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + ((code - 0x10000) >> 10),
			0xdc00 + ((code - 0x10000) & 0x3ff));
}

static void json_string(struct json *json, const char *name, const char *value)
{
	size_t left = value ? strnlen(value, STATS_MAX_STRING_BYTES) : 0, length;

	json_begin(json, name);
	fputc('"', json->file);
	for (const char *at = value; left; at += length, left -= length) {
		uint32_t code = 0xfffd; /* in the place of a byte that is no UTF-8 */

		length = utf8_decode(at, left, &code);
		length = length ? length : 1;
		json_put_character(json->file, code);
	}
	fputc('"', json->file);
}

/* --- tables of fields ------------------------------------------------------------------------- */

enum stats_kind { STATS_U64, STATS_DOUBLE };

struct stats_field {
	const char *name;
	size_t offset;
	enum stats_kind kind;
};

#define U64(type, field)                                                                           \
	{                                                                                          \
#field, offsetof(struct type, field), STATS_U64                                    \
	}
#define DOUBLE(type, field)                                                                        \
	{                                                                                          \
#field, offsetof(struct type, field), STATS_DOUBLE                                 \
	}
#define N(array) (sizeof(array) / sizeof((array)[0]))

/* control.h; the state comes apart as a word. */
static const struct stats_field sampler_fields[] = {
	DOUBLE(sampler_counts, rate_asked_hz),
	DOUBLE(sampler_counts, rate_now_hz),
	U64(sampler_counts, ticks),
	U64(sampler_counts, samples),
	U64(sampler_counts, late),
	U64(sampler_counts, missed),
	U64(sampler_counts, skipped_budget),
	U64(sampler_counts, waited),
	U64(sampler_counts, idle_ticks),
	U64(sampler_counts, lost),
	U64(sampler_counts, refused),
	U64(sampler_counts, retakes),
	U64(sampler_counts, stops),
	U64(sampler_counts, stopped_ns),
	U64(sampler_counts, elapsed_ns),
	U64(sampler_counts, mapped_pages),
	U64(sampler_counts, maps),
	U64(sampler_counts, faults),
	U64(sampler_counts, cpu_ns),
	U64(sampler_counts, restarts),
	DOUBLE(sampler_counts, stopped_share),
	DOUBLE(sampler_counts, stopped_share_max),
};

/* snapshot.h; the counts by cause come apart. */
static const struct stats_field resolver_fields[] = {
	U64(resolver_counts, samples),        U64(resolver_counts, user),
	U64(resolver_counts, frames),         U64(resolver_counts, frames_unknown),
	U64(resolver_counts, frames_guessed), U64(resolver_counts, samples_unknown),
	U64(resolver_counts, samples_offset), U64(resolver_counts, early),
	U64(resolver_counts, idle),           U64(resolver_counts, bad_records),
	U64(resolver_counts, evicted_nodes),  U64(resolver_counts, frames_refused),
	U64(resolver_counts, cpu_ns),
};

static const struct stats_field os_fields[] = {
	U64(os_counts, areas_left_out), U64(os_counts, files_no_room),
	U64(os_counts, files_cut),      U64(os_counts, files_too_large),
	U64(os_counts, jit_no_room),    U64(os_counts, processes_evicted),
	U64(os_counts, tasks_evicted),  U64(os_counts, tasks_refused),
	U64(os_counts, modules_cut),    U64(os_counts, code_by_frame),
	U64(os_counts, room_bytes),
};

static const struct stats_field stopped_fields[] = {
	U64(stopped_summary, n),
	{ "min", offsetof(struct stopped_summary, min_ns), STATS_U64 },
	{ "p50", offsetof(struct stopped_summary, p50_ns), STATS_U64 },
	{ "p90", offsetof(struct stopped_summary, p90_ns), STATS_U64 },
	{ "p99", offsetof(struct stopped_summary, p99_ns), STATS_U64 },
	{ "max", offsetof(struct stopped_summary, max_ns), STATS_U64 },
	{ "mean", offsetof(struct stopped_summary, mean_ns), STATS_DOUBLE },
};

static const char *const sampler_state_names[] = {
	[SAMPLER_STARTING] = "starting",
	[SAMPLER_RUNNING] = "running",
	[SAMPLER_GUEST_PAUSED] = "guest_paused",
	[SAMPLER_HUNG] = "hung",
	[SAMPLER_GUEST_AWAY] = "guest_away",
	[SAMPLER_GUEST_GONE] = "guest_gone",
	[SAMPLER_ENDED] = "ended",
	[SAMPLER_FAILED] = "failed",
};

static const char *const vcpu_state_names[N_VCPU_STATES] = {
	[VCPU_OFFLINE] = "offline",
	[VCPU_BLOCKED] = "blocked",
	[VCPU_RUNNABLE] = "runnable",
	[VCPU_RUNNING] = "running",
};

static const char *const stop_names[N_UNWIND_STOPS] = {
	[UNWIND_COMPLETE] = "complete", [UNWIND_CUT] = "cut",
	[UNWIND_LOOP] = "loop",         [UNWIND_BAD] = "bad",
	[UNWIND_TOO_DEEP] = "too_deep", [UNWIND_NO_TABLES] = "no_tables",
	[UNWIND_REPLACED] = "replaced",
};

static const char *const part_names[N_UNWIND_PARTS] = {
	[UNWIND_KERNEL] = "kernel",
	[UNWIND_USER] = "user",
};

static const char *const cut_names[N_SAMPLE_CUTS] = {
	[CUT_NONE] = "none",
	[CUT_LIMIT] = "limit",
	[CUT_NOT_PRESENT] = "not_present",
	[CUT_NOT_MAPPED] = "not_mapped",
	[CUT_FAULT] = "fault",
	[CUT_NO_PAGING] = "no_paging",
};

static const char *const unknown_names[N_UNKNOWN_CAUSES] = {
	[UNKNOWN_NO_SYMBOLS] = "no_symbols",   [UNKNOWN_BETWEEN] = "between",
	[UNKNOWN_NOT_PRESENT] = "not_present", [UNKNOWN_NO_PROCESS] = "no_process",
	[UNKNOWN_NO_AREA] = "no_area",         [UNKNOWN_JIT] = "jit",
	[UNKNOWN_NO_FRAME] = "no_frame",
};

static void stats_put_fields(struct json *json, const void *counts,
			     const struct stats_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const void *field = (const char *)counts + fields[i].offset;

		if (fields[i].kind == STATS_DOUBLE)
			json_double(json, fields[i].name, *(const double *)field);
		else
			json_u64(json, fields[i].name, *(const uint64_t *)field);
	}
}

static void stats_put_words(struct json *json, const uint64_t *counts, const char *const *names,
			    size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_u64(json, names[i], counts[i]);
}

/* --- the object ------------------------------------------------------------------------------- */

static void stats_put_head(struct json *json, const struct snapshot *snapshot,
			   const struct stats_info *info)
{
	const struct sampler_counts *sampler = &snapshot->sampler;
	double elapsed_s = (double)sampler->elapsed_ns / 1e9;

	json_u64(json, "version", STATS_VERSION);
	json_string(json, "program", PACKAGE_STRING);
	json_string(json, "domain", info->domain);
	json_string(json, "type", info->type);
	json_u64(json, "n_vcpus", snapshot->n_vcpus);
	json_double(json, "wall_s", info->wall_s);
	json_open(json, "rate_hz", '{');
	json_double(json, "asked", sampler->rate_asked_hz);
	json_double(json, "reached", elapsed_s > 0 ? (double)sampler->samples / elapsed_s : 0);
	json_double(json, "now", sampler->rate_now_hz);
	json_close(json, '}');
}

static void stats_put_stopped(struct json *json, const struct stopped_summary *stopped)
{
	json_open(json, "stopped_ns", '{');
	stats_put_fields(json, stopped, stopped_fields, N(stopped_fields));
	json_open(json, "log2", '[');
	for (size_t i = 0; i < N(stopped->log2); i++)
		json_u64(json, NULL, stopped->log2[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void stats_put_sampler(struct json *json, const struct sampler_counts *sampler)
{
	bool known = (size_t)sampler->state < N(sampler_state_names);

	json_open(json, "sampler", '{');
	json_string(json, "state", known ? sampler_state_names[sampler->state] : "unknown");
	stats_put_fields(json, sampler, sampler_fields, N(sampler_fields));
	json_close(json, '}');
}

static void stats_put_resolver(struct json *json, const struct resolver_counts *resolver)
{
	json_open(json, "resolver", '{');
	stats_put_fields(json, resolver, resolver_fields, N(resolver_fields));
	json_open(json, "states", '{');
	stats_put_words(json, resolver->states, vcpu_state_names, N_VCPU_STATES);
	json_close(json, '}');
	json_open(json, "stops", '{');
	stats_put_words(json, resolver->stops, stop_names, N_UNWIND_STOPS);
	json_close(json, '}');
	json_open(json, "parts", '{');
	stats_put_words(json, resolver->parts, part_names, N_UNWIND_PARTS);
	json_close(json, '}');
	json_open(json, "parts_complete", '{');
	stats_put_words(json, resolver->parts_complete, part_names, N_UNWIND_PARTS);
	json_close(json, '}');
	json_open(json, "cuts", '{');
	stats_put_words(json, resolver->cuts, cut_names, N_SAMPLE_CUTS);
	json_close(json, '}');
	json_open(json, "unknown_causes", '{');
	stats_put_words(json, resolver->unknown_causes, unknown_names, N_UNKNOWN_CAUSES);
	json_close(json, '}');
	json_close(json, '}');
}

static void stats_put_os(struct json *json, const struct os_counts *os)
{
	json_open(json, "os", '{');
	stats_put_fields(json, os, os_fields, N(os_fields));
	json_close(json, '}');
}

static void stats_put_vcpus(struct json *json, const struct snapshot *snapshot)
{
	json_open(json, "vcpus", '[');
	for (unsigned i = 0; i < snapshot->n_vcpus && i < GUEST_MAX_VCPUS; i++) {
		json_open(json, NULL, '{');
		stats_put_words(json, snapshot->vcpus[i].states, vcpu_state_names, N_VCPU_STATES);
		json_u64(json, "user", snapshot->vcpus[i].user);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void stats_put_costs(struct json *json, const struct snapshot *snapshot,
			    const struct stats_info *info)
{
	json_open(json, "profile", '{');
	json_u64(json, "nodes", snapshot->n_nodes);
	json_u64(json, "frames", snapshot->n_frames);
	json_double(json, "live_weight", snapshot->live_weight);
	json_u64(json, "total_weight", snapshot->total_weight);
	json_u64(json, "ring_permille", snapshot->ring_permille);
	json_u64(json, "lag_ns", snapshot->resolver.lag_ns);
	json_close(json, '}');
	json_open(json, "cpu_s", '{');
	json_double(json, "sampler", (double)snapshot->sampler.cpu_ns / 1e9);
	json_double(json, "resolver", (double)snapshot->resolver.cpu_ns / 1e9);
	json_double(json, "ui", info->ui_cpu_s);
	json_close(json, '}');
	json_open(json, "memory_bytes", '{');
	json_u64(json, "rss", info->rss_bytes);
	json_u64(json, "profile", snapshot->profile_bytes);
	json_close(json, '}');
}

struct xtop_error *export_stats(const struct snapshot *snapshot, const struct stats_info *info,
				FILE *file)
{
	locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), old_locale;
	struct json json = { .file = file };

	if (!c_locale)
		return error_create("out of memory");
	old_locale = uselocale(c_locale);
	json_open(&json, NULL, '{');
	stats_put_head(&json, snapshot, info);
	stats_put_stopped(&json, &snapshot->stopped);
	stats_put_sampler(&json, &snapshot->sampler);
	stats_put_resolver(&json, &snapshot->resolver);
	stats_put_os(&json, &snapshot->os);
	stats_put_vcpus(&json, snapshot);
	stats_put_costs(&json, snapshot, info);
	json_close(&json, '}');
	fputc('\n', file);
	uselocale(old_locale);
	freelocale(c_locale);
	return NULL;
}
