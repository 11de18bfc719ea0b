/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a kernel in a guest's memory, for unwinding without tables. Resolver's thread. */
#ifndef XTOP_OS_KERNEL_CODE_H
#define XTOP_OS_KERNEL_CODE_H

#include "xtop/memory/memory.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/code.h"

/*
 * Makes *SOURCE read the code of IMAGE. source->close() frees what *SOURCE holds. MEMORY and IMAGE
 * outlive *SOURCE. False: out of memory.
 */
bool kernel_code_open(struct memory *memory, struct memory_root root, struct image *image,
		      struct code_source *source);

#endif
