/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows "[xen]" of a profile while Xen is traced. A sample that is taken while a vCPU is in Xen
 * shows the instruction that exited. So a function's own weight has the time that Xen takes for it.
 * The trace tells this time by function and reason. It becomes the weight of rows "[exit ...]"
 * below "[xen]" below the function. Where a function has several callers, each chain gets the same
 * part.
 */
#ifndef PROFILE_XEN_ROWS_H
#define PROFILE_XEN_ROWS_H

#include "xtop/profile/snapshot.h"

/*
 * Adds the rows to SNAPSHOT, which has its exits and the ticks of its vCPUs. FRAME is the frame
 * "[xen]". Live weights decay by HALF_LIFE_NS; 0: they do not decay.
 */
void xen_rows_add(struct snapshot *snapshot, uint32_t frame, uint64_t half_life_ns);

#endif
