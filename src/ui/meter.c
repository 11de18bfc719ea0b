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
	static const char *const marks[] = { "█", "▓", "░" };
	static const enum style styles[] = { STYLE_BAR_USER, STYLE_BAR_KERNEL, STYLE_BAR_STEAL };
	const double parts[] = { shares->user, shares->kernel, shares->steal };
	double sum = 0;
	int at = 0;

	canvas_put(canvas, row, column, 1, STYLE_DIM, "▕");
	for (int part = 0; part < 3; part++) {
		sum += parts[part];
		for (; at < (int)(sum * cells + 0.5) && at < cells; at++)
			canvas_put(canvas, row, column + 1 + at, 1, styles[part], marks[part]);
	}
	canvas_put(canvas, row, column + 1 + cells, 1, STYLE_DIM, "▏");
}

void meter_draw(const struct snapshot_vcpu *vcpu, const char *name, struct canvas *canvas, int row,
		int column, int width)
{
	struct vcpu_shares shares = vcpu_shares_of(vcpu);
	int used = canvas_put(canvas, row, column, width, STYLE_DIM, name) + 1, cells;
	char text[64];

	snprintf(text, sizeof(text), "%3.0f  user %2.0f kernel %2.0f steal %2.0f",
		 100 * (shares.user + shares.kernel + shares.steal), 100 * shares.user,
		 100 * shares.kernel, 100 * shares.steal);
	cells = width - used - 2 - (int)strlen(text) - 1;
	if (cells < METER_MIN_CELLS) {
		text[3] = '\0';
		cells = width - used - 2 - 4;
	}
	cells = cells > METER_MAX_CELLS ? METER_MAX_CELLS : cells;
	meter_draw_bar(canvas, row, column + used, cells, &shares);
	canvas_put(canvas, row, column + used + cells + 3, width, STYLE_NORMAL, text);
}
