/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "xtop/cli/example.h"

#include <string.h>

/* The files stand in doc/example; doc/examples/README tells how each was made. */
static const struct example examples[] = {
	{ .name = "server", .file = "server.pb.gz" },
	{ .name = "update", .file = "update.pb.gz", .baseline = "server.pb.gz" },
	{ .name = "locks", .file = "locks.xrec.xz" },
	{ .name = "crash", .file = "crash.xrec.xz", .crash = true },
};

bool example_find(const char *name, const struct example **examplep)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++)
		if (strcmp(examples[i].name, name) == 0) {
			*examplep = &examples[i];
			return true;
		}
	return false;
}
