/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call tree laid out as lines, hottest branch first, drawn by whoever wants to:
 *
 *   ├─ 92.4 tcp_sendmsg          a fork: one line a branch
 *   │       sock_write_iter      straight: the only branch of the line above, with its weight
 *   │       ksys_write
 *   └─  7.6 2 more               what is below the threshold, in one line
 *
 * Equal functions at one place are one. Only what is open is walked, so that a tree costs what is
 * shown of it. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_CALL_TREE_H
#define XTOP_CALL_TREE_H

#include "xtop/functions.h"

#define CALL_TREE_MAX_LINES 4096
#define CALL_TREE_MAX_FORKS 60 /* one inside the other; what is behind that is not shown */
#define CALL_TREE_MAX_FOLDS 1024

enum call_tree_kind {
	CALL_TREE_DOWN,     /* from the outermost functions inwards */
	CALL_TREE_INVERTED, /* from the functions that take the time outwards */
	/*
	 * Who calls one function. One that stands several times in a stack is looked at from its
	 * outermost call, so that the branches add up to all of it.
	 */
	CALL_TREE_CALLERS,
};

/* Which lines are open: all or none, and others one by one. */
struct call_tree_folds {
	bool open;
	size_t n;
	uint64_t entries[CALL_TREE_MAX_FOLDS]; /* a key, its lowest bit says which */
};
bool call_tree_is_open(const struct call_tree_folds *folds, uint64_t key, bool otherwise);
bool call_tree_set_open(struct call_tree_folds *folds, uint64_t key, bool open); /* false: too many */
void call_tree_set_all(struct call_tree_folds *folds, bool open);

struct call_tree_settings {
	enum call_tree_kind kind;
	uint32_t frame;                      /* CALL_TREE_CALLERS: whose */
	bool totals, addresses;
	double threshold;                    /* 0..1 of the tree's weight */
	const struct call_tree_folds *folds; /* NULL: all is open */
	size_t max_lines;                    /* at most CALL_TREE_MAX_LINES */
	unsigned max_forks;                  /* at most CALL_TREE_MAX_FORKS */
};

struct call_tree_line {
	uint32_t frame;         /* FRAME_NONE: what is left over */
	uint64_t key;           /* tells this path from others, also in the next snapshot */
	struct weights weights; /* self: of this place, inwards only */
	size_t more;            /* FRAME_NONE: branches in it */
	unsigned forks;         /* the line is inside so many */
	uint64_t bars;          /* bit i: at fork i more branches follow below */
	bool straight;
	bool open, has_branches;
};

struct call_tree {
	size_t n;
	struct call_tree_line *lines;
	struct weights whole; /* of the root, or the function */
	bool cut;             /* there was no room for more lines */
};

struct xtop_error *call_tree_build(const struct snapshot *snapshot,
				   const struct call_tree_settings *settings,
				   struct call_tree *tree);
void call_tree_free(struct call_tree *tree);

/* --- flame.c: the same tree as a picture of cells, widths by share ----------------------------- */

#define FLAME_MAX_ZOOM SNAPSHOT_MAX_DEPTH
#define FLAME_MAX_DEPTH SNAPSHOT_MAX_DEPTH

struct flame_settings {
	bool totals, addresses, inverted;
	int columns;
	int max_depth;          /* rows */
	size_t n_zoom;
	const uint32_t *zoom;   /* functions from the root to the one that fills the width */
};

struct flame_cell {
	uint32_t frame;
	uint32_t parent;        /* index; the root is its own */
	uint64_t key;           /* as call_tree_line */
	int depth, x, width;    /* root 0; in columns */
	struct weights weights;
};

/* In pre-order; the root is cells[0]. Siblings stand in the order in which they were first seen. */
struct flame {
	size_t n;
	struct flame_cell *cells;
	int depth;              /* of the deepest cell */
	bool zoomed;            /* the place to zoom at is in the picture */
};

struct xtop_error *flame_build(const struct snapshot *snapshot,
			       const struct flame_settings *settings, struct flame *flame);
void flame_free(struct flame *flame);

#endif
