/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fetches debug files, and source files, from debuginfod servers, by build-id, in the background.
 * A process of its own talks to the servers, one file after the other (supervise/fetcher.h). It has
 * no rights on guests, and does not parse the files. The process that asks goes on meanwhile.
 *
 * The functions may be called by any thread; none of them waits for a server. The first argument
 * may be NULL: nobody fetches.
 */
#ifndef XTOP_FETCH_H
#define XTOP_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/base/build_id.h"
#include "xtop/base/error.h"

struct fetch;

#define FETCH_MAX_FILES  256 /* files that one run asks for */
#define FETCH_PATH_BYTES 256 /* a longer path is not asked for */

enum fetch_state {
	FETCH_OFF,     /* no process fetches, or too many files were asked for */
	FETCH_WAITING, /* asked for, and not there yet */
	FETCH_FOUND,
	FETCH_NONE,    /* no server has the file, or something went wrong */
};

/* Counts since fetch_start(). */
struct fetch_progress {
	unsigned n_waiting, n_found, n_none;
	uint64_t done_bytes, total_bytes; /* sizes for the file that is fetched now; 0: unknown */
	char message[96];                 /* what went wrong last; not clean; "" if nothing has */
};

/*
 * Starts the process. Call this function first of all, with all rights and before other threads and
 * processes: the process must not get what is opened later. CACHE is the folder for fetched files,
 * unless DEBUGINFOD_CACHE_PATH names another; NULL: there is none. Error: DEBUGINFOD_URLS names no
 * server, or the process cannot be started. If the library is missing, the progress's message says
 * so.
 */
struct xtop_error *fetch_start(const char *cache, struct fetch **fetchp);
void fetch_stop(struct fetch *fetch);

/*
 * Asks for the debug file of ID, if nobody has asked yet. After FETCH_FOUND *FDP is a descriptor of
 * the file, which the caller closes. The file's content is hostile.
 */
enum fetch_state fetch_ask(struct fetch *fetch, const struct build_id *id, int *fdp);
/*
 * Asks for a source file of the program with build-id ID, as fetch_ask() does. PATH is the file's
 * absolute path when the program was compiled. The result is FETCH_OFF also if PATH is not
 * absolute.
 */
enum fetch_state fetch_ask_source(struct fetch *fetch, const struct build_id *id, const char *path,
				  int *fdp);
/* Tells what fetch_ask() has brought, without asking. FETCH_OFF also if nobody has asked. */
enum fetch_state fetch_find(struct fetch *fetch, const struct build_id *id, int *fdp);
void fetch_get_progress(struct fetch *fetch, struct fetch_progress *progress);

#endif
