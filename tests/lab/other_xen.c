// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the Xen that runs look like one with another domctl interface, for a program started with
 * LD_PRELOAD: the version of the headers this was built with is refused, OTHER_XEN (hexadecimal) is
 * taken; without that variable no version is. What libxencall sends to Xen otherwise is passed on.
 *
 * Source: Xen 4.17 xen/common/domctl.c (do_domctl: -EACCES unless interface_version is its own).
 */
#define _GNU_SOURCE
#define __XEN_TOOLS__ /* the public headers then have domctls */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <xen/xen.h>
#include <xen/domctl.h>
#include <xencall.h>

int xencall1(xencall_handle *xen, unsigned int op, uint64_t arg1)
{
	int (*real)(xencall_handle *, unsigned int, uint64_t) =
		(int (*)(xencall_handle *, unsigned int, uint64_t))dlsym(RTLD_NEXT, "xencall1");
	struct xen_domctl *domctl = (struct xen_domctl *)(uintptr_t)arg1;
	const char *taken = getenv("OTHER_XEN");
	int result;

	if (op != __HYPERVISOR_domctl)
		return real(xen, op, arg1);
	if (!taken || domctl->interface_version != strtoul(taken, NULL, 16)) {
		errno = EACCES;
		return -1;
	}
	domctl->interface_version = XEN_DOMCTL_INTERFACE_VERSION;
	result = real(xen, op, arg1);
	domctl->interface_version = (uint32_t)strtoul(taken, NULL, 16);
	return result;
}
