/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live guest: where registers and bytes come from. What only Xen can do stands behind struct
 * guest_ops, so that the sampler and the readers run on an in-memory guest in tests.
 *
 * The stopped guest is a resource with one owner, the sampler, and one scope, from stop() to
 * release(). Inside it nothing is allocated, mapped, locked or printed.
 */
#ifndef XTOP_GUEST_H
#define XTOP_GUEST_H

#include <stdbool.h>

#include "xtop/error.h"
#include "xtop/types.h"

/*
 * A name is what xenstore has at /local/domain/ID/name. Xen sets no limit but that of its messages
 * (4,096 bytes: Xen 4.17 public/io/xs_wire.h, XENSTORE_PAYLOAD_MAX); console logs, whose file names
 * have it in them, 255. A longer one is cut, ends in GUEST_NAME_CUT then, and is nobody's.
 */
#define GUEST_NAME_BYTES 256
#define GUEST_NAME_CUT   "..."

struct guest_info {
	char name[GUEST_NAME_BYTES];
	char uuid[40];
	uint32_t domid;
	enum guest_type type;
	unsigned n_vcpus;     /* at most GUEST_MAX_VCPUS; numbers 0 .. n_vcpus - 1, some may be offline */
	uint64_t memory_kib;
};

enum guest_life { GUEST_RUNS, GUEST_PAUSED_BY_OTHERS, GUEST_GONE };

/* What is known of the guest without stopping it. */
struct guest_look {
	enum guest_life life;
	enum guest_end end;                      /* of a guest that is gone */
	uint64_t pages;                          /* it has now: changes when it balloons */
	enum vcpu_state states[GUEST_MAX_VCPUS];
};

struct guest_ops {
	/* A look at the running guest. False: Xen would not answer; counts as gone. */
	bool (*look)(void *context, struct guest_look *look);
	/*
	 * Stops the guest and reads the registers of the N vCPUS, in one hypercall. user[i]: it ran
	 * user code. False: it was not stopped, or not all could be read; then it runs again.
	 */
	bool (*stop)(void *context, const uint16_t *vcpus, unsigned n, struct registers *regs,
		     bool *user);
	void (*release)(void *context);
	void (*close)(void *context);
};

/* What maps the guest's pages. */
struct mapper {
	/* One page, read-only; NULL: Xen would not. Outside the stop only. */
	void *(*map)(void *context, frame_t frame);
	void (*unmap)(void *context, void *page);
	void *context;
};

struct guest {
	const struct guest_ops *ops;
	void *context;
	struct mapper mapper; /* until it is closed */
	struct guest_info info;
};

struct guest_listing {
	struct guest_info info;
	char state;           /* 'r' running, 'b' blocked, 'p' paused, 's' shut down, 'd' dying, '-' */
	uint64_t cpu_time_ns;
};

#endif
