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

/* Describes domain DOMID. Returns false if there is no such domain. */
bool control_get_domain(struct xen_control *control, uint32_t domid, struct xen_domain *domain);

/*
 * Lists at most N domains from number FIRST on, in the order of their numbers. *GOTP: how many were
 * listed. There may be more domains, even if fewer than N were listed; only 0 means that there is
 * no domain from FIRST on.
 */
struct xtop_error *control_list_domains(struct xen_control *control, uint32_t first, size_t n,
					struct xen_domain *domains, size_t *gotp);

/* Bytes of a PV guest's words: 4 or 8. False: Xen does not say. */
bool control_get_width(struct xen_control *control, uint32_t domid, unsigned *bytesp);

/* Undoes one pause of the domain. Returns whether Xen has done so. */
bool control_unpause(struct xen_control *control, uint32_t domid);

#endif
