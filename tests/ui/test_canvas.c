/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sheet: clipping, widths, cutting, and characters that must never get into a cell. */
#include "config.h"

#include "ui/terminal/canvas.h"

#include <locale.h>
#include <stdlib.h>

#include "tests/support/canvas_text.h"
#include "tests/support/tap.h"

static char *row_text(struct canvas *canvas, int row)
{
	static char line[1024];
	char *text = canvas_dump(canvas), *at = text;

	while (row--)
		at = strchr(at, '\n') + 1;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
	free(text);
	return line;
}

static const char *put(int columns, const char *text)
{
	struct canvas *canvas = canvas_create(1, columns, false);
	char *line;

	canvas_put(canvas, 0, 0, columns, STYLE_NORMAL, text);
	line = row_text(canvas, 0);
	canvas_destroy(canvas);
	return line;
}

static const char *put_name(int width, const char *text)
{
	struct canvas *canvas = canvas_create(1, 80, false);
	char *line;

	canvas_put_name(canvas, 0, 0, width, STYLE_NORMAL, text);
	line = row_text(canvas, 0);
	canvas_destroy(canvas);
	return line;
}

static void test_clipping(void)
{
	struct canvas *canvas = canvas_create(2, 5, false);

	canvas_put(canvas, 0, -2, 10, STYLE_NORMAL, "abcdefghij");
	check_string(row_text(canvas, 0), "cdefg", "a text is cut at both sides");
	canvas_put(canvas, -1, 0, 5, STYLE_NORMAL, "x");
	canvas_put(canvas, 2, 0, 5, STYLE_NORMAL, "x");
	canvas_put(canvas, 1, 5, 5, STYLE_NORMAL, "x");
	canvas_fill(canvas, 1, -3, 100, STYLE_HOT);
	canvas_restyle(canvas, 7, -3, 100, STYLE_HOT);
	check_string(row_text(canvas, 1), "", "what is drawn outside of the sheet is lost");
	check_u64(canvas_put(canvas, 1, 0, 2, STYLE_NORMAL, "abc"), 2,
		  "the number of cells used is returned");
	canvas_put_right(canvas, 1, 0, 5, STYLE_NORMAL, "z");
	check_string(row_text(canvas, 1), "ab  z", "text is aligned right");
	canvas_destroy(canvas);
}

static void test_width(void)
{
	struct canvas *canvas = canvas_create(1, 6, false);

	check_u64(canvas_text_width("a名前b"), 6, "wide characters take two cells");
	check_u64(canvas_text_width("e\xcc\x81"), 1, "a combining mark takes no cell");
	check_string(put(5, "a名前b"), "a名前", "wide characters fit exactly");
	check_string(put(4, "a名前b"), "a名", "half of a wide character is not drawn");
	canvas_put(canvas, 0, 0, 6, STYLE_NORMAL, "名前");
	canvas_put(canvas, 0, 1, 1, STYLE_NORMAL, "x");
	check_string(row_text(canvas, 0), " x前",
		     "overwriting the right half of a wide character blanks the left one");
	canvas_put(canvas, 0, 2, 1, STYLE_NORMAL, "y");
	check_string(row_text(canvas, 0), " xy", "overwriting the left half blanks the right one");
	check_string(put(3, "e\xcc\x81\xcc\x82\xcc\x83\xcc\x84x"), "e\xcc\x81\xcc\x82x",
		     "a cell keeps two marks at most");
	check_string(put(3, "\xcc\x81x"), "x", "a mark without a character is dropped");
	canvas_destroy(canvas);
}

static void test_hostile(void)
{
	check_string(put(20, "a\033[2Jb"), "a?[2Jb", "an escape character is replaced");
	check_string(put(20, "a\tb\rc\nd\x7f"), "a?b?c?d?", "control characters are replaced");
	check_string(put(20, "a\xc2\x9b"
			     "31m"),
		     "a?31m", "a C1 character in UTF-8 is replaced");
	check_string(put(20, "a\x9b"
			     "31m"),
		     "a?31m", "a C1 character as a byte is replaced");
	check_string(put(20, "a\xe2\x80\xae"
			     "b"),
		     "a?b", "a bidi override is replaced");
	check_string(put(20, "a\xe2\x80\x8b"
			     "b\xef\xbb\xbf"
			     "c"),
		     "a?b?c", "characters of no width are replaced");
	check_string(put(20, "a\xc0\x80"
			     "b\xed\xa0\x80"
			     "c\xf5\x80\x80\x80"),
		     "a??b???c????", "bytes that are no UTF-8 are replaced");
	check_string(put(20, "a\xe5\x90"), "a??", "a character that is cut is replaced");
	check_string(put(20, "\xf4\x90\x80\x80"), "????", "a character beyond Unicode is replaced");
}

static void test_names(void)
{
	check_string(put_name(20, "short"), "short", "a short name is not cut");
	check_string(put_name(11, "abcdefghijklmnop"), "abcde…lmnop",
		     "a long name keeps its head and its tail");
	check_string(put_name(10, "abcdefghijklmnop"), "abcde…mnop",
		     "the same in an even number of cells");
	check_string(put_name(5, "abcdefghijklmnop"), "abcd…",
		     "without room for a tail the head stays");
	check_string(put_name(1, "abcdef"), "…", "one cell has room for the mark of cutting only");
	check_string(put_name(0, "abcdef"), "", "no cell has room for nothing");
	check_string(put_name(11, "名前名前名前名前"), "名前…前名前",
		     "names of wide characters are cut between them");
	check_string(put_name(8, "abcdefghijke\xcc\x81xyz"), "abcd…xyz",
		     "a combining mark is not left without its character");
}

static void test_ascii(void)
{
	struct canvas *canvas = canvas_create(1, 20, true);

	canvas_put(canvas, 0, 0, 20, STYLE_NORMAL, "▌a · b › c…é名e\xcc\x81");
	check_string(row_text(canvas, 0), ">a - b > c~??e?",
		     "ASCII stands for ornaments, '?' for the rest");
	canvas_destroy(canvas);
}

static void test_styles(void)
{
	struct canvas *canvas = canvas_create(1, 4, false);
	char *text;

	canvas_put(canvas, 0, 1, 2, STYLE_WARM, "ab");
	text = canvas_dump_styles(canvas);
	check(!strcmp(text, ".cc.\n"), "each cell's style is one letter");
	free(text);
	canvas_destroy(canvas);
}

/* A console's font has the ornaments of code page 437. ASCII has none. */
static void test_charsets(void)
{
	static const char ornaments[] = "▁▂▃▄▅▆▇█▌▏▕░▓▾├└│─›…−–·µ";
	struct canvas *console = canvas_create(1, 80, CHARSET_CONSOLE),
		      *ascii = canvas_create(1, 80, CHARSET_ASCII);

	canvas_put(console, 0, 0, 80, STYLE_NORMAL, ornaments);
	canvas_put(ascii, 0, 0, 80, STYLE_NORMAL, ornaments);
	check_string(row_text(console, 0), "___▄▄▄██▌││░▓▼├└│─>~--·µ", "ornaments on a console");
	check_string(row_text(ascii, 0), "__.ooOO#>||.**|`|->~---u", "ornaments in ASCII");
	canvas_destroy(console);
	canvas_destroy(ascii);
}

int main(void)
{
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 77;
	test_clipping();
	test_width();
	test_hostile();
	test_names();
	test_ascii();
	test_styles();
	test_charsets();
	return tap_done();
}
