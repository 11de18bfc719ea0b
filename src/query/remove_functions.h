/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes functions out of the stacks of a snapshot; see take_out.c. Any thread. */
#ifndef QUERY_TAKE_OUT_H
#define QUERY_TAKE_OUT_H

#include "xtop/snapshot.h"

/*
 * Removes the nodes of each function F for which MARKS[F] & MARK, in place. A removed node's
 * callees become callees of the nearest node above that stays, and that node gets the removed
 * node's own weight. The root stays. SNAPSHOT's nodes are the caller's to change; they are as they
 * were on error.
 */
struct xtop_error *nodes_take_out(struct snapshot *snapshot, const uint8_t *marks, uint8_t mark);

#endif
