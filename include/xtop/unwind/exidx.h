/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of 32-bit Arm programs ("Exception Handling ABI for the Arm Architecture", IHI
 * 0038, §5 and §6): .ARM.exidx, one entry for each function or for several alike, and .ARM.extab
 * for what does not fit in there.
 */
#ifndef XTOP_EXIDX_H
#define XTOP_EXIDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exidx_section {
	const uint8_t *bytes; /* NULL: there is no such section */
	size_t size_bytes;
	uint32_t address;
};

struct exidx_sections {
	struct exidx_section index, table;
	bool is_linux; /* a kernel's: what cannot be unwound has no caller */
};

#endif
