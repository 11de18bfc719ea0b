/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hostile names in every view, as functions, modules, processes, threads, domains, kernel versions
 * and notes. Only characters that do nothing but stand in their cell may reach the screen.
 */
#include "config.h"

#include <locale.h>
#include <wchar.h>

#include "scene.h"
#include "xtop/base/text.h"

static char longest[5000];

static const char *const hostile[] = {
	"\033[2J\033[H",     /* clears the screen */
	"\033]0;owned\007",  /* sets the window's title */
	"\033P+q544e\033\\", /* asks the terminal to type an answer */
	"\x9b"
	"31m\x9d"
	"0;x\x9c", /* C1, raw */
	"\xc2\x9b"
	"31m", /* C1 in UTF-8 */
	"a\xe2\x80\xae"
	"txt.exe", /* bidi override */
	"a\xe2\x81\xa6"
	"b\xe2\x81\xa9",                /* bidi isolates */
	"\xff\xfe\xc0\xaf\xed\xa0\x80", /* no UTF-8 */
	"\xe4\xb8",                     /* a character that is cut short */
	"e\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85\xcc\x86\xcc\x87\xcc\x88\xcc\x89", /* marks */
	"\xcc\x81lone_mark",
	"\xe5\x90\x8d\xe5\x89\x8d\xe5\x90\x8d\xe5\x89\x8d", /* wide */
	"\xf0\x9f\x98\x80\xf0\x9f\x98\x80",                 /* wide, 4 bytes */
	"zero\xe2\x80\x8bwidth\xef\xbb\xbf",
	"line\nfeed\rback\ttab\x7f"
	"del",
	"semi;colon %s%n%n",
	longest,
};
#define N_HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

/* Uses each name for everything that has a name. */
static struct snapshot *hostile_snapshot(struct scene *scene)
{
	struct fixture *fixture = &scene->fixture;
	struct snapshot *snapshot;

	for (size_t i = 0; i < N_HOSTILE; i++) {
		const uint32_t stack[] = {
			frames_intern_process(fixture->frames, hostile[i], ""),
			frames_intern_thread(
				fixture->frames, hostile[i],
				frames_intern_process(fixture->frames, hostile[i], "")),
			frames_intern(fixture->frames, FRAME_KIND_USERLAND, hostile[i], hostile[i],
				      i),
			frames_intern(fixture->frames, FRAME_KIND_KERNEL, hostile[i], hostile[i],
				      i),
			frames_intern(fixture->frames, FRAME_KIND_USERLAND, NULL, hostile[i], i),
		};

		profile_add(fixture->profile, stack, 5 - i % 2, fixture->time_ns, 100, 100);
		fixture->samples += 100;
	}
	snapshot = fixture_snapshot(fixture, 2);
	text_clean(snapshot->run->system, sizeof(snapshot->run->system), hostile[0],
		   strlen(hostile[0]));
	text_clean(snapshot->run->notes[0], sizeof(snapshot->run->notes[0]), hostile[1],
		   strlen(hostile[1]));
	return snapshot;
}

/*
 * NULL if TEXT is valid UTF-8 without control characters, overrides and characters without width;
 * else what is wrong with it.
 */
static const char *screen_broken(const char *text, int columns_)
{
	const unsigned char *at = (const unsigned char *)text;
	int width = 0;

	while (*at) {
		wchar_t character;
		int length = mbtowc(&character, (const char *)at, 8);

		if (length <= 0)
			return "no UTF-8";
		if (*at == '\n') {
			if (width > columns_)
				return "a line that is too long";
			width = 0;
			at++;
			continue;
		}
		if (character < 0x20 || (character >= 0x7f && character < 0xa0))
			return "a control character";
		if ((character >= 0x200b && character <= 0x200f) ||
		    (character >= 0x202a && character <= 0x202e) ||
		    (character >= 0x2060 && character <= 0x206f) || character == 0xfeff)
			return "a character that changes others";
		width += wcwidth(character);
		at += length;
	}
	return NULL;
}

static void check_screen(struct scene *scene, const char *way)
{
	static const struct {
		int columns, rows;
	} sizes[] = { { 80, 24 }, { 300, 100 }, { 40, 10 }, { 61, 17 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *broken;
		char *text;

		scene_draw(scene, sizes[i].columns, sizes[i].rows, &text, NULL);
		broken = screen_broken(text, sizes[i].columns);
		if (!check(!broken, "%s at %dx%d: %s", way, sizes[i].columns, sizes[i].rows,
			   broken ? broken : "clean"))
			print_commented("seen", text);
		free(text);
	}
}

int main(void)
{
	static const char *const ways[] = { "a",
					    "1+",
					    "t",
					    "E",
					    "I",
					    "E",
					    "f",
					    "<Down><Down>",
					    "<Down><Enter>",
					    "I",
					    "v",
					    "p",
					    "<Tab>",
					    "<Tab>jj<Enter>",
					    "<Esc>o",
					    "b",
					    "<Enter>",
					    "<Tab>j<Enter>",
					    "h",
					    "<Esc>",
					    "<F2>",
					    "<Esc>a/e<Enter>n",
					    "\\a<Enter>",
					    "V",
					    "w" };
	struct scene scene;

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		abort();
	memset(longest, 'x', 4096);
	scene_open(&scene);
	scene.pipeline.guest.name = hostile[0];
	scene.pipeline.guest.kind = hostile[3];
	scene.pipeline.guest.system = longest;
	ui_destroy(scene.ui);
	if (ui_create(&scene.settings, &scene.source, &scene.ui))
		abort();
	for (int i = 0; i < 3; i++) {
		struct snapshot *snapshot = hostile_snapshot(&scene);

		snapshot->run->vcpus[0].last_frame = snapshot->nodes[3].frame;
		ui_show(scene.ui, snapshot);
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		scene_keys(&scene, 80, 24, ways[i]);
		check_screen(&scene, ways[i]);
	}
	scene_close(&scene);
	return tap_done();
}
