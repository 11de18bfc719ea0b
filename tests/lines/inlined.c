/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program with DWARF for tests: `outer` has `middle` inlined in it, which has `inner` inlined.
 * tests/elf/test_elf_lines finds the lines by the words in the comments.
 */
#include <stdint.h>

static volatile uint64_t sink;

static inline __attribute__((always_inline)) uint64_t inner(uint64_t x)
{
	for (unsigned i = 0; i < 5; i++)
		x ^= sink; /* INNER */
	return x;
}

static inline __attribute__((always_inline)) uint64_t middle(uint64_t x)
{
	sink = x;
	return inner(x + 1) * 3; /* MIDDLE */
}

uint64_t outer(uint64_t x);
__attribute__((noinline)) uint64_t outer(uint64_t x)
{
	sink = x;
	return middle(x * 7) + 5; /* OUTER */
}

int main(int argc, char **argv)
{
	(void)argv;
	return (int)outer((uint64_t)argc);
}
