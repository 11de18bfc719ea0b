/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the read-only data of a Linux kernel with its symbol tables, in every layout from 4.14 to
 * 7.x. Tells where each table is, so that tests can break the tables one by one.
 */
#ifndef TESTS_OS_MAKE_KALLSYMS_H
#define TESTS_OS_MAKE_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/kallsyms.h"

#define MADE_TEXT         0xffffffff9ac00000ULL /* _text of a kernel that KASLR has moved */
#define MADE_TEXT_BYTES   0x01000000ULL
#define MADE_IMAGE_START  0xffffffff80000000ULL /* KASLR may put the kernel here */
#define MADE_RODATA       (MADE_TEXT + MADE_TEXT_BYTES)
#define MADE_INIT         (MADE_RODATA + 0x02000000ULL) /* _sinittext */
#define MADE_NAME_BYTES   320

struct made_layout {
	const char *what;
	bool wide;           /* num_syms and markers of 64 bits */
	bool before;         /* addresses before the names */
	enum kallsyms_encoding encoding;
	bool long_lengths;   /* ULEB128 */
	unsigned seq_bytes;  /* size of a number in seqs_of_names; 0: there is none */
	bool text_only;      /* the kernel has no CONFIG_KALLSYMS_ALL */
	unsigned n_functions;
	const char *left_out; /* a symbol that the kernel lacks; NULL: none */
	bool aligned_4;       /* tables are at multiples of 4 only */
	bool is_short;        /* a 32-bit kernel: addresses are the lower halves of MADE_ ones */
};

struct made_symbol {
	uint64_t address;
	char type;
	char name[MADE_NAME_BYTES];
};

struct made_kallsyms {
	uint8_t *bytes; /* bytes of the whole range */
	size_t size_bytes;
	struct made_symbol *symbols; /* the lines of /proc/kallsyms */
	unsigned n;
	const char *left_out;
	unsigned n_markers, marker_bytes;
	size_t align;
	/* Offsets into bytes; 0: this layout has no such table. */
	size_t addresses, base, num, names, names_end, markers, seqs, token_table, token_index, end;
};

/* Every layout that Linux has had. */
extern const struct made_layout made_layouts[];
extern const unsigned n_made_layouts;

void make_kallsyms(const struct made_layout *layout, struct made_kallsyms *made);
void made_kallsyms_deinit(struct made_kallsyms *made);

#endif
