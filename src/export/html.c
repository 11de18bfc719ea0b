/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as an HTML file that needs no other file (doc/FORMATS): the picture of svg.c, as
 * wide as the window, and below it the notes. Main's thread.
 */
#include "config.h"

#include "export/picture.h"

/* The file loads nothing and sends nothing, whatever stands in a name. */
#define HTML_POLICY                                                                              \
	"default-src 'none';script-src 'unsafe-inline';style-src 'unsafe-inline';"               \
	"base-uri 'none';form-action 'none'"

static void html_put_head(const struct picture *picture, FILE *file)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"" HTML_POLICY "\">\n<title>",
	      file);
	picture_put_title(picture, file);
	fputs("</title>\n<style>\nbody{margin:0;font:12px monospace}\n"
	      "ul{margin:10px;padding:0;list-style:none;color:#444}\n</style>\n</head>\n<body>\n",
	      file);
}

struct xtop_error *export_html(const struct snapshot *snapshot,
			       const struct export_settings *settings, FILE *file)
{
	struct snapshot copy;
	struct picture picture;
	struct xtop_error *error = picture_init(&picture, snapshot, settings, &copy);

	if (error)
		return error;
	html_put_head(&picture, file);
	fputs("<div>\n", file);
	picture_put(&picture, file);
	picture_end(file);
	fputs("</div>\n<ul id=\"notes\">\n", file);
	picture_put_notes(&picture, "<li>", "</li>\n", file);
	fputs("</ul>\n<script>\n", file);
	error = picture_put_profiles(&picture, file);
	fputs(picture_script, file);
	fputs("</script>\n</body>\n</html>\n", file);
	picture_deinit(&picture, &copy);
	return error;
}
