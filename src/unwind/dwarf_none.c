/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf.h for machines on which libunwind does not know the registers of x86-64. No image has a
 * table for libunwind. At a row that the compiled table cannot express, the chain ends or continues
 * by frame pointers.
 */
#include "config.h"

#include "unwind/dwarf.h"

struct xtop_error *dwarf_create(const struct cfi_sections *sections, const struct cfi *cfi,
				struct dwarf **dwarfp)
{
	(void)sections;
	(void)cfi;
	*dwarfp = NULL;
	return NULL;
}

void dwarf_destroy(struct dwarf *dwarf)
{
	(void)dwarf;
}

enum unwind_step dwarf_step(struct dwarf *dwarf, uint64_t bias, struct cursor *cursor)
{
	(void)dwarf;
	(void)bias;
	(void)cursor;
	return STEP_NOT_COVERED;
}

size_t dwarf_memory_bytes(const struct dwarf *dwarf)
{
	(void)dwarf;
	return 0;
}
