/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modules of a made 32-bit kernel, as Linux 6.1 has them after their start. */
#ifndef TESTS_MADE_MODULE_I386_H
#define TESTS_MADE_MODULE_I386_H

#include "tests/support/made_i386.h"

#define MADE_MODULES       0x20100              /* the list's head */
#define MADE_PRINT_MODULES (MADE_TEXT + 0x400) /* print_modules() */
#define MADE_MODULE        0x70000 /* memory of the first; the next one follows */
#define MADE_MODULE_BYTES  0x8000

/* In a module's memory: two pages of code, then data, with struct module and the symbols. */
#define MADE_MODULE_TEXT    0x2000
#define MADE_MODULE_STRUCT  0x6040
#define MADE_MODULE_SYMBOLS 0x7000
#define MADE_MODULE_NAMES   (MADE_MODULE_SYMBOLS + 3 * 16)

/* In struct module. */
enum {
	MADE_MODULE_LIST = 4,
	MADE_MODULE_NAME = 12,
	MADE_MODULE_CORE = 0x100,
	MADE_MODULE_KALLSYMS = 0x168,
	MADE_MODULE_MEM = 0x100, /* Linux 6.5's memory of a module */
	MADE_MODULE_65_KALLSYMS = 0x208,
};

/*
 * N modules, at most two: "first" has a function "function_0" of 0x80 bytes at 0x40 of its memory,
 * "second" the same. The kernel has been made.
 */
void made_module_i386(struct made_i386 *made, unsigned n);
/* Makes N modules as Linux 6.5 has them: text, data, read-only data and so on have memory each. */
void made_module_65_i386(struct made_i386 *made, unsigned n);

#endif
