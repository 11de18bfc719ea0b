/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of kernel symbols that are cut at every place, and broken in every table; and bytes that were
 * crafted to make the search long.
 */
#include "config.h"

#include "tests/linux/kernel/kallsyms_reader.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/work.h"

#define HOSTILE_BYTES (64U << 20)

static bool found(const struct made_kallsyms *made)
{
	struct kallsyms *kallsyms = find_in(made->bytes, made->size_bytes, MADE_TEXT, NULL);
	bool there = kallsyms;

	kallsyms_destroy(kallsyms);
	return there;
}

/* Searches once with VALUE in the BYTES bytes at AT. */
static void check_broken(struct made_kallsyms *made, const char *what, size_t at, uint64_t value,
			 unsigned bytes)
{
	uint64_t old = 0;

	memcpy(&old, made->bytes + at, bytes);
	memcpy(made->bytes + at, &value, bytes);
	check(old != value && !found(made), "%s (%#" PRIx64 " for %#" PRIx64 "): none", what, value,
	      old);
	memcpy(made->bytes + at, &old, bytes);
}

static uint64_t load(const struct made_kallsyms *made, size_t at, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, made->bytes + at, bytes);
	return value;
}

static void break_counts(struct made_kallsyms *made)
{
	static const int64_t changes[] = { -256, -1, 1, 256 };
	static const uint64_t others[] = { 0,          1,          KALLSYMS_MAX_SYMBOLS + 1,
					   0x7fffffff, 0x80000000, 0xffffffff };

	for (unsigned i = 0; i < 4; i++)
		check_broken(made, "symbols", made->num, made->n + changes[i], made->marker_bytes);
	for (unsigned i = 0; i < 6; i++)
		check_broken(made, "symbols", made->num, others[i], made->marker_bytes);
}

static void break_markers(struct made_kallsyms *made)
{
	size_t last = made->markers + (made->n_markers - 1) * made->marker_bytes;

	check_broken(made, "first marker", made->markers, 1, made->marker_bytes);
	for (size_t at = made->markers + made->marker_bytes; at <= last;
	     at += 7 * made->marker_bytes)
		for (int by = -1; by < 2; by += 2)
			check_broken(made, "marker", at, load(made, at, made->marker_bytes) + by,
				     made->marker_bytes);
	check_broken(made, "last marker", last, UINT64_MAX, made->marker_bytes);
	check_broken(made, "last marker", last, 0, made->marker_bytes);
}

/* Each Q of the long names becomes a token of 17 characters: the names become too long. */
static void break_long_names(struct made_kallsyms *made)
{
	size_t bytes = made->names_end - made->names;
	_cleanup_free_ uint8_t *names = malloc(bytes);

	if (!names)
		exit(99);
	memcpy(names, made->bytes + made->names, bytes);
	for (size_t at = 0; at + 40 <= bytes; at++)
		if (memcmp(names + at, "QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ", 40) == 0)
			memset(made->bytes + made->names + at, 7, 40);
	check(memcmp(names, made->bytes + made->names, bytes) != 0 && !found(made),
	      "names of over 512 characters in a few tokens: none");
	memcpy(made->bytes + made->names, names, bytes);
}

static void break_names(struct made_kallsyms *made)
{
	static const uint8_t lengths[] = { 0, 1, 0x7f, 0x80, 0xff };
	uint8_t first = made->bytes[made->names];

	for (unsigned i = 0; i < 5; i++)
		check_broken(made, "first length", made->names, lengths[i], 1);
	check_broken(made, "first length", made->names, first - 1, 1);
	check_broken(made, "padding before the names", made->names - 1, 1, 1);
	break_long_names(made);
}

static void break_tokens(struct made_kallsyms *made)
{
	unsigned accepted = 0;

	for (unsigned i = 0; i < 512; i += 3) {
		made->bytes[made->token_index + i] ^= 0x10;
		accepted += found(made);
		made->bytes[made->token_index + i] ^= 0x10;
	}
	check_u64(accepted, 0, "token_index: accepted with a bit changed, of every third byte");
	check_broken(made, "token text", made->token_table, 0, 1);
	check_broken(made, "token text", made->token_table, 0x1b, 1);
	check_broken(made, "token's NUL",
		     made->token_table + load(made, made->token_index + 2 * '5', 2) - 1, 'A', 1);
	check_broken(made, "a digit's token",
		     made->token_table + load(made, made->token_index + 2 * '5', 2), '6', 1);
}

static void break_addresses(struct made_kallsyms *made, unsigned bytes)
{
	size_t middle = made->addresses + made->n / 2 * bytes;

	check_broken(made, "addresses not in order", middle, load(made, middle + 8 * bytes, bytes),
		     bytes);
	check_broken(made, "address", middle, 0, bytes);
	check_broken(made, "address", middle, 0x7fffffff, bytes);
	if (!made->base)
		return;
	check_broken(made, "base", made->base, 0, 8);
	check_broken(made, "base", made->base, UINT64_MAX, 8);
	check_broken(made, "base", made->base, MADE_TEXT - (4 << 20), 8);
	check_broken(made, "base", made->base, 0x00007f0000000000, 8);
}

static void test_broken(const struct made_layout *layout)
{
	struct made_kallsyms made;
	unsigned accepted = 0;

	printf("# %s, broken\n", layout->what);
	make_kallsyms(layout, &made);
	break_counts(&made);
	break_markers(&made);
	break_names(&made);
	break_tokens(&made);
	break_addresses(&made, layout->encoding == KALLSYMS_ABSOLUTE ? 8 : 4);
	check(found(&made), "%s: repaired and found", layout->what);
	for (size_t size = 0; size < made.end; size += made.end / 97) {
		struct kallsyms *kallsyms = find_in(made.bytes, size, MADE_TEXT, NULL);

		accepted += kallsyms != NULL;
		kallsyms_destroy(kallsyms);
	}
	check_u64(accepted, 0, "number of cuts in which tables were found");
	made_kallsyms_deinit(&made);
}

static bool always_over(void *context)
{
	(void)context;
	return true;
}

/* What has been read already is not searched any more, either. */
static void test_over(const struct made_layout *layout)
{
	struct made_kallsyms made;
	struct kallsyms *kallsyms = NULL;
	struct work work = { .ends = always_over };
	struct kallsyms_input input;

	make_kallsyms(layout, &made);
	input = (struct kallsyms_input){ .bytes = made.bytes,
					 .work = &work,
					 .present_bytes = made.end,
					 .size_bytes = made.end,
					 .address = MADE_RODATA,
					 .image_start = MADE_IMAGE_START,
					 .text_start = MADE_TEXT };
	error_destroy(kallsyms_find(&input, &kallsyms));
	check(!kallsyms && !input.steps, "%s: nothing is searched after the end", layout->what);
	made_kallsyms_deinit(&made);
}

/* Changes random bytes: tables that are accepted must decode. */
static void test_random(const struct made_layout *layout)
{
	uint64_t state = 1;
	unsigned accepted = 0, whole = 0;
	struct made_kallsyms made;

	make_kallsyms(layout, &made);
	for (unsigned i = 0; i < 1000; i++) {
		size_t at = made.names - 64;
		struct kallsyms *kallsyms;
		struct kallsyms_cursor cursor;
		uint8_t old;

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		at += (state >> 20) % (made.end - at);
		old = made.bytes[at];
		made.bytes[at] = state >> 56;
		kallsyms = find_in(made.bytes, made.size_bytes, MADE_TEXT, NULL);
		if (kallsyms) {
			accepted++;
			kallsyms_first(&cursor);
			while (kallsyms_next(kallsyms, &cursor))
				continue;
			whole += cursor.next == made.n;
			symtab_destroy(decode(kallsyms, NULL, 0));
		}
		kallsyms_destroy(kallsyms);
		made.bytes[at] = old;
	}
	check(accepted > 0 && accepted < 1000 && whole == accepted,
	      "%s: of 1000 with a byte changed %u are accepted, %u decode in whole", layout->what,
	      accepted, whole);
	made_kallsyms_deinit(&made);
}

/* --- bytes that make the search long ---------------------------------------------------------- */

static void check_hostile(const char *what, const uint8_t *bytes)
{
	struct kallsyms_input input = {
		.address = MADE_RODATA,
		.image_start = MADE_IMAGE_START,
		.bytes = bytes,
		.size_bytes = HOSTILE_BYTES,
		.present_bytes = HOSTILE_BYTES,
	};
	struct kallsyms *kallsyms = NULL;

	if (kallsyms_find(&input, &kallsyms))
		exit(99);
	if (kallsyms)
		printf("# encoding %d, before %d, _text %" PRIx64 "\n", kallsyms->encoding,
		       kallsyms->tables_before, kallsyms_text(kallsyms));
	check(!kallsyms && input.steps <= KALLSYMS_MAX_STEPS + KALLSYMS_MAX_SYMBOLS,
	      "64 MiB of %s: none, after %" PRIu64 " steps", what, input.steps);
	kallsyms_destroy(kallsyms);
}

/* Repeats the first BYTES bytes up to the end. */
static void repeat(uint8_t *all, size_t bytes)
{
	for (size_t at = bytes; at < HOSTILE_BYTES; at++)
		all[at] = all[at - bytes];
}

static void test_hostile(void)
{
	_cleanup_free_ uint8_t *all = calloc(1, HOSTILE_BYTES);
	struct made_kallsyms made;
	uint64_t n;
	size_t bytes;

	if (!all)
		exit(99);
	check_hostile("nothing", all);
	memset(all, 0xff, HOSTILE_BYTES);
	check_hostile("ones", all);
	memcpy(all, "0\0001\0002\0003\0004\0005\0006\0007\0008\0009", 20);
	repeat(all, 20);
	check_hostile("digits", all);
	for (unsigned i = 0; i < 8; i++)
		((uint16_t *)all)[i] = 2 * i;
	for (size_t i = 8; i < HOSTILE_BYTES / 2; i++)
		((uint16_t *)all)[i] = ((uint16_t *)all)[i - 4] + 8;
	check_hostile("words that ascend by two", all);

	make_kallsyms(&made_layouts[n_made_layouts - 4], &made);
	bytes = made.token_index + 512 - made.token_table;
	memcpy(all, made.bytes + made.token_table, bytes);
	repeat(all, bytes);
	check_hostile("token tables", all);
	bytes = made.token_index + 512 - made.markers;
	memcpy(all, made.bytes + made.markers, bytes);
	repeat(all, bytes);
	check_hostile("markers and token tables", all);
	n = made.n;
	for (size_t at = made.num; at < made.markers; at += 8)
		memcpy(made.bytes + at, &n, 8);
	bytes = made.token_index + 512 - made.num;
	memcpy(all, made.bytes + made.num, bytes);
	repeat(all, bytes);
	check_hostile("counts, markers and token tables", all);
	made_kallsyms_deinit(&made);

	make_kallsyms(&made_layouts[n_made_layouts - 4], &made);
	memset(made.bytes + made.addresses, 0, 4 * made.n);
	bytes = made.end - made.num;
	bytes = (bytes + 7) & ~(size_t)7;
	memcpy(all, made.bytes + made.num, bytes);
	repeat(all, bytes);
	check_hostile("whole tables with impossible addresses", all);
	made_kallsyms_deinit(&made);
}

int main(void)
{
	for (unsigned i = 0; i + 1 < n_made_layouts; i++)
		test_broken(&made_layouts[i]);
	for (unsigned i = 0; i + 1 < n_made_layouts; i += 7)
		test_random(&made_layouts[i]);
	test_over(&made_layouts[2]);
	test_hostile();
	return tap_done();
}
