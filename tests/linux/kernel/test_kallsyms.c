/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel symbols from whole tables of every layout: how they are found and decoded. */
#include "config.h"

#include "tests/linux/kernel/kallsyms_reader.h"

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
		check_u64(kallsyms->n, made.n, "number of symbols");
		check_u64(compare(kallsyms, &made), made.n, "symbols as they were made");
		check_u64(kallsyms_text(kallsyms), MADE_TEXT, "address of _text");
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
		check_u64(compare(kallsyms, &made), made.n,
			  "symbols of a 32-bit kernel as they were made");
		check_u64(kallsyms_text(kallsyms), (uint32_t)MADE_TEXT,
			  "address of _text in a 32-bit kernel");
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

/* --- tables whose front is left out at first -------------------------------------------------- */

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
		check_u64(left_out.lowest, made.addresses,
			  "the lowest byte that is requested belongs to the addresses");
	else
		check(!left_out.asked || left_out.lowest == made.num - 8,
		      "nothing but the word before the names is requested");
	kallsyms_destroy(kallsyms);
	kallsyms = NULL;

	/* Without front(). */
	memset(left_out.bytes, 0, made.num & ~(size_t)4095);
	input.absent_bytes = made.num & ~(size_t)4095;
	input.front = NULL;
	if (kallsyms_find(&input, &kallsyms))
		exit(99);
	check(!layout->before == !!kallsyms, "%s: found only if addresses are present",
	      layout->what);
	kallsyms_destroy(kallsyms);
	free(left_out.bytes);
	made_kallsyms_deinit(&made);
}

/* --- decoding --------------------------------------------------------------------------------- */

static const char *name_at(const struct symtab *tab, uint64_t address)
{
	struct symtab_entry entry;

	return symtab_find(tab, address, &entry) ? entry.name : "none";
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
	      "%s: init code has its names, and nothing before or after it has", what);
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
	check_u64(symtab_count(tab), layout->n_functions + 5,
		  "the decoded table has nothing but functions");
	check_string(name_at(tab, MADE_TEXT), "startup_64",
		     "_text is no function: the first function has its name");
	check_string(name_at(tab, MADE_TEXT + 0x44), "__x64_sys_getpid",
		     "an alias of a system call has the preferred name");
	check_string(name_at(tab, MADE_TEXT + 0x84), "__memcpy",
		     "a weak alias does not replace a name");
	check_string(name_at(tab, etext), "none", "nothing after _etext is a function");
	check_init(tab, "all marks");
	check_string(name_at(tab, 0x1fb40), "none", "a per-cpu value has no name");
	check_string(name_at(tab, 0x1fc00), "none", "a per-cpu value of another type has no name");
	check_string(name_at(tab, MADE_RODATA + 0xb00000), "none",
		     "code outside of the text has no name");
	check(wanted[0].address == MADE_RODATA + 0xa00040 && wanted[0].type == 'D',
	      "init_task is found with its type");
	check(wanted[1].address == MADE_RODATA + 0xa00000,
	      "the global one of two symbols named modules is found");
	check(wanted[2].address == 0x1fb40 && wanted[2].type == 'A', "a per-cpu value is found");
	check(wanted[3].address == 0 && wanted[3].type == 'A',
	      "a per-cpu value that is 0 is found");
	check(wanted[4].address == 0 && !wanted[4].type,
	      "a symbol that does not exist is not found");
	check(wanted[5].address == MADE_TEXT && wanted[5].type == 'T', "_text is found");
	check(!wanted[6].type, "the empty name is not found");
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
	if (!check(kallsyms && !kallsyms->marks[KALLSYMS_ETEXT], "tables without _etext are found"))
		return;
	tab = decode(kallsyms, NULL, 0);
	check_u64(count_functions(&made, tab), layout.n_functions,
		  "without _etext functions have their names");
	last = symtab_at(tab, symtab_count(tab) - 3); /* before the two of init */
	check_u64(last.end - last.start, 256 << 10,
		  "without _etext the last function has a limited size");
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
	check(kallsyms && kallsyms_text(kallsyms) == MADE_TEXT,
	      "without _text the code begins at _stext");
	kallsyms_destroy(kallsyms);
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
	return tap_done();
}
