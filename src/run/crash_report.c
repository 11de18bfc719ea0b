/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --crash in batch mode; see crash_report.h. */
#include "config.h"

#include "run/crash_report.h"

#include <errno.h>

#include "xtop/export/export.h"
#include "xtop/pipeline/pipelines.h"

static bool crash_report_has_failed(const struct pipeline *pipeline)
{
	struct sampler_counts counts;

	control_get_counts(pipeline_control(pipeline), &counts);
	return counts.state > SAMPLER_GUEST_PAUSED;
}

/* Waits for the first snapshot with a report. NULL: no report will come. */
static struct snapshot *crash_report_wait(const struct pipeline *pipeline)
{
	bool over = false;

	while (!over) {
		struct snapshot *snapshot = pipelines_next_snapshot(pipeline);

		if (snapshot && snapshot->crash)
			return snapshot;
		over = (snapshot && snapshot->at_end) ||
		       (!pipeline_is_recording(pipeline) && crash_report_has_failed(pipeline));
		snapshot_destroy(snapshot);
	}
	return NULL;
}

struct xtop_error *crash_report_print(const struct pipeline *pipeline, const char *title,
				      FILE *file)
{
	struct snapshot *snapshot = crash_report_wait(pipeline);
	const char *message = control_get_message(pipeline_control(pipeline));

	if (!snapshot) /* a sampler that failed is reported at the end */
		return message[0] ? NULL
				  : error_create(pipeline_is_recording(pipeline)
							 ? "the recording ends before the report"
							 : "the guest is gone");
	export_crash(snapshot, title, file);
	snapshot_destroy(snapshot);
	if (fflush(file) == EOF || ferror(file))
		return error_create_errno(errno, "cannot write the report");
	return NULL;
}
