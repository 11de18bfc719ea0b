/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds tasks by their numbers; see pids.h. Linux include/linux/pid.h, pid_namespace.h:
 *
 *   pid_namespace.idr ─► struct pid ─► tasks[PIDTYPE_PID] ─► task_struct.pid_links
 *                        level, numbers[level] = struct upid { nr, ns }
 */
#include "config.h"

#include "linux/process/pids.h"

#include "linux/kernel/member.h"
#include "linux/process/xarray.h"

#define PIDS_MAX_LEVEL 32 /* Linux MAX_PID_NS_LEVEL */

uint64_t pids_find_upid(const struct linux_guest *guest, uint64_t pid, uint32_t level)
{
	const struct layout *layout = &guest->layout;

	if (level > PIDS_MAX_LEVEL || !layout_has(layout, PID_NUMBERS) ||
	    !layout_has(layout, UPID_SIZEOF))
		return 0;
	return pid + layout_offset(layout, PID_NUMBERS) +
	       level * layout_offset(layout, UPID_SIZEOF);
}

uint64_t pids_find(const struct linux_guest *guest, uint64_t ns, uint32_t number)
{
	uint64_t entry;

	if (!number || !linux_is_kernel_of(guest, ns) ||
	    !xarray_find(guest, ns + layout_offset(&guest->layout, PID_NS_IDR), number, &entry) ||
	    !linux_is_kernel_of(guest, entry))
		return 0;
	return entry;
}

uint64_t pids_get_task(const struct linux_guest *guest, uint64_t pid)
{
	uint64_t link;

	if (!member_read_pointer(guest, pid, PID_TASKS, &link))
		return 0;
	return link - layout_offset(&guest->layout, TASK_PID_LINKS);
}

uint64_t pids_get_namespace(const struct linux_guest *guest, uint64_t pid)
{
	uint64_t upid, ns;
	uint32_t level;

	if (!member_read_u32(guest, pid, PID_LEVEL, &level))
		return 0;
	if (!level)
		return guest->symbols[LINUX_INIT_PID_NS];
	upid = pids_find_upid(guest, pid, level);
	return upid && member_read_word(guest, upid, UPID_NS, &ns) ? ns : 0;
}
