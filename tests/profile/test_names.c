/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for addresses: symbols, places in files, compiled code. Late names: a page of a file comes
 * into the guest's page cache, and samples that were counted before get names.
 */
#include "config.h"

#include "linux/process/processes.h"
#include "profile/names.h"
#include "tests/support/made_linux.h"
#include "tests/support/must.h"
#include "tests/support/program.h"
#include "tests/support/tap.h"
#include "tests/unwind/cfi_bytes.h"
#include "xtop/export/export.h"
#include "xtop/profile/profile.h"

#define S        1000000000ULL
#define PAGE     GUEST_PAGE_SIZE
#define CODE     0x7f1000000000ULL
#define BIAS     (CODE - PROGRAM_TEXT)
#define FUNCTION (BIAS + PROGRAM_FUNCTION)

static struct frames *frames;
static struct names *names;

static void begin(void)
{
	must(frames_create(NULL, &frames));
	must(names_create(frames, &names));
}

static void end(void)
{
	names_destroy(names);
	frames_destroy(frames);
}

/* An image with "serve" at PROGRAM_FUNCTION; FUNCTION NULL: no symbol. */
static struct image *make_image(const char *function, bool incomplete)
{
	struct image *image;

	must(image_create("libx.so", &image));
	image->incomplete = incomplete;
	if (!function)
		return image;
	must(symtab_create(&image->symtab));
	must(symtab_add(image->symtab,
			&(struct symbol_definition){ .start = PROGRAM_FUNCTION,
						     .size_bytes = 0x80,
						     .rank = SYMBOL_GLOBAL,
						     .name = function,
						     .name_bytes = strlen(function) }));
	must(symtab_seal(image->symtab));
	return image;
}

static struct space *make_space(struct image *image)
{
	struct space *space;

	must(space_create(&space));
	must(space_add(space, &(struct mapping){ .start = CODE,
						 .end = CODE + PAGE,
						 .bias = BIAS,
						 .file_offset = PROGRAM_TEXT_OFFSET,
						 .image = image,
						 .kind = MAPPING_CODE }));
	return space;
}

static uint32_t find(const struct space *space, uint64_t address)
{
	return names_find(names, space, address, FRAME_KIND_USERLAND, true, 1)->frame;
}

static const char *text_of(uint32_t frame)
{
	return frames_get(frames, frame)->name;
}

static void test_names(void)
{
	struct image *image = make_image("serve", false);
	struct space *space = make_space(image);
	const struct name_answer *answer;
	uint32_t frame;

	begin();
	must(space_add(space, &(struct mapping){
				      .start = 0x1000, .end = 0x2000, .kind = MAPPING_ANONYMOUS }));
	answer = names_find(names, space, FUNCTION + 8, FRAME_KIND_USERLAND, true, 1);
	frame = answer->frame;
	check_string(text_of(frame), "serve", "an address in a function has a symbol");
	check(answer->quality == NAME_SYMBOL, "a function is named by its symbol");
	check(find(space, FUNCTION) == frame, "one frame for all addresses in the function");
	answer = names_find(names, space, CODE, FRAME_KIND_USERLAND, true, 1);
	frame = answer->frame;
	check_string(text_of(frame), "libx.so+0x1000", "no symbol: the place in the file");
	check(answer->quality == NAME_OFFSET,
	      "an address without a symbol is named by its place in the file");
	answer = names_find(names, space, CODE, FRAME_KIND_KERNEL, false, 1);
	check(answer->quality == NAME_UNKNOWN,
	      "an address is not named by its place if the caller does not want that");
	check_string(text_of(find(space, 0x1800)), "[jit]", "code compiled at run time is [jit]");
	answer = names_find(names, space, 0x5000, FRAME_KIND_USERLAND, true, 1);
	check(answer->quality == NAME_UNKNOWN, "an unmapped address has no name");
	answer = names_find(names, NULL, CODE, FRAME_KIND_USERLAND, true, 1);
	check(answer->quality == NAME_UNKNOWN, "an address without a space has no name");
	check(!names_poll(names), "nothing is known that was missing");
	end();
	space_destroy(space);
	image_unref(image);
}

static void check_place(uint32_t frame, const char *want, const char *what)
{
	static struct snapshot snapshot;
	char buffer[SNAPSHOT_NAME_BYTES];

	snapshot.frames = frames;
	names_get_places(names, &snapshot);
	check_string(snapshot_raw_name(&snapshot, frame, buffer), want, what);
}

static void find_often(const struct space *space, uint64_t address, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		find(space, address);
}

/* SPACE has functions at 0x100 and 0x180, of 0x40 bytes. */
static void check_places(const struct space *space)
{
	uint32_t first = find(space, CODE + 0x108), second = find(space, CODE + 0x180);

	names_reset_places(names);
	check_place(first, "libx.so+0x1100",
		    "a function without samples since the reset has its start alone");
	find_often(space, CODE + 0x108, 1);
	check_place(first, "libx.so+0x1100 (0x1108)", "a place that was met once is shown");
	find_often(space, CODE + 0x120, 500);
	for (unsigned i = 0; i < 400; i++) /* each once or twice, at more addresses than are kept */
		find(space, CODE + 0x100 + i % 0x20);
	check_place(first, "libx.so+0x1100 (0x1120)", "the address that was met most often");
	check_place(second, "libx.so+0x1180", "another function has an address of its own");
	find_often(space, CODE + 0x1bf, 2);
	check_place(second, "libx.so+0x1180 (0x11bf)",
		    "an address at a function's last byte belongs to it");
	find_often(space, CODE + 0x140, 3);
	check_place(find(space, CODE + 0x140), "libx.so+0x1140", "an address is its own place");
	names_reset_places(names);
	check_place(first, "libx.so+0x1100", "forgotten");
	find_often(space, CODE + 0x104, 1);
	check_place(first, "libx.so+0x1100 (0x1104)", "after a reset a place is met anew");
	names_reset_places(names);
	find_often(space, CODE + 0x118, 20);
	names_find(names, space, CODE + 0x110, FRAME_KIND_USERLAND, true, 30);
	check_place(first, "libx.so+0x1100 (0x1110)", "a sample of 30 ticks outweighs 20 of one");
}

/* A program's file whose entry leads to the second function, main(). */
static void check_beginnings(const struct space *space, struct image *image)
{
	const struct name_answer *answer;

	begin();
	image->entry = PROGRAM_TEXT + 0x100;
	image->main = PROGRAM_TEXT + 0x180;
	answer = names_find(names, space, CODE + 0x1bf, FRAME_KIND_USERLAND, true, 1);
	check_string(text_of(answer->frame), "main", "main() needs no symbol");
	check(answer->quality == NAME_SYMBOL && answer->distance == 0x3f, "a name, and a place in it");
	check_u64(answer->size_bytes, 0x40, "a name without a symbol has the size that tables tell");
	check_string(text_of(find(space, CODE + 0x104)), "_start", "_start() needs no symbol");
	check_string(text_of(find(space, CODE + 0x140)), "libx.so+0x1140", "other code does");
	end();
}

/*
 * Two functions of 0x40 bytes, with code that has no entry between them: all addresses of one have
 * one name. PROGRAM_TEXT is at PROGRAM_TEXT_OFFSET in the file.
 */
static void test_functions(void)
{
	static const uint64_t ranges[][2] = { { PROGRAM_TEXT + 0x100, 0x40 },
					      { PROGRAM_TEXT + 0x180, 0x40 } };
	static const uint8_t usual[] = { 0x0c, 7, 8, 0x80 | 16, 1 }, absolute[] = { 0x04 };
	struct cfi_bytes made = { 0 };
	struct cfi_sections sections;
	struct image *image = make_image(NULL, false);
	struct space *space;
	const struct name_answer *answer;
	uint32_t frame;

	begin();
	bytes_cie(&made, "zR", absolute, sizeof(absolute), usual, sizeof(usual));
	for (unsigned i = 0; i < 2; i++) {
		uint8_t pointers[17] = { 0 };

		memcpy(pointers, ranges[i], 16);
		bytes_fde(&made, pointers, sizeof(pointers), NULL, 0);
	}
	sections = bytes_sections(&made);
	must(unwind_tables_build_cfi(&image->tables, &sections));
	space = make_space(image);
	answer = names_find(names, space, CODE + 0x13f, FRAME_KIND_USERLAND, true, 1);
	frame = answer->frame;
	check_string(text_of(frame), "libx.so+0x1100", "the place where the function begins");
	check(answer->quality == NAME_FUNCTION, "a function without a name");
	check(answer->distance == 0x3f && answer->size_bytes == 0x40,
	      "a function without a name has its bounds");
	check(answer->mapping && answer->mapping->image == image, "a name has its file");
	check(find(space, CODE + 0x100) == frame && find(space, CODE + 0x120) == frame,
	      "all addresses of an unnamed function have one frame");
	check_string(text_of(find(space, CODE + 0x1bf)), "libx.so+0x1180",
		     "an address in the next function has its start");
	answer = names_find(names, space, CODE + 0x140, FRAME_KIND_USERLAND, true, 1);
	frame = answer->frame;
	check_string(text_of(frame), "libx.so+0x1140", "after a function: the address itself");
	check(answer->quality == NAME_OFFSET && !answer->size_bytes, "no function is known there");
	check_places(space);
	end();
	check_beginnings(space, image);
	space_destroy(space);
	image_unref(image);
}

/* A space keeps the tables of its images. Names refer to a place, which keeps no tables. */
static void test_late(void)
{
	struct image *first = make_image(NULL, true), *second = make_image(NULL, true),
		     *third = make_image("serve", true);
	struct space *space = make_space(first);
	uint32_t frame;

	begin();
	frame = find(space, FUNCTION);
	check_string(text_of(frame), "libx.so+0x1100", "no symbol yet");
	check_u64(first->n_references, 2, "the space and the test refer to the image");
	check(!names_poll(names), "nothing is new");
	image_set_successor(first, second);
	check(!names_poll(names), "the file was read again, and nothing is new");
	space_destroy(space);
	image_unref(first);
	image_set_successor(second, third);
	image_unref(second);
	check(names_poll(names), "the file has symbols now; nobody refers to the first image");
	check_string(text_of(names_find_better(names, frame)), "serve",
		     "the frame has become its function");
	check_u64(names_find_better(names, frame + 1), frame + 1,
		  "a frame beside it has no better name");
	check(!names_poll(names), "a second poll finds no new names");
	image_unref(third);
	end();
}

/* Names of files that went away make room for others. */
static void test_room(void)
{
	const unsigned n_files = NAMES_MAX_LATE / PAGE + 2;

	begin();
	for (unsigned i = 0; i <= n_files; i++) {
		struct image *image = make_image(NULL, true), *later = make_image("serve", false);
		struct space *space;
		uint32_t frame = 0;

		snprintf(image->name, strlen("libx.so") + 1, "%u.so", i);
		space = make_space(image);
		for (uint64_t at = 0; at < PAGE; at++)
			find(space, CODE + at);
		frame = find(space, FUNCTION);
		space_destroy(space);
		if (i == n_files)
			image_set_successor(image, later);
		image_unref(image);
		if (i < n_files)
			check(!names_poll(names), "file %u is gone", i);
		else
			check(names_poll(names) && strcmp(text_of(names_find_better(names, frame)),
							  "serve") == 0,
			      "the last one gets its names");
		image_unref(later);
	}
	end();
}

/* --- end to end ------------------------------------------------------------------------------- */

static void add(struct profile *profile, const struct space *space, uint64_t address)
{
	uint32_t frame = find(space, address);

	profile_add(profile, &frame, 1, S, 1, 1);
}

static void check_folded(struct profile *profile, const char *want, const char *what)
{
	struct snapshot *snapshot;
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	must(profile_copy(profile, S, &snapshot));
	must(export_folded(snapshot, &(struct export_settings){ 0 }, file));
	fclose(file);
	for (char *at = text; *at; at++)
		*at = *at == '\n' ? '|' : *at; /* TAP is lines */
	check_string(text, want, what);
	free(text);
	snapshot_destroy(snapshot);
}

/* The page with .symtab comes into the page cache later. */
static void test_page_comes(void)
{
	static const struct processes_settings settings = { .debug.root_fd = -1 };
	struct made_linux *made = made_linux_create(MADE_TREE);
	struct processes *processes;
	struct profile *profile;
	const struct space *space;
	struct task task = { 0 };
	struct program program;
	uint64_t file, inode, memory, folio;
	struct vma area;

	begin();
	must(processes_create(&made->guest, &settings, &processes));
	must(profile_create(1000, 0, frames, &profile));
	program_make(&program, 0, "serve", 1);
	file = made_file(made, "/lib/libx.so", program.bytes, PROGRAM_BYTES);
	inode = made_inode_of(made, file);
	made_cache_entry(made, inode, 2, 0);
	area = (struct vma){ CODE, CODE + PAGE, VMA_READ | VMA_EXEC, 1, file };
	task.mm = made_mm(made, &area, 1);
	task.tgid = 50;
	space = processes_find_space(processes, &task, 0);
	for (unsigned i = 0; i < 3; i++)
		add(profile, space, FUNCTION + 4);
	add(profile, space, FUNCTION + 16);
	add(profile, space, CODE + 4);
	check_folded(profile, "libx.so+0x1004 1|libx.so+0x1104 3|libx.so+0x1110 1|",
		     "samples before the page is there");
	folio = made_folio(made, 2, 1, &memory);
	made_put(made->memory, made->guest.root, memory, program.bytes + 0x2000, PAGE);
	made_cache_entry(made, inode, 2, folio);
	processes_poll(processes, 1 * S);
	check(names_poll(names), "names are found when it comes");
	profile_rename(profile, names_find_better, names);
	check_folded(profile, "libx.so+0x1004 1|serve 4|", "samples counted before have the names");
	add(profile, processes_find_space(processes, &task, 1 * S), FUNCTION + 16);
	check_folded(profile, "libx.so+0x1004 1|serve 5|", "samples after the poll have the names");
	profile_destroy(profile);
	processes_destroy(processes);
	end();
	made_linux_destroy(made);
}

int main(void)
{
	test_names();
	test_functions();
	test_late();
	test_room();
	test_page_comes();
	return tap_done();
}
