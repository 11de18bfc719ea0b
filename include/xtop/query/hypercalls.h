/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hypercalls in which samples ended: a row for each stub and each call path to it. Functions of
 * their arguments alone; any thread.
 *
 * While Xen carries out a hypercall, the vCPU's instruction pointer is in the stub. The guest names
 * its stubs. Linux has xen_hypercall_NAME, or one stub for all hypercalls (xen_hypercall_hvm,
 * hypercall_page); then the caller tells which hypercall it is. Unikernels have hypercall_page,
 * HYPERVISOR_NAME or HYPERCALL_NAME.
 */
#ifndef XTOP_HYPERCALLS_H
#define XTOP_HYPERCALLS_H

#include "xtop/query/weights.h"

#define HYPERCALLS_PATH 3 /* callers that a row has */

struct hypercalls_row {
	uint32_t stub;                  /* the stub's frame */
	uint32_t callers[HYPERCALLS_PATH]; /* frames, the direct caller first; FRAME_NONE: none */
	struct weights weights;         /* only self is set */
};

struct hypercalls {
	size_t n;
	struct hypercalls_row *rows;
};

/*
 * The heaviest row comes first, by live weight; TOTALS: by ticks since start or reset. Error: out
 * of memory.
 */
struct xtop_error *hypercalls_build(const struct snapshot *snapshot, bool totals,
				    struct hypercalls *calls);
void hypercalls_deinit(struct hypercalls *calls);

#endif
