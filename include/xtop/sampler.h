/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler: the one who stops the guest. Runs in a process of its own (guard_start()). */
#ifndef XTOP_SAMPLER_H
#define XTOP_SAMPLER_H

#include "xtop/control.h"
#include "xtop/guest.h"
#include "xtop/ring.h"

/*
 * Bytes of ring that keep a guest of N_VCPUS from losing samples while the resolver is busy for a
 * while.
 */
size_t sampler_ring_bytes(unsigned n_vcpus);

/* Samples GUEST into RING until control_quitting() or the guest is gone. */
void sampler_run(struct guest *guest, struct control *control, struct ring *ring);

#endif
