/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles on their way to a server of ours on the loopback interface: each request byte for byte,
 * every fault of a server, the spool while there is none, and what it sends when it is back. Then
 * files, their names and their bound.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/http_server.h"
#include "tests/support/must.h"
#include "tests/support/shell.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"
#include "xtop/push/push.h"

#define WAIT_MS 60000

static struct push *push;
static char folder[] = "/tmp/xtop-push-XXXXXX";
static struct {
	char requests[64], cache[64], config[64], url[128];
} places;

static void write_config(const char *text)
{
	FILE *file = fopen(places.config, "w");

	if (!file || fputs(text, file) == EOF || fclose(file) || chmod(places.config, 0600))
		exit(99);
}

static const char *const labels[] = { "env=prod, west", "region=a{b}=c" };

static struct push_settings settings_for(int port)
{
	snprintf(places.url, sizeof(places.url), "http://127.0.0.1:%d/base/", port);
	return (struct push_settings){ .url = places.url,
				       .config = places.config,
				       .labels = labels,
				       .n_labels = 2,
				       .host = "dom0-7",
				       .xen = "4.17.7",
				       .cache = places.cache,
				       .hz = 99 };
}

static struct push_profile profile_of(unsigned n)
{
	return (struct push_profile){ .from_ns = 1700000000000000000ULL + n * 10000000000ULL,
				      .until_ns = 1700000010000000000ULL + n * 10000000000ULL,
				      .domain = "web01/\xc3\xa4",
				      .uuid = "12345678-0000-0000-0000-000000000001",
				      .os = "Linux",
				      .kernel = "6.1.0-37-amd64" };
}

static void add(unsigned n, size_t size_bytes)
{
	struct push_profile profile = profile_of(n);
	char *bytes = malloc(size_bytes);

	for (size_t i = 0; i < size_bytes; i++)
		bytes[i] = (char)(i * 7 + n);
	push_add(push, &profile, bytes, size_bytes);
	free(bytes);
}

/* Waits until N profiles are done with: delivered, refused or dropped. */
static struct push_status wait_for(uint64_t n)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct push_status status;

	push_get_status(push, &status);
	for (unsigned i = 0; i < WAIT_MS && status.sent + status.refused + status.dropped < n; i++) {
		nanosleep(&ms, NULL);
		push_get_status(push, &status);
	}
	return status;
}

static void forget(void)
{
	shell("rm -rf %s/* %s", places.requests, places.cache);
}

/* --- requests --------------------------------------------------------------------------------- */

static const char *const wanted_head =
	"POST /base/ingest?name=xtop%7Benv%3Dprod_%20west%2Cregion%3Da_b__c%2Cdomain%3Dweb01%2F"
	"%C3%A4%2Cuuid%3D12345678-0000-0000-0000-000000000001%2Chost%3Ddom0-7%2Cos%3DLinux%2C"
	"kernel%3D6.1.0-37-amd64%2Cxen%3D4.17.7%7D&from=1700000010000000000&until="
	"1700000020000000000&format=pprof&sampleRate=99&spyName=xtop HTTP/1.1\r\n"
	"Host: 127.0.0.1:%d\r\n"
	"%s"
	"User-Agent: xtop/" PACKAGE_VERSION "\r\n"
	"Accept: */*\r\n"
	"Content-Type: application/octet-stream\r\n"
	"%s"
	"Content-Length: 3000\r\n"
	"\r\n";

/* The first "%d" and the two "%s" above are not the percent signs of the URL. */
static void fill(char *head, size_t capacity, int port, const char *authorization,
		 const char *others)
{
	const char *at = strstr(wanted_head, "127.0.0.1:%d");
	size_t n = (size_t)(at - wanted_head);

	snprintf(head, capacity, "%.*s127.0.0.1:%d\r\n%s%s", (int)n, wanted_head, port,
		 authorization, strstr(wanted_head, "User-Agent"));
	at = strstr(head, "%s");
	n = (size_t)(at - head);
	memmove(head + n + strlen(others), at + 2, strlen(at + 2) + 1);
	memcpy(head + n, others, strlen(others));
}

static void check_request(int port, const char *authorization, const char *others)
{
	char want[2048], *head, *body;
	size_t size = 0, n_wrong = 0;

	fill(want, sizeof(want), port, authorization, others);
	head = http_server_read(places.requests, 1, "head", &size);
	if (!check(head && strcmp(head, want) == 0, "the request's header is right, byte for byte"))
		printf("# %s\n# expected: %s\n", head ? head : "no request", want);
	free(head);
	body = http_server_read(places.requests, 1, "body", &size);
	for (size_t i = 0; i < size; i++)
		n_wrong += body[i] != (char)(i * 7 + 1);
	check(size == 3000 && !n_wrong, "the body has 3000 right bytes: %zu bytes, %zu wrong", size,
	      n_wrong);
	free(body);
}

static void test_request(const char *text, const char *authorization, const char *others)
{
	struct http_server server = { 0 };
	struct push_settings settings;
	struct push_status status;

	forget();
	write_config(text);
	http_server_start(&server, places.requests, "200");
	settings = settings_for(server.port);
	must(push_check(&settings));
	must(push_start(&settings, &push));
	add(1, 3000);
	status = wait_for(1);
	check(status.sent == 1 && status.sent_bytes == 3000 && !status.failing,
	      "delivered: %" PRIu64 ", %s", status.sent, status.message);
	check(status.exposed == (strstr(text, "bearer=") || strstr(text, "user=")),
	      "a password or token over http:// is told");
	check_request(server.port, authorization, others);
	add(2, 10);
	add(3, 1 << 20);
	status = wait_for(3);
	check(status.sent == 3 && http_server_count(places.requests) == 3,
	      "two more profiles of any size are sent");
	push_finish(push);
	push_stop(push);
	http_server_stop(&server);
}

/* --- faults ----------------------------------------------------------------------------------- */

struct fault {
	const char *script;
	uint64_t sent, refused, failures;
	unsigned requests;
	double least_s, most_s;
	const char *message;
};

static const struct fault faults[] = {
	{ "400", 0, 1, 0, 1, 0, 5, "the server answers 400: as told:" },
	{ "404", 0, 1, 0, 1, 0, 5, "the server answers 404" },
	{ "413", 0, 1, 0, 1, 0, 5, "413" },
	{ "422", 0, 1, 0, 1, 0, 5, "422" },
	{ "301", 0, 1, 0, 1, 0, 5, "301" },
	{ "503 200", 1, 0, 1, 2, 0.5, 10, "503" },
	{ "503:3 200", 1, 0, 1, 2, 3, 12, "503" },
	{ "429:2 200", 1, 0, 1, 2, 2, 12, "429" },
	{ "500 500 200", 1, 0, 2, 3, 1.5, 15, "500" },
	{ "hang 200", 1, 0, 1, 2, 1.5, 15, "" },
	{ "half 200", 1, 0, 1, 2, 0.5, 10, "closed the connection" },
	{ "garbage 200", 1, 0, 1, 2, 0.5, 10, "" },
	{ "header 200", 1, 0, 1, 2, 0.5, 10, "" },
	{ "cut", 1, 0, 0, 1, 0, 5, "" },
	{ "huge", 1, 0, 0, 1, 0, 5, "" },
};

static void test_fault(const struct fault *fault)
{
	struct http_server server = { 0 };
	struct push_settings settings;
	struct push_status status;
	uint64_t before_ns;
	double took_s;

	forget();
	write_config("timeout=1\n");
	http_server_start(&server, places.requests, fault->script);
	settings = settings_for(server.port);
	must(push_start(&settings, &push));
	before_ns = clock_now_ns();
	add(1, 3000);
	status = wait_for(1);
	took_s = (double)(clock_now_ns() - before_ns) / 1e9;
	check(status.sent == fault->sent && status.refused == fault->refused &&
		      status.failures == fault->failures && !status.dropped,
	      "%s: %" PRIu64 " delivered, %" PRIu64 " refused, %" PRIu64 " repeated: %s",
	      fault->script, status.sent, status.refused, status.failures, status.message);
	check(http_server_count(places.requests) == fault->requests,
	      "%s: requests that the server got: %u", fault->script,
	      http_server_count(places.requests));
	check(took_s >= fault->least_s && took_s < fault->most_s,
	      "%s: the push ends in time: %.2f s", fault->script, took_s);
	check(strstr(status.message, fault->message), "%s: the message says why", fault->script);
	push_finish(push);
	push_stop(push);
	http_server_stop(&server);
}

/* A profile at which the server always fails does not hold up the others for ever. */
static void test_poison(void)
{
	struct http_server server = { 0 };
	struct push_settings settings;
	struct push_status status;

	forget();
	http_server_start(&server, places.requests, "500 500 500 500 500 200");
	settings = settings_for(server.port);
	must(push_start(&settings, &push));
	add(1, 3000);
	add(2, 3000);
	status = wait_for(2);
	check(status.refused == 1 && status.sent == 1 && status.failures == 4,
	      "500 five times: %" PRIu64 " refused, %" PRIu64 " delivered", status.refused,
	      status.sent);
	push_finish(push);
	push_stop(push);
	http_server_stop(&server);
}

/* --- the spool -------------------------------------------------------------------------------- */

static unsigned count_spool(void)
{
	char path[128];
	struct dirent *entry;
	unsigned n = 0;
	DIR *stream;

	snprintf(path, sizeof(path), "%s/push.%u", places.cache,
		 geteuid() ? (unsigned)geteuid() : 65534U);
	stream = opendir(path);
	while (stream && (entry = readdir(stream)))
		n += entry->d_name[0] != '.';
	if (stream)
		closedir(stream);
	return n;
}

static uint64_t from_of(unsigned request)
{
	size_t size;
	char *head = http_server_read(places.requests, request, "head", &size);
	const char *from = head ? strstr(head, "&from=") : NULL;
	uint64_t ns = from ? strtoull(from + 6, NULL, 10) : 0;

	free(head);
	return ns;
}

/* 40 profiles of 200 kB: the youngest 1 MiB stay in memory, and 3 MiB in the spool. */
static void test_spool(void)
{
	enum { N = 40, BYTES = 200000 };
	struct http_server server = { 0 };
	struct push_settings settings;
	struct push_status status;
	unsigned kept, ordered = 0;
	struct timespec nap = { .tv_nsec = 20000000 };

	forget();
	write_config("timeout=1\nmemory=1\nspool=3\n");
	http_server_start(&server, places.requests, "200");
	http_server_stop(&server); /* its port is free now, and nobody listens */
	settings = settings_for(server.port);
	must(push_start(&settings, &push));
	for (unsigned i = 0; i < N; i++) {
		add(i, BYTES);
		nanosleep(&nap, NULL);
	}
	for (unsigned i = 0; i < 1000; i++) {
		push_get_status(push, &status);
		if (status.waiting + status.dropped == N)
			break;
		nanosleep(&nap, NULL);
	}
	check(status.waiting + status.dropped == N && status.waiting_bytes < (5U << 20) &&
		      status.dropped > 15 && status.failing,
	      "no server: %" PRIu64 " wait in %" PRIu64 " bytes, %" PRIu64 " dropped: %s",
	      status.waiting, status.waiting_bytes, status.dropped, status.message);
	push_finish(push);
	push_stop(push);
	kept = count_spool();
	check(kept >= 13 && kept <= 15, "13 to 15 files are left, 3 MiB at most: %u", kept);

	http_server_start(&server, places.requests, "200");
	must(push_start(&settings, &push));
	add(N, BYTES);
	status = wait_for(kept + 1);
	check(status.sent == kept + 1 && !status.dropped, "the next run delivers all %u of them",
	      kept + 1);
	for (unsigned i = 1; i <= kept + 1; i++)
		ordered += from_of(i) == profile_of(N - kept - 1 + i).from_ns;
	check_u64(ordered, kept + 1, "profiles that come in order, the youngest, none twice");
	check_u64(count_spool(), 0, "files that are left in the spool");
	push_finish(push);
	push_stop(push);
	http_server_stop(&server);
}

/* --- files ------------------------------------------------------------------------------------ */

static void test_files(void)
{
	struct push_settings settings = settings_for(1);
	struct push_status status;
	char path[128], name[256];
	struct stat file;

	write_config("keep=1\n");
	shell("mkdir -m 777 %s/out && touch %s/out/mine && chmod 777 %s/out", folder, folder,
	      folder);
	snprintf(path, sizeof(path), "file://%s/out", folder);
	settings.url = path;
	must(push_check(&settings));
	must(push_start(&settings, &push));
	add(0, 3000);
	status = wait_for(1);
	snprintf(name, sizeof(name), "%s/out/xtop-20231114T221320.000Z-web01___-12345678.pb.gz",
		 folder);
	check(status.sent == 1 && stat(name, &file) == 0 && file.st_size == 3000 &&
		      (file.st_mode & 0777) == 0600,
	      "a file of the guest and the time: %s", name);
	for (unsigned i = 1; i < 10; i++) {
		add(i, 200000);
		wait_for(i + 1);
	}
	status = wait_for(10);
	check(status.sent == 10 && status.removed == 5, "%" PRIu64 " old files are removed",
	      status.removed);
	check(stat(name, &file) < 0 && errno == ENOENT, "the oldest file is removed first");
	snprintf(name, sizeof(name), "%s/out/mine", folder);
	check(stat(name, &file) == 0, "a file that is not a push's is not removed");
	add(9, 100);
	add(9, 101);
	status = wait_for(12);
	snprintf(name, sizeof(name), "%s/out/xtop-20231114T221450.000Z-web01___-12345678-3.pb.gz",
		 folder);
	check(status.sent == 12 && !status.dropped && stat(name, &file) == 0 && file.st_size == 101,
	      "a name that is taken twice: %s", name);
	push_finish(push);
	push_stop(push);
}

/* --- what is refused at the start ------------------------------------------------------------- */

static void check_fails(struct xtop_error *error, const char *words)
{
	check(error && strstr(error_message(error), words), "%s",
	      error ? error_message(error) : "no error");
	error_destroy(error);
}

static void check_url(const char *text, const char *words)
{
	struct push_settings settings = settings_for(1);

	settings.url = text;
	check_fails(push_check(&settings), words);
}

static void check_label(const char *text)
{
	struct push_settings settings = settings_for(1);

	settings.labels = &text;
	settings.n_labels = 1;
	check_fails(push_check(&settings), "--label");
}

static void check_config(const char *text, const char *words)
{
	struct push_settings settings = settings_for(1);

	write_config(text);
	check_fails(push_start(&settings, &push), words);
}

static void test_refused(void)
{
	struct push_settings settings = settings_for(1);

	check_url("ftp://a/b", "not allowed");
	check_url("file://relative", "file:///FOLDER");
	check_url("http://", "not allowed");
	check_url("http://user:secret@host/", "--push-config");
	check_url("http://host/?a=b", "not allowed");
	check_label("novalue");
	check_label("=x");
	check_label("9a=x");
	check_label("__name__=x");
	check_label("a-b=x");
	check_label("a=");
	check_config("color=red\n", "line 1");
	check_config("\n# all well\ntimeout=0\n", "line 3");
	check_config("user=me\n", "NAME:PASSWORD");
	check_config("bearer=a\tb\n", "control character");
	check_config("ca=/nowhere\n", "/nowhere");
	write_config("tenant=1\n");
	chmod(places.config, 0644);
	check_fails(push_start(&settings, &push), "chmod");
	write_config("tenant=1\n");
	settings.url = "file:///nowhere/at/all";
	check_fails(push_start(&settings, &push), "cannot write to '/nowhere/at/all'");
	check(waitpid(-1, NULL, WNOHANG) < 0, "no process is left at the end");
}

int main(void)
{
	if (!mkdtemp(folder) || chmod(folder, 0755))
		exit(99);
	unsetenv("http_proxy");
	unsetenv("SUDO_UID");
	snprintf(places.requests, sizeof(places.requests), "%s/requests", folder);
	snprintf(places.cache, sizeof(places.cache), "%s/cache", folder);
	snprintf(places.config, sizeof(places.config), "%s/config", folder);
	shell("mkdir %s", places.requests);
	test_refused();
	test_request("# nothing\n", "", "");
	test_request("tenant=team-7\nbearer=s3cret.token\n", "",
		     "X-Scope-OrgID: team-7\r\nAuthorization: Bearer s3cret.token\r\n");
	test_request("user=me:a b\n", "Authorization: Basic bWU6YSBi\r\n", "");
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		test_fault(&faults[i]);
	test_poison();
	test_spool();
	test_files();
	shell("rm -rf %s", folder);
	return tap_done();
}
