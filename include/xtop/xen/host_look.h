/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A look at all vCPUs of the host: which of them ran, for how long, on which physical CPU. Xen
 * stops no vCPU for a look. One thread uses a looker. Needs dom0's privilege.
 */
#ifndef XTOP_HOST_LOOK_H
#define XTOP_HOST_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/base/sorted.h"
#include "xtop/base/types.h"

#define HOST_MAX_CPUS 1024 /* physical CPUs; vCPUs on other CPUs are left out */

struct host_vcpu {
	uint32_t domid;
	uint16_t number;
	uint16_t cpu;          /* the physical CPU on which the vCPU runs, or ran last */
	enum vcpu_state state; /* the vCPU's state by Xen's flags */
	uint64_t cpu_ns;       /* time that the vCPU has run since it was created */
};

struct host_domain {
	uint32_t domid;
	uint32_t pool; /* the domain's cpupool */
	bool paused;
	uint64_t cpu_ns; /* time that all vCPUs of the domain have run, together */
	size_t first, n; /* the domain's vCPUs: look->vcpus[first .. first + n - 1] */
};

/* Everything is ascending: domains by domid, vCPUs by domain and number. */
struct host_look {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	size_t n_domains, domains_capacity;
	struct host_domain *domains;
	size_t n_vcpus, vcpus_capacity;
	struct host_vcpu *vcpus;
};

/* How Xen schedules one domain. */
struct host_schedule {
	uint32_t weight; /* 0: the scheduler has no weights, or Xen does not tell */
	uint32_t cap;    /* percent of a physical CPU; 0: no cap */
};

/* One set of CPUs: bit i of byte i / 8. */
struct host_cpus {
	uint8_t bits[HOST_MAX_CPUS / 8];
};

struct host_looker;
struct xtop_error *host_looker_open(struct host_looker **lookerp);
void host_looker_close(struct host_looker *looker); /* NULL allowed */
/*
 * Takes a look; LOOK's memory is used again. LAST is the look before, or all zeros. The vCPUs of a
 * domain that has not run since LAST are copied from LAST, but not those of domain ALWAYS.
 */
struct xtop_error *host_looker_look(struct host_looker *looker, uint32_t always,
				    const struct host_look *last, struct host_look *look);
/* Returns NULL if there is no such domain. */
static inline const struct host_domain *host_look_find(const struct host_look *look, uint32_t domid)
{
	size_t n = sorted_count(look->domains, look->n_domains, domid, domid);

	return n && look->domains[n - 1].domid == domid ? &look->domains[n - 1] : NULL;
}

/* Get a cpupool's scheduler and CPUs, or a domain's weight and cap. False: Xen does not tell. */
bool host_looker_get_pool(struct host_looker *looker, uint32_t pool, uint32_t *schedulerp,
			  struct host_cpus *cpus);
bool host_looker_get_schedule(struct host_looker *looker, uint32_t domid, uint32_t scheduler,
			      struct host_schedule *schedule);
/* Gets the CPUs to which the administrator has bound the vCPU. False: Xen does not tell. */
bool host_looker_get_affinity(struct host_looker *looker, uint32_t domid, unsigned vcpu,
			      struct host_cpus *cpus);

static inline bool host_cpus_has(const struct host_cpus *cpus, unsigned cpu)
{
	return cpu < HOST_MAX_CPUS && cpus->bits[cpu / 8] >> cpu % 8 & 1;
}

#endif
