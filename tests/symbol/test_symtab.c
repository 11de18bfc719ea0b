/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of one image against pictures drawn here. Each case is a list of symbols and what is
 * found at some addresses; every list is added forwards and backwards, the order must not matter. A
 * last test compares random tables with a search that looks at every symbol.
 */
#include "config.h"

#include <time.h>

#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/work.h"
#include "xtop/symbol/symbol.h"

#define G     SYMBOL_GLOBAL
#define L     SYMBOL_LOCAL
#define W     SYMBOL_WEAK
#define BOUND NULL

struct given {
	uint64_t start, size_bytes, limit;
	enum symbol_rank rank;
	const char *name;
};

struct wanted {
	uint64_t address;
	const char *name; /* NULL: none */
};

#define MAX_GIVEN  8
#define MAX_WANTED 12

struct test_case {
	const char *what;
	struct given given[MAX_GIVEN];
	struct wanted wanted[MAX_WANTED];
};

static const struct test_case cases[] = {
	/*   a.......     b....     */
	{ "sizes are respected, gaps have no name",
	  { { 0x100, 8, 0, G, "a" }, { 0x110, 5, 0, G, "b" } },
	  { { 0xff, NULL },
	    { 0x100, "a" },
	    { 0x107, "a" },
	    { 0x108, NULL },
	    { 0x10f, NULL },
	    { 0x110, "b" },
	    { 0x114, "b" },
	    { 0x115, NULL },
	    { UINT64_MAX, NULL } } },
	/*   a-------b----|     */
	{ "unsized reach to the next, the last to its section's end",
	  { { 0x100, 0, 0x200, G, "a" }, { 0x180, 0, 0x200, G, "b" } },
	  { { 0x100, "a" }, { 0x17f, "a" }, { 0x180, "b" }, { 0x1ff, "b" }, { 0x200, NULL } } },
	{ "unsized stop at the end of their section, before the next",
	  { { 0x100, 0, 0x140, G, "a" }, { 0x180, 0, 0x200, G, "b" } },
	  { { 0x13f, "a" }, { 0x140, NULL }, { 0x17f, NULL }, { 0x180, "b" } } },
	{ "a size does not reach beyond the section",
	  { { 0x100, 0x1000, 0x180, G, "a" } },
	  { { 0x17f, "a" }, { 0x180, NULL } } },
	{ "what starts at the section's end is left out",
	  { { 0x100, 4, 0x180, G, "a" }, { 0x180, 0, 0x180, G, "b" }, { 0x190, 8, 0x180, G, "c" } },
	  { { 0x103, "a" }, { 0x180, NULL }, { 0x190, NULL } } },
	{ "the last unsized symbol without any limit ends with the page after its own",
	  { { 0x1010, 0, 0, G, "a" } },
	  { { 0x1010, "a" }, { 0x2fff, "a" }, { 0x3000, NULL } } },
	{ "a bound ends unsized ones only, and has no name",
	  { { 0x100, 0, 0, G, "a" },
	    { 0x140, 0, 0, G, BOUND },
	    { 0x200, 0x80, 0, G, "b" },
	    { 0x240, 0, 0, G, BOUND } },
	  { { 0x13f, "a" },
	    { 0x140, NULL },
	    { 0x1ff, NULL },
	    { 0x240, "b" },
	    { 0x27f, "b" },
	    { 0x280, NULL } } },
	{ "_etext is a bound; a sized function of that name is none",
	  { { 0x100, 0, 0, G, "a" },
	    { 0x140, 0, 0, G, "_etext" },
	    { 0x200, 8, 0, G, "__x_text_end" } },
	  { { 0x13f, "a" }, { 0x140, NULL }, { 0x200, "__x_text_end" } } },
	/* outer |-----------------------|     inner goes first while it lasts, then outer goes on
	   inner       |-----|                 */
	{ "nested",
	  { { 0x100, 0x100, 0, G, "outer" }, { 0x120, 0x10, 0, G, "inner" } },
	  { { 0x11f, "outer" },
	    { 0x120, "inner" },
	    { 0x12f, "inner" },
	    { 0x130, "outer" },
	    { 0x1ff, "outer" },
	    { 0x200, NULL } } },
	/* a |---------------------------|
	   b     |-------------|
	   c        |---|           d |-|      */
	{ "nested twice",
	  { { 0x100, 0x100, 0, G, "a" },
	    { 0x120, 0x60, 0, G, "b" },
	    { 0x130, 0x10, 0, G, "c" },
	    { 0x1a0, 0x10, 0, G, "d" } },
	  { { 0x110, "a" },
	    { 0x120, "b" },
	    { 0x130, "c" },
	    { 0x140, "b" },
	    { 0x17f, "b" },
	    { 0x180, "a" },
	    { 0x19f, "a" },
	    { 0x1a0, "d" },
	    { 0x1b0, "a" },
	    { 0x1ff, "a" },
	    { 0x200, NULL } } },
	/* a |---------|
	   b      |---------|    c |--|        */
	{ "crossing: the later start wins",
	  { { 0x100, 0x20, 0, G, "a" }, { 0x110, 0x20, 0, G, "b" }, { 0x140, 8, 0, G, "c" } },
	  { { 0x10f, "a" },
	    { 0x110, "b" },
	    { 0x120, "b" },
	    { 0x12f, "b" },
	    { 0x130, NULL },
	    { 0x13f, NULL },
	    { 0x140, "c" },
	    { 0x148, NULL } } },
	{ "ends together",
	  { { 0x100, 0x20, 0, G, "a" }, { 0x110, 0x10, 0, G, "b" }, { 0x120, 8, 0, G, "c" } },
	  { { 0x11f, "b" }, { 0x120, "c" }, { 0x128, NULL } } },
	/* outer |-----------------------|     SYM_INNER_LABEL of Linux: takes what is left of
	   outer, label       +                  next      but not the gap after it */
	{ "label in a sized function",
	  { { 0x100, 0x40, 0, G, "outer" },
	    { 0x120, 0, 0, L, "label" },
	    { 0x200, 8, 0, G, "next" } },
	  { { 0x11f, "outer" },
	    { 0x120, "label" },
	    { 0x13f, "label" },
	    { 0x140, NULL },
	    { 0x200, "next" } } },
	{ "label in an inner function",
	  { { 0x100, 0x100, 0, G, "outer" },
	    { 0x120, 0x20, 0, G, "inner" },
	    { 0x130, 0, 0, L, "label" } },
	  { { 0x12f, "inner" },
	    { 0x130, "label" },
	    { 0x13f, "label" },
	    { 0x140, "outer" },
	    { 0x1ff, "outer" } } },
	{ "aliases: the furthest end of the sized ones",
	  { { 0x100, 8, 0, G, "good" },
	    { 0x100, 16, 0, L, "a" },
	    { 0x100, 0, 0, G, "b" },
	    { 0x140, 1, 0, G, "c" } },
	  { { 0x100, "good" }, { 0x10f, "good" }, { 0x110, NULL }, { 0x140, "c" } } },
	{ "aliases: a bound takes no name away",
	  { { 0x100, 0, 0, L, "a" }, { 0x100, 0, 0, G, BOUND }, { 0x120, 0, 0, G, BOUND } },
	  { { 0x100, "a" }, { 0x11f, "a" }, { 0x120, NULL } } },
	{ "more than 4 GiB apart",
	  { { 0x1000, 8, 0, G, "low" },
	    { 0x200001000, 8, 0, G, "middle" },
	    { 0xffffffff81000000, 8, 0, G, "high" } },
	  { { 0x1000, "low" },
	    { 0x1008, NULL },
	    { 0x200001007, "middle" },
	    { 0xffffffff80ffffff, NULL },
	    { 0xffffffff81000007, "high" },
	    { 0xffffffff81000008, NULL } } },
	{ "symbols 4 GiB - 1 apart, and a look-up after them",
	  { { 0x1000, 8, 0, G, "low" }, { 0x100000fff, 8, 0, G, "high" } },
	  { { 0x100000fff, "high" },
	    { 0x100001006, "high" },
	    { 0x100001007, NULL },
	    { 0x900001006, NULL } } },
	{ "sums that wrap",
	  { { UINT64_MAX - 7, 100, 0, G, "a" }, { 0x10, UINT64_MAX, 0, G, "b" } },
	  { { 0xf, NULL },
	    { 0x10, "b" },
	    { 0x10000000e, "b" },
	    { 0x10000000f, NULL },
	    { UINT64_MAX - 8, NULL },
	    { UINT64_MAX - 1, "a" } } },
	{ "address 0", { { 0, 4, 0, G, "zero" } }, { { 0, "zero" }, { 3, "zero" }, { 4, NULL } } },
	{ "unnamed ones are left out", { { 0x100, 8, 0, G, "" } }, { { 0x100, NULL } } },
};

static void add_given(struct symtab *tab, const struct given *given)
{
	struct xtop_error *error;

	if (given->name)
		error = symtab_add(
			tab, &(struct symbol_definition){ .start = given->start,
							  .size_bytes = given->size_bytes,
							  .limit = given->limit,
							  .rank = given->rank,
							  .name = given->name,
							  .name_bytes = strlen(given->name) });
	else
		error = given->start ? symtab_add_bound(tab, given->start) : NULL;
	if (error)
		check(false, "a symbol is added: %s", error_message(error));
}

static struct symtab *make_tab(void)
{
	struct symtab *tab = NULL;

	if (symtab_create(&tab))
		exit(99);
	return tab;
}

static void seal(struct symtab *tab)
{
	struct xtop_error *error = symtab_seal(tab);

	if (error)
		check(false, "a table is sealed: %s", error_message(error));
}

static void check_case(const struct test_case *test, bool backwards)
{
	struct symtab *tab = make_tab();

	for (int i = 0; i < MAX_GIVEN; i++)
		add_given(tab, &test->given[backwards ? MAX_GIVEN - 1 - i : i]);
	seal(tab);
	for (int i = 0; i < MAX_WANTED && (i == 0 || test->wanted[i].address); i++) {
		const struct wanted *wanted = &test->wanted[i];
		struct symtab_entry entry = { .name = "(none)" };
		bool found = symtab_find(tab, wanted->address, &entry);

		check(wanted->name ? found && strcmp(entry.name, wanted->name) == 0 : !found,
		      "%s%s: %#" PRIx64 " is %s (expected %s)", test->what,
		      backwards ? ", backwards" : "", wanted->address, entry.name,
		      wanted->name ? wanted->name : "(none)");
	}
	symtab_destroy(tab);
}

static void test_entries(void)
{
	struct symtab *tab = make_tab();
	struct symtab_entry entry;

	add_given(tab, &(struct given){ 0x200, 0, 0x280, G, "b" });
	add_given(tab, &(struct given){ 0x100, 8, 0, G, "a" });
	add_given(tab, &(struct given){ 0x100, 8, 0, L, "alias" });
	seal(tab);
	check_u64(symtab_count(tab), 2, "entries of two symbols and an alias");
	entry = symtab_at(tab, 0);
	check(entry.start == 0x100 && entry.end == 0x108 && strcmp(entry.name, "a") == 0,
	      "the first entry is a, 0x100..0x108");
	entry = symtab_at(tab, 1);
	check(entry.start == 0x200 && entry.end == 0x280 && strcmp(entry.name, "b") == 0,
	      "the second entry is b, 0x200..0x280");
	symtab_destroy(tab);

	tab = make_tab();
	seal(tab);
	check(!symtab_find(tab, 0, &entry) && symtab_count(tab) == 0,
	      "an empty table knows nothing");
	symtab_destroy(tab);
}

/* N symbols from START on; the one in the middle has another name. */
static struct symtab *make_many(uint64_t start, unsigned n, const char *middle)
{
	struct symtab *tab = make_tab();
	char name[32];

	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		if (symtab_add(tab, &(struct symbol_definition){
					    .start = start + i * 16,
					    .size_bytes = 16,
					    .rank = G,
					    .name = i == n / 2 ? middle : name,
					    .name_bytes = strlen(i == n / 2 ? middle : name) }))
			check(false, "a symbol is added");
	}
	seal(tab);
	return tab;
}

/* Two guests with the same kernel, one of them at another address, and one that claims to have it. */
static void test_shared(void)
{
	struct symtab *one = make_many(0xffffffff81000000, 10000, "do_it");
	struct symtab *moved = make_many(0xffffffff9a000000, 10000, "do_it");
	struct symtab *forged = make_many(0xffffffff81000000, 10000, "do_ill");
	const char *name = symtab_at(one, 5000).name;

	check(symtab_at(moved, 5000).name == name && symtab_at(moved, 1).start == 0xffffffff9a000010,
	      "the names of equal tables are kept once, the addresses are each one's own");
	check_string(symtab_at(forged, 5000).name, "do_ill", "another table has its own names");
	check_string(name, "do_it", "a table with other names does not change the names of others");
	symtab_destroy(one);
	check_string(symtab_at(moved, 5000).name, "do_it", "shared names outlive the first table");
	symtab_destroy(moved);
	symtab_destroy(forged);
}

static void test_long_name(void)
{
	static char name[2 * SYMTAB_MAX_NAME_BYTES];
	struct symtab *tab = make_tab();

	memset(name, 'x', sizeof(name));
	if (symtab_add(tab, &(struct symbol_definition){ .start = 1,
							 .size_bytes = 1,
							 .rank = G,
							 .name = name,
							 .name_bytes = sizeof(name) }) ||
	    symtab_add(tab, &(struct symbol_definition){ .start = 2,
							 .size_bytes = 1,
							 .rank = G,
							 .name = "a\0b",
							 .name_bytes = 3 }))
		check(false, "a symbol is added");
	seal(tab);
	check_u64(strlen(symtab_at(tab, 0).name), SYMTAB_MAX_NAME_BYTES,
		  "length of a name that is cut");
	check_string(symtab_at(tab, 1).name, "a", "a name ends at a NUL");
	symtab_destroy(tab);
}

/* One symbol more than the limit is an error that names the limit. Bounds count as symbols. */
static void test_limit(void)
{
	struct symtab *tab = make_tab();
	struct xtop_error *error = NULL;
	uint64_t added = 0;

	for (; !error && added <= SYMTAB_MAX_SYMBOLS; added++)
		error = added % 2 ? symtab_add_bound(tab, added)
				  : symtab_add(tab, &(struct symbol_definition){ .start = added,
										 .rank = L,
										 .name = "f",
										 .name_bytes = 1 });
	check_u64(added, SYMTAB_MAX_SYMBOLS + 1ULL, "symbols until the limit refuses one");
	check(error && strstr(error_message(error), "4194304 symbols"),
	      "the error names the limit of symbols: %s", error ? error_message(error) : "none");
	error_destroy(error);
	symtab_destroy(tab);
}

/* Each symbol takes 4 bytes of names. Symbols that came before the limit are kept. */
static void test_names_limit(void)
{
	struct symtab *tab = make_tab();
	struct xtop_error *error = NULL;
	uint64_t added = 0;

	symtab_limit_names(tab, 4000);
	check(!symtab_is_full(tab), "a new table is not full");
	for (; !error && added <= 1001; added++)
		error = symtab_add(tab, &(struct symbol_definition){ .start = 16 * added,
								     .size_bytes = 16,
								     .rank = G,
								     .name = "abc",
								     .name_bytes = 3 });
	check_u64(added, 1001, "names until the limit refuses one");
	check(error && strstr(error_message(error), "symbol names"),
	      "the error names the limit of names: %s", error ? error_message(error) : "none");
	check(symtab_is_full(tab), "a table whose names reach the limit is full");
	error_destroy(error);
	seal(tab);
	check_u64(symtab_count(tab), 1000, "symbols of a full table that are kept");
	symtab_destroy(tab);
}

static bool is_over_at_third_look(void *looks)
{
	return ++*(unsigned *)looks >= 3;
}

/* The user quits while a million symbols become a table: it ends soon, without any. */
static void test_over_while_sealing(void)
{
	struct symtab *tab = make_tab();
	unsigned looks = 0;
	struct work work = { .ends = is_over_at_third_look, .context = &looks };

	for (uint64_t i = 0; i < 10000; i++)
		if (symtab_add(tab, &(struct symbol_definition){ .start = 16 * i,
								 .size_bytes = 16,
								 .rank = G,
								 .name = "f",
								 .name_bytes = 1 }))
			exit(99);
	symtab_set_work(tab, &work);
	seal(tab);
	check_u64(symtab_count(tab), 0, "symbols of a table that was given up");
	symtab_destroy(tab);
}

static void test_million_at_one_address(void)
{
	struct symtab *tab = make_tab();
	struct symtab_entry entry;
	clock_t started = clock();
	char name[32];

	for (int i = 0; i < 1000000; i++) {
		int bytes = snprintf(name, sizeof(name), "alias_%d", (int)(i * 7919LL % 1000000));

		if (symtab_add(tab, &(struct symbol_definition){ .start = 0x1000,
								 .size_bytes = i % 100,
								 .rank = i % 3,
								 .name = name,
								 .name_bytes = bytes }))
			exit(99);
	}
	seal(tab);
	printf("# a million aliases: %.0f ms, %zu bytes\n",
	       (clock() - started) * 1e3 / CLOCKS_PER_SEC, symtab_memory_bytes(tab));
	check_u64(symtab_count(tab), 1, "a million aliases are one entry");
	check(symtab_memory_bytes(tab) < 1024, "a million aliases need next to no memory: %zu",
	      symtab_memory_bytes(tab));
	check(symtab_find(tab, 0x1000 + 98, &entry) && !symtab_find(tab, 0x1000 + 99, &entry),
	      "the furthest end of a million aliases counts");
	symtab_destroy(tab);
}

/* A million functions each inside the one before: one look-up must not walk out of all of them. */
static void test_million_nested(void)
{
	struct symtab *tab = make_tab();
	struct symtab_entry entry;
	clock_t started = clock();
	unsigned wrong = 0;

	for (uint64_t i = 0; i < 1000000; i++)
		if (symtab_add(tab, &(struct symbol_definition){ .start = 0x1000 + i,
								 .size_bytes = 4000000 - 2 * i,
								 .rank = G,
								 .name = "f",
								 .name_bytes = 1 }))
			exit(99);
	seal(tab);
	/* function i covers [0x1000 + i, 0x1000 + 4000000 - i): inner ones end before outer ones */
	for (uint64_t i = 0; i < 1000000; i++)
		wrong += !symtab_find(tab, 0x1000 + 4000000 - i - 1, &entry) ||
			 entry.start != 0x1000 + i;
	printf("# a million nested: %.0f ms\n", (clock() - started) * 1e3 / CLOCKS_PER_SEC);
	check_u64(wrong, 0, "wrong answers for functions nested a million deep");
	symtab_destroy(tab);
}

/* --- random tables against a search through all ----------------------------------------------- */

#define N_RANDOM 24
#define SPAN     96

static unsigned random_below(unsigned below)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return (state >> 8) % below;
}

/* The definition, slowly: among the sized symbols that cover ADDRESS, the greatest start counts. */
static const struct given *covers(const struct given *list, uint64_t address)
{
	const struct given *best = NULL;

	for (int i = 0; i < N_RANDOM; i++)
		if (list[i].size_bytes && address - list[i].start < list[i].size_bytes &&
		    (!best || list[i].start > best->start))
			best = &list[i];
	return best;
}

static unsigned count_wrong(uint64_t scale)
{
	char names[N_RANDOM][16];
	struct given list[N_RANDOM];
	struct symtab *tab = make_tab();
	unsigned wrong = 0;
	bool used[SPAN] = { false };

	for (int i = 0; i < N_RANDOM; i++) {
		unsigned start = random_below(SPAN);

		snprintf(names[i], sizeof(names[i]), "f%d", i);
		list[i] = (struct given){ 0x1000 + start * scale,
					  used[start] ? 0 : 1 + random_below(SPAN / 2) * scale, 0,
					  G, names[i] };
		used[start] = true;
		if (list[i].size_bytes)
			add_given(tab, &list[i]);
	}
	seal(tab);
	for (unsigned i = 0; i < 2 * SPAN; i++) {
		uint64_t address = 0x1000 + i * scale;
		const struct given *wanted = covers(list, address);
		struct symtab_entry entry;
		bool found = symtab_find(tab, address, &entry);

		wrong += found != (wanted != NULL) ||
			 (found && strcmp(entry.name, wanted->name) != 0);
	}
	symtab_destroy(tab);
	return wrong;
}

static void test_random(void)
{
	unsigned wrong_narrow = 0, wrong_wide = 0;

	for (int i = 0; i < 2000; i++) {
		wrong_narrow += count_wrong(1);
		wrong_wide += count_wrong(1ULL << 26); /* sizes up to 3 GiB, spans over 4 GiB */
	}
	check_u64(wrong_narrow, 0, "wrong answers of random tables");
	check_u64(wrong_wide, 0, "wrong answers of random tables of over 4 GiB");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case(&cases[i], false);
		check_case(&cases[i], true);
	}
	test_entries();
	test_shared();
	test_long_name();
	test_limit();
	test_names_limit();
	test_over_while_sealing();
	test_million_at_one_address();
	test_million_nested();
	test_random();
	return tap_done();
}
