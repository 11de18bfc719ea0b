/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ORC tables from bytes: every layout, any order, and bytes that are no table. The tables are
 * written as a kernel has them: words relative to their own address, and entries of 6 bytes.
 */
#include "config.h"

#include "stack.h"
#include "unwind/orc_table.h"

#define TEXT       UINT64_C(0xffffffff81000000)
#define TEXT_BYTES 0x10000
#define IPS        UINT64_C(0xffffffff82000000)
#define MAX_N      4096

static int32_t ips[MAX_N];
static uint8_t entries[MAX_N][ORC_ENTRY_BYTES];
static size_t n;

static void add_entry(uint64_t address, int16_t sp_offset, int16_t bp_offset, unsigned flags)
{
	const uint16_t words[] = { (uint16_t)sp_offset, (uint16_t)bp_offset, (uint16_t)flags };

	ips[n] = (int32_t)(address - (IPS + 4 * n));
	for (size_t i = 0; i < 3; i++) {
		entries[n][2 * i] = (uint8_t)words[i];
		entries[n][2 * i + 1] = (uint8_t)(words[i] >> 8);
	}
	n++;
}

static struct xtop_error *create(enum orc_version version, struct orc **orcp)
{
	const struct orc_source source = {
		.ips = ips,
		.entries = entries,
		.n = n,
		.ips_address = IPS,
		.text_start = TEXT,
		.text_end = TEXT + TEXT_BYTES,
	};
	const struct orc_layout layout = orc_layout_of(version);

	return orc_create(&source, &layout, orcp);
}

static void check_row(const struct orc *orc, uint64_t address, const struct orc_row *want,
		      const char *name)
{
	const struct orc_row *got = orc_find(orc, address);

	check(got && memcmp(got, want, sizeof(*got)) == 0,
	      "%s: type %d, sp %d%+d, bp %d%+d, signal %d (expected %d, %d%+d, %d%+d, %d)", name,
	      got ? got->type : -1, got ? got->sp_reg : -1, got ? got->sp_offset : 0,
	      got ? got->bp_reg : -1, got ? got->bp_offset : 0, got ? got->signal : -1, want->type,
	      want->sp_reg, want->sp_offset, want->bp_reg, want->bp_offset, want->signal);
}

/*
 * A table's entries in the bits of each layout. Flags are made by hand, from the kernel's struct
 * orc_entry:
 *
 *                     V1      V2      V3      V4
 *   call, sp + 16     0x0015  0x0015  0x0215  0x0283   bp at sp - 16 (PREV_SP 1; V4 8)
 *   regs              0x0105  0x0505  0x0b05  0x0b03
 *   partial           0x0205  0x0605  0x0c05  0x0c03
 *   end               0x0400  0x0800  0x0100  0x0100
 *   nothing           0x0000  0x0000  0x0000  0x0000
 *   indirect          0x0009  0x0009  0x0209  0x0209   SP_INDIRECT
 *   indirect          0x0008  0x0008  0x0208  0x020a   BP_INDIRECT
 */
static void test_layouts(void)
{
	static const uint16_t flags[4][7] = {
		{ 0x0015, 0x0105, 0x0205, 0x0400, 0x0000, 0x0009, 0x0008 },
		{ 0x0015, 0x0505, 0x0605, 0x0800, 0x0000, 0x0009, 0x0008 },
		{ 0x0215, 0x0b05, 0x0c05, 0x0100, 0x0000, 0x0209, 0x0208 },
		{ 0x0283, 0x0b03, 0x0c03, 0x0100, 0x0000, 0x0209, 0x020a },
	};
	static const struct orc_row want[7] = {
		CALL_BP(16, -16),
		ROW(ORC_REGS, ORC_SP, 0),
		ROW(ORC_PARTIAL, ORC_SP, 0),
		{ .type = ORC_END },
		{ .type = ORC_NOTHING },
		ROW(ORC_CALL, ORC_SP_INDIRECT, 8),
		ROW(ORC_CALL, ORC_BP_INDIRECT, 8),
	};

	for (int version = ORC_V1; version <= ORC_V4; version++) {
		struct orc *orc;
		char name[32];

		n = 0;
		for (size_t i = 0; i < 7; i++)
			add_entry(TEXT + 0x100 * i, want[i].sp_offset, want[i].bp_offset,
				  flags[version - 1][i]);
		must(create((enum orc_version)version, &orc));
		for (size_t i = 0; i < 7; i++) {
			snprintf(name, sizeof(name), "V%d, entry %zu", version, i);
			check_row(orc, TEXT + 0x100 * i + 0xff, &want[i], name);
		}
		orc_destroy(orc);
	}
}

static void test_guess(void)
{
	static const uint16_t call[] = { 0x0005, 0x0005, 0x0205, 0x0203 };
	static const uint16_t regs[] = { 0x0105, 0x0505, 0x0b05, 0x0b03 };

	for (int version = ORC_V1; version <= ORC_V4; version++) {
		enum orc_version guess;

		n = 0;
		for (size_t i = 0; i < 100; i++)
			add_entry(TEXT + i, 8, 0, i % 10 ? call[version - 1] : regs[version - 1]);
		if (check(orc_guess_layout(entries, n, &guess), "V%d is recognized", version))
			check_u64(guess, version, "the version that is guessed");
	}
	memset(entries, 0xff, sizeof(entries));
	check(!orc_guess_layout(entries, MAX_N, &(enum orc_version){ 0 }), "no layout fits");
	check(!orc_guess_layout(entries, 0, &(enum orc_version){ 0 }), "no guess without entries");
}

/* Blocks without an entry and with several; before the first entry, and after the last. */
static void test_places(void)
{
	static const uint64_t places[] = { 0x10, 0x11, 0x3ff, 0x400, 0x2800, 0xffff };
	struct orc *orc;

	n = 0;
	for (size_t i = 0; i < 6; i++)
		add_entry(TEXT + places[i], (int16_t)(8 * i + 8), 0, 0x0205);
	must(create(ORC_V3, &orc));
	check(!orc_find(orc, TEXT) && !orc_find(orc, TEXT + 0xf),
	      "an address before the first entry has no row");
	for (size_t i = 0; i < 6; i++) {
		uint64_t last = i < 5 ? places[i + 1] - 1 : TEXT_BYTES - 1;

		check(orc_find(orc, TEXT + places[i])->sp_offset == (int16_t)(8 * i + 8) &&
			      orc_find(orc, TEXT + last)->sp_offset == (int16_t)(8 * i + 8),
		      "from %#" PRIx64 " to %#" PRIx64, places[i], last);
	}
	check(!orc_find(orc, TEXT + TEXT_BYTES) && !orc_find(orc, TEXT - 1) && !orc_find(orc, 0) &&
		      !orc_find(orc, UINT64_MAX),
	      "an address outside the code has no row");
	orc_destroy(orc);
}

/*
 * Kernels before 5.6 sort at boot, so entries in their files are in any order. The last entry for
 * an address counts; but the end of a section says nothing about the code that starts
 * there.
 */
static void test_order(void)
{
	struct orc *orc;

	n = 0;
	add_entry(TEXT + 0x300, 24, 0, 0x0005);
	add_entry(TEXT + 0x100, 8, 0, 0x0005);
	add_entry(TEXT + 0x200, 16, 0, 0x0005);
	add_entry(TEXT + 0x200, 0, 0, 0x0000);
	must(create(ORC_V1, &orc));
	check(orc_find(orc, TEXT + 0x1ff)->sp_offset == 8 &&
		      orc_find(orc, TEXT + 0x200)->sp_offset == 16 &&
		      orc_find(orc, TEXT + 0x300)->sp_offset == 24,
	      "unsorted entries are sorted");
	orc_destroy(orc);
	n = 0;
	add_entry(TEXT + 0x100, 8, 0, 0x0005);
	add_entry(TEXT + 0x100, 16, 0, 0x0005);
	add_entry(TEXT + 0x200, 16, 0, 0x0005);
	must(create(ORC_V1, &orc));
	check_u64((uint64_t)orc_find(orc, TEXT + 0x100)->sp_offset, 16,
		  "the last entry of an address");
	check_u64(orc->n, 1, "an entry that repeats the one before is not kept");
	orc_destroy(orc);
}

static void check_refused(struct xtop_error *error, struct orc *orc, const char *name)
{
	check(error && !orc, "%s: %s", name, error ? error_message(error) : "accepted");
	error_destroy(error);
	orc_destroy(orc);
}

static void test_refused(void)
{
	struct orc_layout layout = orc_layout_of(ORC_V3);
	struct orc_source source = {
		.ips = ips, .entries = entries, .ips_address = IPS, .n = 1, .text_start = TEXT
	};
	struct orc *orc = NULL;

	n = 0;
	add_entry(TEXT - 1, 8, 0, 0x0205);
	add_entry(TEXT + TEXT_BYTES, 8, 0, 0x0205);
	check_refused(create(ORC_V3, &orc), orc, "only entries outside the code");
	n = 0;
	check_refused(create(ORC_V3, &orc), orc, "no entries");
	add_entry(TEXT + 16, 8, 0, 0x0205); /* a good entry */
	source.text_end = TEXT;
	check_refused(orc_create(&source, &layout, &orc), orc, "no code");
	source.text_end = TEXT + ORC_MAX_TEXT_BYTES + 1;
	check_refused(orc_create(&source, &layout, &orc), orc, "too much code");
	source.text_end = TEXT + TEXT_BYTES;
	source.n = ORC_MAX_ENTRIES + 1;
	check_refused(orc_create(&source, &layout, &orc), orc, "too many entries");
	source.n = 1;
	layout.sp_reg_shift = 13;
	check_refused(orc_create(&source, &layout, &orc), orc, "a register beyond the word");
	layout = orc_layout_of(ORC_V3);
	layout.type_bits = 4;
	check_refused(orc_create(&source, &layout, &orc), orc, "types of four bits");
}

static uint32_t next_random(void)
{
	static uint32_t state = 3;

	state = state * 1664525 + 1013904223;
	return state >> 8;
}

/* Random tables, compared with a search through all entries. Then random bytes. */
static void test_random(void)
{
	static const unsigned distances[] = { 2, 20, 200, 2000 };
	unsigned wrong = 0, taken = 0;

	for (int round = 0; round < 200; round++) {
		uint64_t address = TEXT;
		struct orc *orc;

		n = 0;
		while (n < 300 && address < TEXT + TEXT_BYTES)
			add_entry(address += 1 + next_random() % distances[round % 4],
				  (int16_t)(next_random() % 4 * 8), 0, 0x0205);
		must(create(ORC_V3, &orc));
		for (int i = 0; i < 500; i++) {
			bool near = i % 2 && address - TEXT < TEXT_BYTES;
			uint64_t size = near ? address - TEXT : TEXT_BYTES;
			uint64_t asked = TEXT + next_random() % size;
			const struct orc_row *row = orc_find(orc, asked);
			size_t last = n;

			for (size_t j = 0; j < n; j++)
				if (IPS + 4 * j + (uint64_t)(int64_t)ips[j] <= asked)
					last = j;
			wrong += last == n ? row != NULL
					   : !row || row->sp_offset != entries[last][0];
		}
		orc_destroy(orc);
	}
	check_u64(wrong, 0, "rows of random tables that a search through all entries contradicts");
	for (int round = 0; round < 400; round++) {
		struct orc *orc = NULL;

		n = 1 + next_random() % 200;
		for (size_t i = 0; i < n; i++) {
			ips[i] = (int32_t)((TEXT - IPS) + next_random() % (2 * TEXT_BYTES));
			for (size_t j = 0; j < ORC_ENTRY_BYTES; j++)
				entries[i][j] = (uint8_t)next_random();
		}
		error_destroy(create((enum orc_version)(1 + round % 4), &orc));
		taken += orc != NULL;
		for (int i = 0; orc && i < 100; i++) {
			const struct orc_row *row =
				orc_find(orc, TEXT + next_random() % TEXT_BYTES);

			wrong += row && (row->type > N_ORC_TYPES || row->sp_reg > N_ORC_REGISTERS);
		}
		orc_destroy(orc);
	}
	check(taken > 300, "%u tables of random bytes", taken);
	check_u64(wrong, 0, "rows with an unknown register or type");
}

/* 65,536 different rows: ids have 16 bits. */
static void test_many_rows(void)
{
	const size_t many = 70000;
	int32_t *words = malloc(many * sizeof(*words));
	uint8_t *rows = calloc(many, ORC_ENTRY_BYTES);
	const struct orc_layout layout = orc_layout_of(ORC_V3);
	struct orc_source source = {
		.ips = words, .entries = rows, .ips_address = IPS, .text_start = TEXT
	};
	struct orc *orc = NULL;

	for (size_t i = 0; i < many; i++) {
		words[i] = (int32_t)(TEXT + i - (IPS + 4 * i));
		rows[6 * i] = (uint8_t)i;
		rows[6 * i + 1] = (uint8_t)(i >> 8);
		rows[6 * i + 2] = (uint8_t)(i >> 16);
		rows[6 * i + 4] = 5;
		rows[6 * i + 5] = 2;
	}
	source.text_end = TEXT + many;
	source.n = ORC_MAX_ROWS;
	must(orc_create(&source, &layout, &orc));
	check_u64(orc_find(orc, TEXT + 65534)->sp_offset & 0xffff, 65534,
		  "offset of the last row that fits");
	orc_destroy(orc);
	orc = NULL;
	source.n = many;
	check_refused(orc_create(&source, &layout, &orc), orc, "too many different rows");
	free(words);
	free(rows);
}

int main(void)
{
	test_layouts();
	test_guess();
	test_places();
	test_order();
	test_refused();
	test_random();
	test_many_rows();
	return tap_done();
}
