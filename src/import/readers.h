/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to import/: the readers, one file for each format. Main's thread. */
#ifndef IMPORT_READERS_H
#define IMPORT_READERS_H

#include "import/builder.h"
#include "import/source.h"

/* The longest line of folded stacks that is read. The deepest stack of C++ takes a tenth of it. */
#define FOLDED_MAX_LINE_BYTES LIMIT(1U << 20, 1U << 10)

/* folded_reader.c. START has the first N bytes of SOURCE, which were read before. */
struct xtop_error *folded_read(struct import_source *source, const char *start, size_t n,
			       struct builder *builder);

/*
 * pprof_reader.c, in two passes over the file. The caller destroys the reader, also after an error.
 * The N bytes at START were read before. The second pass begins at SOURCE's first byte.
 */
struct pprof_reader;
/* Whether a file that begins with the N bytes at START may be pprof. It has no magic number. */
bool pprof_is_head(const char *start, size_t n);
struct xtop_error *pprof_read_tables(struct import_source *source, const char *start, size_t n,
				     struct builder *builder, struct pprof_reader **readerp);
struct xtop_error *pprof_read_samples(struct pprof_reader *reader, struct import_source *source);
void pprof_reader_destroy(struct pprof_reader *reader); /* NULL allowed */

#endif
