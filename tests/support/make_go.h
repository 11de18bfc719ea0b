/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a table of Go's functions (go.h) in each of the four layouts. */
#ifndef TESTS_SUPPORT_MAKE_GO_H
#define TESTS_SUPPORT_MAKE_GO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum make_go_layout { MAKE_GO_1_2, MAKE_GO_1_16, MAKE_GO_1_18, MAKE_GO_1_20, N_MAKE_GO };

struct make_go_row {
	int32_t depth;
	uint32_t size_bytes; /* size of the code; 0: no more rows */
};

struct make_go_function {
	const char *name;
	uint32_t size_bytes;
	uint8_t flags; /* GO_*; the layout of 1.2 has none */
	struct make_go_row rows[6];
};

struct make_go_program {
	enum make_go_layout layout;
	uint64_t text;  /* address of the first function; the others follow each other */
	bool tell_text; /* the head has TEXT, if the layout has a place for it */
	const struct make_go_function *functions;
	size_t n;
};

/* Returns the size of the table in the CAPACITY bytes at BYTES, which must suffice. */
size_t make_go(const struct make_go_program *program, uint8_t *bytes, size_t capacity);

#endif
