/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A range of a file, page by page as it is needed: the place of each byte in memory is known from
 * the start, but a page is read when somebody first needs it. Resolver's thread.
 */
#ifndef XTOP_ELF_PAGES_H
#define XTOP_ELF_PAGES_H

#include "xtop/base/bytes.h"

struct elf_pages;

/* The range [OFFSET, OFFSET + SIZE_BYTES) of BYTES, which outlives it. NULL: out of memory. */
struct elf_pages *elf_pages_create(const struct bytes *bytes, uint64_t offset, size_t size_bytes);
void elf_pages_destroy(struct elf_pages *pages); /* NULL allowed */
/* The first byte of the range. Bytes that nobody needed so far are zeros, or are the file's. */
const uint8_t *elf_pages_bytes(const struct elf_pages *pages);
/*
 * Reads the pages of SIZE_BYTES at OFFSET in the range that were not read yet. Returns false if
 * some of these bytes lie outside the range, or could not be read when they were first needed.
 */
bool elf_pages_need(struct elf_pages *pages, size_t offset, size_t size_bytes);
size_t elf_pages_memory_bytes(const struct elf_pages *pages);

#endif
