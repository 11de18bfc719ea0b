/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report of a crashed guest as text (--crash). */
#include "config.h"

#include <stdio.h>

#include "xtop/export/export.h"
#include "xtop/profile/crash.h"

void export_crash(const struct snapshot *snapshot, const char *title, FILE *file)
{
	const struct crash_report *crash = snapshot->crash;

	fprintf(file, "%s%s%s: %s\n", title, snapshot_get_run(snapshot)->system[0] ? " " : "",
		snapshot_get_run(snapshot)->system,
		crash_get_state(&snapshot_get_run(snapshot)->sampler));
	for (size_t i = 0; i < crash->n_lines; i++)
		fprintf(file, "%s%s\n", crash->lines[i].kind == CRASH_HEADING ? "\n" : "",
			crash_get_line(crash, i));
	if (crash->is_full)
		fprintf(file, "\nThe report ends here: there is no room for the rest.\n");
}
