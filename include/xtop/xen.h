/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Xen is asked for others by the broker, or by main while main is privileged. The contracts
 * are those of guest_list(), guest_find() and guest_registers() (xtop/broker.h).
 */
#ifndef XTOP_XEN_H
#define XTOP_XEN_H

#include "xtop/guest.h"

struct xtop_error *xen_list(struct guest_listing **listp, size_t *np);
struct xtop_error *xen_find(const char *domain, struct guest_info *info);
/* Whether the domain of that number is still the one of that UUID. */
bool xen_is_still(const struct guest_info *info);
bool xen_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs);

/* The domain is paused, and has been for longer than a stop of xtop takes. *CPU_TIME_NSP: what it has used. */
bool xen_is_paused(const struct guest_info *info, uint64_t *cpu_time_nsp);
/* Undoes N pauses of the domain; returns how many Xen undid. */
unsigned xen_unpause(const struct guest_info *info, unsigned n);

#endif
