/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of a call tree (call_tree.h) on the screen. */
#ifndef UI_VIEWS_BRANCH_H
#define UI_VIEWS_BRANCH_H

#include "ui/view.h"
#include "xtop/query/call_tree.h"

/* Draws the forks, "+" or "-", and the name of LINE. Returns the column after the name. */
int branch_draw(const struct ui_model *model, const struct call_tree_line *line,
		struct canvas *canvas, int row, int column, int width);
/* Draws the forks, the share of WHOLE, and the name of LINE, up to the right edge. */
void branch_draw_share(const struct ui_model *model, const struct call_tree_line *line,
		       const struct weights *whole, struct canvas *canvas, int row, int column);

#endif
