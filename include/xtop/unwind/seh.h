/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows' unwind tables on x86-64, as a PE image has them: .pdata says where functions are, .xdata
 * says what their prologs do. All addresses are offsets from the image's start.
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
	uint32_t info; /* place of the function's UNWIND_INFO */
};

struct seh_tables {
	struct seh_function *functions;
	size_t n;
	uint8_t *infos; /* every UNWIND_INFO, as bytes; zeros where bytes are missing */
	uint32_t infos_start; /* the image's address of infos[0] */
	size_t infos_bytes;
	/* the code, to recognise epilogs; only read() and close() are used */
	struct code_source source;
};

/* The function that ADDRESS lies in; NULL if there is none. */
const struct seh_function *seh_find(const struct seh_tables *tables, uint64_t address);

#endif
