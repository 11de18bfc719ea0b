/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests by libcurl; see http.h. The sender's process alone loads the library: it
 * brings TLS and some twenty libraries more, which must not run with root's rights or beside a
 * guest's memory. The prototypes come from its header.
 *
 * An answer counts once its header is complete: by then the server has accepted or refused the
 * profile. Sending the profile again could count its samples twice. A body that is longer than
 * HTTP_MAX_ANSWER_BYTES is cut off, and the connection is closed.
 */
#include "config.h"

#include "push/http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/library.h"

#define HTTP_LIBRARY   "libcurl.so.4"
#define HTTP_CONNECT_S 10

/* The functions that are called. Their types come from libcurl's header. */
#define HTTP_FUNCTIONS(F)                                                                          \
	F(curl_global_init)                                                                        \
	F(curl_easy_init)                                                                          \
	F(curl_easy_setopt)                                                                        \
	F(curl_easy_getinfo)                                                                       \
	F(curl_easy_cleanup)                                                                       \
	F(curl_easy_strerror)                                                                      \
	F(curl_slist_append)                                                                       \
	F(curl_slist_free_all)                                                                     \
	F(curl_multi_init)                                                                         \
	F(curl_multi_add_handle)                                                                   \
	F(curl_multi_remove_handle)                                                                \
	F(curl_multi_perform)                                                                      \
	F(curl_multi_info_read)                                                                    \
	F(curl_multi_poll)                                                                         \
	F(curl_multi_cleanup)

/* libcurl's header wraps some functions in macros that check types; pointers need none. */
#undef curl_easy_setopt
#undef curl_easy_getinfo

struct http {
	const struct config *config;
#define HTTP_MEMBER(name) __typeof__(name) *name;
	HTTP_FUNCTIONS(HTTP_MEMBER)
#undef HTTP_MEMBER
	CURLM *multi;
	CURL *easy;
	struct curl_slist *headers;
	bool busy, has_header; /* a request is under way; its answer's header is complete */
	size_t header_bytes, body_bytes;
	char body[HTTP_KEPT_BYTES];
	char error[CURL_ERROR_SIZE];
};

/* --- the library ------------------------------------------------------------------------------ */

static bool http_load(struct http *http)
{
#define HTTP_FUNCTION(name) { #name, &http->name },
	const struct library_function functions[] = { HTTP_FUNCTIONS(HTTP_FUNCTION) };
#undef HTTP_FUNCTION

	return library_load(HTTP_LIBRARY, functions, sizeof(functions) / sizeof(functions[0])) &&
	       http->curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* --- what comes ------------------------------------------------------------------------------- */

/*
 * libcurl calls this function for each line of a header. Interim answers (1xx) have headers, too.
 */
static size_t http_take_header(char *line, size_t size, size_t n, void *context)
{
	struct http *http = context;
	size_t bytes = size * n;
	long status = 0;

	http->header_bytes += bytes;
	if (http->header_bytes > HTTP_MAX_ANSWER_BYTES)
		return 0;
	if (bytes && (line[0] == '\r' || line[0] == '\n')) {
		http->curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
		http->has_header = status >= 200;
	}
	return bytes;
}

static size_t http_take_body(char *from, size_t size, size_t n, void *context)
{
	struct http *http = context;
	size_t bytes = size * n;

	for (size_t i = 0; i < bytes && http->body_bytes + i < sizeof(http->body) - 1; i++)
		http->body[http->body_bytes + i] = from[i];
	http->body_bytes += bytes;
	return http->body_bytes > HTTP_MAX_ANSWER_BYTES ? 0 : bytes;
}

/* --- life ------------------------------------------------------------------------------------- */

#define SET(option, value) (http->curl_easy_setopt(http->easy, option, value) == CURLE_OK)

static bool http_set_credentials(struct http *http)
{
	const struct config *config = http->config;
	struct curl_blob ca = { .data = config->ca, .len = config->ca_bytes };
	bool ok = true;

	if (config->ca)
		ok = ok && SET(CURLOPT_CAINFO_BLOB, &ca);
	if (config->user[0])
		ok = ok && SET(CURLOPT_USERPWD, config->user) &&
		     SET(CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
	return ok;
}

/* Redirects are not followed: the profiles and the password are for this server. */
static bool http_set_up(struct http *http)
{
	return SET(CURLOPT_NOSIGNAL, 1L) && SET(CURLOPT_PROTOCOLS_STR, "http,https") &&
	       SET(CURLOPT_FOLLOWLOCATION, 0L) && SET(CURLOPT_USERAGENT, "xtop/" PACKAGE_VERSION) &&
	       SET(CURLOPT_CONNECTTIMEOUT, (long)HTTP_CONNECT_S) &&
	       SET(CURLOPT_TIMEOUT, (long)http->config->timeout_s) &&
	       SET(CURLOPT_HEADERFUNCTION, http_take_header) && SET(CURLOPT_HEADERDATA, http) &&
	       SET(CURLOPT_WRITEFUNCTION, http_take_body) && SET(CURLOPT_WRITEDATA, http) &&
	       SET(CURLOPT_ERRORBUFFER, http->error) && http_set_credentials(http);
}

struct xtop_error *http_create(const struct config *config, struct http **httpp)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http)
		return error_create("out of memory");
	http->config = config;
	if (!http_load(http)) {
		free(http);
		return error_create(HTTP_LIBRARY " is missing or too old (Debian: libcurl4)");
	}
	http->multi = http->curl_multi_init();
	http->easy = http->curl_easy_init();
	if (!http->multi || !http->easy || !http_set_up(http)) {
		http_destroy(http);
		return error_create(HTTP_LIBRARY " does not work");
	}
	*httpp = http;
	return NULL;
}

static void http_end(struct http *http)
{
	if (http->busy)
		http->curl_multi_remove_handle(http->multi, http->easy);
	http->curl_slist_free_all(http->headers);
	http->headers = NULL;
	http->busy = false;
}

void http_destroy(struct http *http)
{
	if (!http)
		return;
	http_end(http);
	if (http->easy)
		http->curl_easy_cleanup(http->easy);
	if (http->multi)
		http->curl_multi_cleanup(http->multi);
	free(http);
}

/* --- a request -------------------------------------------------------------------------------- */

static bool http_add_header(struct http *http, const char *name, const char *value)
{
	char line[CONFIG_VALUE_BYTES + 64];
	struct curl_slist *longer;

	snprintf(line, sizeof(line), "%s%s", name, value);
	longer = http->curl_slist_append(http->headers, line);
	if (longer)
		http->headers = longer;
	return longer;
}

/* "Expect:" keeps libcurl from asking before it sends the body: some servers do not answer. */
static bool http_set_headers(struct http *http, const struct http_request *request)
{
	const struct config *config = http->config;

	return http_add_header(http, "Content-Type: ", request->content_type) &&
	       (!request->encoding ||
		http_add_header(http, "Content-Encoding: ", request->encoding)) &&
	       http_add_header(http, "Expect:", "") &&
	       (!config->tenant[0] || http_add_header(http, "X-Scope-OrgID: ", config->tenant)) &&
	       (!config->bearer[0] ||
		http_add_header(http, "Authorization: Bearer ", config->bearer)) &&
	       SET(CURLOPT_HTTPHEADER, http->headers);
}

void http_request_deinit(struct http_request *request)
{
	free(request->url);
	free(request->own);
	*request = (struct http_request){ .url = NULL };
}

struct xtop_error *http_post(struct http *http, const struct http_request *request)
{
	http->has_header = false;
	http->header_bytes = http->body_bytes = 0;
	memset(http->body, 0, sizeof(http->body));
	http->error[0] = '\0';
	if (!http_set_headers(http, request) || !SET(CURLOPT_URL, request->url) ||
	    !SET(CURLOPT_POST, 1L) ||
	    !SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size_bytes) ||
	    !SET(CURLOPT_POSTFIELDS, request->body) ||
	    http->curl_multi_add_handle(http->multi, http->easy) != CURLM_OK) {
		http_end(http);
		return error_create("libcurl does not take the request");
	}
	http->busy = true;
	return NULL;
}

bool http_is_busy(const struct http *http)
{
	return http->busy;
}

void http_wait(struct http *http, int socket, int wait_ms)
{
	struct curl_waitfd own = { .fd = socket, .events = CURL_WAIT_POLLIN };

	http->curl_multi_poll(http->multi, &own, socket >= 0 ? 1 : 0, wait_ms, NULL);
}

static void http_get_answer(struct http *http, CURLcode code, struct http_answer *answer)
{
	curl_off_t asked_s = 0;

	*answer = (struct http_answer){ 0 };
	if (http->has_header) {
		http->curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &answer->status);
		http->curl_easy_getinfo(http->easy, CURLINFO_RETRY_AFTER, &asked_s);
		answer->asked_s = asked_s > 0 ? (uint64_t)asked_s : 0;
		snprintf(answer->text, sizeof(answer->text), "%.*s",
			 (int)sizeof(answer->text) - 1, http->body);
		answer->body_bytes = http->body_bytes < sizeof(http->body) - 1
					     ? http->body_bytes
					     : sizeof(http->body) - 1;
		memcpy(answer->body, http->body, answer->body_bytes);
	} else {
		const char *why = http->error[0]       ? http->error
				  : code == CURLE_OK ? "the server closed the connection too early"
						     : http->curl_easy_strerror(code);

		snprintf(answer->text, sizeof(answer->text), "%.*s", (int)sizeof(answer->text) - 1,
			 why);
	}
}

bool http_poll(struct http *http, struct http_answer *answer)
{
	CURLMsg *message;
	int n;

	if (!http->busy)
		return false;
	http->curl_multi_perform(http->multi, &n);
	message = http->curl_multi_info_read(http->multi, &n);
	if (!message || message->msg != CURLMSG_DONE)
		return false;
	http_get_answer(http, message->data.result, answer);
	http_end(http);
	return true;
}
