/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stopping and releasing with a made-up Xen of the release whose headers this is built with: this
 * file replaces the functions of libxencall and libxenforeignmemory that domctl.c calls. Whatever fails, a guest must run unless the caller was
 * told that it is stopped.
 */
#include "config.h"

#include "xen/public.h"

#include <xencall.h>
#include <xenforeignmemory.h>
#include <xen/hvm/save.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "supervise/pause_record.h"
#include "tests/support/tap.h"
#include "xen_libraries.h"
#include "xtop/base/clock.h"
#include "xtop/base/registers_x86.h"
#include "xtop/xen/domctl.h"
#include "xtop/xen/xen.h"

#define DOMID   7
#define N_VCPUS 3

/* Flags of the vCPUs. */
#define VCPU_IS_DOWN    1
#define VCPU_IS_BLOCKED 2
#define VCPU_IS_RUNNING 4

/* The guest as Xen sees it, and what is to fail. */
static struct {
	unsigned pauses;
	unsigned refused_vcpu; /* + 1; 0: none */
	unsigned fail_after; /* entries that the next multicall does before it fails, + 1; 0: all */
	unsigned fail_releases; /* so many releases fail and do nothing */
	unsigned calls;
	uint32_t flags;     /* of the domain */
	unsigned vcpus;     /* VCPU_IS_..., of each vCPU */
	uint32_t described; /* the domain that Xen describes, if it is not the right one */
	uint8_t uuid;       /* its last byte */
	unsigned asks;      /* questions about a vCPU's mode */
	bool low;           /* the guest's code is below 4 GiB */
	uint64_t cr0, cr4, efer;
	bool mute;          /* Xen does not answer these questions */
	bool asked_in_stop; /* there was such a question while the guest was stopped */
	bool early;         /* stop_area_is_stopped() was true before the pause */
	uint64_t ran_ns[N_VCPUS];  /* since the beginning */
	unsigned reads[N_VCPUS];   /* of registers */
} xen;

static struct stop_area *area;
static struct guest guest;

static const uint8_t xen_uuid[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
				      0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee };

static long xen_domctl(struct xen_domctl *domctl)
{
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
		memcpy(domctl->u.getdomaininfo.handle, xen_uuid, sizeof(xen_uuid));
		domctl->u.getdomaininfo.handle[15] = xen.uuid;
		return 0;
	case XEN_DOMCTL_getvcpuinfo:
		if (domctl->u.getvcpuinfo.vcpu >= N_VCPUS)
			return -ESRCH;
		domctl->u.getvcpuinfo.online = !(xen.vcpus & VCPU_IS_DOWN);
		domctl->u.getvcpuinfo.blocked = !!(xen.vcpus & VCPU_IS_BLOCKED);
		domctl->u.getvcpuinfo.running = !!(xen.vcpus & VCPU_IS_RUNNING);
		domctl->u.getvcpuinfo.cpu_time = 1000 + domctl->u.getvcpuinfo.vcpu +
						 xen.ran_ns[domctl->u.getvcpuinfo.vcpu];
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

/* --- tests ------------------------------------------------------------------------------------ */

static void open_guest(void)
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
	if (!check(!error, "opened%s%s", error ? ": " : "", error ? error_message(error) : ""))
		exit(tap_done());
}

static bool stop(struct guest_vcpu *vcpus)
{
	for (unsigned i = 0; i < N_VCPUS; i++)
		vcpus[i] = (struct guest_vcpu){ .number = (uint16_t)i };
	return guest.ops->stop(guest.context, clock_now_ns(), vcpus, N_VCPUS);
}

static void check_runs(const char *when)
{
	check(xen.pauses == 0 && !stop_area_is_stopped(area),
	      "%s: the guest runs (paused %u times), and the guard sees that", when, xen.pauses);
	xen.pauses = 0;
}

static void test_stop_and_release(void)
{
	struct guest_vcpu vcpus[N_VCPUS];

	check(!stop_area_is_stopped(area), "before the first stop the guard sees no stop");
	check(stop(vcpus) && xen.pauses == 1, "stopped once");
	check(stop_area_is_stopped(area), "the guard sees the stop");
	check_u64(vcpus[2].regs.rip, 0xffffffff81000002, "registers of vCPU 2");
	check(!vcpus[0].user && vcpus[1].user && !vcpus[2].user, "vCPU 1 runs user code");
	guest.ops->release(guest.context);
	check_runs("after the release");
	guest.ops->read_registers(guest.context, vcpus, N_VCPUS);
	check(vcpus[2].regs.r14 == 0x1402 && vcpus[2].regs.rip == 0xffffffff81000002,
	      "all registers of vCPU 2");
}

/* Stops again. RAN_NS: how long the caller thinks that the vCPUs have run, 0: it does not know. */
static bool stop_cached(struct guest_vcpu *vcpus, const uint64_t *ran_ns)
{
	bool stopped;

	for (unsigned i = 0; i < N_VCPUS; i++)
		vcpus[i].cached_cpu_ns = ran_ns[i];
	memset(xen.reads, 0, sizeof(xen.reads));
	xen.calls = 0;
	stopped = guest.ops->stop(guest.context, clock_now_ns(), vcpus, N_VCPUS);
	check(stopped == (xen.pauses == 1) && stopped == stop_area_is_stopped(area),
	      "%s, and the guard knows", stopped ? "stopped" : "not stopped");
	if (!stopped)
		return false;
	check(!vcpus[0].user && vcpus[1].user && !vcpus[2].user, "vCPU 1 runs user code");
	guest.ops->release(guest.context);
	guest.ops->read_registers(guest.context, vcpus, N_VCPUS);
	check(vcpus[1].regs.r14 == 0x1401 && vcpus[2].regs.r14 == 0x1402, "all registers");
	return true;
}

/* Xen is not asked for the registers of a vCPU that has not run since the last stop. */
static void test_cached(void)
{
	const uint64_t none[N_VCPUS] = { 0 }, thought[N_VCPUS] = { 0, 1001, 1002 };
	struct guest_vcpu vcpus[N_VCPUS] = { { 0 }, { .number = 1 }, { .number = 2 } };

	check(stop_cached(vcpus, none) && xen.reads[0] && xen.reads[1] && xen.reads[2],
	      "nothing is known: all are read");
	check(stop_cached(vcpus, thought) && xen.reads[0] && !xen.reads[1] && !xen.reads[2],
	      "two have not run: only the other one is read");
	check(!vcpus[0].cached_cpu_ns && vcpus[1].cached_cpu_ns == 1001 &&
		      vcpus[2].cached_cpu_ns == 1002,
	      "the caller is told");
	check_u64(xen.calls, 2, "stop and release");
	check(vcpus[1].regs.rsp == 0 && vcpus[2].regs.rip == 0xffffffff81000002,
	      "registers as they were");

	xen.ran_ns[2] = 8;
	check(stop_cached(vcpus, thought) && xen.reads[0] == 1 && !xen.reads[1] &&
		      xen.reads[2] == 1,
	      "vCPU 2 has run: it is read");
	check(vcpus[1].cached_cpu_ns == 1001 && !vcpus[2].cached_cpu_ns && vcpus[2].regs.rsp == 8 &&
		      vcpus[1].regs.rsp == 0,
	      "its new registers, and the other's old ones");
	check_u64(xen.calls, 3, "one call more");
	xen.ran_ns[1] = 16;
	check(stop_cached(vcpus, thought) && vcpus[1].regs.rsp == 16 && vcpus[2].regs.rsp == 8 &&
		      !vcpus[1].cached_cpu_ns && !vcpus[2].cached_cpu_ns,
	      "both vCPUs have run");

	xen.refused_vcpu = 3;
	check(!stop_cached(vcpus, thought), "a vCPU cannot be read: no stop");
	check_runs("a vCPU that has run is refused");
	xen.refused_vcpu = 0;
	for (unsigned done = 1; done <= N_VCPUS; done++) {
		xen.fail_after = done + 1;
		check(!stop_cached(vcpus, thought), "no stop if %u calls are done", done);
		check_runs("half a stop");
	}
	memset(xen.ran_ns, 0, sizeof(xen.ran_ns));
}

static bool alarm_goes_off(int ms)
{
	struct pollfd alarm = { .fd = stop_area_alarm_fd(area), .events = POLLIN };

	return poll(&alarm, 1, ms) > 0;
}

/* Guard and keeper sleep until the alarm: so no stop begins without it. */
static void test_alarm(void)
{
	struct guest_vcpu vcpus[N_VCPUS];

	guest_end_stops(&guest);
	check(!stop(vcpus) && !xen.pauses, "no stop without an alarm");
	check(!alarm_goes_off(2 * STOP_ALARM_NS / 1000000), "no alarm without a stop");
	guest_expect_stops(&guest);
	check(!alarm_goes_off(0) && stop(vcpus), "a stop, and no alarm yet");
	check(alarm_goes_off(5000) && alarm_goes_off(0), "the alarm goes off, and remains on");
	guest.ops->release(guest.context);
	guest_end_stops(&guest);
	check(!alarm_goes_off(0), "no alarm after the end of stops");
	guest_expect_stops(&guest);
	check(alarm_goes_off(5000), "an alarm after stops are expected again");
	guest_expect_stops(&guest);
	check(!alarm_goes_off(0), "an alarm that is set again begins anew");
}

static void test_vcpu_refused(void)
{
	struct guest_vcpu vcpus[N_VCPUS];

	xen.refused_vcpu = 2;
	check(!stop(vcpus), "no stop if a vCPU cannot be read");
	xen.refused_vcpu = 0;
	check_runs("vCPU refused");
}

/* Xen has done some entries, and cannot read the next one. */
static void test_stop_fails_half_way(void)
{
	struct guest_vcpu vcpus[N_VCPUS];

	for (unsigned done = 0; done <= N_VCPUS; done++) {
		char when[64];

		xen.fail_after = done + 1;
		check(!stop(vcpus), "no stop if the multicall fails after %u calls", done);
		snprintf(when, sizeof(when), "failed after %u calls", done);
		check_runs(when);
	}
}

static void test_release_fails(void)
{
	struct guest_vcpu vcpus[N_VCPUS];

	check(stop(vcpus), "stopped");
	xen.fail_releases = 3;
	guest.ops->release(guest.context);
	check_runs("a release that fails three times");
	xen.fail_releases = 0;
	check(stop(vcpus), "stopped");
	xen.pauses = 0; /* an administrator has released the guest meanwhile */
	xen.calls = 0;
	guest.ops->release(guest.context);
	check_u64(xen.calls, 1, "a release that Xen refuses is not repeated");
	check_runs("refused release");
}

/*
 * The guard has killed the sampler, and the sampler is not dead yet: what it was about to ask Xen
 * for comes late. An administrator has paused the guest, too; his pause must stay.
 */
static void test_disarmed(void)
{
	const struct guest_info info = guest.info;
	struct guest_vcpu vcpus[N_VCPUS];
	struct guest guard, keeper;

	if (domctl_open(&info, area, STOP_GUARD, &guard) ||
	    domctl_open(&info, area, STOP_KEEPER, &keeper))
		exit(tap_done());
	xen.pauses = 1;
	check(stop(vcpus) && xen.pauses == 2, "stopped, while others have paused it");
	stop_area_disarm(area, STOP_GUARD);
	guest.ops->release(guest.context);
	check(xen.pauses == 2 && stop_area_is_stopped(area),
	      "disarmed: a late release does nothing, and the guard sees that");
	guard.ops->release(guard.context);
	check(xen.pauses == 1 && !stop_area_is_stopped(area), "the guard releases the guest");
	guest.ops->release(guest.context);
	check(!stop(vcpus) && xen.pauses == 1, "disarmed: a late stop does nothing");
	check_u64(xen.pauses, 1, "the pause of others stays");

	stop_area_arm(area);
	check(!stop_area_is_stopped(area), "armed again: the guest runs");
	check(stop(vcpus) && stop_area_is_stopped(area), "the next sampler stops it");
	stop_area_disarm(area, STOP_KEEPER);
	guard.ops->release(guard.context);
	check(xen.pauses == 2 && stop_area_is_stopped(area), "guard and sampler disarmed");
	keeper.ops->release(keeper.context);
	check(xen.pauses == 1 && !stop_area_is_stopped(area), "the keeper releases the guest");
	xen.pauses = 0;
	stop_area_arm(area);
	check(stop(vcpus) && xen.pauses == 1, "armed again");
	guest.ops->release(guest.context);
	check_runs("after all this");
	guard.ops->close(guard.context);
	keeper.ops->close(keeper.context);
}

static void looks(uint32_t flags, enum guest_life life, enum guest_end end, const char *what)
{
	struct guest_look look = { .end = GUEST_END_CRASH };

	xen.flags = flags;
	check(guest.ops->look(guest.context, &look) && look.life == life && look.end == end,
	      "%s: life %d, end %d", what, look.life, look.end);
	xen.flags = 0;
}

/* Xen 4.17 public/sched.h: 0 poweroff, 1 reboot, 2 suspend, 3 crash, 4 watchdog, 5 soft reset. */
static void test_looks(void)
{
	const uint32_t shut_down = 1U << 2, dying = 1U << 0, paused = 1U << 3; /* public/domctl.h */

	looks(0, GUEST_RUNS, GUEST_END_UNKNOWN, "runs");
	looks(paused, GUEST_PAUSED_BY_OTHERS, GUEST_END_UNKNOWN, "paused");
	looks(shut_down, GUEST_GONE, GUEST_END_POWEROFF, "powered off");
	looks(shut_down | dying, GUEST_GONE, GUEST_END_POWEROFF, "powered off and dying");
	looks(shut_down | 1U << 16, GUEST_GONE, GUEST_END_REBOOT, "reboots");
	looks(shut_down | 2U << 16, GUEST_GONE, GUEST_END_SUSPEND, "suspended");
	looks(shut_down | 3U << 16, GUEST_GONE, GUEST_END_CRASH, "crashed");
	looks(shut_down | 4U << 16, GUEST_GONE, GUEST_END_CRASH, "shut down by its watchdog");
	looks(shut_down | 5U << 16, GUEST_GONE, GUEST_END_REBOOT, "reset");
	looks(shut_down | 99U << 16, GUEST_GONE, GUEST_END_UNKNOWN, "shut down for another reason");
	looks(dying, GUEST_GONE, GUEST_END_UNKNOWN, "destroyed");
	xen.described = DOMID + 1;
	looks(shut_down | 1U << 16, GUEST_GONE, GUEST_END_UNKNOWN,
	      "gone, Xen describes the next domain");
	xen.described = 0;
	xen.uuid = 1;
	looks(0, GUEST_GONE, GUEST_END_UNKNOWN, "gone, another domain has its number");
	xen.uuid = 0;
}

static void looks_vcpus(unsigned flags, enum vcpu_state state, const char *what)
{
	struct guest_look look;
	uint64_t before_ns = clock_now_ns();

	xen.vcpus = flags;
	check(guest.ops->look(guest.context, &look) && look.states[1] == state, "vCPU: %s", what);
	check(look.cpu_ns[0] == 1000 && look.cpu_ns[1] == 1001 && look.time_ns >= before_ns &&
		      look.time_ns <= clock_now_ns(),
	      "how long it ran, and the time of the look");
	xen.vcpus = 0;
}

static void test_vcpus(void)
{
	looks_vcpus(VCPU_IS_RUNNING, VCPU_RUNNING, "running");
	looks_vcpus(VCPU_IS_RUNNING | VCPU_IS_BLOCKED, VCPU_RUNNING, "running, about to block");
	looks_vcpus(VCPU_IS_BLOCKED, VCPU_BLOCKED, "blocked");
	looks_vcpus(0, VCPU_RUNNABLE, "runnable");
	looks_vcpus(VCPU_IS_DOWN | VCPU_IS_BLOCKED, VCPU_OFFLINE, "offline");
}

/* A domain with one vCPU needs one call: what Xen says of the domain is true of its vCPU. */
static void test_only_vcpu(void)
{
	static const struct {
		unsigned flags;
		enum vcpu_state state;
	} cases[] = {
		{ VCPU_IS_RUNNING, VCPU_RUNNING },
		{ VCPU_IS_RUNNING | VCPU_IS_BLOCKED, VCPU_RUNNING },
		{ VCPU_IS_BLOCKED, VCPU_BLOCKED },
		{ 0, VCPU_RUNNABLE },
		{ VCPU_IS_DOWN | VCPU_IS_BLOCKED, VCPU_OFFLINE },
	};
	const struct guest_info info = { .domid = DOMID,
					 .uuid = "00112233-4455-6677-8899-aabbccddee00",
					 .type = GUEST_PVH,
					 .n_vcpus = 1 };
	struct stop_area *one;
	struct guest_look look;
	struct guest only;

	if (stop_area_create(&info, &one) || domctl_open(&info, one, STOP_SAMPLER, &only))
		exit(99);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		xen.vcpus = cases[i].flags;
		check(only.ops->look(only.context, &look) && look.states[0] == cases[i].state &&
			      look.cpu_ns[0] == 1000,
		      "the only vCPU: state %d", look.states[0]);
	}
	xen.vcpus = 0;
	only.ops->close(only.context);
	stop_area_destroy(one);
}

/* Registers of vCPUs that wait: the guest is not stopped, and the time of the call counts. */
static void test_peek(void)
{
	struct guest_vcpu last = { .number = 2 };
	struct guest_look look;

	guest.ops->look(guest.context, &look);
	check(guest.ops->peek(guest.context, &last, 1) && !xen.pauses &&
		      !stop_area_is_stopped(area),
	      "peek: the guest runs");
	guest.ops->read_registers(guest.context, &last, 1);
	check(last.regs.rip == 0xffffffff81000002 && last.regs.r14 == 0x1402 && !last.user,
	      "peek: its registers");
	check(guest.ops->look(guest.context, &look) && look.paused_ns,
	      "peek: its time counts as a pause");
	xen.refused_vcpu = 3;
	check(!guest.ops->peek(guest.context, &last, 1), "peek: Xen refuses");
	xen.refused_vcpu = 0;
	check_runs("after a peek");
}

/* The guard may look between any two instructions. The mark outlives all processes. */
static void test_marks(void)
{
	struct pause_mark mark = { .is_stopped = 0 };
	struct guest_vcpu vcpus[N_VCPUS];

	stop_area_set_mark(area, &mark);
	for (unsigned i = 0; i < 3; i++) {
		check(stop(vcpus) && mark.is_stopped, "marked while the guest is stopped");
		guest.ops->release(guest.context);
		check(!mark.is_stopped, "no pause mark when the guest runs again");
	}
	check(!xen.early, "the guard sees no stop before Xen has paused the guest");
	xen.refused_vcpu = 2;
	check(!stop(vcpus) && !mark.is_stopped, "no pause mark if a vCPU could not be read");
	xen.refused_vcpu = 0;
	xen.fail_after = 1;
	check(!stop(vcpus) && !mark.is_stopped, "no pause mark if Xen did not stop the guest");
	check_runs("marks");
	stop_area_set_mark(area, NULL);
}

/* --- 64-bit mode ------------------------------------------------------------------------------ */

#define LONG    0xd01 /* EFER: SCE, LME, LMA, NXE */
#define SHORT   0x801 /* no LME, no LMA */

/*
 * After LOOKS looks: the width in the registers of a stop, for each vCPU: 6 for 64 bits, p, 2. Not
 * READ_ALL: in the stop, before the other registers are read.
 */
static const char *stop_modes_as_read(unsigned looks, bool read_all)
{
	static char text[N_VCPUS + 1];
	struct guest_vcpu vcpus[N_VCPUS];
	struct guest_look look;

	for (unsigned i = 0; i < looks; i++)
		guest.ops->look(guest.context, &look);
	if (!stop(vcpus))
		return "no stop";
	guest.ops->release(guest.context);
	if (read_all)
		guest.ops->read_registers(guest.context, vcpus, N_VCPUS);
	for (unsigned i = 0; i < N_VCPUS; i++)
		text[i] = "6p2"[vcpus[i].regs.width];
	return text;
}

static const char *stop_modes(unsigned looks)
{
	return stop_modes_as_read(looks, true);
}

static void reopen(void)
{
	guest.ops->close(guest.context);
	stop_area_destroy(area);
	open_guest();
	xen.asks = 0;
}

static void test_modes(void)
{
	xen.cr0 = CR0_PG;
	xen.cr4 = CR4_PAE;
	xen.efer = LONG;
	check_string(stop_modes(1), "666", "a kernel at high addresses");
	check_string(stop_modes(3), "666", "the same later");
	check_u64(xen.asks, 0, "Xen was not asked");

	reopen();
	xen.low = true;
	xen.efer = SHORT;
	check_string(stop_modes_as_read(1, false), "666",
		     "a 32-bit kernel: the mode is not known in the first stop");
	check_u64(xen.asks, 0, "Xen is not asked before a stop wants the mode");
	xen.uuid = 1;
	looks(0, GUEST_GONE, GUEST_END_UNKNOWN, "another domain has the number");
	xen.uuid = 0;
	check_u64(xen.asks, 0, "no vCPU of that domain is paused for a question");
	check_string(stop_modes_as_read(1, false), "ppp", "Xen was asked: not in 64-bit mode");
	check_string(stop_modes(20), "ppp", "the same later");
	check_u64(xen.asks, N_VCPUS, "Xen was asked once for each vCPU");

	reopen();
	check_string(stop_modes(1), "ppp", "the first sample has the mode: Xen was asked after its stop");
	check_string(stop_modes(20), "ppp", "the same later");
	check_u64(xen.asks, N_VCPUS, "Xen was asked once for each vCPU");
	xen.low = false;
	check_string(stop_modes(0), "666", "then a 64-bit kernel boots: no need to ask");

	reopen();
	xen.low = true;
	xen.efer = LONG;
	check_string(stop_modes(1), "666", "a 64-bit unikernel at low addresses");
	check_string(stop_modes(20), "666", "Xen was asked: in 64-bit mode");
	check_u64(xen.asks, N_VCPUS, "Xen was asked once for each vCPU");

	reopen();
	xen.mute = true;
	stop_modes(1);
	check_string(stop_modes(20), "666", "Xen does not answer: 64-bit mode is assumed");
	xen.mute = false;

	reopen();
	xen.cr4 = 0;
	check_string(stop_modes(3), "222", "no PAE: two levels");
	check_u64(xen.asks, 0, "without PAE Xen is not asked");
	xen.cr0 = 0;
	check_string(stop_modes(3), "666", "without paging no page tables are told");
	xen.cr0 = CR0_PG;
	check(!xen.asked_in_stop, "Xen is never asked during a stop");
	xen.low = false;
}

/* --- pauses of single vCPUs ------------------------------------------------------------------- */

static uint64_t look_pause(void)
{
	struct guest_look look = { .paused_ns = 1 };

	return guest.ops->look(guest.context, &look) ? look.paused_ns : 0;
}

static void test_pauses(void)
{
	const struct guest_info info = { .domid = DOMID, .type = GUEST_PVH, .n_vcpus = N_VCPUS };
	struct registers regs;
	uint64_t paused_ns = 0;

	reopen();
	check_u64(look_pause(), 0, "a look pauses nothing");
	xen.low = true;
	xen.cr4 = CR4_PAE;
	stop_modes(1);
	check(look_pause() > 0 && xen.asks == N_VCPUS, "the questions about the mode do");
	check_u64(look_pause(), 0, "reported once");
	stop_area_add_pause(area, 500);
	stop_area_add_pause(area, 700);
	check_u64(look_pause(), 1200, "what the broker has asked");
	check_u64(look_pause(), 0, "reported once, too");
	stop_area_add_pause(area, 300);
	guest.ops->close(guest.context);
	if (domctl_open(&info, area, STOP_SAMPLER, &guest))
		abort();
	check_u64(look_pause(), 300, "a sampler that takes over reports what is left");
	memset(&regs, 0xff, sizeof(regs));
	check(xen_get_registers(&info, 1, &regs, &paused_ns) && paused_ns > 0,
	      "registers pause the vCPU for %" PRIu64 " ns", paused_ns);
	check(regs.arch == ARCH_X86 && !walk_root(&regs).la57, "they are those of x86");
	xen.refused_vcpu = 2;
	paused_ns = 0;
	check(!xen_get_registers(&info, 1, &regs, &paused_ns) && paused_ns > 0,
	      "the pause is told if Xen gives no registers");
	check(!xen_get_registers(&info, N_VCPUS, &regs, &paused_ns) && !paused_ns,
	      "a vCPU that does not exist is not paused");
	xen.refused_vcpu = 0;
	xen.low = false;
}

int main(void)
{
	open_guest();
	test_marks();
	test_looks();
	test_vcpus();
	test_only_vcpu();
	test_peek();
	test_stop_and_release();
	test_cached();
	test_alarm();
	test_vcpu_refused();
	test_stop_fails_half_way();
	test_release_fails();
	test_disarmed();
	test_modes();
	test_pauses();
	guest.ops->close(guest.context);
	stop_area_destroy(area);
	return tap_done();
}
