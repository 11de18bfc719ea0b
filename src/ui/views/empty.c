/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a view says when it has nothing to show: why, and what to press. UI thread. */
#include "config.h"

#include "ui/view.h"

static const char *empty_reason(const struct ui_model *model)
{
	const struct snapshot *snapshot = model->snapshot;

	if (!snapshot)
		return "Waiting for the first picture ...";
	if (snapshot->nodes[0].children_total && model->selection->hide_kernel)
		return "All of it is of the kernel (K shows it again).";
	if (snapshot->nodes[0].children_total && model->selection->hide_user)
		return "All of it is of user programs (U shows it again).";
	if (!selection_is_all(model->selection) && snapshot->resolver.samples)
		return model->selection->filter ? "No stack matches the filter (Esc clears it)."
						: "No stack is left (Esc shows all again).";
	if (snapshot->resolver.states[VCPU_BLOCKED])
		return "No samples: the guest is idle.";
	return "No samples yet.";
}

void view_draw_empty(const struct ui_model *model, struct canvas *canvas, struct area area)
{
	canvas_put(canvas, area.row + area.rows / 3, 2, area.columns - 2, STYLE_NORMAL,
		   empty_reason(model));
}
