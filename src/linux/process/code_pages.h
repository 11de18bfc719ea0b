/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the file and page that lie in a frame of the guest. This names code of a process that is
 * gone.
 *
 * A page of a program lies in one frame for all processes that run the program: the frame of the
 * page cache. code_pages_scan() records the contents of frames when a file is first met, and again
 * from time to time, because a guest reads its files page by page:
 *
 *     seen in F             a sample runs in F          looked up again
 *   ────┼───────────────────────────┼──────────────────────────┼───────► time
 *   file X, page i                                     file X, page i: so the sample ran it
 *
 * The sample's process may have been replaced by then, but file X is known. Only one case yields a
 * wrong name: the page leaves the page cache in between, another file's page is run in its frame,
 * and then the first page comes back into the same frame. Resolver's thread.
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

#define CODE_PAGES_MAX LIMIT(32768, 256) /* pages that are kept: 128 MiB of code */
/* pages of one file that are searched in the page cache: 64 MiB */
#define CODE_PAGES_MAX_SCAN LIMIT(16384, 64)

struct code_page {
	uint64_t frame;    /* 0 if the place is free */
	uint64_t file;     /* code_files.c's number of the file */
	uint64_t page;     /* index of the page in the file, in pages of 4 KiB */
	uint64_t since_ns; /* time when the page was first seen in this frame, by memory_now_ns() */
};

struct code_pages;

struct xtop_error *code_pages_create(struct code_pages **pagesp);
void code_pages_destroy(struct code_pages *pages); /* NULL allowed */
/* SEEN->frame is not 0. SEEN replaces the page that was known to be in the frame. */
void code_pages_add(struct code_pages *pages, const struct code_page *seen);
/*
 * The page that was seen in FRAME; NULL if none was. The pointer is valid until the next page is
 * added.
 */
const struct code_page *code_pages_find(const struct code_pages *pages, frame_t frame);

/*
 * Adds the pages of FILE's executable segments that CACHE, the file's page cache, has now. Returns
 * the number of pages searched, at most CODE_PAGES_MAX_SCAN.
 */
uint64_t code_pages_scan(struct code_pages *pages, uint64_t file, const struct loads *loads,
			 struct page_cache *cache);

#endif
