/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines of instructions; see annotation_sources.h. */
#include "config.h"

#include "run/annotation_sources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/text.h"
#include "xtop/symbol/symbol.h"

static struct line_place annotation_sources_place(const struct annotation *annotation,
						  uint32_t distance)
{
	struct line_place place = { .address = annotation->line_address + distance };

	memcpy(place.symbol, annotation->line_symbol, sizeof(place.symbol));
	return place;
}

/* Writes a place as "skb_put (inlined) skbuff.h:2310". */
static void annotation_sources_print(const struct line_frame *frame, bool inlined,
				     char place[INSTRUCTION_LINE_BYTES])
{
	_cleanup_free_ char *demangled = inlined ? symbol_demangle(frame->function) : NULL;
	const char *slash = strrchr(frame->file, '/');
	char text[INSTRUCTION_LINE_BYTES];

	snprintf(text, sizeof(text), "%.120s%s%.100s:%u",
		 !inlined    ? ""
		 : demangled ? demangled
			     : frame->function,
		 inlined ? " (inlined) " : "", slash ? slash + 1 : frame->file, frame->line);
	text_clean(place, INSTRUCTION_LINE_BYTES, text, strlen(text));
}

static bool annotation_sources_find(void *context, const struct annotation *annotation,
				    uint32_t distance, struct instruction_line *line)
{
	const struct annotation_sources *sources = context;
	const struct line_place place = annotation_sources_place(annotation, distance);
	const struct line_frame *frame;
	struct line_answer answer;
	bool inlined;

	if (!annotation->line_file ||
	    line_client_find(sources->lines, annotation->line_file, &place, true, &answer) !=
		    LINE_KNOWN ||
	    !answer.n)
		return false;
	inlined = sources->inlined && answer.n > 1;
	frame = &answer.frames[sources->inlined ? 0 : answer.n - 1];
	if (!frame->line || !*frame->file)
		return false;
	annotation_sources_print(frame, inlined, line->place);
	line->text[0] = '\0';
	if (sources->files)
		source_cache_get_line(sources->files, &annotation->build_id, frame->file,
				      frame->line, line->text, sizeof(line->text));
	return true;
}

/* An interpreted file has no build-id, so no server is asked for it. */
static size_t annotation_sources_text(void *context, const char *file, uint32_t line, char *text,
				      size_t capacity)
{
	const struct annotation_sources *sources = context;
	const struct build_id none = { .size_bytes = 0 };

	text[0] = '\0';
	return sources->files ? source_cache_get_line(sources->files, &none, file, line, text,
						      capacity)
			      : 0;
}

static bool annotation_sources_poll(void *context)
{
	const struct annotation_sources *sources = context;

	return sources->files && source_cache_poll(sources->files);
}

/* Opens the folders of --source-dir. The caller closes the *NP folders, also after an error. */
static struct xtop_error *annotation_sources_open(const struct options *options,
						  const struct inputs *inputs, int *folders,
						  size_t *np)
{
	for (size_t i = 0; i < options->n_source_dirs; i++) {
		int fd = inputs_open(inputs, options->source_dirs[i]);
		struct stat status;

		if (fd < 0)
			return error_create_errno(errno, "--source-dir: cannot open '%s'",
						  options->source_dirs[i]);
		folders[(*np)++] = fd;
		if (fstat(fd, &status) < 0 || !S_ISDIR(status.st_mode))
			return error_create("--source-dir: '%s' is no directory",
					    options->source_dirs[i]);
	}
	return NULL;
}

struct xtop_error *annotation_sources_init(struct annotation_sources *sources,
					   const struct options *options,
					   const struct host_files *files)
{
	int folders[OPTIONS_MAX_SOURCE_DIRS], root = -1;
	struct xtop_error *error;
	size_t n = 0;

	*sources = (struct annotation_sources){ .lines = files->lines,
						.inlined = !options->no_inline,
						.finder = { annotation_sources_find,
							    annotation_sources_text,
							    annotation_sources_poll, sources } };
	if (!options->lines)
		return NULL;
	if (options->root)
		root = inputs_open(files->inputs, options->root);
	error = annotation_sources_open(options, files->inputs, folders, &n);
	if (!error)
		error = source_cache_create(folders, n, root, files->fetch, &sources->files);
	while (n > 0)
		close(folders[--n]);
	if (root >= 0)
		close(root);
	return error;
}

void annotation_sources_deinit(struct annotation_sources *sources)
{
	source_cache_destroy(sources->files);
	sources->files = NULL;
}

/* Asks for the text of each instruction's line. The lines' numbers are known by now. */
static void annotation_sources_ask_texts(const struct annotation_sources *sources,
					 const struct annotation *annotation, const char *file,
					 const struct instructions *instructions)
{
	struct instruction_line line;

	for (size_t i = 0; i < instructions->n; i++)
		annotation_sources_find((void *)sources, annotation, instructions->rows[i].distance,
					&line);
	/* All lines of an interpreted function are in one file. */
	if (annotation->n_lines)
		annotation_sources_text((void *)sources, file, annotation->lines[0].line, line.text,
					sizeof(line.text));
}

void annotation_sources_wait(const struct annotation_sources *sources,
			     const struct annotation *annotation, const char *file, double seconds)
{
	struct instructions instructions = { 0 };
	struct line_answer answer;
	struct xtop_error *error =
		annotation->line_file ? instructions_update(&instructions, annotation) : NULL;

	for (size_t i = 0; i < instructions.n; i++) {
		const struct line_place place =
			annotation_sources_place(annotation, instructions.rows[i].distance);

		line_client_find(sources->lines, annotation->line_file, &place, true, &answer);
	}
	line_client_wait(sources->lines, seconds);
	if (sources->files) {
		annotation_sources_ask_texts(sources, annotation, file, &instructions);
		source_cache_wait(sources->files, seconds);
	}
	instructions_deinit(&instructions);
	error_destroy(error); /* export_annotation() reports this error */
}
