/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of --exits in batch mode, which comes after that of samples, and its part of a JSON
 * object (doc/FORMATS). Main's thread:
 *
 *	web01 dom 5 PVH: exits 22104.0 a second, 12.3 % of a CPU in Xen, records 81233, lost 0,
 *	seen 10.0 s
 *	      Rate   Time  Mean us   p99 us  Longest  Reason, and who causes it
 *	   21000.0   11.1      5.3      8.0     61.2  MSR write 0x80b APIC_EOI
 *	   21000.0   11.1                               native_apic_msr_eoi
 *	vCPU     Wakes  Mean us   p50 us   p99 us  Longest  Who ran then
 *	   0     1200      12.0     11.0     80.0    301.0  db07
 *
 * and an empty line. Times are microseconds, "Time" is a percent of one CPU.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <inttypes.h>
#include <math.h>

#include "export/host_json.h"
#include "xtop/profile/exit_names.h"
#include "xtop/query/takers_advice.h"

#define EXITS_CAUSES 3 /* functions of one reason in the table */

static double exits_mean_us(const struct exits_weight *weight)
{
	return weight->count ? weight->ns / (double)weight->count / 1e3 : 0;
}

/* Who ran on the CPU for which a vCPU waited longest. */
static const char *exits_name_neighbour(const struct snapshot *snapshot, uint32_t domid,
					char buffer[TAKERS_NAME_BYTES])
{
	static const struct takers_table nothing = { .domid = UINT32_MAX };
	const struct takers_table *takers = snapshot_get_run(snapshot)->takers;

	return domid == UINT32_MAX ? "-" : takers_name(takers ? takers : &nothing, domid, buffer);
}

static void exits_print_cause(const struct snapshot *snapshot, const struct exits_cause *cause,
			      const struct table_options *options, double span_ns, FILE *file)
{
	const struct exits_weight *weight =
		exits_weight_of(&cause->live, &cause->total, options->totals);
	bool has_process = cause->place.process != FRAME_ROOT;
	char buffer[FRAME_TEXT_BYTES];

	fprintf(file, "%10.1f  %5.1f  %7s  %7s  %7s    %s%s%s%s\n",
		(double)weight->count * 1e9 / span_ns, 100 * weight->ns / span_ns, "", "", "",
		frame_text(frames_get(snapshot->frames, cause->place.frame), options->addresses,
			   buffer),
		has_process ? " (" : "",
		has_process ? frames_get(snapshot->frames, cause->place.process)->name : "",
		has_process ? ")" : "");
}

/* Prints the functions of row NUMBER, whose causes begin at *ATP. */
static void exits_print_causes(const struct snapshot *snapshot, size_t number, size_t *atp,
			       const struct table_options *options, FILE *file)
{
	const struct exits_table *table = snapshot_get_run(snapshot)->exits;
	double span_ns = exits_span_ns(table, options->totals);
	size_t printed = 0;

	for (; *atp < table->n_causes && table->causes[*atp].row == number; ++*atp)
		if (printed++ < EXITS_CAUSES)
			exits_print_cause(snapshot, &table->causes[*atp], options, span_ns, file);
}

static void exits_print_wakes(const struct snapshot *snapshot, FILE *file)
{
	const struct exits_table *table = snapshot_get_run(snapshot)->exits;
	char name[TAKERS_NAME_BYTES];

	fprintf(file, "%4s  %8s  %7s  %7s  %7s  %7s  %s\n", "vCPU", "Wakes", "Mean us", "p50 us",
		"p99 us", "Longest", "Who ran then");
	for (unsigned i = 0; i < table->n_vcpus && i < GUEST_MAX_VCPUS; i++) {
		const struct exits_wakes *wakes = &table->wakes[i];

		fprintf(file, "%4u  %8" PRIu64 "  %7.1f  %7.1f  %7.1f  %7.1f  %s\n", i,
			wakes->count, wakes->count ? wakes->ns / (double)wakes->count / 1e3 : 0,
			(double)wakes->p50_ns / 1e3, (double)wakes->p99_ns / 1e3,
			(double)wakes->longest_ns / 1e3,
			exits_name_neighbour(snapshot, wakes->longest_by, name));
	}
}

struct xtop_error *export_exits_table(const struct snapshot *snapshot,
				      const struct table_options *options, FILE *file)
{
	const struct exits_table *table = snapshot_get_run(snapshot)->exits;
	double span_ns = table ? exits_span_ns(table, options->totals) : 1;
	struct exits_weight sum = { 0 };
	char name[EXIT_NAME_BYTES];
	size_t at = 0;

	if (!table)
		return NULL;
	if (table->failure[0]) {
		fprintf(file, "%s: exits are not known: %s\n\n", options->title, table->failure);
		return NULL;
	}
	sum = exits_sum(table, options->totals);
	fprintf(file,
		"%s: exits %.1f a second, %.1f %% of a CPU in Xen, records %" PRIu64
		", lost %" PRIu64 ", seen %.1f s%s\n",
		options->title, (double)sum.count * 1e9 / span_ns, 100 * sum.ns / span_ns,
		table->records, table->lost, span_ns / 1e9,
		table->lost ? "; rates are of what was seen" : "");
	if (!table->n_rows)
		fputs(EXITS_NONE "\n", file);
	else
		fprintf(file, "%10s  %5s  %7s  %7s  %7s  %s\n", "Rate", "Time", "Mean us", "p99 us",
			"Longest", "Reason, and who causes it");
	for (size_t i = 0; i < table->n_rows; i++) {
		const struct exits_row *row = &table->rows[i];
		const struct exits_weight *weight =
			exits_weight_of(&row->live, &row->total, options->totals);

		fprintf(file, "%10.1f  %5.1f  %7.1f  %7.1f  %7.1f  %s\n",
			(double)weight->count * 1e9 / span_ns, 100 * weight->ns / span_ns,
			exits_mean_us(weight), (double)row->p99_ns / 1e3,
			(double)row->longest_ns / 1e3, exit_name(&row->reason, name));
		exits_print_causes(snapshot, i, &at, options, file);
	}
	exits_print_wakes(snapshot, file);
	putc('\n', file);
	return NULL;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void exits_put_weight(struct json *json, const struct exits_weight *live,
			     const struct exits_weight *total, double span_ns, bool totals)
{
	const struct exits_weight *weight = exits_weight_of(live, total, totals);

	json_double(json, "rate", (double)weight->count * 1e9 / span_ns);
	json_double(json, "time", 100 * weight->ns / span_ns);
	json_u64(json, "count", total->count);
	json_double(json, "total_s", total->ns / 1e9);
}

static void exits_put_row(struct json *json, const struct snapshot *snapshot, size_t number,
			  size_t *atp, bool totals)
{
	const struct exits_table *table = snapshot_get_run(snapshot)->exits;
	const struct exits_row *row = &table->rows[number];
	double span_ns = exits_span_ns(table, totals);
	char name[EXIT_NAME_BYTES];

	json_open(json, NULL, '{');
	json_text(json, "reason", exit_name(&row->reason, name));
	exits_put_weight(json, &row->live, &row->total, span_ns, totals);
	json_double(json, "p99_us", (double)row->p99_ns / 1e3);
	json_double(json, "longest_us", (double)row->longest_ns / 1e3);
	json_open(json, "functions", '[');
	for (; *atp < table->n_causes && table->causes[*atp].row == number; ++*atp) {
		const struct exits_cause *cause = &table->causes[*atp];
		const struct frame *frame = frames_get(snapshot->frames, cause->place.frame);
		char buffer[FRAME_TEXT_BYTES];

		json_open(json, NULL, '{');
		json_text(json, "symbol", frame_text(frame, false, buffer));
		json_text(json, "module", frame->module);
		json_text(json, "process",
			  cause->place.process == FRAME_ROOT
				  ? ""
				  : frames_get(snapshot->frames, cause->place.process)->name);
		exits_put_weight(json, &cause->live, &cause->total, span_ns, totals);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void exits_put_bucket(struct json *json, unsigned power, uint64_t count)
{
	if (!count)
		return;
	json_open(json, NULL, '{');
	json_double(json, "from_us", (double)(1ULL << power) / 1e3);
	json_u64(json, "count", count);
	json_close(json, '}');
}

static void exits_put_histogram(struct json *json, const char *name,
				const uint64_t log2[EXITS_LOG2])
{
	json_open(json, name, '[');
	for (unsigned i = 0; i < EXITS_LOG2; i++)
		exits_put_bucket(json, i, log2[i]);
	json_close(json, ']');
}

static void exits_put_wakes(struct json *json, const struct exits_wakes *wakes, unsigned vcpu)
{
	uint64_t log2[EXITS_LOG2];

	json_open(json, NULL, '{');
	json_u64(json, "vcpu", vcpu);
	json_u64(json, "count", wakes->count);
	json_double(json, "mean_us", wakes->count ? wakes->ns / (double)wakes->count / 1e3 : 0);
	json_double(json, "p50_us", (double)wakes->p50_ns / 1e3);
	json_double(json, "p99_us", (double)wakes->p99_ns / 1e3);
	json_double(json, "longest_us", (double)wakes->longest_ns / 1e3);
	if (wakes->longest_by == UINT32_MAX)
		json_double(json, "longest_by", NAN); /* null */
	else
		json_u64(json, "longest_by", wakes->longest_by);
	for (unsigned i = 0; i < EXITS_LOG2; i++)
		log2[i] = wakes->log2[i];
	exits_put_histogram(json, "histogram", log2);
	json_close(json, '}');
}

void exits_put_json(struct json *json, const struct snapshot *snapshot, bool totals)
{
	const struct exits_table *table = snapshot_get_run(snapshot)->exits;
	uint64_t log2[EXITS_LOG2];
	size_t at = 0;

	json_open(json, "exits", '{');
	json_text(json, "failure", table->failure);
	json_double(json, "span_s", table->span_ns / 1e9);
	json_u64(json, "records", table->records);
	json_u64(json, "lost", table->lost);
	json_u64(json, "bad", table->bad);
	json_u64(json, "refused", table->refused);
	json_double(json, "reader_cpu_s", (double)table->cpu_ns / 1e9);
	json_open(json, "reasons", '[');
	for (size_t i = 0; i < table->n_rows; i++)
		exits_put_row(json, snapshot, i, &at, totals);
	json_close(json, ']');
	json_open(json, "wakes", '[');
	for (unsigned i = 0; i < table->n_vcpus && i < GUEST_MAX_VCPUS; i++)
		exits_put_wakes(json, &table->wakes[i], i);
	json_close(json, ']');
	exits_sum_waits(table, log2);
	exits_put_histogram(json, "wakes_histogram", log2);
	json_close(json, '}');
}
