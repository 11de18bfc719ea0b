/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times on other clocks: told by one reading and between two, names, texts. */
#include "config.h"

#include "xtop/base/clocks.h"

#include <string.h>

#include "tests/support/tap.h"

#define S  1000000000ULL
#define MS 1000000ULL

static struct clocks reading(uint64_t at_ns, uint64_t guest_ns)
{
	struct clocks clocks = { .at_ns = at_ns };

	clocks_set(&clocks, CLOCK_GUEST, guest_ns);
	return clocks;
}

static void test_one(void)
{
	struct clocks clocks = reading(100 * S, 7 * S); /* the guest booted later */
	uint64_t told = 1;

	check(clocks_convert(&clocks, CLOCK_GUEST, 101 * S, &told),
	      "a clock that was read is known");
	check_u64(told, 8 * S, "a time a second after the reading");
	check(clocks_convert(&clocks, CLOCK_GUEST, 99 * S, &told),
	      "a time before the clock was read is known");
	check_u64(told, 6 * S, "a time a second before the reading");
	check(clocks_convert(&clocks, CLOCK_DOM0, 42, &told) && told == 42,
	      "dom0's clock is known");
	check(!clocks_convert(&clocks, CLOCK_UTC, 42, &told) && told == 42,
	      "an unknown clock: nothing is changed");
}

static void test_two(void)
{
	struct clocks a = reading(100 * S, 7 * S), b = reading(102 * S, 9 * S + 2 * MS);
	struct clocks set = reading(102 * S, 50 * S), none = { 0 };
	uint64_t told;

	clocks_convert_between(&a, &b, CLOCK_GUEST, 101 * S, &told);
	check_u64(told, 8 * S + MS, "a clock that is corrected runs evenly in between");
	clocks_convert_between(&a, &b, CLOCK_GUEST, 99 * S, &told);
	check_u64(told, 6 * S, "a time before both readings");
	clocks_convert_between(&a, &b, CLOCK_GUEST, 103 * S, &told);
	check_u64(told, 10 * S + 2 * MS, "a time after both readings");
	clocks_convert_between(&a, &set, CLOCK_GUEST, 101 * S, &told);
	check_u64(told, 8 * S, "a clock was set in between: the earlier reading counts");
	check(clocks_convert_between(&none, &b, CLOCK_GUEST, 101 * S, &told) &&
		      told == 8 * S + 2 * MS,
	      "a clock that only the later reading knows");
	check(!clocks_convert_between(&none, &none, CLOCK_GUEST, 101 * S, &told),
	      "a clock that no reading knows is not told");
	check(clocks_convert_between(&a, &a, CLOCK_GUEST, 100 * S, &told) && told == 7 * S,
	      "two readings at one moment");
}

static void test_names(void)
{
	enum clock_kind kind = CLOCK_UTC;
	char text[CLOCKS_TEXT_BYTES];

	for (int i = 0; i < N_CLOCKS; i++)
		check(clocks_find(clocks_name((enum clock_kind)i), &kind) && (int)kind == i, "%s",
		      clocks_describe((enum clock_kind)i));
	check(!clocks_find("realtime", &kind), "a clock of another name is refused");
	check(!strcmp(clocks_format(CLOCK_GUEST, 1234567890123ULL, text), "1234.567890 s"),
	      "seconds: %s", text);
	check(!strcmp(clocks_format(CLOCK_UTC, 1795000000012345678ULL, text),
		      "2026-11-18 11:06:40.012345 UTC"),
	      "a day: %s", text);
	check(strlen(clocks_format(CLOCK_GUEST_UTC, UINT64_MAX, text)) < CLOCKS_TEXT_BYTES,
	      "the last moment: %s", text);
}

int main(void)
{
	test_one();
	test_two();
	test_names();
	return tap_done();
}
