/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the screen shows: the picture, the part of it that is selected, and how it is shown. The
 * core (state.h) sets the model; views and the header read it.
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

/* What the screen's percents mean. */
struct model_shares {
	bool totals;      /* shares of all samples since start instead of live ones */
	bool margins;     /* a column tells how sure the shares are */
	bool of_filtered; /* 100 % is all that the filter lets through, not all samples */
};

/* How functions and processes are named. */
struct model_names {
	bool addresses; /* functions without a name as 0xADDR */
	bool raw;       /* names are not demangled */
	bool sources;   /* source lines stand beside functions, if the lines are known */
	bool by_cgroup; /* processes below their control group */
};

struct model_time {
	enum clock_kind clock; /* the clock that tells the time of the picture */
	bool is_shown;         /* the header shows the time */
};

/* The instructions of one function. */
struct model_code {
	bool can_come; /* samples of one guest are shown: its code can be read */
	const struct annotation *annotation;   /* the wanted function; NULL until it has come */
	const struct instruction_lines *lines; /* source lines of instructions; NULL: none */
};

/* The screen that is being drawn. */
struct model_screen {
	bool is_slow; /* few bytes a second: no column that is new at every refresh */
	int columns;  /* 0 before the first drawing */
	uint64_t now_ns;
	int history_row;    /* the header's row with the last minutes; -1 if there is none */
	bool typing_search; /* the bottom line shows what is searched for */
};

/*
 * Unless a comment says otherwise, a member changes only between two calls of a view's update().
 * Only drawing changes the screen.
 */
struct ui_model {
	const struct snapshot *all; /* the picture with every node */
	/*
	 * What filter, restriction and hiding leave of the picture; NULL before the first picture.
	 */
	const struct snapshot *snapshot;
	/* SNAPSHOT, without pass-through functions if they are folded away. */
	const struct snapshot *folded;
	size_t n_folded; /* functions that FOLDED lacks */
	bool is_range;   /* the picture is a range of time: what came between two moments */
	const struct selection *selection;
	struct weights whole;            /* what 100 % is */
	const struct snapshot *baseline; /* all of the baseline's nodes; NULL if there is none */
	const char *baseline_name;       /* the baseline's file, clean; "" if it is from no file */
	const struct history *history;
	const struct recent *recent;
	const struct filter *search; /* NULL if nothing is searched for */
	const struct column *sort;
	const struct ui_rc *rc;
	struct model_shares shares;
	struct model_names names;
	struct model_time time;
	struct model_code code;
	struct model_screen screen;
	double threshold; /* the least share of a row of a tree, in percent */
	double budget;    /* share of a guest's time that xtop may stop it for, 0..1; 0: unknown */
	double half_life_s;
	uint64_t ui_cpu_ns;    /* what the screen took so far; new at each tick */
	uint64_t memory_bytes; /* all of xtop's memory, new at each tick; 0: unknown */
	const char *domain;    /* the guest's name; "" if there is no guest */
	const char *host;      /* words above the list of domains; may be NULL */
	const struct domain_list *domains;
	/* Only for the header. */
	const struct guest_screen *guest; /* NULL if there is none */
	size_t n_guests;
};

/* Whether a vCPU has waited for a spinlock since start or reset: such waits then have a column. */
static inline bool model_has_lock_waits(const struct ui_model *model)
{
	return model->all->resolver.states[VCPU_LOCK_WAIT];
}

static inline double weights_children(const struct ui_model *model, const struct weights *weights)
{
	return model->shares.totals ? weights->children_ticks : weights->children_live;
}

static inline double weights_self(const struct ui_model *model, const struct weights *weights)
{
	return model->shares.totals ? weights->self_ticks : weights->self_live;
}

/* A traffic light for SHARE, the share of time in which the guest was stopped. */
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
 * What 100 % is if SELECTED is the selected part of ALL. Hidden idle pools are not counted: they
 * are most of all waits, so that shares of the rest would say nothing.
 */
static inline struct weights model_whole(const struct ui_model *model,
					 const struct snapshot *selected,
					 const struct snapshot *all)
{
	bool of_selected = model->shares.of_filtered || model->selection->hide_idle;

	return weights_of(of_selected ? &selected->nodes[0] : &all->nodes[0]);
}

#endif
