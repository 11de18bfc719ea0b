/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to memory/: the walk for arm64; walk_arm64.c explains the tables. Any thread. */
#ifndef MEMORY_WALK_ARM64_H
#define MEMORY_WALK_ARM64_H

#include "xtop/walk.h"

/* As walk_find_span(), for a ROOT of arm64. TABLE and CONTEXT are those of struct walk_reader. */
enum walk_result walk_arm64(const volatile uint64_t *(*table)(void *context, frame_t frame),
			    void *context, struct memory_root root, uint64_t address,
			    struct walk_span *span);
/* As walk_index(). */
size_t walk_arm64_index(struct memory_root root, uint64_t address, unsigned step);

#endif
