/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why some addresses have no name, by what is known of their space. Processes: test_names.c.
 */
#include "config.h"

#include "profile/names.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"

static struct frames *frames;
static struct names *names;

static struct space *make_space(void)
{
	struct space *space;

	must(space_create(&space));
	return space;
}

/* An image with FUNCTION, of 16 bytes, at 0x100. FUNCTION NULL: without. */
static struct image *make_image(const char *name, const char *function)
{
	struct image *image;

	must(image_create(name, &image));
	if (!function)
		return image;
	must(symtab_create(&image->symtab));
	must(symtab_add(image->symtab,
			&(struct symbol_definition){ .start = 0x100,
						     .size_bytes = 16,
						     .rank = SYMBOL_GLOBAL,
						     .name = function,
						     .name_bytes = strlen(function) }));
	must(symtab_seal(image->symtab));
	return image;
}

/* Maps the first 4 KiB of the image at START. */
static void add(struct space *space, struct image *image, uint64_t start)
{
	const struct mapping mapping = { .start = start,
					 .end = start + 0x1000,
					 .bias = start,
					 .image = image,
					 .kind = image ? MAPPING_CODE : MAPPING_ANONYMOUS };

	must(space_add(space, &mapping));
}

static void check_name(const struct space *space, uint64_t address, bool by_offset,
		       const char *name, enum name_quality quality)
{
	const struct name_answer *answer =
		names_find(names, space, address, FRAME_KIND_USERLAND, by_offset, 1);

	check_string(frames_get(frames, answer->frame)->name, name, "name of the frame");
	check_u64(answer->quality, quality, name);
}

static void check_cause(const struct space *space, uint64_t address, bool by_offset,
			enum unknown_cause cause, const char *what)
{
	for (int i = 0; i < 2; i++) { /* the second time out of the cache */
		const struct name_answer *answer =
			names_find(names, space, address, FRAME_KIND_USERLAND, by_offset, 1);

		check(answer->quality != NAME_SYMBOL, "%s: no name of its own", what);
		check_u64(answer->cause, cause, what);
	}
}

static void test_names(void)
{
	struct space *space = make_space();
	struct image *image = make_image("libz.so.1", "deflate");

	add(space, image, 0x10000);
	check_name(space, 0x10100, true, "deflate", NAME_SYMBOL);
	check_name(space, 0x1010f, true, "deflate", NAME_SYMBOL);
	check_name(space, 0x10200, true, "libz.so.1+0x200", NAME_OFFSET);
	check_name(space, 0x10210, false, "[unknown]", NAME_UNKNOWN);
	check_name(space, 0x20000, true, "[unknown]", NAME_UNKNOWN);
	image_unref(image);
	space_destroy(space);
}

static void test_causes(void)
{
	struct space *space = make_space(), *empty = make_space();
	struct image *named = make_image("libz.so.1", "deflate"),
		     *bare = make_image("stripped", NULL), *torn = make_image("swapped", NULL);

	torn->incomplete = true;
	add(space, named, 0x10000);
	add(space, bare, 0x20000);
	add(space, torn, 0x30000);
	add(space, NULL, 0x40000);
	check_cause(NULL, 0x10100, false, UNKNOWN_NO_PROCESS, "nobody knows the process");
	check_cause(empty, 0x10100, true, UNKNOWN_NOT_PRESENT, "a process that was not read");
	check_cause(empty, 0x10110, false, UNKNOWN_NO_SYMBOLS, "a guest without -k");
	check_cause(space, 0x10200, true, UNKNOWN_BETWEEN, "between functions");
	check_cause(space, 0x20100, true, UNKNOWN_NO_SYMBOLS, "a stripped file");
	check_cause(space, 0x30100, true, UNKNOWN_NOT_PRESENT, "a file with missing pages");
	check_cause(space, 0x40100, true, UNKNOWN_JIT, "code compiled at run time is [jit]");
	check_cause(space, 0x50100, true, UNKNOWN_NO_AREA, "outside all areas");
	image_unref(named);
	image_unref(bare);
	image_unref(torn);
	space_destroy(space);
	space_destroy(empty);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	must(names_create(frames, &names));
	test_names();
	test_causes();
	names_destroy(names);
	frames_destroy(frames);
	return tap_done();
}
