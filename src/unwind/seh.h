/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinding the code of PE images by .pdata and .xdata (xtop/unwind/seh.h). Resolver's thread. A
 * step reads the guest's code only to recognise epilogs.
 */
#ifndef XTOP_UNWIND_SEH_H
#define XTOP_UNWIND_SEH_H

#include "unwind/cursor.h"
#include "xtop/unwind/seh.h"

struct seh;

/*
 * Takes ownership of all that TABLES have, even on an error: `functions` and `infos` are free()d,
 * and `source` is closed. *SEHP is NULL if there is no function. Error: out of memory.
 */
struct xtop_error *seh_create(const struct seh_tables *tables, struct seh **sehp);
void seh_destroy(struct seh *seh); /* NULL allowed */
size_t seh_memory_bytes(const struct seh *seh);

/* BIAS: address in the guest - address in the image. */
enum unwind_step seh_step(struct seh *seh, uint64_t bias, struct cursor *cursor);

#endif
