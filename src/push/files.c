/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file:///DIR: a file for each profile, named by its time in UTC, so that names sort by age:
 *
 *   xtop-20261123T171500.250Z-web01-5f3a9c1e.pb.gz       domain, first part of the UUID
 *   xtop-20261123T171500.250Z-web01-5f3a9c1e-waits.pb.gz profile of tasks that wait
 *   xtop-20261123T171500.250Z-web01-5f3a9c1e-2.pb.gz     the first name was taken
 *
 * The sender's process.
 */
#include "config.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "push/folder.h"
#include "push/sender_process.h"

#define FILES_PREFIX "xtop-"
#define FILES_ENDING ".pb.gz"
#define FILES_DOMAIN 64 /* longest domain name in a file's name */
#define FILES_NAMES  99 /* most files for one guest and millisecond */

struct files {
	struct sender_process *process;
	struct folder *folder; /* NULL if the folder could not be read */
};

static struct xtop_error *files_prepare(struct sender_process *process, void **statep)
{
	struct files *files = calloc(1, sizeof(*files));

	if (!files)
		return error_create("out of memory");
	files->process = process;
	*statep = files;
	return NULL;
}

static struct xtop_error *files_open(void *state, int folder)
{
	struct files *files = state;

	return folder_open(folder, FILES_PREFIX, FILES_ENDING, files->process->config.keep_bytes,
			   &files->folder);
}

/* Replaces characters with which shells and other programs might have trouble. */
static void files_put_name(char *to, const char *from, size_t max_bytes)
{
	static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._";
	size_t n = strnlen(from, max_bytes);

	for (size_t i = 0; i < n; i++)
		to[i] = strchr(kept, from[i]) ? from[i] : '_';
	to[n] = '\0';
}

/* Writes the NUMBER-th name for PROFILE; numbers begin at 1. */
static void files_name(const struct push_profile *profile, unsigned number,
		       char name[FOLDER_NAME_BYTES])
{
	const time_t seconds = (time_t)(profile->from_ns / 1000000000);
	char domain[FILES_DOMAIN + 1], uuid[9], day[32], again[16] = "";
	struct tm tm;

	files_put_name(domain, profile->domain, FILES_DOMAIN);
	files_put_name(uuid, profile->uuid, sizeof(uuid) - 1);
	gmtime_r(&seconds, &tm);
	strftime(day, sizeof(day), "%Y%m%dT%H%M%S", &tm);
	if (number > 1)
		snprintf(again, sizeof(again), "-%u", number);
	snprintf(name, FOLDER_NAME_BYTES, FILES_PREFIX "%s.%03uZ-%s-%s%s%s" FILES_ENDING, day,
		 (unsigned)(profile->from_ns / 1000000 % 1000), domain, uuid,
		 profile->waits ? "-waits" : "", again);
}

/*
 * Writes ENTRY to a new file. A name may be taken by an earlier run, before the clock was set back,
 * or by another xtop. Then the profile gets the next name.
 */
static struct xtop_error *files_write(struct files *files, const struct entry *entry)
{
	const struct folder_part part = { entry->bytes, entry->size_bytes };
	char name[FOLDER_NAME_BYTES];
	unsigned number = 1;

	if (!files->folder)
		return error_create("the folder cannot be read");
	files_name(&entry->profile, number, name);
	while (folder_has(files->folder, name) && number < FILES_NAMES)
		files_name(&entry->profile, ++number, name);
	return folder_add(files->folder, name, &part, 1);
}

static void files_fail(struct files *files, struct xtop_error *error)
{
	struct push_status *status = &files->process->status;

	status->dropped++;
	status->failing = true;
	snprintf(status->message, sizeof(status->message), "%s", error_message(error));
	error_destroy(error);
}

static void files_add(void *state, struct entry *entry)
{
	struct files *files = state;
	struct push_status *status = &files->process->status;
	struct xtop_error *error = files_write(files, entry);

	if (error) {
		files_fail(files, error);
	} else {
		status->sent++;
		status->sent_bytes += entry->size_bytes;
		status->failing = false;
		status->removed = folder_removed(files->folder);
	}
	free(entry);
}

static void files_turn(void *state, int socket, int wait_ms)
{
	struct pollfd ready = { .fd = socket, .events = POLLIN };

	(void)state;
	poll(&ready, 1, wait_ms);
}

static bool files_has_work(void *state, uint64_t until_ns)
{
	(void)state, (void)until_ns;
	return false;
}

static void files_close(void *state)
{
	struct files *files = state;

	folder_close(files->folder);
	free(files);
}

const struct target_ops files_ops = {
	.prepare = files_prepare,
	.open = files_open,
	.add = files_add,
	.turn = files_turn,
	.has_work = files_has_work,
	.close = files_close,
};
