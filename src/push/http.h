/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: requests to one server, one at a time, by libcurl. The server is not trusted:
 * what it sends is limited in size and time. Only its status, the header Retry-After and the
 * beginning of the body are kept.
 */
#ifndef PUSH_HTTP_H
#define PUSH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "push/config_file.h"

#define HTTP_MAX_ANSWER_BYTES 65536 /* limit for the header, and for the body */
#define HTTP_KEPT_BYTES       256   /* bytes of the body that are kept */

struct http;

struct http_request {
	char *url;
	const char *content_type;
	const char *encoding; /* the body's encoding, "gzip"; NULL: none */
	const void *body;
	size_t size_bytes;
	void *own; /* the body, if the request has to free it; NULL: the body is borrowed */
};

void http_request_deinit(struct http_request *request);

struct http_answer {
	long status;      /* 0: the server gave no whole answer */
	uint64_t asked_s; /* wait that the server asks for (Retry-After); 0: none */
	char text[160];   /* why there is no answer, or the beginning of the body; any bytes */
	unsigned char body[HTTP_KEPT_BYTES]; /* beginning of the body */
	size_t body_bytes;
};

/* CONFIG outlives the result. Error: there is no libcurl. */
struct xtop_error *http_create(const struct config *config, struct http **httpp);
void http_destroy(struct http *http); /* NULL allowed */
/* Begins a request while no other is under way. REQUEST must live until the answer. */
struct xtop_error *http_post(struct http *http, const struct http_request *request);
bool http_is_busy(const struct http *http);
/* Waits for the server or for SOCKET, which may be -1, for WAIT_MS at most. */
void http_wait(struct http *http, int socket, int wait_ms);
/* Returns whether the request has ended. If so, *ANSWER says how. */
bool http_poll(struct http *http, struct http_answer *answer);

#endif
