/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of all views, one line each: NAME stands for NAME_ops in views/NAME_view.c. The help
 * and the list of views name views in this order.
 */
#include "config.h"

#include "ui/views/views.h"

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
	VIEW(help)                                                                                 \
	VIEW(choose)                                                                               \
	VIEW(naming)                                                                               \
	VIEW(annotate)                                                                             \
	VIEW(waits)                                                                                \
	VIEW(locks)                                                                                \
	VIEW(crash)                                                                                \
	VIEW(takers)                                                                               \
	VIEW(exits)

#define DECLARE(name) extern const struct view_ops name##_ops;
VIEWS(DECLARE)

#define LIST(name) &name##_ops,
const struct view_ops *const all_views[] = { VIEWS(LIST) };
/* clang-format on */
const size_t n_all_views = sizeof(all_views) / sizeof(all_views[0]);
