/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to push/: requests to a collector of OpenTelemetry, and its answers. Pure functions. */
#ifndef PUSH_OTLP_H
#define PUSH_OTLP_H

#include <stdbool.h>
#include <stddef.h>

#include "push/http.h"
#include "push/sender_process.h"

/*
 * Makes the request for ENTRY, a profile in pprof as export_pprof() writes it, below BASE. The
 * caller calls http_request_deinit(). Error: the bytes are no such profile, or there is no memory.
 */
struct xtop_error *otlp_request(const char *base, const struct push_settings *settings,
				const struct entry *entry, struct http_request *request);
/*
 * Reads ANSWER, which may have been cut off. The answer's text becomes the collector's message.
 * True: the status is 200, but the collector has refused the profile.
 */
bool otlp_read_answer(struct http_answer *answer);

#endif
