/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is asked of a made-up Xen besides stops: the guest's life and its vCPUs' states, registers
 * of vCPUs that wait, the mode of each vCPU, and the time that these questions take.
 */
#include "config.h"

#include <stdlib.h>

#include "domctl_fixture.h"
#include "xtop/base/clock.h"
#include "xtop/xen/xen.h"

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
	      "peek: the vCPU's registers");
	check(guest.ops->look(guest.context, &look) && look.paused_ns,
	      "peek: its time counts as a pause");
	xen.refused_vcpu = 3;
	check(!guest.ops->peek(guest.context, &last, 1), "peek: Xen refuses");
	xen.refused_vcpu = 0;
	check_runs("after a peek");
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
	check_string(stop_modes(3), "666", "a kernel at high addresses, three looks later");
	check_u64(xen.asks, 0, "questions to Xen about a kernel at high addresses");

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
	check_string(stop_modes_as_read(1, false), "ppp",
		     "a 32-bit kernel: the mode after Xen was asked");
	check_string(stop_modes(20), "ppp", "a 32-bit kernel, 20 looks later");
	check_u64(xen.asks, N_VCPUS, "questions to Xen about the mode, one for each vCPU");

	reopen();
	check_string(stop_modes(1), "ppp", "the first sample has the mode: Xen was asked after its stop");
	check_string(stop_modes(20), "ppp", "a 32-bit kernel, 20 looks later");
	check_u64(xen.asks, N_VCPUS, "questions to Xen about the mode, one for each vCPU");
	xen.low = false;
	check_string(stop_modes(0), "666", "a 64-bit kernel that boots after a 32-bit one");

	reopen();
	xen.low = true;
	xen.efer = LONG;
	check_string(stop_modes(1), "666", "a 64-bit unikernel at low addresses");
	check_string(stop_modes(20), "666", "a 64-bit unikernel: the mode after Xen was asked");
	check_u64(xen.asks, N_VCPUS, "questions to Xen about the mode, one for each vCPU");

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
	check_u64(look_pause(), 0, "pause of a look");
	xen.low = true;
	xen.cr4 = CR4_PAE;
	stop_modes(1);
	check(look_pause() > 0 && xen.asks == N_VCPUS,
	      "questions about the mode are reported as a pause");
	check_u64(look_pause(), 0, "pause of the questions after it was reported");
	stop_area_add_pause(area, 500);
	stop_area_add_pause(area, 700);
	check_u64(look_pause(), 1200, "pauses that the broker added");
	check_u64(look_pause(), 0, "pause of the broker after it was reported");
	stop_area_add_pause(area, 300);
	guest.ops->close(guest.context);
	if (domctl_open(&info, area, STOP_SAMPLER, &guest))
		abort();
	check_u64(look_pause(), 300, "a sampler that takes over reports what is left");
	memset(&regs, 0xff, sizeof(regs));
	check(xen_get_registers(&info, 1, &regs, &paused_ns) && paused_ns > 0,
	      "registers pause the vCPU for %" PRIu64 " ns", paused_ns);
	check(regs.arch == ARCH_X86 && !walk_root(&regs).la57,
	      "registers that pause the vCPU are those of x86");
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
	test_looks();
	test_vcpus();
	test_only_vcpu();
	test_peek();
	test_modes();
	test_pauses();
	guest.ops->close(guest.context);
	stop_area_destroy(area);
	return tap_done();
}
