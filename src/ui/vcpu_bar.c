/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bars of vCPU time. */
#include "config.h"

#include "ui/vcpu_bar.h"

#include <stdio.h>
#include <string.h>

#define VCPU_BAR_MAX_CELLS 24

/* Sums are rounded, not single parts, so that rounding errors do not add up. */
void vcpu_bar_draw(struct canvas *canvas, int row, int column, int cells,
		    const struct vcpu_shares *shares)
{
	static const char *const marks[] = { "█", "▓", "░", "▒" };
	static const enum style styles[] = { STYLE_BAR_USER, STYLE_BAR_KERNEL, STYLE_BAR_STEAL,
					     STYLE_BAR_LOCK };
	const double parts[] = { shares->user, shares->kernel, shares->steal, shares->lock };
	double sum = 0;
	int at = 0;

	canvas_put(canvas, row, column, 1, STYLE_DIM, "▕");
	for (int part = 0; part < 4; part++) {
		sum += parts[part];
		for (; at < (int)(sum * cells + 0.5) && at < cells; at++)
			canvas_put(canvas, row, column + 1 + at, 1, styles[part], marks[part]);
	}
	canvas_put(canvas, row, column + 1 + cells, 1, STYLE_DIM, "▏");
}

/* Writes the words after the bar to TEXT, if COLUMNS then have room for VCPU_BAR_MIN_CELLS. */
static void vcpu_bar_describe(const struct vcpu_bar *bar, int columns, char *text,
			      size_t size_bytes)
{
	const struct vcpu_shares *shares = &bar->shares;
	int total = snprintf(text, size_bytes, "%3.0f",
			     100 * (shares->user + shares->kernel + shares->steal + shares->lock));
	int parts = snprintf(text + total, size_bytes - total,
			     "  user %2.0f kernel %2.0f steal %2.0f",
			     100 * shares->user, 100 * shares->kernel, 100 * shares->steal);
	int lock = snprintf(text + total + parts, size_bytes - total - parts, " lock %2.0f",
			    100 * shares->lock);
	int room = columns - VCPU_BAR_MIN_CELLS;

	if (total + parts > room)
		text[total] = '\0';
	else if (!bar->has_locks || total + parts + lock > room)
		text[total + parts] = '\0';
}

void vcpu_bar_draw_named(const struct vcpu_bar *bar, struct canvas *canvas, int row, int column,
			 int width)
{
	int used = canvas_put(canvas, row, column, width, STYLE_DIM, bar->name) + 1;
	int left = width - used - 3, cells; /* the bar's edges and a space take 3 */
	char text[80];

	vcpu_bar_describe(bar, left, text, sizeof(text));
	cells = left - (int)strlen(text);
	cells = cells > VCPU_BAR_MAX_CELLS ? VCPU_BAR_MAX_CELLS : cells;
	vcpu_bar_draw(canvas, row, column + used, cells, &bar->shares);
	canvas_put(canvas, row, column + used + cells + 3, width, STYLE_NORMAL, text);
}
