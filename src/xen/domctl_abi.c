/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of Xen's releases, and the search for the one that runs; see domctl_abi.h.
 *
 * xtop uses these calls. All releases of the table have equal numbers and structures for them:
 *
 *   domctl    pausedomain, unpausedomain, getdomaininfo, getvcpucontext, getvcpuinfo,
 *             scheduler_op (getinfo), getvcpuaffinity, get_address_size,
 *             gethvmcontext_partial (type CPU)
 *   sysctl    getdomaininfolist, cpupool_op (info)
 *
 * They differ in two places:
 *
 *   struct xen_domctl_getdomaininfo   4.16 has put gpaddr_bits and padding, 8 bytes, before
 *       arch_config. The list has one such structure after the other, so its size counts.
 *   getdomaininfo of a domain that does not exist describes the next one until 4.17 and fails from
 *       4.18 on. So whoever calls it compares the number that comes back.
 *
 * Sources: public/domctl.h, sysctl.h, arch-x86/xen.h and arch-x86/hvm/save.h of Xen 4.14.6, 4.17.7
 * and 4.20.4; public/domctl.h of 4.21.0; what differs in public/ and common/domctl.c of 4.22.0;
 * arch-arm.h of 4.17.7. What each release has changed:
 *
 *   4.15  0x13: XEN_DOMCTL_vmtrace_op and fields of createdomain
 *   4.16  0x14; sysctl 0x14 is gpaddr_bits: the list of domains carries the same structure
 *   4.17  0x15: cpupool_id of createdomain; sysctl 0x15: capabilities in physinfo
 *   4.18  0x16: Xen commit 31c655497461 ("domctl: Modify XEN_DOMCTL_getdomaininfo to fail if domid
 *         is not found")
 *   4.19  0x17: Xen commit 4c733873b5c2 ("xen/arm: Add XEN_DOMCTL_dt_overlay and device attachment
 *         to domains")
 *   4.21  sysctl 0x16: sizes in livepatch_list
 *   4.22  0x18: a field for Xen itself in assign_device
 */
#include "config.h"

#include "xen/domctl_abi.h"

#include <xencall.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include XEN_GUEST_HEADER
#include "xen/xen_log.h"
#include "xtop/xen/xen.h"

static const struct domctl_abi abi_table[] = {
	/* release, domctl, sysctl, place of arch_config */
	{ "4.14", 0x12, 0x13, 96 },  { "4.15", 0x13, 0x13, 96 },  { "4.16", 0x14, 0x14, 104 },
	{ "4.17", 0x15, 0x15, 104 }, { "4.18", 0x16, 0x15, 104 }, { "4.19", 0x17, 0x15, 104 },
	{ "4.20", 0x17, 0x15, 104 }, { "4.21", 0x17, 0x16, 104 }, { "4.22", 0x18, 0x16, 104 },
};
#define ABI_N      (sizeof(abi_table) / sizeof(abi_table[0]))
#define ABI_OLDEST (&abi_table[0])
#define ABI_OLDEST_XEN (4 << 16 | 14) /* answer of Xen 4.14 to XENVER_version */
#define ABI_NEWEST (&abi_table[ABI_N - 1])
#define ABI_AHEAD  32 /* how many versions above the newest known one are tried */

/* What all releases of the table share; see domctl_abi.h. */
SAME_NUMBER(XEN_DOMCTL_pausedomain, 3);
SAME_NUMBER(XEN_DOMCTL_unpausedomain, 4);
SAME_NUMBER(XEN_DOMCTL_getdomaininfo, 5);
SAME_NUMBER(XEN_DOMCTL_getvcpucontext, 13);
SAME_NUMBER(XEN_DOMCTL_getvcpuinfo, 14);
SAME_NUMBER(XEN_DOMCTL_scheduler_op, 16);
SAME_NUMBER(XEN_DOMCTL_getvcpuaffinity, 25);
SAME_NUMBER(XEN_DOMCTL_get_address_size, 36);
SAME_NUMBER(XEN_DOMCTL_gethvmcontext_partial, 55);
SAME_NUMBER(XEN_DOMCTL_SCHEDOP_getinfo, 1);
SAME_NUMBER(XEN_SCHEDULER_CREDIT, 5);
SAME_NUMBER(XEN_SCHEDULER_CREDIT2, 6);
SAME_NUMBER(XEN_SYSCTL_getdomaininfolist, 6);
SAME_NUMBER(XEN_SYSCTL_cpupool_op, 18);
SAME_NUMBER(XEN_SYSCTL_CPUPOOL_OP_INFO, 3);
SAME_SIZE(xen_domctl, 144);
SAME_OFFSET(xen_domctl, interface_version, 4);
SAME_OFFSET(xen_domctl, domain, 8);
SAME_OFFSET(xen_domctl, u, 16);
SAME_OFFSET(xen_domctl_getdomaininfo, flags, 4);
SAME_OFFSET(xen_domctl_getdomaininfo, tot_pages, 8);
SAME_OFFSET(xen_domctl_getdomaininfo, cpu_time, 56);
SAME_OFFSET(xen_domctl_getdomaininfo, nr_online_vcpus, 64);
SAME_OFFSET(xen_domctl_getdomaininfo, max_vcpu_id, 68);
SAME_OFFSET(xen_domctl_getdomaininfo, handle, 76);
SAME_OFFSET(xen_domctl_getdomaininfo, cpupool, 92);
_Static_assert(sizeof(struct xen_domctl_getdomaininfo) -
			       offsetof(struct xen_domctl_getdomaininfo, arch_config) ==
		       DOMAIN_ARCH_BYTES,
	       "struct xen_arch_domainconfig has grown");
SAME_SIZE(xen_domctl_getvcpuinfo, 24);
SAME_OFFSET(xen_domctl_getvcpuinfo, online, 4);
SAME_OFFSET(xen_domctl_getvcpuinfo, cpu_time, 8);
SAME_OFFSET(xen_domctl_getvcpuinfo, cpu, 16);
SAME_OFFSET(xen_domctl_scheduler_op, u, 8);
SAME_SIZE(xen_domctl_sched_credit, 4);
SAME_SIZE(xen_domctl_sched_credit2, 4);
SAME_SIZE(xen_domctl_vcpuaffinity, 40);
SAME_OFFSET(xen_domctl_vcpuaffinity, cpumap_hard, 8);
SAME_SIZE(xen_domctl_vcpucontext, 16);
SAME_OFFSET(xen_domctl_vcpucontext, ctxt, 8);
SAME_SIZE(xen_domctl_address_size, 4);
SAME_SIZE(xen_domctl_hvmcontext_partial, 24);
SAME_OFFSET(xen_domctl_hvmcontext_partial, buffer, 16);
SAME_SIZE(xen_sysctl, 136);
SAME_OFFSET(xen_sysctl, interface_version, 4);
SAME_OFFSET(xen_sysctl, u, 8);
SAME_SIZE(xen_sysctl_getdomaininfolist, 24);
SAME_OFFSET(xen_sysctl_getdomaininfolist, buffer, 8);
SAME_OFFSET(xen_sysctl_getdomaininfolist, num_domains, 16);
SAME_SIZE(xen_sysctl_cpupool_op, 40);
SAME_OFFSET(xen_sysctl_cpupool_op, sched_id, 8);
SAME_OFFSET(xen_sysctl_cpupool_op, cpumap, 24);

/* guest_x86.c and guest_arm64.c compare what they use of the registers. */

/* --- the search ------------------------------------------------------------------------------- */

/* the row to use if the running Xen is not in the table; NULL: none */
static const struct domctl_abi *abi_assumed;
static const struct domctl_abi *abi_found;   /* NULL: Xen has not been asked yet */
static struct domctl_abi abi_tried;          /* abi_assumed with the running Xen's versions */

struct xtop_error *xen_assume(const char *release)
{
	abi_found = NULL;
	abi_assumed = NULL;
	if (!release)
		return NULL;
	for (size_t i = 0; i < ABI_N; i++)
		if (strcmp(abi_table[i].release, release) == 0)
			abi_assumed = &abi_table[i];
	if (!abi_assumed)
		return error_create("--xen-abi: '%s' is not allowed: %s to %s", release,
				    ABI_OLDEST->release, ABI_NEWEST->release);
	return NULL;
}

/* Makes one harmless call with interface VERSION. BUFFER is hypercall memory. */
typedef int (*abi_try)(xencall_handle *call, void *buffer, uint32_t version);

static int abi_try_domctl(xencall_handle *call, void *buffer, uint32_t version)
{
	struct xen_domctl *domctl = buffer;

	*domctl = (struct xen_domctl){
		.cmd = XEN_DOMCTL_getdomaininfo,
		.interface_version = version,
		.domain = 0,
	};
	return xencall1(call, __HYPERVISOR_domctl, (unsigned long)domctl);
}

/* Asks Xen for a list of no domains. */
static int abi_try_sysctl(xencall_handle *call, void *buffer, uint32_t version)
{
	struct xen_sysctl *sysctl = buffer;

	*sysctl = (struct xen_sysctl){
		.cmd = XEN_SYSCTL_getdomaininfolist,
		.interface_version = version,
	};
	return xencall1(call, __HYPERVISOR_sysctl, (unsigned long)sysctl);
}

/*
 * Tries the versions from OLDEST to a little above NEWEST. Xen compares the version before anything
 * else, and answers EACCES to a wrong version (Xen 4.17 xen/common/domctl.c, sysctl.c). *VERSIONP:
 * the version that Xen accepts; 0: Xen accepts none of these. Returns 0, or the errno of a call
 * with the right version.
 */
static int abi_search(abi_try try, xencall_handle *call, void *buffer, uint32_t oldest,
		      uint32_t newest, uint32_t *versionp)
{
	for (uint32_t version = oldest; version <= newest + ABI_AHEAD; version++) {
		int result = try(call, buffer, version) < 0 ? errno : 0;

		if (result == EACCES)
			continue;
		*versionp = version;
		return result;
	}
	*versionp = 0;
	return 0;
}

static const struct domctl_abi *abi_find(uint32_t domctl, uint32_t sysctl)
{
	for (size_t i = 0; i < ABI_N; i++)
		if (abi_table[i].domctl == domctl && abi_table[i].sysctl == sysctl)
			return &abi_table[i];
	return NULL;
}

static void abi_format_version(char text[16], uint32_t version)
{
	snprintf(text, 16, version ? "%#x" : "unknown", version);
}

/*
 * The error for an unknown Xen. DOMCTL, SYSCTL: the versions that Xen accepts; 0: none of the
 * versions tried. A policy of XSM that forbids a call answers EACCES, too.
 */
static struct xtop_error *abi_unknown(xencall_handle *call, uint32_t domctl, uint32_t sysctl)
{
	int version = xencall2(call, __HYPERVISOR_xen_version, XENVER_version, 0);
	char domctl_text[16], sysctl_text[16];
	char hint[80] = "a newer xtop may know it, or Xen's policy (XSM) forbids to ask";

	abi_format_version(domctl_text, domctl);
	abi_format_version(sysctl_text, sysctl);
	if (version < ABI_OLDEST_XEN)
		snprintf(hint, sizeof(hint), "xtop needs Xen %s or later", ABI_OLDEST->release);
	else if (domctl && sysctl)
		snprintf(hint, sizeof(hint), "--xen-abi=%s tries the newest of them",
			 ABI_NEWEST->release);
	return error_create("this is Xen %d.%d with domctl interface %s and sysctl interface %s, "
			    "but xtop knows those of Xen %s to %s, %#x to %#x and %#x to %#x: %s",
			    version >> 16, version & 0xffff, domctl_text, sysctl_text,
			    ABI_OLDEST->release, ABI_NEWEST->release, ABI_OLDEST->domctl,
			    ABI_NEWEST->domctl, ABI_OLDEST->sysctl, ABI_NEWEST->sysctl, hint);
}

static struct xtop_error *abi_refused(int errno_value)
{
	if (errno_value == EPERM)
		return error_create("this domain may not look into others: run xtop in dom0");
	return error_create_errno(errno_value, "Xen refuses to describe domain 0");
}

static struct xtop_error *abi_ask(xencall_handle *call, void *buffer)
{
	uint32_t domctl, sysctl;
	int result = abi_search(abi_try_domctl, call, buffer, ABI_OLDEST->domctl,
				ABI_NEWEST->domctl, &domctl);

	if (!result)
		result = abi_search(abi_try_sysctl, call, buffer, ABI_OLDEST->sysctl,
				    ABI_NEWEST->sysctl, &sysctl);
	if (result)
		return abi_refused(result);
	abi_found = abi_find(domctl, sysctl);
	if (abi_found)
		return NULL;
	if (!abi_assumed || !domctl || !sysctl)
		return abi_unknown(call, domctl, sysctl);
	abi_tried = *abi_assumed;
	abi_tried.domctl = domctl;
	abi_tried.sysctl = sysctl;
	abi_found = &abi_tried;
	return NULL;
}

struct xtop_error *domctl_abi_find(const struct domctl_abi **abip)
{
	struct xtop_error *error = NULL;
	xencall_handle *call;
	void *buffer;

	if (!abi_found) {
		call = xencall_open(xen_log_quiet(), 0);
		if (!call)
			return error_create_errno(errno, "cannot open Xen's hypercall interface");
		buffer = xencall_alloc_buffer_pages(call, 1);
		error = buffer ? abi_ask(call, buffer) : error_create("out of memory");
		if (buffer)
			xencall_free_buffer_pages(call, buffer, 1);
		xencall_close(call);
	}
	if (!error)
		*abip = abi_found;
	return error;
}

/* --- what Xen says of a domain ---------------------------------------------------------------- */

size_t domctl_abi_domain_bytes(const struct domctl_abi *abi)
{
	return abi->arch_offset + DOMAIN_ARCH_BYTES;
}

struct xen_domain domctl_abi_decode(const struct domctl_abi *abi, const void *bytes)
{
	const struct xen_domctl_getdomaininfo *info = bytes;
	struct xen_domain domain = {
		.domid = info->domain,
		.flags = info->flags,
		.max_vcpu_id = info->max_vcpu_id,
		.pool = info->cpupool,
		.pages = info->tot_pages,
		.cpu_time_ns = info->cpu_time,
	};

	memcpy(&domain.emulation_flags, (const char *)bytes + abi->arch_offset,
	       sizeof(domain.emulation_flags));
	memcpy(domain.handle, info->handle, sizeof(domain.handle));
	return domain;
}
