/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: which of the vCPUs that want a physical CPU have run, and which have waited.
 * Sampler's thread, while the guest runs.
 *
 * A look alone cannot tell. Where dom0 and the guest share a physical CPU, the look runs on that
 * CPU, and finds every vCPU that wants it waiting. But Xen also counts how long each vCPU has run.
 * A sample stands for the time until the next one, and each vCPU has an account of that time:
 *
 *	the vCPU ran until the next sample       + the time that it ran
 *	the sample has said that it is running   - the time until the next sample
 *
 * A vCPU that the look finds waiting counts as running as long as its account is not overdrawn. So
 * over many samples the share of RUNNING is the share of time that the vCPU ran. The other samples
 * of a vCPU that wants to run are steal.
 *
 * Where guest and dom0 have CPUs of their own, looks find the vCPU running as often as it runs. The
 * account is near 0 there, and changes little.
 */
#ifndef SAMPLE_RUN_TIME_H
#define SAMPLE_RUN_TIME_H

#include "xtop/guest.h"

struct run_time {
	uint64_t time_ns; /* of the last sample; 0: there was none */
	struct {
		uint64_t cpu_ns;    /* run until then, since it was created */
		int64_t account_ns;
		bool is_running;    /* by the last sample */
	} vcpus[GUEST_MAX_VCPUS];
};

/* Corrects the states in LOOK for a sample of the N_VCPUS. */
void run_time_update(struct run_time *run_time, unsigned n_vcpus, struct guest_look *look);
/* The guest did not run for a while: that time belongs to no sample. */
void run_time_reset(struct run_time *run_time);

#endif
