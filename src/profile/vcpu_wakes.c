/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What wakes the vCPUs; see vcpu_wakes.h. Names of devices come from the guest: cleaned here. */
#include "config.h"

#include "profile/vcpu_wakes.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/text.h"

static void vcpu_wakes_read_events(struct vcpu_wakes *wakes, struct os *os, unsigned n_vcpus)
{
	os_read_events(os, wakes->events, n_vcpus);
	for (unsigned i = 0; i < n_vcpus; i++) {
		char raw[OS_EVENTS_NAMES_BYTES];

		memcpy(raw, wakes->events[i].names, sizeof(raw));
		text_clean(wakes->events[i].names, sizeof(wakes->events[i].names), raw,
			   strnlen(raw, sizeof(raw)));
	}
}

void vcpu_wakes_read(struct vcpu_wakes *wakes, struct os *os, unsigned n_vcpus, uint64_t now_ns)
{
	for (unsigned i = 0; i < n_vcpus; i++) {
		bool known = os_read_timer(os, i, &wakes->timers[i].at_ns);

		wakes->timers[i].read_ns = known ? now_ns : 0;
	}
	if (wakes->passes++ % VCPU_WAKES_EVENT_PASSES == 0)
		vcpu_wakes_read_events(wakes, os, n_vcpus);
}

void vcpu_wakes_get(const struct vcpu_wakes *wakes, struct snapshot *snapshot)
{
	unsigned n =
		snapshot->run->n_vcpus < GUEST_MAX_VCPUS ? snapshot->run->n_vcpus : GUEST_MAX_VCPUS;

	for (unsigned i = 0; i < n; i++) {
		snapshot->run->vcpus[i].timer_ns = wakes->timers[i].at_ns;
		snapshot->run->vcpus[i].timer_read_ns = wakes->timers[i].read_ns;
	}
	free(snapshot->run->events);
	snapshot->run->events = calloc(snapshot->run->n_vcpus, sizeof(*snapshot->run->events));
	if (snapshot->run->events)
		memcpy(snapshot->run->events, wakes->events, n * sizeof(*snapshot->run->events));
}
