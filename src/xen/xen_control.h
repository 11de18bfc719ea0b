/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to xen/: domctls and sysctls that need not be quick, one hypercall each. They describe
 * domains and undo pauses; no guest is stopped here. xen_open_control() (xen.h) makes the
 * handle. One thread uses a handle.
 */
#ifndef XEN_XEN_CONTROL_H
#define XEN_XEN_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "xen/domctl_abi.h"
#include "xtop/xen/xen.h"

/* False: there is no such domain. */
bool control_get_domain(struct xen_control *control, uint32_t domid, struct xen_domain *domain);

/*
 * The domains from number FIRST on, in the order of their numbers, at most N. *GOTP: how many;
 * fewer than N do not mean that these were all. 0: there is none from FIRST on.
 */
struct xtop_error *control_list_domains(struct xen_control *control, uint32_t first, size_t n,
					struct xen_domain *domains, size_t *gotp);

/* Bytes of a PV guest's words: 4 or 8. False: Xen does not say. */
bool control_get_width(struct xen_control *control, uint32_t domid, unsigned *bytesp);

/* Undoes one pause. */
bool control_unpause(struct xen_control *control, uint32_t domid);

#endif
