/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as an SVG file that needs no other file (doc/FORMATS). A viewer without scripts
 * shows the picture; a browser runs the script, which zooms and searches. Main's thread.
 */
#include "config.h"

#include "export/notes.h"
#include "export/picture.h"

static void svg_put_notes(const struct picture *picture, FILE *file)
{
	struct notes notes;

	notes_build(picture->snapshot, picture->settings, &notes);
	fputs("<desc>\n", file);
	for (size_t i = 0; i < notes.n; i++) {
		picture_put_text(notes.lines[i], file);
		fputc('\n', file);
	}
	fputs("</desc>\n", file);
}

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
	svg_put_notes(&picture, file);
	fputs("<script><![CDATA[\n", file);
	error = picture_put_profile(&picture, file);
	fputs(picture_script, file);
	fputs("]]></script>\n", file);
	picture_end(file);
	picture_deinit(&picture, &copy);
	return error;
}
