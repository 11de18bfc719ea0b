/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --addr2line: an oops or a call trace of a Linux kernel, with source lines. Main's thread. */
#ifndef XTOP_ADDR2LINE_H
#define XTOP_ADDR2LINE_H

#include <stdio.h>

#include "xtop/base/error.h"
#include "xtop/symbol/image.h"

struct addr2line_settings {
	const struct space *kernel; /* the kernel and its modules; NULL: not known */
	bool linked;  /* KERNEL has the addresses that files were linked for, not the guest's */
	bool inlined; /* print inlined functions */
	void (*report)(const char *line); /* what to warn of */
};

/*
 * The debug files of -k: each is the kernel's, or that of the module after which it is named
 * ("nf_tables.ko"). Those that are ELF files with addresses are added to SYMBOLS.
 */
struct xtop_error *addr2line_add_file(struct symbols *symbols, const char *path);
/*
 * Copies IN to OUT, with what is known of each place below its line. Error: there is no place in
 * it, or nothing is known of any.
 */
struct xtop_error *addr2line_run(const struct addr2line_settings *settings, FILE *in, FILE *out);

#endif
