/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to memory/: the walk for kernels of 32 bits on arm64; see walk_arm32.c. */
#ifndef MEMORY_WALK_ARM32_H
#define MEMORY_WALK_ARM32_H

#include "xtop/memory/walk.h"

#define ARM32_TABLES_A_PAGE 4 /* second tables of short descriptors */

/* As walk_find_span(), for a ROOT of ROOT_ARM32. TABLE and CONTEXT are struct walk_reader's. */
enum walk_result walk_arm32(const volatile uint64_t *(*table)(void *context, frame_t frame),
			    void *context, struct memory_root root, uint64_t address,
			    struct walk_span *span);
/* As walk_index(). */
size_t walk_arm32_index(struct memory_root root, uint64_t address, unsigned step);

#endif
