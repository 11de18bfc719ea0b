/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --addr2line: an oops or a call trace of a Linux kernel, with source lines. Main's thread. */
#ifndef XTOP_ADDR2LINE_H
#define XTOP_ADDR2LINE_H

#include <stdio.h>

#include "xtop/base/error.h"
#include "xtop/supervise/host_files.h"
#include "xtop/symbol/image.h"

struct addr2line_settings {
	const struct host_files *files; /* has files of -k, and reads lines; borrowed */
	const struct space *kernel; /* the kernel and its modules; NULL if they are not known */
	bool linked;  /* KERNEL has the addresses that files were linked for, not the guest's */
	bool inlined; /* inlined functions are printed */
	void (*report)(const char *line); /* gets a line for each warning */
};

/*
 * Adds a debug file of -k: the kernel's, or the file of the module after which it is named
 * ("nf_tables.ko"). The kernel's symbols are added to SYMBOLS; a module has no addresses yet.
 */
struct xtop_error *addr2line_add_file(const struct host_files *files, struct symbols *symbols,
				      const char *path);
/*
 * Copies IN to OUT, and puts functions and lines of each place below the line that names it. Error:
 * the text names no place, or nothing is known about any place.
 */
struct xtop_error *addr2line_run(const struct addr2line_settings *settings, FILE *in, FILE *out);

#endif
