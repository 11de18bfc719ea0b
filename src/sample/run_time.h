/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: how long each vCPU ran, and how long it wanted to run and had no physical
 * CPU. Sampler's thread, while the guest runs.
 *
 * Xen counts how long each vCPU has run. A look alone does not tell: where dom0 and the guest share
 * a physical CPU, the look runs on that CPU, and finds every vCPU that wants it waiting; and Xen
 * lets dom0 run when the vCPU has just gone to sleep.
 *
 * The state of a sample. A sample stands for the time until the next one, and each vCPU has an
 * account of that time:
 *
 *	the vCPU ran until the next sample       + the time that it ran
 *	the sample has said that it is running   - the time until the next sample
 *
 * A vCPU that the look finds waiting counts as running as long as its account is not overdrawn. So
 * over many samples the share of RUNNING is the share of time that the vCPU ran. The other samples
 * of a vCPU that wants to run are steal. Where guest and dom0 have CPUs of their own, looks find
 * the vCPU running as often as it runs, the account is near 0, and changes little.
 *
 * How long it waited. Xen does not tell dom0, but it tells the vCPU itself. Linux keeps what Xen
 * tells in a per-CPU variable, xen_runstate (drivers/xen/time.c):
 *
 *	struct vcpu_runstate_info (Xen 4.17 public/vcpu.h)
 *	  0   4   state
 *	  8   8   when it began
 *	  16  32  time in each state, in ns: running, runnable, blocked, offline
 *
 * Xen updates it when it gives the vCPU a physical CPU: a wait is there once it is over. The guest
 * can write there, too, so the time of waiting is at most what the time of running leaves. Without
 * that variable, in unikernels, the samples tell which part of the rest is waiting and which sleep.
 */
#ifndef SAMPLE_RUN_TIME_H
#define SAMPLE_RUN_TIME_H

#include "sample/per_cpu.h"

struct run_time {
	uint64_t time_ns; /* of the last sample; 0: there was none */
	struct vcpu_times times[GUEST_MAX_VCPUS];
	struct {
		uint64_t cpu_ns;        /* run until then, since it was created */
		uint64_t told_ns;       /* waited until then, as the guest was told */
		bool is_told, was_told; /* at this look, at the last sample */
		uint64_t new_told_ns;   /* at this look */
		int64_t account_ns;
		double waits, sleeps;   /* samples in these states, the last ones */
		enum vcpu_state state;  /* of the last sample */
	} vcpus[GUEST_MAX_VCPUS];
};

/* Reads at a look how long each vCPU has waited, as the guest was told. */
void run_time_read(struct run_time *run_time, const struct per_cpus *cpus,
		   const struct copier *copier, unsigned n_vcpus);
/* Corrects the states in LOOK for a sample of the N_VCPUS, and brings the times up to date. */
void run_time_update(struct run_time *run_time, unsigned n_vcpus, struct guest_look *look);
/* The guest was paused, or nobody wanted samples of it: that time belongs to no sample. */
void run_time_reset(struct run_time *run_time);

#endif
