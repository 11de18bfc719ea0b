/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run needs to read dom0's files after it has given up its rights. The session starts and
 * ends it; pipelines and results borrow it.
 */
#ifndef XTOP_HOST_FILES_H
#define XTOP_HOST_FILES_H

#include "xtop/base/inputs.h"
#include "xtop/supervise/fetch.h"
#include "xtop/supervise/line_client.h"

struct host_files {
	struct inputs *inputs;     /* files that were opened at start; NULL: none */
	struct line_client *lines; /* reads source lines; NULL: nobody does */
	struct fetch *fetch;       /* fetches debug and source files; NULL: nobody does */
};

#endif
