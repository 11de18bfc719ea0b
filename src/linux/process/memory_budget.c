/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The share of memory that a guest's processes may take; see memory_budget.h. */
#include "config.h"

#include "linux/process/memory_budget.h"

#include <pthread.h>

/* Guests that take a share. Each has a resolver's thread of its own. */
static unsigned memory_budget_guests;
static pthread_mutex_t memory_budget_lock = PTHREAD_MUTEX_INITIALIZER;

/* Adds CHANGE to the number of guests. Returns the new number. */
static unsigned memory_budget_count(int change)
{
	unsigned guests;

	pthread_mutex_lock(&memory_budget_lock);
	guests = memory_budget_guests += (unsigned)change;
	pthread_mutex_unlock(&memory_budget_lock);
	return guests;
}

void memory_budget_join(struct memory_budget *budget, size_t max_bytes)
{
	budget->max_bytes = max_bytes;
	if (!max_bytes)
		memory_budget_count(1);
}

void memory_budget_leave(const struct memory_budget *budget)
{
	if (!budget->max_bytes)
		memory_budget_count(-1);
}

static size_t memory_budget_share(void)
{
	unsigned guests = memory_budget_count(0);
	size_t share = guests ? MEMORY_BUDGET_ALL_BYTES / guests : MEMORY_BUDGET_BYTES;

	return share < MEMORY_BUDGET_BYTES ? share : MEMORY_BUDGET_BYTES;
}

bool memory_budget_is_full(const struct memory_budget *budget)
{
	return budget->used_bytes >=
	       (budget->max_bytes ? budget->max_bytes : memory_budget_share());
}
