/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Without what a test stands on there is nothing more to test: TAP's word for that, and automake's status. */
#ifndef TESTS_MUST_H
#define TESTS_MUST_H

#include <stdio.h>
#include <stdlib.h>

#include "xtop/error.h"

static inline void must(struct xtop_error *error)
{
	if (!error)
		return;
	printf("Bail out! %s\n", error_message(error));
	exit(99);
}

#endif
