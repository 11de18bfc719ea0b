/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all processes of xtop take of dom0's CPU, and the budget for that (host_budget.h) kept for
 * all guests of --all or --push. Main's thread.
 */
#ifndef XTOP_HOST_SHARE_H
#define XTOP_HOST_SHARE_H

#include "xtop/pipeline/pipelines.h"
#include "xtop/service/host_budget.h"

#define HOST_SHARE_LINE_BYTES 200

/*
 * If it is time, adds up the CPU time of all processes and sets the stride of all guests; one that
 * has come meanwhile gets that of the others. OTHERS_NS: the time of processes that only the caller
 * knows. True: the user should hear LINE.
 */
bool host_share_keep(struct host_budget *budget, const struct pipelines *pipelines,
		     uint64_t others_ns, uint64_t now_ns, char line[HOST_SHARE_LINE_BYTES]);

#endif
