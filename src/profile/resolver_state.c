/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What resolver.c and resolver_snapshots.c do with the resolver's state; see resolver_state.h. */
#include "config.h"

#include "profile/resolver_state.h"

#include <string.h>

#include "profile/names.h"
#include "profile/wait_profile.h"
#include "xtop/supervise/takers_source.h"

struct waits *resolver_get_waits(struct resolver *resolver)
{
	const struct resolver_settings *settings = &resolver->settings;
	const struct waits_settings waits = {
		.frames = resolver->frames,
		.names = resolver->names,
		.runtimes = resolver->runtimes,
		.symbols = settings->symbols,
		.os = settings->os,
		.how = settings->how,
		.half_life_ns = settings->half_life_ns,
		.max_nodes = settings->max_nodes,
		.n_vcpus = settings->n_vcpus,
	};

	if (!resolver->waits)
		error_destroy(waits_create(&waits, &resolver->waits));
	return resolver->waits;
}

void resolver_forget(struct resolver *resolver)
{
	profile_reset(resolver->profile);
	if (resolver->settings.log)
		sample_log_clear(resolver->settings.log);
	addresses_reset(resolver->addresses);
	batches_reset(resolver->self);
	if (resolver->children)
		batches_reset(resolver->children);
	fold_reset(&resolver->fold);
	if (resolver->found_by.by)
		memset(resolver->found_by.by, 0, resolver->found_by.n);
	if (resolver->waits && !resolver->settings.intervals) /* intervals reset waits separately */
		waits_reset(resolver->waits);
	if (resolver->settings.takers)
		takers_source_reset(resolver->settings.takers);
	resolver_reset_exits(resolver);
	names_reset_places(resolver->names);
	resolver->first_clocks = resolver->clocks;
	control_get_times(resolver->settings.control, resolver->forgotten, GUEST_MAX_VCPUS);
}
