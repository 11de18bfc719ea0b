/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The entries of .eh_frame and .debug_frame: which functions they describe, and where their
 * programs lie. cfi_compile.c compiles the entries, dwarf.c hands some of them to libunwind.
 */
#ifndef XTOP_UNWIND_CFI_ENTRY_H
#define XTOP_UNWIND_CFI_ENTRY_H

#include "unwind/cfi_table.h"

/* Bytes that are left to read. Reading beyond the end returns 0 and sets `bad`, which stays set. */
struct cfi_reader {
	const uint8_t *at, *end;
	bool bad;
	bool is_short; /* an address has 4 bytes */
};

const uint8_t *cfi_read_bytes(struct cfi_reader *reader, uint64_t size_bytes); /* NULL: too few */
uint64_t cfi_read(struct cfi_reader *reader, unsigned size_bytes);       /* 1, 2, 4 or 8 */
uint64_t cfi_read_uleb(struct cfi_reader *reader);
int64_t cfi_read_sleb(struct cfi_reader *reader);
/*
 * reader->at lies at ADDRESS in the image. An encoding that needs more (textrel, indirect) is bad.
 */
uint64_t cfi_read_pointer(struct cfi_reader *reader, uint8_t encoding, uint64_t address);

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* DW_EH_PE_*: encoding of the pointers in FDEs that use this CIE */
	bool has_data;    /* "z": FDEs have augmentation data */
	bool is_short, is_arm64; /* copied from struct cfi_section */
	bool signal;      /* "S": a signal or an interrupt has interrupted the caller */
	const uint8_t *program;
	size_t program_bytes;
	size_t size_bytes; /* size of the whole CIE; 0: it could not be read */
};

struct cfi_fde {
	uint64_t start, end; /* the code that the FDE describes, in the image */
	struct cfi_cie cie;
	const uint8_t *program;
	size_t program_bytes;
	uint64_t program_address; /* the program's address in the image, for DW_CFA_set_loc */
};

/* Where an FDE lies in a section; cfi_read_fde() reads the FDE there. */
struct cfi_fde_place {
	uint64_t start;   /* first address of the code that the FDE describes */
	uint32_t offset;  /* offset of the FDE in its section */
	bool debug_frame; /* the section is .debug_frame; else .eh_frame */
};

struct cfi_list {
	/* ascending by start, each start once; .eh_frame wins over .debug_frame */
	struct cfi_fde_place *places;
	size_t n, capacity;
	size_t refused;    /* entries that were left out */
	size_t cies_bytes; /* CIE bytes read in this section; a CIE counts once for each FDE */
};

struct xtop_error *cfi_list_init(const struct cfi_sections *sections, struct cfi_list *list);
void cfi_list_deinit(struct cfi_list *list);
/* Returns false if no FDE can be read at PLACE; the places of a list can always be read. */
bool cfi_read_fde(const struct cfi_sections *sections, const struct cfi_fde_place *place,
		  struct cfi_fde *fde);

#endif
