/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as an SVG file that needs no other file (doc/FORMATS). A viewer without scripts
 * shows the picture; a browser runs the script, which zooms and searches. Main's thread.
 */
#include "config.h"

#include "export/picture.h"

struct xtop_error *export_svg(const struct snapshot *snapshot,
			      const struct export_settings *settings, FILE *file)
{
	struct snapshot copy;
	struct picture picture;
	struct xtop_error *error = picture_init(&picture, snapshot, settings, &copy);

	if (error)
		return error;
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", file);
	picture_put(&picture, file);
	fputs("<desc>\n", file);
	picture_put_notes(&picture, "", "\n", file);
	fputs("</desc>\n<script><![CDATA[\n", file);
	error = picture_put_profiles(&picture, file);
	fputs(picture_script, file);
	fputs("]]></script>\n", file);
	picture_end(file);
	picture_deinit(&picture, &copy);
	return error;
}
