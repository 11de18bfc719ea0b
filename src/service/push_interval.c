/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a guest's interval a profile for the sender; see push_interval.h. */
#include "config.h"

#include "xtop/service/push_interval.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/export/export.h"
#include "xtop/pipeline/pipelines.h"
#include "xtop/query/line_expander.h"

#define PUSH_INTERVAL_STEP_NS 1000000000ULL /* a clock that is off by more was set, not slewed */

/* The snapshot's end in ns since 1970. A recording may know its beginning only to a second. */
static uint64_t push_interval_wall_ns(const struct push_interval_times *times,
				      const struct pipeline *pipeline,
				      const struct snapshot *snapshot)
{
	uint64_t wall_ns;

	if (!pipeline_is_recording(pipeline))
		return pipeline_wall_ns(pipeline, snapshot->time_ns);
	if (clocks_convert(&snapshot->clocks, CLOCK_UTC, snapshot->time_ns, &wall_ns))
		return wall_ns;
	return pipeline_wall_ns(pipeline, snapshot->time_ns) + snapshot->time_ns - times->first_ns;
}

uint64_t push_interval_begin_ns(uint64_t before_ns, uint64_t until_ns, uint64_t length_ns)
{
	uint64_t begin_ns = until_ns - length_ns;
	uint64_t off_ns = before_ns > begin_ns ? before_ns - begin_ns : begin_ns - before_ns;

	return before_ns && off_ns < PUSH_INTERVAL_STEP_NS && before_ns < until_ns ? before_ns
										   : begin_ns;
}

static void push_interval_set_times(struct push_interval_times *times,
				    const struct pipeline *pipeline, struct snapshot *snapshot,
				    struct push_profile *profile)
{
	snapshot->started_ns = times->from_ns;
	profile->until_ns = push_interval_wall_ns(times, pipeline, snapshot);
	profile->from_ns = push_interval_begin_ns(times->until_wall_ns, profile->until_ns,
						  snapshot->time_ns - times->from_ns);
	times->until_wall_ns = profile->until_ns;
}

/* Splits "Linux 6.1.0-37-amd64" into the system and its version. */
static void push_interval_set_system(const char *system, struct push_profile *profile)
{
	size_t n = strcspn(system, " ");

	snprintf(profile->os, sizeof(profile->os), "%.*s", (int)n, system);
	snprintf(profile->kernel, sizeof(profile->kernel), "%s",
		 system + n + strspn(system + n, " "));
}

static struct xtop_error *push_interval_encode(const struct push_intervals *push,
					       const struct pipeline *pipeline,
					       const struct snapshot *snapshot, uint64_t from_ns,
					       char **bytesp, size_t *size_bytesp)
{
	const struct export_settings settings = {
		.filter = push->filter,
		.addresses = push->options->addresses,
		.domain = pipeline_guest(pipeline)->name,
		.type = pipelines_type_name(pipeline_guest(pipeline)->type),
		.wall_ns = from_ns,
		.brief = true,
		.gzip = push->gzip,
		.clock = CLOCK_UTC,
	};
	FILE *file = open_memstream(bytesp, size_bytesp);
	struct xtop_error *error;

	if (!file)
		return error_create_errno(errno, "cannot write a profile");
	error = export_pprof(snapshot, &settings, file);
	if (fclose(file) == EOF && !error)
		error = error_create_errno(errno, "cannot write a profile");
	return error;
}

/*
 * Publishes a profile with source lines. A live guest does not wait for lines: those that are not
 * known yet come with the next interval. A recording has no next interval, so it waits.
 */
static struct xtop_error *push_interval_encode_lines(const struct push_intervals *push,
						     const struct pipeline *pipeline,
						     const struct snapshot *snapshot,
						     uint64_t from_ns, char **bytesp,
						     size_t *size_bytesp)
{
	const struct line_expander_settings settings = { .lines = push->lines,
							 .inlined = !push->options->no_inline };
	double wait_s = pipeline_is_recording(pipeline) ? LINE_EXPANDER_WAIT_S : 0;
	struct snapshot *with_lines = NULL;
	struct line_expander *expander = NULL;
	struct xtop_error *error = line_expander_create(&settings, &expander);

	if (!error)
		error = line_expander_apply(expander, snapshot, wait_s, &with_lines);
	if (!error)
		error = push_interval_encode(push, pipeline, with_lines, from_ns, bytesp,
					     size_bytesp);
	snapshot_destroy(with_lines);
	line_expander_destroy(expander);
	return error;
}

/* Hands the profile of SNAPSHOT to the sender. */
static struct xtop_error *push_interval_put(struct push_intervals *push,
					    struct push_interval_times *times,
					    const struct pipeline *pipeline,
					    struct snapshot *snapshot)
{
	const struct guest_info *info = pipeline_guest(pipeline);
	struct push_profile profile = { .waits = snapshot->waits != NULL };
	_cleanup_free_ char *bytes = NULL;
	struct xtop_error *error;
	size_t size_bytes;

	push_interval_set_times(times, pipeline, snapshot, &profile);
	push_interval_set_system(snapshot->run->system, &profile);
	memcpy(profile.domain, info->name, strnlen(info->name, sizeof(profile.domain) - 1));
	memcpy(profile.uuid, info->uuid, strnlen(info->uuid, sizeof(profile.uuid) - 1));
	error = (push->lines ? push_interval_encode_lines : push_interval_encode)(
		push, pipeline, snapshot, profile.from_ns, &bytes, &size_bytes);
	if (error)
		return error;
	push_add(push->push, &profile, bytes, size_bytes);
	push->pushed++;
	return NULL;
}

void push_interval_begin(struct push_interval_times *times, const struct snapshot *snapshot)
{
	if (!times->from_ns)
		times->from_ns = times->first_ns = snapshot->started_ns;
}

struct xtop_error *push_interval_end(struct push_intervals *push, struct push_interval_times *times,
				     const struct pipeline *pipeline, struct snapshot *snapshot)
{
	struct xtop_error *error = NULL;

	if (push->options->push && snapshot->total_weight > 0 && times->from_ns)
		error = push_interval_put(push, times, pipeline, snapshot);
	else
		times->until_wall_ns = 0;
	if (times->from_ns)
		times->from_ns = snapshot->time_ns;
	return error;
}
