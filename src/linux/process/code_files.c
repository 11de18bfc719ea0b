/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of the guest's files with code; see code_files.h. Resolver's thread.
 *
 * If bytes of a file were missing, code_files_open() reads the file again when its time has come:
 * after 1 s, 2 s, 4 s .. 60 s. The new image replaces the old one if more bytes could be read. A
 * struct image in a space never changes; another image takes its place.
 *
 * Files that no process maps are kept until another file needs the place or the memory budget,
 * because the next process may start the same program.
 */
#include "config.h"

#include "linux/process/code_files.h"

#include <stdlib.h>
#include <unistd.h>

#include "linux/process/backoff.h"
#include "linux/process/code_pages.h"
#include "xtop/supervise/fetch.h"

struct code_files {
	struct code_files_settings settings;
	struct code_file_reader reader;
	struct guest_code_turns turns;
	uint64_t clock, changes, names;
	uint64_t walk_bytes; /* bytes read or searched in the current walk */
	uint64_t walk_pages; /* pages searched in page caches in the current walk */
	struct code_files_counts counts;
	struct code_file files[CODE_FILES_MAX]; /* image is NULL in a free place */
	uint64_t n_added;
	struct code_pages *pages;
};

struct xtop_error *code_files_create(const struct linux_guest *guest,
				     const struct code_files_settings *settings,
				     struct code_files **filesp)
{
	struct code_files *files = calloc(1, sizeof(*files));
	struct xtop_error *error;

	if (!files)
		return error_create("out of memory for the guest's files");
	error = code_pages_create(&files->pages);
	if (error) {
		free(files);
		return error;
	}
	files->reader.guest = guest;
	files->reader.symbols = settings->symbols;
	files->reader.debug = settings->debug;
	files->turns.budget = settings->budget;
	files->turns.at_once = settings->at_once;
	files->turns.total_bytes = GUEST_CODE_AT_ONCE_BYTES;
	files->reader.turns = &files->turns;
	files->settings = *settings;
	if (!settings->walk_bytes)
		files->settings.walk_bytes = CODE_FILES_MAX_WALK_BYTES;
	*filesp = files;
	return NULL;
}

static void code_files_drop(struct code_files *files, struct code_file *file)
{
	memory_budget_charge(files->settings.budget, &file->charged_bytes, 0);
	image_unref(file->image);
	*file = (struct code_file){ 0 };
}

void code_files_destroy(struct code_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < CODE_FILES_MAX; i++)
		if (files->files[i].image)
			code_files_drop(files, &files->files[i]);
	code_pages_destroy(files->pages);
	free(files);
}

uint64_t code_files_changes(const struct code_files *files)
{
	return files->changes;
}

uint64_t code_files_names(const struct code_files *files)
{
	return files->names;
}

struct code_files_counts code_files_counts(const struct code_files *files)
{
	struct code_files_counts counts = files->counts;

	counts.absent_pages = files->reader.absent_pages;
	counts.evicted_pages = files->reader.evicted_pages;
	for (size_t i = 0; i < CODE_FILES_MAX; i++) {
		const struct code_file *file = &files->files[i];

		if (!file->image)
			continue;
		counts.kept++;
		counts.incomplete += file->state == CODE_FILE_INCOMPLETE;
		counts.elf32 += file->state == CODE_FILE_ELF32;
		counts.too_large += file->state == CODE_FILE_TOO_LARGE;
		counts.cut += file->image->cut;
		counts.no_symbols += file->state == CODE_FILE_WHOLE && !file->image->symtab &&
				     !image_awaits_symbols(file->image);
	}
	return counts;
}

/* --- places and memory ------------------------------------------------------------------------ */

static struct code_file *code_files_find(struct code_files *files,
					 const struct file_identity *identity)
{
	for (size_t i = 0; i < CODE_FILES_MAX; i++)
		if (files->files[i].image &&
		    file_identity_equal(&files->files[i].identity, identity))
			return &files->files[i];
	return NULL;
}

bool code_files_drop_unused(struct code_files *files)
{
	struct code_file *oldest = NULL;

	for (size_t i = 0; i < CODE_FILES_MAX; i++) {
		struct code_file *file = &files->files[i];

		if (file->image && !file->n_users && (!oldest || file->used < oldest->used))
			oldest = file;
	}
	if (oldest)
		code_files_drop(files, oldest);
	return oldest;
}

/* Returns false if open files and processes use up the budget. */
static bool code_files_make_room(struct code_files *files)
{
	while (memory_budget_is_full(files->settings.budget))
		if (!code_files_drop_unused(files))
			return false;
	return true;
}

static struct code_file *code_files_find_free_place(struct code_files *files)
{
	for (size_t i = 0; i < CODE_FILES_MAX; i++)
		if (!files->files[i].image)
			return &files->files[i];
	return NULL;
}

/* A free place for one more file, with budget to fill it; NULL if there is no room. */
static struct code_file *code_files_make_place(struct code_files *files)
{
	struct code_file *place;

	if (!code_files_make_room(files))
		return NULL;
	place = code_files_find_free_place(files);
	return place || !code_files_drop_unused(files) ? place : code_files_find_free_place(files);
}

/* --- fetched names ---------------------------------------------------------------------------- */

/*
 * Takes names from FD, a fetched debug file, if it belongs to FILE's image. Closes FD. Returns true
 * if there were names.
 */
static bool code_files_use_fetched(struct code_files *files, struct code_file *file, int fd)
{
	bool found = image_read_debug_file(file->image, fd, false);

	debug_files_use_lines(&files->reader.debug, file->image, fd, NULL, 0);

	close(fd);
	files->counts.fetched += found;
	if (found)
		memory_budget_charge(files->settings.budget, &file->charged_bytes,
				     image_memory_bytes(file->image));
	return found;
}

/*
 * Gives a new image its names at once if its debug file was fetched before. Otherwise lets it wait
 * for the debug file.
 */
static void code_files_await_names(struct code_files *files, struct code_file *file)
{
	struct image *image = file->image;
	int fd = -1;

	if (!files->settings.debug.fetch || !image->stripped || !image->build_id.size_bytes)
		return;
	switch (fetch_find(files->settings.debug.fetch, &image->build_id, &fd)) {
	case FETCH_OFF:
	case FETCH_WAITING:
		image->awaits_names = true;
		break;
	case FETCH_FOUND:
		code_files_use_fetched(files, file, fd);
		break;
	case FETCH_NONE:
		break;
	}
}

static void code_files_poll_names(struct code_files *files, struct code_file *file)
{
	int fd = -1;

	switch (fetch_ask(files->settings.debug.fetch, &file->image->build_id, &fd)) {
	case FETCH_WAITING:
		return;
	case FETCH_FOUND:
		if (code_files_use_fetched(files, file, fd)) {
			files->names++;
			files->changes++;
		}
		break;
	case FETCH_OFF:
	case FETCH_NONE:
		break;
	}
	file->image->awaits_names = false;
}

/* Charges the memory for what was read of a file when it was needed. */
static void code_files_charge(struct code_files *files, struct code_file *file)
{
	if (file->charged_bytes && (file->image->tables.computed || file->image->parts))
		memory_budget_charge(files->settings.budget, &file->charged_bytes,
				     image_memory_bytes(file->image));
}

/* --- reading ---------------------------------------------------------------------------------- */

static void code_files_read(struct code_files *files, struct guest_file *source,
			    struct code_file *file, struct code_file_reading *reading)
{
	const char *before = file->image && !file->no_path ? file->image->name : NULL;

	code_file_read(&files->reader, source, before, file->lacks_parts, reading);
	files->counts.reads++;
	files->walk_bytes +=
		reading->got_bytes + reading->wasted_bytes + reading->unpacked_bytes;
	file->no_path = reading->no_path && !before;
}

/* Sets FILE to the results in READING; the image's reference moves to FILE. */
static void code_files_set_reading(struct code_files *files, struct code_file *file,
				   const struct code_file_reading *reading)
{
	if (file->image)
		image_set_successor(file->image, reading->image);
	image_unref(file->image);
	file->image = reading->image;
	file->loads = reading->loads;
	file->state = reading->state;
	file->got_bytes = reading->got_bytes;
	file->lacks_parts = false;
	file->scan_delay_ns = file->scan_due_ns = 0;
	memory_budget_charge(files->settings.budget, &file->charged_bytes, reading->kept_bytes);
	if (reading->kept_bytes) /* not an image of -k */
		code_files_await_names(files, file);
}

static void code_files_schedule(struct code_file *file, uint64_t now_ns)
{
	if (file->state != CODE_FILE_INCOMPLETE) {
		file->due_ns = UINT64_MAX;
		return;
	}
	file->retry_delay_ns =
		backoff_next_ns(file->retry_delay_ns, CODE_FILE_RETRY_NS, CODE_FILE_MAX_RETRY_NS);
	file->due_ns = now_ns + file->retry_delay_ns;
}

/*
 * If a part of FILE that was needed could not be read, the file is opened again when its time
 * comes, like a file of which bytes were missing from the start: then the guest may have read them,
 * or --root or a debug file has them.
 */
static void code_files_check_parts(struct code_file *file, uint64_t now_ns)
{
	if (file->lacks_parts || !image_lacks_parts(file->image))
		return;
	file->lacks_parts = true;
	if (file->state != CODE_FILE_WHOLE)
		return;
	file->state = CODE_FILE_INCOMPLETE;
	code_files_schedule(file, now_ns);
}

void code_files_poll(struct code_files *files, uint64_t now_ns)
{
	for (size_t i = 0; i < CODE_FILES_MAX; i++) {
		struct code_file *file = &files->files[i];

		if (!file->image)
			continue;
		code_files_charge(files, file);
		code_files_check_parts(file, now_ns);
		if (file->image->awaits_names && file->image->wants_names)
			code_files_poll_names(files, file);
	}
}

static struct code_file *code_files_add(struct code_files *files, struct guest_file *source,
					uint64_t now_ns)
{
	struct code_file_reading reading;
	struct code_file *file;

	if (files->walk_bytes >= files->settings.walk_bytes) {
		files->counts.put_off++;
		return NULL;
	}
	file = code_files_make_place(files);
	if (!file) {
		files->counts.no_room++;
		return NULL;
	}
	code_files_read(files, source, file, &reading);
	if (!reading.image)
		return NULL;
	file->identity = source->identity;
	file->inode = source->inode;
	file->number = files->n_added++ * CODE_FILES_MAX + (uint64_t)(file - files->files);
	code_files_set_reading(files, file, &reading);
	code_files_schedule(file, now_ns);
	return file;
}

static void code_files_retry(struct code_files *files, struct code_file *file,
			     struct guest_file *source, uint64_t now_ns)
{
	struct code_file_reading reading;

	if (!code_files_make_room(files)) {
		files->counts.no_room++;
		code_files_schedule(file, now_ns);
		return;
	}
	files->counts.retries++;
	code_files_read(files, source, file, &reading);
	if (reading.image &&
	    (reading.state != CODE_FILE_INCOMPLETE || reading.got_bytes > file->got_bytes ||
	     image_lacks_parts(file->image))) {
		code_files_set_reading(files, file, &reading);
		files->changes++;
	} else {
		image_unref(reading.image);
	}
	code_files_schedule(file, now_ns);
}

/* --- pages of code ---------------------------------------------------------------------------- */

/*
 * Finds the file's page cache. Returns false if the inode belongs to another file now, or has no
 * page cache.
 */
static bool code_files_find_cache(const struct code_files *files, const struct code_file *file,
				  struct page_cache *cache)
{
	const struct linux_guest *guest = files->reader.guest;
	struct file_identity identity;

	return file->inode && file_identity_read(guest, file->inode, &identity) &&
	       file_identity_equal(&identity, &file->identity) &&
	       page_cache_init(cache, guest, file->inode);
}

static void code_files_scan(struct code_files *files, struct code_file *file, uint64_t now_ns)
{
	struct page_cache cache;

	file->scan_delay_ns =
		backoff_next_ns(file->scan_delay_ns, CODE_FILE_RETRY_NS, CODE_FILE_MAX_RETRY_NS);
	file->scan_due_ns = now_ns + file->scan_delay_ns;
	if (file->loads.n && code_files_find_cache(files, file, &cache))
		files->walk_pages +=
			code_pages_scan(files->pages, file->number, &file->loads, &cache);
}

const struct code_file *code_files_find_by_frame(struct code_files *files, frame_t frame,
						 uint64_t time_ns, uint64_t *file_offset)
{
	const struct code_page *seen = code_pages_find(files->pages, frame);
	const struct code_file *file = seen ? &files->files[seen->file % CODE_FILES_MAX] : NULL;
	struct page_cache cache;
	frame_t now;

	if (!file || !file->image || file->number != seen->file ||
	    (int64_t)(time_ns - seen->since_ns) < 0)
		return NULL;
	memory_refresh(files->reader.guest->memory);
	if (!code_files_find_cache(files, file, &cache) ||
	    !page_cache_find_frame(&cache, seen->page, &now) || now.value != frame.value)
		return NULL;
	files->counts.by_frame++;
	*file_offset = seen->page << GUEST_PAGE_SHIFT;
	return file;
}

/* --- walks ------------------------------------------------------------------------------------ */

void code_files_begin_walk(struct code_files *files)
{
	files->walk_bytes = files->walk_pages = 0;
}

struct code_file *code_files_open(struct code_files *files, struct guest_file *source,
				  uint64_t now_ns)
{
	struct code_file *file = code_files_find(files, &source->identity);

	if (!file)
		file = code_files_add(files, source, now_ns);
	if (!file)
		return NULL;
	file->n_users++; /* an open file is not dropped to make room for its own retry */
	file->used = ++files->clock;
	if (now_ns >= file->due_ns && files->walk_bytes < files->settings.walk_bytes)
		code_files_retry(files, file, source, now_ns);
	if (now_ns >= file->scan_due_ns && files->walk_pages < CODE_FILES_MAX_WALK_PAGES)
		code_files_scan(files, file, now_ns);
	return file;
}

void code_file_close(struct code_file *file)
{
	file->n_users--;
}
