/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main's side of the process that fetches debug and source files; see fetch.h. A table has all
 * files that were asked for, with the answers. The process gets one request at a time. Each call
 * here reads the answers that have come, and sends the next request. Any thread, under one lock.
 */
#include "config.h"

#include "xtop/supervise/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervise/broker_wire.h"
#include "supervise/fetcher.h"
#include "supervise/helper.h"

#define FETCH_WAIT_MS 1000 /* how long to wait for the process's end; main's end kills it */

struct fetch_file {
	struct build_id id;
	char source[FETCH_PATH_BYTES]; /* path of a source file; "": the debug file */
	enum fetch_state state;
	int fd;
};

struct fetch {
	struct helper process;
	pthread_mutex_t lock;
	unsigned n;      /* files that were asked for */
	unsigned n_sent; /* requests sent, in the order of files; n_sent - n_done is 0 or 1 */
	unsigned n_done; /* answers that have come */
	struct fetch_progress progress;
	struct fetch_file files[FETCH_MAX_FILES];
};

/* --- start and end ---------------------------------------------------------------------------- */

struct xtop_error *fetch_start_with(const struct fetcher_settings *settings, struct fetch **fetchp)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));
	struct xtop_error *error;

	if (!fetch)
		return error_create("out of memory");
	pthread_mutex_init(&fetch->lock, NULL);
	error = helper_start("the process for debuginfod", fetcher_run, (void *)settings,
			     &fetch->process);
	if (error)
		free(fetch);
	else
		*fetchp = fetch;
	return error;
}

struct xtop_error *fetch_start(const char *cache, struct fetch **fetchp)
{
	const struct fetcher_settings settings = { .cache = cache };
	const char *urls = getenv("DEBUGINFOD_URLS");

	if (!urls || !urls[strspn(urls, " ")])
		return error_create("--debuginfod: DEBUGINFOD_URLS names no server "
				    "(sudo removes it from the environment)");
	return fetch_start_with(&settings, fetchp);
}

void fetch_stop(struct fetch *fetch)
{
	if (!fetch)
		return;
	helper_end(&fetch->process, FETCH_WAIT_MS);
	for (unsigned i = 0; i < fetch->n_done; i++)
		if (fetch->files[i].fd >= 0)
			close(fetch->files[i].fd);
	pthread_mutex_destroy(&fetch->lock);
	free(fetch);
}

/* --- under the lock --------------------------------------------------------------------------- */

/* The process is gone: nothing will come any more. */
static void fetch_give_up(struct fetch *fetch)
{
	while (fetch->n_done < fetch->n)
		fetch->files[fetch->n_done++].state = FETCH_NONE;
	fetch->n_sent = fetch->n_done;
}

static void fetch_handle_reply(struct fetch *fetch, const struct fetcher_reply *reply, int fd)
{
	struct fetch_file *file = &fetch->files[fetch->n_done];
	struct stat status;

	if (reply->answer == FETCHER_PROGRESS) {
		fetch->progress.done_bytes = reply->done_bytes;
		fetch->progress.total_bytes = reply->total_bytes;
	}
	if (reply->message[0])
		memcpy(fetch->progress.message, reply->message,
		       sizeof(fetch->progress.message) - 1);
	if (reply->answer == FETCHER_PROGRESS || fetch->n_done == fetch->n_sent) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
		close(fd);
		fd = -1;
	}
	file->fd = fd;
	file->state = fd >= 0 ? FETCH_FOUND : FETCH_NONE;
	fetch->n_done++;
	fetch->progress.done_bytes = fetch->progress.total_bytes = 0;
}

static void fetch_send_next(struct fetch *fetch)
{
	struct fetcher_request request = { 0 };
	const struct fetch_file *file;
	const struct build_id *id;

	if (fetch->n_sent > fetch->n_done || fetch->n_sent == fetch->n)
		return;
	file = &fetch->files[fetch->n_sent];
	id = &file->id;
	request.size_bytes = (uint32_t)id->size_bytes;
	memcpy(request.build_id, id->bytes, id->size_bytes);
	memcpy(request.source, file->source, sizeof(request.source));
	if (wire_send(fetch->process.socket, &request, sizeof(request), NULL, 0))
		fetch->n_sent++;
	else
		fetch_give_up(fetch);
}

static void fetch_poll(struct fetch *fetch)
{
	struct pollfd ready = { .fd = fetch->process.socket, .events = POLLIN };

	while (poll(&ready, 1, 0) > 0) {
		struct fetcher_reply reply;
		int fds[BROKER_MAX_FDS];
		size_t n_fds = 0;

		if (!wire_receive(fetch->process.socket, &reply, sizeof(reply), fds, &n_fds)) {
			fetch_give_up(fetch);
			return;
		}
		while (n_fds > 1)
			close(fds[--n_fds]);
		fetch_handle_reply(fetch, &reply, n_fds ? fds[0] : -1);
	}
	fetch_send_next(fetch);
}

static struct fetch_file *fetch_find_file(struct fetch *fetch, const struct build_id *id,
					  const char *source)
{
	for (unsigned i = 0; i < fetch->n; i++)
		if (build_id_equal(&fetch->files[i].id, id) &&
		    strcmp(fetch->files[i].source, source) == 0)
			return &fetch->files[i];
	return NULL;
}

static struct fetch_file *fetch_add(struct fetch *fetch, const struct build_id *id,
				    const char *source)
{
	struct fetch_file *file = &fetch->files[fetch->n];

	if (fetch->n == FETCH_MAX_FILES || !id->size_bytes)
		return NULL;
	*file = (struct fetch_file){ .id = *id, .state = FETCH_WAITING, .fd = -1 };
	snprintf(file->source, sizeof(file->source), "%s", source);
	fetch->n++;
	return file;
}

/* --- requests of all threads ------------------------------------------------------------------ */

static enum fetch_state fetch_answer(struct fetch *fetch, const struct build_id *id,
				     const char *source, bool ask, int *fdp)
{
	enum fetch_state state = FETCH_OFF;
	struct fetch_file *file;

	if (!fetch)
		return FETCH_OFF;
	pthread_mutex_lock(&fetch->lock);
	file = fetch_find_file(fetch, id, source);
	if (!file && ask)
		file = fetch_add(fetch, id, source);
	fetch_poll(fetch);
	if (file)
		state = file->state;
	if (state == FETCH_FOUND) {
		*fdp = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
		state = *fdp >= 0 ? state : FETCH_NONE;
	}
	pthread_mutex_unlock(&fetch->lock);
	return state;
}

enum fetch_state fetch_ask(struct fetch *fetch, const struct build_id *id, int *fdp)
{
	return fetch_answer(fetch, id, "", true, fdp);
}

enum fetch_state fetch_ask_source(struct fetch *fetch, const struct build_id *id, const char *path,
				  int *fdp)
{
	if (path[0] != '/' || strlen(path) >= FETCH_PATH_BYTES)
		return FETCH_OFF;
	return fetch_answer(fetch, id, path, true, fdp);
}

enum fetch_state fetch_find(struct fetch *fetch, const struct build_id *id, int *fdp)
{
	return fetch_answer(fetch, id, "", false, fdp);
}

void fetch_get_progress(struct fetch *fetch, struct fetch_progress *progress)
{
	*progress = (struct fetch_progress){ 0 };
	if (!fetch)
		return;
	pthread_mutex_lock(&fetch->lock);
	*progress = fetch->progress;
	for (unsigned i = 0; i < fetch->n; i++) {
		progress->n_waiting += fetch->files[i].state == FETCH_WAITING;
		progress->n_found += fetch->files[i].state == FETCH_FOUND;
		progress->n_none += fetch->files[i].state == FETCH_NONE;
	}
	pthread_mutex_unlock(&fetch->lock);
}
