/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to xen/: Xen's public headers, with the calls that only a toolstack may make. Files of
 * xen/ include this header before Xen's others, and libxenctrl's header nowhere (doc/DESIGN §21).
 */
#ifndef XEN_PUBLIC_H
#define XEN_PUBLIC_H

#ifndef __XEN_TOOLS__
#define __XEN_TOOLS__ 1 /* else the headers have no domctls */
#endif

#include <stddef.h>
#include <stdint.h>

#include <xen/xen.h>

#include <xen/domctl.h>
#include <xen/sched.h>
#include <xen/sysctl.h>
#include <xen/version.h>

#endif
