/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All views. */
#ifndef UI_VIEWS_VIEWS_H
#define UI_VIEWS_VIEWS_H

#include <stddef.h>

struct view_ops;

/* Every view, in the order of the list of views (F2). */
extern const struct view_ops *const all_views[];
extern const size_t n_all_views;

/* The views that the core, or another view, opens by itself. */
extern const struct view_ops annotate_ops, baseline_ops, callers_ops, crash_ops, domains_ops,
	naming_ops, top_ops, vcpus_ops, waits_ops;

#endif
