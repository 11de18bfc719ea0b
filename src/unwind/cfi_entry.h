/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of .eh_frame and .debug_frame: which functions they describe, and where their
 * programs lie. cfi_compile.c compiles the entries, dwarf.c hands some of them to libunwind.
 */
#ifndef XTOP_UNWIND_CFI_ENTRY_H
#define XTOP_UNWIND_CFI_ENTRY_H

#include "unwind/cfi_table.h"

/* Bytes that are left to read. Reading beyond their end gives 0 and sets `bad`, for good. */
struct cfi_reader {
	const uint8_t *at, *end;
	bool bad;
	bool is_short; /* an address has 4 bytes */
};

const uint8_t *cfi_read_bytes(struct cfi_reader *reader, uint64_t size_bytes); /* NULL: too few */
uint64_t cfi_read(struct cfi_reader *reader, unsigned size_bytes);       /* 1, 2, 4 or 8 */
uint64_t cfi_read_uleb(struct cfi_reader *reader);
int64_t cfi_read_sleb(struct cfi_reader *reader);
/* ADDRESS: of reader->at. A pointer that needs more than that (textrel, indirect) sets `bad`. */
uint64_t cfi_read_pointer(struct cfi_reader *reader, uint8_t encoding, uint64_t address);

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of its FDEs' pointers, DW_EH_PE_* */
	bool has_data;    /* "z": FDEs have augmentation data */
	bool is_short, is_arm64; /* struct cfi_section */
	bool signal;      /* "S": its frames are those that a signal or an interrupt leaves */
	const uint8_t *program;
	size_t program_bytes;
	size_t size_bytes; /* of the whole CIE; 0: there is none */
};

struct cfi_fde {
	uint64_t start, end; /* code, in the image */
	struct cfi_cie cie;
	const uint8_t *program;
	size_t program_bytes;
	uint64_t program_address; /* in the image: DW_CFA_set_loc may be relative to it */
};

/* Where an FDE is; cfi_read_fde() reads it. */
struct cfi_fde_place {
	uint64_t start;
	uint32_t offset; /* in its section */
	bool debug_frame;
};

struct cfi_list {
	/* ascending by start, each start once; .eh_frame wins over .debug_frame */
	struct cfi_fde_place *places;
	size_t n, capacity;
	size_t refused;
	size_t cies_bytes; /* read so far in the section: a CIE counts for each FDE that uses it */
};

struct xtop_error *cfi_list_init(const struct cfi_sections *sections, struct cfi_list *list);
void cfi_list_deinit(struct cfi_list *list);
/* False: it cannot be read. That does not happen with a place from a list. */
bool cfi_read_fde(const struct cfi_sections *sections, const struct cfi_fde_place *place,
		  struct cfi_fde *fde);

#endif
