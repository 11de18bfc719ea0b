/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An HTTP server on the loopback interface, in a process of its own, that keeps each request byte
 * for byte and answers by a script. Requests are files of FOLDER: N.head and N.body, N = 1, 2, ...
 *
 *   200, 400, ...  that status, and a short text; the connection stays open
 *   503:2          with Retry-After: 2
 *   partial        200, and a collector's word that it has rejected the profile ("too old")
 *   version        400, and a collector's Status ("version 2 only")
 *   hang           reads the request and says nothing
 *   half           closes in the middle of the header
 *   cut            200, and closes in the middle of the body
 *   garbage        bytes that are no HTTP
 *   huge, header   1 GB of body, or of header
 */
#ifndef TESTS_HTTP_SERVER_H
#define TESTS_HTTP_SERVER_H

#include <stddef.h>
#include <sys/types.h>

struct http_server {
	pid_t pid;
	int port;
};

/* The K-th request gets the K-th word of SCRIPT, which blanks part; later ones get the last word. */
void http_server_start(struct http_server *server, const char *folder, const char *script);
void http_server_stop(struct http_server *server);
/* How many requests have come, and how they ended. */
unsigned http_server_count(const char *folder);
/* A file of the N-th request: ENDING is head or body. The caller frees it. NULL: there is none. */
char *http_server_read(const char *folder, unsigned n, const char *ending, size_t *size_bytesp);

#endif
