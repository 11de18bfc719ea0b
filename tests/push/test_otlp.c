/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pprof file made by hand becomes an OTLP request: its tables, and what becomes of damaged files.
 * tests/cli/push has a whole profile decoded by protoc.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "push/otlp.h"
#include "push/zip.h"
#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/base/proto.h"

/* --- a profile -------------------------------------------------------------------------------- */

static const char *const strings[] = { "",	"samples", "count", "off_cpu", "nanoseconds", "process",
				       "nginx", "thread",  "n-1",   "inner",   "outer",	      "n-2" };

static void put_pair(struct proto_buffer *to, uint32_t field, uint64_t first, uint64_t second)
{
	struct proto_buffer message = { .n = 0 };

	proto_put_number(&message, 1, first);
	proto_put_number(&message, 2, second);
	proto_put_message(to, field, &message);
	free(message.bytes);
}

/* The stack of location 1 in 2, in process 6 and THREAD. */
static void put_sample(struct proto_buffer *to, uint64_t thread, uint64_t ns)
{
	const uint64_t locations[] = { 1, 2 }, values[] = { 3, ns };
	struct proto_buffer message = { .n = 0 };

	proto_put_numbers(&message, 1, locations, 2);
	proto_put_numbers(&message, 2, values, 2);
	put_pair(&message, 3, 5, 6);
	put_pair(&message, 3, 7, thread);
	proto_put_message(to, 2, &message);
	free(message.bytes);
}

static void put_function(struct proto_buffer *to, uint64_t id, uint64_t name)
{
	struct proto_buffer message = { .n = 0 };

	proto_put_number(&message, 1, id);
	put_pair(&message, 4, id, 0);
	proto_put_message(to, 4, &message);
	put_pair(to, 5, id, name);
	free(message.bytes);
}

static void put_profile(struct proto_buffer *to)
{
	put_pair(to, 1, 1, 2);
	put_pair(to, 1, 3, 4);
	put_sample(to, 8, 5000000);
	put_sample(to, 11, 7000000);
	put_sample(to, 8, 9000000);
	put_function(to, 1, 9);
	put_function(to, 2, 10);
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		proto_put_text(to, 6, strings[i]);
	proto_put_number(to, 14, 3);
}

static struct xtop_error *convert(const struct proto_buffer *profile, struct http_request *request)
{
	const struct push_settings settings = { .host = "dom0-7", .xen = "" };
	struct xtop_error *error;
	struct entry *entry;
	size_t size_bytes;
	void *file = zip_pack(profile->bytes, profile->n, &size_bytes);

	entry = calloc(1, sizeof(*entry) + size_bytes);
	memcpy(entry->bytes, file, size_bytes);
	entry->size_bytes = size_bytes;
	error = otlp_request("http://there/base", &settings, entry, request);
	free(entry);
	free(file);
	return error;
}

/* --- what it becomes -------------------------------------------------------------------------- */

/* The message to which a PATH of field numbers leads, the first of each; N counts the last one. */
static struct proto_bytes find(struct proto_bytes message, const char *path, unsigned *n)
{
	struct proto_bytes found = { .n = 0 };
	struct proto_field field;

	*n = 0;
	while (proto_next(&message, &field))
		if (field.number == (uint32_t)atoi(path) && !field.is_number && ++*n == 1)
			found = field.bytes;
	path = strchr(path, '.');
	return path && *n ? find(found, path + 1, n) : found;
}

static unsigned count(struct proto_bytes message, const char *path)
{
	unsigned n;

	find(message, path, &n);
	return n;
}

static void check_bytes(struct proto_bytes message, const char *path, const void *want, size_t n)
{
	unsigned times;
	struct proto_bytes found = find(message, path, &times);

	check(found.n == n && memcmp(found.bytes, want, n) == 0,
	      "%s: the values are those that are wanted", path);
}

static void test_tables(void)
{
	struct proto_buffer profile = { .n = 0 };
	struct http_request request;
	struct proto_bytes body;
	void *bytes;

	put_profile(&profile);
	must(convert(&profile, &request));
	check(strcmp(request.url, "http://there/base/v1development/profiles") == 0, "%s",
	      request.url);
	bytes = zip_unpack(request.body, request.size_bytes, 1 << 20, &body.n);
	body.bytes = bytes;
	check_u64(count(body, "2.7"), 2, "stacks, which are none and the one of all samples");
	check_bytes(body, "2.7", "", 0);
	check_u64(count(body, "2.6"), 4, "attributes, which are none, a process and two threads");
	check_u64(count(body, "2.2"), 3, "locations in the request");
	check_u64(count(body, "2.3"), 3, "functions in the request");
	check_u64(count(body, "2.1"), 1, "mappings in the request, which is none");
	check_u64(count(body, "2.4"), 1, "links in the request, which is none");
	check_u64(count(body, "1.2.2"), 1, "profiles in the request");
	check_u64(count(body, "1.2.2.2"), 3, "samples in the request");
	check_bytes(body, "1.2.2.1", "\x08\x03\x10\x04", 4); /* off_cpu, nanoseconds */
	/* Stack 1, attributes 1 and 2, one value: 5000000. */
	check_bytes(body, "1.2.2.2", "\x08\x01\x12\x02\x01\x02\x22\x04\xc0\x96\xb1\x02", 12);
	check_bytes(body, "1.1.1.1", "service.name", 12);
	check_bytes(body, "1.1.1.2.1", "xtop", 4);
	free(bytes);
	http_request_deinit(&request);
	free(profile.bytes);
}

/* Whatever main sends: a request or an error. Sanitizers look at the memory. */
static void test_damage(void)
{
	struct proto_buffer profile = { .n = 0 };
	struct http_request request;
	unsigned refused = 0, made = 0;
	struct xtop_error *error;
	size_t n;

	put_profile(&profile);
	n = profile.n;
	for (size_t i = 0; i < 8 * n; i++) {
		profile.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		error = convert(&profile, &request);
		profile.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		if (!error)
			http_request_deinit(&request);
		*(error ? &refused : &made) += 1;
		error_destroy(error);
	}
	check(refused > n && made > n, "profiles with one wrong bit: %u refused, %u made", refused,
	      made);
	for (profile.n = 1, refused = 0; profile.n < n; profile.n++) {
		error = convert(&profile, &request);
		refused += error != NULL;
		if (!error)
			http_request_deinit(&request);
		error_destroy(error);
	}
	check(refused >= n - 3, "profiles cut off at %zu places are refused: %u", n - 1, refused);
	free(profile.bytes);
}

static void test_no_gzip(void)
{
	const struct push_settings settings = { .host = "" };
	struct http_request request;
	struct entry *entry = calloc(1, sizeof(*entry) + 100);
	struct xtop_error *error;

	entry->size_bytes = 100;
	error = otlp_request("http://there", &settings, entry, &request);
	check(error && strstr(error_message(error), "damaged"),
	      "a file that is no gzip is refused: %s", error ? error_message(error) : "no error");
	error_destroy(error);
	free(entry);
}

/* A file that grows a thousandfold is not unpacked beyond the bound. */
static void test_bomb(void)
{
	size_t size_bytes, n;
	void *zeros = calloc(1, 1 << 20), *file = zip_pack(zeros, 1 << 20, &size_bytes), *content;

	content = zip_unpack(file, size_bytes, 1 << 20, &n);
	check(content && n == 1 << 20, "a packed file of %zu bytes holds 1 MiB: %zu", size_bytes,
	      n);
	free(content);
	check(!zip_unpack(file, size_bytes, (1 << 20) - 1, &n),
	      "a file that holds one byte more than is allowed is refused");
	check(!zip_unpack(file, size_bytes - 1, 1 << 20, &n),
	      "a packed file that is cut off is refused");
	free(file);
	free(zeros);
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool read_answer(long status, const char *body, size_t n, char text[160])
{
	struct http_answer answer = { .status = status, .body_bytes = n };
	bool refused;

	memcpy(answer.body, body, n);
	refused = otlp_read_answer(&answer);
	memcpy(text, answer.text, 160);
	return refused;
}

static void test_answers(void)
{
	char text[160];

	check(!read_answer(200, "", 0, text), "an empty answer means that all was taken");
	check(!read_answer(200, "{}", 2, text), "an answer in JSON means that all was taken");
	check(!read_answer(200, "\x0a\x04\x12\x02hm", 6, text) && strcmp(text, "hm") == 0,
	      "an answer with a warning means that all was taken");
	check(read_answer(200, "\x0a\x09\x08\x01\x12\x05" "no it", 11, text) &&
		      strcmp(text, "no it") == 0,
	      "a partial success of one profile: refused: %s", text);
	check(read_answer(200, "\x0a\x49\x08\x01\x12\x45" "no it", 11, text) &&
		      strcmp(text, "no it") == 0,
	      "the text of a partial success is cut off: %s", text);
	check(!read_answer(400, "\x08\x03\x12\x03" "old", 7, text) && strcmp(text, "old") == 0,
	      "a Status: %s", text);
	check(!read_answer(400, "\xff\xff\xff", 3, text), "a message that is damaged is ignored");
}

int main(void)
{
	test_tables();
	test_damage();
	test_no_gzip();
	test_bomb();
	test_answers();
	return tap_done();
}
