/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to import/: the readers, one file for each format. A reader has NAME_knows() and
 * NAME_read(), and a line in the table of import.c. Main's thread.
 */
#ifndef IMPORT_READERS_H
#define IMPORT_READERS_H

#include "import/builder.h"
#include "import/source.h"

/* How a file begins. */
struct import_head {
	const char *bytes; /* the first N bytes, as they are */
	size_t n;
	bool is_text; /* no control characters but those of text */
	/*
	 * A text's first lines in UTF-8, from the first one on that is neither empty nor a comment
	 * ("#"). Ends in a NUL.
	 */
	const char *text;
};

/* Whether the file may have the reader's format. */
typedef bool reader_knows_fn(const struct import_head *head);
/* Reads all of SOURCE. The bytes of HEAD were read from it before. */
typedef struct xtop_error *reader_read_fn(struct import_source *source,
					  const struct import_head *head, struct builder *builder);

struct reader {
	const char *name; /* the format's name */
	reader_knows_fn *knows;
	reader_read_fn *read;
};

#endif
