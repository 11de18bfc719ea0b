/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sample/: what Xen tells about time. How long each vCPU ran, and how long it wanted to
 * run and had no physical CPU. How far Xen's clock is ahead of dom0's clock. Sampler's thread,
 * while the guest runs.
 *
 * Xen counts how long each vCPU has run. The states that a look finds are not enough. Where dom0
 * and the guest share a physical CPU, the look itself runs on that CPU. Then the look finds every
 * vCPU waiting that wants the CPU. And Xen often runs dom0 just when a vCPU has gone to sleep.
 *
 * State. A sample stands for the time until the next sample, and each vCPU has an account of that
 * time:
 *
 *	the vCPU ran until the next sample     + the time that the vCPU ran
 *	the sample said that the vCPU runs     - the time until the next sample
 *
 * A vCPU that the look finds waiting counts as running while its account is not negative. So over
 * many samples the share of RUNNING is the share of time that the vCPU ran. The other samples of a
 * vCPU that wants to run are steal. Where guest and dom0 have CPUs of their own, looks find the
 * vCPU running as often as it runs, so the account stays near 0 and changes little.
 *
 * Waiting. Xen does not tell dom0 how long a vCPU waited, but it tells the vCPU itself. Linux keeps
 * what Xen tells in a per-CPU variable, xen_runstate (drivers/xen/time.c):
 *
 *	struct vcpu_runstate_info (Xen 4.17 public/vcpu.h)
 *	  0   4   state
 *	  8   8   when the state began
 *	  16  32  time in each state, in ns: running, runnable, blocked, offline
 *
 * Xen updates the variable when it gives the vCPU a physical CPU, so a wait shows once it is over.
 * The guest can write to the variable, too, so the waiting time is at most the time in which the
 * vCPU did not run. A unikernel has no such variable. Then the samples tell which part of the time
 * in which the vCPU did not run is waiting, and which part is sleep.
 */
#ifndef SAMPLE_RUN_TIME_H
#define SAMPLE_RUN_TIME_H

#include "sample/per_cpu.h"

struct run_time {
	uint64_t time_ns; /* time of the last sample; 0: there was none */
	struct vcpu_times times[GUEST_MAX_VCPUS];
	struct {
		uint64_t cpu_ns;       /* how long the vCPU had run at the last sample */
		uint64_t waited_ns;    /* how long the vCPU had waited at the last sample */
		uint64_t new_waited_ns; /* how long the vCPU has waited at this look */
		bool is_read;           /* this look could read new_waited_ns */
		bool was_read;          /* waited_ns could be read at the last sample */
		int64_t account_ns;    /* time that the vCPU ran minus what samples say it ran */
		double waits, sleeps;  /* recent samples in which the vCPU waited or slept */
		double ahead_ns;       /* known time by which times.waited_ns is too large */
		enum vcpu_state state; /* state in the last sample */
	} vcpus[GUEST_MAX_VCPUS];
};

/* At a look: reads how long each vCPU has waited, as Xen told the guest. */
void run_time_read(struct run_time *run_time, const struct per_cpus *cpus,
		   const struct copier *copier, unsigned n_vcpus);
/* At a sample: corrects the states in LOOK, and brings the times up to date. */
void run_time_update(struct run_time *run_time, unsigned n_vcpus, struct guest_look *look);
/* The guest was paused or was not sampled: the time up to the next sample belongs to no sample. */
void run_time_reset(struct run_time *run_time);

/*
 * How far Xen's system time is ahead of dom0's CLOCK_MONOTONIC. Guests derive their clocks from
 * Xen's time; samples have dom0's time. The caller zeroes the struct first.
 */
struct xen_clock {
	uint64_t next_ns; /* time to ask Xen again */
};

/*
 * Asks Xen at most ten times a second, or once a second if not OFTEN. NOW_NS is about the present
 * time. Returns false if it is not time to ask, or if Xen did not answer soon enough.
 */
bool xen_clock_measure(struct xen_clock *clock, const struct guest *guest, bool often,
		       uint64_t now_ns, uint64_t *ahead_ns);

#endif
