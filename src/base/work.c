/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that may be broken off; see work.h. The resolver's thread, but for work_describe(). The lock
 * is taken when a file begins and ends, and once in WORK_STEPS steps.
 */
#include "config.h"

#include "xtop/base/work.h"

#include <stdio.h>
#include <string.h>

#include "xtop/base/clock.h"
#include "xtop/base/text.h"

#define WORK_SHOWN_NS    500000000ULL /* nobody has to know of shorter readings */

void work_set_end(struct work *work, bool (*ends)(void *context), void *context)
{
	if (!work)
		return;
	work->ends = ends;
	work->context = context;
	work->over = false;
}

bool work_is_over(struct work *work)
{
	if (!work)
		return false;
	if (!work->over && work->ends)
		work->over = work->ends(work->context);
	return work->over;
}

/* --- what is read ----------------------------------------------------------------------------- */

void work_begin(struct work *work, const char *what)
{
	if (!work)
		return;
	pthread_mutex_lock(&work->lock);
	text_clean(work->what, sizeof(work->what), what, strlen(what));
	work->part = NULL;
	work->since_ns = clock_now_ns();
	pthread_mutex_unlock(&work->lock);
}

void work_end(struct work *work)
{
	if (work)
		work_begin(work, "");
}

bool work_note(struct work *work, const char *part, size_t done, size_t all)
{
	if (work && all) {
		pthread_mutex_lock(&work->lock);
		work->part = part;
		work->percent = (unsigned)(100.0 * (double)done / (double)all);
		pthread_mutex_unlock(&work->lock);
	}
	return work_is_over(work);
}

void work_describe(struct work *work, uint64_t now_ns, char text[WORK_TEXT_BYTES])
{
	text[0] = '\0';
	pthread_mutex_lock(&work->lock);
	if (work->what[0] && (int64_t)(now_ns - work->since_ns) >= (int64_t)WORK_SHOWN_NS) {
		if (work->part)
			snprintf(text, WORK_TEXT_BYTES, "reading %s: %s %u %%", work->what,
				 work->part, work->percent);
		else
			snprintf(text, WORK_TEXT_BYTES, "reading %s …", work->what);
	}
	pthread_mutex_unlock(&work->lock);
}
