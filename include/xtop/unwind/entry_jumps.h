/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that the code of a kernel reaches by jumps alone from where its loader starts it: these
 * functions have no caller, though nothing in their code says so. Any thread.
 */
#ifndef XTOP_ENTRY_JUMPS_H
#define XTOP_ENTRY_JUMPS_H

#include "xtop/unwind/code.h"

/*
 * Finds where TARGET, a virtual or physical address, lies in the image: *ADDRESS. Returns false if
 * it is no code of the image.
 */
typedef bool entry_jumps_place(void *context, uint64_t target, uint64_t *address);

/* Adds to ENTRIES the functions that jumps reach from ENTRIES->elf and ->pvh. Only x86-64. */
void entry_jumps_find(const struct code_source *source, entry_jumps_place *place, void *context,
		      struct entry_points *entries);

#endif
