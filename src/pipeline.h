/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of one domain's samples, from the guest or a recording to snapshots: starts, joins and
 * stops its processes and threads. A session has one for each domain it looks at.
 *
 *   live     guard and sampler (processes) ─► ring ─► resolver (thread) ─► snapshots
 *                                ▲ anew, when the guest comes back: follower (thread)
 *   replay   replay (thread)               ─► ring ─► resolver (thread) ─► snapshots
 *
 * Main's thread. Everything that can fail fails before the guest is touched.
 */
#ifndef XTOP_PIPELINE_H
#define XTOP_PIPELINE_H

#include <stdbool.h>

#include "xtop/guest.h"
#include "options.h"
#include "xtop/snapshot.h"

struct kernel_cache; /* xtop/kernel_cache.h */
struct pipeline;

/*
 * Finds DOMAIN (NULL: a recording); OPTIONS outlive the pipeline, as CACHE does. What needs rights is done then; what
 * others made, such as the files that inputs.h has open, is read by pipeline_start().
 */
struct xtop_error *pipeline_create(const struct options *options, const char *domain,
				   struct kernel_cache *cache, struct pipeline **pipelinep);
void pipeline_destroy(struct pipeline *pipeline); /* stopped or never started; NULL allowed */
struct xtop_error *pipeline_start(struct pipeline *pipeline);
/* No more samples, none left in the ring, none unwritten. The error is the recording's (-w). */
struct xtop_error *pipeline_stop(struct pipeline *pipeline);

/* As it was when pipeline_note() or pipeline_message() was called last: a reboot makes it another. */
const struct guest_info *pipeline_guest(const struct pipeline *pipeline);
bool pipeline_is_recording(const struct pipeline *pipeline);
/* What became of the guest, clean: it reboots, it is back; "": nothing. Now and then. */
const char *pipeline_note(struct pipeline *pipeline);
/* Why sampling failed, or what is wrong with the recording, or else the note. Now and then. */
const char *pipeline_message(struct pipeline *pipeline);
const char *pipeline_complaint(const struct pipeline *pipeline); /* as symbols_complaint() */
const char *pipeline_system(const struct pipeline *pipeline); /* the first file of -k; "" none */
struct control *pipeline_control(const struct pipeline *pipeline);
struct snapshot_slot *pipeline_slot(const struct pipeline *pipeline);
/* After pipeline_stop(). */
struct xtop_error *pipeline_snapshot(struct pipeline *pipeline, struct snapshot **snapshotp);
/* What went wrong on the way: everything that was seen until then is in the snapshot. */
struct xtop_error *pipeline_verdict(const struct pipeline *pipeline);

#endif
