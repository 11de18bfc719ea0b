/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UI without a terminal: time, snapshots and input come in, a canvas goes out. run.c puts it on
 * a terminal; tests drive it with scripted keys. All on one thread, main's.
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
 * It is NOW_NS: requests snapshots that are due, takes what has come, ends at the time limit.
 * *CHANGEDP: there is something new to draw. Returns the ns until it wants to be called again.
 */
uint64_t ui_tick(struct ui *ui, uint64_t now_ns, time_t wall_s, bool *changedp);
void ui_handle(struct ui *ui, const struct input *input);
void ui_draw(struct ui *ui, struct canvas *canvas);
/* For tests: SNAPSHOT, the UI's from now on, is the newest of the guest on the screen. */
void ui_show(struct ui *ui, struct snapshot *snapshot);

#endif
