/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of --neighbours in batch mode, which comes after that of samples, and its part of a
 * JSON object (doc/FORMATS). Main's thread:
 *
 *	web01 dom 5 PVH: steal 37.2 %, looks 103, pool 0 with 2 CPUs, 0 idle, weight 256, cap 0
 *	 Share       ±   CPUs  Weight   Cap  Neighbour
 *	  61.4     3.2   1.00     512     0  db07
 *	vCPU  CPU   Steal  Longest  May run   Taken by
 *	   0    1    37.2    0.300  1         db07 61 %, dom0 39 %
 *	1 vCPU shares CPU 1 with db07, which takes 61 % of the steal.
 *
 * and an empty line. Shares and steal are percents, "Longest" is in seconds.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <inttypes.h>
#include <math.h>

#include "export/json.h"
#include "export/host_json.h"
#include "xtop/query/takers_advice.h"

/* 95 % of true shares lie within this many standard errors. */
#define TAKERS_ERRORS 1.96

static void takers_print_head(const struct takers_table *table, const struct table_options *options,
			      FILE *file)
{
	fprintf(file, "%s: steal %.1f %%, looks %" PRIu64, options->title,
		100 * taken_get(table->steal, options->totals), table->looks);
	if (table->pool.n_cpus)
		fprintf(file, ", pool %u with %u CPUs, %u idle", table->pool.id, table->pool.n_cpus,
			table->pool.n_idle);
	fprintf(file, ", weight %u, cap %u\n", table->schedule.weight, table->schedule.cap);
}

static void takers_print_vcpu(const struct takers_table *table, size_t index, bool totals,
			      FILE *file)
{
	const struct taken_vcpu *vcpu = &table->vcpus[index];
	char by[TAKERS_ADVICE_BYTES], longest[32] = "-";

	if (!vcpu->online)
		return;
	if (vcpu->longest_ns)
		snprintf(longest, sizeof(longest), "%.3f", (double)vcpu->longest_ns / 1e9);
	takers_describe_vcpu(table, vcpu, by);
	fprintf(file, "%4zu  %3u  %6.1f  %7s  %-8s  %s\n", index, vcpu->cpu,
		100 * taken_get(vcpu->waited, totals), longest,
		vcpu->affinity[0] ? vcpu->affinity : "all", by);
}

struct xtop_error *export_takers_table(const struct snapshot *snapshot,
				       const struct table_options *options, FILE *file)
{
	const struct takers_table *table = snapshot_get_run(snapshot)->takers;
	struct takers_advice advice;
	char name[TAKERS_NAME_BYTES];

	if (!table)
		return NULL;
	if (table->failure[0]) {
		fprintf(file, "%s: who takes the CPUs is not known: %s\n\n", options->title,
			table->failure);
		return NULL;
	}
	takers_print_head(table, options, file);
	fprintf(file, "%6s  %6s  %5s  %6s  %4s  %s\n", "Share", "+-", "CPUs", "Weight", "Cap",
		"Neighbour");
	for (uint32_t i = 0; i < table->n_takers; i++) {
		const struct taker *taker = &table->takers[i];

		if (taken_get(taker->share, options->totals) >= 0.0005)
			fprintf(file, "%6.1f  %6.1f  %5.2f  %6u  %4u  %s\n",
				100 * taken_get(taker->share, options->totals),
				100 * TAKERS_ERRORS * taken_get(taker->error, options->totals),
				taken_get(taker->cpus, options->totals), taker->weight, taker->cap,
				takers_name(table, taker->domid, name));
	}
	fprintf(file, "%4s  %3s  %6s  %7s  %-8s  %s\n", "vCPU", "CPU", "Steal", "Longest",
		"May run", "Taken by");
	for (size_t i = 0; i < table->n_vcpus; i++)
		takers_print_vcpu(table, i, options->totals, file);
	takers_advise(table, options->totals, &advice);
	for (size_t i = 0; i < advice.n; i++)
		fprintf(file, "%s\n", advice.lines[i]);
	putc('\n', file);
	return NULL;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void takers_put_taker(struct json *json, const struct takers_table *table,
			     const struct taker *taker, bool totals)
{
	char name[TAKERS_NAME_BYTES];

	json_open(json, NULL, '{');
	json_text(json, "name", takers_name(table, taker->domid, name));
	if (taker_is_domain(taker->domid))
		json_u64(json, "domid", taker->domid);
	else
		json_double(json, "domid", NAN); /* null */
	json_double(json, "share", 100 * taken_get(taker->share, totals));
	json_double(json, "share_margin", 100 * TAKERS_ERRORS * taken_get(taker->error, totals));
	json_double(json, "cpus", taken_get(taker->cpus, totals));
	json_u64(json, "weight", taker->weight);
	json_u64(json, "cap", taker->cap);
	json_close(json, '}');
}

static void takers_put_vcpu(struct json *json, const struct takers_table *table, size_t index,
			    bool totals)
{
	const struct taken_vcpu *vcpu = &table->vcpus[index];
	char name[TAKERS_NAME_BYTES];

	json_open(json, NULL, '{');
	json_u64(json, "vcpu", index);
	json_bool(json, "online", vcpu->online);
	json_u64(json, "cpu", vcpu->cpu);
	json_text(json, "affinity", vcpu->affinity);
	json_double(json, "steal", 100 * taken_get(vcpu->waited, totals));
	json_double(json, "ran", 100 * taken_get(vcpu->ran, totals));
	json_double(json, "longest_s", (double)vcpu->longest_ns / 1e9);
	json_open(json, "taken_by", '[');
	for (unsigned i = 0; i < TAKERS_OF_VCPU && vcpu->by[i] != UINT32_MAX; i++) {
		json_open(json, NULL, '{');
		json_text(json, "name", takers_name(table, vcpu->by[i], name));
		json_double(json, "share", 100 * vcpu->by_share[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void takers_put_schedule(struct json *json, const struct takers_table *table)
{
	json_open(json, "schedule", '{');
	json_u64(json, "weight", table->schedule.weight);
	json_u64(json, "cap", table->schedule.cap);
	json_u64(json, "pool", table->pool.id);
	json_u64(json, "pool_cpus", table->pool.n_cpus);
	json_u64(json, "pool_idle", table->pool.n_idle);
	json_close(json, '}');
}

void takers_put_json(struct json *json, const struct takers_table *table, bool totals)
{
	struct takers_advice advice;

	json_open(json, "neighbours", '{');
	json_text(json, "failure", table->failure);
	json_double(json, "steal", 100 * taken_get(table->steal, totals));
	json_u64(json, "looks", table->looks);
	json_u64(json, "refused", table->refused);
	json_double(json, "span_s", (double)table->span_ns / 1e9);
	json_double(json, "cpu_s", (double)table->cpu_ns / 1e9);
	takers_put_schedule(json, table);
	json_open(json, "takers", '[');
	for (uint32_t i = 0; i < table->n_takers; i++)
		takers_put_taker(json, table, &table->takers[i], totals);
	json_close(json, ']');
	json_open(json, "vcpus", '[');
	for (size_t i = 0; i < table->n_vcpus; i++)
		takers_put_vcpu(json, table, i, totals);
	json_close(json, ']');
	json_open(json, "advice", '[');
	takers_advise(table, totals, &advice);
	for (size_t i = 0; i < advice.n; i++)
		json_text(json, NULL, advice.lines[i]);
	json_close(json, ']');
	json_close(json, '}');
}
