/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel symbols from tables of every layout: whole, cut at every place, and broken in every table;
 * and bytes that were crafted to make the search long.
 */
#include "config.h"

#include "linux/kernel/kallsyms.h"

#include <stdlib.h>

#include "tests/support/make_kallsyms.h"
#include "tests/support/tap.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/work.h"

#define HOSTILE_BYTES (64U << 20)

/* --- a range that is copied piece by piece ---------------------------------------------------- */

struct reader {
	const uint8_t *all;
	uint8_t *copy;
};

/* Copies to another place each time, so that the sanitizer sees an old pointer. */
static bool reader_more(struct kallsyms_input *input, size_t up_to)
{
	struct reader *reader = input->context;
	uint8_t *copy;

	if (up_to > input->size_bytes || !(copy = malloc(up_to)))
		return false;
	memcpy(copy, reader->all, up_to);
	free(reader->copy);
	reader->copy = copy;
	input->bytes = copy;
	input->present_bytes = up_to;
	return true;
}

/* Searches the first SIZE_BYTES, which are copied piece by piece. READ_BYTESP may be NULL. */
static struct kallsyms *find_in(const uint8_t *bytes, size_t size_bytes, uint64_t text_start,
				size_t *read_bytesp)
{
	struct reader reader = { .all = bytes };
	struct kallsyms_input input = {
		.address = MADE_RODATA,
		.image_start = MADE_IMAGE_START,
		.size_bytes = size_bytes,
		.more = reader_more,
		.context = &reader,
		.text_start = text_start,
		.text_end = text_start ? text_start + MADE_TEXT_BYTES : 0,
	};
	struct kallsyms *kallsyms = NULL;

	if (kallsyms_find(&input, &kallsyms))
		exit(99);
	free(reader.copy);
	if (read_bytesp)
		*read_bytesp = input.present_bytes;
	return kallsyms;
}

/* --- whole tables ----------------------------------------------------------------------------- */

/* Index of the first symbol that is not as it was made. n: all are right. */
static unsigned compare(const struct kallsyms *kallsyms, const struct made_kallsyms *made)
{
	struct kallsyms_cursor cursor;
	unsigned i = 0;

	kallsyms_first(&cursor);
	for (; kallsyms_next(kallsyms, &cursor) && i < made->n; i++) {
		const struct made_symbol *symbol = &made->symbols[i];

		if (cursor.address != symbol->address || cursor.type != symbol->type ||
		    cursor.name_bytes != strlen(symbol->name) ||
		    strcmp(cursor.name, symbol->name) != 0) {
			printf("# %u: %" PRIx64 " %c %s\n", i, cursor.address, cursor.type,
			       cursor.name);
			break;
		}
	}
	return i;
}

static void test_layout(const struct made_layout *layout)
{
	struct made_kallsyms made;
	struct kallsyms *kallsyms;
	size_t read_bytes;

	make_kallsyms(layout, &made);
	for (unsigned text_known = 0; text_known < 2; text_known++) {
		kallsyms = find_in(made.bytes, made.size_bytes, text_known ? MADE_TEXT : 0,
				   &read_bytes);
		if (!check(kallsyms, "%s: found%s", layout->what,
			   text_known ? "" : ", place of the code not known"))
			continue;
		check_u64(kallsyms->n, made.n, "symbols");
		check_u64(compare(kallsyms, &made), made.n, "symbols as they were made");
		check_u64(kallsyms_text(kallsyms), MADE_TEXT, "_text");
		check(kallsyms->encoding == layout->encoding &&
			      kallsyms->tables_before == layout->before,
		      "%s: the layout is told", layout->what);
		check(read_bytes < made.end + (512 << 10),
		      "%s: %zu bytes read, the tables end at %zu", layout->what, read_bytes,
		      made.end);
		kallsyms_destroy(kallsyms);
	}
	check(!find_in(made.bytes, made.size_bytes, MADE_TEXT + (4 << 20), NULL),
	      "%s: code elsewhere: none", layout->what);
	made_kallsyms_deinit(&made);
}

/* A kernel of 32 bits: pointers in the tables have 4 bytes, and nothing is aligned to more. */
static void test_short(struct made_layout layout)
{
	struct made_kallsyms made;
	struct kallsyms_input input;
	struct kallsyms *kallsyms = NULL;

	layout.is_short = true;
	layout.aligned_4 = true;
	make_kallsyms(&layout, &made);
	for (unsigned i = 0; i < made.n; i++)
		made.symbols[i].address = (uint32_t)made.symbols[i].address;
	input = (struct kallsyms_input){
		.address = (uint32_t)MADE_RODATA,
		.bytes = made.bytes,
		.size_bytes = made.size_bytes,
		.present_bytes = made.size_bytes,
		.image_start = (uint32_t)MADE_IMAGE_START,
		.text_start = (uint32_t)MADE_TEXT,
		.text_end = (uint32_t)MADE_TEXT + MADE_TEXT_BYTES,
		.is_short = true,
	};
	if (kallsyms_find(&input, &kallsyms))
		exit(99);
	if (check(kallsyms, "%s of 32 bits: found", layout.what)) {
		check_u64(compare(kallsyms, &made), made.n, "symbols as they were made");
		check_u64(kallsyms_text(kallsyms), (uint32_t)MADE_TEXT, "_text");
	}
	kallsyms_destroy(kallsyms);
	kallsyms = NULL;
	input.is_short = false;
	if (kallsyms_find(&input, &kallsyms))
		exit(99);
	check(!kallsyms, "%s of 32 bits: not with pointers of 64", layout.what);
	kallsyms_destroy(kallsyms);
	made_kallsyms_deinit(&made);
}

/*
 * --- tables whose front is left out at first ---------------------------------------------------
 */

struct left_out {
	const uint8_t *all;
	uint8_t *bytes;
	unsigned asked;
	size_t lowest; /* that was asked for */
};

static bool left_out_front(struct kallsyms_input *input, size_t from)
{
	struct left_out *left_out = input->context;

	left_out->asked++;
	if (from < left_out->lowest)
		left_out->lowest = from;
	from &= ~(size_t)4095;
	memcpy(left_out->bytes + from, left_out->all + from, input->absent_bytes - from);
	input->absent_bytes = from;
	return true;
}

/* Nothing is present before the page of num_syms, and nothing is asked for without need. */
static void test_left_out(const struct made_layout *layout)
{
	struct made_kallsyms made;
	struct kallsyms *kallsyms = NULL;
	struct left_out left_out = { .lowest = SIZE_MAX };
	struct kallsyms_input input = {
		.address = MADE_RODATA,
		.image_start = MADE_IMAGE_START,
		.context = &left_out,
		.front = left_out_front,
		.text_start = MADE_TEXT,
		.text_end = MADE_TEXT + MADE_TEXT_BYTES,
	};

	make_kallsyms(layout, &made);
	left_out.all = made.bytes;
	left_out.bytes = calloc(1, made.size_bytes);
	if (!left_out.bytes)
		exit(99);
	input.bytes = left_out.bytes;
	input.size_bytes = input.present_bytes = made.size_bytes;
	input.absent_bytes = made.num & ~(size_t)4095;
	memcpy(left_out.bytes + input.absent_bytes, made.bytes + input.absent_bytes,
	       made.size_bytes - input.absent_bytes);
	if (kallsyms_find(&input, &kallsyms))
		exit(99);
	check(kallsyms && compare(kallsyms, &made) == made.n, "%s: found without the bytes before",
	      layout->what);
	if (layout->before)
		check_u64(left_out.lowest, made.addresses, "asked for: the addresses");
	else
		check(!left_out.asked || left_out.lowest == made.num - 8,
		      "nothing but the word before is asked for");
	kallsyms_destroy(kallsyms);
	kallsyms = NULL;

	/* Without front(). */
	memset(left_out.bytes, 0, made.num & ~(size_t)4095);
	input.absent_bytes = made.num & ~(size_t)4095;
	input.front = NULL;
	if (kallsyms_find(&input, &kallsyms))
		exit(99);
	check(!layout->before == !!kallsyms,
	      "%s: found only if addresses are present", layout->what);
	kallsyms_destroy(kallsyms);
	free(left_out.bytes);
	made_kallsyms_deinit(&made);
}

/* --- what is decoded -------------------------------------------------------------------------- */

static const char *name_at(const struct symtab *tab, uint64_t address)
{
	struct symtab_entry entry;

	return symtab_find(tab, address, &entry) ? entry.name : "none";
}

static struct symtab *decode(const struct kallsyms *kallsyms, struct kallsyms_wanted *wanted,
			     size_t n_wanted)
{
	struct symtab *tab = NULL;

	if (symtab_create(&tab) || kallsyms_decode(kallsyms, tab, wanted, n_wanted) ||
	    symtab_seal(tab))
		exit(99);
	return tab;
}

/* The functions as they were made; of several at one address, the expected one. */
static unsigned count_functions(const struct made_kallsyms *made, const struct symtab *tab)
{
	unsigned n = 0;

	for (unsigned i = 0; i < made->n; i++)
		if (made->symbols[i].address >= MADE_TEXT + 0x1000 &&
		    made->symbols[i].address < MADE_RODATA)
			n += strcmp(name_at(tab, made->symbols[i].address),
				    made->symbols[i].name) == 0;
	return n;
}

/* Linux frees the code of init, but CPU 0's idle task never returns from it. */
static void check_init(const struct symtab *tab, const char *what)
{
	check(strcmp(name_at(tab, MADE_INIT), "start_it") == 0 &&
		      strcmp(name_at(tab, MADE_INIT + 0x1ff), "start_kernel") == 0 &&
		      strcmp(name_at(tab, MADE_INIT + 0x200), "none") == 0 &&
		      strcmp(name_at(tab, MADE_INIT - 1), "none") == 0,
	      "%s: init code has its names, and nothing before or behind it has", what);
}

static void test_decode(const struct made_layout *layout)
{
	struct kallsyms_wanted wanted[] = {
		{ "init_task", 1, 'x' },
		{ "modules", 1, 'x' },
		{ "current_task", 1, 'x' },
		{ "__per_cpu_start", 1, 'x' },
		{ "no_such_symbol", 1, 'x' },
		{ "_text", 1, 'x' },
		{ "", 1, 'x' },
	};
	struct made_kallsyms made;
	struct kallsyms *kallsyms;
	uint64_t etext = 0;
	struct symtab *tab;

	make_kallsyms(layout, &made);
	kallsyms = find_in(made.bytes, made.size_bytes, MADE_TEXT, NULL);
	tab = decode(kallsyms, wanted, sizeof(wanted) / sizeof(wanted[0]));
	for (unsigned i = 0; i < made.n; i++)
		if (strcmp(made.symbols[i].name, "_etext") == 0)
			etext = made.symbols[i].address;
	check_u64(count_functions(&made, tab), layout->n_functions, "functions have their names");
	check_u64(symtab_count(tab), layout->n_functions + 5, "the table has nothing else");
	check_string(name_at(tab, MADE_TEXT), "startup_64", "no label of the linker script");
	check_string(name_at(tab, MADE_TEXT + 0x44), "__x64_sys_getpid", "a system call's alias");
	check_string(name_at(tab, MADE_TEXT + 0x84), "__memcpy", "not the weak alias");
	check_string(name_at(tab, etext), "none", "no function behind _etext");
	check_init(tab, "all marks");
	check_string(name_at(tab, 0x1fb40), "none", "a per-cpu value has no name");
	check_string(name_at(tab, 0x1fc00), "none", "a per-cpu value of another type");
	check_string(name_at(tab, MADE_RODATA + 0xb00000), "none", "code outside of the text");
	check(wanted[0].address == MADE_RODATA + 0xa00040 && wanted[0].type == 'D', "init_task");
	check(wanted[1].address == MADE_RODATA + 0xa00000, "the global one of two modules");
	check(wanted[2].address == 0x1fb40 && wanted[2].type == 'A', "a per-cpu value");
	check(wanted[3].address == 0 && wanted[3].type == 'A', "a per-cpu value that is 0");
	check(wanted[4].address == 0 && !wanted[4].type, "a symbol that does not exist");
	check(wanted[5].address == MADE_TEXT && wanted[5].type == 'T', "_text");
	check(!wanted[6].type, "the empty name");
	symtab_destroy(tab);
	kallsyms_destroy(kallsyms);
	made_kallsyms_deinit(&made);
}

/* Functions end with the executable range without _etext, and start at _stext without _text. */
static void test_missing_marks(struct made_layout layout)
{
	struct made_kallsyms made;
	struct symtab_entry last;
	struct kallsyms *kallsyms;
	struct symtab *tab;

	layout.left_out = "_etext";
	make_kallsyms(&layout, &made);
	kallsyms = find_in(made.bytes, made.size_bytes, MADE_TEXT, NULL);
	if (!check(kallsyms && !kallsyms->marks[KALLSYMS_ETEXT], "no _etext: found"))
		return;
	tab = decode(kallsyms, NULL, 0);
	check_u64(count_functions(&made, tab), layout.n_functions, "functions have their names");
	last = symtab_at(tab, symtab_count(tab) - 3); /* before the two of init */
	check_u64(last.end - last.start, 256 << 10, "the last function has a limited size");
	check_init(tab, "no _etext");
	symtab_destroy(tab);
	kallsyms_destroy(kallsyms);

	kallsyms = find_in(made.bytes, made.size_bytes, 0, NULL);
	tab = decode(kallsyms, NULL, 0);
	check_init(tab, "nothing known of the code");
	symtab_destroy(tab);
	kallsyms_destroy(kallsyms);
	made_kallsyms_deinit(&made);

	layout.left_out = "_text";
	make_kallsyms(&layout, &made);
	kallsyms = find_in(made.bytes, made.size_bytes, MADE_TEXT, NULL);
	check(kallsyms && kallsyms_text(kallsyms) == MADE_TEXT, "no _text: _stext");
	kallsyms_destroy(kallsyms);
	made_kallsyms_deinit(&made);
}

/* --- broken tables ---------------------------------------------------------------------------- */

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
	check_u64(accepted, 0, "found in a part of the tables");
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
	struct kallsyms_input input;

	make_kallsyms(layout, &made);
	input = (struct kallsyms_input){ .bytes = made.bytes,
					 .present_bytes = made.end,
					 .size_bytes = made.end,
					 .address = MADE_RODATA,
					 .image_start = MADE_IMAGE_START,
					 .text_start = MADE_TEXT };
	work_set_end(always_over, NULL);
	error_destroy(kallsyms_find(&input, &kallsyms));
	work_set_end(NULL, NULL);
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
	for (unsigned i = 0; i < n_made_layouts; i++)
		test_layout(&made_layouts[i]);
	for (unsigned i = 0; i < n_made_layouts; i++)
		test_left_out(&made_layouts[i]);
	test_short(made_layouts[6]);
	test_short(made_layouts[10]);
	test_short(made_layouts[13]);
	test_short(made_layouts[11]);
	test_short(made_layouts[14]);
	test_decode(&made_layouts[2]);
	test_decode(&made_layouts[12]);
	test_missing_marks(made_layouts[12]);
	for (unsigned i = 0; i + 1 < n_made_layouts; i++)
		test_broken(&made_layouts[i]);
	for (unsigned i = 0; i + 1 < n_made_layouts; i += 7)
		test_random(&made_layouts[i]);
	test_over(&made_layouts[2]);
	test_hostile();
	return tap_done();
}
