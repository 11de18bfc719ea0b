/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the requests that mean one thing in all views, and those that views make. */
#include "config.h"

#include "ui/requests.h"

#include "ui/questions.h"
#include "ui/request_display.h"
#include "ui/request_navigation.h"

static void request_reset(struct ui *ui)
{
	struct guest_screen *guest = ui->guest;

	if (guest->live && guest->live->at_end) {
		ui_message(ui, STYLE_NOTICE, "no more samples will come: the profile stays");
		return;
	}
	guest->pipeline->reset(guest->pipeline->context);
	guest->due_ns = ui->now_ns;
	ui_message(ui, STYLE_NOTICE,
		   guest->frozen ? "profile reset; the frozen picture stays" : "profile reset");
}

static void request_save(struct ui *ui)
{
	char path[512];
	struct xtop_error *error;

	ui->rc.sort = ui->model.sort;
	ui->rc.interval_s = ui->settings.interval_s;
	ui->rc.half_life_s = ui->settings.half_life_s;
	error = ui_rc_save(&ui->rc, path, sizeof(path));
	if (error)
		ui_error(ui, error);
	else
		ui_message(ui, STYLE_NOTICE, "saved in %s", path);
}

static bool carry_out_rest(struct ui *ui, const struct request *request)
{
	switch ((int)request->code) {
	case REQUEST_UPDATE:
		ui_update(ui);
		return true;
	case REQUEST_MESSAGE:
		ui_message(ui, STYLE_NOTICE, "%s", request->message);
		return true;
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		ui_message(ui, STYLE_NOTICE,
			   ui->search ? "nothing here matches" : "no search yet: / starts one");
		return true;
	case REQUEST_RESET:
		request_reset(ui);
		return true;
	case REQUEST_SAVE:
		request_save(ui);
		return true;
	case REQUEST_REDRAW:
		ui->redraw = true;
		return true;
	default:
		return question_ask(ui, request->code);
	}
}

void ui_carry_out(struct ui *ui, struct request request)
{
	if (!request_navigate(ui, &request) && !request_change_display(ui, &request))
		carry_out_rest(ui, &request);
}

void ui_request(struct ui *ui, struct request request)
{
	ui_carry_out(ui, view_stack_handle(ui_views(ui), &ui->model, request));
}
