/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structs for the BTF of a kernel whose types are read in two parts. */
#ifndef TESTS_LINUX_KERNEL_KERNEL_STRUCTS_H
#define TESTS_LINUX_KERNEL_KERNEL_STRUCTS_H

#include <stdio.h>
#include <string.h>

#include "linux/kernel/layout.h"
#include "tests/support/make_btf.h"

/* Adds an empty struct for each struct of the list of members, but for the N_OTHERS of OTHERS. */
static inline void add_structs(struct make_btf *make, const char *const *others, size_t n_others)
{
	char text[64];

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++) {
		const char *name = layout_struct(i);
		bool is_other = i && strcmp(name, layout_struct(i - 1)) == 0;

		for (size_t j = 0; j < n_others; j++)
			is_other = is_other || strcmp(name, others[j]) == 0;
		snprintf(text, sizeof(text), "struct %s 8 { u64 nothing @0; }", name);
		if (!is_other)
			make_btf_text(make, text);
	}
}

/* Adds N structs with names of their own, and their members: some 300 bytes each. */
static inline void add_unknown(struct make_btf *make, unsigned n)
{
	static const char name[] = "another_struct_that_nobody_ever_looks_for";
	char text[512];

	for (unsigned i = 0; i < n; i++) {
		snprintf(text, sizeof(text),
			 "struct %s_%u 32 { u64 %s_a_%u @0; u64 %s_b_%u @8; u64 %s_c_%u @16; "
			 "u64 %s_d_%u @24; }",
			 name, i, name, i, name, i, name, i, name, i);
		make_btf_text(make, text);
	}
}

#endif
