/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stops a Xen guest, reads its registers and releases it: raw domctls through libxencall, in
 * preallocated hypercall memory. In the sampler's process.
 *
 *   look     multicall [ getdomaininfo, getvcpuinfo of every vCPU ]    the guest runs; look_life()
 *            and a look at the only vCPU make the first call alone
 *   stop     multicall [ pausedomain, getvcpucontext of those wanted ]; getvcpuinfo of those that
 *            seem not to have run since the last stop
 *   release  multicall [ unpausedomain ]
 *   peek     multicall [ getvcpucontext of those wanted ]              the guest runs, these wait
 *   ask      multicall [ gethvmcontext_partial of one vCPU ]           the guest runs, seldom
 *   clock    multicall [ HVMOP_get_time ]                              the guest runs, every 0.1 s
 *
 * The calls are prepared in memory that guard and keeper share: stop_area.c.
 *
 * Sources: Xen 4.17 public/domctl.h, arch_get_info_guest() of xen/arch/x86/domctl.c and
 * xen/arch/arm/domctl.c. What depends on the architecture is in guest_x86.h and guest_arm64.h.
 */
#include "config.h"

#include "xen/public.h"

#include <xencall.h>
#include <xenforeignmemory.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "xen/stop_area.h"
#include "xen/xen_log.h"
#include "xtop/base/clock.h"
#include "xtop/xen/xen.h"

/*
 * How often a release is tried. So many tries take more than a second, as a hypercall takes 1.7
 * thousand instructions (doc/MEASUREMENTS). Xen cannot read a page only while Linux moves this
 * page.
 */
#define RELEASE_TRIES 1000000

#define MODE_ASK_NS 10000000000ULL /* how long Xen's answer about a vCPU's mode is used */

struct domctl_guest {
	xencall_handle *call;
	xenforeignmemory_handle *memory;
	struct stop_area *area;
	const struct domctl_batch *release;
	uint64_t looked_ns;
	/* time for which our calls have paused vCPUs, as far as no look has reported it */
	uint64_t paused_ns;
	bool expected; /* the area's alarm is set */
	domid_t domid;
	xen_domain_handle_t uuid; /* another domain may get the same domid later */
	bool is_pv, is_pv_32;
	unsigned n_vcpus;
	struct vcpu_mode modes[GUEST_MAX_VCPUS];
};

/* --- the calls -------------------------------------------------------------------------------- */

static bool domctl_multicall(struct domctl_guest *guest, const struct domctl_batch *batch,
			     unsigned n)
{
	return xencall2(guest->call, __HYPERVISOR_multicall, (unsigned long)batch->entries, n) == 0;
}

static enum vcpu_state domctl_vcpu_state(const multicall_entry_t *entry,
					 const struct xen_domctl *domctl)
{
	const struct xen_domctl_getvcpuinfo *info = &domctl->u.getvcpuinfo;

	if (entry->result || !info->online)
		return VCPU_OFFLINE;
	if (info->running)
		return VCPU_RUNNING;
	return info->blocked ? VCPU_BLOCKED : VCPU_RUNNABLE;
}

/* Xen 4.17 public/sched.h, SHUTDOWN_*. */
enum guest_end domctl_decode_end(uint32_t flags)
{
	if (!(flags & XEN_DOMINF_shutdown))
		return GUEST_END_UNKNOWN;
	switch (flags >> XEN_DOMINF_shutdownshift & XEN_DOMINF_shutdownmask) {
	case SHUTDOWN_poweroff:
		return GUEST_END_POWEROFF;
	case SHUTDOWN_reboot:
	case SHUTDOWN_soft_reset:
		return GUEST_END_REBOOT;
	case SHUTDOWN_suspend:
		return GUEST_END_SUSPEND;
	case SHUTDOWN_crash:
	case SHUTDOWN_watchdog:
		return GUEST_END_CRASH;
	default:
		return GUEST_END_UNKNOWN;
	}
}

/* --- whether a vCPU is in 64-bit mode, a question of x86 alone -------------------------------- */

/*
 * Makes a call for which Xen pauses the vCPU. The time of the call is counted as the pause: it is
 * an upper bound.
 */
static bool domctl_ask(struct domctl_guest *guest, const struct domctl_batch *batch)
{
	uint64_t begin_ns = clock_now_ns();
	bool answered = domctl_multicall(guest, batch, 1);

	guest->paused_ns += clock_now_ns() - begin_ns;
	return answered;
}

/* Asks Xen for the mode of VCPU. Until Xen answers, 64-bit mode is assumed. */
static void domctl_ask_mode(struct domctl_guest *guest, unsigned vcpu, uint64_t now_ns)
{
	struct domctl_batch *ask = &guest->area->ask;
	struct vcpu_mode *mode = &guest->modes[vcpu];

	vcpu_ask_mode(&ask->domctls[0], vcpu, guest->area->answer);
	*mode = (struct vcpu_mode){ .asked_ns = now_ns };
	if (domctl_ask(guest, ask) && !ask->entries[0].result)
		mode->is_short = vcpu_answer_is_short(guest->area->answer);
}

/* Asks for the mode of each vCPU that did not show its mode in the last stop. */
static void domctl_ask_modes(struct domctl_guest *guest, uint64_t now_ns)
{
	for (unsigned i = 0; i < guest->n_vcpus; i++) {
		const struct vcpu_mode *mode = &guest->modes[i];

		if (mode->wanted && (!mode->asked_ns || now_ns - mode->asked_ns > MODE_ASK_NS))
			domctl_ask_mode(guest, i, now_ns);
	}
}

/* --- look, stop, release ---------------------------------------------------------------------- */

/* Takes the pauses that no look has reported yet: pauses by this process and by the broker. */
static uint64_t domctl_take_pauses(struct domctl_guest *guest)
{
	struct stop_area *area = guest->area;
	uint64_t asked_ns = *area->asked_ns;
	uint64_t paused_ns = guest->paused_ns + asked_ns - *area->reported_ns;

	*area->reported_ns = asked_ns;
	guest->paused_ns = 0;
	return paused_ns;
}

/* Makes the first N calls of the look: Xen describes the domain, then its first N - 1 vCPUs. */
static bool domctl_look_calls(struct domctl_guest *guest, unsigned n, struct guest_look *look)
{
	struct domctl_batch *batch = &guest->area->look;
	const struct xen_domctl_getdomaininfo *info = &batch->domctls[0].u.getdomaininfo;

	/* Xen writes here which domain it describes: the next one if ours is gone. */
	batch->domctls[0].domain = guest->domid;
	guest->looked_ns = clock_now_ns();
	if (!domctl_multicall(guest, batch, n))
		return false;
	look->paused_ns = domctl_take_pauses(guest);
	look->life = GUEST_RUNS;
	look->end = GUEST_END_UNKNOWN;
	if (batch->entries[0].result || info->domain != guest->domid ||
	    memcmp(info->handle, guest->uuid, sizeof(guest->uuid)) != 0) {
		look->life = GUEST_GONE;
	} else if (info->flags & (XEN_DOMINF_dying | XEN_DOMINF_shutdown)) {
		look->life = GUEST_GONE;
		look->end = domctl_decode_end(info->flags);
	} else if (info->flags & XEN_DOMINF_paused) {
		look->life = GUEST_PAUSED_BY_OTHERS;
	}
	look->pages = info->tot_pages;
	look->time_ns = guest->looked_ns;
	return true;
}

static bool domctl_look_life(void *context, struct guest_look *look)
{
	return domctl_look_calls(context, 1, look);
}

/*
 * Xen's description of a domain with one vCPU also describes this vCPU: Xen 4.17
 * xen/common/domctl.c, getdomaininfo(), and XEN_DOMCTL_getvcpuinfo. So one call is enough.
 */
static void domctl_look_at_only_vcpu(const struct domctl_batch *batch, struct guest_look *look)
{
	const struct xen_domctl_getdomaininfo *info = &batch->domctls[0].u.getdomaininfo;

	look->cpu_ns[0] = info->cpu_time;
	look->states[0] = VCPU_RUNNABLE;
	if (!info->nr_online_vcpus)
		look->states[0] = VCPU_OFFLINE;
	else if (info->flags & XEN_DOMINF_running)
		look->states[0] = VCPU_RUNNING;
	else if (info->flags & XEN_DOMINF_blocked)
		look->states[0] = VCPU_BLOCKED;
}

static bool domctl_look(void *context, struct guest_look *look)
{
	struct domctl_guest *guest = context;
	const struct domctl_batch *batch = &guest->area->look;
	bool only = guest->n_vcpus == 1;

	if (!domctl_look_calls(guest, only ? 1 : 1 + guest->n_vcpus, look))
		return false;
	if (look->life == GUEST_RUNS) /* else DOMID may be another domain's */
		domctl_ask_modes(guest, guest->looked_ns);
	look->paused_ns += domctl_take_pauses(guest);
	if (only)
		domctl_look_at_only_vcpu(batch, look);
	for (unsigned i = 0; i < guest->n_vcpus && !only; i++) {
		look->states[i] = domctl_vcpu_state(&batch->entries[1 + i], &batch->domctls[1 + i]);
		look->cpu_ns[i] = batch->domctls[1 + i].u.getvcpuinfo.cpu_time;
	}
	return true;
}

static void domctl_expect_stops(void *context)
{
	struct domctl_guest *guest = context;

	stop_area_set_alarm(guest->area);
	guest->expected = true;
}

static void domctl_end_stops(void *context)
{
	struct domctl_guest *guest = context;

	guest->expected = false;
	stop_area_clear_alarm(guest->area);
}

/*
 * Releases the guest: tries until there is a result. A multicall does nothing at all if Xen cannot
 * read its entries: Linux may be moving the shared memory at that moment. Without another try the
 * guest would stay stopped, and the next look would report this as an administrator's pause.
 */
static void domctl_release(void *context)
{
	struct domctl_guest *guest = context;

	for (unsigned i = 0;
	     i < RELEASE_TRIES && stop_area_result(guest->release) == RESULT_PENDING; i++)
		domctl_multicall(guest, guest->release, 1);
	pause_mark_end(guest->area->mark);
}

/* In the stop: takes the registers of VCPU out of the area. */
static inline __attribute__((always_inline)) void domctl_take_registers(struct domctl_guest *guest,
									struct guest_vcpu *vcpu)
{
	const vcpu_guest_context_t *from = &guest->area->contexts[vcpu->number];

	vcpu_get_stack_registers(from, guest->is_pv_32, &vcpu->regs);
	if (!guest->is_pv)
		vcpu_apply_mode(&guest->modes[vcpu->number], &vcpu->regs);
	vcpu->user = vcpu_is_user(from, guest->is_pv);
}

/*
 * In the stop: reads the registers of those vCPUs that have run although cached_cpu_ns says that
 * they have not. Returns false if not all could be read. Not inline, because most stops do not need
 * this function.
 */
static __attribute__((noinline)) bool domctl_read_ran(struct domctl_guest *guest,
						      struct guest_vcpu *vcpus, unsigned n)
{
	const struct stop_area *area = guest->area;
	struct domctl_batch calls = { .entries = &area->stop.entries[1] };
	uint16_t ran[GUEST_MAX_VCPUS]; /* indexes into VCPUS */
	unsigned n_ran = 0;
	bool failed = false;

	for (unsigned i = 0; i < n; i++) {
		const struct xen_domctl *info = &area->look.domctls[1 + vcpus[i].number];

		if (!vcpus[i].cached_cpu_ns ||
		    info->u.getvcpuinfo.cpu_time == vcpus[i].cached_cpu_ns)
			continue;
		vcpus[i].cached_cpu_ns = 0;
		ran[n_ran] = (uint16_t)i;
		calls.entries[n_ran++].args[0] =
			(unsigned long)&area->stop.domctls[1 + vcpus[i].number];
	}
	if (!n_ran)
		return true;
	failed = !domctl_multicall(guest, &calls, n_ran);
	for (unsigned i = 0; i < n_ran; i++) {
		failed |= calls.entries[i].result != 0;
		domctl_take_registers(guest, &vcpus[ran[i]]);
	}
	return !failed;
}

/*
 * The first entry pauses the guest. The others point to the domctls of the vCPUs that are wanted.
 * The registers of a vCPU that has not run since the last stop are still in the area.
 */
static bool domctl_stop(void *context, uint64_t begin_ns, struct guest_vcpu *vcpus, unsigned n)
{
	struct domctl_guest *guest = context;
	struct domctl_batch *batch = &guest->area->stop;
	const struct xen_domctl *look = guest->area->look.domctls;
	bool failed, some_cached = false;

	if (!guest->expected)
		return false; /* no alarm is set, so nobody would notice a stop that lasts */
	for (unsigned i = 0; i < n; i++) {
		bool cached = vcpus[i].cached_cpu_ns;

		some_cached |= cached;
		batch->entries[1 + i].args[0] =
			(unsigned long)&(cached ? look : batch->domctls)[1 + vcpus[i].number];
	}
	pause_mark_begin(guest->area->mark, guest->area->look.domctls[0].u.getdomaininfo.cpu_time,
			 begin_ns - guest->looked_ns);
	stop_area_begin_stop(guest->area, guest->release);
	failed = !domctl_multicall(guest, batch, 1 + n);
	if (stop_area_result(batch) != 0) {
		pause_mark_end(guest->area->mark);
		return false;
	}
	for (unsigned i = 0; i < n; i++) {
		failed |= batch->entries[1 + i].result != 0;
		domctl_take_registers(guest, &vcpus[i]);
	}
	if (some_cached && !failed)
		failed = !domctl_read_ran(guest, vcpus, n);
	if (failed)
		domctl_release(guest);
	return !failed;
}

/* Makes the calls of the stop except the first one, the pause. */
static bool domctl_peek(void *context, struct guest_vcpu *vcpus, unsigned n)
{
	struct domctl_guest *guest = context;
	const struct domctl_batch calls = { .entries = &guest->area->stop.entries[1] };
	uint64_t begin_ns = clock_now_ns();
	bool failed;

	for (unsigned i = 0; i < n; i++)
		calls.entries[i].args[0] =
			(unsigned long)&guest->area->stop.domctls[1 + vcpus[i].number];
	failed = !domctl_multicall(guest, &calls, n);
	guest->paused_ns += clock_now_ns() - begin_ns;
	for (unsigned i = 0; i < n; i++) {
		failed |= calls.entries[i].result != 0;
		domctl_take_registers(guest, &vcpus[i]);
	}
	return !failed;
}

/*
 * Reads the registers that the stop has left out, because each instruction of a stop counts. Asks
 * Xen for modes that the registers did not show. The next look would be too late: the resolver
 * needs the registers of the first stop to find the guest's operating system.
 */
static void domctl_read_registers(void *context, struct guest_vcpu *vcpus, unsigned n)
{
	struct domctl_guest *guest = context;

	for (unsigned i = 0; i < n; i++) {
		uint16_t number = vcpus[i].number;
		struct vcpu_mode *mode = &guest->modes[number];

		vcpu_get_other_registers(&guest->area->contexts[number], guest->is_pv_32,
					 &vcpus[i].regs);
		if (mode->wanted && !mode->asked_ns) {
			domctl_ask_mode(guest, number, guest->looked_ns);
			vcpu_apply_mode(mode, &vcpus[i].regs);
		}
	}
}

/* --- mapping ---------------------------------------------------------------------------------- */

static void *domctl_map(void *context, frame_t frame)
{
	struct domctl_guest *guest = context;
	xen_pfn_t pfn = frame.value;
	int error = 0;
	void *page = xenforeignmemory_map(guest->memory, guest->domid, PROT_READ, 1, &pfn, &error);

	if (page && error) {
		xenforeignmemory_unmap(guest->memory, page, 1);
		return NULL;
	}
	return page;
}

static void domctl_unmap(void *context, void *page)
{
	struct domctl_guest *guest = context;

	xenforeignmemory_unmap(guest->memory, page, 1);
}

/* Any domain may ask, so the multicall's result only says whether this Xen knows the question. */
static bool domctl_read_clock(void *context, uint64_t *xen_ns)
{
	struct domctl_guest *guest = context;
	struct clock_call *clock = guest->area->clock;

	if (xencall2(guest->call, __HYPERVISOR_multicall, (unsigned long)&clock->entry, 1) ||
	    clock->entry.result)
		return false;
	*xen_ns = clock->time.now;
	return true;
}

static void domctl_close(void *context)
{
	struct domctl_guest *guest = context;

	if (guest->memory)
		xenforeignmemory_close(guest->memory);
	if (guest->call)
		xencall_close(guest->call);
	free(guest);
}

static const struct guest_ops domctl_ops = {
	.look = domctl_look,
	.look_life = domctl_look_life,
	.expect_stops = domctl_expect_stops,
	.end_stops = domctl_end_stops,
	.stop = domctl_stop,
	.peek = domctl_peek,
	.read_registers = domctl_read_registers,
	.read_clock = domctl_read_clock,
	.release = domctl_release,
	.close = domctl_close,
};

/* Reads a UUID as xen_format_uuid() writes UUIDs: two digits for each byte, and hyphens. */
static void domctl_parse_uuid(const char *text, xen_domain_handle_t uuid)
{
	memset(uuid, 0, sizeof(xen_domain_handle_t));
	for (unsigned i = 0; i < sizeof(xen_domain_handle_t); i++, text += 2) {
		text += *text == '-';
		if (sscanf(text, "%2hhx", &uuid[i]) != 1)
			return;
	}
}

struct xtop_error *domctl_open(const struct guest_info *info, struct stop_area *area,
			       enum stop_user user, struct guest *guest)
{
	struct domctl_guest *domctl = calloc(1, sizeof(*domctl));

	if (!domctl)
		return error_create("out of memory");
	domctl->area = area;
	domctl->release = &area->releases[user];
	domctl->domid = (domid_t)info->domid;
	domctl_parse_uuid(info->uuid, domctl->uuid);
	domctl->is_pv = info->type == GUEST_PV;
	domctl->is_pv_32 = info->is_pv_32;
	domctl->n_vcpus = info->n_vcpus;
	domctl->call = xencall_open(xen_log_quiet(), 0);
	domctl->memory = xenforeignmemory_open(xen_log_quiet(), 0);
	if (!domctl->call || !domctl->memory) {
		int errno_value = errno;

		domctl_close(domctl);
		return error_create_errno(errno_value, "cannot open Xen's privileged interface");
	}
	*guest = (struct guest){
		.ops = &domctl_ops,
		.context = domctl,
		.mapper = { .map = domctl_map, .unmap = domctl_unmap, .context = domctl },
		.info = *info,
	};
	return NULL;
}

/* --- registers of a guest that runs ----------------------------------------------------------- */

static bool domctl_get_registers(struct guest *guest, unsigned vcpu, struct registers *regs)
{
	struct domctl_guest *domctl = guest->context;
	struct domctl_batch *batch = &domctl->area->stop;
	struct domctl_batch one = { .entries = &batch->entries[1 + vcpu] };

	if (!domctl_ask(domctl, &one) || one.entries->result)
		return false;
	vcpu_get_stack_registers(&domctl->area->contexts[vcpu], domctl->is_pv_32, regs);
	vcpu_get_other_registers(&domctl->area->contexts[vcpu], domctl->is_pv_32, regs);
	if (domctl->is_pv)
		return true;
	if (!vcpu_shows_mode(regs))
		domctl_ask_mode(domctl, vcpu, clock_now_ns());
	vcpu_apply_mode(&domctl->modes[vcpu], regs);
	return true;
}

bool xen_get_registers(const struct guest_info *info, unsigned vcpu, struct registers *regs,
		       uint64_t *paused_nsp)
{
	struct stop_area *area = NULL;
	struct xtop_error *error;
	struct guest guest;
	bool done = false;

	*paused_nsp = 0;
	if (vcpu >= info->n_vcpus)
		return false;
	error = stop_area_create(info, &area);
	if (!error)
		error = domctl_open(info, area, STOP_SAMPLER, &guest);
	if (!error) {
		done = domctl_get_registers(&guest, vcpu, regs);
		*paused_nsp = domctl_take_pauses(guest.context);
		guest.ops->close(guest.context);
	}
	error_destroy(error);
	stop_area_destroy(area);
	return done;
}
