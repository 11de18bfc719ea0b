/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to guest/: what Xen is asked for others by the broker, or by main while it is privileged.
 * The contracts are those of guest_list(), guest_find() and guest_registers().
 */
#ifndef GUEST_XEN_H
#define GUEST_XEN_H

#include "xtop/guest.h"

struct xtop_error *xen_list(struct guest_listing **listp, size_t *np);
struct xtop_error *xen_find(const char *domain, struct guest_info *info);
/* Whether the domain of that number is still the one of that UUID. */
bool xen_is_still(const struct guest_info *info);
bool xen_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs);

/* A descriptor that maps pages of DOMID, read-only, and can do nothing else (foreign.c). */
struct xtop_error *foreign_open_fd(uint32_t domid, int *fdp);
/* What reads through it; takes FD over, also on failure. */
struct memory;
struct xtop_error *foreign_adopt(uint32_t domid, int fd, struct memory **memoryp);

#endif
