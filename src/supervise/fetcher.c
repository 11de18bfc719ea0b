/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that fetches debug files and source files; see fetcher.h. It is forked from main
 * before main opens anything, and gives up its rights at once. We start no thread in it.
 *
 * libdebuginfod (elfutils) talks to the servers. Only this process loads the library, because the
 * library brings libcurl, TLS and some twenty other libraries. These must not run with root's
 * rights or beside a guest's memory. We declare the library's prototypes here, so that building
 * xtop does not need it. They are part of its stable interface (elfutils debuginfod/debuginfod.h,
 * ELFUTILS_0.178). The library reads the DEBUGINFOD_* variables of the environment. It keeps a
 * cache, in which it also notes files that no server had, as debuginfod-client-config(7) describes.
 */
#include "config.h"

#include "supervise/fetcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervise/broker_wire.h"
#include "supervise/helper.h"
#include "supervise/helper_sandbox.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/library.h"

#define FETCHER_LIBRARY "libdebuginfod.so.1"
/* Limits if the user's environment sets none: bytes, seconds. */
#define FETCHER_MAXSIZE "1073741824"
#define FETCHER_MAXTIME "300"

struct debuginfod_client;

static struct {
	int socket;
	uint64_t started_ns;
	uint64_t progress_ns;
	struct debuginfod_client *client;
	int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int length,
		    char **path);
	int (*find_source)(struct debuginfod_client *client, const unsigned char *build_id,
			   int length, const char *source, char **path);
	int cache_fd; /* xtop's own cache; -1: the library's cache is used */
} fetcher = { .cache_fd = -1 };

/* --- what main hears -------------------------------------------------------------------------- */

static bool fetcher_send(const struct fetcher_reply *reply, int fd)
{
	return wire_send(fetcher.socket, reply, sizeof(*reply), &fd, fd >= 0 ? 1 : 0);
}

bool fetcher_send_progress(uint64_t done_bytes, uint64_t total_bytes)
{
	struct fetcher_reply reply = { .answer = FETCHER_PROGRESS,
				       .done_bytes = done_bytes,
				       .total_bytes = total_bytes };
	struct pollfd hung_up = { .fd = fetcher.socket };
	uint64_t now_ns = clock_now_ns();

	if (poll(&hung_up, 1, 0) > 0 || now_ns - fetcher.started_ns > FETCHER_MAX_S * 1000000000ULL)
		return false;
	if (now_ns - fetcher.progress_ns < 200000000)
		return true;
	fetcher.progress_ns = now_ns;
	return fetcher_send(&reply, -1);
}

/* --- libdebuginfod ---------------------------------------------------------------------------- */

static int fetcher_progress(struct debuginfod_client *client, long done, long total)
{
	(void)client;
	return !fetcher_send_progress(done > 0 ? (uint64_t)done : 0,
				      total > 0 ? (uint64_t)total : 0);
}

static bool fetcher_load(void)
{
	struct debuginfod_client *(*begin)(void);
	void (*set_progress)(struct debuginfod_client *client,
			     int (*progress)(struct debuginfod_client *client, long a, long b));
	const struct library_function functions[] = {
		{ "debuginfod_begin", &begin },
		{ "debuginfod_set_progressfn", &set_progress },
		{ "debuginfod_find_debuginfo", &fetcher.find },
		{ "debuginfod_find_source", &fetcher.find_source },
	};

	if (!library_load(FETCHER_LIBRARY, functions, sizeof(functions) / sizeof(functions[0])))
		return false;
	fetcher.client = begin();
	if (fetcher.client)
		set_progress(fetcher.client, fetcher_progress);
	return fetcher.client;
}

/* Finds a file by the library. -ENOENT: no server has the file. */
static int fetcher_find(const uint8_t *build_id, size_t size_bytes, const char *source,
			char message[96])
{
	_cleanup_free_ char *path = NULL;
	int fd = *source ? fetcher.find_source(fetcher.client, build_id, (int)size_bytes, source,
					       &path)
			 : fetcher.find(fetcher.client, build_id, (int)size_bytes, &path);

	if (fd < 0 && fd != -ENOENT)
		snprintf(message, 96, "%s", strerror(-fd));
	return fd;
}

/* --- the cache -------------------------------------------------------------------------------- */

/*
 * A count of the cached files. The library names them FOLDER/BUILD-ID/debuginfo and
 * FOLDER/BUILD-ID/source#usr#src#a.c.
 */
struct fetcher_cached {
	char oldest[2 * NAME_MAX + 2]; /* BUILD-ID/FILE of the file used longest ago */
	time_t used_s;                 /* time when the oldest file was used last */
	uint64_t bytes;                /* size of all files */
};

static void fetcher_count_file(int folder, const char *path, struct fetcher_cached *cached)
{
	struct stat status;

	if (fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
		return;
	cached->bytes += (uint64_t)status.st_size;
	if (!status.st_size || (cached->oldest[0] && status.st_atime >= cached->used_s))
		return;
	cached->used_s = status.st_atime;
	snprintf(cached->oldest, sizeof(cached->oldest), "%s", path);
}

static void fetcher_count_cached(int folder, const char *name, struct fetcher_cached *cached)
{
	int fd = name[0] == '.' ? -1
				: openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
							       O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	char path[sizeof(cached->oldest)];
	struct dirent *entry;

	if (!stream && fd >= 0)
		close(fd);
	while (stream && (entry = readdir(stream))) {
		snprintf(path, sizeof(path), "%s/%s", name, entry->d_name);
		fetcher_count_file(folder, path, cached);
	}
	if (stream)
		closedir(stream);
}

/*
 * Removes the files used longest ago, until the cache is small enough. The library limits only the
 * age of files.
 */
static void fetcher_make_room(int folder)
{
	for (;;) {
		int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *stream = copy < 0 ? NULL : fdopendir(copy);
		struct fetcher_cached cached = { .bytes = 0 };
		struct dirent *entry;

		if (!stream)
			return;
		while ((entry = readdir(stream)))
			fetcher_count_cached(folder, entry->d_name, &cached);
		closedir(stream);
		if (cached.bytes <= FETCHER_CACHE_MAX_BYTES || !cached.oldest[0] ||
		    unlinkat(folder, cached.oldest, 0) < 0)
			return;
	}
}

/* Opens the cache below CACHE. -1: none; the library then uses a folder of its own below HOME. */
static int fetcher_open_cache(const char *cache)
{
	char path[PATH_MAX];
	int fd;

	if (!cache || getenv("DEBUGINFOD_CACHE_PATH"))
		return -1;
	fd = helper_open_cache(cache, "debuginfod");
	if (fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	return fd;
}

/* Opens the folder to which the process may still write in its sandbox. -1: none. */
static int fetcher_open_writable(int cache_fd)
{
	const char *named = getenv("DEBUGINFOD_CACHE_PATH");

	if (cache_fd >= 0 || !named)
		return cache_fd;
	(void)!mkdir(named, 0700);
	return open(named, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* --- the process ------------------------------------------------------------------------------ */

static void fetcher_set_up(int socket)
{
	helper_detach(socket);
	setenv("DEBUGINFOD_MAXSIZE", FETCHER_MAXSIZE, 0);
	setenv("DEBUGINFOD_MAXTIME", FETCHER_MAXTIME, 0);
	unsetenv("DEBUGINFOD_PROGRESS"); /* the screen shows the progress */
	unsetenv("DEBUGINFOD_VERBOSE");
}

static void fetcher_answer(const struct fetcher_settings *settings,
			   const struct fetcher_request *request)
{
	struct fetcher_reply reply = { .answer = FETCHER_NONE };
	fetcher_find_fn *find = settings->find ? settings->find : fetcher_find;
	int fd = -1;

	fetcher.started_ns = clock_now_ns();
	fetcher.progress_ns = 0;
	if (fetcher.cache_fd >= 0)
		fetcher_make_room(fetcher.cache_fd);
	if (request->size_bytes && request->size_bytes <= sizeof(request->build_id))
		fd = find(request->build_id, request->size_bytes, request->source, reply.message);
	if (fd >= 0)
		reply.answer = FETCHER_FOUND;
	fetcher_send(&reply, fd);
	if (fd >= 0)
		close(fd);
}

/* Sends MESSAGE to main. The process ends then, and main gives up all requests. */
static void fetcher_fail(const char *message)
{
	struct fetcher_reply reply = { .answer = FETCHER_NONE };

	snprintf(reply.message, sizeof(reply.message), "%s", message);
	fetcher_send(&reply, -1);
}

void fetcher_run(void *context, int socket)
{
	const struct fetcher_settings *settings = context;
	struct fetcher_request request;
	struct xtop_error *error;
	int fds[BROKER_MAX_FDS];
	size_t n_fds;

	fetcher.socket = socket;
	fetcher_set_up(socket);
	fetcher.cache_fd = fetcher_open_cache(settings->cache);
	if (!settings->find && !fetcher_load()) {
		fetcher_fail(FETCHER_LIBRARY " is missing (Debian: libdebuginfod1)");
		return;
	}
	error = helper_sandbox_enter(fetcher_open_writable(fetcher.cache_fd), true);
	if (error) {
		fetcher_fail(error_message(error));
		return;
	}
	while (wire_receive(socket, &request, sizeof(request), fds, &n_fds)) {
		while (n_fds > 0)
			close(fds[--n_fds]);
		request.source[sizeof(request.source) - 1] = '\0';
		fetcher_answer(settings, &request);
	}
}
