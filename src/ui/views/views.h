/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all views. */
#ifndef UI_VIEWS_VIEWS_H
#define UI_VIEWS_VIEWS_H

struct view_ops;

/* VIEW: one bit of enum view_mask. */
const struct view_ops *views_find(unsigned view);

#endif
