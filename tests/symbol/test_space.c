/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces: what answers where mappings overlap, come and go; references to images. */
#include "config.h"

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/symbol/image.h"

/* One function "NAME" of SIZE bytes at 0x100 of the image. */
static struct image *make_image(const char *name, uint64_t size)
{
	struct image *image;

	must(image_create(name, &image));
	must(symtab_create(&image->symtab));
	must(symtab_add(image->symtab, &(struct symbol_definition){ .start = 0x100,
								    .size_bytes = size,
								    .rank = SYMBOL_GLOBAL,
								    .name = name,
								    .name_bytes = strlen(name) }));
	must(symtab_seal(image->symtab));
	return image;
}

static void add(struct space *space, struct image *image, uint64_t start, uint64_t end)
{
	const struct mapping mapping = {
		.start = start,
		.end = end,
		.bias = start,
		.image = image,
		.kind = image ? MAPPING_CODE : MAPPING_ANONYMOUS,
	};

	must(space_add(space, &mapping));
}

static bool is_inside(void *context, const struct mapping *mapping)
{
	const struct mapping *range = context;

	return mapping->start >= range->start && mapping->end <= range->end;
}

/* Removes the mappings that lie wholly in [START, END). */
static void remove_mappings(struct space *space, uint64_t start, uint64_t end)
{
	struct mapping range = { .start = start, .end = end };

	space_remove_if(space, is_inside, &range);
}

/* What is at ADDRESS: "mapping name start"; "-" for what is not there. */
static void check_at(const struct space *space, uint64_t address, const char *wanted)
{
	const struct mapping *mapping;
	struct symtab_entry entry;
	char text[128];
	bool named = space_find_symbol(space, address, &entry, &mapping);
	const char *name = !mapping ? "-" : mapping->image ? mapping->image->name : "[jit]";

	if (named)
		snprintf(text, sizeof(text), "%s %s %" PRIx64, name, entry.name, entry.start);
	else
		snprintf(text, sizeof(text), "%s -", name);
	check_string(text, wanted, "mappings that the space has");
}

static bool is_wide(void *context, const struct mapping *mapping)
{
	(void)context;
	return mapping->end - mapping->start > 0x1000;
}

/* Wide mappings cover many small ones. When the wide ones are removed, the small ones answer. */
static void test_uncovered(void)
{
	struct space *space;
	unsigned found = 0;

	must(space_create(&space));
	for (uint64_t i = 0; i < 200; i++) {
		add(space, NULL, 0x2000 * i, 0x2000 * i + 0x1000);
		add(space, NULL, 0, 0x400000);
	}
	space_remove_if(space, is_wide, NULL);
	for (uint64_t i = 0; i < 200; i++)
		found += space_find(space, 0x2000 * i) && !space_find(space, 0x2000 * i + 0x1000);
	check_u64(found, 200, "mappings found after wide ones over them went");
	space_destroy(space);
}

static void test_empty(void)
{
	struct space *space;

	must(space_create(&space));
	check(!space_find(space, 0) && !space_find(space, UINT64_MAX),
	      "an empty space knows no address");
	check(space_may_be_code(space, 0x1000), "in an empty space anything may be code");
	add(space, NULL, 0x1000, 0x2000);
	check(space_may_be_code(space, 0x1fff) && !space_may_be_code(space, 0x2000),
	      "in a space with mappings only what is mapped may be code");
	check_at(space, 0x1800, "[jit] -");
	space_destroy(space);
	space_destroy(NULL);
}

/* A name is looked up at the image's own address and given at the guest's. */
static void test_bias(void)
{
	struct image *image = make_image("f", 0x10);
	struct space *space;

	must(space_create(&space));
	add(space, image, 0x7f0000001000, 0x7f0000002000);
	add(space, image, 0x7f0000005000, 0x7f0000006000);
	image_unref(image);
	check_at(space, 0x7f0000001100, "f f 7f0000001100");
	check_at(space, 0x7f000000510f, "f f 7f0000005100");
	check_at(space, 0x7f0000005110, "f -");
	check_at(space, 0x7f0000002100, "- -");
	space_destroy(space);
}

/*
 *  old   |------------------|           0x1000 .. 0x3000, "old" at 0x1100 .. 0x2900
 *  new        |-----|                   0x1800 .. 0x2000, "new" at 0x1900 .. 0x1910
 *  apart                       |---|    0x4000 .. 0x5000
 */
static void test_overlap(void)
{
	struct image *old = make_image("old", 0x1800), *new = make_image("new", 0x10);
	struct image *apart = make_image("apart", 0x10);
	struct space *space;

	must(space_create(&space));
	add(space, old, 0x1000, 0x3000);
	add(space, apart, 0x4000, 0x5000);
	add(space, new, 0x1800, 0x2000);
	check_at(space, 0x17ff, "old old 1100");
	check_at(space, 0x1904, "new new 1900");
	check_at(space, 0x1910, "old old 1100");
	check(space_find(space, 0x1910)->image == new, "the newest of many mappings is found");
	check_at(space, 0x2000, "old old 1100");
	check_at(space, 0x4100, "apart apart 4100");
	remove_mappings(space, 0x1800, 0x2000);
	check_at(space, 0x1904, "old old 1100");
	add(space, new, 0x0800, 0x1800);
	check_at(space, 0x0904, "new new 900");
	check_at(space, 0x1104, "old old 1100");
	check(space_find(space, 0x1104)->image == new, "the new mapping reaches into the old one");
	check_at(space, 0x1800, "old old 1100");
	space_destroy(space);
	image_unref(old);
	image_unref(new);
	image_unref(apart);
}

static void test_changes(void)
{
	struct image *image = make_image("f", 0x10);
	struct space *space, *other;
	uint64_t generations[6];
	bool rising = true;

	must(space_create(&space));
	generations[0] = space_generation(space);
	add(space, image, 0x1000, 0x2000);
	generations[1] = space_generation(space);
	add(space, image, 0x3000, 0x4000);
	check_u64(image->n_references, 3, "references of an image with two mappings");
	remove_mappings(space, 0x1000, 0x3fff);
	check_at(space, 0x1100, "- -");
	check_at(space, 0x3100, "f f 3100"); /* this mapping lay in the range only in part */
	check_u64(image->n_references, 2, "references after one mapping was removed");
	generations[2] = space_generation(space);
	space_clear(space);
	check_at(space, 0x3100, "- -");
	check(space_may_be_code(space, 0x3100), "nothing is known after space_clear()");
	check_u64(image->n_references, 1, "references after space_clear()");
	generations[3] = space_generation(space);
	space_destroy(space);
	must(space_create(&other));
	generations[4] = space_generation(other);
	add(other, image, 0x1000, 0x2000);
	generations[5] = space_generation(other);
	for (size_t i = 1; i < 6; i++)
		rising &= generations[i] > generations[i - 1];
	check(rising && generations[0],
	      "every change of a space has another generation, also in another space");
	space_destroy(other);
	check_u64(image->n_references, 1, "references after the space was destroyed");
	image_unref(image);
}

static void test_refused(void)
{
	struct mapping mapping = { .start = 0x1000, .end = 0x1000, .kind = MAPPING_ANONYMOUS };
	struct xtop_error *error;
	struct space *space;

	must(space_create(&space));
	error = space_add(space, &mapping);
	check(error, "a mapping without an extent is refused");
	error_destroy(error);
	for (uint64_t i = 0; i < SPACE_MAX_MAPPINGS; i++)
		add(space, NULL, 0x1000 * i, 0x1000 * i + 0x800);
	mapping = (struct mapping){ .start = UINT64_MAX - 1, .end = UINT64_MAX };
	error = space_add(space, &mapping);
	check(error, "a mapping beyond the limit is refused");
	error_destroy(error);
	check(space_find(space, 0x1000 * 40000 + 0x7ff) &&
		      !space_find(space, 0x1000 * 40000 + 0x800),
	      "mappings up to the limit are kept");
	space_destroy(space);
}

/* Random changes against the definition: the mapping at an address that was added last counts. */
#define ROUND_MAPPINGS 40

static uint32_t next_random(void)
{
	static uint32_t state = 7;

	state = state * 1664525 + 1013904223;
	return state >> 8;
}

static const struct mapping *newest(const struct mapping *list, size_t n, uint64_t address)
{
	for (size_t i = n; i-- > 0;)
		if (address >= list[i].start && address < list[i].end)
			return &list[i];
	return NULL;
}

static size_t remove_inside(struct mapping *list, size_t n, uint64_t start, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (list[i].start < start || list[i].end > end)
			list[kept++] = list[i];
	return kept;
}

static void test_random(void)
{
	struct mapping list[ROUND_MAPPINGS];
	const struct unwind_space *unwind;
	struct space *space;
	unsigned wrong = 0;

	must(space_create(&space));
	unwind = space_for_unwind(space);
	for (int round = 0; round < 300; round++) {
		size_t n = 0;

		space_clear(space);
		for (size_t i = 0; i < ROUND_MAPPINGS; i++) {
			uint64_t start = next_random() % 200;
			uint64_t end = start + 1 + next_random() % 60;

			if (next_random() % 8 == 0) {
				remove_mappings(space, start, end);
				n = remove_inside(list, n, start, end);
				continue;
			}
			list[n] = (struct mapping){ .start = start,
						    .end = end,
						    .file_offset = i,
						    .kind = MAPPING_ANONYMOUS };
			must(space_add(space, &list[n++]));
		}
		for (uint64_t address = 0; address < 270; address++) {
			const struct mapping *got = space_find(space, address);
			const struct mapping *want = newest(list, n, address);
			struct unwind_code code;

			unwind->find(unwind, address, false, &code);
			wrong += code.mapped != (got != NULL) || code.start > address ||
				 code.end <= address || space_find(space, code.start) != got ||
				 space_find(space, code.end - 1) != got;
			wrong += !got != !want || (got && got->file_offset != want->file_offset);
		}
	}
	space_destroy(space);
	check_u64(wrong, 0, "wrong answers of random spaces");
}

int main(void)
{
	test_empty();
	test_uncovered();
	test_bias();
	test_overlap();
	test_changes();
	test_refused();
	test_random();
	return tap_done();
}
