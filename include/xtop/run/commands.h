/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What xtop does without profiling: it lists guests, and lets stopped guests run. Main's thread. */
#ifndef XTOP_COMMANDS_H
#define XTOP_COMMANDS_H

#include "xtop/cli/options.h"

/*
 * --check: whether a run with these options would begin; Xen, guests and servers are not asked.
 * Usage errors.
 */
struct xtop_error *command_check(const struct options *options);
/* -l: prints the guests. */
struct xtop_error *command_list(void);
/*
 * --unpause: lets a guest run that an xtop left stopped when all its processes were killed. *NOTEP,
 * malloc()ed, says what was done.
 */
struct xtop_error *command_unpause(const struct options *options, char **notep);
/*
 * Does the same for the guests of -d before they are sampled, and with --all for every guest that
 * is paused. REPORT gets a line about each guest that was let go.
 */
struct xtop_error *command_repair(const struct options *options, void (*report)(const char *line));

#endif
