/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "xen/public.h"

#include <xencall.h>
#include <xenforeignmemory.h>
#include <xen/hvm/save.h>

#include <errno.h>
#include <stdlib.h>

#include "domctl_fixture.h"
#include "xen_libraries.h"
#include "xtop/base/clock.h"

struct made_xen xen;
struct stop_area *area;
struct guest guest;

static long xen_domctl(struct xen_domctl *domctl)
{
	static const uint8_t uuid[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
					  0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee };
	vcpu_guest_context_t *context;

	if (domctl->interface_version != XEN_DOMCTL_INTERFACE_VERSION)
		return -EACCES;
	if (domctl->domain != DOMID && (domctl->cmd != XEN_DOMCTL_getdomaininfo || domctl->domain))
		return -ESRCH;
	switch (domctl->cmd) {
	case XEN_DOMCTL_getdomaininfo:
		domctl->u.getdomaininfo.domain =
			xen.described ? (domid_t)xen.described : domctl->domain;
		domctl->u.getdomaininfo.flags =
			xen.flags | (xen.vcpus & VCPU_IS_BLOCKED ? XEN_DOMINF_blocked : 0) |
			(xen.vcpus & VCPU_IS_RUNNING ? XEN_DOMINF_running : 0);
		domctl->u.getdomaininfo.nr_online_vcpus = !(xen.vcpus & VCPU_IS_DOWN);
		domctl->u.getdomaininfo.cpu_time = 1000 + xen.ran_ns[0];
		memcpy(domctl->u.getdomaininfo.handle, uuid, sizeof(uuid));
		domctl->u.getdomaininfo.handle[15] = xen.uuid;
		return 0;
	case XEN_DOMCTL_getvcpuinfo:
		if (domctl->u.getvcpuinfo.vcpu >= N_VCPUS)
			return -ESRCH;
		domctl->u.getvcpuinfo.online = !(xen.vcpus & VCPU_IS_DOWN);
		domctl->u.getvcpuinfo.blocked = !!(xen.vcpus & VCPU_IS_BLOCKED);
		domctl->u.getvcpuinfo.running = !!(xen.vcpus & VCPU_IS_RUNNING);
		domctl->u.getvcpuinfo.cpu_time =
			1000 + domctl->u.getvcpuinfo.vcpu + xen.ran_ns[domctl->u.getvcpuinfo.vcpu];
		return 0;
	case XEN_DOMCTL_pausedomain:
		xen.early |= stop_area_is_stopped(area);
		xen.pauses++;
		return 0;
	case XEN_DOMCTL_unpausedomain:
		if (!xen.pauses)
			return -EINVAL;
		xen.pauses--;
		return 0;
	case XEN_DOMCTL_getvcpucontext:
		if (domctl->u.vcpucontext.vcpu + 1 == xen.refused_vcpu)
			return -ENODATA; /* never brought up */
		xen.reads[domctl->u.vcpucontext.vcpu]++;
		context = domctl->u.vcpucontext.ctxt.p;
		context->user_regs.rip =
			(xen.low ? 0xc1000000 : 0xffffffff81000000) + domctl->u.vcpucontext.vcpu;
		context->user_regs.r14 = 0x1400 + domctl->u.vcpucontext.vcpu;
		context->user_regs.rsp = xen.ran_ns[domctl->u.vcpucontext.vcpu];
		context->ctrlreg[0] = xen.cr0;
		context->ctrlreg[4] = xen.cr4;
		context->user_regs.cs = domctl->u.vcpucontext.vcpu == 1 ? 0x33 : 0x10;
		return 0;
	case XEN_DOMCTL_gethvmcontext_partial:
		xen.asks++;
		xen.asked_in_stop |= xen.pauses > 0;
		if (xen.mute || domctl->u.hvmcontext_partial.type != HVM_SAVE_CODE(CPU) ||
		    domctl->u.hvmcontext_partial.instance >= N_VCPUS ||
		    domctl->u.hvmcontext_partial.bufsz < sizeof(struct hvm_hw_cpu))
			return -EINVAL;
		((struct hvm_hw_cpu *)domctl->u.hvmcontext_partial.buffer.p)->msr_efer = xen.efer;
		return 0;
	default:
		return -ENOSYS;
	}
}

/* The only sysctl asks for the version of the interface. */
static long xen_sysctl(const struct xen_sysctl *sysctl)
{
	return sysctl->interface_version == XEN_SYSCTL_INTERFACE_VERSION ? 0 : -EACCES;
}

int xencall1(xencall_handle *call, unsigned op, uint64_t argument)
{
	void *at = (void *)(uintptr_t)argument;
	long result = op == __HYPERVISOR_sysctl ? xen_sysctl(at) : xen_domctl(at);

	(void)call;
	errno = result < 0 ? (int)-result : 0;
	return result < 0 ? -1 : 0;
}

static int xen_multicall(multicall_entry_t *entries, uint64_t n)
{
	struct xen_domctl *first = (struct xen_domctl *)(uintptr_t)entries[0].args[0];
	unsigned fail_after = xen.fail_after;

	xen.calls++;
	xen.fail_after = 0;
	if (first->cmd == XEN_DOMCTL_unpausedomain && xen.fail_releases) {
		xen.fail_releases--;
		fail_after = 1;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (fail_after && i == fail_after - 1) {
			errno = EFAULT;
			return -1;
		}
		entries[i].result =
			(xen_ulong_t)xen_domctl((struct xen_domctl *)(uintptr_t)entries[i].args[0]);
	}
	return 0;
}

int xencall2(xencall_handle *call, unsigned op, uint64_t first, uint64_t second)
{
	(void)call, (void)op;
	return xen_multicall((multicall_entry_t *)(uintptr_t)first, second);
}

/* --- the guest -------------------------------------------------------------------------------- */

void open_guest(void)
{
	const struct guest_info info = { .domid = DOMID,
					 .uuid = "00112233-4455-6677-8899-aabbccddee00",
					 .type = GUEST_PVH,
					 .n_vcpus = N_VCPUS };
	struct xtop_error *error = stop_area_create(&info, &area);

	if (!error)
		error = domctl_open(&info, area, STOP_SAMPLER, &guest);
	if (!error)
		guest_expect_stops(&guest);
	if (!check(!error, "the domain is opened%s%s", error ? ": " : "",
		   error ? error_message(error) : ""))
		exit(tap_done());
}

bool stop(struct guest_vcpu *vcpus)
{
	for (unsigned i = 0; i < N_VCPUS; i++)
		vcpus[i] = (struct guest_vcpu){ .number = (uint16_t)i };
	return guest.ops->stop(guest.context, clock_now_ns(), vcpus, N_VCPUS);
}

void check_runs(const char *when)
{
	check(xen.pauses == 0 && !stop_area_is_stopped(area),
	      "%s: the guest runs (paused %u times), and the guard sees that", when, xen.pauses);
	xen.pauses = 0;
}
