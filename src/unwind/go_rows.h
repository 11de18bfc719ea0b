/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of a Go program, compiled from its table of functions (xtop/unwind/go.h) in portions:
 * when an address in a portion is first looked up, the table's bytes for this portion are read.
 * Resolver's thread.
 */
#ifndef XTOP_UNWIND_GO_ROWS_H
#define XTOP_UNWIND_GO_ROWS_H

#include "unwind/cfi_table.h"
#include "unwind/go_switches.h"
#include "xtop/base/error.h"

struct go_rows;

/*
 * TABLE is copied. If its member `need` is set, what TABLE borrows outlives the rows. Otherwise all
 * portions are compiled now. *ROWSP is NULL if no function can be read. Error: out of memory.
 */
struct xtop_error *go_rows_compile(const struct go_table *table, struct go_rows **rowsp);
void go_rows_destroy(struct go_rows *rows); /* NULL allowed */
size_t go_rows_memory_bytes(const struct go_rows *rows);

/* The rows that cover ADDRESS, in the image; NULL: there are none. */
struct cfi *go_rows_at(struct go_rows *rows, uint64_t address);
/* The rule at ADDRESS; NULL if no row covers ADDRESS. */
const struct cfi_rule *go_rows_find(struct go_rows *rows, uint64_t address);
/* The function that changes stacks at ADDRESS; NULL if there is none. */
const struct go_switch *go_rows_find_switch(struct go_rows *rows, uint64_t address);

#endif
