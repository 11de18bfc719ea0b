/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who takes the physical CPUs that a guest waits for: sums over looks at all vCPUs of the host
 * (host_look.h). Pure arithmetic on what Xen says; no thread of its own.
 *
 * Between two looks Xen's count tells how long each vCPU ran. When a vCPU of the guest did not run,
 * it slept or waited; the states that the looks find tell which. The time that it waited went to
 * those that ran on its physical CPU meanwhile, in proportion to what they ran. What nobody ran is
 * Xen's own, or the CPU was idle although the vCPU wanted it: a cap does that.
 *
 * To count who runs at the moment of a look would be simpler, but wrong on a CPU that dom0 shares:
 * dom0 runs there in order to look. For the same reason a vCPU that is found waiting beside a
 * running dom0 may wait for the look alone; then only what others ran counts.
 */
#ifndef XTOP_TAKERS_H
#define XTOP_TAKERS_H

#include "xtop/base/error.h"
#include "xtop/xen/host_look.h"

#define TAKERS_MAX        64 /* domains that are told apart */
#define TAKERS_OF_VCPU    3  /* takers that a vCPU names */
#define TAKERS_CPUS_BYTES 40 /* "0-3,8"; longer lists are cut */
/* Numbers of takers that are no domain. Xen 4.17 public/xen.h: DOMID_IDLE, DOMID_INVALID. */
#define TAKER_XEN    0x7fff /* Xen itself, or nobody: the CPU was idle */
#define TAKER_OTHERS 0x7ff4 /* domains that have no row of their own */

/* Whether the taker DOMID is one domain. */
static inline bool taker_is_domain(uint32_t domid)
{
	return domid != TAKER_XEN && domid != TAKER_OTHERS;
}

/* A figure over recent time, which decays, and over all time since the start. */
struct taken {
	double live, total;
};

/* A domain that took time. */
struct taker {
	uint32_t domid;
	uint32_t pool;
	uint32_t weight, cap; /* copies of struct host_schedule's; 0: unknown, or none */
	char name[64];        /* name in xenstore, cut, not cleaned; "": none */
	struct taken share;   /* the domain's share of the guest's steal, 0..1 */
	struct taken error;   /* the share's standard error */
	struct taken cpus;    /* physical CPUs that the domain uses anywhere on the host */
};

/* A vCPU of the guest. */
struct taken_vcpu {
	uint16_t cpu; /* physical CPU at the last look */
	bool online;
	uint32_t span_ms;    /* the time that the totals are shares of; at most 49 days */
	struct taken waited; /* share of its time in which the vCPU waited, 0..1 */
	struct taken ran;    /* share of its time in which the vCPU ran, 0..1 */
	uint64_t longest_ns; /* longest time between looks in which the vCPU waited and never ran */
	char affinity[TAKERS_CPUS_BYTES]; /* CPUs on which the vCPU may run; "": all of the pool */
	uint32_t by[TAKERS_OF_VCPU];      /* domids that took most lately; UINT32_MAX: no more */
	double by_share[TAKERS_OF_VCPU];  /* those domains' shares of the vCPU's steal */
};

/* The guest's cpupool. */
struct taken_pool {
	uint32_t id, n_cpus; /* number and size of the pool; n_cpus 0: Xen does not tell */
	uint32_t n_idle;     /* CPUs of which less than a tenth was used lately */
};

/* The answer: fixed size, so that a process can send it. */
struct takers_table {
	char failure[160]; /* why there are no looks; "": there are */
	bool gone;         /* the guest has ended */
	uint64_t looks;
	uint64_t span_ns;              /* time from the first look to the last */
	uint64_t cpu_ns;               /* CPU time that the looks took */
	uint64_t refused;              /* looks that Xen refused */
	struct host_schedule schedule; /* how Xen schedules the guest */
	struct taken_pool pool;
	struct taken steal; /* the part of its time in which a vCPU waited, mean of all vCPUs */
	uint32_t domid;     /* the guest's number */
	uint32_t n_takers, n_vcpus;
	struct taker takers[TAKERS_MAX]; /* sorted by share, the largest live share first */
	struct taken_vcpu vcpus[GUEST_MAX_VCPUS];
};

struct takers;
/* HALF_LIFE_NS 0: nothing decays. */
struct xtop_error *takers_create(uint32_t domid, uint64_t half_life_ns, struct takers **takersp);
/* NULL allowed. The watch of the host runs until its process ends, and destroys nothing. */
void takers_destroy(struct takers *takers);
/* Adds what happened from the look BEFORE to the look NOW. */
void takers_add(struct takers *takers, const struct host_look *before, const struct host_look *now);
/* Fills in what the looks have shown: all but names, affinities, schedules and the pool. */
void takers_get(const struct takers *takers, struct takers_table *table);
/* The part of physical CPU number CPU that was used lately, 0..1. */
double takers_get_use(const struct takers *takers, unsigned cpu);
/* Forgets all sums. */
void takers_reset(struct takers *takers);

#endif
