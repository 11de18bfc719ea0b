/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of counters has every counter, once, and doc/FORMATS has its name. */
#include "config.h"

#include "xtop/query/counters.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/tap.h"

/* --- every member ----------------------------------------------------------------------------- */

/* Where a member's byte is counted: those of the run after those of the snapshot. */
#define RUN_AT(member)      (sizeof(struct snapshot) + offsetof(struct snapshot_run, member))
#define RESOLVER_AT(member) offsetof(struct snapshot, resolver.member)
#define SIZE(type, member)  sizeof(((type *)NULL)->member)

/* Members of the structs that are not in the table, and why. */
static const struct {
	size_t offset, size_bytes;
} not_in_the_table[] = {
#define NOT_OF_RUN(member)                                                                         \
	{                                                                                          \
		RUN_AT(member), SIZE(struct snapshot_run, member)                                  \
	}
	NOT_OF_RUN(stopped.log2),                  /* an array without names */
	NOT_OF_RUN(sampler.state),                 /* a word */
	NOT_OF_RUN(sampler.guest_pages),           /* the resolver needs it */
	NOT_OF_RUN(sampler.ending),                /* the screen needs it */
	{ RESOLVER_AT(lag_ns), sizeof(uint64_t) }, /* stands in "profile" */
};

static size_t counter_bytes(const struct counter *counter)
{
	return counter->n ? counter->n * sizeof(uint64_t) : sizeof(uint64_t);
}

static void add(unsigned char *times, size_t offset, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i++)
		times[offset + i]++;
}

/*
 * Between START and START + SIZE_BYTES each byte is counted once; PADDING bytes are never counted.
 */
static void check_struct(const unsigned char *times, const char *what, size_t start,
			 size_t size_bytes, size_t padding)
{
	size_t never = 0, often = 0;

	for (size_t i = start; i < start + size_bytes; i++) {
		never += times[i] == 0;
		often += times[i] > 1;
	}
	check(never == padding, "%s: %zu bytes without a counter", what, never - padding);
	check(often == 0, "%s: %zu bytes with several counters", what, often);
}

static void test_every_member(void)
{
	unsigned char *times = calloc(1, sizeof(struct snapshot) + sizeof(struct snapshot_run));

	for (size_t i = 0; i < n_counters; i++)
		add(times,
		    counters[i].offset +
			    (counters[i].group == COUNTERS_RESOLVER ? 0 : sizeof(struct snapshot)),
		    counter_bytes(&counters[i]));
	for (size_t i = 0; i < sizeof(not_in_the_table) / sizeof(not_in_the_table[0]); i++)
		add(times, not_in_the_table[i].offset, not_in_the_table[i].size_bytes);
#define CHECK_RUN(member, padding)                                                                 \
	check_struct(times, #member, RUN_AT(member), SIZE(struct snapshot_run, member), padding)
	CHECK_RUN(stopped, 0);
	CHECK_RUN(sampler, sizeof(uint64_t) - sizeof(enum sampler_state)); /* after the state */
	check_struct(times, "resolver", offsetof(struct snapshot, resolver),
		     sizeof(struct resolver_counts), 0);
	CHECK_RUN(os, 0);
	free(times);
}

/* --- every name ------------------------------------------------------------------------------- */

static char *formats_text(void)
{
	const char *top = getenv("top_srcdir");
	char path[4096], *text = calloc(1, 1 << 20);
	FILE *file;

	snprintf(path, sizeof(path), "%s/doc/FORMATS", top ? top : ".");
	file = fopen(path, "r");
	check(file && fread(text, 1, (1 << 20) - 1, file) > 0, "doc/FORMATS can be read");
	if (file)
		fclose(file);
	return text;
}

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
		if ((at == text || !is_letter(at[-1])) && !is_letter(at[n]))
			return true;
	return false;
}

static void test_every_name(void)
{
	char *text = formats_text();

	for (size_t i = 0; i < n_counters; i++) {
		const struct counter *counter = &counters[i];
		unsigned missing = !has_word(text, counter->name);

		for (size_t j = 0; j < counter->n; j++)
			missing += !has_word(text, counter->elements[j]);
		check(!missing, "%s: %u names missing in doc/FORMATS", counter->name, missing);
	}
	free(text);
}

static void check_words(const char *const *words, int n, const char *what)
{
	int missing = 0;

	for (int i = 0; i < n; i++)
		missing += !words[i] || !*words[i];
	check(!missing, "%s: %d without a word for the screen", what, missing);
}

static void test_words(void)
{
	check_words(counter_stop_words, N_UNWIND_STOPS, "stops");
	check_words(counter_unwind_by_words, N_UNWIND_BYS, "mechanisms");
	check_words(counter_cut_words, N_SAMPLE_CUTS, "cuts");
	check_words(counter_unknown_cause_words, N_UNKNOWN_CAUSES, "causes");
}

/* Samples 10 and 25, and ticks, which a reset does not set back. */
static void test_subtract(void)
{
	struct snapshot_run run_before = { .sampler.ticks = 100 }, run_later;
	struct snapshot before = { .started_ns = 1, .run = &run_before },
			later = { .started_ns = 1, .run = &run_later }, range;

	before.resolver.samples = 10;
	later.resolver.samples = 25;
	range = later;
	run_later = (struct snapshot_run){ .sampler.ticks = 300 };
	counters_subtract(&range, &before);
	check_u64(range.resolver.samples, 15, "samples of a range");
	check_u64(run_later.sampler.ticks, 200, "ticks of a range");
	later.started_ns = 2;
	run_later.sampler.ticks = 300;
	range = later;
	counters_subtract(&range, &before);
	check_u64(range.resolver.samples, 25, "samples of a range with a reset");
	check_u64(run_later.sampler.ticks, 200, "ticks of a range with a reset");
}

int main(void)
{
	test_subtract();
	test_every_member();
	test_every_name();
	test_words();
	return tap_done();
}
