/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What xtop does without profiling: it lists guests, and lets stopped guests run. Main's thread. */
#ifndef XTOP_COMMANDS_H
#define XTOP_COMMANDS_H

#include "xtop/cli/options.h"

/*
 * --check: returns a usage error if a run with these options would not begin. Asks neither Xen, nor
 * guests, nor servers.
 */
struct xtop_error *command_check(const struct options *options);
/* -l: prints the guests. */
struct xtop_error *command_list(void);
/*
 * --unpause: lets a guest run that an xtop left stopped when all its processes were killed. *NOTEP
 * says what was done; the caller frees it.
 */
struct xtop_error *command_unpause(const struct options *options, char **notep);
/*
 * Lets the guests of -d run before they are sampled, if a killed xtop left them stopped; with --all
 * every guest that is paused. REPORT gets a line about each guest that was let go.
 */
struct xtop_error *command_repair(const struct options *options, void (*report)(const char *line));

#endif
