/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call tree laid out as lines, hottest branch first. The caller draws them:
 *
 *   ├─ 92.4 tcp_sendmsg          a fork: one line for each branch
 *   │       sock_write_iter      straight: the only branch of the line above, with its weight
 *   │       ksys_write
 *   └─  7.6 2 more               all branches below the threshold, in one line
 *
 * Equal functions at one place are one line. Only what is below open lines is walked, so the work
 * depends on what is shown. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_CALL_TREE_H
#define XTOP_CALL_TREE_H

#include "xtop/query/weights.h"

#define CALL_TREE_MAX_LINES 4096
#define CALL_TREE_MAX_FORKS 60 /* nested forks; deeper ones are not shown */
#define CALL_TREE_MAX_FOLDS 1024

enum call_tree_kind {
	CALL_TREE_DOWN,     /* outermost functions are the roots */
	CALL_TREE_INVERTED, /* functions that take the time are the roots */
	/*
	 * Who calls one function. A stack that has the function several times counts by its
	 * outermost call, so that the branches add up to all of the function.
	 */
	CALL_TREE_CALLERS,
};

/* Which lines are open: all or none, except for the lines listed here. */
struct call_tree_folds {
	bool open;
	size_t n;
	uint64_t entries[CALL_TREE_MAX_FOLDS]; /* the key of a line; lowest bit: the line is open */
};
/* False: there is no room for one more line. */
bool call_tree_set_open(struct call_tree_folds *folds, uint64_t key, bool open);
void call_tree_set_all(struct call_tree_folds *folds, bool open);

struct call_tree_settings {
	enum call_tree_kind kind;
	uint32_t frame;                      /* CALL_TREE_CALLERS: the function */
	const struct snapshot *base;         /* another run with these frames; NULL: none */
	bool totals, addresses;
	double threshold;                    /* the least share of a line's branch, 0 to 1 */
	const struct call_tree_folds *folds; /* NULL: all lines are open */
	size_t max_lines;                    /* limit of lines, CALL_TREE_MAX_LINES or less */
	unsigned max_forks;                  /* limit of forks, CALL_TREE_MAX_FORKS or less */
};

struct call_tree_line {
	uint32_t frame;         /* FRAME_NONE: the branches below the threshold */
	uint64_t key;           /* names this path in all snapshots */
	struct weights weights; /* self is set only in CALL_TREE_DOWN */
	struct weights base;    /* the line's weights in settings.base: children only */
	size_t more;            /* number of branches left out; only if FRAME is FRAME_NONE */
	unsigned forks;         /* how many forks the line is inside of */
	uint64_t bars;          /* bit i: more branches of fork i follow further down */
	bool straight;
	bool open, has_branches;
};

struct call_tree {
	size_t n;
	struct call_tree_line *lines;
	struct weights whole; /* the root's weight, or the function's */
	bool cut;             /* there was no room for more lines */
};

/* Error: out of memory. */
struct xtop_error *call_tree_build(const struct snapshot *snapshot,
				   const struct call_tree_settings *settings,
				   struct call_tree *tree);
void call_tree_deinit(struct call_tree *tree);

#endif
