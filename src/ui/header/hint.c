/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line above the bottom line; see hint.h. */
#include "config.h"

#include "ui/header/hint.h"

#include <stdio.h>
#include <string.h>

#include "xtop/groups.h"

#define MIN_PERCENT 10 /* of samples without a name */

/* The module in which most samples have no name; NULL: there is none. */
static const struct group_row *hint_worst_module(const struct groups *groups)
{
	const struct group_row *worst = NULL;

	for (size_t i = 0; i < groups->n; i++)
		if (!worst || groups->rows[i].unknown.self_ticks > worst->unknown.self_ticks)
			worst = &groups->rows[i];
	return worst && worst->unknown.self_ticks > 0 ? worst : NULL;
}

/* Names the worst module. If that is none, what the resolver had to say is left as it is. */
static void hint_set_unknown(struct hint *hint, const struct snapshot *snapshot)
{
	const struct group_row *worst;
	struct groups groups = { 0 };

	error_destroy(groups_build_modules(snapshot, true, &groups));
	worst = hint_worst_module(&groups);
	if (worst) {
		double percent =
			percent_of(worst->unknown.self_ticks, groups.whole.children_ticks);

		if (worst->name[0])
			snprintf(hint->text, sizeof(hint->text),
				 "%.1f %% of samples in %.80s have no names: give its file with -k",
				 percent, worst->name);
		else if (!hint->text[0])
			snprintf(hint->text, sizeof(hint->text),
				 "%.1f %% of samples have no names: "
				 "give the guest's symbols with -k",
				 percent);
	}
	groups_deinit(&groups);
}

static void hint_set(struct hint *hint, const struct snapshot *snapshot)
{
	const struct resolver_counts *counts = &snapshot->resolver;
	double unnamed =
		counts->weight_unknown + counts->weight_function + counts->weight_offset;
	double unknown = percent_of(unnamed, counts->weight);

	hint->sequence = snapshot->sequence;
	snprintf(hint->text, sizeof(hint->text), "%s", snapshot->notes[0]);
	if (unknown >= MIN_PERCENT)
		hint_set_unknown(hint, snapshot);
	if (snapshot->recording_errno)
		snprintf(hint->text, sizeof(hint->text), "the recording is cut short: %s",
			 strerror(snapshot->recording_errno));
}

int hint_draw(struct hint *hint, const struct ui_model *model, struct canvas *canvas, int row)
{
	if (!model->all)
		return 0;
	if (hint->sequence != model->all->sequence)
		hint_set(hint, model->all);
	if (!hint->text[0])
		return 0;
	canvas_put_name(canvas, row, 1, canvas_columns(canvas) - 2, STYLE_NOTICE, hint->text);
	return 1;
}
