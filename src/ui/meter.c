/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bars of vCPU time; see meter.h. */
#include "config.h"

#include "ui/meter.h"

#include <stdio.h>
#include <string.h>

#define METER_MAX_CELLS 24

/* Each part ends where the sum up to it is rounded to, so that rounding errors do not add up. */
void meter_draw_bar(struct canvas *canvas, int row, int column, int cells,
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

/*
 * The words behind the bar, as many as leave room for METER_MIN_CELLS in COLUMNS. Returns their
 * length.
 */
static int meter_words(const struct vcpu_shares *shares, bool locks, int columns, char *text,
		       size_t size_bytes)
{
	int total = snprintf(text, size_bytes, "%3.0f",
			     100 * (shares->user + shares->kernel + shares->steal + shares->lock));
	int parts = snprintf(text + total, size_bytes - total,
			     "  user %2.0f kernel %2.0f steal %2.0f",
			     100 * shares->user, 100 * shares->kernel, 100 * shares->steal);
	int lock = snprintf(text + total + parts, size_bytes - total - parts, " lock %2.0f",
			    100 * shares->lock);

	if (locks && total + parts + lock <= columns - METER_MIN_CELLS)
		return total + parts + lock;
	return total + parts <= columns - METER_MIN_CELLS ? total + parts : total;
}

void meter_draw(const struct snapshot_vcpu *vcpu, const char *name, bool locks,
		struct canvas *canvas, int row, int column, int width)
{
	struct vcpu_shares shares = vcpu_shares_of(vcpu);
	int used = canvas_put(canvas, row, column, width, STYLE_DIM, name) + 1;
	int left = width - used - 3, length, cells; /* without the bar's edges and a space */
	char text[80];

	length = meter_words(&shares, locks, left, text, sizeof(text));
	text[length] = '\0';
	cells = left - length > METER_MAX_CELLS ? METER_MAX_CELLS : left - length;
	meter_draw_bar(canvas, row, column + used, cells, &shares);
	canvas_put(canvas, row, column + used + cells + 3, width, STYLE_NORMAL, text);
}
