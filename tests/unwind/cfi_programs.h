/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function whose call-frame information is made here, byte by byte. */
#ifndef TESTS_UNWIND_CFI_PROGRAMS_H
#define TESTS_UNWIND_CFI_PROGRAMS_H

#include "cfi_bytes.h"
#include "tests/support/tap.h"

/* def_cfa rsp+8, return address at CFA-8: what every CIE of x86-64 says. */
static const uint8_t usual[] = { 0x0c, 7, 8, 0x90, 1 };
static const uint8_t absolute[] = { 0x00 };

static const struct {
	uint64_t start, length;
	uint8_t data_bytes;
} __attribute__((packed)) plain = { MADE_CODE, 0x100, 0 };

static inline struct cfi *compile_program(const void *program, size_t bytes)
{
	struct cfi_bytes made = { 0 };

	bytes_cie(&made, "zR", absolute, 1, usual, sizeof(usual));
	bytes_fde(&made, &plain, sizeof(plain), program, bytes);
	return bytes_compile(&made);
}

/* The rule 16 bytes into the function, after PROGRAM and an advance of 1. */
#define check_program(what, wanted, ...)                                                           \
	do {                                                                                       \
		const uint8_t program_[] = { 0x41, __VA_ARGS__ };                                  \
		struct cfi *cfi_ = compile_program(program_, sizeof(program_));                    \
		check_string(rule_text(cfi_, MADE_CODE + 16), wanted, what);                       \
		cfi_destroy(cfi_);                                                                 \
	} while (0)

#endif
