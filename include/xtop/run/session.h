/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of xtop. Main's thread. */
#ifndef XTOP_SESSION_H
#define XTOP_SESSION_H

#include "xtop/cli/options.h"

/* Returns an error if no guest and no file is named, and there is no Xen whose guests to list. */
struct xtop_error *session_check_xen(const struct options *options);
/* Returns usage errors in OPTIONS that options_parse() cannot see; NULL if there is none. */
struct xtop_error *session_check(const struct options *options);
/* Reports one clean line, without its end, to the user: what happened to the guest. */
typedef void session_report_fn(const char *line);
/*
 * Profiles the guests or the recording that OPTIONS name until the user or a limit ends it, and
 * writes the files of OPTIONS. REPORT (may be NULL) is called when there is no screen to show the
 * line on.
 */
struct xtop_error *session_run(const struct options *options, session_report_fn *report);

#endif
