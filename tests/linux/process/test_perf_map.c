/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a JIT compiler: lines of all kinds, code that was replaced, missing pages, limits. */
#include "config.h"

#include <stdlib.h>

#include "linux/process/perf_map.h"
#include "tests/support/tap.h"
#include "xtop/base/types.h"

struct text {
	char *bytes;
	uint64_t hole; /* offset of a page that is missing; UINT64_MAX: none */
};

static size_t text_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	const struct text *text = context;

	if (offset >= text->hole && offset < text->hole + GUEST_PAGE_SIZE)
		return 0;
	if (offset < text->hole && size_bytes > text->hole - offset)
		size_bytes = text->hole - offset;
	memcpy(buffer, text->bytes + offset, size_bytes);
	return size_bytes;
}

static struct symtab *read_text(char *bytes, uint64_t size, uint64_t hole)
{
	struct text text = { bytes, hole };
	struct bytes source = { text_read, &text, size };
	struct symtab *tab = NULL;
	struct xtop_error *error = perf_map_read(&source, NULL, &tab);

	if (error)
		check(false, "%s", error_message(error));
	error_destroy(error);
	return tab;
}

static void check_names(const char *what, const char *bytes, const char *want)
{
	struct symtab *tab = read_text((char *)bytes, strlen(bytes), UINT64_MAX);
	char got[1024] = "";

	for (size_t i = 0; tab && i < symtab_count(tab); i++) {
		struct symtab_entry entry = symtab_at(tab, i);

		snprintf(got + strlen(got), sizeof(got) - strlen(got),
			 "%" PRIx64 "-%" PRIx64 " %s;", entry.start, entry.end, entry.name);
	}
	check_string(got, want, what);
	symtab_destroy(tab);
}

static void test_lines(void)
{
	check_names("an empty map", "", "");
	check_names("two lines", "7f00001000 40 LazyCompile:*f /a.js:1\n7F00002000 0x20 g\n",
		    "7f00001000-7f00001040 LazyCompile:*f /a.js:1;7f00002000-7f00002020 g;");
	check_names("code that was compiled again", "1000 40 old\n2000 10 x\n1000 80 new\n",
		    "1000-1080 new;2000-2010 x;");
	check_names("a line that is being written", "1000 40 f\n2000 40 half of a na",
		    "1000-1040 f;");
	check_names("lines that are not well-formed",
		    "\n \n1000\n1000 \n1000 40\n1000 40 \nxyz 40 f\n1000 zz f\n1000 0 f\n"
		    "11112222333344445 10 f\nffffffffffffffff 10 f\n-1 10 f\n2000 10 good\n",
		    "2000-2010 good;");
}

static void test_hole(void)
{
	size_t size = 3 * GUEST_PAGE_SIZE;
	char *bytes = malloc(size + 1);
	struct symtab_entry entry;
	struct symtab *tab;
	uint16_t lines = 0;

	for (size_t at = 0; at + 16 <= size; at += 16)
		snprintf(bytes + at, 17, "%08x 8 ffff\n", 0x1000U + 16U * lines++);
	tab = read_text(bytes, size, UINT64_MAX);
	check(tab && symtab_count(tab) == lines, "a map without holes has all its lines");
	symtab_destroy(tab);
	tab = read_text(bytes, size, GUEST_PAGE_SIZE);
	/* The line after the hole is missing, too: it may have begun in the hole. */
	check(tab && symtab_count(tab) == lines / 3U * 2 - 1, "a map with a hole: %zu lines",
	      tab ? symtab_count(tab) : 0);
	check(tab && symtab_find(tab, 0x1000, &entry) &&
		      symtab_find(tab, 0x1000 + 16 * (lines - 1), &entry),
	      "the lines before and after a hole are read");
	symtab_destroy(tab);
	free(bytes);
}

/* More lines and more bytes than are read. */
static void test_limits(void)
{
	size_t n = PERF_MAP_MAX_SYMBOLS + 1000, size = n * 16;
	char *bytes = malloc(size > PERF_MAP_MAX_BYTES ? size + 1 : PERF_MAP_MAX_BYTES + 17);
	struct symtab *tab;

	for (size_t i = 0; i < n; i++)
		snprintf(bytes + 16 * i, 17, "%08zx 8 ffff\n", 0x1000 + 16 * i);
	tab = read_text(bytes, size, UINT64_MAX);
	check(tab && symtab_count(tab) == PERF_MAP_MAX_SYMBOLS, "a map with too many lines gives as many names as allowed");
	symtab_destroy(tab);
	memset(bytes, 'x', PERF_MAP_MAX_BYTES);
	memcpy(bytes + PERF_MAP_MAX_BYTES, "\n1000 10 f\n", 12);
	tab = read_text(bytes, PERF_MAP_MAX_BYTES + 12, UINT64_MAX);
	check(!tab, "a line after the limit of bytes is not read");
	free(bytes);
}

int main(void)
{
	test_lines();
	test_hole();
	test_limits();
	return tap_done();
}
