/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests: what a key or a click asks for. A request passes from the keys (keys.h) to the view on
 * top. The view carries it out, or returns a request for the core (requests.c): the request itself
 * if the view has no use for it, or another one with arguments.
 */
#ifndef UI_REQUEST_H
#define UI_REQUEST_H

#include <stdint.h>

struct column;
struct ui_domain;
struct view_ops;

enum request_code {
	REQUEST_NONE, /* nothing is left to do */
	/* From keys, for views */
	REQUEST_UP,
	REQUEST_DOWN,
	REQUEST_PAGE_UP,
	REQUEST_PAGE_DOWN,
	REQUEST_HOME,
	REQUEST_END,
	REQUEST_LEFT,
	REQUEST_RIGHT,
	REQUEST_OPEN,
	REQUEST_NAMING,   /* show what would name the function */
	REQUEST_ANNOTATE, /* show the function's instructions */
	REQUEST_HOTTEST,
	REQUEST_UNFOLD, /* toggle: the row is unfolded, or folded */
	REQUEST_FOLD,
	REQUEST_UNFOLD_ALL,
	REQUEST_FOLD_ALL,
	REQUEST_SWITCH, /* go to the other list */
	REQUEST_INVERT,
	REQUEST_SORT_LEFT,
	REQUEST_SORT_RIGHT,
	REQUEST_SORT_NEXT,
	REQUEST_SEARCH_HERE, /* while the user types: go to the next match, or stay on a match */
	REQUEST_SEARCH_NEXT,
	REQUEST_SEARCH_PREVIOUS,
	/* From keys, for the core */
	REQUEST_VIEW, /* show .view */
	REQUEST_BACK,
	REQUEST_BACK_OR_QUIT,
	REQUEST_QUIT,
	REQUEST_BASELINE_DROP,
	REQUEST_SORT_SELF,
	REQUEST_SORT_CHILDREN,
	REQUEST_SORT_SAMPLES,
	REQUEST_SORT_SYMBOL,
	REQUEST_TOTALS,   /* toggle: percents of all samples since start, or live ones */
	REQUEST_MARGINS,  /* toggle: a column tells how sure the shares are */
	REQUEST_VALUE,    /* show the next values of a profile file */
	REQUEST_PERCENTS, /* toggle: percents of all samples, or of those that match the filter */
	REQUEST_SEARCH,
	REQUEST_FILTER,
	REQUEST_THRESHOLD,
	REQUEST_RAW_NAMES,
	REQUEST_INTERPRETERS, /* toggle: functions of interpreters, or of their programs */
	REQUEST_SOURCES,      /* toggle: source lines beside functions */
	REQUEST_INLINED,      /* toggle: inlined functions are frames */
	REQUEST_CGROUPS,      /* toggle: processes below their control groups */
	REQUEST_HIDE_KERNEL,
	REQUEST_HIDE_USER,
	REQUEST_HIDE_IDLE,      /* toggle: threads that wait for work are hidden, or shown */
	REQUEST_PASS_THROUGH,   /* toggle: pass-through functions are folded away, or shown */
	REQUEST_SYNTAX,         /* toggle: instructions in AT&T's syntax, or in Intel's */
	REQUEST_CODE_ADDRESSES, /* toggle: addresses from the function's start, or absolute */
	REQUEST_JUMPS,          /* toggle: arrows for jumps, or none */
	REQUEST_SOURCE_LINES,   /* toggle: source lines between instructions, or none */
	REQUEST_HEADER,
	REQUEST_FREEZE,
	REQUEST_EARLIER,
	REQUEST_LATER,
	REQUEST_RANGE_BEGIN, /* the picture shown begins the range of time */
	REQUEST_RANGE_END,
	REQUEST_RESET,
	REQUEST_WRITE,
	REQUEST_INTERVAL,
	REQUEST_SAVE, /* save the settings */
	REQUEST_NEXT_GUEST,
	REQUEST_PAIR, /* toggle: the guest against the next one, or alone */
	REQUEST_REDRAW,
	/* From views, for the core */
	REQUEST_UPDATE,          /* call the view's update() */
	REQUEST_MESSAGE,         /* show .message on the bottom line */
	REQUEST_SORT,            /* sort by .column */
	REQUEST_RESTRICT,        /* restrict all views to .process, .cgroup, .module */
	REQUEST_PROFILE,         /* profile .domain */
	REQUEST_PROFILE_OTHER,   /* profile the domain with the number .domid */
	REQUEST_CHOSEN,          /* close the list of views, then show .view */
	REQUEST_SHOW_CALLERS,    /* show the callers and callees of .frame */
	REQUEST_SHOW_NAMING,     /* show what would name .frame */
	REQUEST_SHOW_ANNOTATION, /* show the instructions of .frame */
};

/* Pointers set by a view are valid until the view is called again. */
struct request {
	enum request_code code;
	const struct view_ops *view;    /* VIEW, CHOSEN */
	uint32_t frame;                 /* SHOW_*: the function that the view is opened for */
	uint32_t process;               /* RESTRICT: a process or thread; FRAME_NONE: all */
	const char *cgroup;             /* RESTRICT: processes of one control group; NULL: all */
	const char *module;             /* RESTRICT: frames of one module; NULL: all */
	const struct column *column;    /* SORT */
	const struct ui_domain *domain; /* PROFILE */
	uint32_t domid;                 /* PROFILE_OTHER */
	char message[96];               /* MESSAGE */
};

static inline struct request request_of(enum request_code code)
{
	return (struct request){ .code = code };
}

#endif
