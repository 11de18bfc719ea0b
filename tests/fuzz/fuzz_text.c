/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest calls a thing on its way to the screen: demangled, cleaned, drawn. Whatever comes
 * out must be valid UTF-8 without control characters and ';', checked here on its own. The name is
 * a command line, too, and a message for a terminal of ASCII.
 */
#include "config.h"

#include "fuzz.h"
#include "linux/process/script.h"
#include "tests/support/canvas_text.h"
#include "xtop/base/text.h"
#include "xtop/profile/frames.h"
#include "xtop/symbol/symbol.h"

/* One character of valid UTF-8 at *AT, or abort. */
static uint32_t next_character(const unsigned char **at)
{
	const unsigned char *bytes = *at;
	unsigned n = bytes[0] < 0x80 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t character = n == 1 ? bytes[0] : bytes[0] & (0x7f >> n);

	fuzz_must(bytes[0] < 0x80 || (bytes[0] >= 0xc2 && bytes[0] < 0xf5), "a first byte");
	for (unsigned i = 1; i < n; i++) {
		fuzz_must((bytes[i] & 0xc0) == 0x80, "a following byte");
		character = character << 6 | (bytes[i] & 0x3f);
	}
	fuzz_must(character >= least[n] && character < 0x110000 && character >> 11 != 0x1b,
		  "the shortest form of a character there is");
	*at += n;
	return character;
}

static void check_character(uint32_t character)
{
	fuzz_must(character >= 0x20 && character != 0x7f && (character < 0x80 || character > 0x9f),
		  "no control character");
	fuzz_must(character != 0x61c && (character < 0x200b || character > 0x200f) &&
			  (character < 0x2028 || character > 0x202e) &&
			  (character < 0x2060 || character > 0x206f) && character != 0xfeff,
		  "nothing that turns text around or is not seen");
}

static void check_clean(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		uint32_t character = next_character(&at);

		check_character(character);
		fuzz_must(character != ';', "no ';'");
	}
}

static void clean(struct fuzz *fuzz, const char *source, size_t size_bytes)
{
	size_t capacity = 1 + fuzz_u16(fuzz) % 8192;
	char *target = malloc(capacity);
	size_t length;

	if (!target)
		abort();
	length = text_clean(target, capacity, source, size_bytes);
	fuzz_must(length < capacity && strlen(target) == length, "it fits");
	check_clean(target);
	free(target);
}

/* The program in the command line LINE, which has no spare bytes. */
static void find_script(const char *line, size_t size_bytes)
{
	char *copy = malloc(size_bytes ? size_bytes : 1), name[SCRIPT_NAME_BYTES];

	if (!copy)
		abort();
	memcpy(copy, line, size_bytes);
	if (script_find(copy, size_bytes, name))
		fuzz_must(*name && memchr(name, '\0', sizeof(name)), "a script has a name, which ends");
	free(copy);
}

static void make_ascii(const char *source, size_t size_bytes)
{
	char *copy = malloc(size_bytes + 1);

	if (!copy)
		abort();
	text_clean(copy, size_bytes + 1, source, size_bytes);
	text_to_ascii(copy);
	for (const char *at = copy; *at; at++)
		fuzz_must(*at >= ' ' && *at < 0x7f, "ASCII");
	free(copy);
}

static void draw(const struct frame *frame)
{
	struct canvas *canvas = canvas_create(4, 40, false);
	char *sheet;

	if (!canvas)
		abort();
	canvas_put(canvas, 0, 0, 40, STYLE_NORMAL, frame->name);
	canvas_put_name(canvas, 1, 3, 20, STYLE_NORMAL, frame->name);
	canvas_put_right(canvas, 2, 1, 17, STYLE_NORMAL, frame->raw_name);
	canvas_printf(canvas, 3, 0, STYLE_NORMAL, "%s in %s", frame->name, frame->module);
	for (int row = 0; row < 4; row++)
		for (int column = 0; column < 40; column++) {
			const struct cell *cell = canvas_cell(canvas, row, column);

			for (int i = 0; i < CELL_MAX_CHARACTERS && cell->characters[i]; i++)
				check_character(cell->characters[i]);
		}
	sheet = canvas_dump(canvas);
	free(sheet);
	canvas_destroy(canvas);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	uint8_t kind = fuzz_u8(&fuzz) % 3;
	size_t name_bytes = fuzz.left_bytes;
	const struct frame *frame;
	struct frames *frames;
	char *name = malloc(name_bytes + 1);

	if (!name)
		abort();
	memcpy(name, fuzz.at, name_bytes);
	name[name_bytes] = '\0';
	find_script(name, name_bytes);
	make_ascii(name, name_bytes);
	clean(&fuzz, name, name_bytes);
	fuzz_succeed(frames_create(symbol_demangle, &frames));
	frame = frames_get(frames,
			   kind ? frames_intern(frames,
						kind == 1 ? FRAME_KIND_KERNEL : FRAME_KIND_USERLAND,
						name, name + name_bytes / 2, 0)
				: frames_intern_process(frames, name, name + name_bytes / 2));
	check_clean(frame->name);
	check_clean(frame->raw_name);
	check_clean(frames_get_home(frames, frame));
	draw(frame);
	frames_destroy(frames);
	free(name);
	return 0;
}
