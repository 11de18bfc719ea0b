/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files to read that only who called xtop may open: opened at start, parsed when the rights are
 * gone. Main's thread.
 */
#ifndef XTOP_INPUTS_H
#define XTOP_INPUTS_H

#include "xtop/error.h"

/* Opens PATH for reading now, or keeps what is wrong with it for inputs_take(). */
struct xtop_error *inputs_add(const char *path);
/*
 * As open(PATH, O_RDONLY | O_CLOEXEC | O_NOCTTY), but of what was opened under this name, if
 * something was. The descriptor is the caller's, and what comes next under the name the next one.
 */
int inputs_take(const char *path);
void inputs_close(void); /* what nobody took */

#endif
