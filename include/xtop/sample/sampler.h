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
 * Returns the size in bytes of a ring for samples of N_VCPUS, RATE_HZ a second. The resolver may be
 * busy for a while, so the ring has room for 2 s: between 1 and 4 MiB, and more only where the
 * largest samples need more. Each guest has a ring, and in time all bytes of a ring take memory.
 * With --all most guests are sampled slowly, so most rings are small.
 */
size_t sampler_ring_bytes(unsigned n_vcpus, double rate_hz);

/* Samples GUEST into RING until control_is_quitting() or until the guest is gone. */
void sampler_run(struct guest *guest, struct control *control, struct ring *ring);
/*
 * Samples GUEST without copying stacks: a stop consists of the hypercalls alone. The samples have
 * registers, and no stack bytes (CUT_LIMIT).
 */
void sampler_run_bare(struct guest *guest, struct control *control, struct ring *ring);

/*
 * Takes two samples of all vCPUs that have registers (crash_sampler.c). The guest may have crashed.
 * The sampler takes the second sample when the resolver has taken the first one out of the ring.
 */
void crash_sampler_run(struct guest *guest, struct control *control, struct ring *ring);

#endif
