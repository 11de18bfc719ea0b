/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: which of the vCPUs that want a physical CPU have run, and which have waited.
 * Sampler's thread, while the guest runs.
 *
 * A look alone cannot tell. Where dom0 and the guest share a physical CPU, the look runs on that
 * CPU, and finds every vCPU that wants it waiting. But Xen also counts how long each vCPU has run.
 * Each vCPU has an account of this time:
 *
 *	the vCPU ran                      + the time that it ran since the last sample
 *	a sample says that it is running  - the time that the sample stands for
 *
 * A vCPU that the look finds waiting counts as running as long as its account pays for the sample.
 * So over many samples the share of RUNNING is the share of time that the vCPU ran. What the
 * account does not pay for is steal.
 *
 * Where guest and dom0 have CPUs of their own, looks find the vCPU running as often as it runs. The
 * account is near 0 there, and changes little.
 */
#ifndef SAMPLE_RUN_TIME_H
#define SAMPLE_RUN_TIME_H

#include "xtop/guest.h"

struct run_time {
	uint64_t time_ns; /* of the last sample; 0: there was none */
	uint64_t cpu_ns[GUEST_MAX_VCPUS];
	int64_t account_ns[GUEST_MAX_VCPUS];
};

/*
 * Corrects the states in LOOK for a sample of the N_VCPUS. The sample stands for all the time since
 * the last call, however long ago that was.
 */
void run_time_update(struct run_time *run_time, unsigned n_vcpus, struct guest_look *look);

#endif
