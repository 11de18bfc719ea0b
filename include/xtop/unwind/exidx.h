/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind tables of 32-bit Arm programs ("Exception Handling ABI for the Arm Architecture", IHI
 * 0038, §5 and §6). .ARM.exidx has one entry for each function, or for several functions that
 * unwind alike. .ARM.extab has the instructions that do not fit into an entry of .ARM.exidx.
 */
#ifndef XTOP_EXIDX_H
#define XTOP_EXIDX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exidx_section {
	const uint8_t *bytes; /* NULL: the image has no such section */
	size_t size_bytes;
	uint32_t address;     /* the image's address of bytes[0] */
};

struct exidx_sections {
	struct exidx_section index; /* .ARM.exidx */
	struct exidx_section table; /* .ARM.extab */
	struct work *work; /* tells when to stop building tables; NULL: never */
	bool is_linux; /* a Linux kernel: functions that cannot be unwound have no caller */
};

#endif
