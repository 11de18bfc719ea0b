/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a kernel's ORC table as .eh_frame and .eh_frame_hdr, as its compiler would have done, so
 * that libunwind and the compiled table can walk the same stacks as ORC. A chain ends at a row that
 * is not a call with its frame at rsp or rbp (interrupts, stack switches).
 */
#ifndef TESTS_BENCH_ORC_AS_CFI_H
#define TESTS_BENCH_ORC_AS_CFI_H

#include <stdlib.h>
#include <string.h>

#include "tests/unwind/orc_rows.h"
#include "unwind/cfi_table.h"
#include "unwind/orc_table.h"

#define AS_CFI_ADDRESS	 UINT64_C(0xffffffffc0000000) /* .eh_frame_hdr; .eh_frame follows */
#define AS_CFI_HDR_BYTES 12
#define AS_CFI_ROW_BYTES 32 /* largest size of a row, with the head of its FDE */

struct as_cfi {
	uint8_t *bytes; /* both sections; the first byte is at AS_CFI_ADDRESS */
	size_t size_bytes, n_fdes;
	struct cfi_sections sections; /* they point into `bytes` */
};

static inline bool as_cfi_is_plain(const struct orc_row *row)
{
	return row && row->type == ORC_CALL && (row->sp_reg == ORC_SP || row->sp_reg == ORC_BP) &&
	       row->sp_offset >= 8 &&
	       (row->bp_reg == ORC_UNDEFINED ||
		(row->bp_reg == ORC_PREV_SP && row->bp_offset < 0 && row->bp_offset % 8 == 0));
}

static inline uint8_t *as_cfi_put(uint8_t *at, uint64_t value, unsigned size_bytes)
{
	memcpy(at, &value, size_bytes);
	return at + size_bytes;
}

static inline uint8_t *as_cfi_put_uleb(uint8_t *at, uint64_t value)
{
	for (; value >> 7; value >>= 7)
		*at++ = 0x80 | (value & 0x7f);
	*at++ = (uint8_t)value;
	return at;
}

static inline uint8_t *as_cfi_close(uint8_t *entry, uint8_t *at)
{
	while ((at - entry) % 8)
		*at++ = 0; /* DW_CFA_nop */
	as_cfi_put(entry, (uint64_t)(at - entry - 4), 4);
	return at;
}

/* CFA = rsp + 8, return address at CFA - 8; pointers are 8 bytes. */
static inline uint8_t *as_cfi_put_cie(uint8_t *entry)
{
	static const uint8_t body[] = { 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1 };

	memcpy(as_cfi_put(entry, 0, 8), body, sizeof(body));
	return as_cfi_close(entry, entry + 8 + sizeof(body));
}

static inline uint8_t *as_cfi_advance(uint8_t *at, uint64_t bytes)
{
	if (bytes < 0x40)
		return as_cfi_put(at, 0x40 | bytes, 1);
	*at++ = 4; /* DW_CFA_advance_loc4 */
	return as_cfi_put(at, bytes, 4);
}

static inline uint8_t *as_cfi_put_row(uint8_t *at, const struct orc_row *row)
{
	if (!as_cfi_is_plain(row)) {
		*at++ = 7; /* DW_CFA_undefined */
		*at++ = 16;
		return at;
	}
	*at++ = 0x0c; /* DW_CFA_def_cfa */
	*at++ = row->sp_reg == ORC_SP ? 7 : 6;
	at = as_cfi_put_uleb(at, (uint64_t)row->sp_offset);
	*at++ = 0x90; /* DW_CFA_offset of the return address */
	*at++ = 1;
	if (row->bp_reg == ORC_PREV_SP) {
		*at++ = 0x86;
		return as_cfi_put_uleb(at, (uint64_t)(-row->bp_offset / 8));
	}
	*at++ = 0xc6; /* DW_CFA_restore */
	return at;
}

/* Assume that a function begins where only the return address is on the stack. */
static inline bool as_cfi_begins(const struct orc_entry *entry)
{
	return entry->address % 16 == 0 && entry->row.type == ORC_CALL &&
	       entry->row.sp_reg == ORC_SP && entry->row.sp_offset == 8;
}

/* Returns an array of orc->n entries, one for each address at which the row changes. free() it. */
static inline struct orc_entry *as_cfi_entries(const struct orc *orc)
{
	struct orc_entry *entries = calloc(orc->n, sizeof(*entries));
	const struct orc_row *row, *before = NULL;
	size_t n = 0;

	for (uint64_t address = orc->start; n < orc->n && address < orc->end; address++) {
		row = orc_find(orc, address);
		if (row != before)
			entries[n++] = (struct orc_entry){ address, *row };
		before = row;
	}
	return entries;
}

/*
 * Writes an FDE for the entries from FIRST up to the next function. Returns the index of the next
 * function's first entry; *ATP is then after the FDE.
 */
static inline size_t as_cfi_put_fde(const struct orc_entry *entries, size_t n, size_t first,
				    const uint8_t *cie, uint8_t *entry, uint8_t **atp)
{
	const struct orc_entry *here = &entries[first];
	uint8_t *at = as_cfi_put(entry + 4, (uint64_t)(entry + 4 - cie), 4), *length;
	uint64_t start = here->address, place = start, end;
	size_t i = first;

	at = as_cfi_put(at, start, 8);
	length = at;
	at = as_cfi_put(at, 0, 8);
	*at++ = 0;
	do {
		if (here->address > place)
			at = as_cfi_advance(at, here->address - place);
		place = here->address;
		at = as_cfi_put_row(at, &here->row);
		here++;
	} while (++i < n && !as_cfi_begins(here));
	end = i < n ? here->address : place + 16;
	as_cfi_put(length, end - start, 8);
	*atp = as_cfi_close(entry, at);
	return i;
}

static inline void as_cfi_make(const struct orc *orc, struct as_cfi *made)
{
	struct orc_entry *entries = as_cfi_entries(orc);
	size_t n = orc->n, n_fdes = 0, hdr_bytes;
	uint8_t *at, *cie, *table;

	for (size_t i = 0; i < n; i++)
		n_fdes += !i || as_cfi_begins(&entries[i]);
	hdr_bytes = (AS_CFI_HDR_BYTES + 8 * n_fdes + 7) & ~(size_t)7;
	made->bytes = calloc(1, hdr_bytes + 64 + AS_CFI_ROW_BYTES * n + 32 * n_fdes);
	cie = made->bytes + hdr_bytes;
	at = as_cfi_put_cie(cie);
	table = as_cfi_put(made->bytes, 0x3b031b01, 4);
	table = as_cfi_put(table, hdr_bytes - 4, 4);
	table = as_cfi_put(table, n_fdes, 4);
	for (size_t i = 0; i < n;) {
		table = as_cfi_put(table, entries[i].address - AS_CFI_ADDRESS, 4);
		table = as_cfi_put(table, (uint64_t)(at - made->bytes), 4);
		i = as_cfi_put_fde(entries, n, i, cie, at, &at);
	}
	free(entries);
	at = as_cfi_put(at, 0, 8);
	made->size_bytes = (size_t)(at - made->bytes);
	made->n_fdes = n_fdes;
	made->sections = (struct cfi_sections){
		.eh_frame_hdr = { made->bytes, hdr_bytes, AS_CFI_ADDRESS, NULL, 0 },
		.eh_frame = { cie, made->size_bytes - hdr_bytes, AS_CFI_ADDRESS + hdr_bytes, NULL,
			      0 },
	};
}

#endif
