/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The UI on a terminal, in a loop until the user, a signal or the time limit ends it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "ui/terminal/terminal.h"
#include "ui/ui.h"
#include "xtop/base/clock.h"

/* Gives *CANVASP the terminal's size. */
static bool run_fit_canvas(struct canvas **canvasp)
{
	int rows, columns_;

	terminal_size(&rows, &columns_);
	if (*canvasp && canvas_rows(*canvasp) == rows && canvas_columns(*canvasp) == columns_)
		return true;
	canvas_destroy(*canvasp);
	*canvasp = canvas_create(rows, columns_, terminal_charset());
	return *canvasp != NULL;
}

static bool run_paint(struct ui *ui, struct canvas **canvasp)
{
	if (!run_fit_canvas(canvasp))
		return false;
	ui_draw(ui, *canvasp);
	terminal_paint(*canvasp, ui->redraw);
	ui->redraw = false;
	return true;
}

/* Measures this thread's CPU time and the process's memory, for the overhead view. */
static void run_measure(struct ui *ui)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	ui->model.ui_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!file)
		return;
	if (fscanf(file, "%*u %lu", &pages) == 1)
		ui->model.memory_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	fclose(file);
}

static struct xtop_error *run_loop(struct ui *ui, struct canvas **canvasp)
{
	bool changed = true;

	while (!ui->quitting) {
		bool news;
		uint64_t wait_ns = ui_tick(ui, clock_now_ns(), time(NULL), &news);
		struct input input;

		run_measure(ui);

		if ((changed || news) && !ui->quitting && !run_paint(ui, canvasp))
			return error_create("out of memory for the screen");
		changed = false;
		switch (terminal_wait(wait_ns)) {
		case TERMINAL_NOTHING:
			break;
		case TERMINAL_ENDED:
			ui->quitting = true;
			break;
		case TERMINAL_INPUT:
			changed = true;
			while (!ui->quitting && terminal_read(&input))
				ui_handle(ui, &input);
			break;
		}
	}
	return NULL;
}

struct xtop_error *ui_run(const struct ui_settings *settings, const struct ui_source *source)
{
	struct canvas *canvas = NULL;
	struct xtop_error *error;
	struct ui *ui;

	error = ui_create(settings, source, &ui);
	if (error)
		return error;
	error = terminal_open(settings->rc.colors);
	if (!error) {
		ui->model.screen.is_slow = terminal_is_slow();
		error = run_loop(ui, &canvas);
		terminal_close();
	}
	canvas_destroy(canvas);
	ui_destroy(ui);
	return error;
}
