/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virtual CPUs: how each one spends its time, and the function of its last sample. Steal: the
 * vCPU wanted to run, but had no physical CPU. Lock: the kernel halted the vCPU to wait for a
 * spinlock; the column appears after the first such wait.
 *
 * Below the legend: the selected vCPU's next timer and the events that wake it, if waiting tasks
 * are looked at; and the hypercalls in which the vCPU's samples ended since start or reset. Then
 * come the hypercalls in which samples of the whole profile ended, with the call paths to them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ui/figures.h"
#include "ui/vcpu_bar.h"
#include "ui/view.h"
#include "xtop/query/hypercalls.h"

#define NARROW 60 /* columns below which bars and functions are left out */

struct view_vcpus {
	struct view view;
	struct list list;
	int first_row;
	struct hypercalls calls;
};

static struct view_vcpus *view_vcpus(struct view *view)
{
	return (struct view_vcpus *)view;
}

static struct xtop_error *vcpus_update(struct view *view, const struct ui_model *model)
{
	struct view_vcpus *vcpus = view_vcpus(view);
	size_t n = snapshot_get_run(model->all)->n_vcpus < GUEST_MAX_VCPUS
			   ? snapshot_get_run(model->all)->n_vcpus
			   : GUEST_MAX_VCPUS;

	list_update(&vcpus->list, n, NULL, NULL);
	hypercalls_deinit(&vcpus->calls);
	return hypercalls_build(model->snapshot, model->shares.totals, &vcpus->calls);
}

/* Whether the vCPU was not started, or unplugged, in most of the samples. */
static bool vcpu_is_offline(const struct snapshot_vcpu *vcpu)
{
	return 2 * vcpu->states[VCPU_OFFLINE] > snapshot_vcpu_ticks(vcpu);
}

/* The state in which the vCPU was most of the time. */
static const char *vcpu_state_name(const struct vcpu_shares *shares)
{
	double running = shares->user + shares->kernel, most = running;
	const char *name = "running";

	if (running + shares->steal + shares->lock + shares->idle <= 0)
		return "-";
	if (shares->idle > most) {
		most = shares->idle;
		name = "blocked";
	}
	if (shares->steal > most) {
		most = shares->steal;
		name = "waiting";
	}
	return shares->lock > most ? "lock" : name;
}

static void vcpus_draw_header(const struct ui_model *model, struct canvas *canvas, struct area area)
{
	bool narrow = area.columns < NARROW, locks = model->all && model_has_lock_waits(model);

	canvas_fill(canvas, area.row, 0, area.columns, STYLE_HEADER);
	canvas_printf(canvas, area.row, 1, STYLE_HEADER, "%-*s%s %6s %6s %6s%s %6s%s",
		      narrow && locks ? 4 : 5, "vCPU", narrow ? "" : "Mostly  ", "User", "Kernel",
		      "Steal", locks ? "   Lock" : "", "Idle",
		      narrow ? "" : "  Busy               In last");
}

static void vcpus_draw_figures(const struct ui_model *model, struct canvas *canvas, int row,
			       size_t index)
{
	struct vcpu_shares shares = vcpu_shares_of(&model->recent->vcpus[index]);
	uint32_t last = snapshot_get_run(model->all)->vcpus[index].last_frame;
	bool locks = model_has_lock_waits(model);
	int columns_ = canvas_columns(canvas), at = locks && columns_ < NARROW ? 5 : 6;
	char buffer[SNAPSHOT_NAME_BYTES];

	if (columns_ >= NARROW)
		at += canvas_printf(canvas, row, at, STYLE_NORMAL, "%-8s",
				    vcpu_state_name(&shares));
	at += canvas_printf(canvas, row, at, STYLE_NORMAL, " %6.1f %6.1f", 100 * shares.user,
			    100 * shares.kernel);
	at += canvas_printf(canvas, row, at, shares.steal >= 0.05 ? STYLE_NOTICE : STYLE_NORMAL,
			    " %6.1f", 100 * shares.steal);
	if (locks)
		at += canvas_printf(canvas, row, at,
				    shares.lock >= 0.05 ? STYLE_NOTICE : STYLE_NORMAL, " %6.1f",
				    100 * shares.lock);
	at += canvas_printf(canvas, row, at, STYLE_DIM, " %6.1f", 100 * shares.idle);
	if (columns_ >= NARROW) {
		vcpu_bar_draw(canvas, row, at + 2, 15, &shares);
		at += 21;
		if (last == FRAME_ROOT || last >= model->all->n_frames)
			canvas_put(canvas, row, at, columns_ - at, STYLE_DIM, "-");
		else
			canvas_put_name(canvas, row, at, columns_ - at, STYLE_NORMAL,
					view_frame_name(model, last, buffer));
	}
}

static void vcpus_draw_row(const struct ui_model *model, struct canvas *canvas, int row,
			   size_t index, bool selected)
{
	canvas_printf(canvas, row, 1, STYLE_NORMAL, "%zu", index);
	if (vcpu_is_offline(&model->recent->vcpus[index]))
		canvas_put(canvas, row, 6, canvas_columns(canvas) - 6, STYLE_DIM, "offline");
	else
		vcpus_draw_figures(model, canvas, row, index);
	if (selected)
		view_mark_row(canvas, row, 0, canvas_columns(canvas));
}

/* Says what the characters of the bars mean. */
static void vcpus_draw_legend(const struct ui_model *model, struct canvas *canvas, int row)
{
	int column = 1;

	column += canvas_put(canvas, row, column, 1, STYLE_BAR_USER, "█");
	column += canvas_put(canvas, row, column, 30, STYLE_DIM, " user  ");
	column += canvas_put(canvas, row, column, 1, STYLE_BAR_KERNEL, "▓");
	column += canvas_put(canvas, row, column, 30, STYLE_DIM, " kernel  ");
	column += canvas_put(canvas, row, column, 1, STYLE_BAR_STEAL, "░");
	column += canvas_put(canvas, row, column, canvas_columns(canvas) - column, STYLE_DIM,
			     " steal: it waits for a physical CPU");
	if (!model_has_lock_waits(model))
		return;
	column += 2;
	column += canvas_put(canvas, row, column, 1, STYLE_BAR_LOCK, "▒");
	canvas_put(canvas, row, column, canvas_columns(canvas) - column, STYLE_DIM,
		   " lock: for a spinlock");
}

/* Draws "vCPU 2: its next timer comes in 3.2 ms". Returns false if the timer is unknown. */
static bool vcpus_draw_timer(const struct ui_model *model, size_t index, struct canvas *canvas,
			     int row)
{
	const struct snapshot_vcpu *vcpu = &snapshot_get_run(model->all)->vcpus[index];
	int columns_ = canvas_columns(canvas), at = 1;
	uint64_t now_ns;
	char buffer[32];

	if (!vcpu->timer_read_ns ||
	    !clocks_convert(&model->all->clocks, CLOCK_GUEST, vcpu->timer_read_ns, &now_ns))
		return false;
	at += canvas_printf(canvas, row, at, STYLE_DIM, "vCPU %zu: ", index);
	if (vcpu->timer_ns == OS_NO_TIMER)
		canvas_put(canvas, row, at, columns_ - at, STYLE_NORMAL,
			   "no timer is set; only an event wakes it");
	else if (vcpu->timer_ns <= now_ns)
		canvas_put(canvas, row, at, columns_ - at, STYLE_NORMAL, "its timer is due");
	else
		canvas_printf(canvas, row, at, STYLE_NORMAL, "its next timer comes in %s",
			      format_time((double)(vcpu->timer_ns - now_ns), buffer));
	return true;
}

/* Draws ", 5 IPIs", without the comma at FIRST. */
static int vcpus_draw_count(struct canvas *canvas, int row, int at, unsigned n, const char *name,
			    bool first)
{
	if (!n)
		return 0;
	return canvas_printf(canvas, row, at, STYLE_NORMAL, "%s%u %s%s", first ? "" : ", ", n, name,
			     n == 1 ? "" : "s");
}

/* Draws "vCPU 2: woken by its timer, 5 IPIs, vbd/51712". Returns false if events are unknown. */
static bool vcpus_draw_events(const struct ui_model *model, size_t index, struct canvas *canvas,
			      int row)
{
	const struct os_events *events = snapshot_get_run(model->all)->events
						 ? &snapshot_get_run(model->all)->events[index]
						 : NULL;
	int columns_ = canvas_columns(canvas), at = 1, start;

	if (!events || !events->known)
		return false;
	at += canvas_printf(canvas, row, at, STYLE_DIM, "vCPU %zu: woken by ", index);
	start = at;
	if (events->timer)
		at += canvas_put(canvas, row, at, columns_ - at, STYLE_NORMAL, "its timer");
	at += vcpus_draw_count(canvas, row, at, events->ipis, "IPI", at == start);
	at += vcpus_draw_count(canvas, row, at, events->virqs, "VIRQ", at == start);
	at += vcpus_draw_count(canvas, row, at, events->pirqs, "PIRQ", at == start);
	if (events->names[0] && at < columns_)
		at += canvas_printf(canvas, row, at, STYLE_NORMAL, "%s%s", at == start ? "" : ", ",
				    events->names);
	if (at == start)
		canvas_put(canvas, row, at, columns_ - at, STYLE_NORMAL, "no event");
	return true;
}

static int vcpus_compare_calls(const void *a, const void *b)
{
	double x = ((const struct snapshot_call *)a)->ticks,
	       y = ((const struct snapshot_call *)b)->ticks;

	return (x < y) - (x > y);
}

/* Draws "vCPU 2 was seen in xen_hypercall_sched_op 62 %, xen_hypercall_event_channel_op 38 %". */
static void vcpus_draw_own_calls(const struct ui_model *model, size_t index, struct canvas *canvas,
				 int row)
{
	struct snapshot_call calls[SNAPSHOT_MAX_CALLS];
	char buffer[SNAPSHOT_NAME_BYTES];
	int columns_ = canvas_columns(canvas), at = 1;
	double whole = 0;

	if (!snapshot_get_run(model->all)->calls)
		return;
	memcpy(calls, snapshot_get_run(model->all)->calls[index].calls, sizeof(calls));
	qsort(calls, SNAPSHOT_MAX_CALLS, sizeof(calls[0]), vcpus_compare_calls);
	for (unsigned i = 0; i < SNAPSHOT_MAX_CALLS; i++)
		whole += calls[i].ticks;
	if (!(whole > 0))
		return;
	at += canvas_printf(canvas, row, at, STYLE_DIM, "vCPU %zu was seen in ", index);
	for (unsigned i = 0; i < SNAPSHOT_MAX_CALLS && calls[i].ticks > 0; i++) {
		if (i)
			at += canvas_put(canvas, row, at, columns_ - at, STYLE_DIM, ", ");
		at += canvas_put(canvas, row, at, columns_ - at, STYLE_NORMAL,
				 view_frame_name(model, calls[i].frame, buffer));
		if (at < columns_)
			at += canvas_printf(canvas, row, at, STYLE_DIM, " %.0f %%",
					    100 * calls[i].ticks / whole);
	}
}

/* Draws "xen_hypercall_sched_op < do_idle < cpu_startup_entry". */
static void vcpus_draw_path(const struct ui_model *model, const struct hypercalls_row *call,
			    struct canvas *canvas, int row, int at)
{
	char buffer[SNAPSHOT_NAME_BYTES];
	int columns_ = canvas_columns(canvas);

	at += canvas_put(canvas, row, at, columns_ - at, STYLE_NORMAL,
			 view_frame_name(model, call->stub, buffer));
	for (size_t i = 0; i < HYPERCALLS_PATH && call->callers[i] != FRAME_NONE; i++) {
		at += canvas_put(canvas, row, at, columns_ - at, STYLE_DIM, " < ");
		at += canvas_put(canvas, row, at, columns_ - at, STYLE_DIM,
				 view_frame_name(model, call->callers[i], buffer));
	}
}

/* Draws as many hypercalls as fit into ROWS rows from ROW on. */
static void vcpus_draw_calls(const struct view_vcpus *vcpus, const struct ui_model *model,
			     struct canvas *canvas, int row, int rows)
{
	int columns_ = canvas_columns(canvas);
	double whole =
		model->shares.totals ? model->snapshot->total_weight : model->snapshot->live_weight;

	if (rows < 2 || !vcpus->calls.n || whole <= 0)
		return;
	canvas_fill(canvas, row, 0, columns_, STYLE_HEADER);
	canvas_put(canvas, row, 2, columns_ - 2, STYLE_HEADER,
		   "Share   Samples  Hypercall, and who called it");
	for (size_t i = 0; i < vcpus->calls.n && (int)i + 1 < rows; i++) {
		const struct hypercalls_row *call = &vcpus->calls.rows[i];
		const struct weights *weights = &call->weights;
		double own = model->shares.totals ? weights->self_ticks : weights->self_live;

		row++;
		view_put_share(canvas, row, 0, 100 * own / whole);
		canvas_printf(canvas, row, 8, STYLE_NORMAL, "%9llu",
			      (unsigned long long)weights->self_total);
		vcpus_draw_path(model, call, canvas, row, 19);
	}
}

static void vcpus_draw(struct view *view, const struct ui_model *model, struct canvas *canvas,
		       struct area area)
{
	struct view_vcpus *vcpus = view_vcpus(view);
	size_t page = area.rows > 3 ? (size_t)area.rows - 3 : 0;
	size_t shown = 0;
	int row;

	vcpus->first_row = area.row + 1;
	if (model->all && !model->all->run) {
		view_draw_sums_only(model, canvas, area);
		return;
	}
	vcpus_draw_header(model, canvas, area);
	if (!model->all || !model->snapshot)
		return;
	list_show(&vcpus->list, page);
	for (; shown < page && vcpus->list.top + shown < vcpus->list.n; shown++)
		vcpus_draw_row(model, canvas, vcpus->first_row + (int)shown,
			       vcpus->list.top + shown,
			       vcpus->list.top + shown == vcpus->list.selected);
	if (page)
		vcpus_draw_legend(model, canvas, vcpus->first_row + (int)shown + 1);
	row = vcpus->first_row + (int)shown + 2;
	if (row + 1 < area.row + area.rows && vcpus->list.selected < vcpus->list.n &&
	    vcpus_draw_timer(model, vcpus->list.selected, canvas, row))
		row++;
	if (row + 1 < area.row + area.rows && vcpus->list.selected < vcpus->list.n &&
	    vcpus_draw_events(model, vcpus->list.selected, canvas, row))
		row++;
	if (row < area.row + area.rows && vcpus->list.selected < vcpus->list.n)
		vcpus_draw_own_calls(model, vcpus->list.selected, canvas, row);
	row++;
	vcpus_draw_calls(vcpus, model, canvas, row, area.row + area.rows - row);
}

static void vcpus_deinit(struct view *view)
{
	hypercalls_deinit(&view_vcpus(view)->calls);
}

static struct request vcpus_handle(struct view *view, const struct ui_model *model,
				   struct request request)
{
	(void)model;
	return list_request(&view_vcpus(view)->list, request.code) ? request_of(REQUEST_NONE)
								   : request;
}

static struct request vcpus_click(struct view *view, const struct ui_model *model, int row,
				  int column)
{
	struct view_vcpus *vcpus = view_vcpus(view);

	(void)model;
	(void)column;
	list_click(&vcpus->list, row - vcpus->first_row);
	return request_of(REQUEST_NONE);
}

const struct view_ops vcpus_ops = {
	.name = "the virtual CPUs",
	.size = sizeof(struct view_vcpus),
	.traits = VIEW_GUEST | VIEW_ENDS_RANGE | VIEW_BACK_BY_LEFT,
	.opener = { KEYS_PROFILE, { 'v' }, .request = REQUEST_VIEW, .views = VIEW_GUEST,
		    .names = "v p W L", .help = "vCPUs; tasks; waits; locks", .opens = &vcpus_ops },
	.update = vcpus_update,
	.draw = vcpus_draw,
	.handle = vcpus_handle,
	.click = vcpus_click,
	.deinit = vcpus_deinit,
};
