/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sampler: it stops the guest and copies samples. It runs in its own process (guard_start()).
 */
#ifndef XTOP_SAMPLER_H
#define XTOP_SAMPLER_H

#include "xtop/sample/control.h"
#include "xtop/sample/ring.h"
#include "xtop/xen/guest.h"

/*
 * Size of a ring that has room for samples of N_VCPUS, RATE_HZ a second, while the resolver is busy
 * for a while: for 2 s of them, within 1 and 4 MiB; more only for the largest samples. Each guest
 * has a ring, and in time all of it is written. With --all most guests are sampled slowly.
 */
size_t sampler_ring_bytes(unsigned n_vcpus, double rate_hz);

/* Samples GUEST into RING until control_is_quitting() or until the guest is gone. */
void sampler_run(struct guest *guest, struct control *control, struct ring *ring);
/*
 * The same, but copies no stacks: a stop consists of the hypercalls alone. The samples have
 * registers, and no stack bytes (CUT_LIMIT).
 */
void sampler_run_bare(struct guest *guest, struct control *control, struct ring *ring);

/*
 * Takes two samples of all vCPUs that have registers (crash_sampler.c). The guest may have crashed.
 * The second sample comes when the resolver has taken the first one out of the ring.
 */
void sampler_run_still(struct guest *guest, struct control *control, struct ring *ring);

#endif
