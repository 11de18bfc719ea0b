/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flame graphs in SVG. Main's thread. */
#include "config.h"

#include "export/picture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/json.h"
#include "export/measure.h"
#include "export/notes.h"
#include "xtop/base/build_id.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/hash.h"
#include "xtop/query/selection.h"

#define PICTURE_COLUMNS   (1 << 30) /* a cell can be as narrow as a billionth */
#define PICTURE_WIDTH     1180      /* pixels */
#define PICTURE_MARGIN    10
#define PICTURE_ROW       18
#define PICTURE_TOP       70
#define PICTURE_CHARACTER 7.25      /* width of a character of the 12 px font */
#define PICTURE_MAX_CELLS 3000      /* some 300 bytes each */

/* Kinds of cells; each is a class in the style sheet. */
enum cell_kind { CELL_PROCESS, CELL_KERNEL, CELL_USER, CELL_LIBRARY, CELL_UNKNOWN, CELL_MARK };
static const char cell_classes[] = { 'p', 'k', 'u', 'l', 'n', 't' };

static const char picture_style[] =
	"#flame{font:12px monospace;background:#fff}\n"
	"#flame text{fill:#111;pointer-events:none;white-space:pre}\n"
	".p{fill:#cfcfda}.k{fill:#f4a261}.u{fill:#8ecb7c}.l{fill:#7fb8e0}.n{fill:#dddddd}\n"
	".t{fill:#e58c8c}.m{fill:#c77dff}\n"
	"#tip rect{fill:#ffffe8;stroke:#888}\n"
	"#bar div{font:12px monospace;display:flex;gap:8px;align-items:center}\n"
	"#search{font:inherit;width:24em}#bar button{font:inherit}\n";

const char picture_script[] =
#include "export/flame_graph.inc"
	;

/* --- the cells -------------------------------------------------------------------------------- */

struct xtop_error *picture_init(struct picture *picture, const struct snapshot *snapshot,
				const struct export_settings *settings, struct snapshot *copy)
{
	const struct selection selection = { .filter = settings->filter, .process = FRAME_NONE };
	const struct flame_settings how = { .totals = true,
					    .addresses = settings->addresses,
					    .columns = PICTURE_COLUMNS,
					    .max_depth = FLAME_MAX_DEPTH };
	struct xtop_error *error = selection_apply(&selection, snapshot, copy);

	if (error)
		return error;
	*picture = (struct picture){ .snapshot = snapshot, .settings = settings };
	error = flame_build(copy, &how, &picture->flame);
	if (error)
		selection_deinit(copy, snapshot);
	else
		picture->whole = picture->flame.cells[0].weights.children_ticks;
	return error;
}

void picture_deinit(struct picture *picture, struct snapshot *copy)
{
	flame_deinit(&picture->flame);
	selection_deinit(copy, picture->snapshot);
}

static const struct frame *picture_frame(const struct picture *picture,
					 const struct flame_cell *cell)
{
	return frames_get(picture->snapshot->frames, cell->frame);
}

/* As in the flame graph on the screen, "[vdso]" and "[jit]" are libraries. */
static bool cell_is_library(const char *module)
{
	return strstr(module, ".so") || (module[0] == '[' && strcmp(module, "[kernel]"));
}

static enum cell_kind cell_kind_of(const struct frame *frame)
{
	if (frame->unknown)
		return CELL_UNKNOWN;
	switch (frame->kind) {
	case FRAME_KIND_KERNEL:
		return CELL_KERNEL;
	case FRAME_KIND_USERLAND:
	case FRAME_KIND_FUNCTION:
		return cell_is_library(frame->module) ? CELL_LIBRARY : CELL_USER;
	case FRAME_KIND_MARK:
		return CELL_MARK;
	case FRAME_KIND_ROOT:
	case FRAME_KIND_OWNER:
		break;
	}
	return CELL_PROCESS;
}

/* --- text ------------------------------------------------------------------------------------- */

static void put_character(char character, FILE *file)
{
	switch (character) {
	case '<':
		fputs("&lt;", file);
		break;
	case '>':
		fputs("&gt;", file);
		break;
	case '&':
		fputs("&amp;", file);
		break;
	case '"':
		fputs("&quot;", file);
		break;
	default:
		fputc(character, file);
	}
}

/* Escapes the special characters of HTML and XML. */
static void picture_put_text(const char *text, FILE *file)
{
	for (; *text; text++)
		put_character(*text, file);
}

/* Writes as much of TEXT as fits into PIXELS. A last character marks a text that was cut. */
static void put_fitting(const char *text, double pixels, FILE *file)
{
	size_t room = (size_t)((pixels - 6) / PICTURE_CHARACTER), length = 0;

	for (const char *at = text; *at; at++)
		length += ((unsigned char)*at & 0xc0) != 0x80;
	for (size_t n = 0; *text; text++) {
		n += ((unsigned char)*text & 0xc0) != 0x80;
		if (n > room - (length > room))
			break;
		put_character(*text, file);
	}
	if (length > room)
		fputs("…", file);
}

void picture_put_notes(const struct picture *picture, const char *head, const char *tail,
		       FILE *file)
{
	struct notes notes;

	notes_build(picture->snapshot, picture->settings, &notes);
	for (size_t i = 0; i < notes.n; i++) {
		fputs(head, file);
		picture_put_text(notes.lines[i], file);
		fputs(tail, file);
	}
}

/* Says what the numbers measure. */
static const char *picture_what(const struct picture *picture, const struct measure *measure)
{
	if (picture->snapshot->waits)
		return "that tasks waited";
	if (picture->snapshot->run)
		return "of virtual CPUs";
	return measure_is_time(measure) ? measure->type : measure->unit;
}

void picture_put_title(const struct picture *picture, FILE *file)
{
	const struct measure measure = measure_find(picture->snapshot);
	const struct export_settings *settings = picture->settings;

	picture_put_text(settings->domain ? settings->domain : "a guest", file);
	if (settings->type)
		fprintf(file, ", %s", settings->type);
	if (!measure_is_time(&measure))
		fprintf(file, ": %g ", picture->whole * measure.per_tick);
	else
		fprintf(file, ": %.1f s ", picture->whole * measure.per_tick / 1e9);
	picture_put_text(picture_what(picture, &measure), file);
}

/* --- the picture ------------------------------------------------------------------------------ */

static double cell_pixels(int width)
{
	return (double)width * PICTURE_WIDTH / PICTURE_COLUMNS;
}

static int compare_widths(const void *a, const void *b)
{
	int first = *(const int *)a, second = *(const int *)b;

	return (first < second) - (first > second);
}

/* The least width of the PICTURE_MAX_CELLS widest cells. A caller is as wide as its callees. */
static int picture_least_width(const struct picture *picture)
{
	_cleanup_free_ int *widths = calloc(picture->flame.n, sizeof(*widths));
	int visible = PICTURE_COLUMNS / PICTURE_WIDTH / 4;

	if (!widths)
		return PICTURE_COLUMNS / 100;
	for (size_t i = 0; i < picture->flame.n; i++)
		widths[i] = picture->flame.cells[i].width;
	qsort(widths, picture->flame.n, sizeof(*widths), compare_widths);
	if (picture->flame.n > PICTURE_MAX_CELLS && widths[PICTURE_MAX_CELLS] >= visible)
		return widths[PICTURE_MAX_CELLS] + 1;
	return visible;
}

static void picture_put_tooltip(const struct picture *picture, const struct flame_cell *cell,
				const char *name, FILE *file)
{
	const struct frame *frame = picture_frame(picture, cell);
	const char *home = frames_get_home(picture->snapshot->frames, frame);
	double whole = picture->whole > 0 ? picture->whole : 1;

	fputs("<title>", file);
	picture_put_text(name, file);
	if (*home) {
		fputs(", ", file);
		picture_put_text(home, file);
	}
	if (*snapshot_source(picture->snapshot, cell->frame)) {
		fputs(", ", file);
		picture_put_text(snapshot_source(picture->snapshot, cell->frame), file);
	}
	fprintf(file, ": %.2f %%, itself %.2f %%</title>",
		100 * cell->weights.children_ticks / whole, 100 * cell->weights.self_ticks / whole);
}

static void picture_put_cell(const struct picture *picture, const struct flame_cell *cell,
			     FILE *file)
{
	const struct frame *frame = picture_frame(picture, cell);
	char buffer[FRAME_TEXT_BYTES];
	const char *name = frame_text(frame, picture->settings->addresses, buffer);
	double x = PICTURE_MARGIN + cell_pixels(cell->x), width = cell_pixels(cell->width);
	int y = PICTURE_TOP + cell->depth * PICTURE_ROW;

	fprintf(file, "<g><rect class=\"%c\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\">",
		cell_classes[cell_kind_of(frame)], x, y, width > 1 ? width - 0.6 : width,
		PICTURE_ROW - 1);
	picture_put_tooltip(picture, cell, name, file);
	fputs("</rect>", file);
	if (width >= 24) {
		fprintf(file, "<text x=\"%.2f\" y=\"%d\">", x + 3, y + 13);
		put_fitting(name, width, file);
		fputs("</text>", file);
	}
	fputs("</g>\n", file);
}

static void picture_put_losses(const struct picture *picture, FILE *file)
{
	const struct snapshot *snapshot = picture->snapshot;
	const struct resolver_counts *resolver = &snapshot->resolver;
	double whole = resolver->weight > 0 ? resolver->weight : 1;

	fprintf(file,
		"<text x=\"%d\" y=\"62\">lost %" PRIu64
		" ticks, truncated %.2f %%, without a name %.2f %%</text>\n",
		PICTURE_MARGIN, snapshot_get_run(snapshot)->sampler.lost,
		100 * resolver->weight_truncated / whole, 100 * resolver->weight_unknown / whole);
}

static void picture_put_legend(FILE *file)
{
	static const struct {
		char class;
		const char *text;
	} legend[] = { { 'k', "kernel" },   { 'u', "program" }, { 'l', "library" },
		       { 'n', "no name" }, { 't', "cut short, lost" }, { 'p', "process" } };
	int x = PICTURE_WIDTH / 2;

	for (size_t i = 0; i < sizeof(legend) / sizeof(legend[0]); i++) {
		fprintf(file,
			"<rect class=\"%c\" x=\"%d\" y=\"6\" width=\"12\" height=\"12\"/>"
			"<text x=\"%d\" y=\"17\">%s</text>\n",
			legend[i].class, x, x + 16, legend[i].text);
		x += 30 + (int)(strlen(legend[i].text) * PICTURE_CHARACTER);
	}
}

void picture_put(const struct picture *picture, FILE *file)
{
	int height = PICTURE_TOP + (picture->flame.depth + 1) * PICTURE_ROW + PICTURE_MARGIN,
	    least = picture_least_width(picture);

	fprintf(file,
		"<svg id=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n<style>\n%s</style>\n"
		"<text id=\"title\" x=\"%d\" y=\"17\">",
		PICTURE_WIDTH + 2 * PICTURE_MARGIN, height, PICTURE_WIDTH + 2 * PICTURE_MARGIN,
		height, picture_style, PICTURE_MARGIN);
	picture_put_title(picture, file);
	fputs("</text>\n", file);
	picture_put_legend(file);
	picture_put_losses(picture, file);
	fputs("<g id=\"cells\">\n", file);
	for (size_t i = 0; i < picture->flame.n; i++)
		if (picture->flame.cells[i].width >= least)
			picture_put_cell(picture, &picture->flame.cells[i], file);
	fputs("</g>\n", file);
}

void picture_end(FILE *file)
{
	fputs("</svg>\n", file);
}

/* --- the profile for the script --------------------------------------------------------------- */

/* Files of code, with name and build-id. The first frame of a file identifies the file. */
struct picture_modules {
	const struct picture *picture;
	struct numbering numbering; /* numbers of the first frame of each file */
	struct hash_table index;
};

static bool modules_is_same(const void *context, uint32_t number)
{
	const struct picture_modules *modules = ((const void *const *)context)[0];
	const struct frames *frames = modules->picture->snapshot->frames;
	const struct frame *wanted = ((const void *const *)context)[1],
			   *frame = frames_get(frames, modules->numbering.frames[number]);

	return frame->build == wanted->build &&
	       strcmp(frames_get_home(frames, frame), frames_get_home(frames, wanted)) == 0;
}

static uint32_t modules_find_or_add(struct picture_modules *modules, uint32_t id)
{
	const struct frames *frames = modules->picture->snapshot->frames;
	const struct frame *frame = frames_get(frames, id);
	const char *home = frames_get_home(frames, frame);
	uint64_t hash = hash_bytes(frame->build, home, strlen(home));
	const void *const key[] = { modules, frame };
	uint32_t number = hash_table_find(&modules->index, hash, modules_is_same, key);

	if (number != HASH_NONE)
		return number;
	number = numbering_get(&modules->numbering, id);
	if (!hash_table_add(&modules->index, hash, number))
		modules->numbering.failed = true;
	return number;
}

static void put_modules(struct json *json, const struct picture_modules *modules)
{
	const struct frames *frames = modules->picture->snapshot->frames;

	json_open(json, "modules", '[');
	for (size_t i = 0; i < modules->numbering.n; i++) {
		const struct frame *frame = frames_get(frames, modules->numbering.frames[i]);
		char build_id[BUILD_ID_TEXT_BYTES];

		build_id_to_text(frames_get_build(frames, frame), build_id);
		json_open(json, NULL, '[');
		json_text(json, NULL, frames_get_home(frames, frame));
		json_text(json, NULL, build_id);
		json_close(json, ']');
	}
	json_close(json, ']');
}

/* Writes each frame as [name, kind, module], with the source line after if it is known. */
static void put_frames(struct json *json, const struct numbering *numbering,
		       struct picture_modules *modules)
{
	json_open(json, "frames", '[');
	for (size_t i = 0; i < numbering->n; i++) {
		uint32_t id = numbering->frames[i];
		const struct frame *frame = frames_get(modules->picture->snapshot->frames, id);
		char text[FRAME_TEXT_BYTES];

		json_open(json, NULL, '[');
		json_text(json, NULL,
			    frame_text(frame, modules->picture->settings->addresses, text));
		json_u64(json, NULL, cell_kind_of(frame));
		json_u64(json, NULL, modules_find_or_add(modules, id));
		if (*snapshot_source(modules->picture->snapshot, id))
			json_text(json, NULL, snapshot_source(modules->picture->snapshot, id));
		json_close(json, ']');
	}
	json_close(json, ']');
}

static void put_cells(struct json *json, const struct picture *picture,
		      struct numbering *numbering)
{
	json_open(json, "frame", '[');
	for (size_t i = 0; i < picture->flame.n; i++)
		json_u64(json, NULL, numbering_get(numbering, picture->flame.cells[i].frame));
	json_close(json, ']');
	json_open(json, "depth", '[');
	for (size_t i = 0; i < picture->flame.n; i++)
		json_u64(json, NULL, (uint64_t)picture->flame.cells[i].depth);
	json_close(json, ']');
	json_open(json, "self", '[');
	for (size_t i = 0; i < picture->flame.n; i++)
		json_double(json, NULL, picture->flame.cells[i].weights.self_ticks);
	json_close(json, ']');
}

static struct xtop_error *picture_put_profile(const struct picture *picture, FILE *file)
{
	const struct measure measure = measure_find(picture->snapshot);
	struct json json = { .file = file, .compact = true };
	struct picture_modules modules = { .picture = picture };
	struct numbering numbering = { 0 };
	bool ok = numbering_init(&numbering, picture->snapshot) &&
		  numbering_init(&modules.numbering, picture->snapshot);

	if (ok) {
		json_open(&json, NULL, '{');
		json_double(&json, "unit", measure.per_tick);
		json_text(&json, "of", measure_is_time(&measure) ? "" : measure.unit);
		json_open(&json, "kinds", '[');
		for (size_t i = 0; i < sizeof(cell_classes); i++)
			json_text(&json, NULL, (char[]){ cell_classes[i], '\0' });
		json_close(&json, ']');
		put_cells(&json, picture, &numbering);
		put_frames(&json, &numbering, &modules);
		put_modules(&json, &modules);
		json_close(&json, '}');
		fputs(";\n", file);
		ok = !numbering.failed && !modules.numbering.failed;
	}
	numbering_deinit(&numbering);
	numbering_deinit(&modules.numbering);
	hash_table_deinit(&modules.index);
	return ok ? NULL : error_create("no memory to write a flame graph");
}

static struct xtop_error *picture_put_waits(const struct picture *picture, FILE *file)
{
	struct snapshot copy;
	struct picture waits;
	struct xtop_error *error =
		picture_init(&waits, picture->settings->waits, picture->settings, &copy);

	if (error)
		return error;
	error = picture_put_profile(&waits, file);
	picture_deinit(&waits, &copy);
	return error;
}

struct xtop_error *picture_put_profiles(const struct picture *picture, FILE *file)
{
	struct xtop_error *error;

	fputs("const profile = ", file);
	error = picture_put_profile(picture, file);
	fputs("const waits = ", file);
	if (!error && picture->settings->waits)
		error = picture_put_waits(picture, file);
	else
		fputs("null;\n", file);
	return error;
}
