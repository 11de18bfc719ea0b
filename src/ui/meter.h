/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bar of a vCPU's time: user, kernel, steal and waits for locks from left to right. */
#ifndef UI_METER_H
#define UI_METER_H

#include "ui/recent.h"
#include "ui/terminal/canvas.h"

#define METER_MIN_CELLS 10 /* of the bar, without its two edges */

void meter_draw_bar(struct canvas *canvas, int row, int column, int cells,
		    const struct vcpu_shares *shares);
/*
 * "vCPU0 ▕████  ▏ 66 user 12 kernel 49 steal 5", without the words where WIDTH is small. LOCKS: the
 * words have a place for waits for locks.
 */
void meter_draw(const struct snapshot_vcpu *vcpu, const char *name, bool locks,
		struct canvas *canvas, int row, int column, int width);

#endif
