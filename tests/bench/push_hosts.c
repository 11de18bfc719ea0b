/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a store of many hosts gets, and what it costs each host. HOSTS hosts of GUESTS made-up
 * guests push profiles of 10 s to a server on the loopback interface, which counts and keeps
 * nothing. A host is a process that encodes as --push does, and a real sender. All guests of a
 * host end their interval at one moment, which is the worst case; hosts do not. Prints a column of
 * the table in doc/MEASUREMENTS; compares nothing.
 *
 *	make bench, or: tests/bench/push_hosts [HOSTS GUESTS SECONDS [SCHEME [FILE]]]
 *
 * SCHEME "otlp+": OTLP profiles. A guest has two vCPUs that are busy half of the time, at 19 Hz.
 * FILE: each profile is that of this file, folded or pprof (tests/lab/push-web02-long.test leaves
 * some).
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/must.h"
#include "xtop/base/clock.h"
#include "xtop/export/export.h"
#include "xtop/import/import.h"
#include "xtop/profile/profile.h"
#include "xtop/push/push.h"

#define MAX_HOSTS   1000
#define INTERVAL_S  10
#define END_S       60  /* time for what waits at the end */
#define SAMPLES     190 /* samples of an interval: 19 Hz * 10 s * 2 vCPUs / 2 */
#define N_FUNCTIONS 1500
#define MS          1000000ULL
#define S           1000000000ULL

static struct shared {
	atomic_ulong requests, bytes; /* what the server has received */
	struct host {
		uint64_t main_ns, sender_ns;
		uint64_t profiles, profile_bytes, sent, lost, anon_kb;
	} hosts[MAX_HOSTS];
} *shared;

static unsigned n_guests, seconds;
static const char *profile_path; /* NULL: profiles are made up */
static struct gzip *gzip;        /* the compressor of a host's process */
static char url[64], config[] = "/tmp/xtop-push-hosts-XXXXXX";

static struct push *push;

static uint64_t random_next(uint64_t *state) /* xorshift64 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * S + (uint64_t)now.tv_nsec;
}

/* --- the server ------------------------------------------------------------------------------- */

struct connection {
	char head[8192];
	size_t n;      /* number of bytes of HEAD */
	uint64_t left; /* bytes of the body that are left; 0: a head comes */
};

/* Takes what has come. False: the connection is closed. */
static bool serve_turn(struct connection *connection, int fd)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	static char body[65536];
	char *end, *length;
	ssize_t n;

	if (connection->left) {
		n = read(fd, body,
			 connection->left < sizeof(body) ? connection->left : sizeof(body));
		connection->left -= n > 0 ? (uint64_t)n : 0;
	} else {
		n = read(fd, connection->head + connection->n,
			 sizeof(connection->head) - 1 - connection->n);
		connection->n += n > 0 ? (size_t)n : 0;
		connection->head[connection->n] = '\0';
		end = strstr(connection->head, "\r\n\r\n");
		length = strcasestr(connection->head, "\r\nContent-Length: ");
		if (end && length) {
			connection->left = strtoull(length + 18, NULL, 10) -
					   (connection->n - (size_t)(end + 4 - connection->head));
			connection->n = 0;
		}
		if (!end)
			return n > 0;
	}
	if (n > 0)
		shared->bytes += (unsigned long)n;
	if (n > 0 && !connection->left) {
		shared->requests++;
		return write(fd, answer, sizeof(answer) - 1) == sizeof(answer) - 1;
	}
	return n > 0;
}

static void serve(int listener)
{
	static struct pollfd fds[MAX_HOSTS + 1];
	static struct connection connections[MAX_HOSTS + 1];
	nfds_t n = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_IGN);
	fds[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
	for (;;) {
		if (poll(fds, n, -1) < 0)
			_exit(1);
		for (nfds_t i = 1; i < n; i++)
			if (fds[i].revents && !serve_turn(&connections[i], fds[i].fd)) {
				close(fds[i].fd);
				fds[i].fd = -1;
			}
		if (fds[0].revents && n <= MAX_HOSTS) {
			memset(&connections[n], 0, sizeof(connections[n]));
			fds[n++] = (struct pollfd){ .fd = accept(listener, NULL, NULL),
						    .events = POLLIN };
		}
	}
}

static int start_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(address);

	if (bind(fd, (struct sockaddr *)&address, size) || listen(fd, 1024) ||
	    getsockname(fd, (struct sockaddr *)&address, &size))
		exit(99);
	if (fork() == 0)
		serve(fd);
	close(fd);
	return ntohs(address.sin_port);
}

/* --- a guest ---------------------------------------------------------------------------------- */

static void make_name(uint64_t number, char name[64])
{
	static const char *const words[] = { "tcp",  "page", "inode", "queue", "sched", "read",
					     "lock", "send", "map",   "timer", "node",  "alloc",
					     "free", "sync", "copy",  "entry" };
	uint64_t state = (number + 1) * 0x9e3779b97f4a7c15ULL;

	snprintf(name, 64, "%s_%s_%s%u", words[random_next(&state) % 16],
		 words[random_next(&state) % 16], words[random_next(&state) % 16],
		 (unsigned)number % 100);
}

static struct frames *make_frames(uint32_t functions[N_FUNCTIONS])
{
	struct frames *frames;
	char name[64];

	must_or_die(frames_create(NULL, &frames));
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		make_name(i, name);
		functions[i] = frames_intern(frames, FRAME_KIND_KERNEL, name, "[kernel]",
					     0xffffffff81000000 + 192 * i);
	}
	return frames;
}

/* Each stack is one of some hundred paths; paths part one after the other. */
static struct snapshot *make_snapshot(const struct frames *frames, const uint32_t *functions,
				      uint64_t *state)
{
	struct profile *profile;
	struct snapshot *snapshot;

	must_or_die(profile_create(65536, 10 * S, frames, &profile));
	for (unsigned i = 0; i < SAMPLES; i++) {
		uint32_t stack[32];
		size_t n = 10 + random_next(state) % 20;
		uint64_t at = 1;

		for (size_t k = 0; k < n; k++) {
			at = at * 31 + random_next(state) % 8 / 6;
			stack[k] = functions[at % N_FUNCTIONS];
		}
		profile_add(profile, stack, n, 1 + i * (INTERVAL_S * S / SAMPLES), 1, 1);
	}
	must_or_die(profile_copy(profile, INTERVAL_S * S, &snapshot));
	profile_destroy(profile);
	return snapshot;
}

/* NULL: there is no file. */
static struct import *read_profile(struct frames *frames)
{
	char head[16]; /* tells whether the file is compressed */
	struct import *import;
	FILE *file;

	if (!profile_path)
		return NULL;
	file = fopen(profile_path, "re");
	if (!file)
		must_or_die(error_create_errno(errno, "%s", profile_path));
	must_or_die(import_read(file, head, fread(head, 1, sizeof(head), file),
				&(struct import_settings){ .frames = frames }, &import));
	fclose(file);
	return import;
}

static struct snapshot *read_snapshot(const struct import *import)
{
	struct snapshot *snapshot;

	must_or_die(import_snapshot(import, &snapshot));
	return snapshot;
}

static void push_guest(struct host *host, const struct snapshot *snapshot, unsigned h, unsigned g,
		       uint64_t until_ns)
{
	struct push_profile profile = { .from_ns = until_ns - INTERVAL_S * S, .until_ns = until_ns,
					.os = "Linux", .kernel = "6.1.0-37-amd64" };
	struct export_settings settings = { .domain = profile.domain, .type = "PVH",
					    .wall_ns = profile.from_ns, .brief = true,
					    .gzip = gzip, .clock = CLOCK_UTC };
	size_t size_bytes;
	char *bytes;
	FILE *file = open_memstream(&bytes, &size_bytes);

	snprintf(profile.domain, sizeof(profile.domain), "guest-%u-%u", h, g);
	snprintf(profile.uuid, sizeof(profile.uuid), "5f3a9c1e-0000-4000-8000-%04u%08u", h, g);
	must_or_die(export_pprof(snapshot, &settings, file));
	fclose(file);
	push_add(push, &profile, bytes, size_bytes);
	free(bytes);
	host->profiles++;
	host->profile_bytes += size_bytes;
}

/* --- a host ----------------------------------------------------------------------------------- */

static pid_t find_sender(void)
{
	char path[64];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "r");
	if (!file || fscanf(file, "%d", &pid) != 1)
		exit(99);
	fclose(file);
	return pid;
}

static uint64_t process_cpu_ns(pid_t pid)
{
	char path[64];
	uint64_t ns = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%" SCNu64, &ns) != 1)
		exit(99);
	fclose(file);
	return ns;
}

static uint64_t process_anon_kb(pid_t pid)
{
	char path[64], line[128];
	uint64_t kb = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "RssAnon: %" SCNu64, &kb);
	fclose(file);
	return kb;
}

/* Until NS, or until N profiles are done with; reads what the sender tells, as publisher.c does. */
static void wait_until(uint64_t ns, uint64_t n, struct push_status *status)
{
	const struct timespec nap = { .tv_nsec = 50 * (long)MS };

	push_get_status(push, status);
	while (clock_now_ns() < ns && status->sent + status->dropped + status->refused < n) {
		nanosleep(&nap, NULL);
		push_get_status(push, status);
	}
}

static void run_host(unsigned h)
{
	const char *const label = "env=bench";
	struct push_settings settings = { .url = url, .config = config, .labels = &label,
					  .n_labels = 1, .host = "dom0", .xen = "4.17.7",
					  .hz = 19 };
	uint64_t state = (h + 1) * 0x9e3779b97f4a7c15ULL, begin_ns, sender_ns, due_ns;
	struct host *host = &shared->hosts[h];
	uint32_t functions[N_FUNCTIONS];
	struct push_status status;
	struct frames *frames;
	struct import *import;
	pid_t sender;

	must_or_die(push_start(&settings, &push));
	gzip = gzip_create(true);
	sender = find_sender();
	frames = make_frames(functions);
	import = read_profile(frames);
	wait_until(clock_now_ns() + 2 * S, UINT64_MAX, &status);
	begin_ns = clock_now_ns();
	sender_ns = process_cpu_ns(sender);
	due_ns = begin_ns + random_next(&state) % (INTERVAL_S * S);
	for (unsigned i = 0; i < seconds / INTERVAL_S; i++, due_ns += INTERVAL_S * S) {
		wait_until(due_ns, UINT64_MAX, &status);
		for (unsigned g = 0; g < n_guests; g++) {
			struct snapshot *snapshot =
				import ? read_snapshot(import)
				       : make_snapshot(frames, functions, &state);
			uint64_t before_ns = cpu_ns();

			push_guest(host, snapshot, h, g, 1700000000 * S + due_ns - begin_ns);
			host->main_ns += cpu_ns() - before_ns;
			snapshot_destroy(snapshot);
		}
	}
	wait_until(clock_now_ns() + END_S * S, host->profiles, &status);
	host->sender_ns = process_cpu_ns(sender) - sender_ns;
	host->anon_kb = process_anon_kb(sender);
	host->sent = status.sent;
	host->lost = status.dropped + status.refused;
	push_finish(push);
	push_stop(push);
	_exit(0);
}

/* --- all hosts -------------------------------------------------------------------------------- */

static void print(const char *scheme, unsigned n_hosts)
{
	struct host sum = { 0 };
	uint64_t most_kb = 0;

	for (unsigned h = 0; h < n_hosts; h++) {
		const struct host *host = &shared->hosts[h];

		sum.profiles += host->profiles;
		sum.profile_bytes += host->profile_bytes;
		sum.sent += host->sent;
		sum.lost += host->lost;
		sum.main_ns += host->main_ns;
		sum.sender_ns += host->sender_ns;
		most_kb = host->anon_kb > most_kb ? host->anon_kb : most_kb;
	}
	printf("%s%u hosts of %u guests, %u s: %" PRIu64 " profiles of %.1f kB in pprof, %" PRIu64
	       " delivered, %" PRIu64 " lost, %lu requests\n",
	       scheme, n_hosts, n_guests, seconds, sum.profiles,
	       (double)sum.profile_bytes / 1e3 / (double)sum.profiles, sum.sent, sum.lost,
	       (unsigned long)shared->requests);
	printf("  a host: %.2f requests/s, %.1f kB/s; CPU: encoding %.2f %%, sender %.2f %%; "
	       "sender's memory %.1f MiB at most\n",
	       (double)shared->requests / n_hosts / seconds,
	       (double)shared->bytes / 1e3 / n_hosts / seconds,
	       (double)sum.main_ns / 1e7 / n_hosts / seconds,
	       (double)sum.sender_ns / 1e7 / n_hosts / seconds, (double)most_kb / 1024);
	printf("  a profile: encoding %.2f ms, sender %.2f ms, %.2f kB in its request\n",
	       (double)sum.main_ns / 1e6 / (double)sum.profiles,
	       (double)sum.sender_ns / 1e6 / (double)sum.profiles,
	       (double)shared->bytes / 1e3 / (double)shared->requests);
	printf("  the store: %.0f requests/s, %.2f MB/s\n", (double)shared->requests / seconds,
	       (double)shared->bytes / 1e6 / seconds);
}

int main(int argc, char **argv)
{
	unsigned n_hosts = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	const char *scheme = argc > 4 ? argv[4] : "";
	int fd = mkstemp(config);

	n_guests = argc > 2 ? (unsigned)atoi(argv[2]) : 30;
	seconds = argc > 3 ? (unsigned)atoi(argv[3]) : 40;
	profile_path = argc > 5 ? argv[5] : NULL;
	if (!n_hosts || n_hosts > MAX_HOSTS || fd < 0 || dprintf(fd, "spool=0\n") < 0)
		return 2;
	close(fd);
	unsetenv("http_proxy");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	snprintf(url, sizeof(url), "%shttp://127.0.0.1:%d", scheme, start_server());
	for (unsigned h = 0; h < n_hosts; h++)
		if (fork() == 0)
			run_host(h);
	for (unsigned h = 0; h < n_hosts; h++)
		wait(NULL);
	print(scheme, n_hosts);
	unlink(config);
	return 0;
}
