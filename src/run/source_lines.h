/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines of instructions, for the screen and for --annotate: places from DWARF
 * (lines.h), text from source files (source_files.h). Main's thread.
 */
#ifndef XTOP_SOURCE_LINES_H
#define XTOP_SOURCE_LINES_H

#include "xtop/cli/options.h"
#include "xtop/lines/source_files.h"
#include "xtop/query/instructions.h"

struct source_lines {
	struct source_files *files; /* NULL: there are no texts */
	bool inlined;               /* lines are those of inlined functions, too */
	struct instruction_lines finder;
};

/* The folders of OPTIONS were opened as inputs. Without --lines FINDER finds nothing. */
struct xtop_error *source_lines_init(struct source_lines *lines, const struct options *options);
void source_lines_deinit(struct source_lines *lines); /* all zeros: nothing is done */
/*
 * Asks for the lines of all instructions, and then for their texts. Waits until they are known, for
 * SECONDS at most each time. Texts of more than SOURCE_MAX_FILES files may be missing.
 */
void source_lines_wait(const struct source_lines *lines, const struct annotation *annotation,
		       double seconds);

#endif
