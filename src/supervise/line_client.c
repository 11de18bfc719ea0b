/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main's side of the process that reads source lines; see line_client.h. A table has all places
 * that were asked for, with their answers; places without an answer form a queue in it. The process
 * gets one request at a time, for places of one file. If the process dies, the request's file is to
 * blame, and is not read again. Each call takes the answers that have come, and sends the next
 * request. Any thread, under one lock.
 */
#include "config.h"

#include "xtop/supervise/line_client.h"

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
#include "supervise/helper.h"
#include "supervise/line_server.h"
#include "xtop/base/clock.h"
#include "xtop/base/hash.h"
#include "xtop/base/vector.h"

#define LINES_WAIT_MS 1000 /* how long to wait for the end of the process, whose priority is low */

struct line_client_file {
	int fd, alt_fd;
	char *name, *anchor; /* anchor is NULL if places have the file's addresses */
	uint64_t anchor_address;
	dev_t device; /* device and inode tell whether the file was added before */
	ino_t inode;
	bool bad;
};

/* A place that was asked for. */
struct line_client_entry {
	uint32_t file;
	/* The place; its symbol lies in a block of texts. */
	uint64_t address, symbol_bytes;
	const char *symbol;
	enum line_state state;
	const uint8_t *bytes; /* the answer, for line_server_unpack(); NULL: none yet */
	uint32_t size_bytes;
};

/* A block of answers and symbols. */
struct line_client_text {
	struct line_client_text *older;
	size_t used;
	uint8_t bytes[LINE_SERVER_REPLY_BYTES];
};

struct line_client {
	struct helper process;
	pthread_mutex_t lock;
	struct line_client_file files[LINE_MAX_FILES]; /* file number 1 is files[0] */
	uint32_t n_files;
	struct line_client_entry *entries;
	size_t n_entries, entries_capacity;
	struct hash_table index; /* finds entries by file and place */
	size_t first_waiting;    /* all entries before this one have answers, or are asked for */
	struct line_client_text *texts;
	size_t text_bytes;
	/* The request that is under way; n_places is 0 if there is none. */
	struct line_server_request request;
	uint32_t asked[LINE_SERVER_MAX_PLACES]; /* entries, in the order of the request */
	uint32_t n_answered, n_requests;
	struct line_client_progress progress;
	struct line_server_reply reply;
};

/* --- start and end ---------------------------------------------------------------------------- */

struct xtop_error *line_client_start(const struct line_reader *reader, struct line_client **linesp)
{
	struct line_client *lines = calloc(1, sizeof(*lines));
	struct xtop_error *error;

	if (!lines)
		return error_create("out of memory");
	pthread_mutex_init(&lines->lock, NULL);
	error = helper_start("the process that reads lines", line_server_run, (void *)reader,
			     &lines->process);
	if (error)
		free(lines);
	else
		*linesp = lines;
	return error;
}

void line_client_stop(struct line_client *lines)
{
	if (!lines)
		return;
	helper_end(&lines->process, LINES_WAIT_MS);
	for (uint32_t i = 0; i < lines->n_files; i++) {
		struct line_client_file *file = &lines->files[i];

		close(file->fd);
		if (file->alt_fd >= 0)
			close(file->alt_fd);
		free(file->name);
		free(file->anchor);
	}
	for (struct line_client_text *text = lines->texts, *older; text; text = older) {
		older = text->older;
		free(text);
	}
	free(lines->entries);
	hash_table_deinit(&lines->index);
	pthread_mutex_destroy(&lines->lock);
	free(lines);
}

/* --- under the lock: answers ------------------------------------------------------------------ */

/* Marks FILE as bad: its places get no answers any more. */
static void line_client_give_up_file(struct line_client *lines, struct line_client_file *file,
				     const char *message)
{
	if (!file->bad)
		lines->progress.n_bad++;
	file->bad = true;
	snprintf(lines->progress.message, sizeof(lines->progress.message), "%s: %s", file->name,
		 message);
}

static void line_client_end_request(struct line_client *lines)
{
	for (uint32_t i = lines->n_answered; i < lines->request.n_places; i++)
		lines->entries[lines->asked[i]].state = LINE_OFF;
	lines->request.n_places = 0;
}

/* The process is gone: nothing will come any more. */
static void line_client_give_up(struct line_client *lines)
{
	line_client_end_request(lines);
	for (size_t i = lines->first_waiting; i < lines->n_entries; i++)
		if (lines->entries[i].state == LINE_WAITING)
			lines->entries[i].state = LINE_OFF;
	lines->first_waiting = lines->n_entries;
	for (uint32_t i = 0; i < lines->n_files; i++)
		lines->files[i].bad = true;
}

/* Copies the N bytes to memory that stays until the end. NULL: there is no room. */
static const uint8_t *line_client_copy(struct line_client *lines, const uint8_t *bytes, size_t n)
{
	struct line_client_text *text = lines->texts;

	if (!text || n > sizeof(text->bytes) - text->used) {
		if (lines->text_bytes + sizeof(*text) > LINE_MAX_TEXT_BYTES)
			return NULL;
		text = malloc(sizeof(*text));
		if (!text)
			return NULL;
		text->older = lines->texts;
		text->used = 0;
		lines->texts = text;
		lines->text_bytes += sizeof(*text);
	}
	text->used += n;
	return memcpy(text->bytes + text->used - n, bytes, n);
}

static void line_client_keep_answer(struct line_client *lines, struct line_client_entry *entry,
				    const uint8_t *bytes, size_t n)
{
	entry->bytes = line_client_copy(lines, bytes, n);
	entry->size_bytes = (uint32_t)n;
	entry->state = entry->bytes ? LINE_KNOWN : LINE_OFF;
	lines->progress.refused += !entry->bytes;
}

/* Keeps the answers in REPLY. False: they do not answer the request. */
static bool line_client_take_answers(struct line_client *lines,
				     const struct line_server_reply *reply)
{
	size_t at = 0;

	if (reply->size_bytes > sizeof(reply->bytes) ||
	    reply->n_answers > lines->request.n_places - lines->n_answered)
		return false;
	for (uint32_t i = 0; i < reply->n_answers; i++) {
		struct line_answer answer;
		size_t n = line_server_unpack(reply->bytes + at, reply->size_bytes - at, &answer);

		if (!n)
			return false;
		line_client_keep_answer(lines, &lines->entries[lines->asked[lines->n_answered++]],
					reply->bytes + at, n);
		at += n;
	}
	if (lines->n_answered == lines->request.n_places)
		lines->request.n_places = 0;
	return true;
}

static void line_client_take(struct line_client *lines, struct line_server_reply *reply)
{
	struct line_client_file *file;
	bool mine = reply->number == lines->request.number || reply->what == LINE_SERVER_DIED;

	reply->message[sizeof(reply->message) - 1] = '\0';
	if (!mine || !lines->request.n_places)
		return;
	file = &lines->files[lines->request.file - 1];
	if (reply->most_bytes > lines->progress.most_bytes)
		lines->progress.most_bytes = reply->most_bytes;
	if (reply->what == LINE_SERVER_ANSWERS && line_client_take_answers(lines, reply))
		return;
	line_client_give_up_file(lines, file,
				 reply->what == LINE_SERVER_ANSWERS ? "its reader is confused"
								    : reply->message);
	line_client_end_request(lines);
}

/* --- under the lock: requests ----------------------------------------------------------------- */

static void line_client_ask_for(struct line_client *lines, size_t index)
{
	struct line_client_entry *entry = &lines->entries[index];

	struct line_place *place = &lines->request.places[lines->request.n_places];

	lines->asked[lines->request.n_places++] = (uint32_t)index;
	place->address = entry->address;
	place->size_bytes = entry->symbol_bytes;
	snprintf(place->symbol, sizeof(place->symbol), "%s", entry->symbol);
}

/* Puts into the request the place that waits longest, and other places of its file. */
static void line_client_collect(struct line_client *lines)
{
	struct line_server_request *request = &lines->request;
	size_t i = lines->first_waiting;

	for (; i < lines->n_entries && request->n_places < LINE_SERVER_MAX_PLACES; i++) {
		struct line_client_entry *entry = &lines->entries[i];
		const struct line_client_file *file = &lines->files[entry->file - 1];

		if (entry->state == LINE_WAITING && file->bad)
			entry->state = LINE_OFF;
		if (entry->state != LINE_WAITING) {
			lines->first_waiting += i == lines->first_waiting;
			continue;
		}
		if (!request->n_places)
			request->file = entry->file;
		if (entry->file == request->file)
			line_client_ask_for(lines, i);
	}
}

static void line_client_send_next(struct line_client *lines)
{
	struct line_server_request *request = &lines->request;
	const struct line_client_file *file;
	int fds[2];

	if (request->n_places)
		return;
	line_client_collect(lines);
	if (!request->n_places)
		return;
	file = &lines->files[request->file - 1];
	fds[0] = file->fd;
	fds[1] = file->alt_fd;
	request->has_alt = file->alt_fd >= 0;
	request->number = ++lines->n_requests;
	lines->n_answered = 0;
	if (!wire_send(lines->process.socket, request, sizeof(*request), fds, 1 + request->has_alt))
		line_client_give_up(lines);
}

/* Takes all replies, and sends the next request. Returns whether an answer has come. */
static bool line_client_take_all(struct line_client *lines)
{
	struct pollfd ready = { .fd = lines->process.socket, .events = POLLIN };
	bool any = false;

	while (poll(&ready, 1, 0) > 0) {
		int fds[BROKER_MAX_FDS];
		size_t n_fds = 0;

		if (!wire_receive(ready.fd, &lines->reply, sizeof(lines->reply), fds, &n_fds)) {
			line_client_give_up(lines);
			return true;
		}
		while (n_fds > 0)
			close(fds[--n_fds]);
		line_client_take(lines, &lines->reply);
		any = true;
	}
	line_client_send_next(lines);
	return any;
}

/* --- under the lock: places ------------------------------------------------------------------- */

struct line_client_key {
	const struct line_client *lines;
	uint32_t file;
	const struct line_place *place;
};

static bool line_client_is_same(const void *context, uint32_t index)
{
	const struct line_client_key *key = context;
	const struct line_client_entry *entry = &key->lines->entries[index];

	return entry->file == key->file && entry->address == key->place->address &&
	       entry->symbol_bytes == key->place->size_bytes &&
	       strcmp(entry->symbol, key->place->symbol) == 0;
}

static uint64_t line_client_hash(uint32_t file, const struct line_place *place)
{
	return hash_bytes(hash_word(file, place->address), place->symbol, strlen(place->symbol));
}

static struct line_client_entry *line_client_add_place(struct line_client *lines, uint32_t file,
						       const struct line_place *place,
						       uint64_t hash)
{
	const uint8_t *symbol = NULL;

	if (lines->n_entries < LINE_MAX_PLACES)
		symbol = line_client_copy(lines, (const uint8_t *)place->symbol,
					  strlen(place->symbol) + 1);
	if (!symbol ||
	    !vector_reserve(lines->entries, lines->entries_capacity, lines->n_entries + 1) ||
	    !hash_table_add(&lines->index, hash, (uint32_t)lines->n_entries)) {
		lines->progress.refused++;
		return NULL;
	}
	lines->entries[lines->n_entries] =
		(struct line_client_entry){ .file = file,
					    .address = place->address,
					    .symbol_bytes = place->size_bytes,
					    .symbol = (const char *)symbol,
					    .state = lines->files[file - 1].bad ? LINE_OFF
										: LINE_WAITING };
	return &lines->entries[lines->n_entries++];
}

static struct line_client_entry *line_client_find_entry(struct line_client *lines, uint32_t file,
							const struct line_place *place, bool ask)
{
	const struct line_client_key key = { lines, file, place };
	uint64_t hash = line_client_hash(file, place);
	uint32_t index = hash_table_find(&lines->index, hash, line_client_is_same, &key);

	if (index != HASH_NONE)
		return &lines->entries[index];
	return ask ? line_client_add_place(lines, file, place, hash) : NULL;
}

/* --- requests of all threads ------------------------------------------------------------------ */

/* Returns the number of a file that was added before; 0: it was not added. */
static uint32_t line_client_find_file(struct line_client *lines, const struct stat *status,
				      const char *anchor, uint64_t anchor_address)
{
	for (uint32_t i = 0; i < lines->n_files; i++) {
		const struct line_client_file *file = &lines->files[i];

		if (file->device == status->st_dev && file->inode == status->st_ino &&
		    file->anchor_address == anchor_address && !file->anchor == !anchor &&
		    (!anchor || strcmp(file->anchor, anchor) == 0))
			return i + 1;
	}
	return 0;
}

static struct line_client_file *line_client_new_file(struct line_client *lines, int fd, int alt_fd,
						     const char *name, const char *anchor)
{
	struct line_client_file *file = &lines->files[lines->n_files];

	if (lines->n_files == LINE_MAX_FILES)
		return NULL;
	*file = (struct line_client_file){ .fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
					   .alt_fd = alt_fd < 0 ? -1
								: fcntl(alt_fd, F_DUPFD_CLOEXEC, 0),
					   .name = strdup(name),
					   .anchor = anchor ? strdup(anchor) : NULL };
	if (file->fd >= 0 && file->name && (file->anchor || !anchor))
		return file;
	if (file->fd >= 0)
		close(file->fd);
	if (file->alt_fd >= 0)
		close(file->alt_fd);
	free(file->name);
	free(file->anchor);
	return NULL;
}

uint32_t line_client_add_file(struct line_client *lines, int fd, int alt_fd, const char *name,
			      const char *anchor, uint64_t anchor_address)
{
	struct line_client_file *file;
	struct stat status;
	uint32_t number;

	if (!lines || fstat(fd, &status) < 0)
		return 0;
	pthread_mutex_lock(&lines->lock);
	number = line_client_find_file(lines, &status, anchor, anchor_address);
	file = number ? NULL : line_client_new_file(lines, fd, alt_fd, name, anchor);
	if (file) {
		file->anchor_address = anchor_address;
		file->device = status.st_dev;
		file->inode = status.st_ino;
		lines->progress.n_files = number = ++lines->n_files;
	}
	pthread_mutex_unlock(&lines->lock);
	return number;
}

uint32_t line_client_add_moved(struct line_client *lines, uint32_t file, const char *anchor,
			       uint64_t anchor_address)
{
	const struct line_client_file *from;

	if (!lines || !file ||
	    file > LINE_MAX_FILES) /* files are added, and not removed before the end */
		return 0;
	from = &lines->files[file - 1];
	return line_client_add_file(lines, from->fd, from->alt_fd, from->name, anchor,
				    anchor_address);
}

uint32_t line_client_find_named(struct line_client *lines, const char *name)
{
	uint32_t number = 0;

	if (!lines)
		return 0;
	pthread_mutex_lock(&lines->lock);
	for (uint32_t i = 0; i < lines->n_files; i++)
		if (strcmp(lines->files[i].name, name) == 0)
			number = i + 1;
	pthread_mutex_unlock(&lines->lock);
	return number;
}

bool line_client_is_by_symbol(struct line_client *lines, uint32_t file)
{
	bool is;

	if (!lines || !file)
		return false;
	pthread_mutex_lock(&lines->lock);
	is = file <= lines->n_files && lines->files[file - 1].anchor &&
	     strcmp(lines->files[file - 1].anchor, LINE_BY_SYMBOL) == 0;
	pthread_mutex_unlock(&lines->lock);
	return is;
}

/*
 * Sets *TO to the place FROM. If FILE has an anchor and FROM has no symbol, *TO is counted from the
 * anchor.
 */
static void line_client_move(const struct line_client_file *file, const struct line_place *from,
			     struct line_place *to)
{
	*to = *from;
	if (!file->anchor || from->symbol[0])
		return;
	to->address -= file->anchor_address;
	snprintf(to->symbol, sizeof(to->symbol), "%s", file->anchor);
}

enum line_state line_client_find(struct line_client *lines, uint32_t file,
				 const struct line_place *place, bool ask,
				 struct line_answer *answer)
{
	enum line_state state = LINE_OFF;
	struct line_client_entry *entry = NULL;
	struct line_place moved;

	if (!lines)
		return LINE_OFF;
	pthread_mutex_lock(&lines->lock);
	if (file && file <= lines->n_files) {
		line_client_move(&lines->files[file - 1], place, &moved);
		entry = line_client_find_entry(lines, file, &moved, ask);
	}
	if (entry)
		state = entry->state;
	if (state == LINE_KNOWN && !line_server_unpack(entry->bytes, entry->size_bytes, answer))
		state = LINE_OFF; /* never: the answer was checked when it came */
	pthread_mutex_unlock(&lines->lock);
	return state;
}

bool line_client_poll(struct line_client *lines)
{
	bool any;

	if (!lines)
		return false;
	pthread_mutex_lock(&lines->lock);
	any = line_client_take_all(lines);
	pthread_mutex_unlock(&lines->lock);
	return any;
}

static bool line_client_is_waiting(struct line_client *lines)
{
	bool waiting;

	pthread_mutex_lock(&lines->lock);
	waiting = lines->request.n_places;
	pthread_mutex_unlock(&lines->lock);
	return waiting;
}

bool line_client_wait(struct line_client *lines, double seconds)
{
	uint64_t end_ns = clock_now_ns() + (uint64_t)(seconds * 1e9);

	if (!lines)
		return true;
	line_client_poll(lines);
	while (line_client_is_waiting(lines)) {
		struct pollfd ready = { .fd = lines->process.socket, .events = POLLIN };

		if (clock_now_ns() > end_ns)
			return false;
		poll(&ready, 1, 100);
		line_client_poll(lines);
	}
	return true;
}

void line_client_get_progress(struct line_client *lines, struct line_client_progress *progress)
{
	*progress = (struct line_client_progress){ 0 };
	if (!lines)
		return;
	pthread_mutex_lock(&lines->lock);
	*progress = lines->progress;
	progress->n_places = (uint32_t)lines->n_entries;
	for (size_t i = lines->first_waiting; i < lines->n_entries; i++)
		progress->n_waiting += lines->entries[i].state == LINE_WAITING;
	pthread_mutex_unlock(&lines->lock);
}
