/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots with source lines and inlined functions, of a reader that is made up. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "xtop/base/build_id.h"
#include "xtop/query/columns.h"
#include "xtop/query/line_expander.h"
#include "xtop/supervise/line_client.h"

static struct line_client *lines;

static void *open_made(int fd, int alt_fd, const char **why)
{
	static char kind;

	(void)alt_fd, (void)why;
	return pread(fd, &kind, 1, 0) == 1 ? strdup(kind == 's' ? "symbols" : "addresses") : NULL;
}

static void do_nothing(void *file)
{
	(void)file;
}

/*
 * 0x10 is main's line 1. At 0x20 main has add() inlined, by line 2; add() is at line 7 of another
 * file. Nothing is known of 0x30. A file of symbols has main alone.
 */
static void find_made(void *file, const struct line_place *place, struct line_answer *answer)
{
	const char *kind = file;

	answer->n = 0;
	if (place->address == 0x30 || strcmp(place->symbol, *kind == 's' ? "main" : "") != 0)
		return;
	if (place->address == 0x20)
		answer->frames[answer->n++] = (struct line_frame){ "_ZN3app3addEi", "inc/add.h", 7, 1 };
	answer->frames[answer->n++] =
		(struct line_frame){ "main", "src/main.c", (uint32_t)place->address / 0x10, 1 };
}

static const struct line_reader made_reader = {
	.open = open_made, .find = find_made, .trim = do_nothing, .close = free
};

static struct frames *frames;
static uint32_t file;

/* COUNT samples of main at ADDRESS, which called `leaf` if LEAF. */
static void add(struct profile *profile, uint64_t address, bool leaf, uint64_t count)
{
	const struct build_id build = { .size_bytes = 2, .bytes = { 0x01, 0xab } };
	uint32_t function = frames_intern_function(
		frames, &(struct frame_function){ FRAME_KIND_USERLAND, "main", "prog", 0x1000,
						  &build, NULL });
	uint32_t stack[] = { frames_intern_line(frames, function, file, address),
			     stacks_frame(frames, ".leaf") };

	profile_add(profile, stack, 1 + leaf, SECOND, count, (double)count);
}

static struct snapshot *make(void)
{
	struct profile *profile;
	struct snapshot *snapshot;

	must(profile_create(1000, 0, frames, &profile));
	add(profile, 0x10, false, 10);
	add(profile, 0x10, true, 20);
	add(profile, 0x20, false, 3);
	add(profile, 0x20, true, 4);
	add(profile, 0x30, true, 5);
	must(profile_copy(profile, SECOND, &snapshot));
	profile_destroy(profile);
	return snapshot;
}

static void check_tree(const struct line_expander_settings *settings, const char *want, const char *what)
{
	struct snapshot *from = make(), *to;
	struct line_expander *expander;
	const char *broken;
	char *text;

	must(line_expander_create(settings, &expander));
	must(line_expander_apply(expander, from, 30, &to));
	broken = stacks_broken(to);
	check(!broken, "%s is sound: %s", what, broken ? broken : "yes");
	text = stacks_tree(to);
	check_string(text, want, what);
	free(text);
	snapshot_destroy(to);
	snapshot_destroy(from);
	line_expander_destroy(expander);
}

/* All functions of a file have its build-id, those that were inlined as well. */
static void test_builds(bool in_names)
{
	const struct line_expander_settings settings = { .lines = lines, .inlined = true, .in_names = in_names };
	struct snapshot *from = make(), *to;
	struct line_expander *expander;
	unsigned n = 0, n_known = 0;

	from->waits = calloc(1, sizeof(*from->waits));
	must(line_expander_create(&settings, &expander));
	must(line_expander_apply(expander, from, 30, &to));
	check(to->waits, "waits stay waits: their ticks are milliseconds");
	for (uint32_t i = N_FRAME_IDS; i < to->n_frames; i++) {
		const struct frame *frame = frames_get(to->frames, i);

		if (frame->kind != FRAME_KIND_USERLAND || !strcmp(frame->name, "leaf"))
			continue;
		n++;
		n_known += frames_get_build(to->frames, frame) != NULL;
	}
	check(n >= 2 && n == n_known, "%u of %u functions of a file have its build-id", n_known, n);
	snapshot_destroy(to);
	snapshot_destroy(from);
	line_expander_destroy(expander);
}

/* Without --lines places in one function stay one row. */
static void test_functions(void)
{
	struct snapshot *snapshot = make();
	struct function_table table;

	must(functions_build(snapshot, NULL, false, &table));
	check_u64(table.n, 2, "functions: main and leaf");
	functions_deinit(&table);
	snapshot_destroy(snapshot);
}

/* The line that most of the weight of main passes through. */
static void test_column(void)
{
	const struct line_expander_settings settings = { .lines = lines, .inlined = true };
	struct snapshot *from = make(), *to;
	struct function_table table;
	struct line_expander *expander;
	unsigned found = 0;

	from->waits = calloc(1, sizeof(*from->waits));
	from->waits->n_rows = 1;
	from->waits->rows = calloc(1, sizeof(*from->waits->rows));
	must(line_expander_create(&settings, &expander));
	must(line_expander_apply(expander, from, 30, &to));
	check(!to->waits->rows, "the rows of waits stay with their snapshot");
	must(functions_build(to, NULL, false, &table));
	for (size_t i = 0; i < table.n; i++) {
		struct column_context context = { .snapshot = to, .table = &table };
		char cell[COLUMN_CELL_BYTES];

		columns[COLUMN_SOURCE].entry(&context, &table.rows[i], cell, sizeof(cell));
		if (!strcmp(frames_get(to->frames, table.rows[i].frame)->name, "main")) {
			check_string(cell, "main.c:1", "main is mostly at");
			found++;
		}
	}
	check_u64(found, 1, "rows of main");
	functions_deinit(&table);
	snapshot_destroy(to);
	snapshot_destroy(from);
	line_expander_destroy(expander);
}

/* Inlined functions are switched off and on again between two results. */
static void test_switch(void)
{
	const struct line_expander_settings settings = { .lines = lines, .inlined = true };
	struct snapshot *from = make(), *to[3];
	struct line_expander *expander;
	char *texts[3];

	must(line_expander_create(&settings, &expander));
	for (int i = 0; i < 3; i++) {
		line_expander_set_inlined(expander, i != 1);
		check(line_expander_has_inlined(expander) == (i != 1),
		      "the switch is as it was set");
		must(line_expander_apply(expander, from, 30, &to[i]));
		texts[i] = stacks_tree(to[i]);
	}
	check(strstr(texts[0], "(inlined)") && !strstr(texts[1], "(inlined)"),
	      "without inlined functions: %s", texts[1]);
	check_string(texts[2], texts[0], "inlined functions can be switched on again");
	for (int i = 0; i < 3; i++) {
		free(texts[i]);
		snapshot_destroy(to[i]);
	}
	snapshot_destroy(from);
	line_expander_destroy(expander);
}

/* Frames of an annotation become those of the picture, and lead back to the resolver's. */
static void test_annotation(void)
{
	const struct line_expander_settings settings = { .lines = lines, .inlined = true };
	struct snapshot *from = make(), *to;
	struct annotation_target targets[] = { { 1, FRAME_NONE, 0 }, { 2, FRAME_NONE, 0 } };
	struct annotation annotation = { .n_targets = 2, .targets = targets };
	struct line_expander *expander;
	uint32_t function = FRAME_NONE;
	unsigned n_inlined = 0, n_wrong = 0;

	for (uint32_t i = N_FRAME_IDS; i < from->n_frames; i++)
		if (!frames_get(from->frames, i)->line_file)
			annotation.frame = targets[0].frame = function = i;
	must(line_expander_create(&settings, &expander));
	must(line_expander_apply(expander, from, 30, &to));
	for (uint32_t i = N_FRAME_IDS; i < to->n_frames; i++) {
		const struct frame *frame = frames_get(to->frames, i);
		uint32_t origin = line_expander_get_origin(expander, i);

		if (!frame_is_function(frame))
			continue;
		n_inlined += origin == FRAME_NONE && strstr(frame->name, "(inlined)") != NULL;
		n_wrong += origin != FRAME_NONE &&
			   (frames_get(from->frames, origin)->line_file ||
			    strcmp(frames_get(from->frames, origin)->name, frame->name) != 0);
	}
	check(n_inlined > 0 && n_wrong == 0, "%u inlined functions have no origin; %u are wrong",
	      n_inlined, n_wrong);
	line_expander_translate_annotation(expander, from, &annotation);
	check_u64(line_expander_get_origin(expander, annotation.frame), function,
		  "an origin leads back to its frame");
	check_u64(targets[0].frame, annotation.frame, "a call has the same frame");
	check(!strcmp(frames_get(to->frames, annotation.frame)->name, "leaf") ||
		      !strcmp(frames_get(to->frames, annotation.frame)->name, "main"),
	      "the annotation is of %s", frames_get(to->frames, annotation.frame)->name);
	check_u64(targets[1].frame, FRAME_NONE, "a call that leads nowhere still does");
	check_u64(line_expander_get_origin(expander, to->n_frames + 7), FRAME_NONE,
		  "no such frame");
	snapshot_destroy(to);
	snapshot_destroy(from);
	line_expander_destroy(expander);
}

static int make_file(char kind)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	if (fd < 0 || write(fd, &kind, 1) != 1)
		must(error_create("no file in memory"));
	return fd;
}

/* A place whose line the resolver knows needs no reader. */
static void test_known_line(void)
{
	struct line_answer answer;
	uint32_t function, place;

	must(frames_create(NULL, &frames));
	function = frames_intern(frames, FRAME_KIND_USERLAND, "[py] gamma", "app.py", 12);
	place = frames_intern_line(frames, function, FRAME_LINE_KNOWN, 17);
	line_expander_find(lines, frames_get(frames, place), &answer);
	check(answer.n == 1 && answer.frames[0].line == 17, "a known line is told at once");
	check_string(answer.n ? answer.frames[0].file : NULL, "app.py",
		     "the file of a known line is the function's module");
	line_expander_find(lines, frames_get(frames, function), &answer);
	check(!answer.n, "the function itself has no line");
	frames_destroy(frames);
}

int main(void)
{
	struct line_expander_settings inlined = { .inlined = true },
				      in_names = { .inlined = true, .in_names = true },
				      not_inlined = { .in_names = true };
	int fd = make_file('a'), by_symbol_fd = make_file('s');

	must(line_client_start(&made_reader, &lines));
	inlined.lines = in_names.lines = not_inlined.lines = lines;
	must(frames_create(NULL, &frames));
	file = line_client_add_file(lines, by_symbol_fd, -1, "module", LINE_BY_SYMBOL, 0);
	check_tree(&in_names,
		   "all 0/42\n"
		   " main main.c:1 10/30\n"
		   "  leaf 20/20\n"
		   " main main.c:2 0/7\n"
		   "  app::add (inlined) add.h:7 3/7\n"
		   "   leaf 4/4\n"
		   " main 0/5\n"
		   "  leaf 5/5\n",
		   "places that are counted from symbols");
	file = line_client_add_file(lines, fd, -1, "prog", NULL, 0);
	check(!line_client_is_by_symbol(lines, 0) && !line_client_is_by_symbol(lines, file) &&
		      line_client_is_by_symbol(lines, file - 1),
	      "which file has its places by symbols");
	test_functions();
	check_tree(&inlined,
		   "all 0/42\n"
		   " main 10/42\n"
		   "  leaf 25/25\n"
		   "  app::add (inlined) 3/7\n"
		   "   leaf 4/4\n",
		   "inlined functions");
	check_tree(&in_names,
		   "all 0/42\n"
		   " main main.c:1 10/30\n"
		   "  leaf 20/20\n"
		   " main main.c:2 0/7\n"
		   "  app::add (inlined) add.h:7 3/7\n"
		   "   leaf 4/4\n"
		   " main 0/5\n"
		   "  leaf 5/5\n",
		   "with lines");
	check_tree(&not_inlined,
		   "all 0/42\n"
		   " main main.c:1 10/30\n"
		   "  leaf 20/20\n"
		   " main add.h:7 3/7\n"
		   "  leaf 4/4\n"
		   " main 0/5\n"
		   "  leaf 5/5\n",
		   "without inlined functions");
	test_builds(false);
	test_builds(true);
	test_column();
	test_annotation();
	test_switch();
	frames_destroy(frames);
	line_client_stop(lines);
	close(fd);
	close(by_symbol_fd);
	test_known_line();
	return tap_done();
}
