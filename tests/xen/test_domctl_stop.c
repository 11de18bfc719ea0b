/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stopping and releasing with a made-up Xen. Whatever fails, a guest must run unless the caller was
 * told that it is stopped.
 */
#include "config.h"

#include <poll.h>
#include <stdlib.h>

#include "domctl_fixture.h"
#include "supervise/pause_record.h"
#include "xtop/base/clock.h"

static void test_stop_and_release(void)
{
	struct guest_vcpu vcpus[N_VCPUS];

	check(!stop_area_is_stopped(area), "before the first stop the guard sees no stop");
	check(stop(vcpus) && xen.pauses == 1, "a stop pauses the guest once");
	check(stop_area_is_stopped(area), "the guard sees the stop");
	check_u64(vcpus[2].regs.rip, 0xffffffff81000002, "registers of vCPU 2");
	check(!vcpus[0].user && vcpus[1].user && !vcpus[2].user, "vCPU 1 runs user code");
	guest.ops->release(guest.context);
	check_runs("after the release");
	guest.ops->read_registers(guest.context, vcpus, N_VCPUS);
	check(vcpus[2].regs.r14 == 0x1402 && vcpus[2].regs.rip == 0xffffffff81000002,
	      "vCPU 2 has all registers");
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
	check(vcpus[1].regs.r14 == 0x1401 && vcpus[2].regs.r14 == 0x1402,
	      "all registers of vCPUs 1 and 2");
	return true;
}

/* Xen is not asked for the registers of a vCPU that has not run since the last stop. */
static void test_cached(void)
{
	const uint64_t none[N_VCPUS] = { 0 }, thought[N_VCPUS] = { 0, 1001, 1002 };
	struct guest_vcpu vcpus[N_VCPUS] = { { 0 }, { .number = 1 }, { .number = 2 } };

	check(stop_cached(vcpus, none) && xen.reads[0] && xen.reads[1] && xen.reads[2],
	      "nothing is known: all vCPUs are read");
	check(stop_cached(vcpus, thought) && xen.reads[0] && !xen.reads[1] && !xen.reads[2],
	      "two vCPUs have not run: only the other one is read");
	check(!vcpus[0].cached_cpu_ns && vcpus[1].cached_cpu_ns == 1001 &&
		      vcpus[2].cached_cpu_ns == 1002,
	      "the caller is told which vCPUs were not read");
	check_u64(xen.calls, 2, "multicalls of a stop and a release");
	check(vcpus[1].regs.rsp == 0 && vcpus[2].regs.rip == 0xffffffff81000002,
	      "registers of vCPUs that have not run are as they were");

	xen.ran_ns[2] = 8;
	check(stop_cached(vcpus, thought) && xen.reads[0] == 1 && !xen.reads[1] &&
		      xen.reads[2] == 1,
	      "vCPU 2 has run: it is read");
	check(vcpus[1].cached_cpu_ns == 1001 && !vcpus[2].cached_cpu_ns && vcpus[2].regs.rsp == 8 &&
		      vcpus[1].regs.rsp == 0,
	      "new registers of vCPU 2, and old ones of vCPU 1");
	check_u64(xen.calls, 3, "multicalls of a stop that reads one vCPU more");
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
	check(!alarm_goes_off(0) && stop(vcpus), "an expected stop comes before the alarm");
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

	check(stop(vcpus), "the guest is stopped before releases fail");
	xen.fail_releases = 3;
	guest.ops->release(guest.context);
	check_runs("a release that fails three times");
	xen.fail_releases = 0;
	check(stop(vcpus), "the guest is stopped after failed releases");
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
	check(stop(vcpus) && xen.pauses == 1, "a guest that is armed again is stopped");
	guest.ops->release(guest.context);
	check_runs("after all stops and releases");
	guard.ops->close(guard.context);
	keeper.ops->close(keeper.context);
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

int main(void)
{
	open_guest();
	test_marks();
	test_stop_and_release();
	test_cached();
	test_alarm();
	test_vcpu_refused();
	test_stop_fails_half_way();
	test_release_fails();
	test_disarmed();
	guest.ops->close(guest.context);
	stop_area_destroy(area);
	return tap_done();
}
