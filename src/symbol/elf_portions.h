/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of a large ELF file in portions, each of which is read and compiled when an
 * address in it is first unwound. Resolver's thread.
 */
#ifndef XTOP_SYMBOL_ELF_PORTIONS_H
#define XTOP_SYMBOL_ELF_PORTIONS_H

#include "xtop/elf/elf.h"
#include "xtop/unwind/unwind.h"

struct elf_portions;

/*
 * BYTES are those of FILE, and outlive the portions. HAS_GO: FILE has Go's table, too. NULL: the
 * file has no index of its FDEs, has other unwind tables besides, or memory is out.
 */
struct elf_portions *elf_portions_create(struct elf_file *file, const struct bytes *bytes,
					 bool has_go);
void elf_portions_destroy(struct elf_portions *portions); /* NULL allowed */
/*
 * The tables for ADDRESS: CFI of the portion, all else from OTHERS. They hold for [*START, *END)
 * and live as long as PORTIONS. All addresses are the image's.
 */
const struct unwind_tables *elf_portions_find(struct elf_portions *portions,
					      const struct unwind_tables *others, uint64_t address,
					      uint64_t *start, uint64_t *end);
/*
 * The bounds of the function at ADDRESS as the index has them: from its start to the next one's.
 * Returns false if the index has none, or cannot be read now.
 */
bool elf_portions_find_bounds(struct elf_portions *portions, uint64_t address, uint64_t *start,
			      uint64_t *end);
/* Whether bytes that were needed could not be read. */
bool elf_portions_are_incomplete(const struct elf_portions *portions);
size_t elf_portions_memory_bytes(const struct elf_portions *portions);

#endif
