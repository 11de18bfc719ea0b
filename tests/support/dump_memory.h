/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of guest-physical memory, frame after frame from 0, in the place of a live guest: for
 * trying walkers on a real kernel's memory without Xen. Such files are too large for the tree.
 */
#ifndef TESTS_DUMP_MEMORY_H
#define TESTS_DUMP_MEMORY_H

#include "xtop/memory.h"

struct xtop_error *dump_open(const char *path, struct memory **memoryp);

#endif
