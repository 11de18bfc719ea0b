/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The body of the sender's process (sender.h): takes profiles from main, gives them to the
 * target, and tells main what has become of them. Main is not trusted: it may have been taken over
 * by a guest. It can send profiles of any content, and nothing else.
 */
#include "config.h"

#include "push/sender_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/clock.h"
#include "xtop/base/usage.h"
#include "xtop/supervise/sender.h"

#define PROCESS_TURN_MS   500
#define PROCESS_AT_ONCE   64            /* packets that one turn takes */
#define PROCESS_FINISH_NS 5000000000ULL /* time to send waiting profiles after main's end */

static const struct target_ops *process_ops(const struct sender_process *process)
{
	switch (process->target.kind) {
	case TARGET_FILES:
		return &files_ops;
	case TARGET_PYROSCOPE:
	case TARGET_OTLP:
		return &stores_ops;
	}
	return NULL;
}

struct xtop_error *process_open(void *context)
{
	struct sender_process *process = context;
	struct xtop_error *error = NULL;

	config_init(&process->config);
	if (process->settings->config)
		error = config_read(process->settings->config, &process->config);
	process->status.exposed = strncmp(process->target.base, "http://", 7) == 0 &&
				  (process->config.user[0] || process->config.bearer[0]);
	return error ? error : process_ops(process)->prepare(process, &process->state);
}

/* --- profiles --------------------------------------------------------------------------------- */

/*
 * Copies the file FD first, because main may change it meanwhile. NULL: no profile, or no memory.
 */
static struct entry *process_read(const struct push_profile *profile, int fd)
{
	size_t size_bytes = sender_file_bytes(fd, PUSH_MAX_PROFILE_BYTES);
	struct entry *entry;

	if (!size_bytes)
		return NULL;
	entry = malloc(sizeof(*entry) + size_bytes);
	if (!entry)
		return NULL;
	entry->profile = *profile;
	entry->size_bytes = size_bytes;
	entry_terminate(entry);
	if (pread(fd, entry->bytes, entry->size_bytes, 0) == (ssize_t)entry->size_bytes)
		return entry;
	free(entry);
	return NULL;
}

static bool process_handle(void *context, const void *packet, int fd)
{
	const struct push_profile *profile = packet;
	struct sender_process *process = context;
	struct entry *entry;

	if (profile->last)
		return false;
	entry = fd < 0 ? NULL : process_read(profile, fd);
	if (entry)
		process_ops(process)->add(process->state, entry);
	else
		process->unread++;
	return true;
}

/* Takes packets from main. False: main has ended. */
static bool process_take(struct sender_process *process, int socket)
{
	struct push_profile profile;

	return sender_take_all(
		socket,
		&(struct sender_packets){ &profile, sizeof(profile), process_handle, process },
		PROCESS_AT_ONCE);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void process_report(const struct sender_process *process, int socket,
			   struct push_status *told)
{
	struct push_status status = process->status;

	status.dropped += process->unread;
	status.cpu_ns = told->cpu_ns;
	status.resident_bytes = told->resident_bytes;
	if (memcmp(told, &status, sizeof(*told)) == 0)
		return;
	usage_read(&status.cpu_ns, &status.resident_bytes);
	if (sender_send(socket, &status, sizeof(status)))
		*told = status;
}

void process_run(void *context, int socket, int folder)
{
	struct sender_process *process = context;
	const struct target_ops *ops = process_ops(process);
	struct xtop_error *error = ops->open(process->state, folder);
	struct push_status told = { 0 };
	uint64_t end_ns;

	if (error) {
		process->status.failing = true;
		snprintf(process->status.message, sizeof(process->status.message), "%s",
			 error_message(error));
		error_destroy(error);
	}
	while (process_take(process, socket)) {
		process_report(process, socket, &told);
		ops->turn(process->state, socket, PROCESS_TURN_MS);
	}
	end_ns = clock_now_ns() + PROCESS_FINISH_NS;
	while (clock_now_ns() < end_ns && ops->has_work(process->state, end_ns)) {
		ops->turn(process->state, -1, PROCESS_TURN_MS);
		process_report(process, socket, &told);
	}
	ops->close(process->state);
	process_report(process, socket, &told);
	config_deinit(&process->config);
}
