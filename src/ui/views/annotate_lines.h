/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of an interpreted function on the screen, in place of instructions. Main's thread. */
#ifndef UI_VIEWS_ANNOTATE_LINES_H
#define UI_VIEWS_ANNOTATE_LINES_H

#include "ui/list.h"
#include "ui/view.h"
#include "xtop/profile/annotation.h"

/* Updates LIST to the lines of ANNOTATION. PLACE: the cursor goes to the hottest line. */
void annotate_lines_update(struct list *list, const struct annotation *annotation,
			   const struct ui_model *model, bool place);
void annotate_lines_select_hottest(struct list *list, const struct annotation *annotation,
				   const struct ui_model *model);
/* Draws the lines from the top of LIST on. */
void annotate_lines_draw(struct list *list, const struct annotation *annotation,
			 const struct ui_model *model, struct canvas *canvas, struct area area);

#endif
