/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a moment of the history keeps of the locks: as much of their forest as has room, from the
 * top on. Only the history's thread uses this.
 */
#ifndef QUERY_HISTORY_LOCKS_H
#define QUERY_HISTORY_LOCKS_H

#include "xtop/profile/snapshot.h"

#define HISTORY_LOCKS_MAX 48 /* locks of a moment, and tasks that wait for them or hold them */

/*
 * Gives TO, which has no locks, those of FROM's forest. locks_build() builds the same lines from
 * them; lines below one lock may change places. Tasks that share a line become one task with
 * `others`. Best effort: without memory TO has none.
 */
void history_locks_take(const struct snapshot *from, struct snapshot_waits *to);

#endif
