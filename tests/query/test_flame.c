/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flame graph as cells, without a screen: widths, zoom, inversion, the deepest stacks. */
#include "config.h"

#include "tests/support/profile_stacks.h"

#include "xtop/query/flame.h"

static struct frames *frames;

static const char *const usual[] = {
	"@web;main;read;copy 60", "@web;main;read 10", "@web;main;write;copy 25",
	"@sh;main;loop 4",        "@sh;main 1",        NULL
};

static char *flame_text(const struct flame *flame)
{
	char *text;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; i < flame->n; i++) {
		const struct flame_cell *cell = &flame->cells[i];

		fprintf(file, "%*s%s %d+%d\n", cell->depth, "",
			frames_get(frames, cell->frame)->name, cell->x, cell->width);
	}
	fclose(file);
	return text;
}

static void check_flame(struct flame_settings settings, const char *expected, bool zoomed,
			const char *what)
{
	struct snapshot *snapshot = stacks_snapshot(frames, usual);
	struct flame flame;
	char *text;

	settings.totals = true;
	settings.columns = 100;
	must(flame_build(snapshot, &settings, &flame));
	text = flame_text(&flame);
	check_string(text, expected, what);
	check(flame.zoomed == zoomed, "zoomed: %d", flame.zoomed);
	for (size_t i = 1; i < flame.n; i++) {
		const struct flame_cell *cell = &flame.cells[i],
					*above = &flame.cells[cell->parent];

		if (cell->parent >= i || cell->depth != above->depth + 1 || cell->x < above->x ||
		    cell->x + cell->width > above->x + above->width)
			check(false, "cell %zu does not lie below its caller", i);
	}
	free(text);
	flame_deinit(&flame);
	snapshot_destroy(snapshot);
}

static void test_cells(void)
{
	uint32_t zoom[] = { stacks_frame(frames, "@web"), stacks_frame(frames, "main"),
			    stacks_frame(frames, "write") };

	check_flame((struct flame_settings){ .max_depth = 10 },
		    "all 0+100\n"
		    " web 0+95\n"
		    "  main 0+95\n"
		    "   read 0+70\n"
		    "    copy 0+60\n"
		    "   write 70+25\n"
		    "    copy 70+25\n"
		    " sh 95+5\n"
		    "  main 95+5\n"
		    "   loop 95+4\n",
		    true, "widths are shares");
	check_flame((struct flame_settings){ .max_depth = 10, .n_zoom = 3, .zoom = zoom },
		    "all 0+100\n"
		    " web 0+100\n"
		    "  main 0+100\n"
		    "   write 0+100\n"
		    "    copy 0+100\n",
		    true, "zoomed");
	zoom[2] = stacks_frame(frames, "nowhere");
	check_flame((struct flame_settings){ .max_depth = 10, .n_zoom = 3, .zoom = zoom },
		    "all 0+100\n web 0+100\n  main 0+100\n", false,
		    "a zoom path that does not exist is told");
	check_flame((struct flame_settings){ .max_depth = 3, .inverted = true },
		    "all 0+100\n"
		    " read 0+10\n" /* the first node with a self */
		    "  main 0+10\n"
		    " copy 10+85\n"
		    "  read 10+60\n"
		    "  write 70+25\n"
		    " main 95+1\n"
		    "  sh 95+1\n"
		    " loop 96+4\n"
		    "  main 96+4\n",
		    true, "inverted, two rows");
}

static void test_deep(void)
{
	struct flame_settings settings = { .totals = true, .columns = 80, .max_depth = 1000 };
	struct snapshot *snapshot = stacks_deepest(frames);
	struct flame flame;

	must(flame_build(snapshot, &settings, &flame));
	check(flame.depth > 100, "a flame graph of %d rows, %zu cells", flame.depth, flame.n);
	flame_deinit(&flame);
	snapshot_destroy(snapshot);
}

int main(void)
{
	must(frames_create(NULL, &frames));
	test_cells();
	test_deep();
	frames_destroy(frames);
	return tap_done();
}
