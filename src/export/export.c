/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of export formats; see xtop/export.h. */
#include "config.h"

#include "xtop/export.h"

#include <string.h>

/* A new format is a file beside folded.c, its prototype in xtop/export.h, and a line here. */
static const struct export_format export_formats[] = {
	{ "folded", ".folded", export_folded },
};

const struct export_format *export_find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(export_formats) / sizeof(export_formats[0]); i++)
		if (strcmp(export_formats[i].name, name) == 0)
			return &export_formats[i];
	return NULL;
}
