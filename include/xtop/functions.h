/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions to a snapshot, answered without drawing: the flat table of functions, and the callers
 * and callees of one. Functions of their arguments alone; any thread.
 *
 * ADDRESSES false: unnamed frames of a kind and module are one (struct frame, group); a frame below
 * is then the one that stands for them.
 */
#ifndef XTOP_FUNCTIONS_H
#define XTOP_FUNCTIONS_H

#include "xtop/snapshot.h"

/* --- filter.c: stacks count that have a frame whose name, module or process matches ----------- */

/* Remembers which frames of a table match, so one filter belongs to one thread and one frame
 * table. */
struct filter;
/* POSIX extended; case is folded unless REGEX has capitals. Error: what is wrong with REGEX. */
struct xtop_error *filter_create(const char *regex, struct filter **filterp);
void filter_destroy(struct filter *filter); /* NULL allowed */
/* A table of frames has gone, and another may come to lie where it was. NULL allowed. */
void filter_forget(struct filter *filter);
const char *filter_text(const struct filter *filter);
bool filter_matches(const struct filter *filter, const struct frames *frames, uint32_t frame);

/*
 * The nodes of SNAPSHOT as FILTER leaves them: the same nodes at the same indices, but only
 * matching stacks weigh. FILTER NULL: SNAPSHOT's own, *COPYP is NULL; else *COPYP is the
 * caller's to free().
 */
struct xtop_error *filter_nodes(const struct filter *filter, const struct snapshot *snapshot,
				struct snapshot_node **copyp, const struct snapshot_node **nodesp);

/* --- functions.c: the flat table -------------------------------------------------------------- */

struct weights {
	double self_live, children_live;
	uint64_t self_total, children_total;
};

static inline struct weights weights_of(const struct snapshot_node *node)
{
	return (struct weights){ .self_live = node->self_live, .children_live = node->children_live,
				 .self_total = node->self_total, .children_total = node->children_total };
}

struct function_row {
	uint32_t frame;
	struct weights weights; /* children: once a stack, however often it stands in it */
	uint32_t process;       /* that has most of it; FRAME_NONE: of no process */
	uint32_t n_processes;
	uint32_t base;          /* functions_join(): row of the baseline + 1; 0: none */
};

struct function_table {
	size_t n;
	struct function_row *rows; /* no order promised: sort through xtop/columns.h */
	struct weights whole;      /* what 100 % is */
};

/* FILTER NULL: all stacks; with one, 100 % is the matching stacks. The root and processes are no
 * rows; [evicted], [truncated] and [unknown] are. */
struct xtop_error *functions_build(const struct snapshot *snapshot, const struct filter *filter,
				   bool addresses, struct function_table *table);
void functions_free(struct function_table *table);
/* Of the stacks in which a frame matches. */
struct weights filter_weights(const struct filter *filter, const struct snapshot *snapshot);
/*
 * Tells each row of TABLE which of BASE is of the same function. Those of BASE that TABLE has none
 * of get one, with no weight: what is gone is a difference, too.
 */
struct xtop_error *functions_join(struct function_table *table, struct function_table *base);

/* --- groups.c: shares of processes, threads and modules --------------------------------------- */

struct group_row {
	uint32_t frame;            /* of the process or thread; of a module: one of its functions */
	const char *name;          /* "" for functions without a module */
	bool is_thread;            /* of the process in the row above that is none */
	struct weights weights;    /* children: once a stack */
	struct weights unknown;    /* self: in functions of it that nobody can name, as places in it or not at all */
};

struct groups {
	size_t n;
	struct group_row *rows; /* hottest first by what TOTALS says, threads below their process */
	struct weights whole;
};

struct xtop_error *groups_processes(const struct snapshot *snapshot, bool totals,
				    struct groups *groups);
/* Hottest first by self. */
struct xtop_error *groups_modules(const struct snapshot *snapshot, bool totals,
				  struct groups *groups);
void groups_free(struct groups *groups);

/* --- neighbours.c: one function, the focus ---------------------------------------------------- */

/* A whole stack through the focus: walk up by parent from the leaf to node 0. */
struct chain {
	uint32_t node;          /* leaf; of stacks that read alike, the first */
	struct weights weights; /* self: of exactly this stack; children: and of those that go on */
};

/*
 * Each sample with the focus in its stack counts once among the callers and once among the
 * callees. With recursion the focus stands in a stack several times, and the two ends of that are
 * what one wants to know: who got it started, and what it is busy with. So
 *
 *   caller   who called the outermost occurrence    callers sum to focus.children
 *   callee   whom the innermost occurrence called   callees sum to focus.children, the focus
 *                                                   itself among them: its self, focus.self
 *
 *   samples  stack                  caller   callee
 *        5   main;f                 main     (itself)
 *        3   main;f;f;g             main     g           recursive
 *        2   main;f;g;f             main     (itself)    recursive
 *        1   main;f;g;f;h           main     h           recursive
 *        1   main;f;g               main     g
 *
 * (perf and kcachegrind count each occurrence, so that shares of recursive functions sum to more
 * than 100 %.) That it does recurse, directly or not, is told by itself.
 */
struct neighbours {
	struct function_table callers; /* only children weigh; the root or a process may be one */
	struct function_table callees; /* only children weigh; the focus as its own callee: its self */
	size_t n_chains;
	struct chain *chains; /* hottest first by live self, at most NEIGHBOURS_MAX_CHAINS */
	struct weights focus;
	struct weights recursive; /* children: of stacks that hold the focus more than once */
	struct weights whole;
};
#define NEIGHBOURS_MAX_CHAINS 64

/* FRAME, below n_frames, may be a process too. One that is in no stack has no neighbours. */
struct xtop_error *neighbours_build(const struct snapshot *snapshot, const struct filter *filter,
				    bool addresses, uint32_t frame, struct neighbours *neighbours);
void neighbours_free(struct neighbours *neighbours);

#endif
