/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory that the guests of a run share. */
#include "config.h"

#include "linux/process/memory_budget.h"
#include "tests/support/tap.h"

#define N_GUESTS 64

/* Whether BUDGET becomes full with BYTES, and not one byte before. */
static bool holds(struct memory_budget *budget, size_t bytes)
{
	bool was_full;

	budget->used_bytes = bytes - 1;
	was_full = memory_budget_is_full(budget);
	budget->used_bytes = bytes;
	return !was_full && memory_budget_is_full(budget);
}

int main(void)
{
	struct memory_budget guests[N_GUESTS] = { { 0 } }, own = { 0 };

	memory_budget_join(&guests[0], 0);
	check(holds(&guests[0], MEMORY_BUDGET_BYTES), "a guest alone has 128 MiB");
	for (unsigned i = 1; i < 8; i++)
		memory_budget_join(&guests[i], 0);
	check(holds(&guests[0], MEMORY_BUDGET_BYTES), "one of eight guests has 128 MiB");
	memory_budget_join(&own, 60000);
	check(holds(&own, 60000), "a guest with a budget of its own has that");
	memory_budget_join(&guests[8], 0);
	check(holds(&guests[0], MEMORY_BUDGET_ALL_BYTES / 9),
	      "one of nine guests has a ninth of 1 GiB");
	for (unsigned i = 9; i < N_GUESTS; i++)
		memory_budget_join(&guests[i], 0);
	check(holds(&guests[63], 16U << 20), "one of 64 guests has 16 MiB");
	memory_budget_leave(&own);
	for (unsigned i = 1; i < N_GUESTS; i++)
		memory_budget_leave(&guests[i]);
	check(holds(&guests[0], MEMORY_BUDGET_BYTES), "the last guest has 128 MiB again");
	return tap_done();
}
