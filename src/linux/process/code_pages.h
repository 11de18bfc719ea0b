/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which page of which file lies in a frame of the guest. This names code of a process that is gone.
 *
 * A page of a program lies in one frame for all processes that run the program: the frame of the
 * page cache. code_pages_scan() looks up what lies in which frame when a file is first met, and
 * again from time to time, as a guest reads its files page by page:
 *
 *     seen in F             a sample runs in F          looked up again
 *   ────┼───────────────────────────┼──────────────────────────┼───────► time
 *   file X, page i                                     file X, page i: so the sample ran it
 *
 * The sample's process may have become anything by then, but file X is known. Only one case would
 * yield a wrong name: the page leaves the page cache in between, another file's page is run in its
 * frame, and then the first page comes back into the same frame. Resolver's thread.
 */
#ifndef XTOP_PROCESS_CODE_PAGES_H
#define XTOP_PROCESS_CODE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/process/page_cache.h"
#include "xtop/base/error.h"
#include "xtop/base/limit.h"
#include "xtop/base/types.h"
#include "xtop/elf/loads.h"

#define CODE_PAGES_MAX      LIMIT(32768, 256) /* kept: 128 MiB of code */
#define CODE_PAGES_MAX_SCAN LIMIT(16384, 64) /* of one file, looked for in the page cache: 64 MiB */

struct code_page {
	uint64_t frame;    /* 0: none */
	uint64_t file;     /* code_files.c's number of the file */
	uint64_t page;     /* of the file, of 4 KiB as the frame */
	uint64_t since_ns; /* when the page was first seen in this frame, by memory_now_ns() */
};

struct code_pages;

struct xtop_error *code_pages_create(struct code_pages **pagesp);
void code_pages_destroy(struct code_pages *pages); /* NULL allowed */
/* SEEN->frame is not 0. SEEN replaces another page that was known to be in the frame. */
void code_pages_add(struct code_pages *pages, const struct code_page *seen);
/* NULL: no page was seen in FRAME. Valid until the next page is added. */
const struct code_page *code_pages_find(const struct code_pages *pages, frame_t frame);

/*
 * Adds the pages of FILE's executable segments that CACHE, the file's page cache, has now. Returns
 * how many pages were looked for: at most CODE_PAGES_MAX_SCAN.
 */
uint64_t code_pages_scan(struct code_pages *pages, uint64_t file, const struct loads *loads,
			 struct page_cache *cache);

#endif
