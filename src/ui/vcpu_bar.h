/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bar of a vCPU's time: user, kernel, steal and waits for locks from left to right. */
#ifndef UI_VCPU_BAR_H
#define UI_VCPU_BAR_H

#include "ui/recent.h"
#include "ui/terminal/canvas.h"

#define VCPU_BAR_MIN_CELLS 10 /* width of the bar, without its two edges */

void vcpu_bar_draw(struct canvas *canvas, int row, int column, int cells,
		   const struct vcpu_shares *shares);

struct vcpu_bar {
	const char *name;
	struct vcpu_shares shares;
	bool has_locks; /* the words have a place for waits for locks */
};

/* Draws "vCPU0 ▕████  ▏ 66 user 12 kernel 49 steal 5". The words are left out if WIDTH is small. */
void vcpu_bar_draw_named(const struct vcpu_bar *bar, struct canvas *canvas, int row, int column,
			 int width);

#endif
