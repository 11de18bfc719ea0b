/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to push/: requests to one server, one at a time, by libcurl. The server is not trusted:
 * what it sends is limited in size and time, and nothing but its status is looked at.
 */
#ifndef PUSH_HTTP_H
#define PUSH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "push/config_file.h"

#define HTTP_MAX_ANSWER_BYTES 65536 /* limit for the header, and for the body */

struct http;

#define HTTP_KEPT_BYTES       256   /* bytes of the body that are kept */

struct http_request {
	char *url;
	const char *content_type;
	const char *encoding; /* how the body is encoded, "gzip"; or NULL */
	const void *body;
	size_t size_bytes;
	void *own; /* the body, if the request frees it; else NULL */
};

void http_request_deinit(struct http_request *request);

struct http_answer {
	long status;      /* HTTP status; 0 if the server gave no whole answer */
	uint64_t asked_s; /* seconds of Retry-After; 0 without that header */
	char text[160];   /* why there is no answer, or the beginning of the body; any bytes */
	unsigned char body[HTTP_KEPT_BYTES]; /* its beginning */
	size_t body_bytes;
};

/* CONFIG outlives the object. Error: there is no libcurl. */
struct xtop_error *http_create(const struct config *config, struct http **httpp);
void http_destroy(struct http *http); /* HTTP may be NULL */
/* Begins a request, while no other goes on. REQUEST must live until the answer. */
struct xtop_error *http_post(struct http *http, const struct http_request *request);
bool http_is_busy(const struct http *http);
/* Waits for the server or for SOCKET, which may be -1, for WAIT_MS at most. */
void http_wait(struct http *http, int socket, int wait_ms);
/* Whether the request has ended; *ANSWER then says how. */
bool http_poll(struct http *http, struct http_answer *answer);

#endif
