/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to Xen about domains, asked by the broker, or by main while main is privileged. The
 * contracts of the first two and of xen_get_registers() are those of guest_list(), guest_find() and
 * guest_get_registers() (xtop/broker.h).
 */
#ifndef XTOP_XEN_H
#define XTOP_XEN_H

#include "xtop/guest.h"

struct xtop_error *xen_list(struct guest_listing **listp, size_t *np);
struct xtop_error *xen_find(const char *domain, struct guest_info *info);
/* The domain with this number still has this UUID. */
bool xen_is_same_domain(const struct guest_info *info);
bool xen_get_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs);

/*
 * The domain is paused, and stays so for longer than a stop of xtop takes (20 ms). *CPU_TIME_NSP:
 * the CPU time that the domain has used.
 */
bool xen_is_paused(const struct guest_info *info, uint64_t *cpu_time_nsp);
/* Undoes N pauses of the domain. Returns how many Xen has undone. */
unsigned xen_unpause(const struct guest_info *info, unsigned n);

#endif
