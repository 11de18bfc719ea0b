/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The call tree as a picture of cells: each function lies below its caller and is as wide as its
 * share. Functions of their arguments alone; any thread.
 */
#ifndef XTOP_FLAME_H
#define XTOP_FLAME_H

#include "xtop/query/weights.h"

#define FLAME_MAX_ZOOM  SNAPSHOT_MAX_DEPTH
#define FLAME_MAX_DEPTH SNAPSHOT_MAX_DEPTH

struct flame_settings {
	const struct snapshot *base; /* another run with these frames; NULL: none */
	bool totals, addresses, inverted;
	int columns;
	int max_depth;          /* rows */
	size_t n_zoom;
	const uint32_t *zoom;   /* functions from the root to the one that fills the width */
};

struct flame_cell {
	uint32_t frame;
	uint32_t parent;        /* index; the root is its own parent */
	uint64_t key;           /* names this path in all snapshots */
	int depth, x, width;    /* depth: the root has 0; x and width in columns */
	struct weights weights;
	struct weights base; /* the cell's weights in settings.base: children only */
};

/* In pre-order; the root is cells[0]. Siblings are in the order in which they were first seen. */
struct flame {
	size_t n;
	struct flame_cell *cells;
	int depth;              /* the deepest cell's depth */
	bool zoomed;            /* the whole path of ZOOM was found */
};

/* Error: out of memory. */
struct xtop_error *flame_build(const struct snapshot *snapshot,
			       const struct flame_settings *settings, struct flame *flame);
void flame_deinit(struct flame *flame);

#endif
