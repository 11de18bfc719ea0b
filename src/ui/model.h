/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the screen shows: the picture, what part of it, and how. The core (state.h) fills it in;
 * views and the header read it.
 */
#ifndef UI_MODEL_H
#define UI_MODEL_H

#include "ui/recent.h"
#include "ui/terminal/canvas.h"
#include "xtop/query/columns.h"
#include "xtop/query/selection.h"
#include "xtop/ui/ui.h"

struct domain_list;
struct guest_screen;

/* Unless a comment says otherwise, it changes only between two calls of a view's update(). */
struct ui_model {
	/* What filter, restriction and hiding leave of the picture; NULL: none came yet. */
	const struct snapshot *snapshot;
	/* SNAPSHOT, without pass-through functions if they are folded away. */
	const struct snapshot *folded;
	size_t n_folded;                 /* functions that FOLDED lacks */
	const struct snapshot *all;      /* the picture with every node */
	const struct selection *selection;
	struct weights whole;            /* what 100 % is */
	bool of_filtered;                /* 100 % is all of SNAPSHOT, not all of ALL */
	const struct snapshot *baseline; /* with every node; NULL: there is none */
	const char *baseline_name; /* of a file; "": there is none. Clean */
	const struct annotation *annotation; /* the one that is wanted; NULL: none came yet */
	bool annotates;                  /* annotations can come: samples of one guest are shown */
	const struct instruction_lines *lines; /* of its instructions; NULL: none */
	const struct history *history;
	const struct recent *recent;
	const struct filter *search;     /* NULL: none */
	const struct column *sort;
	const struct ui_rc *rc;
	bool range;  /* the picture is a range of time: what came between two moments */
	bool totals; /* shares of all samples since start instead of live ones */
	bool addresses, raw_names;
	bool sources;           /* source lines stand beside functions, if they are known */
	enum clock_kind clock;  /* on which the time of the picture is told */
	bool tells_time;        /* whether it is */
	bool by_cgroup;   /* processes stand below their control group */
	bool slow_line;   /* few bytes a second: no column that is new at every refresh */
	double threshold; /* percent; for trees */
	double budget;
	double half_life_s;
	uint64_t ui_cpu_ns;    /* what the screen took so far; at each tick */
	uint64_t memory_bytes; /* of all of xtop; 0: not known; at each tick */
	const char *domain;    /* the guest's name; "": there is no guest */
	const char *host;      /* above the list of domains; may be NULL */
	const struct domain_list *domains;
	/* as of the drawing */
	int columns;                      /* of the screen; 0: it was not drawn yet */
	uint64_t now_ns;
	int history_row;                  /* of the header's line of the last minutes; -1: none */
	bool typing_search;               /* the bottom line shows what is searched for */
	/* for the header, not for views */
	const struct guest_screen *guest; /* NULL: there is none */
	size_t n_guests;
};

/* A vCPU has waited for a spinlock since start or reset: the screen has a place for such waits. */
static inline bool model_has_lock_waits(const struct ui_model *model)
{
	return model->all->resolver.states[VCPU_LOCK_WAIT];
}

static inline double weights_children(const struct ui_model *model, const struct weights *weights)
{
	return model->totals ? weights->children_ticks : weights->children_live;
}

static inline double weights_self(const struct ui_model *model, const struct weights *weights)
{
	return model->totals ? weights->self_ticks : weights->self_live;
}

/* A traffic light for the share of its time that the guest was stopped. */
static inline enum style style_of_stopped(const struct ui_model *model, double share)
{
	if (!(model->budget > 0))
		return STYLE_NORMAL;
	return share <= model->budget / 2 ? STYLE_GOOD
	       : share <= model->budget   ? STYLE_NOTICE
					  : STYLE_ALERT;
}

static inline double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/*
 * What 100 % is, of a picture of ALL of which SELECTED is selected. Idle pools that are hidden are
 * no part of it: they are most of all waits, and a share of them would say nothing.
 */
static inline struct weights model_whole(const struct ui_model *model,
					 const struct snapshot *selected,
					 const struct snapshot *all)
{
	bool of_selected = model->of_filtered || model->selection->hide_idle;

	return weights_of(of_selected ? &selected->nodes[0] : &all->nodes[0]);
}

#endif
