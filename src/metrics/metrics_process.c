/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The body of the process that serves metrics (sender.h): takes texts from main, keeps the newest
 * text, and shows it. Neither side is trusted. A main that a guest has taken over can show any
 * text, but do nothing else. A stranger's request gets that text, and nothing else.
 */
#include "config.h"

#include "metrics/metrics_process.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "xtop/base/clock.h"
#include "xtop/base/usage.h"
#include "xtop/supervise/sender.h"

#define PROCESS_TURN_MS 200

/*
 * The socket is opened with root's rights, for a port below 1024. The library is loaded here,
 * because no code is mapped behind the walls.
 */
struct xtop_error *metrics_process_open(void *context)
{
	struct metrics_process *process = context;
	struct xtop_error *error;

	if (process->target.is_file)
		return NULL;
	error = metrics_server_listen(&process->target, &process->listener, &process->status.port);
	return error ? error : metrics_server_create(process, &process->server);
}

/* Copies the file, because main may change it meanwhile. */
static bool metrics_process_read(struct metrics_process *process, int fd)
{
	size_t size_bytes = sender_file_bytes(fd, METRICS_MAX_BYTES);
	char *bytes;

	if (!size_bytes)
		return false;
	bytes = malloc(size_bytes);
	if (!bytes || pread(fd, bytes, size_bytes, 0) != (ssize_t)size_bytes) {
		free(bytes);
		return false;
	}
	free(process->text.bytes);
	process->text = (struct metrics_text){ bytes, size_bytes, clock_now_ns() };
	return true;
}

static bool metrics_process_handle(void *context, const void *packet, int fd)
{
	struct metrics_process *process = context;

	(void)packet; /* the file tells its size */
	process->has_news |= fd >= 0 && metrics_process_read(process, fd);
	return true;
}

/* Takes all texts that main has sent. False: main has ended. */
static bool metrics_process_take(struct metrics_process *process, int socket)
{
	uint32_t size_bytes;

	return sender_take_all(socket,
			       &(struct sender_packets){ &size_bytes, sizeof(size_bytes),
							 metrics_process_handle, process },
			       UINT_MAX);
}

static void metrics_process_report(struct metrics_process *process, int socket)
{
	usage_read(&process->status.cpu_ns, &process->status.resident_bytes);
	sender_send(socket, &process->status, sizeof(process->status));
}

static void metrics_process_serve(struct metrics_process *process, int socket)
{
	process->has_news = true; /* so that the port is told at once */
	while (metrics_process_take(process, socket)) {
		if (process->has_news)
			metrics_process_report(process, socket);
		process->has_news = false;
		metrics_server_turn(process->server, PROCESS_TURN_MS);
	}
}

static void metrics_process_write(struct metrics_process *process, int socket, int folder)
{
	struct pollfd poller = { .fd = socket, .events = POLLIN };

	while (metrics_process_take(process, socket)) {
		if (process->has_news) {
			metrics_file_write(process, folder);
			metrics_process_report(process, socket);
		}
		process->has_news = false;
		poll(&poller, 1, -1);
	}
	/* The file's text is not true any more. */
	metrics_file_remove(process, folder);
}

void metrics_process_run(void *context, int socket, int folder)
{
	struct metrics_process *process = context;

	if (process->target.is_file)
		metrics_process_write(process, socket, folder);
	else
		metrics_process_serve(process, socket);
	metrics_server_destroy(process->server);
	free(process->text.bytes);
}
