/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of all views, one line each: NAME stands for NAME_ops in views/NAME.c. A view's bit is
 * in enum view_mask (request.h), the keys that open it and work in it are in keys.c.
 */
#include "config.h"

#include "ui/views/views.h"

#include <stddef.h>

#include "ui/view.h"

/* clang-format off */
#define VIEWS(VIEW)                                                                                \
	VIEW(top)                                                                                  \
	VIEW(callers)                                                                              \
	VIEW(tree)                                                                                 \
	VIEW(flame)                                                                                \
	VIEW(vcpus)                                                                                \
	VIEW(groups)                                                                               \
	VIEW(overhead)                                                                             \
	VIEW(baseline)                                                                             \
	VIEW(domains)                                                                              \
	VIEW(choose)                                                                               \
	VIEW(help)                                                                                 \
	VIEW(naming)                                                                               \
	VIEW(annotate)                                                                             \
	VIEW(waits)                                                                                \
	VIEW(locks)                                                                                \
	VIEW(crash)

#define DECLARE(name) extern const struct view_ops name##_ops;
VIEWS(DECLARE)

#define LIST(name) &name##_ops,
static const struct view_ops *const views[] = { VIEWS(LIST) };
/* clang-format on */

const struct view_ops *views_find(unsigned view)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (views[i]->mask == view)
			return views[i];
	return NULL;
}
