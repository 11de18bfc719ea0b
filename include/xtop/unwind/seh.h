/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows' unwind tables on x86-64, as a PE image has them: .pdata says where functions are, .xdata
 * what their prologs did. All addresses are distances from the image's start.
 */
#ifndef XTOP_SEH_H
#define XTOP_SEH_H

#include <stddef.h>
#include <stdint.h>

#include "xtop/base/error.h"
#include "xtop/unwind/code.h"

#define SEH_MAX_FUNCTIONS  (1U << 18) /* ntoskrnl.exe has 40,000 */
#define SEH_MAX_INFO_BYTES (4U << 20)

/* RUNTIME_FUNCTION, 12 bytes, ascending by `start` (Microsoft, "x64 exception handling"). */
struct seh_function {
	uint32_t start, end;
	uint32_t info; /* where its UNWIND_INFO is */
};

struct seh_tables {
	struct seh_function *functions;
	size_t n;
	uint8_t *infos; /* all of UNWIND_INFO, from infos_start on; zeros where bytes are missing */
	uint32_t infos_start;
	size_t infos_bytes;
	struct code_source source; /* read() and close() only: tells epilogs */
};

/* The function that has ADDRESS; NULL: none has. */
const struct seh_function *seh_find(const struct seh_tables *tables, uint64_t address);

#endif
