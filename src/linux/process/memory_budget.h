/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One memory budget for all data about one guest's processes: the tables of files (code_files.c),
 * areas and spaces (process.c), names of compiled code (jit_names.c). Each kind has a limit of its
 * own, but a guest can have very many of them. Callers check memory_budget_is_full() before they
 * allocate, and then charge what was allocated, so that the budget can be exceeded by at most one
 * object. Resolver's thread.
 *
 * All guests of a run share MEMORY_BUDGET_ALL_BYTES. When a guest is added the budgets of the
 * others become smaller, and what is too much is dropped at their next looks.
 */
#ifndef XTOP_PROCESS_MEMORY_BUDGET_H
#define XTOP_PROCESS_MEMORY_BUDGET_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* 400 programs and 300 libraries of Debian 12 take 38 MiB; libLLVM (95,000 functions) takes 9. */
#define MEMORY_BUDGET_BYTES (128U << 20)

/* Up to 8 guests have MEMORY_BUDGET_BYTES each, 64 guests an eighth of it. */
#define MEMORY_BUDGET_ALL_BYTES (1U << 30)

struct memory_budget {
	size_t max_bytes; /* 0: a guest's share of MEMORY_BUDGET_ALL_BYTES */
	size_t used_bytes;
};

/* Begins BUDGET. MAX_BYTES 0: a share of MEMORY_BUDGET_ALL_BYTES. Each budget is left once. */
void memory_budget_join(struct memory_budget *budget, size_t max_bytes);
void memory_budget_leave(const struct memory_budget *budget);
bool memory_budget_is_full(const struct memory_budget *budget);

/* Charges NOW_BYTES for an object from now on. *CHARGEDP is the previous charge, 0 at first. */
static inline void memory_budget_charge(struct memory_budget *budget, size_t *chargedp,
					size_t now_bytes)
{
	assert(budget->used_bytes >= *chargedp);
	budget->used_bytes += now_bytes - *chargedp;
	*chargedp = now_bytes;
}

#endif
