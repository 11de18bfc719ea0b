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
#include "xtop/symbol/image.h"
#include "xtop/xen/guest.h"

struct pipeline;

/*
 * Finds DOMAIN (NULL: the recording of OPTIONS) and does all that needs rights. pipeline_start()
 * then reads what strangers made, such as the files that inputs.h holds open. OPTIONS
 * outlive the pipeline.
 */
struct xtop_error *pipeline_create(const struct options *options, const char *domain,
				   struct pipeline **pipelinep);
void pipeline_destroy(struct pipeline *pipeline); /* stopped or never started; NULL allowed */
/* Before pipeline_start(): the run that it is compared with, which lives until pipeline_start(). */
void pipeline_set_baseline(struct pipeline *pipeline, const struct snapshot *baseline);
struct xtop_error *pipeline_start(struct pipeline *pipeline);
/* After snapshot_request(): the resolver may sleep for up to a second (resolver_wake()). */
void pipeline_wake(struct pipeline *pipeline);
/* Somebody waits for pipeline_stop(): see control_hurry(). */
void pipeline_hurry(struct pipeline *pipeline);
/* Ends sampling, empties the ring and closes the recording of -w, which the error is about. */
struct xtop_error *pipeline_stop(struct pipeline *pipeline);

uint64_t pipeline_started_ns(const struct pipeline *pipeline); /* when pipeline_start() ended */
/* As of the last call of pipeline_get_note() or pipeline_get_message(): a reboot changes it. */
const struct guest_info *pipeline_guest(const struct pipeline *pipeline);
/* After pipeline_stop(): the samples of the recording; NULL: they were not asked for. */
const struct sample_log *pipeline_samples(const struct pipeline *pipeline);
/* Neither: it is live. Both are known after pipeline_start(). */
bool pipeline_is_recording(const struct pipeline *pipeline);
bool pipeline_is_profile(const struct pipeline *pipeline);
const char *pipeline_format(const struct pipeline *pipeline); /* of a profile: "folded" */
/*
 * To be called now and then. What happened to the guest, clean: it reboots, it is back; "":
 * nothing.
 */
const char *pipeline_get_note(struct pipeline *pipeline);
/* The same, but first of all why sampling failed, or what is wrong with the recording. */
const char *pipeline_get_message(struct pipeline *pipeline);
const char *pipeline_get_complaint(const struct pipeline *pipeline); /* as symbols_warning() */
const char *pipeline_system(const struct pipeline *pipeline); /* the first file of -k; "" none */
struct control *pipeline_control(const struct pipeline *pipeline);
struct snapshot_slot *pipeline_slot(const struct pipeline *pipeline);
struct snapshot_slot *pipeline_waits_slot(const struct pipeline *pipeline);
/*
 * After a snapshot that is at_end: the last ten minutes of a recording, for the screen. The
 * caller's; NULL: not kept, or taken already.
 */
struct history *pipeline_take_history(struct pipeline *pipeline);
/* From now on tasks that wait are looked at, if they were not before. Not in a recording. */
void pipeline_start_waits(struct pipeline *pipeline);
/* When TIME_NS of the samples' clock was, in ns since 1970. 0: not known. */
uint64_t pipeline_wall_ns(const struct pipeline *pipeline, uint64_t time_ns);
/* After pipeline_stop(). */
struct xtop_error *pipeline_snapshot(struct pipeline *pipeline, struct snapshot **snapshotp);
/*
 * After a snapshot that is at_end, or pipeline_stop(): what is known of the inside of FRAME, with
 * the weights of SNAPSHOT, which is the last one.
 */
struct xtop_error *pipeline_annotate(struct pipeline *pipeline, const struct snapshot *snapshot,
				     uint32_t frame, struct annotation **annotationp);
/* The same of tasks that wait; *SNAPSHOTP is NULL if nobody looked at them. */
struct xtop_error *pipeline_snapshot_waits(struct pipeline *pipeline,
					   struct snapshot **snapshotp);
/* The baseline with the frames of the pipeline's snapshots; NULL: none. */
const struct snapshot *pipeline_baseline(const struct pipeline *pipeline);
/* After pipeline_stop(). How much shares vary (--diff); NULL: a profile does not say. */
const struct batches *pipeline_batches(const struct pipeline *pipeline, bool children);
/* After pipeline_stop(): the code of the guest's kernel and modules; NULL: not known. */
const struct space *pipeline_kernel(const struct pipeline *pipeline);
/* Ticks of a vCPU in a second; 0: not known. */
double pipeline_hz(const struct pipeline *pipeline);
/* Why sampling or the replay ended early; NULL: it did not. The snapshot has all until then. */
struct xtop_error *pipeline_get_failure(const struct pipeline *pipeline);

#endif
