/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stages of one guest, from the guest or a recording to snapshots. The pipeline starts, joins
 * and stops their processes and threads. A session has one pipeline for each guest.
 *
 *   live     guard and sampler (processes) ─► ring ─► resolver (thread) ─► snapshots
 *                 ▲ started again, when the guest comes back, by the reattacher (thread)
 *   replay   replay (thread)               ─► ring ─► resolver (thread) ─► snapshots
 *
 * Main's thread. Everything that can fail fails before the guest is stopped for the first time.
 */
#ifndef XTOP_PIPELINE_H
#define XTOP_PIPELINE_H

#include <stdbool.h>

#include "xtop/cli/options.h"
#include "xtop/profile/snapshot.h"
#include "xtop/query/history.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"
#include "xtop/xen/guest.h"

struct pipeline;

/*
 * Finds DOMAIN and does all that needs rights. If DOMAIN is NULL, the pipeline shows the recording
 * or profile of OPTIONS. Only pipeline_start() reads what strangers made, such as that file.
 * OPTIONS and FILES outlive the pipeline.
 */
struct xtop_error *pipeline_create(const struct options *options, const struct host_files *files,
				   const char *domain, struct pipeline **pipelinep);
/* PIPELINE is stopped or was never started, or is NULL. */
void pipeline_destroy(struct pipeline *pipeline);
/*
 * Sets the older run to compare with. Call it before pipeline_start(). BASELINE lives until
 * pipeline_start() has returned.
 */
void pipeline_set_baseline(struct pipeline *pipeline, const struct snapshot *baseline);
struct xtop_error *pipeline_start(struct pipeline *pipeline);
/* Wakes the resolver after snapshot_request(): it may sleep for up to a second. */
void pipeline_wake(struct pipeline *pipeline);
/*
 * Ends sampling; the caller calls pipeline_stop() soon. If the samples go into files or tables, the
 * resolver has some seconds for the samples that are in the ring. Otherwise the resolver hurries
 * (control_hurry()).
 */
void pipeline_begin_stop(struct pipeline *pipeline);
/* Ends sampling, empties the ring, and closes the file of -w. Error: the file was not written. */
struct xtop_error *pipeline_stop(struct pipeline *pipeline);

/* When pipeline_start() returned, on clock_now_ns(). */
uint64_t pipeline_started_ns(const struct pipeline *pipeline);
/*
 * The guest as it was at the last call of pipeline_get_note() or pipeline_get_message(); a reboot
 * changes it.
 */
const struct guest_info *pipeline_guest(const struct pipeline *pipeline);
/* After pipeline_stop(): all samples of the recording; NULL if they were not asked for. */
const struct sample_log *pipeline_samples(const struct pipeline *pipeline);
/*
 * Whether the pipeline replays a recording, or shows a profile; if neither, it is live. Known after
 * pipeline_start().
 */
bool pipeline_is_recording(const struct pipeline *pipeline);
bool pipeline_is_profile(const struct pipeline *pipeline);
/* The format of a profile, such as "folded". */
const char *pipeline_format(const struct pipeline *pipeline);
/* The type of a profile's values; "" if the profile has values of one type. */
const char *pipeline_value(const struct pipeline *pipeline);
/* Reads the profile's next values, and publishes their snapshot. */
struct xtop_error *pipeline_read_next_value(struct pipeline *pipeline);
/*
 * What happened to the guest, as a clean line: it reboots, it is back; "" if nothing happened. To
 * be called now and then.
 */
const char *pipeline_get_note(struct pipeline *pipeline);
/*
 * Why sampling failed, or what is wrong with the recording. If neither: the note of
 * pipeline_get_note(), or else what the resolver reads now.
 */
const char *pipeline_get_message(struct pipeline *pipeline);
/* What is wrong with the files of -k (symbols_warning()); NULL if nothing is. */
const char *pipeline_get_complaint(const struct pipeline *pipeline);
/* The first file of -k; "" if there is none. */
const char *pipeline_system(const struct pipeline *pipeline);
struct control *pipeline_control(const struct pipeline *pipeline);
struct snapshot_slot *pipeline_slot(const struct pipeline *pipeline);
struct snapshot_slot *pipeline_waits_slot(const struct pipeline *pipeline);
/*
 * After a snapshot that is at_end: takes the last ten minutes of a recording, which the caller
 * destroys. NULL if they were not kept, or were taken already.
 */
struct history *pipeline_take_history(struct pipeline *pipeline);
/* Begins to look at tasks that wait, unless that has begun. Changes nothing in a recording. */
void pipeline_start_waits(struct pipeline *pipeline);
/*
 * Begins to watch which domains take the guest's physical CPUs, unless that has begun. Error: this
 * is no live guest, or the process that watches cannot be started.
 */
struct xtop_error *pipeline_start_takers(struct pipeline *pipeline);
/*
 * ON: has Xen trace the guest's exits. Otherwise ends that trace, unless the user asked for it by
 * --exits.
 */
struct xtop_error *pipeline_trace(struct pipeline *pipeline, bool on);
/*
 * Converts TIME_NS, on the samples' clock, to ns since 1970. Returns 0 if TIME_NS is 0. For a
 * recording returns when the recording began.
 */
uint64_t pipeline_wall_ns(const struct pipeline *pipeline, uint64_t time_ns);
/* After pipeline_stop(): makes a snapshot of all samples, which the caller destroys. */
struct xtop_error *pipeline_snapshot(struct pipeline *pipeline, struct snapshot **snapshotp);
/*
 * After a snapshot that is at_end, or after pipeline_stop(): makes the annotation of the function
 * FRAME, with the weights of SNAPSHOT, which is the last snapshot.
 */
struct xtop_error *pipeline_annotate(struct pipeline *pipeline, const struct snapshot *snapshot,
				     uint32_t frame, struct annotation **annotationp);
/* After pipeline_stop(): makes a snapshot of tasks that wait; NULL if nobody looked at them. */
struct xtop_error *pipeline_snapshot_waits(struct pipeline *pipeline,
					   struct snapshot **snapshotp);
/* The older run, with the frames of this pipeline's snapshots; NULL if there is none. */
const struct snapshot *pipeline_baseline(const struct pipeline *pipeline);
/* After pipeline_stop(): how much shares vary, for --diff; NULL if a profile does not say. */
const struct batches *pipeline_batches(const struct pipeline *pipeline, bool children);
/* After pipeline_stop(): the code of the guest's kernel and modules; NULL if it is not known. */
const struct space *pipeline_kernel(const struct pipeline *pipeline);
/* How many ticks a vCPU has in a second; 0: not known. */
double pipeline_hz(const struct pipeline *pipeline);
/*
 * Why sampling or the replay ended early; NULL if it did not. The snapshot has all samples until
 * then.
 */
struct xtop_error *pipeline_get_failure(const struct pipeline *pipeline);

#endif
