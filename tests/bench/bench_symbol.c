/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a look-up costs, and how much memory a table needs. Uses the given files, or a made-up
 * kernel of 160,000 functions (with names and sizes like those of Debian's vmlinux):
 *
 *   bench_symbol [SYMBOL-FILE]...
 *
 * Addresses are random over all symbols, so a look-up rarely finds its data in the cache.
 *
 *   chained    each address depends on the result before: the time of a single look-up
 *   streamed   they do not: the processor overlaps look-ups, as for the frames of one stack
 *   evicting   every 16 look-ups, 8 MiB of other memory are read, as a resolver does when it folds
 *              stacks; the time for that is not counted
 */
#include "config.h"

#include <inttypes.h>

#include "tests/support/must.h"
#include "xtop/base/clock.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/symbol.h"

#define N_SYMBOLS   160000
#define N_LOOKUPS   (1U << 20)
#define N_EVICTED   (1U << 14)
#define EVICT_BYTES (8U << 20)

/* xorshift64* */
static uint64_t bench_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

static struct symtab *bench_make_kernel(void)
{
	uint64_t state = 42, address = 0xffffffff81000000;
	struct symtab *tab;

	must_or_die(symtab_create(&tab));
	for (unsigned i = 0; i < N_SYMBOLS; i++) {
		uint64_t size_bytes = 16 + bench_random(&state) % 200;
		char name[64];
		int bytes = snprintf(name, sizeof(name), "function_%06u_%.*s", i, (int)(i % 14),
				     "abcdefghijklmn");

		must_or_die(symtab_add(tab, &(struct symbol_definition){ .start = address,
									 .size_bytes = size_bytes,
									 .rank = SYMBOL_GLOBAL,
									 .name = name,
									 .name_bytes = bytes }));
		address += (size_bytes + 15) & ~15ULL;
	}
	must_or_die(symtab_seal(tab));
	return tab;
}

static uint64_t *bench_addresses(const struct symtab *tab)
{
	uint64_t *addresses = malloc(N_LOOKUPS * sizeof(*addresses)), state = 7;

	if (!addresses)
		exit(1);
	for (unsigned i = 0; i < N_LOOKUPS; i++) {
		struct symtab_entry entry =
			symtab_at(tab, bench_random(&state) % symtab_count(tab));

		addresses[i] = entry.start + bench_random(&state) % (entry.end - entry.start);
	}
	return addresses;
}

static double bench_lookups(const struct space *space, const uint64_t *addresses, bool chained)
{
	uint64_t started_ns = clock_now_ns(), found = 0, shift = 0;
	struct symtab_entry symbol = { 0 };
	const struct mapping *mapping;

	for (unsigned i = 0; i < N_LOOKUPS; i++) {
		found += space_find_symbol(space, addresses[(i + shift) % N_LOOKUPS], &symbol,
					   &mapping);
		if (chained)
			shift = symbol.start & 1;
	}
	if (found != N_LOOKUPS)
		printf("# %" PRIu64 " of %u found\n", found, N_LOOKUPS);
	return (double)(clock_now_ns() - started_ns) / N_LOOKUPS;
}

static double bench_evicting(const struct space *space, const uint64_t *addresses)
{
	unsigned char *other = calloc(1, EVICT_BYTES);
	uint64_t spent_ns = 0;
	unsigned sum = 0;

	for (unsigned i = 0; other && i < N_EVICTED; i += 16) {
		struct symtab_entry symbol;
		const struct mapping *mapping;
		uint64_t started_ns;

		for (unsigned at = 0; at < EVICT_BYTES; at += 64)
			sum += other[at]++;
		started_ns = clock_now_ns();
		for (unsigned j = 0; j < 16; j++)
			sum += space_find_symbol(space, addresses[i + j], &symbol, &mapping);
		spent_ns += clock_now_ns() - started_ns;
	}
	free(other);
	return (double)spent_ns / N_EVICTED + 0 * sum;
}

/* Measures the largest image in SYMBOLS. */
static void bench_print(const char *what, const struct symbols *symbols, uint64_t load_ns)
{
	const struct symtab *tab = symbols_table(symbols, 0);
	uint64_t *addresses;
	size_t bytes;

	for (size_t i = 1; i < symbols_count(symbols); i++)
		if (symtab_count(symbols_table(symbols, i)) > symtab_count(tab))
			tab = symbols_table(symbols, i);
	addresses = bench_addresses(tab);
	bytes = symtab_memory_bytes(tab);
	printf("%s: %zu images; the largest: %zu symbols, %.1f MiB, %.1f bytes a symbol; built in "
	       "%.1f ms\n",
	       what, symbols_count(symbols), symtab_count(tab), bytes / 1048576.0,
	       (double)bytes / symtab_count(tab), load_ns / 1e6);
	for (unsigned round = 0; round < 3; round++)
		printf("  look-up: chained %.1f ns, streamed %.1f ns, evicting %.1f ns\n",
		       bench_lookups(symbols_space(symbols), addresses, true),
		       bench_lookups(symbols_space(symbols), addresses, false),
		       bench_evicting(symbols_space(symbols), addresses));
	free(addresses);
}

static void bench_made_up(void)
{
	uint64_t started_ns = clock_now_ns(), load_ns;
	struct symtab *tab = bench_make_kernel();
	struct symbols *symbols;

	load_ns = clock_now_ns() - started_ns;
	must_or_die(symbols_create(&symbols));
	must_or_die(symbols_add_table(symbols, tab, "[kernel]", NULL));
	bench_print("made-up kernel", symbols, load_ns);
	symbols_destroy(symbols);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		bench_made_up();
	for (int i = 1; i < argc; i++) {
		uint64_t started_ns = clock_now_ns();
		struct symbols *symbols;

		must_or_die(symbols_create(&symbols));
		must_or_die(symbols_add_file(symbols, &(struct host_files){ 0 }, argv[i]));
		bench_print(argv[i], symbols, clock_now_ns() - started_ns);
		symbols_destroy(symbols);
	}
	return 0;
}
