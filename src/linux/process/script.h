/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of the program that an interpreter runs, by the command line: app.py for "python3 -u
 * /srv/app.py --password=x". Nothing else of the command line is told, because arguments may be
 * secrets. Resolver's thread.
 */
#ifndef XTOP_PROCESS_SCRIPT_H
#define XTOP_PROCESS_SCRIPT_H

#include "linux/kernel/linux_guest.h"

#define SCRIPT_NAME_BYTES     64   /* size that counts the NUL */
#define SCRIPT_MAX_LINE_BYTES 4096 /* bytes of a command line that are read */

/* Whether a process with the name COMM may run an interpreter that script_find() knows. */
bool script_is_interpreter(const char *comm);
/*
 * Finds the name in LINE, which has SIZE_BYTES: the arguments of a program, each with a NUL.
 * Returns false if there is none: the program is text in the command line, comes from the standard
 * input, or the process has written something else over its arguments.
 */
bool script_find(const char *line, size_t size_bytes, char name[SCRIPT_NAME_BYTES]);
/* Does what script_find() does, for the command line of the process whose mm_struct is at MM. */
bool script_read(const struct linux_guest *guest, uint64_t mm, char name[SCRIPT_NAME_BYTES]);

#endif
