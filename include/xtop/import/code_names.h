/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the addresses to which a profile gives none. They are the symbols of the files that -k
 * names. Main's thread.
 */
#ifndef XTOP_CODE_NAMES_H
#define XTOP_CODE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/base/error.h"

struct code_names;
struct host_files;

struct xtop_error *code_names_create(struct code_names **namesp);
void code_names_destroy(struct code_names *names); /* NULL allowed */
/* Adds PATH, a file of -k. Errors name PATH. */
struct xtop_error *code_names_add_file(struct code_names *names, const struct host_files *files,
				       const char *path);

/* What a profile tells of an address. */
struct code_place {
	uint64_t address;  /* the code's address in the program while it ran */
	const char *file;  /* path, or perf's name such as "[kernel.kallsyms]"; NULL: not known */
	const char *build; /* the file's build-id in hexadecimal; NULL: not known */
	bool is_kernel;
	bool is_mapped; /* START and OFFSET are known: the file's byte OFFSET was at START */
	uint64_t start, offset;
};

/*
 * The raw name of the function at PLACE; NULL: not known. A file of -k is taken for the profile's
 * file if their build-ids are equal, or else, if one of them has none, their names. Lives as long
 * as NAMES.
 */
const char *code_names_find(const struct code_names *names, const struct code_place *place);

/* FILE without its folders. Windows separates them by backslashes: "C:\Windows\ntdll.dll". */
const char *code_names_base(const char *file);

#endif
