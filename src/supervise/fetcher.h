/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the process that fetches debug files and source files, and what it and
 * main send each other (broker_wire.h has the functions):
 *
 *   main ─► build-id      one at a time, after the answer to the one before; with the path of a
 *                         source file, or "" for the debug file
 *   main ◄─ PROGRESS ...  as bytes come
 *   main ◄─ FOUND         with a descriptor of the file, open for reading
 *   main ◄─ NONE          with a message, unless no server has the file
 */
#ifndef SUPERVISE_FETCHER_H
#define SUPERVISE_FETCHER_H

#include "xtop/base/build_id.h"
#include "xtop/supervise/fetch.h"

#define FETCHER_MAX_S           600          /* longest time for one file */
#define FETCHER_CACHE_MAX_BYTES (2ULL << 30) /* most that xtop's own cache has before a fetch */

struct fetcher_request {
	uint32_t size_bytes;
	uint8_t build_id[BUILD_ID_MAX_BYTES];
	char source[FETCH_PATH_BYTES]; /* path of a source file; "": the debug file is wanted */
};

enum fetcher_answer { FETCHER_PROGRESS, FETCHER_FOUND, FETCHER_NONE };

struct fetcher_reply {
	uint32_t answer;
	uint64_t done_bytes, total_bytes;
	char message[96];
};

/*
 * Finds the debug file of BUILD_ID, or the source file SOURCE unless SOURCE is "". Returns a
 * descriptor. Negative: there is none; MESSAGE may say why. Calls fetcher_send_progress() now and
 * then.
 */
typedef int fetcher_find_fn(const uint8_t *build_id, size_t size_bytes, const char *source,
			    char message[96]);

struct fetcher_settings {
	fetcher_find_fn *find; /* finds files; NULL: libdebuginfod does */
	const char *cache;     /* folder of xtop's own cache; NULL: there is none */
};

/*
 * The body of the process (helper_run_fn). CONTEXT is a const struct fetcher_settings. Gives up
 * rights first. Returns when main is gone.
 */
void fetcher_run(void *context, int socket);
/* Tells main how many bytes have come. False: main is gone, or FETCHER_MAX_S are over. */
bool fetcher_send_progress(uint64_t done_bytes, uint64_t total_bytes);

/* For tests: fetch_start() with another way to find files. */
struct xtop_error *fetch_start_with(const struct fetcher_settings *settings, struct fetch **fetchp);

#endif
