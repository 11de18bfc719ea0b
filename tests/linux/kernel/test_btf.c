/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF blobs, right and broken; every blob ends where its allocation ends. */
#include "config.h"

#include "linux/kernel/btf.h"

#include <stdlib.h>

#include "tests/support/make_btf.h"
#include "tests/support/tap.h"

struct opened {
	uint8_t *blob;
	size_t bytes;
	struct btf btf;
	struct btf_want want;
	enum btf_result result;
};

static const char *result_name(enum btf_result result)
{
	static const char *const names[] = { "ok", "damaged", "none", "no memory" };

	return names[result];
}

/* Takes MAKE. Looks for structs called "wanted". */
static void open_made(struct opened *opened, struct make_btf *make)
{
	opened->blob = make_btf_blob(make, &opened->bytes);
	make_btf_destroy(make);
	opened->want = (struct btf_want){ .name = "wanted" };
	opened->result = btf_init(&opened->btf, opened->blob, opened->bytes, &opened->want, 1, NULL);
}

static void close_made(struct opened *opened)
{
	btf_deinit(&opened->btf);
	free(opened->blob);
}

static void open_text(struct opened *opened, const char *text)
{
	struct make_btf *make = make_btf_create();

	make_btf_text(make, text);
	open_made(opened, make);
}

/* A member as "offset in bits", a bitfield as "offset:width", or "none". */
static const char *where(struct opened *opened, uint32_t type, const char *path)
{
	static char text[64];
	struct btf_member member;

	if (!btf_find_member(&opened->btf, type, path, strlen(path), &member))
		return "none";
	snprintf(text, sizeof(text), member.width_bits ? "%" PRIu64 ":%u" : "%" PRIu64,
		 member.offset_bits, member.width_bits);
	return text;
}

static void test_every_kind(void)
{
	struct make_btf *make = make_btf_create();
	struct opened opened;

	make_btf_every_kind(make);
	make_btf_text(make, "struct wanted 8 { u32 a @4; }");
	open_made(&opened, make);
	check_string(result_name(opened.result), "ok", "a blob with every kind of type is read");
	check_u64(opened.btf.count, 5 + 19 + 1, "number of types");
	check_u64(opened.want.found, 1, "a struct after all kinds is found");
	check_u64(opened.want.ids[0], 25, "the struct after all kinds has its number");
	check_string(where(&opened, 25, "a"), "32", "the struct after all kinds has its member");
	close_made(&opened);
}

static void test_anonymous(void)
{
	struct opened opened;
	uint32_t id;

	open_text(&opened, "struct qstr 16 { union 8 { struct 8 { u32 hash @0; u32 len @4; } @0;"
			   "                            u64 hash_len @0; } @0; ptr name @8; }"
			   "struct wanted 64 { u32 flags @0;"
			   "  union 16 { qstr __d_name @0; const qstr d_name @0; } @16;"
			   "  struct 8 { struct 4 { struct 4 { u32 deep @0; } @0; } @4; } @40;"
			   "  u8 tail[8] @56; }");
	id = opened.want.ids[0];
	check_string(result_name(opened.result), "ok", "a struct with anonymous members is found");
	check_string(where(&opened, id, "flags"), "0",
		     "a member before the anonymous ones is found");
	check_string(where(&opened, id, "d_name"), "128", "d_name has its offset");
	check_string(where(&opened, id, "d_name.name"), "192", "d_name.name has its offset");
	check_string(where(&opened, id, "d_name.len"), "160", "d_name.len has its offset");
	check_string(where(&opened, id, "d_name.hash_len"), "128",
		     "d_name.hash_len has its offset");
	check_string(where(&opened, id, "deep"), "352", "a member three levels down is found");
	check_string(where(&opened, id, "tail"), "448",
		     "a member after anonymous members is found");
	check_string(where(&opened, id, "tai"), "none", "a prefix of a member's name is not found");
	check_string(where(&opened, id, "tails"), "none",
		     "a name that begins with a member's name is not found");
	check_string(where(&opened, id, "len"), "none", "a search does not enter a named member");
	check_string(where(&opened, id, "flags.x"), "none", "a number has no members");
	check_string(where(&opened, id, "d_name."), "none", "an empty name is not found");
	check_string(where(&opened, id, ""), "none", "an empty path is not found");
	check_string(where(&opened, 0, "flags"), "none", "void has no members");
	check_string(where(&opened, 4000000000U, "flags"), "none",
		     "a type that does not exist has no members");
	close_made(&opened);
}

static void test_bitfields(void)
{
	struct make_btf *make = make_btf_create();
	struct opened opened;
	uint32_t id, old;

	old = make_btf_int(make, "old", 4, 3, 2);
	make_btf_text(make,
		      "struct wanted 6 { u16 sp_offset @0; u16 bp_offset @2; u32 sp_reg @4.0:4;"
		      "  u32 bp_reg @4.4:4; u32 type @4.8:3; u32 signal @4.11:1; }");
	make_btf_type(make, "old_style", MAKE_STRUCT, 2, 8);
	make_btf_words(make, 6, make_btf_name(make, "whole"), (uint32_t)3, (uint32_t)0,
		       make_btf_name(make, "part"), old, (uint32_t)40);
	open_made(&opened, make);
	id = opened.want.ids[0];
	check_string(where(&opened, id, "bp_offset"), "16",
		     "a member that fills its bytes is no bitfield");
	check_string(where(&opened, id, "sp_reg"), "32:4", "sp_reg is a bitfield");
	check_string(where(&opened, id, "bp_reg"), "36:4", "bp_reg is a bitfield");
	check_string(where(&opened, id, "type"), "40:3", "type is a bitfield");
	check_string(where(&opened, id, "signal"), "43:1", "signal is a bitfield");
	check_string(where(&opened, id + 1, "whole"), "0",
		     "in the old encoding, a member that fills its bytes is no bitfield");
	check_string(where(&opened, id + 1, "part"), "42:3",
		     "in the old encoding, a bitfield is read");
	close_made(&opened);
}

static void test_sizes(void)
{
	struct make_btf *make = make_btf_create();
	uint32_t chain, array, matrix, huge, big, pointer, forward;
	struct opened opened;
	uint64_t bytes = 7;

	make_btf_text(make, "struct wanted 24 { u64 a @0; }");
	chain = make_btf_find(make, "wanted");
	for (unsigned kind = MAKE_TYPEDEF; kind <= MAKE_RESTRICT; kind++)
		chain = make_btf_type(make, kind == MAKE_TYPEDEF ? "t" : NULL, kind, 0, chain);
	chain = make_btf_type(make, "tag", MAKE_TYPE_TAG, 0, chain);
	array = make_btf_array(make, chain, 5);
	matrix = make_btf_array(make, array, 3);
	huge = make_btf_array(make, make_btf_array(make, array, 65536), 65536);
	big = make_btf_type(make, "big", MAKE_STRUCT, 0, UINT32_MAX);
	big = make_btf_array(make, big, UINT32_MAX);
	pointer = make_btf_type(make, NULL, MAKE_PTR, 0, chain);
	forward = make_btf_type(make, "forward", MAKE_FWD, 0, 0);
	open_made(&opened, make);

	check(btf_size(&opened.btf, chain, &bytes) && bytes == 24, "typedefs: %" PRIu64, bytes);
	check_string(where(&opened, chain, "a"), "0", "a member is found through typedefs");
	check(btf_size(&opened.btf, array, &bytes) && bytes == 120, "array: %" PRIu64, bytes);
	check(btf_size(&opened.btf, matrix, &bytes) && bytes == 360, "matrix: %" PRIu64, bytes);
	check(btf_size(&opened.btf, pointer, &bytes) && bytes == 8, "pointer: %" PRIu64, bytes);
	check(btf_size(&opened.btf, big, &bytes) && bytes == 0xfffffffe00000001,
	      "2^32-1 of 2^32-1: %" PRIu64, bytes);
	bytes = 7;
	check(!btf_size(&opened.btf, huge, &bytes), "an array of 2^32 * 5 elements has no size");
	check(!btf_size(&opened.btf, forward, &bytes),
	      "a struct that is only declared has no size");
	check(!btf_size(&opened.btf, 0, &bytes), "void has no size");
	check(!btf_size(&opened.btf, UINT32_MAX, &bytes), "a type that does not exist has no size");
	check_u64(bytes, 7, "a failure leaves the size untouched");
	close_made(&opened);
}

/* Every cycle of types ends. */
static void test_cycles(void)
{
	struct make_btf *make = make_btf_create();
	uint32_t self, a, b, deep, array, nest, alone;
	struct opened opened;
	uint64_t bytes;

	self = make_btf_type(make, "self", MAKE_TYPEDEF, 0, 6);
	a = make_btf_type(make, "a", MAKE_TYPEDEF, 0, 8);
	b = make_btf_type(make, NULL, MAKE_CONST, 0, a);
	deep = 1;
	for (unsigned i = 0; i < 40; i++)
		deep = make_btf_type(make, "deep", MAKE_TYPEDEF, 0, deep);
	array = make_btf_array(make, deep + 2, 2);
	alone = make_btf_array(make, array, 2) + 1;
	make_btf_array(make, alone, 1);
	/* The struct has itself twice as anonymous members: 2^32 paths of 32 steps. */
	nest = make_btf_type(make, "wanted", MAKE_STRUCT, 2, 8);
	make_btf_words(make, 6, (uint32_t)0, nest, (uint32_t)0, (uint32_t)0, nest, (uint32_t)0);
	open_made(&opened, make);

	check_string(result_name(opened.result), "ok", "cycles of typedefs do not damage the walk");
	check(!btf_size(&opened.btf, self, &bytes), "a typedef of itself has no size");
	check(!btf_size(&opened.btf, a, &bytes) && !btf_size(&opened.btf, b, &bytes),
	      "typedefs of each other have no size");
	check(!btf_size(&opened.btf, deep, &bytes), "40 typedefs are too many");
	check(btf_size(&opened.btf, deep - 20, &bytes) && bytes == 1, "20 typedefs are followed");
	check(!btf_size(&opened.btf, array, &bytes), "arrays of each other have no size");
	check(!btf_size(&opened.btf, alone, &bytes), "an array of itself has no size");
	check_string(where(&opened, nest, "x"), "none",
		     "a struct that contains itself twice is searched with a limit");
	check(opened.btf.damaged, "a search that reaches the depth limit counts as damage");
	check_u64(opened.btf.steps, 0, "a search ends when its steps are used up");
	close_made(&opened);
}

static void test_same_names(void)
{
	struct opened opened;

	open_text(&opened, "struct wanted 1 { u8 a @0; } union wanted 2 { u16 a @0; }"
			   "struct other 1 { u8 a @0; } struct wanted2 3 { u8 a @0; }"
			   "struct wante 3 { u8 a @0; }");
	check_u64(opened.want.found, 2, "two structs of one name are found");
	check(opened.want.ids[0] == 6 && opened.want.ids[1] == 7,
	      "structs of one name are found in their order");
	close_made(&opened);
	open_text(&opened, "struct wanted 1 {} struct wanted 2 {} struct wanted 3 {}"
			   "struct wanted 4 {} struct wanted 5 {} struct wanted 6 {}");
	check_u64(opened.want.found, BTF_MAX_SAME_NAMES,
		  "only four of six structs of one name are kept");
	close_made(&opened);
}

/* Reads a blob of which one word of the header is changed, the one at AT. */
static void check_header(const char *what, unsigned at, uint32_t value, const char *wanted)
{
	struct opened opened;
	struct btf btf;
	struct btf_want want = { .name = "wanted" };
	enum btf_result result;

	open_text(&opened, "struct wanted 8 { u32 a @4; }");
	make_btf_put(opened.blob + at, value);
	result = btf_init(&btf, opened.blob, opened.bytes, &want, 1, NULL);
	check(strcmp(result_name(result), wanted) == 0, "%s: %s (expected %s)", what,
	      result_name(result), wanted);
	if (result == BTF_OK || result == BTF_DAMAGED)
		btf_deinit(&btf);
	close_made(&opened);
}

static void test_header(void)
{
	struct opened opened;
	uint32_t types, strings;

	open_text(&opened, "struct wanted 8 { u32 a @4; }");
	types = opened.btf.types_bytes;
	strings = opened.btf.strings_bytes;
	close_made(&opened);
	check_header("unchanged", 0, 0x0001eb9f, "ok");
	check_header("magic", 0, 0x0001eb9e, "none");
	check_header("magic, other byte order", 0, 0x00019feb, "none");
	check_header("version 2", 0, 0x0002eb9f, "none");
	check_header("flags", 0, 0x0101eb9f, "none");
	check_header("header of 23 bytes", 4, 23, "none");
	check_header("header beyond the end", 4, 24 + types + strings + 1, "none");
	check_header("header of 2^32-1", 4, UINT32_MAX, "none");
	check_header("types at 4: beyond the strings", 8, 4, "none");
	check_header("types at 2^32-1", 8, UINT32_MAX, "none");
	check_header("types' length 2^32-1", 12, UINT32_MAX, "none");
	check_header("types into the strings", 12, types + 4, "none");
	check_header("no types", 12, 0, "ok");
	check_header("types cut", 12, types - 4, "damaged");
	check_header("types' length odd", 12, types - 1, "damaged");
	check_header("strings at 2^32-1", 16, UINT32_MAX, "none");
	check_header("strings one further", 16, types + 1, "none");
	check_header("strings begin in the types", 16, types - 1, "none");
	check_header("strings' length 2^32-1", 20, UINT32_MAX, "none");
	check_header("no strings", 20, 0, "none");
	check_header("strings end in a name", 20, strings - 1, "none");
}

/* A longer header is skipped. A layout of kinds makes unknown kinds known. */
static void test_longer_header(void)
{
	struct make_btf *make = make_btf_create();
	uint8_t *blob, *longer;
	size_t bytes;
	struct btf btf;
	struct btf_want want = { .name = "wanted" };
	enum btf_result result;

	make_btf_type(make, "new", 20, 2, 8); /* 4 bytes once and 4 each of two */
	make_btf_words(make, 3, (uint32_t)1, (uint32_t)2, (uint32_t)3);
	make_btf_text(make, "struct wanted 8 { u32 a @4; }");
	blob = make_btf_blob(make, &bytes);
	make_btf_destroy(make);
	result = btf_init(&btf, blob, bytes, &want, 1, NULL); /* before btf.count is read */
	check(result == BTF_DAMAGED && btf.count == 5 && !want.found,
	      "an unknown kind ends the walk: %" PRIu32 " types", btf.count);
	btf_deinit(&btf);

	longer = calloc(1, bytes + 8 + 84);
	if (!longer)
		exit(99);
	memcpy(longer, blob, 24);
	memcpy(longer + 32, blob + 24, bytes - 24);
	make_btf_put(longer + 4, 32);
	check(btf_init(&btf, longer, bytes + 8, &want, 1, NULL) == BTF_DAMAGED && btf.count == 5,
	      "a longer header without a layout of kinds is accepted");
	btf_deinit(&btf);
	make_btf_put(longer + 24, bytes - 24);
	make_btf_put(longer + 28, 84);
	longer[bytes + 8 + 80] = longer[bytes + 8 + 81] = 4;
	check(btf_init(&btf, longer, bytes + 8 + 84, &want, 1, NULL) == BTF_OK && want.found == 1,
	      "the layout of kinds tells their sizes");
	btf_deinit(&btf);
	make_btf_put(longer + 28, 83);
	check(btf_init(&btf, longer, bytes + 8 + 84, &want, 1, NULL) == BTF_DAMAGED,
	      "a layout that ends within the kind does not describe it");
	btf_deinit(&btf);
	make_btf_put(longer + 28, 85);
	check(btf_init(&btf, longer, bytes + 8 + 84, &want, 1, NULL) == BTF_NONE,
	      "a layout that ends outside the blob is refused");
	free(longer);
	free(blob);
}

static void test_broken_types(void)
{
	struct make_btf *make = make_btf_create();
	struct opened opened;

	make_btf_text(make, "struct wanted 8 { u32 a @4; }");
	make_btf_type(make, "wanted", MAKE_STRUCT, 0xffffff, 8);
	open_made(&opened, make);
	check(opened.result == BTF_DAMAGED && opened.want.found == 1,
	      "2^24-1 members: %s, %u found", result_name(opened.result), opened.want.found);
	check_string(where(&opened, opened.want.ids[0], "a"), "32",
		     "the types before a damaged one are found");
	close_made(&opened);

	make = make_btf_create();
	make_btf_type(make, NULL, 0, 0, 8);
	make_btf_text(make, "struct wanted 8 { u32 a @4; }");
	open_made(&opened, make);
	check(opened.result == BTF_DAMAGED && !opened.want.found, "kind 0 is refused");
	close_made(&opened);

	/* The last type's members end 4 bytes after the types, where the strings are. */
	open_text(&opened, "struct wanted 8 { u32 a @4; }");
	make_btf_put(opened.blob + 12, opened.btf.types_bytes - 4);
	btf_deinit(&opened.btf);
	opened.result = btf_init(&opened.btf, opened.blob, opened.bytes, &opened.want, 1, NULL);
	check(opened.result == BTF_DAMAGED && !opened.want.found && opened.btf.count == 5,
	      "members cut: %" PRIu32 " types", opened.btf.count);
	close_made(&opened);

	/* Names that lie outside, of a struct and of a member. */
	make = make_btf_create();
	make_btf_type(make, "x", MAKE_STRUCT, 2, 8);
	make_btf_words(make, 6, UINT32_MAX, (uint32_t)3, (uint32_t)0, make_btf_name(make, "b"),
		       (uint32_t)3, (uint32_t)32);
	open_made(&opened, make);
	make_btf_put(opened.blob + 24 + opened.btf.starts[5] + 12, opened.btf.strings_bytes);
	check_string(where(&opened, 6, "b"), "32",
		     "a member beside one whose name lies outside is found");
	close_made(&opened);
}

/* Every prefix of a blob, in an allocation of its own; then every byte changed. */
static void test_truncated(void)
{
	static const uint8_t changes[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	unsigned accepted = 0, changed = 0;
	struct make_btf *make = make_btf_create();
	struct btf_want want = { .name = "wanted" };
	uint8_t *blob, *copy;
	struct btf_member member;
	struct opened opened;
	uint64_t size;
	struct btf btf;
	size_t bytes;

	make_btf_every_kind(make);
	make_btf_text(make,
		      "struct wanted 8 { union 4 { u32 a @0; u32 c @0.3:2; } @4; u8 d[3] @1; }");
	open_made(&opened, make);
	blob = opened.blob;
	bytes = opened.bytes;
	for (size_t n = 0; n < bytes; n++) {
		copy = malloc(n ? n : 1);
		if (!copy)
			exit(99);
		memcpy(copy, blob, n);
		accepted += btf_init(&btf, copy, n, &want, 1, NULL) != BTF_NONE;
		free(copy);
	}
	check_u64(accepted, 0, "prefixes taken for a blob");
	for (size_t at = 0; at < bytes * sizeof(changes); at++) {
		uint8_t old = blob[at / sizeof(changes)];

		blob[at / sizeof(changes)] = changes[at % sizeof(changes)];
		if (btf_init(&btf, blob, bytes, &want, 1, NULL) != BTF_NONE) {
			for (uint32_t id = 0; id <= btf.count + 1; id++) {
				changed += btf_size(&btf, id, &size);
				changed += btf_find_member(&btf, id, "a", 1, &member);
				changed += btf_find_member(&btf, id, "nope", 4, &member);
			}
			btf_deinit(&btf);
		}
		blob[at / sizeof(changes)] = old;
	}
	check(changed > 10000, "every byte changed: %u answers", changed);
	check_string(where(&opened, opened.want.ids[0], "a"), "32", "the unchanged blob is read");
	close_made(&opened);
}

static void test_limits(void)
{
	size_t most = BTF_MAX_TYPES + 10, bytes = 24 + 12 * most + 1;
	struct btf_want want = { .name = "wanted" };
	uint8_t *blob = calloc(1, BTF_MAX_BYTES + 1);
	struct btf btf;

	if (!blob)
		exit(99);
	memcpy(blob, "\x9f\xeb\x01\x00", 4);
	make_btf_put(blob + 4, 24);
	make_btf_put(blob + 12, 12 * most);
	make_btf_put(blob + 16, 12 * most);
	make_btf_put(blob + 20, 1);
	for (size_t i = 0; i < most; i++)
		make_btf_put(blob + 24 + 12 * i + 4, MAKE_PTR << 24);
	check(btf_init(&btf, blob, bytes, &want, 1, NULL) == BTF_DAMAGED && btf.count == BTF_MAX_TYPES,
	      "more types than allowed: %" PRIu32, btf.count);
	btf_deinit(&btf);
	make_btf_put(blob + 20, BTF_MAX_BYTES - 24 - 12 * most);
	check(btf_init(&btf, blob, BTF_MAX_BYTES, &want, 1, NULL) == BTF_DAMAGED,
	      "a blob of 32 MiB is read");
	btf_deinit(&btf);
	check(btf_init(&btf, blob, BTF_MAX_BYTES + 1, &want, 1, NULL) == BTF_NONE,
	      "a blob with one byte more is refused");
	free(blob);
}

int main(void)
{
	test_every_kind();
	test_anonymous();
	test_bitfields();
	test_sizes();
	test_cycles();
	test_same_names();
	test_header();
	test_longer_header();
	test_broken_types();
	test_truncated();
	test_limits();
	return tap_done();
}
