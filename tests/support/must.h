/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For what a test or benchmark cannot go on without. */
#ifndef TESTS_MUST_H
#define TESTS_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "xtop/base/error.h"

/* For tests: TAP's words on stdout, and the exit status that automake takes for an error. */
static inline void must(struct xtop_error *error)
{
	if (!error)
		return;
	printf("Bail out! %s\n", error_message(error));
	exit(99);
}

/* For programs whose stdout is a result: "PROGRAM: MESSAGE" on stderr, status 1. */
static inline void must_or_die(struct xtop_error *error)
{
	if (!error)
		return;
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, error_message(error));
	exit(1);
}

#endif
