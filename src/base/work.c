/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a thread's work; see work.h. Any thread; each has its own state. */
#include "config.h"

#include "xtop/base/work.h"

#include <stddef.h>

static _Thread_local struct {
	bool (*is_over)(void *context);
	void *context;
	bool over;
} work;

void work_set_end(bool (*is_over)(void *context), void *context)
{
	work.is_over = is_over;
	work.context = context;
	work.over = false;
}

bool work_is_over(void)
{
	if (!work.over && work.is_over)
		work.over = work.is_over(work.context);
	return work.over;
}
