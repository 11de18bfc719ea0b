/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guesses from a few single pages where in a kernel's read-only data the names of its symbols
 * begin, before the data is copied. The bytes before the names are a seventh to a third of all
 * bytes that are read to learn about a kernel. Resolver's thread.
 *
 * Compressed names (kallsyms_find.c has the format) are one entry after the other: a length, and
 * that many bytes. From the right place in a page the lengths lead to the page's end, and mostly
 * the right place is among the first 128 bytes. From any other place they soon lead to a NUL, or to
 * a byte that is no length. In Debian's 5.10, 6.1, 6.12 and 7.3, four of the 1,712 pages before the
 * names pass for names, and nine of the 2,004 pages of names do not.
 *
 * If other pages pass for names, and the tables are not after them, the caller searches
 * everything. If no page passes, the guest is no Linux: this is known before its memory is read.
 */
#include "config.h"

#include "linux/kernel/kallsyms.h"
#include "xtop/base/limit.h"
#include "xtop/base/types.h"

#define PROBE_STEP_BYTES                                                                           \
	(256U << 10) /* distance between pages that are read: Debian's names have 1.3 MB and more */
/* Distance in small kernels: 5,000 names have 50 KB. */
#define PROBE_FINE_BYTES  LIMIT(32U << 10, GUEST_PAGE_SIZE)
#define PROBE_FINE_END    (4U << 20)  /* the data of small kernels ends before this */
#define PROBE_MAX_START   128
#define PROBE_MIN_LENGTH  2  /* a type and a character, unless one token contains both */
#define PROBE_MIN_ENTRIES 80 /* least number of entries in a page; most pages have about 400 */

/* Size of the entry at AT; 0 if no entry can be there. A length of over 127 takes two bytes. */
static size_t probe_entry_bytes(const uint8_t *page, size_t at)
{
	unsigned length = page[at], high;

	if (length < 0x80)
		return length < PROBE_MIN_LENGTH ? 0 : 1 + length;
	high = at + 1 < GUEST_PAGE_SIZE ? page[at + 1] : 1;
	length = (length & 0x7f) | high << 7;
	return !high || length > KALLSYMS_MAX_NAME_BYTES ? 0 : 2 + length;
}

/* Whether the lengths lead from AT to the end of PAGE. */
static bool probe_walk(const uint8_t *page, size_t at)
{
	unsigned entries = 0;
	size_t bytes;

	for (; at < GUEST_PAGE_SIZE; at += bytes, entries++)
		if (!(bytes = probe_entry_bytes(page, at)))
			return false;
	return entries >= PROBE_MIN_ENTRIES;
}

enum probe_result { PROBE_OTHER, PROBE_NAMES, PROBE_ABSENT };

/* Reads the page at offset AT, and guesses whether the page has names. */
static enum probe_result probe_read_page(const struct kallsyms_probe *probe, size_t at)
{
	uint8_t page[GUEST_PAGE_SIZE];

	if (!probe->read(probe->context, at, page))
		return PROBE_ABSENT;
	for (size_t start = 0; start < PROBE_MAX_START; start++)
		if (probe_walk(page, start))
			return PROBE_NAMES;
	return PROBE_OTHER;
}

/*
 * Finds the first page with names. Reads one page every STEP_BYTES up to END. Returns false also if
 * a page is missing, because a kernel has all its pages.
 */
static bool probe_find(const struct kallsyms_probe *probe, size_t step_bytes, size_t end,
		       size_t *atp)
{
	for (*atp = 0; *atp < end && *atp < probe->size_bytes; *atp += step_bytes)
		switch (probe_read_page(probe, *atp)) {
		case PROBE_OTHER:
			break;
		case PROBE_NAMES:
			return true;
		case PROBE_ABSENT:
			return false;
		}
	return false;
}

bool kallsyms_probe(const struct kallsyms_probe *probe, size_t *beforep)
{
	size_t names, before, middle, step_bytes = PROBE_STEP_BYTES;

	if (!probe_find(probe, step_bytes, probe->size_bytes, &names)) {
		step_bytes = PROBE_FINE_BYTES;
		if (!probe_find(probe, step_bytes, PROBE_FINE_END, &names))
			return false;
	}
	before = names ? names - step_bytes : 0;
	while (names - before > GUEST_PAGE_SIZE) {
		middle = before + ((names - before) / 2 & ~(size_t)GUEST_PAGE_MASK);
		if (probe_read_page(probe, middle) == PROBE_NAMES)
			names = middle;
		else
			before = middle;
	}
	*beforep = before; /* the page before the first page full of names has the first name */
	return true;
}
