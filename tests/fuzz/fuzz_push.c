/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the sender's process reads: profiles that come from main, answers of a collector, its file
 * of settings and its URL. The first byte says which of them the rest is.
 */
#include "config.h"

#include <stdio.h>
#include <sys/stat.h>

#include "file.h"
#include "fuzz.h"
#include "push/config_file.h"
#include "push/otlp.h"
#include "push/target.h"
#include "push/zip.h"
#include "xtop/base/proto.h"

#define MAX_CONTENT_BYTES (1U << 20)

/* What is sent: a gzip file with whole fields, one inside the other as far as they are messages. */
static void check_request(const struct http_request *request)
{
	struct proto_bytes rest;
	struct proto_field field;
	uint8_t *content = zip_unpack(request->body, request->size_bytes, 64U << 20, &rest.n);

	rest.bytes = content;
	fuzz_must(content && request->url, "a request has a body and a URL");
	while (proto_next(&rest, &field))
		fuzz_must(!field.is_number, "a request has messages");
	fuzz_must(!rest.n, "a request is whole");
	free(content);
}

/* BYTES are a gzip file, or none. */
static void convert(const void *bytes, size_t size_bytes)
{
	static const char *const labels[] = { "rack=7" };
	const struct push_settings settings = {
		.labels = labels, .n_labels = 1, .host = "host", .xen = "4.17", .hz = 99
	};
	struct entry *entry = calloc(1, sizeof(*entry) + size_bytes);
	struct http_request request;
	struct xtop_error *error;

	if (!entry)
		abort();
	memcpy(entry->bytes, bytes, size_bytes);
	entry->size_bytes = size_bytes;
	error = otlp_request("http://there", &settings, entry, &request);
	if (!error) {
		check_request(&request);
		http_request_deinit(&request);
	}
	error_destroy(error);
	free(entry);
}

static void convert_content(struct fuzz *fuzz)
{
	size_t n;
	void *file = zip_pack(fuzz->at, fuzz->left_bytes, &n);

	if (!file)
		abort();
	convert(file, n);
	free(file);
}

static void unpack(struct fuzz *fuzz)
{
	size_t size_bytes = fuzz->left_bytes, n = 0;
	void *bytes = fuzz_copy(fuzz, size_bytes);
	void *content = zip_unpack(bytes, size_bytes, MAX_CONTENT_BYTES, &n);

	fuzz_must(!content || (n > 0 && n <= MAX_CONTENT_BYTES), "a content has its limit");
	free(content);
	convert(bytes, size_bytes);
	free(bytes);
}

static void read_answer(struct fuzz *fuzz)
{
	struct http_answer *answer = calloc(1, sizeof(*answer));
	bool refused;

	if (!answer)
		abort();
	answer->status = fuzz_u8(fuzz) & 1 ? 200 : 400;
	answer->body_bytes = fuzz->left_bytes < HTTP_KEPT_BYTES ? fuzz->left_bytes
								: HTTP_KEPT_BYTES;
	fuzz_take(fuzz, answer->body, answer->body_bytes);
	refused = otlp_read_answer(answer);
	fuzz_must(!refused || answer->status == 200, "only a profile that was taken is refused");
	fuzz_must(memchr(answer->text, '\0', sizeof(answer->text)) != NULL, "a text ends");
	free(answer);
}

/* No file but this one is opened: "ca" names another. */
static void read_config(struct fuzz *fuzz)
{
	int fd = fuzz_file(fuzz->at, fuzz->left_bytes);
	struct config *config = malloc(sizeof(*config));
	struct xtop_error *error;
	char path[64];

	if (!config || fchmod(fd, 0600))
		abort();
	config_init(config);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	error = memmem(fuzz->at, fuzz->left_bytes, "ca", 2) ? NULL : config_read(path, config);
	fuzz_must(config->timeout_s >= 1 && config->memory_bytes && config->keep_bytes,
		  "a setting keeps its limits");
	error_destroy(error);
	config_deinit(config);
	free(config);
}

static void parse_url(struct fuzz *fuzz)
{
	struct target target = { .path = NULL };
	size_t size_bytes = fuzz->left_bytes;
	char *url = fuzz_copy(fuzz, size_bytes + 1);
	struct xtop_error *error = target_parse(url, &target);

	if (!error)
		fuzz_must(target.kind == TARGET_FILES ? target.path[0] == '/'
						      : strncmp(target.base, "http", 4) == 0,
			  "a target is a folder or a server");
	error_destroy(error);
	free(url);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);

	switch (fuzz_u8(&fuzz) % 5) {
	case 0: convert_content(&fuzz); break;
	case 1: unpack(&fuzz); break;
	case 2: read_answer(&fuzz); break;
	case 3: read_config(&fuzz); break;
	case 4: parse_url(&fuzz); break;
	}
	return 0;
}
