/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures how long xtop takes to find the Linux kernel in a domain, or to find that there is none.
 * It does so again and again as the resolver does, but without a cache. Prints one line of JSON:
 * CPU time, and pages read.
 *
 *   attach DOMAIN [ROUNDS]
 *
 * The domain may be paused. Then, in the deterministic lab, no instructions of the domain are
 * counted.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "linux/kernel/linux_attach.h"
#include "tests/support/must.h"
#include "xtop/base/clock.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/guest.h"

#define MAX_ROUNDS 1000

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the CPU time of one round. */
static uint64_t attach_once(struct memory *memory, const struct guest_info *info, bool *is_linux)
{
	const struct os_guest guest = { .memory = memory, .type = info->type };
	struct linux_kernel kernel;
	struct registers regs;
	uint64_t before_ns;

	if (!guest_get_registers(info, 0, &regs)) {
		fprintf(stderr, "attach: no registers\n");
		exit(1);
	}
	memory_refresh(memory);
	before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	*is_linux = linux_attach(&guest, &regs, &kernel);
	before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
	if (*is_linux)
		linux_detach(&kernel);
	return before_ns;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 20;
	uint64_t spent_ns[MAX_ROUNDS];
	struct memory *memory;
	struct memory_counts counts;
	struct guest_info info;
	bool is_linux = false;

	if (argc < 2 || rounds < 1 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: attach DOMAIN [ROUNDS]\n");
		return 2;
	}
	must_or_die(guest_find(argv[1], &info));
	must_or_die(guest_open_memory(info.domid, &memory));
	for (int i = 0; i < rounds; i++)
		spent_ns[i] = attach_once(memory, &info, &is_linux);
	counts = memory_counts(memory);
	memory_destroy(memory);
	printf("{\"linux\": %s, \"first\": %ju, ", is_linux ? "true" : "false",
	       (uintmax_t)spent_ns[0]);
	qsort(spent_ns, (size_t)rounds, sizeof(spent_ns[0]), compare);
	printf("\"p50\": %ju, \"max\": %ju, \"pages\": %ju, \"batches\": %ju}\n",
	       (uintmax_t)spent_ns[rounds / 2], (uintmax_t)spent_ns[rounds - 1],
	       (uintmax_t)(counts.pages / (uint64_t)rounds),
	       (uintmax_t)(counts.batches / (uint64_t)rounds));
	return 0;
}
