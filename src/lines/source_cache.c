/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of source files; see source_cache.h. A file is read whole when one of its lines is asked
 * for first. Files that nobody has are remembered, too.
 *
 *   asking thread   adds a place: WANTED
 *   reading thread  looks below the folders ─► KNOWN, found or not; or asks the servers: FETCHING
 *                   looks each 100 ms for what they sent ─► KNOWN
 *
 * A place belongs to the reading thread while it is READING, and to whoever has the lock otherwise.
 */
#include "config.h"

#include "xtop/lines/source_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "xtop/base/root_file.h"
#include "xtop/base/text.h"
#include "xtop/base/thread.h"
#include "xtop/base/vector.h"
#include "xtop/supervise/fetch.h"

#define SOURCE_POLL_NS 100000000 /* time between two looks for what servers send */

enum source_state { SOURCE_FREE, SOURCE_WANTED, SOURCE_READING, SOURCE_FETCHING, SOURCE_KNOWN };

struct source_file {
	enum source_state state;
	char *path; /* the path at which the file was compiled */
	struct build_id build;
	char *bytes; /* NULL: no such file was found */
	size_t size_bytes;
	uint32_t *lines; /* the offset of each line in bytes */
	size_t n_lines, capacity;
	uint64_t used; /* number of the question that used the file last */
};

struct source_cache {
	int folders[SOURCE_MAX_FOLDERS];
	size_t n_folders;
	int root_fd;
	struct fetch *fetch;
	uint64_t n_questions;
	pthread_t thread;
	bool started; /* there was an attempt to start the thread */
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t wanted, known;
	bool quitting, news;
	struct source_file files[SOURCE_MAX_FILES];
};

/* --- life ------------------------------------------------------------------------------------- */

/* Creates a condition that waits by the monotonic clock, which nobody sets. */
static void source_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

struct xtop_error *source_cache_create(const int *folders, size_t n, int root_fd,
				       struct fetch *fetch, struct source_cache **filesp)
{
	struct source_cache *files = calloc(1, sizeof(*files));
	bool failed = !files || n > SOURCE_MAX_FOLDERS;

	if (files) {
		pthread_mutex_init(&files->lock, NULL);
		source_cond_init(&files->wanted);
		source_cond_init(&files->known);
		files->fetch = fetch;
		files->root_fd = root_fd < 0 ? -1 : fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	}
	for (size_t i = 0; !failed && i < n; i++) {
		files->folders[i] = fcntl(folders[i], F_DUPFD_CLOEXEC, 0);
		failed = files->folders[i] < 0;
		files->n_folders += !failed;
	}
	if (failed || (root_fd >= 0 && files->root_fd < 0)) {
		source_cache_destroy(files);
		return error_create("no memory or descriptors for source files");
	}
	*filesp = files;
	return NULL;
}

static void source_file_deinit(struct source_file *file)
{
	free(file->path);
	free(file->bytes);
	free(file->lines);
	*file = (struct source_file){ 0 };
}

static void source_stop(struct source_cache *files)
{
	if (!files->running)
		return;
	pthread_mutex_lock(&files->lock);
	files->quitting = true;
	pthread_cond_signal(&files->wanted);
	pthread_mutex_unlock(&files->lock);
	pthread_join(files->thread, NULL);
}

void source_cache_destroy(struct source_cache *files)
{
	if (!files)
		return;
	source_stop(files);
	for (size_t i = 0; i < SOURCE_MAX_FILES; i++)
		source_file_deinit(&files->files[i]);
	for (size_t i = 0; i < files->n_folders; i++)
		close(files->folders[i]);
	if (files->root_fd >= 0)
		close(files->root_fd);
	pthread_cond_destroy(&files->wanted);
	pthread_cond_destroy(&files->known);
	pthread_mutex_destroy(&files->lock);
	free(files);
}

/* --- reading: without the lock ---------------------------------------------------------------- */

/* PATH without its first name; NULL if PATH has one name only. */
static const char *source_path_end(const char *path)
{
	path += strspn(path, "/");
	path += strcspn(path, "/");
	path += strspn(path, "/");
	return *path ? path : NULL;
}

static bool source_open(const struct source_cache *files, const char *path, struct root_file *file)
{
	if (root_file_open(files->root_fd, path, file))
		return true;
	for (size_t i = 0; i < files->n_folders; i++)
		for (const char *end = path; end; end = source_path_end(end))
			if (root_file_open(files->folders[i], end, file))
				return true;
	return false;
}

static bool source_find_lines(struct source_file *file)
{
	for (size_t at = 0; at < file->size_bytes;) {
		const char *end = memchr(file->bytes + at, '\n', file->size_bytes - at);

		if (!vector_reserve(file->lines, file->capacity, file->n_lines + 1))
			return false;
		file->lines[file->n_lines++] = (uint32_t)at;
		at = end ? (size_t)(end - file->bytes) + 1 : file->size_bytes;
	}
	return true;
}

/* Reads the file and closes FD. Without memory the file counts as missing. */
static void source_read(struct source_file *file, int fd, uint64_t size_bytes)
{
	ssize_t got = -1;

	if (size_bytes <= SOURCE_MAX_BYTES)
		file->bytes = malloc(size_bytes + 1);
	if (file->bytes)
		got = pread(fd, file->bytes, size_bytes, 0);
	close(fd);
	file->size_bytes = got > 0 ? (size_t)got : 0;
	if (!source_find_lines(file))
		file->n_lines = 0;
}

/* Asks the servers for FILE, or looks whether they have answered. */
static enum source_state source_fetch(const struct source_cache *files, struct source_file *file)
{
	struct stat status;
	int fd;

	switch (fetch_ask_source(files->fetch, &file->build, file->path, &fd)) {
	case FETCH_WAITING:
		return SOURCE_FETCHING;
	case FETCH_FOUND: /* a regular file */
		source_read(file, fd, fstat(fd, &status) < 0 ? 0 : (uint64_t)status.st_size);
		return SOURCE_KNOWN;
	case FETCH_OFF:
	case FETCH_NONE:
		break;
	}
	return SOURCE_KNOWN;
}

static enum source_state source_find_text(const struct source_cache *files,
					  struct source_file *file, enum source_state state)
{
	struct root_file found;

	if (state == SOURCE_FETCHING || !source_open(files, file->path, &found))
		return source_fetch(files, file);
	source_read(file, found.fd, found.size_bytes);
	return SOURCE_KNOWN;
}

/* --- the reading thread ----------------------------------------------------------------------- */

/* Reads FILE. Called with the lock, which is released while the file is read. */
static void source_work(struct source_cache *files, struct source_file *file)
{
	enum source_state state = file->state;

	file->state = SOURCE_READING;
	pthread_mutex_unlock(&files->lock);
	state = source_find_text(files, file, state);
	pthread_mutex_lock(&files->lock);
	file->state = state;
	if (state == SOURCE_KNOWN) {
		files->news = true;
		pthread_cond_broadcast(&files->known);
	}
}

/* The first file in STATE, or NULL. Called with the lock. */
static struct source_file *source_find_state(struct source_cache *files, enum source_state state)
{
	for (size_t i = 0; i < SOURCE_MAX_FILES; i++)
		if (files->files[i].state == state)
			return &files->files[i];
	return NULL;
}

static struct timespec source_later(uint64_t ns)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	ns += (uint64_t)time.tv_nsec;
	time.tv_sec += (time_t)(ns / 1000000000);
	time.tv_nsec = (long)(ns % 1000000000);
	return time;
}

/* Looks whether the servers have answered, for each file that they were asked for. */
static void source_poll_servers(struct source_cache *files)
{
	for (size_t i = 0; i < SOURCE_MAX_FILES && !files->quitting; i++)
		if (files->files[i].state == SOURCE_FETCHING)
			source_work(files, &files->files[i]);
}

static void *source_main(void *context)
{
	struct source_cache *files = context;

	pthread_mutex_lock(&files->lock);
	while (!files->quitting) {
		struct source_file *file = source_find_state(files, SOURCE_WANTED);

		if (file) {
			source_work(files, file);
		} else if (source_find_state(files, SOURCE_FETCHING)) {
			const struct timespec later = source_later(SOURCE_POLL_NS);

			pthread_cond_timedwait(&files->wanted, &files->lock, &later);
			source_poll_servers(files);
		} else {
			pthread_cond_wait(&files->wanted, &files->lock);
		}
	}
	pthread_mutex_unlock(&files->lock);
	return NULL;
}

/* --- places: with the lock -------------------------------------------------------------------- */

/* A free place, or the place of the file that was used longest ago; NULL if all are in use. */
static struct source_file *source_make_place(struct source_cache *files)
{
	struct source_file *oldest = source_find_state(files, SOURCE_FREE);

	for (size_t i = 0; !oldest && i < SOURCE_MAX_FILES; i++)
		if (files->files[i].state == SOURCE_KNOWN)
			oldest = &files->files[i];
	for (size_t i = 0; oldest && oldest->state == SOURCE_KNOWN && i < SOURCE_MAX_FILES; i++)
		if (files->files[i].state == SOURCE_KNOWN && files->files[i].used < oldest->used)
			oldest = &files->files[i];
	if (oldest)
		source_file_deinit(oldest);
	return oldest;
}

static bool source_is_same(const struct source_file *file, const struct build_id *build,
			   const char *path)
{
	return file->state != SOURCE_FREE && strcmp(file->path, path) == 0 &&
	       (build_id_equal(&file->build, build) ||
		(!build->size_bytes && !file->build.size_bytes));
}

/* Finds the file of PATH, or adds it as wanted. NULL: out of memory, or there is no place. */
static struct source_file *source_find_or_add(struct source_cache *files,
					      const struct build_id *build, const char *path)
{
	struct source_file *file;

	for (size_t i = 0; i < SOURCE_MAX_FILES; i++)
		if (source_is_same(&files->files[i], build, path))
			return &files->files[i];
	file = source_make_place(files);
	if (!file)
		return NULL;
	file->path = strdup(path);
	if (!file->path)
		return NULL;
	file->build = *build;
	file->state = SOURCE_WANTED;
	pthread_cond_signal(&files->wanted);
	return file;
}

/* --- requests of the thread that asks --------------------------------------------------------- */

/* Cleans the N bytes of a line. Keeps ';', which text_clean() would replace. */
static size_t source_clean(const char *line, size_t n, char *text, size_t capacity)
{
	size_t at = 0, used = 0;

	text[0] = '\0';
	while (at < n) {
		const char *end = memchr(line + at, ';', n - at);
		size_t length = end ? (size_t)(end - line) - at : n - at;

		used += text_clean(text + used, capacity - used, line + at, length);
		at += length;
		if (!end || capacity - used < 2)
			break;
		text[used++] = ';';
		text[used] = '\0';
		at++;
	}
	return used;
}

/* Copies line LINE of FILE, whose state is SOURCE_KNOWN. */
static size_t source_copy_line(const struct source_file *file, uint32_t line, char *text,
			       size_t capacity)
{
	char copy[512];
	size_t begin, n = 0;

	if (!line || line > file->n_lines)
		return 0;
	begin = file->lines[line - 1];
	while (begin < file->size_bytes &&
	       (file->bytes[begin] == ' ' || file->bytes[begin] == '\t'))
		begin++;
	for (; begin + n < file->size_bytes && n < sizeof(copy); n++) {
		char byte = file->bytes[begin + n];

		if (byte == '\n' || byte == '\r')
			break;
		copy[n] = byte == '\t' ? ' ' : byte;
	}
	return source_clean(copy, n, text, capacity);
}

/* Starts the thread after main gave up its rights, because Landlock and seccomp bind one thread. */
static void source_start(struct source_cache *files)
{
	struct xtop_error *error;

	if (files->started)
		return;
	files->started = true;
	error = thread_start(&files->thread, source_main, files);
	files->running = !error;
	error_destroy(error); /* if the thread is missing, there are no texts */
}

size_t source_cache_get_line(struct source_cache *files, const struct build_id *build,
			     const char *path, uint32_t line, char *text, size_t capacity)
{
	struct source_file *file;
	size_t length = 0;

	text[0] = '\0';
	source_start(files);
	if (!files->running)
		return 0;
	pthread_mutex_lock(&files->lock);
	file = source_find_or_add(files, build, path);
	if (file)
		file->used = ++files->n_questions;
	if (file && file->state == SOURCE_KNOWN)
		length = source_copy_line(file, line, text, capacity);
	pthread_mutex_unlock(&files->lock);
	return length;
}

bool source_cache_poll(struct source_cache *files)
{
	bool news;

	pthread_mutex_lock(&files->lock);
	news = files->news;
	files->news = false;
	pthread_mutex_unlock(&files->lock);
	return news;
}

static bool source_is_busy(struct source_cache *files)
{
	return source_find_state(files, SOURCE_WANTED) ||
	       source_find_state(files, SOURCE_READING) ||
	       source_find_state(files, SOURCE_FETCHING);
}

void source_cache_wait(struct source_cache *files, double seconds)
{
	const struct timespec end = source_later((uint64_t)(seconds * 1e9));
	int waited = 0;

	pthread_mutex_lock(&files->lock);
	while (waited != ETIMEDOUT && files->running && source_is_busy(files))
		waited = pthread_cond_timedwait(&files->known, &files->lock, &end);
	pthread_mutex_unlock(&files->lock);
}
