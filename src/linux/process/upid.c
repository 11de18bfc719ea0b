/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of tasks in pid namespaces; see upid.h. Linux include/linux/pid.h. */
#include "config.h"

#include "linux/process/upid.h"

#define PID_MAX_LEVEL 32 /* Linux MAX_PID_NS_LEVEL */

uint64_t upid_find(const struct linux_guest *guest, uint64_t pid, uint32_t level)
{
	const struct layout *layout = &guest->layout;

	if (level > PID_MAX_LEVEL || !layout_has(layout, PID_NUMBERS) ||
	    !layout_has(layout, UPID_SIZEOF))
		return 0;
	return pid + layout_offset(layout, PID_NUMBERS) +
	       level * layout_offset(layout, UPID_SIZEOF);
}
