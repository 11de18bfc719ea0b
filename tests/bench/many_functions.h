/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made-up guest with many functions, and random numbers that repeat in every run. */
#ifndef TESTS_BENCH_MANY_FUNCTIONS_H
#define TESTS_BENCH_MANY_FUNCTIONS_H

#include "tests/recordings/guest.h"

#define N_FUNCTIONS 5000

static inline uint64_t random_next(uint64_t *state) /* xorshift64 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static inline struct symbols *make_symbols(void)
{
	struct symbols *symbols;
	struct symtab *tab;

	guest_must(symbols_create(&symbols));
	guest_must(symtab_create(&tab));
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		char name[64];
		int length = snprintf(name, sizeof(name), "some_function_of_the_guest_%u", i);

		guest_must(symtab_add(tab, &(struct symbol_definition){
						   .start = GUEST_KERNEL + i * GUEST_FUNCTION_BYTES,
						   .size_bytes = GUEST_FUNCTION_BYTES,
						   .rank = SYMBOL_GLOBAL,
						   .name = name,
						   .name_bytes = (size_t)length }));
	}
	guest_must(symtab_seal(tab));
	guest_must(symbols_add_table(symbols, tab, "[kernel]", NULL));
	return symbols;
}

#endif
