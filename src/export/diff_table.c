/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of --diff (doc/FORMATS):
 *
 *	old: old.xrec: samples 5940, elapsed 60.0 s, busy 1.00 vCPUs
 *	new: new.xrec: samples 5940, elapsed 60.0 s, busy 1.00 vCPUs
 *	self: 2 of 118 functions differ significantly; ...
 *	     Old      New    Delta  95 % interval  Ratio  Old vCPUs  New vCPUs  Symbol  Module
 *	    0.10    22.40   +22.30  +20.9..+23.7     224     0.0010     0.2240  memcpy  [kernel]
 *
 * Two spaces or more separate columns. Main's thread.
 */
#include "config.h"

#include "xtop/export/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void diff_print_side(const char *which, const char *name, const struct diff_side *side,
			    double cpu, FILE *file)
{
	fprintf(file, "%s: %s: samples %" PRIu64, which, name, side->snapshot->resolver.samples);
	if (side->seconds > 0)
		fprintf(file, ", elapsed %.1f s", side->seconds);
	if (isfinite(cpu))
		fprintf(file, ", busy %.2f vCPUs", cpu);
	putc('\n', file);
}

static void diff_print_head(const struct diff_side *now, const struct diff_side *base,
			    const struct diff *diff, const struct diff_table_options *options,
			    FILE *file)
{
	diff_print_side("old", options->base_name, base, diff->base_cpu, file);
	diff_print_side("new", options->now_name, now, diff->now_cpu, file);
	fprintf(file,
		"%s: %zu of %zu functions differ significantly (Benjamini-Hochberg: at most %g %% "
		"of these by chance)\n",
		options->children ? "children" : "self", diff->n_significant, diff->n,
		100 * DIFF_FALSE_DISCOVERIES);
	if (now->batches && base->batches)
		fputs("intervals: from the variance between batches of one second\n", file);
	else if (now->batches || base->batches)
		fputs("intervals: from the variance between batches of one second in one of the "
		      "files; the other one has no times\n",
		      file);
	else
		fputs("intervals: the files have no times, so samples count as independent, and "
		      "intervals are too narrow\n",
		      file);
}

static void diff_print_cpu(double cpu, FILE *file)
{
	if (isfinite(cpu))
		fprintf(file, "  %9.4f", cpu);
	else
		fprintf(file, "  %9s", "-");
}

static void diff_print_ratio(const struct diff_row *row, FILE *file)
{
	double ratio = row->now / row->base;

	if (!row->in_base)
		fprintf(file, "  %6s", "came");
	else if (!row->in_now)
		fprintf(file, "  %6s", "went");
	else
		fprintf(file, ratio < 100 ? "  %6.2f" : "  %6.0f", ratio);
}

static const char *diff_tag(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_KERNEL     ? "[k] "
	       : frame->kind == FRAME_KIND_USERLAND ? "[.] "
						    : "";
}

static void diff_print_row(const struct diff_row *row, const struct diff_table_options *options,
			   FILE *file)
{
	char interval[64] = "-";

	if (row->known)
		snprintf(interval, sizeof(interval), "%+.2f..%+.2f", 100 * row->low,
			 100 * row->high);
	fprintf(file, "%6.2f  %6.2f  %+7.2f  %15s", 100 * row->base, 100 * row->now,
		100 * (row->now - row->base), interval);
	diff_print_ratio(row, file);
	diff_print_cpu(row->base_cpu, file);
	diff_print_cpu(row->now_cpu, file);
	if (options->all_rows)
		fprintf(file, "  %4s", row->significant ? "yes" : "no");
	fprintf(file, "  %s%s", diff_tag(row->frame), row->frame->name);
	if (row->frame->module[0])
		fprintf(file, "  %s", row->frame->module);
	putc('\n', file);
}

void export_diff(const struct diff_side *now, const struct diff_side *base, const struct diff *diff,
		 const struct diff_table_options *options, FILE *file)
{
	size_t n = options->all_rows ? diff->n : diff->n_significant;

	diff_print_head(now, base, diff, options, file);
	if (!n)
		return;
	fprintf(file, "%6s  %6s  %7s  %15s  %6s  %9s  %9s%s  Symbol  Module\n", "Old", "New",
		"Delta", "95 % interval", "Ratio", "Old vCPUs", "New vCPUs",
		options->all_rows ? "  Sure" : "");
	for (size_t i = 0; i < n; i++)
		diff_print_row(&diff->rows[i], options, file);
}
