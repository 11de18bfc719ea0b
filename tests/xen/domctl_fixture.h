/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For test_domctl and test_domctl_stop: a made-up Xen of the release whose headers they are built
 * with, and a guest of it. domctl_fixture.c replaces the functions of libxencall and
 * libxenforeignmemory that domctl.c calls.
 */
#ifndef TESTS_DOMCTL_FIXTURE_H
#define TESTS_DOMCTL_FIXTURE_H

#include "tests/support/tap.h"
#include "xtop/base/registers_x86.h"
#include "xtop/xen/domctl.h"

#define DOMID   7
#define N_VCPUS 3

/* Flags of the vCPUs. */
#define VCPU_IS_DOWN    1
#define VCPU_IS_BLOCKED 2
#define VCPU_IS_RUNNING 4

/* The guest as Xen sees it, and which calls fail. */
extern struct made_xen {
	unsigned pauses;       /* pauses of the domain that were not taken back */
	unsigned refused_vcpu; /* number + 1 of the vCPU that Xen does not read; 0: none */
	unsigned fail_after; /* entries that the next multicall does before it fails, + 1; 0: all */
	unsigned fail_releases; /* so many releases fail and do nothing */
	unsigned calls;         /* multicalls */
	uint32_t flags;         /* XEN_DOMINF_... of the domain */
	unsigned vcpus;         /* VCPU_IS_... of each vCPU */
	uint32_t described;     /* the domain that Xen describes, if it is not the right one */
	uint8_t uuid;           /* last byte of the domain's UUID */
	unsigned asks;          /* questions about a vCPU's mode */
	bool low;               /* the guest's code is below 4 GiB */
	uint64_t cr0, cr4, efer;
	bool mute;                /* Xen does not answer questions about a vCPU's mode */
	bool asked_in_stop;       /* Xen was asked for a mode while the guest was stopped */
	bool early;               /* stop_area_is_stopped() was true before the pause */
	uint64_t ran_ns[N_VCPUS]; /* time that each vCPU ran since the beginning */
	unsigned reads[N_VCPUS];  /* readings of each vCPU's registers */
} xen;

extern struct stop_area *area; /* the guest's area */
extern struct guest guest;     /* the guest that the sampler has open */

/* Opens the guest: one point. */
void open_guest(void);
/* Stops the guest. VCPUS: N_VCPUS of them, with their registers. False: Xen did not stop it. */
bool stop(struct guest_vcpu *vcpus);
/* Checks that the guest runs: one point. */
void check_runs(const char *when);

#endif
