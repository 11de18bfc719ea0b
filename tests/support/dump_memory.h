/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a guest from a file that has all frames from number 0. With such a file, code that
 * reads a real kernel's memory can be tried without Xen. These files are too large for the tree.
 */
#ifndef TESTS_DUMP_MEMORY_H
#define TESTS_DUMP_MEMORY_H

#include "xtop/base/vcpu.h"
#include "xtop/memory/memory.h"

struct xtop_error *dump_open(const char *path, struct memory **memoryp);
/*
 * CPU 0 of QEMU's "info registers -a"; USER: it runs user code. If PATH has ".arm64" in its name:
 * lines NAME=HEX, with the names of tests/lab/README.
 */
struct xtop_error *dump_read_registers(const char *path, struct registers *regs, bool *user);

#endif
