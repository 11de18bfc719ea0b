/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The types that all stages share: guest addresses, registers and state of a vCPU.
 *
 * Kinds of addresses that must not mix are boxed, so that the compiler can tell a guest-virtual
 * address from a frame number. The stages after the sampler see only guest-virtual addresses, as
 * plain uint64_t.
 */
#ifndef XTOP_TYPES_H
#define XTOP_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xtop/base/vcpu.h" /* struct registers, struct memory_root */

#define GUEST_PAGE_SHIFT 12
#define GUEST_PAGE_SIZE (1ULL << GUEST_PAGE_SHIFT)
#define GUEST_PAGE_MASK (GUEST_PAGE_SIZE - 1)

typedef struct {
	uint64_t value;
} gva_t; /* guest-virtual address */

typedef struct {
	uint64_t value;
/* number that foreign mappings take: machine frame of a PV guest, guest frame otherwise */
} frame_t;

#define GVA(x) ((gva_t){ (x) })
#define FRAME(x) ((frame_t){ (x) })

#define GUEST_MAX_VCPUS 128

enum guest_type { GUEST_PV, GUEST_PVH, GUEST_HVM };

/* How a guest ended, if Xen said so before it forgot the domain. */
enum guest_end {
	GUEST_END_UNKNOWN, /* destroyed, or Xen had already forgotten it */
	GUEST_END_POWEROFF,
	GUEST_END_REBOOT,
	GUEST_END_SUSPEND, /* saved, migrated */
	GUEST_END_CRASH,
};
#define N_GUEST_ENDS 5

/* What a vCPU was doing just before the guest was stopped. */
enum vcpu_state {
	VCPU_OFFLINE,   /* never started, or unplugged */
	VCPU_BLOCKED,   /* waits for an event: idle */
	VCPU_RUNNABLE,  /* could run, but has no physical CPU: steal time */
	VCPU_RUNNING,
	VCPU_LOCK_WAIT, /* Xen calls it blocked, but its kernel waits for a spinlock */
};
#define N_VCPU_STATES 5

#endif
