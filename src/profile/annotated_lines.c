/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines of an interpreted function; see annotated_lines.h. The samples come from the call tree:
 * a node stands for a line of the function where its stacks pass through that line.
 */
#include "config.h"

#include "profile/annotated_lines.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/text.h"
#include "xtop/base/vector.h"

static bool annotated_lines_has(const struct snapshot *snapshot, uint32_t function,
				const struct snapshot_node *node)
{
	const struct frame *frame = frames_get(snapshot->frames, node->frame);

	return frame->line_file == FRAME_LINE_KNOWN && frame->group == function;
}

/* Whether the line of NODE is also further out on its stacks. */
static bool annotated_lines_is_repeated(const struct snapshot *snapshot,
					const struct snapshot_node *node)
{
	uint32_t frame = node->frame;

	while (node->depth) {
		node = &snapshot->nodes[node->parent];
		if (node->frame == frame)
			return true;
	}
	return false;
}

static struct annotation_line annotated_lines_weigh(const struct snapshot *snapshot,
						    const struct snapshot_node *node)
{
	const struct frame *frame = frames_get(snapshot->frames, node->frame);
	struct annotation_line line = { .line = (uint32_t)frame->line_address,
					.self_live = node->self_live,
					.self_ticks = node->self_ticks };

	if (annotated_lines_is_repeated(snapshot, node))
		return line;
	line.live = node->children_live;
	line.ticks = node->children_ticks;
	line.samples = node->children_total;
	return line;
}

static int annotated_lines_compare(const void *a, const void *b)
{
	const struct annotation_line *x = a, *y = b;

	return (x->line > y->line) - (x->line < y->line);
}

/* Adds up the entries of each line. */
static void annotated_lines_merge(struct annotation *annotation)
{
	struct annotation_line *lines = annotation->lines;
	size_t n = 0;

	qsort(lines, annotation->n_lines, sizeof(lines[0]), annotated_lines_compare);
	for (size_t i = 1; i < annotation->n_lines; i++) {
		if (lines[i].line != lines[n].line) {
			lines[++n] = lines[i];
			continue;
		}
		lines[n].live += lines[i].live;
		lines[n].ticks += lines[i].ticks;
		lines[n].samples += lines[i].samples;
		lines[n].self_live += lines[i].self_live;
		lines[n].self_ticks += lines[i].self_ticks;
	}
	annotation->n_lines = n + 1;
}

struct xtop_error *annotated_lines_build(const struct snapshot *snapshot,
					 struct annotation *annotation)
{
	size_t capacity = 0;

	if (!frames_get(snapshot->frames, annotation->frame)->program)
		return NULL;
	for (size_t i = 0; i < snapshot->n_nodes; i++) {
		const struct snapshot_node *node = &snapshot->nodes[i];

		if (!annotated_lines_has(snapshot, annotation->frame, node))
			continue;
		if (!vector_reserve(annotation->lines, capacity, annotation->n_lines + 1))
			return error_create("no memory for a function's lines");
		annotation->lines[annotation->n_lines++] = annotated_lines_weigh(snapshot, node);
	}
	annotation->lack = annotation->n_lines ? ANNOTATION_HAS_LINES : ANNOTATION_NO_LINES;
	if (annotation->n_lines)
		annotated_lines_merge(annotation);
	return NULL;
}

/* Copies the line that begins with the N bytes at TEXT, without blanks in front. */
static void annotated_lines_copy(struct annotation_line *line, const char *text, size_t n)
{
	while (n && (*text == ' ' || *text == '\t')) {
		text++;
		n--;
	}
	if (n && text[n - 1] == '\r')
		n--;
	text_clean_line(line->text, sizeof(line->text), text, n);
}

void annotated_lines_add_text(struct annotation *annotation, const char *text, size_t n)
{
	const char *end = text + n;
	uint32_t number = 1;

	for (size_t i = 0; i < annotation->n_lines && text < end; number++) {
		const char *next = memchr(text, '\n', (size_t)(end - text));

		if (!next && n % GUEST_PAGE_SIZE == 0)
			return; /* the rest of the line may be in a page that is not there */
		if (!next)
			next = end;
		if (annotation->lines[i].line == number)
			annotated_lines_copy(&annotation->lines[i++], text, (size_t)(next - text));
		text = next + 1;
	}
}
