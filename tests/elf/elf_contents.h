/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For test_elf_host and test_elf_host_refused: the contents of a file as each of the two readers
 * gives them, and files that are made.
 */
#ifndef TESTS_ELF_CONTENTS_H
#define TESTS_ELF_CONTENTS_H

#include "symbol/elf_symtab.h"
#include "tests/support/elf_image.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/unwind/unwind.h"

extern const struct elf_limits limits; /* every reader's limits */

/* The contents of one file by one reader. */
struct contents {
	char message[256]; /* why the file, or its symbols, were refused; "": they were not */
	struct symtab *tab;
	struct build_id build_id;
	struct loads loads;
	struct unwind_tables tables;
	bool incomplete;
};

/* Reads FD as a file of the guest. */
void read_guest(struct contents *contents, const int *fd);
/* Reads FD as a file of dom0. */
void read_host(struct contents *contents, int fd);
void contents_deinit(struct contents *contents);
bool same_symbols(const struct symtab *a, const struct symtab *b);
bool same_tables(const struct unwind_tables *a, const struct unwind_tables *b);

/* What a file must have at least. */
struct wanted {
	size_t n_symbols, n_fdes;
	bool build_id, orc;
};

/* Checks that both readers accept FD and give the same contents, with what is WANTED. */
void check_fd(const char *what, int fd, struct wanted wanted);

/* Names of sections and of the function f: offsets in MADE_NAMES. */
enum { NAME_IPS = 1, NAME_ENTRIES = 16, NAME_DEBUG = 28, NAME_F = 41 };
extern const char made_names[43];

/* Adds a section of BYTES at ADDRESS. */
void add_section(struct elf_image *image, uint32_t name, uint64_t address, const void *bytes,
		 size_t size_bytes);
/* As a vmlinux: code, ORC tables of Linux 6.4 and later, and a function. */
void make_kernel(struct elf_image *image);

#endif
