/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ORC tables in one piece. The unpacked table says the same for every address, also when the code
 * lies elsewhere by then. Pieces that are cut or changed lead nowhere outside.
 */
#include "config.h"

#include <stdlib.h>

#include "orc_rows.h"
#include "stack.h"
#include "unwind/orc_table.h"

#define TEXT       UINT64_C(0xffffffff81000000)
#define SLID       UINT64_C(0xffffffff9a200000) /* that kernel's place after a reboot */
#define TEXT_BYTES 0x10000
#define N          1000

static struct orc *make_tables(void)
{
	static struct orc_entry entries[N];
	struct orc *orc = NULL;

	for (size_t i = 0; i < N; i++)
		entries[i] = (struct orc_entry){
			TEXT + 0x1000 + 17 * i,
			{ .sp_offset = (int16_t)(8 * (i % 50)),
			  .sp_reg = ORC_SP,
			  .type = ORC_CALL },
		};
	must(orc_create_rows(entries, N, TEXT, TEXT + TEXT_BYTES, &orc));
	orc_add_special(orc, ORC_RETPOLINES, TEXT + 0x800, TEXT + 0x900);
	orc_add_special(orc, ORC_TRAMPOLINES, TEXT + 0xa00, TEXT + 0xa40);
	orc_add_special(orc, ORC_HYPERCALLS, TEXT + 0xb00, TEXT + 0xb20);
	return orc;
}

static bool same_row(const struct orc_row *a, const struct orc_row *b)
{
	return !a == !b && (!a || memcmp(a, b, sizeof(*a)) == 0);
}

static void test_whole(const struct orc *orc, const char *pack, size_t size_bytes)
{
	struct orc *again = NULL;
	enum orc_special kind = ORC_LEAVES;
	unsigned wrong = 0;
	uint64_t start;

	must(orc_unpack(pack, size_bytes, SLID, SLID + TEXT_BYTES, &again));
	for (uint64_t i = 0; i < TEXT_BYTES + 16; i++)
		wrong += !same_row(orc_find(orc, TEXT - 8 + i), orc_find(again, SLID - 8 + i));
	check_u64(wrong, 0, "addresses whose row differs after unpacking");
	check(orc_find(again, SLID + 0x1000) && !orc_find(again, TEXT + 0x1000),
	      "the table covers the new addresses only");
	check(orc_find_special(again, SLID + 0x8f0, &kind, &start) && kind == ORC_RETPOLINES &&
		      start == SLID + 0x800,
	      "retpolines are special after unpacking");
	check(orc_find_special(again, SLID + 0xa00, &kind, &start) && kind == ORC_TRAMPOLINES,
	      "trampolines are special after unpacking");
	check(orc_find_special(again, SLID + 0xb1f, &kind, &start) && kind == ORC_HYPERCALLS,
	      "hypercalls, the last kind, are special after unpacking");
	check(!orc_find_special(again, SLID + 0x900, &kind, &start),
	      "ordinary code is not special after unpacking");
	orc_destroy(again);
}

static void test_cut(const char *pack, size_t size_bytes)
{
	struct orc *orc = NULL;
	unsigned taken = 0;

	for (size_t i = 0; i < size_bytes; i++) {
		char *part = malloc(i); /* exactly so large, so that the sanitizer finds reads beyond */

		memcpy(part, pack, i);
		error_destroy(orc_unpack(part, i, TEXT, TEXT + TEXT_BYTES, &orc));
		taken += orc != NULL;
		free(part);
	}
	check_u64(taken, 0, "cut pieces that are accepted");
	error_destroy(orc_unpack(pack, size_bytes, TEXT, TEXT + 2 * TEXT_BYTES, &orc));
	check(!orc, "a table for less code is refused");
	error_destroy(orc_unpack(pack, size_bytes, TEXT, TEXT, &orc));
	check(!orc, "a table for no code is refused");
}

/* Each byte changed in turn: a table that is accepted can be asked for every address. */
static void test_changed(const char *pack, size_t size_bytes)
{
	char *changed = malloc(size_bytes);
	unsigned taken = 0, found = 0;
	uint64_t sum = 0; /* sum of all rows, so that the sanitizer sees each row read */

	memcpy(changed, pack, size_bytes);
	for (size_t i = 0; i < size_bytes; i++) {
		struct orc *orc = NULL;

		changed[i] ^= 0x81;
		error_destroy(orc_unpack(changed, size_bytes, TEXT, TEXT + TEXT_BYTES, &orc));
		changed[i] = pack[i];
		if (!orc)
			continue;
		taken++;
		for (uint64_t at = 0; at < TEXT_BYTES; at += 7) {
			const struct orc_row *row = orc_find(orc, TEXT + at);

			found += row != NULL;
			sum += row ? (uint16_t)row->sp_offset : 0;
		}
		orc_destroy(orc);
	}
	check(taken > 0 && taken < size_bytes && found > 0 && sum > 0,
	      "of %zu pieces with one byte changed %u are accepted, and lead nowhere outside",
	      size_bytes,
	      taken);
	free(changed);
}

int main(void)
{
	struct orc *orc = make_tables();
	size_t size_bytes = orc_pack_bytes(orc);
	char *pack = malloc(size_bytes);

	orc_pack(orc, pack);
	test_whole(orc, pack, size_bytes);
	test_cut(pack, size_bytes);
	test_changed(pack, size_bytes);
	free(pack);
	orc_destroy(orc);
	return tap_done();
}
