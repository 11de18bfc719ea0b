/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers of debug files. These functions replace the library's in the fuzzer that includes them, and
 * answer what the input says.
 */
#ifndef FUZZ_SERVERS_H
#define FUZZ_SERVERS_H

#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "xtop/supervise/fetch.h"

static struct {
	uint32_t answers; /* an enum fetch_state in two bits, each time */
	int fetched_fd;   /* the file that they have */
} servers;

/* What no function but those below looks into. */
#define SERVERS ((struct fetch *)&servers)

enum fetch_state fetch_ask(struct fetch *fetch, const struct build_id *id, int *fdp)
{
	enum fetch_state state = servers.answers & 3;

	fuzz_must(fetch != NULL, "somebody fetches");
	fuzz_must(id->size_bytes > 0, "a build-id is asked for");
	servers.answers >>= 2;
	if (state == FETCH_FOUND)
		*fdp = dup(servers.fetched_fd);
	return state;
}

#endif
