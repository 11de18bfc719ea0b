/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UI without a terminal. It takes time, snapshots and input, and draws on a canvas. run.c shows
 * the canvas on a terminal; tests drive the UI with scripted keys. Main's thread.
 */
#ifndef UI_UI_H
#define UI_UI_H

#include "ui/state.h"

#define UI_MIN_ROWS    10
#define UI_MIN_COLUMNS 40

struct xtop_error *ui_create(const struct ui_settings *settings, const struct ui_source *source,
			     struct ui **uip);
void ui_destroy(struct ui *ui); /* NULL allowed */

/*
 * Requests snapshots that are due, takes snapshots that have come, and ends at the time limit.
 * *CHANGEDP: whether there is something new to draw. Returns the time until the next call, in ns.
 */
uint64_t ui_tick(struct ui *ui, uint64_t now_ns, time_t wall_s, bool *changedp);
void ui_handle(struct ui *ui, const struct input *input);
void ui_draw(struct ui *ui, struct canvas *canvas);
/* For tests: makes SNAPSHOT the newest picture of the guest shown, and takes it over. */
void ui_show(struct ui *ui, struct snapshot *snapshot);

#endif
