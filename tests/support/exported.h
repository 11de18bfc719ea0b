/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an export writes, as text. */
#ifndef TESTS_EXPORTED_H
#define TESTS_EXPORTED_H

#include "tests/support/must.h"
#include "xtop/export/export.h"

/* The text that WRITE makes of SNAPSHOT. The caller frees it. */
static inline char *exported_text(const struct snapshot *snapshot,
				  const struct export_settings *settings, export_write_fn *write)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	must(write(snapshot, settings, file));
	fclose(file);
	return text;
}

#endif
