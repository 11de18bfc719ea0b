/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to Xen about domains. The broker and the processes that it forks ask them, and main
 * while main has its rights. xen_list(), xen_find() and xen_get_registers() have the contracts of
 * guest_list(), guest_find() and guest_get_registers() (broker.h).
 */
#ifndef XTOP_XEN_H
#define XTOP_XEN_H

#include "xtop/xen/guest.h"

/*
 * If xtop does not know the version of Xen's interface, xtop treats the running Xen as RELEASE,
 * such as "4.21". Fails if xtop does not know RELEASE either. Call this function before Xen is
 * asked for the first time. NULL, the initial state: an unknown version is an error.
 */
struct xtop_error *xen_assume(const char *release);

/* Loads the library that asks xenstore. Later no function here makes memory executable. */
void xen_load(void);

/*
 * xen_list() and xen_find() also ask xenstore, for names. xenstore may be slow, or not answer at
 * all: the processes that watch a guest must not wait for it (supervise/ask.h).
 */
struct xtop_error *xen_list(struct guest_listing **listp, size_t *np);
struct xtop_error *xen_find(const char *domain, struct guest_info *info);
/* Finds DOMAIN by domid or UUID only, and gives no name, because xenstore is not asked. */
struct xtop_error *xen_find_unnamed(const char *domain, struct guest_info *info);
/* Whether the domain with INFO's domid still has INFO's UUID. */
bool xen_is_same_domain(const struct guest_info *info);
/*
 * Reads a vCPU's registers. *PAUSED_NSP: how long Xen has paused the vCPU for this, also after a
 * failure.
 */
bool xen_get_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs,
		       uint64_t *paused_nsp);

/* The handle with which xen_is_paused() and xen_unpause() ask Xen. */
struct xen_control;
struct xtop_error *xen_open_control(struct xen_control **controlp);
void xen_close_control(struct xen_control *control);
/*
 * Whether the domain is paused, and stays paused for longer than a stop of xtop takes (20 ms).
 * *CPU_TIME_NSP: the CPU time that the domain has used; untouched if it is not paused.
 */
bool xen_is_paused(struct xen_control *control, uint32_t domid, uint64_t *cpu_time_nsp);
/* Undoes N pauses of the domain. Returns how many Xen has undone. */
unsigned xen_unpause(struct xen_control *control, uint32_t domid, unsigned n);

#endif
