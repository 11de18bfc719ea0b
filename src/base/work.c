/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work that may be broken off; see work.h. The resolver's thread. */
#include "config.h"

#include "xtop/base/work.h"


void work_set_end(struct work *work, bool (*ends)(void *context), void *context)
{
	if (work)
		*work = (struct work){ .ends = ends, .context = context };
}

bool work_is_over(struct work *work)
{
	if (!work)
		return false;
	if (!work->over && work->ends)
		work->over = work->ends(work->context);
	return work->over;
}
