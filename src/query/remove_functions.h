/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removes functions from the stacks of a snapshot. A function of its arguments alone; any thread.
 */
#ifndef QUERY_REMOVE_FUNCTIONS_H
#define QUERY_REMOVE_FUNCTIONS_H

#include "xtop/profile/snapshot.h"

/*
 * Removes the nodes of each function F for which marks[F] & MARK, in place. The nearest node above
 * that stays gets the callees and the own weight of a removed node. The root stays. The caller owns
 * SNAPSHOT's nodes. Error: out of memory; the nodes are unchanged.
 */
struct xtop_error *nodes_remove_functions(struct snapshot *snapshot, const uint8_t *marks,
					  uint8_t mark);

#endif
