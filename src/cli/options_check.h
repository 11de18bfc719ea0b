/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that do not go together. Main's thread, at the start. */
#ifndef XTOP_OPTIONS_CHECK_H
#define XTOP_OPTIONS_CHECK_H

#include "xtop/cli/options.h"

/* OPTIONS as the user gave them, before defaults are set. NULL: they go together. */
struct xtop_error *options_check(const struct options *options);
/* Both names of stdout for output_open(), "-" and "/dev/stdout". NULL is none. */
bool options_is_stdout(const char *path);

#endif
