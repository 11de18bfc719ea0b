/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to supervise/: the process that reads source lines out of debug files, and what it and
 * main send each other (broker_wire.h has the functions for descriptors):
 *
 *   main ─► request       one at a time: places in one file; with descriptors of the file and of
 *                         its alternative file, if it has one
 *   main ◄─ replies       with one answer a place, in their order, as many as fit into each
 *   main ◄─ DIED          instead of the other replies: the reader has died
 *
 * There are two processes. The reader parses debug files, which may make it crash. Its parent
 * parses nothing: it starts the reader, and starts another reader when the first one has died.
 *
 * An answer in a reply:
 *
 *   u8      number of frames, at most LINE_MAX_DEPTH
 *   frames  u32 line, u32 column, function, NUL, file, NUL
 */
#ifndef SUPERVISE_LINE_SERVER_H
#define SUPERVISE_LINE_SERVER_H

#include "xtop/supervise/line_client.h"

#define LINE_SERVER_MAX_PLACES   128            /* places in one request */
/* Most answers in one reply. A socket's buffer has 208 KiB (net.core.wmem_default). */
#define LINE_SERVER_REPLY_BYTES  (48U << 10)
#define LINE_SERVER_REQUEST_S    120            /* a reader that takes longer is ended */

struct line_server_request {
	uint32_t number; /* counts requests from 1 on */
	uint32_t file;
	uint32_t n_places;
	bool has_alt;
	struct line_place places[LINE_SERVER_MAX_PLACES];
};

enum line_server_what { LINE_SERVER_ANSWERS, LINE_SERVER_BAD, LINE_SERVER_DIED };

struct line_server_reply {
	uint32_t what; /* enum line_server_what */
	uint32_t number;
	uint32_t n_answers;
	uint64_t most_bytes; /* most memory that the reader has had */
	char message[96];    /* why the file is bad, or how the reader has died */
	uint32_t size_bytes; /* size of the answers in `bytes` */
	uint8_t bytes[LINE_SERVER_REPLY_BYTES];
};

/*
 * The body of the process (helper_run_fn). CONTEXT is a const struct line_reader. Gives up rights
 * first. Returns when main is gone.
 */
void line_server_run(void *context, int socket);

/* Writes ANSWER to TO. Returns how many bytes were written; 0: CAPACITY may be too small. */
size_t line_server_pack(const struct line_answer *answer, uint8_t *to, size_t capacity);
/* Reads ANSWER from BYTES, where its strings remain. Returns its size; 0: BYTES are no answer. */
size_t line_server_unpack(const uint8_t *bytes, size_t size_bytes, struct line_answer *answer);

#endif
