/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * May a stack be copied after the guest was released? Measures how often such a copy differs from
 * one that was made during the stop, and whether registers that are read afterwards show it.
 *
 *   torn DOMAIN N [MICROSECONDS]
 *
 * Each of N rounds stops the guest, copies the stack of vCPU 0, releases the guest, copies the same
 * addresses again, and stops the guest once more to read registers. If rsp and rip are unchanged, a
 * sampler would have to trust the second copy. Prints one line of JSON:
 *
 *   torn      second copies that differ from the first
 *   same      rounds with the same rsp afterwards;      same_torn  of these, torn
 *   equal     rounds with the same rsp and rip;         equal_torn of these, torn
 *
 * Run it in tests/lab without --deterministic, because with it the guest does not run while dom0
 * runs.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sample/copy.h"
#include "tests/support/must.h"
#include "xtop/base/clock.h"
#include "xtop/base/fault.h"
#include "xtop/memory/frame_cache.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/domctl.h"

#define CACHE_PAGES 4096

static struct guest_info info;
static struct guest guest;
static struct copier copier;
static char first[SAMPLE_STACK_LIMIT_BYTES + 4096], second[sizeof(first)];

static struct tally {
	unsigned n, torn, same, same_torn, equal, equal_torn, skipped;
} tally;

static bool stop(struct guest_vcpu *vcpu)
{
	*vcpu = (struct guest_vcpu){ .number = 0 };
	guest_expect_stops(&guest);
	return guest.ops->stop(guest.context, clock_now_ns(), vcpu, 1);
}

static void count(bool torn, bool same, bool equal)
{
	tally.n++;
	tally.torn += torn;
	tally.same += same;
	tally.same_torn += same && torn;
	tally.equal += equal;
	tally.equal_torn += equal && torn;
}

static void compare(const struct guest_vcpu *vcpu)
{
	const struct registers *regs = &vcpu->regs;
	struct copied before, after;
	struct guest_vcpu then;
	bool torn, same;

	frame_cache_stop(copier.cache);
	copy_vcpu(&copier, regs, vcpu->user, first, &before);
	guest.ops->release(guest.context);
	copy_vcpu(&copier, regs, vcpu->user, second, &after);
	copy_prepare(&copier, regs, vcpu->user);
	if (!stop(&then))
		return;
	guest.ops->release(guest.context);
	if (before.missed || !before.n_stacks) {
		tally.skipped++;
		return;
	}
	torn = before.size_bytes != after.size_bytes ||
	       memcmp(first, second, before.size_bytes) != 0;
	same = then.regs.rsp == regs->rsp;
	count(torn, same, same && then.regs.rip == regs->rip);
}

static void update_pages(void)
{
	static struct guest_look look;

	if (!guest.ops->look(guest.context, &look) || look.life == GUEST_GONE)
		must_or_die(error_create("the guest is gone"));
	frame_cache_update_pages(copier.cache, look.pages);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	long us = argc > 3 ? atol(argv[3]) : 2000;
	struct timespec nap = { us / 1000000, us % 1000000 * 1000 };
	struct stop_area *area;
	struct control *control;
	struct guest_vcpu vcpu;

	if (!n)
		must_or_die(error_create("usage: torn DOMAIN N [MICROSECONDS]"));
	must_or_die(guest_find(argv[1], &info));
	must_or_die(stop_area_create(&info, &area));
	must_or_die(domctl_open(&info, area, STOP_SAMPLER, &guest));
	must_or_die(control_create(&control));
	copier = (struct copier){ .guest = &info, .control = control };
	must_or_die(frame_cache_create(&guest.mapper, CACHE_PAGES, FRAME_CACHE_ROUND_NS,
				       &copier.cache));
	fault_install();
	fault_arm();
	for (unsigned i = 0; i < n; i++) {
		nanosleep(&nap, NULL);
		update_pages();
		if (stop(&vcpu))
			compare(&vcpu);
	}
	frame_cache_destroy(copier.cache);
	guest.ops->close(guest.context);
	printf("{\"n\": %u, \"torn\": %u, \"same\": %u, \"same_torn\": %u, \"equal\": %u, "
	       "\"equal_torn\": %u, \"skipped\": %u}\n",
	       tally.n, tally.torn, tally.same, tally.same_torn, tally.equal, tally.equal_torn,
	       tally.skipped);
	return 0;
}
