/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call-frame information in portions; see elf_portions.h. The index is .eh_frame_hdr (LSB Core 5.0
 * §10.6.2), which PT_GNU_EH_FRAME covers: pairs of a function's first address and the place of its
 * FDE, ascending. A portion is PORTION_FDES entries of the index.
 *
 *   address ─► search in the index ─► portion ─► its FDEs and their CIEs ─► struct cfi
 *              a page for a step                 the pages that have them
 *
 * libnode has 64,000 FDEs: compiling all of them takes as long as reading the rest of the file. A
 * program runs in a few of its portions. Each portion also has the first FDE of the next one, so
 * that a gap between two FDEs (unwind_tables_find_gap()) is in one portion.
 */
#include "config.h"

#include "symbol/elf_portions.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/limit.h"
#include "xtop/elf/elf_pages.h"
#include "xtop/unwind/cfi.h"

#define PORTION_FDES      LIMIT(256, 4)
#define PORTIONS_MAX_FDES (4U << 20)
/* Limit for the range of one section. Its pages are read only if they are needed. */
#define PORTIONS_MAX_SECTION_BYTES LIMIT(512U << 20, 256U << 10)
/* FDEs that lie so close together are read at once. */
#define PORTION_AT_ONCE_BYTES (64U << 10)
/* Limit for the FDEs of a portion; compilers make some 40 bytes a function. */
#define PORTION_MAX_BYTES     (1U << 20)
#define PORTION_MAX_FDE_BYTES (64U << 10)
#define PORTION_MAX_CIE_BYTES 1024

/* A portion that was found, and its bounds. Most addresses are those of few functions. */
struct portion_hit {
	uint64_t start, end; /* START 0, END 0: empty */
	size_t number;
};
#define PORTIONS_HIT_BITS 6

struct elf_portion {
	bool built;
	struct unwind_tables tables; /* owns cfi and dwarf; the rest is borrowed */
};

struct elf_portions {
	struct elf_pages *hdr, *frame;
	struct cfi_section hdr_section, frame_section;
	struct entry_points entries;
	struct work *work;
	uint32_t n; /* FDEs in the index */
	bool incomplete;
	size_t tables_bytes; /* memory of the portions' tables */
	struct portion_hit hits[1 << PORTIONS_HIT_BITS];
	struct elf_portion portions[];
};

/* The encodings that linkers write: version, of .eh_frame's address, of the count, of the table. */
static const uint8_t portions_usual[4] = { 1, 0x1b, 0x03, 0x3b };
#define HDR_COUNT_AT    8
#define HDR_ENTRIES_AT  12
#define HDR_ENTRY_BYTES 8

static size_t portions_count(uint32_t n_fdes)
{
	return (n_fdes + PORTION_FDES - 1) / PORTION_FDES;
}

static const Elf64_Phdr *portions_find_segment(const struct elf_file *file)
{
	for (size_t i = 0; i < file->n_segments; i++)
		if (file->segments[i].p_type == PT_GNU_EH_FRAME)
			return &file->segments[i];
	return NULL;
}

/*
 * Whether the index has all rows of the file. A section without an index could add rows to those of
 * the index, or contradict them. Not for Go's code: what is there for debuggers alone says nothing
 * that Go's table does not say.
 */
static bool portions_are_all(const struct elf_file *file, bool has_go)
{
	static const char *const others[] = { ".debug_frame", ".zdebug_frame", ".ARM.exidx" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && !has_go; i++)
		if (elf_find_section(file, others[i]))
			return false;
	return true;
}

/* Finds the bytes of .eh_frame: up to the end of its segment. */
static bool portions_find_frame(struct elf_file *file, const Elf64_Phdr *segment, uint64_t *address,
				uint64_t *offset, uint64_t *size_bytes)
{
	uint8_t head[HDR_ENTRIES_AT];
	struct cfi_section hdr = { .bytes = head,
				   .size_bytes = sizeof(head),
				   .address = segment->p_vaddr,
				   .is_short = elf_machine_is_short(file) };

	if (elf_read(file, segment->p_offset, head, sizeof(head)) != sizeof(head) ||
	    memcmp(head, portions_usual, sizeof(portions_usual)) != 0 ||
	    !cfi_find_eh_frame(&hdr, address) ||
	    !elf_find_offset(file, *address, offset, size_bytes) || *offset >= file->size_bytes)
		return false;
	if (*size_bytes > file->size_bytes - *offset)
		*size_bytes = file->size_bytes - *offset;
	return *size_bytes && *size_bytes <= PORTIONS_MAX_SECTION_BYTES;
}

static uint32_t portions_read_count(struct elf_file *file, const Elf64_Phdr *segment)
{
	uint64_t room = (segment->p_filesz - HDR_ENTRIES_AT) / HDR_ENTRY_BYTES;
	uint32_t n;

	if (elf_read(file, segment->p_offset + HDR_COUNT_AT, &n, sizeof(n)) != sizeof(n))
		return 0;
	if (n > room)
		n = (uint32_t)room;
	return n < PORTIONS_MAX_FDES ? n : PORTIONS_MAX_FDES;
}

struct elf_portions *elf_portions_create(struct elf_file *file, const struct bytes *bytes,
					 bool has_go)
{
	const Elf64_Phdr *segment = portions_find_segment(file);
	uint64_t address, offset, size_bytes;
	struct elf_portions *portions;
	uint32_t n;

	if (!segment || segment->p_filesz <= HDR_ENTRIES_AT ||
	    segment->p_filesz > PORTIONS_MAX_SECTION_BYTES || !portions_are_all(file, has_go) ||
	    !portions_find_frame(file, segment, &address, &offset, &size_bytes))
		return NULL;
	n = portions_read_count(file, segment);
	portions =
		n ? calloc(1, sizeof(*portions) + portions_count(n) * sizeof(portions->portions[0]))
		  : NULL;
	if (!portions)
		return NULL;
	portions->n = n;
	portions->work = file->work;
	elf_find_entries(file, &portions->entries);
	portions->hdr = elf_pages_create(bytes, segment->p_offset, segment->p_filesz);
	portions->frame = elf_pages_create(bytes, offset, size_bytes);
	if (!portions->hdr || !portions->frame) {
		elf_portions_destroy(portions);
		return NULL;
	}
	portions->hdr_section = (struct cfi_section){ .bytes = elf_pages_bytes(portions->hdr),
						      .size_bytes = segment->p_filesz,
						      .address = segment->p_vaddr };
	portions->frame_section = (struct cfi_section){ .bytes = elf_pages_bytes(portions->frame),
							.size_bytes = size_bytes,
							.address = address,
							.is_short = elf_machine_is_short(file),
							.is_arm64 = elf_machine_is_arm(file) };
	return portions;
}

/* What a portion has borrowed is not destroyed with it. */
static void portion_deinit(struct elf_portion *portion)
{
	struct unwind_tables own = { .cfi = portion->tables.cfi, .dwarf = portion->tables.dwarf };

	unwind_tables_deinit(&own);
}

void elf_portions_destroy(struct elf_portions *portions)
{
	if (!portions)
		return;
	for (size_t i = 0; i < portions_count(portions->n); i++)
		portion_deinit(&portions->portions[i]);
	elf_pages_destroy(portions->hdr);
	elf_pages_destroy(portions->frame);
	free(portions);
}

bool elf_portions_are_incomplete(const struct elf_portions *portions)
{
	return portions->incomplete;
}

size_t elf_portions_memory_bytes(const struct elf_portions *portions)
{
	return sizeof(*portions) + portions_count(portions->n) * sizeof(portions->portions[0]) +
	       portions->tables_bytes + elf_pages_memory_bytes(portions->hdr) +
	       elf_pages_memory_bytes(portions->frame);
}

/* --- one portion ------------------------------------------------------------------------------ */

/* Word 0 of entry I of the index is a function, word 1 its FDE, both relative to the index. */
static bool portions_read_index(struct elf_portions *portions, size_t i, unsigned word,
				uint64_t *address)
{
	size_t at = HDR_ENTRIES_AT + i * HDR_ENTRY_BYTES + word * sizeof(int32_t);
	int32_t relative;

	if (!elf_pages_need(portions->hdr, at, sizeof(relative))) {
		portions->incomplete = true;
		return false;
	}
	memcpy(&relative, portions->hdr_section.bytes + at, sizeof(relative));
	*address = portions->hdr_section.address + (int64_t)relative;
	return true;
}

/* Reads the entry at OFFSET of .eh_frame. Returns false if it is not there, or is too long. */
static bool portions_read_entry(struct elf_portions *portions, size_t offset, size_t max_bytes,
				size_t *left_bytes)
{
	uint32_t length;

	if (!elf_pages_need(portions->frame, offset, sizeof(length)))
		return false;
	memcpy(&length, portions->frame_section.bytes + offset, sizeof(length));
	if (length < sizeof(length) || length > max_bytes || length > *left_bytes)
		return false;
	*left_bytes -= length;
	return elf_pages_need(portions->frame, offset + sizeof(length), length);
}

/* Reads the FDE at OFFSET, and its CIE: the FDE's second word has its distance from the CIE. */
static bool portions_read_fde(struct elf_portions *portions, size_t offset, size_t *left_bytes)
{
	size_t at = offset + sizeof(uint32_t);
	uint32_t distance;

	if (!portions_read_entry(portions, offset, PORTION_MAX_FDE_BYTES, left_bytes))
		return false;
	memcpy(&distance, portions->frame_section.bytes + at, sizeof(distance));
	return distance && distance <= at &&
	       portions_read_entry(portions, at - distance, PORTION_MAX_CIE_BYTES, left_bytes);
}

/* The offsets of the FDEs FIRST to END - 1 in .eh_frame, as far as the index tells. */
static size_t portions_list(struct elf_portions *portions, size_t first, size_t end,
			    uint32_t *offsets)
{
	size_t n = 0, low = SIZE_MAX, high = 0;

	for (size_t i = first; i < end; i++) {
		uint64_t address, offset;

		if (!portions_read_index(portions, i, 1, &address))
			continue;
		offset = address - portions->frame_section.address;
		if (offset >= portions->frame_section.size_bytes)
			continue;
		offsets[n++] = (uint32_t)offset;
		low = offset < low ? offset : low;
		high = offset > high ? offset : high;
	}
	if (n && high - low <= PORTION_AT_ONCE_BYTES)
		elf_pages_need(portions->frame, low, high - low + 1);
	return n;
}

/* Best effort: without memory the portion has no tables. */
static void portions_build(struct elf_portions *portions, size_t number, uint64_t start,
			   uint64_t end)
{
	size_t first = number * PORTION_FDES, behind = first + PORTION_FDES + 1, n, kept = 0;
	size_t left_bytes = PORTION_MAX_BYTES;
	uint32_t offsets[PORTION_FDES + 1];
	struct cfi_sections sections = { .eh_frame = portions->frame_section,
					 .offsets = offsets,
					 .work = portions->work };
	struct elf_portion *portion = &portions->portions[number];

	n = portions_list(portions, first, behind < portions->n ? behind : portions->n, offsets);
	for (size_t i = 0; i < n; i++)
		if (portions_read_fde(portions, offsets[i], &left_bytes))
			offsets[kept++] = offsets[i];
	portions->incomplete |= kept < n;
	sections.n_offsets = kept;
	sections.entries.called = portions->entries.called;
	if (portions->entries.elf >= start && portions->entries.elf < end)
		sections.entries.elf = portions->entries.elf;
	if (portions->entries.pvh >= start && portions->entries.pvh < end)
		sections.entries.pvh = portions->entries.pvh;
	error_destroy(unwind_tables_build_cfi(&portion->tables, &sections));
	portions->tables_bytes += unwind_tables_memory_bytes(&portion->tables);
	portion->built = true;
}

/* --- the portion of an address ---------------------------------------------------------------- */

/*
 * Finds the portion in (LOW, HIGH) that is nearest to the middle and begins at a known address,
 * *FOUND. Pages of the index may be missing. Returns HIGH if there is no such portion.
 */
static size_t portions_probe(struct elf_portions *portions, size_t low, size_t high,
			     uint64_t *found)
{
	size_t middle = low + (high - low) / 2;

	for (size_t i = middle; i < high; i++)
		if (portions_read_index(portions, i * PORTION_FDES, 0, found))
			return i;
	for (size_t i = middle - 1; i > low; i--)
		if (portions_read_index(portions, i * PORTION_FDES, 0, found))
			return i;
	return high;
}

/* Searches the index for the portion of ADDRESS. Returns false if it cannot be read now. */
static bool portions_search(struct elf_portions *portions, uint64_t address,
			    struct portion_hit *hit)
{
	size_t low = 0, high = portions_count(portions->n);
	uint64_t found;

	*hit = (struct portion_hit){ .start = 0, .end = UINT64_MAX };
	while (high - low > 1) {
		size_t middle = portions_probe(portions, low, high, &found);

		if (middle == high)
			return false;
		if (found <= address) {
			low = middle;
			hit->start = found;
		} else {
			high = middle;
			hit->end = found;
		}
	}
	hit->number = low;
	return hit->start < hit->end;
}

/* Finds the portion of ADDRESS, and its bounds. Returns false if the index cannot be read now. */
static bool portions_find(struct elf_portions *portions, uint64_t address,
			  struct portion_hit *found)
{
	size_t place = (address >> 4) * 0x9e3779b97f4a7c15ULL >> (64 - PORTIONS_HIT_BITS);
	struct portion_hit *hit = &portions->hits[place];

	if (address >= hit->start && address < hit->end) {
		*found = *hit;
		return true;
	}
	if (!portions_search(portions, address, found))
		return false;
	*hit = *found;
	return true;
}

const struct unwind_tables *elf_portions_find(struct elf_portions *portions,
					      const struct unwind_tables *others, uint64_t address,
					      uint64_t *start, uint64_t *end)
{
	struct unwind_tables tables = *others;
	struct elf_portion *portion;
	struct portion_hit hit;

	if (!portions_find(portions, address, &hit)) {
		*start = address;
		*end = address + 1;
		return others;
	}
	*start = hit.start;
	*end = hit.end;
	portion = &portions->portions[hit.number];
	if (!portion->built)
		portions_build(portions, hit.number, *start, *end);
	tables.cfi = portion->tables.cfi;
	tables.dwarf = portion->tables.dwarf;
	portion->tables = tables;
	return &portion->tables;
}

bool elf_portions_find_bounds(struct elf_portions *portions, uint64_t address, uint64_t *start,
			      uint64_t *end)
{
	struct portion_hit hit;
	size_t low, high;

	if (!portions_find(portions, address, &hit))
		return false;
	low = hit.number * PORTION_FDES;
	high = low + PORTION_FDES < portions->n ? low + PORTION_FDES : portions->n;
	*end = hit.end;
	if (!portions_read_index(portions, low, 0, start) || *start > address)
		return false;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		uint64_t found;

		if (!portions_read_index(portions, middle, 0, &found))
			return false;
		low = found <= address ? middle : low;
		high = found <= address ? high : middle;
		*(found <= address ? start : end) = found;
	}
	return *end != UINT64_MAX;
}
