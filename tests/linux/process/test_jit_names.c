/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much is read of maps of compiled code in a second, whatever the guest's processes write. The
 * names themselves are tested in test_perf_map and in tests/lab/linux-jit-long.test.
 */
#include "config.h"

#include "linux/process/jit_names.h"
#include "linux/process/perf_map.h"
#include "tests/support/tap.h"

#define SECOND_NS 1000000000ULL
#define MIB       (1U << 20)

/* How many of N maps of SIZE_BYTES may be read at NOW_NS. */
static unsigned read_maps(struct jit_allowance *allowance, unsigned n, uint64_t size_bytes,
			  uint64_t now_ns)
{
	unsigned allowed = 0;

	for (unsigned i = 0; i < n; i++)
		allowed += jit_allowance_charge(allowance, size_bytes, now_ns);
	return allowed;
}

static void test_one_second(uint64_t size_bytes, unsigned expected, const char *what)
{
	struct jit_allowance allowance = { 0 };
	uint64_t now_ns = 100 * SECOND_NS;

	check_u64(read_maps(&allowance, 10000, size_bytes, now_ns), expected, what);
	check_u64(read_maps(&allowance, 10000, size_bytes, now_ns + SECOND_NS - 1), 0,
		  "a second in which the limit is used up allows no more maps");
	check_u64(read_maps(&allowance, 10000, size_bytes, now_ns + SECOND_NS), expected,
		  "the next second allows as many maps");
}

int main(void)
{
	test_one_second(MIB, JIT_NAMES_MAX_BYTES / MIB, "32 maps of a MiB");
	test_one_second(PERF_MAP_MAX_BYTES, JIT_NAMES_MAX_BYTES / PERF_MAP_MAX_BYTES, "whole maps");
	test_one_second(UINT64_MAX, JIT_NAMES_MAX_BYTES / PERF_MAP_MAX_BYTES,
			"a size that is a lie counts as the most that is read");
	test_one_second(12 * MIB, 3, "the last one may exceed it"); /* 36 MiB */
	return tap_done();
}
