/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Refuses options that do not go together. Main's thread, at the start. */
#ifndef XTOP_OPTIONS_CHECK_H
#define XTOP_OPTIONS_CHECK_H

#include "xtop/cli/options.h"

/* Returns a usage error, or NULL. OPTIONS are as the user gave them, before defaults are set. */
struct xtop_error *options_check(const struct options *options);
/* Whether PATH, which may be NULL, is a name of stdout for output_open(): "-" or "/dev/stdout". */
bool options_is_stdout(const char *path);

#endif
