/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the vCPUs of a guest wait from runnable to running, by the changes of their run states
 * in Xen's trace. One thread.
 *
 * The CPU that wakes a vCPU writes that it is runnable, and the CPU that runs it writes that it
 * runs. Each CPU has a buffer of its own, and buffers are read one after the other. So changes are
 * kept until all buffers have been read that far, and are evaluated in the order of their times.
 */
#ifndef PROFILE_RUN_WAITS_H
#define PROFILE_RUN_WAITS_H

#include "xtop/profile/exits.h"
#include "xtop/profile/time_histogram.h"

/* The order is that of Xen's RUNSTATE_*. */
enum run_state { RUN_STATE_RUNNING, RUN_STATE_RUNNABLE, RUN_STATE_BLOCKED, RUN_STATE_OFFLINE };

struct run_change {
	uint64_t tsc;
	uint16_t vcpu;   /* UINT16_MAX: no vCPU; records from TSC to LOST_UNTIL were lost */
	uint8_t was, is; /* enum run_state */
	uint32_t by;     /* domid that ran on the CPU before; UINT32_MAX: not known */
	/* If the CPU was idle before: since when, and the domid that ran earlier, or UINT32_MAX. */
	uint64_t idle_since;
	uint32_t by_earlier;
	uint64_t lost_until;
	uint32_t number; /* run_waits_add() sets it: changes of one time stay in this order */
};

struct run_waits_vcpu {
	struct exits_wakes wakes; /* the vCPU's waits; percentiles are left out */
	struct time_histogram times;
	/*
	 * TSC when the current wait began, plus the length of the pauses in it; 0: the vCPU does
	 * not wait, or no record has said that it does.
	 */
	uint64_t runnable;
	/*
	 * While the vCPU is paused: RUNNABLE before the pause, or the TSC of the pause if the vCPU
	 * was blocked. 0: the vCPU is not paused, or did not wait.
	 */
	uint64_t paused;
	uint64_t offline;  /* TSC of the vCPU's last pause */
	bool was_paused;   /* the current wait had a pause */
	bool runs_early;   /* the vCPU runs, but no record has said yet that it was runnable */
};

struct run_waits {
	struct run_change *changes;
	size_t n, capacity;
	uint32_t next_number;
	uint64_t settled;    /* TSC of the trace when changes were last evaluated */
	uint64_t lost_until; /* TSC up to which records were lost: earlier changes are ignored */
	unsigned n_vcpus;
	struct run_waits_vcpu vcpus[GUEST_MAX_VCPUS];
};

void run_waits_deinit(struct run_waits *waits);
/* Adds a change; the next one may be earlier. False: out of memory; CHANGE is left out. */
bool run_waits_add(struct run_waits *waits, const struct run_change *change);
/* Says that the trace has got to TSC. Evaluates the changes that are old enough. */
void run_waits_pass(struct run_waits *waits, uint64_t tsc, double ns_per_cycle);
/* Evaluates all changes and forgets which vCPUs wait: Xen begins to trace anew. */
void run_waits_begin(struct run_waits *waits, double ns_per_cycle);
/* Forgets all but what has been allocated. */
void run_waits_reset(struct run_waits *waits);
/* Sets the waits of the table's vCPUs, which are as many as WAITS has. */
void run_waits_get(const struct run_waits *waits, struct exits_table *table);

#endif
