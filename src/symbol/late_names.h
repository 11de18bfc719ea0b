/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a symbol table that stay in the file until somebody asks for them. Several symbols may
 * have one address; which of them is shown (alias.h) is decided when the names are read.
 * Resolver's thread.
 */
#ifndef XTOP_SYMBOL_LATE_NAMES_H
#define XTOP_SYMBOL_LATE_NAMES_H

#include "xtop/base/bytes.h"
#include "xtop/symbol/symbol.h"

struct late_names;

/* BYTES are the file's, and outlive the names. NULL: out of memory. */
struct late_names *late_names_create(const struct bytes *bytes);
void late_names_destroy(struct late_names *names); /* NULL allowed */
/*
 * Adds the name at offset AT of the file. The first name of an address has IS_FIRST; the others of
 * that address follow. Returns the name's number, or UINT32_MAX if memory is out.
 */
uint32_t late_names_add(struct late_names *names, uint32_t at, enum symbol_rank rank, bool sized,
			bool is_first);
/*
 * The best of the names from NUMBER on that have one address. NULL: none of them can be read now.
 * Lives as long as NAMES.
 */
const char *late_names_find(struct late_names *names, uint32_t number);
/* Whether names that were asked for could not be read. */
bool late_names_are_incomplete(const struct late_names *names);
size_t late_names_memory_bytes(const struct late_names *names);

#endif
