/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A live guest: the source of registers and memory. Calls to Xen are made through struct guest_ops,
 * so that tests can run the sampler and the readers on a made-up guest in memory.
 *
 * The stopped guest is a resource with one owner, the sampler, and one scope, from stop() to
 * release(). Code in this scope does not allocate, map, lock or print.
 */
#ifndef XTOP_GUEST_H
#define XTOP_GUEST_H

#include <stdbool.h>

#include "xtop/base/error.h"
#include "xtop/base/types.h"

/*
 * A name is what xenstore has at /local/domain/ID/name. xenstore's messages limit a name to 4,096
 * bytes (Xen 4.17 public/io/xs_wire.h, XENSTORE_PAYLOAD_MAX), and file names of console logs limit
 * it to 255. A longer name is cut and ends in GUEST_NAME_CUT; no domain is found by such a name.
 */
#define GUEST_NAME_BYTES 256
#define GUEST_NAME_CUT   "..."
#define GUEST_SYSTEM_BYTES 96

struct guest_info {
	char name[GUEST_NAME_BYTES];
	char uuid[40];
	uint32_t domid;
	enum guest_type type;
	enum guest_arch arch;
	/* GUEST_MAX_VCPUS or fewer; vCPUs are 0 .. n_vcpus - 1, and some may be offline */
	unsigned n_vcpus;
	uint64_t memory_kib;
	bool crashed; /* the guest crashed, and xl keeps it: on_crash="preserve" */
	bool is_pv_32; /* a PV guest with a 32-bit kernel */
};

enum guest_life { GUEST_RUNS, GUEST_PAUSED_BY_OTHERS, GUEST_GONE };

/* What is known of the guest without stopping it. */
struct guest_look {
	enum guest_life life;
	enum guest_end end; /* why a guest that is gone ended */
	uint64_t pages;     /* number of the guest's pages; changes when the guest balloons */
	/*
	 * Time for which Xen has paused vCPUs since the previous look. Xen pauses a vCPU to answer
	 * some questions about it.
	 */
	uint64_t paused_ns;
	uint64_t time_ns;   /* time of this look, CLOCK_MONOTONIC */
	/* States of the vCPUs at this moment, by Xen's flags. Xen never says VCPU_LOCK_WAIT. */
	enum vcpu_state states[GUEST_MAX_VCPUS];
	uint64_t cpu_ns[GUEST_MAX_VCPUS]; /* time that each vCPU has run since it was created */
};

/* A vCPU whose registers stop() or peek() reads. The caller sets the number and cached_cpu_ns. */
struct guest_vcpu {
	uint16_t number;
	bool user; /* the vCPU ran user code */
	/*
	 * CPU time of the vCPU at the last stop, or 0. If the vCPU has still run for exactly this
	 * time since it was created, stop() returns the registers of the last stop again, at a
	 * tenth of the cost. If the vCPU has run for another time, stop() reads its registers in a
	 * second hypercall, and sets this to 0.
	 */
	uint64_t cached_cpu_ns;
	struct registers regs;
};

struct guest_ops {
	/*
	 * Asks for the state of the running guest. False: Xen did not answer; the guest counts as
	 * gone.
	 */
	bool (*look)(void *context, struct guest_look *look);
	/* Looks without the states of the vCPUs: one call to Xen, however many vCPUs there are. */
	bool (*look_life)(void *context, struct guest_look *look);
	/*
	 * expect_stops() tells guard and keeper that stops may come from now on; end_stops() tells
	 * them that no more stops come. stop() fails unless stops are expected. NULL: nobody
	 * watches.
	 */
	void (*expect_stops)(void *context);
	void (*end_stops)(void *context);
	/*
	 * Stops the guest and reads the registers of the N VCPUS, in one hypercall; at least those
	 * registers that lead to the stacks. BEGIN_NS: the caller's clock_now_ns() just before, so
	 * that the stop need not read a clock. Returns false if the guest runs: it could not be
	 * stopped, or not all registers could be read.
	 */
	bool (*stop)(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n);
	void (*release)(void *context);
	/*
	 * Reads the registers of the N VCPUS as stop() does, but the guest runs on. The registers
	 * fit the memory that is read afterwards only if a later look() says that no vCPU has run
	 * since an earlier one. Xen pauses each vCPU for the call; that time counts as stopped in
	 * the next look. Returns false if not all could be read. NULL if there is no such call.
	 */
	bool (*peek)(void *context, struct guest_vcpu *vcpus, unsigned n);
	/*
	 * Call it after release() or peek(), with the VCPUS of that call. It reads the registers
	 * that were left out, and the mode of a vCPU whose mode was not known. For the mode a vCPU
	 * may be paused for a moment; the next look tells for how long. NULL if nothing is left
	 * out.
	 */
	void (*read_registers)(void *context, struct guest_vcpu *vcpus, unsigned n);
	/*
	 * Xen's system time, while the guest runs. False: Xen did not answer. NULL: there is no
	 * such clock.
	 */
	bool (*read_clock)(void *context, uint64_t *xen_ns);
	void (*close)(void *context);
};

/* Maps the guest's pages. */
struct mapper {
	/* Maps one page for reading; never while the guest is stopped. NULL: Xen refuses. */
	void *(*map)(void *context, frame_t frame);
	void (*unmap)(void *context, void *page);
	void *context;
};

struct guest {
	const struct guest_ops *ops;
	void *context;
	struct mapper mapper; /* valid until ops->close() */
	struct guest_info info;
};

static inline void guest_expect_stops(const struct guest *guest)
{
	if (guest->ops->expect_stops)
		guest->ops->expect_stops(guest->context);
}

static inline void guest_end_stops(const struct guest *guest)
{
	if (guest->ops->end_stops)
		guest->ops->end_stops(guest->context);
}

struct guest_listing {
	struct guest_info info;
	char state; /* 'r' running, 'b' blocked, 'p' paused, 's' shut down, 'd' dying, '-' other */
	uint64_t cpu_time_ns;
	char system[GUEST_SYSTEM_BYTES]; /* the system's name by the guest; not clean; "": none */
};

#endif
