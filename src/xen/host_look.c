/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at all vCPUs of the host; see host_look.h. A look is one sysctl for the domains, and
 * multicalls of getvcpuinfo for the vCPUs of those that have run.
 *
 * Sources: Xen 4.17 public/domctl.h, public/sysctl.h; xen/common/domctl.c, XEN_DOMCTL_getvcpuinfo:
 * vcpu_runstate_get() counts the running time up to now, and stops nothing.
 */
#include "config.h"

#include "xtop/xen/host_look.h"

#include "xen/domctl_abi.h"

#include <xencall.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "xen/xen_control.h"
#include "xen/xen_log.h"
#include "xtop/base/clock.h"
#include "xtop/base/vector.h"

#define LOOK_BATCH       64    /* vCPUs that one multicall asks about */
#define LOOK_DOMAINS     256   /* domains that are listed at a time */
#define LOOK_MAX_DOMAINS 32768 /* Xen has no more numbers for domains */
#define LOOK_MAX_VCPUS   65536 /* vCPUs after these are left out */

/* What Xen reads and writes: hypercall memory. */
struct look_area {
	multicall_entry_t entries[LOOK_BATCH];
	struct xen_domctl domctls[LOOK_BATCH];
	struct xen_domctl domctl;
	struct xen_sysctl sysctl;
	struct host_cpus cpus;
};
#define LOOK_PAGES ((sizeof(struct look_area) + GUEST_PAGE_SIZE - 1) / GUEST_PAGE_SIZE)

struct host_looker {
	xencall_handle *call;
	const struct domctl_abi *abi;
	struct look_area *area;
	struct xen_control *control; /* lists the domains */
	struct xen_domain listed[LOOK_DOMAINS];
};

struct xtop_error *host_looker_open(struct host_looker **lookerp)
{
	struct host_looker *looker = calloc(1, sizeof(*looker));
	struct xtop_error *error;

	if (!looker)
		return error_create("out of memory");
	error = domctl_abi_find(&looker->abi);
	if (!error)
		error = xen_open_control(&looker->control);
	if (!error) {
		looker->call = xencall_open(xen_log_quiet(), 0);
		if (looker->call)
			looker->area = xencall_alloc_buffer_pages(looker->call, LOOK_PAGES);
		if (!looker->area)
			error = error_create("cannot open Xen's hypercall interface");
	}
	if (error) {
		host_looker_close(looker);
		return error;
	}
	*lookerp = looker;
	return NULL;
}

void host_looker_close(struct host_looker *looker)
{
	if (!looker)
		return;
	if (looker->area)
		xencall_free_buffer_pages(looker->call, looker->area, LOOK_PAGES);
	if (looker->call)
		xencall_close(looker->call);
	if (looker->control)
		xen_close_control(looker->control);
	free(looker);
}

/* --- a look ----------------------------------------------------------------------------------- */

static struct host_vcpu host_decode_vcpu(uint32_t domid, const multicall_entry_t *entry,
					 const struct xen_domctl *domctl)
{
	const struct xen_domctl_getvcpuinfo *info = &domctl->u.getvcpuinfo;
	struct host_vcpu vcpu = { .domid = domid, .number = (uint16_t)info->vcpu };

	if (entry->result || !info->online)
		return vcpu; /* offline */
	vcpu.cpu = (uint16_t)info->cpu;
	vcpu.cpu_ns = info->cpu_time;
	vcpu.state = info->running ? VCPU_RUNNING : info->blocked ? VCPU_BLOCKED : VCPU_RUNNABLE;
	return vcpu;
}

/* Asks Xen about the N vCPUs of DOMID from number FIRST on. */
static bool host_ask_vcpus(struct host_looker *looker, uint32_t domid, unsigned first, unsigned n,
			   struct host_vcpu *vcpus)
{
	struct look_area *area = looker->area;

	for (unsigned i = 0; i < n; i++) {
		area->domctls[i] = (struct xen_domctl){
			.cmd = XEN_DOMCTL_getvcpuinfo,
			.interface_version = looker->abi->domctl,
			.domain = (domid_t)domid,
			.u.getvcpuinfo.vcpu = first + i,
		};
		area->entries[i] = (multicall_entry_t){
			.op = __HYPERVISOR_domctl,
			.args[0] = (unsigned long)&area->domctls[i],
		};
	}
	if (xencall2(looker->call, __HYPERVISOR_multicall, (unsigned long)area->entries, n))
		return false;
	for (unsigned i = 0; i < n; i++)
		vcpus[i] = host_decode_vcpu(domid, &area->entries[i], &area->domctls[i]);
	return true;
}

/* The step from the last look to the next one, for the functions that handle one domain. */
struct look_step {
	struct host_looker *looker;
	uint32_t always;
	const struct host_look *last;
	struct host_look *next;
};

/*
 * Adds DOMAIN's N vCPUs at the end of the new look. BEFORE: DOMAIN in the last look, if its vCPUs
 * have not run since, and are copied; or NULL.
 */
static bool host_add_vcpus(const struct look_step *step, struct host_domain *domain, size_t n,
			   const struct host_domain *before)
{
	struct host_look *next = step->next;

	if (next->n_vcpus + n > LOOK_MAX_VCPUS)
		n = 0;
	if (!vector_reserve(next->vcpus, next->vcpus_capacity, next->n_vcpus + n))
		return false;
	domain->first = next->n_vcpus;
	domain->n = n;
	if (before && before->n != n)
		before = NULL;
	if (before && n)
		memcpy(next->vcpus + next->n_vcpus, step->last->vcpus + before->first,
		       n * sizeof(next->vcpus[0]));
	for (size_t i = 0; i < domain->n && !before; i += LOOK_BATCH) {
		unsigned some = (unsigned)(n - i < LOOK_BATCH ? n - i : LOOK_BATCH);

		if (!host_ask_vcpus(step->looker, domain->domid, (unsigned)i, some,
				    next->vcpus + next->n_vcpus + i))
			domain->n = i;
	}
	next->n_vcpus += domain->n;
	return true;
}

static bool host_add_domain(const struct look_step *step, const struct xen_domain *listed)
{
	const struct host_domain *before = host_look_find(step->last, listed->domid);
	struct host_look *next = step->next;
	struct host_domain domain = {
		.domid = listed->domid,
		.pool = listed->pool,
		.paused = listed->flags & XEN_DOMINF_paused,
		.cpu_ns = listed->cpu_time_ns,
	};
	size_t n = listed->max_vcpu_id == XEN_INVALID_MAX_VCPU_ID ? 0 : listed->max_vcpu_id + 1;
	bool ran = !before || before->cpu_ns != domain.cpu_ns || domain.domid == step->always;

	if (!vector_reserve(next->domains, next->domains_capacity, next->n_domains + 1) ||
	    !host_add_vcpus(step, &domain, n, ran ? NULL : before))
		return false;
	next->domains[next->n_domains++] = domain;
	return true;
}

struct xtop_error *host_looker_look(struct host_looker *looker, uint32_t always,
				    const struct host_look *last, struct host_look *look)
{
	const struct look_step step = { looker, always, last, look };
	uint32_t first = 0;
	size_t got = 0;

	look->n_domains = look->n_vcpus = 0;
	look->time_ns = clock_now_ns();
	do {
		struct xtop_error *error = control_list_domains(looker->control, first,
								LOOK_DOMAINS, looker->listed, &got);

		if (error)
			return error;
		for (size_t i = 0; i < got; i++)
			if (!host_add_domain(&step, &looker->listed[i]))
				return error_create("out of memory");
		first = got ? looker->listed[got - 1].domid + 1 : 0;
	} while (got && look->n_domains < LOOK_MAX_DOMAINS);
	return NULL;
}

/* --- how Xen schedules ------------------------------------------------------------------------ */

static struct xenctl_bitmap host_bitmap(struct host_looker *looker)
{
	struct xenctl_bitmap bitmap = { .nr_bits = HOST_MAX_CPUS };

	memset(&looker->area->cpus, 0, sizeof(looker->area->cpus));
	set_xen_guest_handle_raw(bitmap.bitmap, looker->area->cpus.bits);
	return bitmap;
}

bool host_looker_get_pool(struct host_looker *looker, uint32_t pool, uint32_t *schedulerp,
			  struct host_cpus *cpus)
{
	struct xen_sysctl *sysctl = &looker->area->sysctl;

	*sysctl = (struct xen_sysctl){
		.cmd = XEN_SYSCTL_cpupool_op,
		.interface_version = looker->abi->sysctl,
		.u.cpupool_op = { .op = XEN_SYSCTL_CPUPOOL_OP_INFO, .cpupool_id = pool },
	};
	sysctl->u.cpupool_op.cpumap = host_bitmap(looker);
	if (xencall1(looker->call, __HYPERVISOR_sysctl, (unsigned long)sysctl) ||
	    sysctl->u.cpupool_op.cpupool_id != pool) /* Xen gives the next if POOL is gone */
		return false;
	*schedulerp = sysctl->u.cpupool_op.sched_id;
	*cpus = looker->area->cpus;
	return true;
}

bool host_looker_get_schedule(struct host_looker *looker, uint32_t domid, uint32_t scheduler,
			      struct host_schedule *schedule)
{
	struct xen_domctl *domctl = &looker->area->domctl;
	const struct xen_domctl_scheduler_op *op = &domctl->u.scheduler_op;

	if (scheduler != XEN_SCHEDULER_CREDIT && scheduler != XEN_SCHEDULER_CREDIT2)
		return false;
	*domctl = (struct xen_domctl){
		.cmd = XEN_DOMCTL_scheduler_op,
		.interface_version = looker->abi->domctl,
		.domain = (domid_t)domid,
		.u.scheduler_op = { .sched_id = scheduler, .cmd = XEN_DOMCTL_SCHEDOP_getinfo },
	};
	if (xencall1(looker->call, __HYPERVISOR_domctl, (unsigned long)domctl))
		return false;
	*schedule = scheduler == XEN_SCHEDULER_CREDIT
			    ? (struct host_schedule){ op->u.credit.weight, op->u.credit.cap }
			    : (struct host_schedule){ op->u.credit2.weight, op->u.credit2.cap };
	return true;
}

bool host_looker_get_affinity(struct host_looker *looker, uint32_t domid, unsigned vcpu,
			      struct host_cpus *cpus)
{
	struct xen_domctl *domctl = &looker->area->domctl;

	*domctl = (struct xen_domctl){
		.cmd = XEN_DOMCTL_getvcpuaffinity,
		.interface_version = looker->abi->domctl,
		.domain = (domid_t)domid,
		.u.vcpuaffinity = { .vcpu = vcpu, .flags = XEN_VCPUAFFINITY_HARD },
	};
	domctl->u.vcpuaffinity.cpumap_hard = host_bitmap(looker);
	if (xencall1(looker->call, __HYPERVISOR_domctl, (unsigned long)domctl))
		return false;
	*cpus = looker->area->cpus;
	return true;
}
