/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of .eh_frame (LSB Core 5.0 §10.6) and .debug_frame (DWARF 5 §6.4.1):
 *
 *            .eh_frame                             .debug_frame
 *   length   4 bytes; 0 ends the section           4 bytes, or ffffffff and 8 more
 *   id       4 bytes; CIE: 0                       4 or 8 bytes; CIE: all ones
 *            FDE: from here back to its CIE        FDE: offset of its CIE in the section
 *   CIE      version (1, 3, 4)  augmentation "zPLRS"  [4: address size, segment size]
 *            code_align uleb  data_align sleb  return register (version 1: u8, then uleb)
 *            with "z": uleb length, then per letter P encoding + pointer, L encoding, R encoding
 *            program
 *   FDE      start (by R's encoding)  length (same format)  with "z": uleb length, data
 *            program
 *
 * Pointer encodings (LSB §10.5): the low 4 bits are the format, the next 3 say what the pointer is
 * relative to, 80 is indirect. Absolute, aligned and pcrel pointers are read; others are refused.
 *
 * .eh_frame_hdr, which most linkers make, has a table of all FDEs: start of the code, and place.
 * When bytes of .eh_frame are missing, this table finds the entries after the gap. Only the
 * encoding that linkers write is read (1b 03 3b). Without the table, .eh_frame is read from its
 * front.
 *
 * The bytes are a guest's: everything is read through a reader that knows its end.
 */
#include "config.h"

#include "unwind/cfi_entry.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/vector.h"
#include "xtop/base/work.h"

/* --- reading ---------------------------------------------------------------------------------- */

const uint8_t *cfi_read_bytes(struct cfi_reader *reader, uint64_t size_bytes)
{
	const uint8_t *at = reader->at;

	if (reader->bad || size_bytes > (uint64_t)(reader->end - at)) {
		reader->bad = true;
		return NULL;
	}
	reader->at += size_bytes;
	return at;
}

uint64_t cfi_read(struct cfi_reader *reader, unsigned size_bytes)
{
	const uint8_t *at = cfi_read_bytes(reader, size_bytes);
	uint64_t value = 0; /* little-endian, as the host is */

	if (at)
		memcpy(&value, at, size_bytes);
	return value;
}

static int64_t cfi_read_signed(struct cfi_reader *reader, unsigned size_bytes)
{
	unsigned unused_bits = 64 - 8 * size_bytes;

	return (int64_t)(cfi_read(reader, size_bytes) << unused_bits) >> unused_bits;
}

/* Seven bits a byte, lowest first; bits beyond 64 are lost (DWARF 5 §7.6). */
static uint64_t cfi_read_leb(struct cfi_reader *reader, unsigned *bitsp, bool *negativep)
{
	uint64_t value = 0;
	unsigned bits = 0;
	uint8_t byte;

	do {
		byte = cfi_read(reader, 1);
		if (bits < 64)
			value |= (uint64_t)(byte & 0x7f) << bits;
		bits += 7;
	} while (byte & 0x80);
	*bitsp = bits;
	*negativep = byte & 0x40;
	return value;
}

uint64_t cfi_read_uleb(struct cfi_reader *reader)
{
	unsigned bits;
	bool negative;

	return cfi_read_leb(reader, &bits, &negative);
}

int64_t cfi_read_sleb(struct cfi_reader *reader)
{
	unsigned bits;
	bool negative;
	uint64_t value = cfi_read_leb(reader, &bits, &negative);

	if (negative && bits < 64)
		value |= ~0ULL << bits;
	return value;
}

enum {
	ENCODING_ABSOLUTE = 0x00,
	ENCODING_PCREL = 0x10,
	ENCODING_ALIGNED = 0x50,
	ENCODING_BASE_MASK = 0xf0, /* includes the bit 80, indirect */
	ENCODING_FORMAT_MASK = 0x0f,
};

static uint64_t cfi_read_format(struct cfi_reader *reader, uint8_t format)
{
	switch (format & ENCODING_FORMAT_MASK) {
	case 0x0: /* absptr */
		return cfi_read(reader, reader->is_short ? 4 : 8);
	case 0x4: /* udata8 */
	case 0xc: /* sdata8 */
		return cfi_read(reader, 8);
	case 0x1:
		return cfi_read_uleb(reader);
	case 0x2:
		return cfi_read(reader, 2);
	case 0x3:
		return cfi_read(reader, 4);
	case 0x9:
		return cfi_read_sleb(reader);
	case 0xa:
		return cfi_read_signed(reader, 2);
	case 0xb:
		return cfi_read_signed(reader, 4);
	default:
		reader->bad = true;
		return 0;
	}
}

uint64_t cfi_read_pointer(struct cfi_reader *reader, uint8_t encoding, uint64_t address)
{
	switch (encoding & ENCODING_BASE_MASK) {
	case ENCODING_ABSOLUTE:
		return cfi_read_format(reader, encoding);
	case ENCODING_PCREL:
		address += cfi_read_format(reader, encoding);
		return reader->is_short ? (uint32_t)address : address;
	case ENCODING_ALIGNED:
		cfi_read_bytes(reader, -address & (reader->is_short ? 3 : 7));
		return cfi_read(reader, reader->is_short ? 4 : 8);
	default:
		reader->bad = true;
		return 0;
	}
}

/* --- one entry -------------------------------------------------------------------------------- */

struct cfi_entry {
	size_t offset, next; /* offsets of this entry and the next one in the section */
	size_t cie_offset;   /* FDE: offset of its CIE in the section */
	bool cie, end;       /* the entry is a CIE; the entry ends the section */
	struct cfi_reader reader; /* the bytes after the id */
};

static bool cfi_in_gap(const struct cfi_section *section, size_t start, size_t end)
{
	return bytes_gaps_touch(section->gaps, section->n_gaps, start, end);
}

/* Reads only length and id. Returns false if no entry can be at OFFSET. */
static bool cfi_read_entry(const struct cfi_section *section, bool debug_frame, size_t offset,
			   struct cfi_entry *entry)
{
	struct cfi_reader reader = { section->bytes + offset, section->bytes + section->size_bytes,
				     false, section->is_short };
	unsigned id_bytes = 4;
	uint64_t length = cfi_read(&reader, 4), id;
	const uint8_t *body;

	*entry = (struct cfi_entry){ .offset = offset };
	if (length == 0xffffffff && debug_frame) {
		length = cfi_read(&reader, 8);
		id_bytes = 8;
	}
	body = reader.at;
	if (!cfi_read_bytes(&reader, length))
		return false;
	entry->next = reader.at - section->bytes;
	entry->end = !length;
	entry->reader = (struct cfi_reader){ body, body + length, false,
						    section->is_short };
	if (!length)
		return true;
	id = cfi_read(&entry->reader, id_bytes);
	entry->cie = debug_frame ? id == (id_bytes == 8 ? UINT64_MAX : UINT32_MAX) : !id;
	entry->cie_offset = debug_frame ? id : (size_t)(body - section->bytes) - id;
	return !entry->reader.bad;
}

/*
 * Reads the augmentation data of LETTERS, which follow "z". An unknown letter may change the
 * meaning of programs.
 */
static bool cfi_read_augmentation(struct cfi_reader *reader, const char *letters,
				  uint64_t address_of_end, struct cfi_cie *cie)
{
	struct cfi_reader data = *reader;

	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->encoding = cfi_read(&data, 1);
			break;
		case 'L':
			cfi_read(&data, 1);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* addresses are signed with key B; any signature is removed */
		case 'G': /* the frame's memory is tagged */
			if (!cie->is_arm64)
				return false;
			break;
		/* the personality routine is not needed: only the pointer's size matters */
		case 'P':
			encoding = cfi_read(&data, 1);
			if ((encoding & ENCODING_BASE_MASK) == ENCODING_ALIGNED)
				cfi_read_pointer(&data, encoding,
						 address_of_end - (data.end - data.at));
			else
				cfi_read_format(&data, encoding);
			break;
		default:
			return false;
		}
	}
	return !data.bad;
}

static bool cfi_read_cie(const struct cfi_section *section, bool debug_frame, size_t offset,
			 struct cfi_cie *cie)
{
	struct cfi_entry entry;
	struct cfi_reader *reader = &entry.reader, data;
	const char *letters;
	uint64_t version;

	*cie = (struct cfi_cie){ .is_short = section->is_short, .is_arm64 = section->is_arm64 };
	if (offset >= section->size_bytes ||
	    !cfi_read_entry(section, debug_frame, offset, &entry) || entry.end || !entry.cie ||
	    entry.next - offset > CFI_MAX_CIE_BYTES || cfi_in_gap(section, offset, entry.next))
		return false;
	cie->size_bytes = entry.next - offset;
	version = cfi_read(reader, 1);
	if (version != 1 && version != 3 && version != 4)
		return false;
	letters = (const char *)reader->at;
	if (!memchr(letters, '\0', reader->end - reader->at))
		return false;
	cfi_read_bytes(reader, strlen(letters) + 1);
	/* the size of an address, no segments */
	if (version == 4 && cfi_read(reader, 2) != (section->is_short ? 4 : 8))
		return false;
	cie->code_align = cfi_read_uleb(reader);
	cie->data_align = cfi_read_sleb(reader);
	if ((version == 1 ? cfi_read(reader, 1) : cfi_read_uleb(reader)) !=
	    cfi_machine(section->is_short, section->is_arm64)->return_number)
		return false;
	if (*letters == 'z') {
		cie->has_data = true;
		data.end = NULL;
		data.bad = false;
		data.is_short = section->is_short;
		version = cfi_read_uleb(reader);
		data.at = cfi_read_bytes(reader, version);
		if (!data.at)
			return false;
		data.end = data.at + version;
		if (!cfi_read_augmentation(&data, letters + 1,
					   section->address + (data.end - section->bytes), cie))
			return false;
	} else if (*letters) {
		return false;
	}
	cie->program = reader->at;
	cie->program_bytes = reader->end - reader->at;
	return !reader->bad;
}

/* Reads start and end of the code, and leaves READER after them. */
static bool cfi_read_range(const struct cfi_section *section, struct cfi_reader *reader,
			   const struct cfi_cie *cie, struct cfi_fde *fde)
{
	uint64_t address = section->address + (reader->at - section->bytes);

	fde->start = cfi_read_pointer(reader, cie->encoding, address);
	fde->end = fde->start + cfi_read_format(reader, cie->encoding);
	return !reader->bad && fde->start < fde->end;
}

static bool cfi_parse_fde(const struct cfi_section *section, struct cfi_entry *entry,
			  struct cfi_fde *fde)
{
	struct cfi_reader *reader = &entry->reader;
	const struct cfi_cie *cie = &fde->cie;

	if (entry->next - entry->offset > CFI_MAX_ENTRY_BYTES ||
	    cfi_in_gap(section, entry->offset, entry->next) ||
	    !cfi_read_range(section, reader, cie, fde))
		return false;
	if (cie->has_data)
		cfi_read_bytes(reader, cfi_read_uleb(reader));
	fde->program = reader->at;
	fde->program_bytes = reader->end - reader->at;
	fde->program_address = section->address + (reader->at - section->bytes);
	return !reader->bad;
}

static const struct cfi_section *cfi_section(const struct cfi_sections *sections, bool debug_frame)
{
	return debug_frame ? &sections->debug_frame : &sections->eh_frame;
}

bool cfi_read_fde(const struct cfi_sections *sections, const struct cfi_fde_place *place,
		  struct cfi_fde *fde)
{
	const struct cfi_section *section = cfi_section(sections, place->debug_frame);
	struct cfi_entry entry;

	*fde = (struct cfi_fde){ 0 };
	return cfi_read_entry(section, place->debug_frame, place->offset, &entry) && !entry.end &&
	       !entry.cie &&
	       cfi_read_cie(section, place->debug_frame, entry.cie_offset, &fde->cie) &&
	       cfi_parse_fde(section, &entry, fde);
}

/* --- the list of all FDEs --------------------------------------------------------------------- */

static struct xtop_error *cfi_list_add(struct cfi_list *list, const struct cfi_fde_place *place)
{
	if (list->n == CFI_MAX_FDES) {
		list->refused++;
		return NULL;
	}
	if (!vector_reserve(list->places, list->capacity, list->n + 1))
		return error_create("out of memory for %zu unwind entries", list->n + 1);
	list->places[list->n++] = *place;
	return NULL;
}

static struct xtop_error *cfi_list_try(const struct cfi_sections *sections, bool debug_frame,
				       size_t offset, struct cfi_list *list)
{
	struct cfi_fde_place place = { .offset = offset, .debug_frame = debug_frame };
	size_t section_bytes = cfi_section(sections, debug_frame)->size_bytes;
	struct cfi_fde fde;
	bool whole;

	if (list->cies_bytes > CFI_MAX_CIES_BYTES(section_bytes)) {
		list->refused++;
		return NULL;
	}
	whole = cfi_read_fde(sections, &place, &fde);
	list->cies_bytes += fde.cie.size_bytes;
	if (!whole) {
		list->refused++;
		return NULL;
	}
	place.start = fde.start;
	/* FDEs of functions that the linker dropped have the start 0 (.debug_frame) or no size. */
	return fde.start ? cfi_list_add(list, &place) : NULL;
}

/*
 * Lists the FDEs by reading the section from its front. Stops at a damaged or missing length,
 * because the next entry cannot be found then.
 */
static struct xtop_error *cfi_list_scan(const struct cfi_sections *sections, bool debug_frame,
					struct cfi_list *list)
{
	const struct cfi_section *section = cfi_section(sections, debug_frame);
	struct xtop_error *error = NULL;
	struct cfi_entry entry;

	for (size_t offset = 0;
	     !error && offset + 4 <= section->size_bytes && !work_is_over(sections->work);
	     offset = entry.next) {
		if (offset > UINT32_MAX || cfi_in_gap(section, offset, offset + 4) ||
		    !cfi_read_entry(section, debug_frame, offset, &entry)) {
			list->refused++;
			break;
		}
		if (entry.end && !debug_frame)
			break;
		if (!entry.end && !entry.cie)
			error = cfi_list_try(sections, debug_frame, offset, list);
	}
	return error;
}

/*
 * .eh_frame_hdr with the encodings that linkers write; offset, value, meaning:
 *
 *   0  1: version    1  1b: eh_frame_ptr is pcrel sdata4   2  03: count is udata4
 *   3  3b: table is datarel sdata4, from the header's own address
 *   4  eh_frame_ptr   8  count   c  { start, FDE } each
 */
struct cfi_hdr {
	uint8_t version, pointer_encoding, count_encoding, table_encoding;
	int32_t eh_frame;
	uint32_t n;
	struct {
		int32_t start, fde;
	} entries[];
};

static bool cfi_hdr_is_usual(const struct cfi_section *section)
{
	static const uint8_t usual[4] = { 1, 0x1b, 0x03, 0x3b };

	return section->bytes && section->size_bytes >= sizeof(struct cfi_hdr) &&
	       !cfi_in_gap(section, 0, sizeof(struct cfi_hdr)) &&
	       memcmp(section->bytes, usual, sizeof(usual)) == 0;
}

bool cfi_find_eh_frame(const struct cfi_section *hdr, uint64_t *address)
{
	const size_t at = offsetof(struct cfi_hdr, eh_frame), end = sizeof(struct cfi_hdr);
	struct cfi_reader reader;
	uint64_t found;

	if (!hdr->bytes || hdr->size_bytes < end || cfi_in_gap(hdr, 0, end) || hdr->bytes[0] != 1)
		return false;
	reader = (struct cfi_reader){ hdr->bytes + at, hdr->bytes + hdr->size_bytes, false,
					hdr->is_short };
	found = cfi_read_pointer(&reader, hdr->bytes[1], hdr->address + at);
	if (reader.bad)
		return false;
	*address = found;
	return true;
}

static int cfi_compare_offsets(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* Reads the offsets of all FDEs in .eh_frame from the table. Returns their number. */
static size_t cfi_hdr_offsets(const struct cfi_sections *sections, size_t n, uint32_t *offsets,
			      struct cfi_list *list)
{
	const struct cfi_section *hdr = &sections->eh_frame_hdr, *frame = &sections->eh_frame;
	size_t n_offsets = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = sizeof(struct cfi_hdr) + 8 * i;
		uint64_t offset;
		int32_t fde;

		memcpy(&fde, hdr->bytes + at + 4, sizeof(fde));
		offset = hdr->address + (int64_t)fde - frame->address;
		if (cfi_in_gap(hdr, at, at + 8) || offset >= frame->size_bytes ||
		    offset > UINT32_MAX)
			list->refused++;
		else
			offsets[n_offsets++] = (uint32_t)offset;
	}
	return n_offsets;
}

/*
 * Lists the FDEs at N OFFSETS, which it sorts. Skips overlapping FDEs: they are crafted to be read
 * again and again.
 */
static struct xtop_error *cfi_list_by_offsets(const struct cfi_sections *sections,
					      uint32_t *offsets, size_t n, struct cfi_list *list)
{
	struct xtop_error *error = NULL;
	struct cfi_entry entry;
	size_t after = 0;

	qsort(offsets, n, sizeof(*offsets), cfi_compare_offsets);
	for (size_t i = 0; !error && i < n && !work_is_over(sections->work); i++) {
		size_t n_before = list->n;

		if (offsets[i] < after) {
			list->refused++;
			continue;
		}
		error = cfi_list_try(sections, false, offsets[i], list);
		if (list->n > n_before &&
		    cfi_read_entry(&sections->eh_frame, false, offsets[i], &entry))
			after = entry.next;
	}
	return error;
}

static struct xtop_error *cfi_list_by_hdr(const struct cfi_sections *sections,
					  struct cfi_list *list)
{
	const struct cfi_section *hdr = &sections->eh_frame_hdr;
	size_t n = (hdr->size_bytes - sizeof(struct cfi_hdr)) / 8;
	_cleanup_free_ uint32_t *offsets = NULL;
	uint32_t said;

	memcpy(&said, hdr->bytes + offsetof(struct cfi_hdr, n), sizeof(said));
	if (n > said)
		n = said;
	offsets = malloc((n + 1) * sizeof(*offsets));
	if (!offsets)
		return error_create("out of memory for %zu unwind entries", n);
	n = cfi_hdr_offsets(sections, n, offsets, list);
	return cfi_list_by_offsets(sections, offsets, n, list);
}

static struct xtop_error *cfi_list_known(const struct cfi_sections *sections, struct cfi_list *list)
{
	size_t size_bytes = sections->n_offsets * sizeof(*sections->offsets);
	_cleanup_free_ uint32_t *offsets = malloc(size_bytes + 1);

	if (!offsets)
		return error_create("out of memory for %zu unwind entries", sections->n_offsets);
	memcpy(offsets, sections->offsets, size_bytes);
	return cfi_list_by_offsets(sections, offsets, sections->n_offsets, list);
}

static int cfi_compare_places(const void *left, const void *right)
{
	const struct cfi_fde_place *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->debug_frame != b->debug_frame)
		return a->debug_frame - b->debug_frame;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void cfi_list_sort(struct cfi_list *list, struct work *work)
{
	size_t kept = 0;

	if (work_is_over(work))
		list->n = 0; /* sorting would take too long */
	if (!list->n)
		return;
	qsort(list->places, list->n, sizeof(*list->places), cfi_compare_places);
	for (size_t i = 1; i < list->n; i++)
		if (list->places[i].start != list->places[kept].start)
			list->places[++kept] = list->places[i];
	list->n = kept + 1;
}

struct xtop_error *cfi_list_init(const struct cfi_sections *sections, struct cfi_list *list)
{
	struct xtop_error *error = NULL;

	*list = (struct cfi_list){ 0 };
	if (sections->eh_frame.bytes) {
		if (sections->offsets)
			error = cfi_list_known(sections, list);
		else if (sections->eh_frame.n_gaps && cfi_hdr_is_usual(&sections->eh_frame_hdr))
			error = cfi_list_by_hdr(sections, list);
		else
			error = cfi_list_scan(sections, false, list);
	}
	list->cies_bytes = 0;
	if (!error && sections->debug_frame.bytes)
		error = cfi_list_scan(sections, true, list);
	cfi_list_sort(list, sections->work);
	if (error)
		cfi_list_deinit(list);
	return error;
}

void cfi_list_deinit(struct cfi_list *list)
{
	free(list->places);
	*list = (struct cfi_list){ 0 };
}
