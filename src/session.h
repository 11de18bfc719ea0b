/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of xtop: starts, joins and stops the stages. */
#ifndef XTOP_SESSION_H
#define XTOP_SESSION_H

#include "options.h"

/* What is wrong with OPTIONS beyond their syntax: usage errors. */
struct xtop_error *session_check(const struct options *options);
/* One line, clean, without its end: what became of the guest. */
typedef void session_tell_fn(const char *line);
/*
 * Profiles the guest or the recording that OPTIONS name until the user or a limit ends it, and
 * writes what was asked for. TELL (may be NULL) is called when there is no screen to tell it on.
 */
struct xtop_error *session_run(const struct options *options, session_tell_fn *tell);
/*
 * --unpause: undoes a pause that an xtop left when all of it was killed. *NOTEP, malloc()ed, says what
 * was done.
 */
struct xtop_error *session_unpause(const struct options *options, char **notep);
/* The same unasked, before the guests of -d are sampled. */
struct xtop_error *session_repair(const struct options *options, session_tell_fn *tell);
/* -l */
struct xtop_error *session_list(void);

#endif
