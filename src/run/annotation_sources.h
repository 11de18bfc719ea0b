/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines of instructions, for the screen and for --annotate: places from DWARF
 * (line_client.h), text from source files (source_cache.h). Main's thread.
 */
#ifndef RUN_ANNOTATION_SOURCES_H
#define RUN_ANNOTATION_SOURCES_H

#include "xtop/cli/options.h"
#include "xtop/lines/source_cache.h"
#include "xtop/query/instructions.h"
#include "xtop/supervise/host_files.h"

struct annotation_sources {
	struct line_client *lines;       /* finds lines; borrowed */
	struct source_cache *files;      /* texts of source files; NULL without --lines */
	bool inlined;                    /* an instruction has the line of the inlined function */
	struct instruction_lines finder; /* finds the lines for the screen and for --annotate */
};

/*
 * The folders of OPTIONS were opened as inputs. FILES outlive SOURCES. Without --lines the
 * finder finds nothing.
 */
struct xtop_error *annotation_sources_init(struct annotation_sources *sources,
					   const struct options *options,
					   const struct host_files *files);
/* SOURCES may be all zeros. */
void annotation_sources_deinit(struct annotation_sources *sources);
/*
 * Asks for the lines of all instructions, and then for their texts. Waits until they are known, for
 * SECONDS at most each time. Texts of more than SOURCE_MAX_FILES files may be missing. FILE is the
 * source file of the function if it is interpreted.
 */
void annotation_sources_wait(const struct annotation_sources *sources,
			     const struct annotation *annotation, const char *file, double seconds);

#endif
