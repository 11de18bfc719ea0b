/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures what all processes of xtop take of dom0's CPU, and keeps the budget (host_budget.h) for
 * all guests of --all or --push. Main's thread.
 */
#ifndef XTOP_HOST_SHARE_H
#define XTOP_HOST_SHARE_H

#include "xtop/pipeline/pipelines.h"
#include "xtop/service/host_budget.h"

#define HOST_SHARE_LINE_BYTES 200

/*
 * If it is time, adds up the CPU time of all processes and sets the stride of each guest. A guest
 * that has come meanwhile gets the stride of a mean one. OTHERS_NS is the time of processes that
 * only the caller knows. Returns true if the user should hear LINE.
 */
bool host_share_keep(struct host_budget *budget, const struct pipelines *pipelines,
		     uint64_t others_ns, uint64_t now_ns, char line[HOST_SHARE_LINE_BYTES]);

#endif
