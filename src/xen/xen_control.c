/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes domains and undoes pauses by raw domctls and sysctls; see xen_control.h. In main's
 * process while main has its rights, in the broker's, and in processes that the broker forks.
 *
 * Sources: Xen 4.17 public/domctl.h, public/sysctl.h.
 */
#include "config.h"

#include "xen/xen_control.h"

#include <xencall.h>

#include <errno.h>
#include <stdlib.h>

#include "xen/xen_log.h"
#include "xtop/base/types.h"

#define CONTROL_LIST_PAGES 8 /* hypercall memory for a part of the list of domains */

struct xen_control {
	xencall_handle *call;
	const struct domctl_abi *abi;
	/* Hypercall memory: a page with a call, and the pages of the list. */
	char *buffer, *list;
};

struct xtop_error *xen_open_control(struct xen_control **controlp)
{
	struct xen_control *control = calloc(1, sizeof(*control));
	struct xtop_error *error;

	if (!control)
		return error_create("out of memory");
	error = domctl_abi_find(&control->abi);
	if (!error) {
		control->call = xencall_open(xen_log_quiet(), 0);
		if (!control->call)
			error = error_create_errno(errno, "cannot open Xen's hypercall interface");
	}
	if (!error) {
		control->buffer =
			xencall_alloc_buffer_pages(control->call, 1 + CONTROL_LIST_PAGES);
		if (!control->buffer)
			error = error_create("out of memory");
	}
	if (error) {
		xen_close_control(control);
		return error;
	}
	control->list = control->buffer + GUEST_PAGE_SIZE;
	*controlp = control;
	return NULL;
}

void xen_close_control(struct xen_control *control)
{
	if (control->buffer)
		xencall_free_buffer_pages(control->call, control->buffer, 1 + CONTROL_LIST_PAGES);
	if (control->call)
		xencall_close(control->call);
	free(control);
}

/* Makes the domctl COMMAND, without arguments. Xen's answer is in the buffer afterwards. */
static bool control_domctl(struct xen_control *control, uint32_t command, uint32_t domid)
{
	struct xen_domctl *domctl = (void *)control->buffer;

	*domctl = (struct xen_domctl){
		.cmd = command,
		.interface_version = control->abi->domctl,
		.domain = (domid_t)domid,
	};
	return xencall1(control->call, __HYPERVISOR_domctl, (unsigned long)domctl) >= 0;
}

/*
 * Compares the domid of Xen's answer: until 4.17 Xen describes the next domain if there is no
 * domain DOMID.
 */
bool control_get_domain(struct xen_control *control, uint32_t domid, struct xen_domain *domain)
{
	const struct xen_domctl *domctl = (void *)control->buffer;
	struct xen_domain found;

	if (!control_domctl(control, XEN_DOMCTL_getdomaininfo, domid))
		return false;
	found = domctl_abi_decode(control->abi, &domctl->u.getdomaininfo);
	if (found.domid != domid)
		return false;
	*domain = found;
	return true;
}

bool control_get_width(struct xen_control *control, uint32_t domid, unsigned *bytesp)
{
	const struct xen_domctl *domctl = (void *)control->buffer;

	if (!control_domctl(control, XEN_DOMCTL_get_address_size, domid))
		return false;
	*bytesp = domctl->u.address_size.size / 8;
	return true;
}

bool control_unpause(struct xen_control *control, uint32_t domid)
{
	return control_domctl(control, XEN_DOMCTL_unpausedomain, domid);
}

struct xtop_error *control_list_domains(struct xen_control *control, uint32_t first, size_t n,
					struct xen_domain *domains, size_t *gotp)
{
	size_t domain_bytes = domctl_abi_domain_bytes(control->abi);
	size_t room = CONTROL_LIST_PAGES * GUEST_PAGE_SIZE / domain_bytes;
	struct xen_sysctl *sysctl = (void *)control->buffer;
	size_t got;

	*sysctl = (struct xen_sysctl){
		.cmd = XEN_SYSCTL_getdomaininfolist,
		.interface_version = control->abi->sysctl,
		.u.getdomaininfolist = {
			.first_domain = (domid_t)first,
			.max_domains = (uint32_t)(n < room ? n : room),
		},
	};
	set_xen_guest_handle_raw(sysctl->u.getdomaininfolist.buffer, (void *)control->list);
	if (xencall1(control->call, __HYPERVISOR_sysctl, (unsigned long)sysctl) < 0)
		return error_create_errno(errno, "cannot list the domains");
	got = sysctl->u.getdomaininfolist.num_domains;
	for (size_t i = 0; i < got; i++)
		domains[i] = domctl_abi_decode(control->abi, control->list + i * domain_bytes);
	*gotp = got;
	return NULL;
}
