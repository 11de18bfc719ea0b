/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds how a profile grew from one snapshot to the next: which chains got samples in between. The
 * sum of such growths is the profile of a range of time. Belongs to a history, so one thread at a
 * time.
 */
#ifndef QUERY_GROWTH_H
#define QUERY_GROWTH_H

#include "xtop/profile/snapshot.h"

struct growth;

struct xtop_error *growth_create(struct growth **growthp);
void growth_destroy(struct growth *growth); /* NULL allowed */
/*
 * Returns a snapshot of the nodes of SNAPSHOT that got weight since the last call; it has at least
 * the root. Live weight and ticks are both the new ticks. Besides its nodes only `frames` and
 * n_frames are set. The caller destroys it. After a reset of the profile all weight is new. NULL:
 * out of memory.
 */
struct snapshot *growth_update(struct growth *growth, const struct snapshot *snapshot);
size_t growth_memory_bytes(const struct growth *growth);

#endif
