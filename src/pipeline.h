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

#include "options.h"
#include "xtop/guest.h"
#include "xtop/snapshot.h"

struct pipeline;

/*
 * Finds DOMAIN (NULL: the recording of OPTIONS) and does all that needs rights. pipeline_start()
 * then reads what strangers made, such as the files that inputs.h holds open. OPTIONS
 * outlive the pipeline.
 */
struct xtop_error *pipeline_create(const struct options *options, const char *domain,
				   struct pipeline **pipelinep);
void pipeline_destroy(struct pipeline *pipeline); /* stopped or never started; NULL allowed */
struct xtop_error *pipeline_start(struct pipeline *pipeline);
/* Somebody waits for pipeline_stop(): see control_hurry(). */
void pipeline_hurry(struct pipeline *pipeline);
/* Ends sampling, empties the ring and closes the recording of -w, which the error is about. */
struct xtop_error *pipeline_stop(struct pipeline *pipeline);

/* As of the last call of pipeline_get_note() or pipeline_get_message(): a reboot changes it. */
const struct guest_info *pipeline_guest(const struct pipeline *pipeline);
bool pipeline_is_recording(const struct pipeline *pipeline);
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
/* After pipeline_stop(). */
struct xtop_error *pipeline_snapshot(struct pipeline *pipeline, struct snapshot **snapshotp);
/* Why sampling or the replay ended early; NULL: it did not. The snapshot has all until then. */
struct xtop_error *pipeline_get_failure(const struct pipeline *pipeline);

#endif
