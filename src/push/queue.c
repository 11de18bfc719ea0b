/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles that wait for a store; see queue.h. A file of the spool is a header and the profile's
 * bytes, in this machine's byte order, because no other machine reads the file. Its name is its
 * number in the order of arrival, in 16 hexadecimal digits.
 *
 * The entry that is being sent, the head, is in neither list. If it came out of the spool, its file
 * stays there until the entry is sent or refused, so that the entry outlives a crash. If the head
 * came from memory, it goes to the spool before any younger entry.
 */
#include "config.h"

#include "push/queue.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "push/folder.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/vector.h"

#define QUEUE_PREFIX "queued-"
#define QUEUE_ENDING ".push"
#define QUEUE_MAGIC  "xtpush01"

struct queue_header {
	char magic[8];
	struct push_profile profile;
};

/* Where the head's copy is. */
enum head_place {
	HEAD_NOWHERE, /* there is no copy: the head came from memory */
	HEAD_SPOOL,   /* the copy is the first file of the spool */
	HEAD_REMOVED, /* the copy was in the spool until the spool needed room */
};

struct queue {
	struct entry **entries; /* entries in memory: FIRST .. N - 1, oldest first */
	size_t first, n, capacity;
	uint64_t bytes, max_bytes;
	struct folder *spool; /* NULL: there is no spool */
	struct entry *head;   /* the entry of queue_peek(); NULL: none was asked for */
	enum head_place place;
	uint64_t sequence; /* number of the next entry */
	uint64_t lost;     /* entries that were lost, but not removed by the spool */
	uint64_t not_lost; /* files that the spool removed while they were being sent */
};

/* --- life ------------------------------------------------------------------------------------- */

static void queue_name(uint64_t sequence, char name[FOLDER_NAME_BYTES])
{
	snprintf(name, FOLDER_NAME_BYTES, QUEUE_PREFIX "%016" PRIx64 QUEUE_ENDING, sequence);
}

/* Two senders in one folder would send everything twice. */
static struct xtop_error *queue_open_spool(struct queue *queue, int folder, uint64_t max_bytes)
{
	const char *last;
	struct xtop_error *error;

	if (flock(folder, LOCK_EX | LOCK_NB) < 0) {
		error = error_create_errno(errno, "no spool: another xtop has it");
		close(folder);
		return error;
	}
	error = folder_open(folder, QUEUE_PREFIX, QUEUE_ENDING, max_bytes, &queue->spool);
	last = error ? NULL : folder_last(queue->spool);
	if (last)
		queue->sequence = strtoull(last + strlen(QUEUE_PREFIX), NULL, 16) + 1;
	return error_wrap(error, "no spool");
}

struct xtop_error *queue_create(int folder, uint64_t memory_bytes, uint64_t spool_bytes,
				struct queue **queuep, struct xtop_error **warningp)
{
	struct queue *queue = calloc(1, sizeof(*queue));

	*warningp = NULL;
	if (!queue || !spool_bytes) {
		if (folder >= 0)
			close(folder);
		folder = -1;
	}
	if (!queue)
		return error_create("out of memory");
	queue->max_bytes = memory_bytes;
	if (folder >= 0)
		*warningp = queue_open_spool(queue, folder, spool_bytes);
	*queuep = queue;
	return NULL;
}

void queue_destroy(struct queue *queue)
{
	if (!queue)
		return;
	for (size_t i = queue->first; i < queue->n; i++)
		free(queue->entries[i]);
	free(queue->entries);
	free(queue->head);
	folder_close(queue->spool);
	free(queue);
}

/* --- memory ----------------------------------------------------------------------------------- */

static uint64_t queue_cost(const struct entry *entry)
{
	return sizeof(*entry) + entry->size_bytes;
}

/* Takes the oldest entry out of memory; it belongs to the caller then. NULL: there is none. */
static struct entry *queue_take(struct queue *queue)
{
	struct entry *entry;

	if (queue->first == queue->n)
		return NULL;
	entry = queue->entries[queue->first++];
	queue->bytes -= queue_cost(entry);
	return entry;
}

static bool queue_append(struct queue *queue, struct entry *entry)
{
	if (queue->first && queue->n == queue->capacity) {
		queue->n -= queue->first;
		memmove(queue->entries, queue->entries + queue->first,
			queue->n * sizeof(*queue->entries));
		queue->first = 0;
	}
	if (!vector_reserve(queue->entries, queue->capacity, queue->n + 1))
		return false;
	queue->entries[queue->n++] = entry;
	queue->bytes += queue_cost(entry);
	return true;
}

/* --- the spool -------------------------------------------------------------------------------- */

static uint64_t queue_first_file(const struct queue *queue)
{
	const char *name = folder_first(queue->spool);

	return name ? strtoull(name + strlen(QUEUE_PREFIX), NULL, 16) : UINT64_MAX;
}

/* Writes ENTRY to the spool as the youngest file. Old files may be removed for it. */
static bool queue_write(struct queue *queue, const struct entry *entry)
{
	struct queue_header header = { .magic = QUEUE_MAGIC, .profile = entry->profile };
	const struct folder_part parts[] = { { &header, sizeof(header) },
					     { entry->bytes, entry->size_bytes } };
	char name[FOLDER_NAME_BYTES];
	struct xtop_error *error;
	uint64_t first;
	bool written;

	if (!queue->spool)
		return false;
	first = queue_first_file(queue);
	queue_name(entry->sequence, name);
	error = folder_add(queue->spool, name, parts, 2);
	written = !error;
	error_destroy(error);
	if (queue->head && queue->place == HEAD_SPOOL && queue_first_file(queue) != first) {
		queue->place = HEAD_REMOVED; /* not lost, because it is being sent */
		queue->not_lost++;
	}
	return written;
}

/* Moves ENTRY, which is younger than the head, to the spool. Frees ENTRY. */
static void queue_spool(struct queue *queue, struct entry *entry)
{
	if (queue->head && queue->place == HEAD_NOWHERE && queue_write(queue, queue->head))
		queue->place = HEAD_SPOOL;
	if (!queue_write(queue, entry))
		queue->lost++;
	free(entry);
}

static struct entry *queue_decode(const unsigned char *bytes, size_t size_bytes)
{
	const struct queue_header *header = (const struct queue_header *)bytes;
	struct entry *entry;

	if (size_bytes <= sizeof(*header) || memcmp(header->magic, QUEUE_MAGIC, 8) != 0)
		return NULL;
	entry = malloc(sizeof(*entry) + size_bytes - sizeof(*header));
	if (!entry)
		return NULL;
	entry->profile = header->profile;
	entry_terminate(entry);
	entry->size_bytes = size_bytes - sizeof(*header);
	memcpy(entry->bytes, header + 1, entry->size_bytes);
	return entry;
}

/* Makes the oldest file of the spool the head. Files that are foreign or torn are lost. */
static void queue_load(struct queue *queue)
{
	while (!queue->head && queue->spool && folder_count(queue->spool)) {
		size_t size_bytes;
		_cleanup_free_ unsigned char *bytes = folder_read_first(
			queue->spool, sizeof(struct queue_header) + PUSH_MAX_PROFILE_BYTES,
			&size_bytes);

		queue->head = bytes ? queue_decode(bytes, size_bytes) : NULL;
		if (queue->head) {
			queue->place = HEAD_SPOOL;
			queue->head->sequence = queue_first_file(queue);
			return;
		}
		folder_remove_first(queue->spool);
		queue->lost++;
	}
}

/* --- the queue -------------------------------------------------------------------------------- */

void queue_add(struct queue *queue, struct entry *entry)
{
	entry->sequence = queue->sequence++;
	if (!queue_append(queue, entry)) {
		queue->lost++;
		free(entry);
	}
	while (queue->bytes > queue->max_bytes)
		queue_spool(queue, queue_take(queue));
}

const struct entry *queue_peek(struct queue *queue)
{
	if (!queue->head)
		queue_load(queue);
	if (!queue->head) {
		queue->head = queue_take(queue);
		queue->place = HEAD_NOWHERE;
	}
	return queue->head;
}

void queue_pop(struct queue *queue)
{
	if (queue->head && queue->place == HEAD_SPOOL)
		folder_remove_first(queue->spool);
	free(queue->head);
	queue->head = NULL;
}

/* Puts the head back as the oldest entry in memory. The head's old place may still be free. */
static void queue_put_back(struct queue *queue, struct entry *entry)
{
	if (!queue->first) { /* queue_append() has closed the gap */
		if (!vector_reserve(queue->entries, queue->capacity, queue->n + 1)) {
			queue->lost++;
			free(entry);
			return;
		}
		memmove(queue->entries + 1, queue->entries, queue->n * sizeof(*queue->entries));
		queue->first++;
		queue->n++;
	}
	queue->entries[--queue->first] = entry;
	queue->bytes += queue_cost(entry);
}

void queue_leave(struct queue *queue)
{
	struct entry *head = no_cleanup_ptr(queue->head);

	if (!head)
		return;
	if (queue->place == HEAD_NOWHERE) {
		queue_put_back(queue, head);
		return;
	}
	if (queue->place == HEAD_REMOVED)
		queue->not_lost--;
	free(head);
}

void queue_save(struct queue *queue)
{
	struct entry *entry;

	queue_leave(queue);
	while ((entry = queue_take(queue)))
		queue_spool(queue, entry);
}

size_t queue_count(const struct queue *queue)
{
	return queue->n - queue->first + (queue->spool ? folder_count(queue->spool) : 0) +
	       (queue->head && queue->place != HEAD_SPOOL);
}

uint64_t queue_bytes(const struct queue *queue)
{
	return queue->bytes + (queue->spool ? folder_bytes(queue->spool) : 0) +
	       (queue->head && queue->place != HEAD_SPOOL ? queue_cost(queue->head) : 0);
}

uint64_t queue_dropped(const struct queue *queue)
{
	return queue->lost + (queue->spool ? folder_removed(queue->spool) : 0) - queue->not_lost;
}
