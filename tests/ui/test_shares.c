/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of a vCPU went: by Xen's counts where there are some, otherwise by samples. */
#include "config.h"

#include <math.h>

#include "tests/support/tap.h"
#include "ui/recent.h"

static void shares(const char *what, struct snapshot_vcpu vcpu, struct vcpu_shares expected)
{
	struct vcpu_shares got = vcpu_shares_of(&vcpu);

	check(fabs(got.user - expected.user) < 1e-9 && fabs(got.kernel - expected.kernel) < 1e-9 &&
		      fabs(got.steal - expected.steal) < 1e-9 &&
		      fabs(got.lock - expected.lock) < 1e-9 &&
		      fabs(got.idle - expected.idle) < 1e-9,
	      "%s: user %.2f kernel %.2f steal %.2f lock %.2f idle %.2f", what, got.user,
	      got.kernel, got.steal, got.lock, got.idle);
}

int main(void)
{
	/* states: offline, blocked, runnable, running, waiting for a lock */
	shares("nothing yet", (struct snapshot_vcpu){ .user = 0 }, (struct vcpu_shares){ .user = 0 });
	shares("a recording", (struct snapshot_vcpu){ .states = { 0, 30, 10, 40, 20 }, .user = 10 },
	       (struct vcpu_shares){ 0.1, 0.3, 0.1, 0.2, 0.3 });
	shares("offline is idle", (struct snapshot_vcpu){ .states = { 5, 5 } },
	       (struct vcpu_shares){ .idle = 1 });
	shares("live: looks found it asleep more often than it slept",
	       (struct snapshot_vcpu){ .states = { 0, 80, 0, 20 },
				       .user = 5,
				       .times = { 1000, 400, 200 } },
	       (struct vcpu_shares){ 0.1, 0.3, 0.2, 0, 0.4 });
	shares("live: part of the rest are waits for locks",
	       (struct snapshot_vcpu){ .states = { 0, 10, 0, 20, 30 },
				       .user = 20,
				       .times = { 1000, 200, 400 } },
	       (struct vcpu_shares){ 0.2, 0, 0.4, 0.3, 0.1 });
	shares("live: it ran a little longer than time passed",
	       (struct snapshot_vcpu){ .states = { 0, 0, 0, 9 }, .times = { 1000, 1003, 0 } },
	       (struct vcpu_shares){ .kernel = 1 });
	return tap_done();
}
