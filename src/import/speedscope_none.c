/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of speedscope_reader.c where jansson is missing: says what would read the file. */
#include "config.h"

#include <string.h>

#include "import/readers.h"

reader_knows_fn speedscope_knows;
reader_read_fn speedscope_read;

bool speedscope_knows(const struct import_head *head)
{
	return head->is_text && head->text[strspn(head->text, " \t\r\n")] == '{';
}

struct xtop_error *speedscope_read(struct import_source *source, const struct import_head *head,
				   struct builder *builder)
{
	(void)source, (void)head, (void)builder;
	return error_create("is JSON, and this xtop was built without jansson, which reads it");
}
