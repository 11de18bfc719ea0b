/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Golden screens: scripted keys go into the UI without a terminal (ui.h). The canvas comes out as
 * text and is compared with tests/screens/golden/NAME.golden. If the two differ, both are printed.
 * XTOP_UPDATE_GOLDEN=1 writes the files anew: read each one, because the user will see it.
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/canvas_text.h"
#include "tests/support/tap.h"
#include "ui/ui.h"
#include "ui/views/views.h"

extern const struct view_ops choose_ops, flame_ops, groups_ops, help_ops, overhead_ops, tree_ops;

/* --- keys: characters stand for themselves, others are <Enter> <Esc> <Up> <F4> ... ------------ */

static inline uint32_t key_by_name(const char *name, size_t length)
{
	static const struct {
		const char *name;
		uint32_t code;
	} names[] = { { "Enter", INPUT_ENTER },
		      { "Esc", INPUT_ESCAPE },
		      { "Tab", INPUT_TAB },
		      { "Up", INPUT_UP },
		      { "Down", INPUT_DOWN },
		      { "Left", INPUT_LEFT },
		      { "End", INPUT_END },
		      { "Home", INPUT_HOME },
		      { "PgDn", INPUT_PAGE_DOWN },
		      { "PgUp", INPUT_PAGE_UP },
		      { "Backspace", INPUT_BACKSPACE },
		      { "C-u", INPUT_CTRL_U } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(names[i].name, name, length) && !names[i].name[length])
			return names[i].code;
	if (name[0] == 'F' && isdigit((unsigned char)name[1]))
		return INPUT_F((uint32_t)atoi(name + 1));
	abort();
}

static inline void screen_draw(struct ui *ui, int columns_, int rows, char **textp, char **stylesp)
{
	struct canvas *canvas = canvas_create(rows, columns_, false);

	ui_draw(ui, canvas);
	if (textp)
		*textp = canvas_dump(canvas);
	if (stylesp)
		*stylesp = canvas_dump_styles(canvas);
	canvas_destroy(canvas);
}

/* Draws the screen before each key, as a terminal does: views learn their size from drawing. */
static inline void screen_keys(struct ui *ui, int columns_, int rows, const char *script)
{
	while (*script) {
		struct input input = { .code = (unsigned char)*script };

		if (*script == '<' && script[1] && strchr(script, '>') &&
		    isalpha((unsigned char)script[1])) {
			size_t length = strcspn(script, ">") - 1;

			input.code = key_by_name(script + 1, length);
			script += length + 1;
		}
		script++;
		screen_draw(ui, columns_, rows, NULL, NULL);
		ui_handle(ui, &input);
	}
}

/* --- comparing -------------------------------------------------------------------------------- */

static inline char *file_read(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return strdup("(no such file)\n");
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(file);
	return text;
}

static inline void golden_path(char path[512], const char *name)
{
	const char *top = getenv("top_srcdir");

	snprintf(path, 512, "%s/tests/screens/golden/%s.golden", top ? top : ".", name);
}

static inline void print_commented(const char *title, const char *text)
{
	printf("# --- %s\n", title);
	while (*text) {
		int length = (int)strcspn(text, "\n");

		printf("# %.*s\n", length, text);
		text += length + (text[length] == '\n');
	}
}

static inline void golden_check(const char *name, const char *got)
{
	char path[512], *want;

	golden_path(path, name);
	if (getenv("XTOP_UPDATE_GOLDEN")) {
		FILE *file = fopen(path, "w");

		if (!file || fputs(got, file) < 0 || fclose(file))
			abort();
	}
	want = file_read(path);
	if (!check(!strcmp(got, want), "screen %s", name)) {
		print_commented("seen", got);
		print_commented("expected", want);
	}
	free(want);
}

#endif
