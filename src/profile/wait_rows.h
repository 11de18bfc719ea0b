/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts about waiting tasks that the weights of nodes do not tell: how many wait in the last whole
 * pass, in which states, and the longest wait. One row for each process, thread, site and kind of
 * wait. The number of rows is bounded: when the table is nearly full, rows in which nobody has
 * waited lately are forgotten. Resolver's thread.
 */
#ifndef PROFILE_WAIT_ROWS_H
#define PROFILE_WAIT_ROWS_H

#include "profile/names.h"
#include "xtop/base/limit.h"
#include "xtop/os/os_waits.h"
#include "xtop/profile/snapshot.h"

#define WAIT_ROWS_MAX       LIMIT(4096, 64)
#define WAIT_ROWS_FORGET_NS 600000000000ULL /* a row without waits may go after this time */
#define WAIT_ROWS_NONE      UINT32_MAX      /* instead of a row's number */

struct wait_rows;

/* NULL: out of memory. */
struct wait_rows *wait_rows_create(void);
void wait_rows_destroy(struct wait_rows *rows); /* NULL allowed */
void wait_rows_reset(struct wait_rows *rows);

/* The number of the row with KEY's process, thread, site and kind. WAIT_ROWS_NONE: no room. */
uint32_t wait_rows_find_or_add(struct wait_rows *rows, const struct snapshot_wait *key);
const struct snapshot_wait *wait_rows_get(const struct wait_rows *rows, uint32_t number);
/* In the pass that began at NOW_NS, a task of the row waits in STATE, for WAITED_NS so far. */
void wait_rows_update(struct wait_rows *rows, uint32_t number, enum os_wait_state state,
		      uint64_t waited_ns, uint64_t now_ns);
/* A wait of the row NUMBER is over. */
void wait_rows_end(struct wait_rows *rows, uint32_t number, uint64_t waited_ns);
/* Frames got better names. Numbers stay right, but two rows may have one key now. */
void wait_rows_rename(struct wait_rows *rows, struct names *names);
/* The current pass has seen all tasks. True: rows were forgotten, so numbers have changed. */
bool wait_rows_end_pass(struct wait_rows *rows, uint64_t now_ns);
/* Fills in the rows of TO. Best effort: without memory the snapshot has none. */
void wait_rows_copy(const struct wait_rows *rows, struct snapshot_waits *to);

#endif
