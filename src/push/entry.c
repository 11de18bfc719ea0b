/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One profile in the sender's process; see entry.h. */
#include "config.h"

#include "push/entry.h"

void entry_terminate(struct entry *entry)
{
	struct push_profile *profile = &entry->profile;

	profile->domain[sizeof(profile->domain) - 1] = '\0';
	profile->uuid[sizeof(profile->uuid) - 1] = '\0';
	profile->os[sizeof(profile->os) - 1] = '\0';
	profile->kernel[sizeof(profile->kernel) - 1] = '\0';
}
