/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to xen/: the versions of Xen's interface of domctls and sysctls. The interface may change
 * with each release, and Xen refuses a call of another version. One program runs on all releases of
 * the table in domctl_abi.c: at start it finds out which versions the running Xen takes.
 *
 * Which Xen runs does not change as long as a process lives. So the answer is kept: children that
 * are forked later have it, too. One thread calls these functions.
 */
#ifndef XEN_DOMCTL_ABI_H
#define XEN_DOMCTL_ABI_H

#include "xen/public.h"

#include "xtop/base/error.h"

/*
 * The headers of a build are those of one release, any of the table or a later one. Layouts and
 * numbers that all releases of the table share must be the same in these headers; the macros below
 * check this.
 */
#define SAME_OFFSET(type, field, bytes) \
	_Static_assert(offsetof(struct type, field) == (bytes), #type " has changed")
#define SAME_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type " has changed")
#define SAME_NUMBER(name, number) _Static_assert((name) == (number), #name " has changed")

struct domctl_abi {
	const char *release;     /* name of the release: "4.17" */
	uint32_t domctl, sysctl; /* versions of the two interfaces */
	/* offset of arch_config, the last member of struct xen_domctl_getdomaininfo */
	uint16_t arch_offset;
};

/*
 * Finds the table's row for the running Xen. Fails if Xen may not be asked, or if the table does
 * not have its versions and xen_assume() has named no release (xen.h).
 */
struct xtop_error *domctl_abi_find(const struct domctl_abi **abip);

/* Xen's description of a domain, in a form for all releases. */
struct xen_domain {
	uint32_t domid;
	uint32_t flags;           /* XEN_DOMINF_* */
	uint32_t max_vcpu_id;     /* XEN_INVALID_MAX_VCPU_ID: no vCPU */
	uint32_t emulation_flags; /* XEN_X86_EMU_*; on x86 only */
	uint32_t pool;            /* the domain's cpupool */
	uint64_t pages;
	uint64_t cpu_time_ns;
	xen_domain_handle_t handle;
};

/* How many bytes struct xen_domctl_getdomaininfo has in ABI's Xen. */
size_t domctl_abi_domain_bytes(const struct domctl_abi *abi);
/* Decodes BYTES, a struct xen_domctl_getdomaininfo from ABI's Xen. */
struct xen_domain domctl_abi_decode(const struct domctl_abi *abi, const void *bytes);

#endif
