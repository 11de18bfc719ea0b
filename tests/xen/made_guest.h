/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For test_domctl_abi: what Xen says of a made-up domain and its vCPUs on the machine that the test
 * is built for. made_guest_x86.c, made_guest_arm64.c.
 */
#ifndef TESTS_XEN_MADE_GUEST_H
#define TESTS_XEN_MADE_GUEST_H

#include "xen/public.h"

#include "xtop/base/vcpu.h"

struct made_domain {
	uint32_t domid;
	uint32_t flags; /* XEN_DOMINF_* */
	enum { MADE_PV, MADE_PV_32, MADE_PVH, MADE_HVM } type;
};

/*
 * struct xen_arch_domainconfig of Xen 4.MINOR, in 16 bytes at most, which hold other bytes before.
 * Returns how many bytes the structure takes, padding to a multiple of 8 included.
 */
size_t made_guest_config(const struct made_domain *domain, unsigned minor, char bytes[16]);
/* The registers of VCPU, and whether REGS are these: each of a value of its own. */
void made_guest_fill_context(const struct made_domain *domain, unsigned vcpu,
			     vcpu_guest_context_t *context);
bool made_guest_has_registers(const struct made_domain *domain, const struct registers *regs,
			      unsigned vcpu);

/* What xtop lists instead of TYPE: "PVH". */
const char *made_guest_type_name(const struct made_domain *domain);

#endif
