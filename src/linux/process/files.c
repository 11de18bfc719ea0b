/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the guest as images. Resolver's thread.
 *
 * Where the bytes come from, in this order:
 *
 *   the guest's page cache, or a process's mapping     file_bytes.c
 *   a file of -k, if its build-id is the same          whoever gives one wants it used
 *   the same path below --root                         if the guest's is not whole; the build-ids
 *                                                      are equal, or one is not known and the
 *                                                      sizes are equal
 *
 * A file of which bytes were missing is read again when it is asked for and its time has come:
 * after 1 s, 2 s, 4 s .. 60 s. What is read then replaces what was there if more could be read. A
 * struct image that spaces have is never changed, another takes its place.
 *
 * Files that no process maps are kept, as the next process may start the same program, until their
 * place or their room (room.h) is needed for others.
 */
#include "config.h"

#include "linux/process/files.h"

#include <stdlib.h>
#include <string.h>

#include "linux/kernel/member.h"
#include "linux/process/code_frames.h"
#include "linux/process/path.h"
#include "linux/process/root_files.h"
#include "xtop/cleanup.h"

struct files {
	const struct linux_guest *linux_guest;
	struct files_settings settings;
	uint64_t clock, changes;
	uint64_t walk_bytes; /* read for the walk that is on */
	uint64_t walk_pages; /* same: looked for in the page cache */
	struct files_counts counts;
	struct code_file files[FILES_MAX]; /* image NULL: free */
	uint64_t n_added;
	struct code_frames *frames;
	frame_t seen[FILE_MAX_CODE_PAGES]; /* of one segment */
	struct path_name path;             /* of the file that is read */
};

struct xtop_error *files_create(const struct linux_guest *linux_guest,
				const struct files_settings *settings, struct files **filesp)
{
	struct files *files = calloc(1, sizeof(*files));
	struct xtop_error *error;

	if (!files)
		return error_create("out of memory for the guest's files");
	error = code_frames_create(&files->frames);
	if (error) {
		free(files);
		return error;
	}
	files->linux_guest = linux_guest;
	files->settings = *settings;
	if (!settings->walk_bytes)
		files->settings.walk_bytes = FILES_MAX_WALK_BYTES;
	*filesp = files;
	return NULL;
}

static void files_drop(struct files *files, struct code_file *file)
{
	room_take(files->settings.room, &file->kept_bytes, 0);
	image_unref(file->image);
	*file = (struct code_file){ 0 };
}

void files_destroy(struct files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < FILES_MAX; i++)
		if (files->files[i].image)
			files_drop(files, &files->files[i]);
	code_frames_destroy(files->frames);
	free(files);
}

uint64_t files_changes(const struct files *files)
{
	return files->changes;
}

struct files_counts files_counts(const struct files *files)
{
	struct files_counts counts = files->counts;

	for (size_t i = 0; i < FILES_MAX; i++) {
		const struct code_file *file = &files->files[i];

		if (!file->image)
			continue;
		counts.kept++;
		counts.incomplete += file->state == CODE_FILE_INCOMPLETE;
		counts.no_elf += file->state == CODE_FILE_NO_ELF;
		counts.elf32 += file->state == CODE_FILE_ELF32;
		counts.too_large += file->state == CODE_FILE_TOO_LARGE;
		counts.cut += file->image->cut;
		counts.no_symbols += file->state == CODE_FILE_WHOLE && !file->image->symtab;
	}
	return counts;
}

static bool files_identify_inode(const struct linux_guest *linux_guest, uint64_t inode,
				 struct file_identity *identityp)
{
	struct file_identity identity = { 0 };

	if (!member_read_pointer(linux_guest, inode, INODE_SB, &identity.super_block) ||
	    !member_read_u64(linux_guest, inode, INODE_INO, &identity.inode_number) ||
	    !member_read_u64(linux_guest, inode, INODE_SIZE, &identity.size_bytes))
		return false;
	/* zeros where the kernel has none */
	member_read_u64(linux_guest, inode, INODE_MTIME_SEC, &identity.mtime_sec);
	member_read_u32(linux_guest, inode, INODE_MTIME_NSEC, &identity.mtime_nsec);
	member_read_u32(linux_guest, inode, INODE_GENERATION, &identity.generation);
	*identityp = identity;
	return true;
}

bool files_identify(const struct linux_guest *linux_guest, uint64_t file,
		    struct file_source *source)
{
	uint64_t inode;

	if (!member_read_pointer(linux_guest, file, FILE_INODE, &inode) ||
	    !files_identify_inode(linux_guest, inode, &source->identity))
		return false;
	source->inode = inode;
	source->file = file;
	return true;
}

static bool files_same(const struct file_identity *a, const struct file_identity *b)
{
	return a->super_block == b->super_block && a->inode_number == b->inode_number &&
	       a->size_bytes == b->size_bytes && a->mtime_sec == b->mtime_sec &&
	       a->mtime_nsec == b->mtime_nsec && a->generation == b->generation;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* What one reading of a file yields. */
struct file_reading {
	struct image *image; /* NULL: out of memory */
	struct loads loads;
	enum code_file_state state;
	uint64_t got_bytes;
	size_t kept_bytes; /* 0: of -k, which is there anyway */
	bool exhausted;
};

/* The last component; what has no path: what it is. */
static const char *files_name(struct files *files, const struct file_source *source, bool *no_path)
{
	const char *slash;

	*no_path = false;
	if (!source->file)
		return "[vdso]";
	if (!path_of_file(files->linux_guest, source->file, &files->path)) {
		*no_path = true;
		return "[file]";
	}
	slash = strrchr(files->path.path, '/');
	return slash && slash[1] ? slash + 1 : files->path.path;
}

static enum code_file_state files_state(enum loads_result result)
{
	switch (result) {
	case LOADS_NO_ELF:
		return CODE_FILE_NO_ELF;
	case LOADS_ELF32:
		return CODE_FILE_ELF32;
	case LOADS_READ:
	case LOADS_MISSING:
		break;
	}
	return CODE_FILE_INCOMPLETE;
}

/* What is no ELF file of x86-64 has a name only. */
static void files_read_bytes(const struct bytes *bytes, const char *name,
			     struct file_reading *reading)
{
	enum loads_result result = loads_read(bytes, &reading->loads);
	struct xtop_error *error = image_create(name, &reading->image);

	reading->state = files_state(result);
	if (!error && result == LOADS_READ) {
		error = image_read_elf(reading->image, bytes);
		/* what was no ELF is incomplete bytes now: loads_read() has seen its header */
		if (!error && !reading->image->incomplete)
			reading->state = CODE_FILE_WHOLE;
	}
	if (reading->image)
		reading->kept_bytes = image_memory_bytes(reading->image);
	error_destroy(error);
}

/* The same of FD, a file of dom0's disk. */
static void files_read_host(int fd, const char *name, struct file_reading *reading)
{
	struct xtop_error *error = image_create(name, &reading->image);

	if (!error)
		error = image_read_host_elf(reading->image, fd, &reading->loads);
	if (!error && reading->loads.n && !reading->image->incomplete)
		reading->state = CODE_FILE_WHOLE;
	else
		reading->state = CODE_FILE_INCOMPLETE;
	if (reading->image)
		reading->kept_bytes = image_memory_bytes(reading->image);
	error_destroy(error);
}

static bool files_take_given(struct files *files, struct file_reading *reading)
{
	const struct symbols *symbols = files->settings.symbols;

	for (size_t i = 0; symbols && i < symbols_count(symbols); i++) {
		struct image *given = symbols_image(symbols, i);

		if (!build_id_equal(&given->build_id, &reading->image->build_id))
			continue;
		image_unref(reading->image);
		reading->image = image_ref(given);
		reading->kept_bytes = 0;
		reading->state = CODE_FILE_WHOLE;
		files->counts.from_symbols++;
		return true;
	}
	return false;
}

/* Whether the file below --root is the one that the guest has. */
static bool files_is_same_file(const struct files *files, const struct file_source *source,
			       const struct file_reading *reading, const struct image *other,
			       uint64_t size_bytes)
{
	if (reading->image->build_id.size_bytes && other->build_id.size_bytes)
		return build_id_equal(&reading->image->build_id, &other->build_id);
	return !files->path.deleted && source->identity.size_bytes == size_bytes;
}

static void files_take_root(struct files *files, const struct file_source *source, const char *name,
			    struct file_reading *reading)
{
	_cleanup_(root_file_close) struct root_file file = { .fd = -1 };
	struct file_reading other = { 0 };

	if (!source->file || !root_file_open(files->settings.root_fd, files->path.path, &file))
		return;
	files_read_host(file.fd, name, &other);
	if (!other.image || other.state != CODE_FILE_WHOLE ||
	    !files_is_same_file(files, source, reading, other.image, file.size_bytes)) {
		image_unref(other.image);
		return;
	}
	image_unref(reading->image);
	reading->image = other.image;
	reading->kept_bytes = other.kept_bytes;
	reading->loads = other.loads;
	reading->state = CODE_FILE_WHOLE;
	files->counts.from_root++;
}

static void files_read_guest(struct files *files, struct file_source *source, const char *name,
			     struct file_reading *reading)
{
	struct page_cache cache = { 0 };
	struct bytes bytes;

	source->bytes.linux_guest = files->linux_guest;
	source->bytes.left_bytes = FILE_MAX_READ_BYTES;
	if (source->inode && page_cache_init(&cache, files->linux_guest, source->inode))
		source->bytes.cache = &cache;
	bytes = file_bytes(&source->bytes, source->identity.size_bytes);
	files_read_bytes(&bytes, name, reading);
	source->bytes.cache = NULL;
	reading->got_bytes = source->bytes.got_bytes;
	reading->exhausted = source->bytes.exhausted;
	files->counts.bytes += reading->got_bytes;
	files->walk_bytes += reading->got_bytes;
	files->counts.absent_pages += cache.n_absent;
	files->counts.evicted_pages += cache.n_evicted;
}

static void files_read(struct files *files, struct file_source *source,
		       struct file_reading *reading, bool *no_path)
{
	const char *name = files_name(files, source, no_path);

	*reading = (struct file_reading){ 0 };
	files->counts.reads++;
	files_read_guest(files, source, name, reading);
	if (!reading->image || reading->state == CODE_FILE_NO_ELF ||
	    reading->state == CODE_FILE_ELF32 || files_take_given(files, reading))
		return;
	if (reading->state == CODE_FILE_INCOMPLETE && !*no_path)
		files_take_root(files, source, name, reading);
	if (reading->state == CODE_FILE_INCOMPLETE && reading->exhausted)
		reading->state = CODE_FILE_TOO_LARGE; /* trying again would yield the same */
}

/* --- code by its frame ------------------------------------------------------------------------ */

/*
 * A page of a program lies in one frame for all who run it: the page cache's. What is in which frame
 * is looked up when a file is first met, and again from time to time, as a guest reads its files page
 * by page:
 *
 *     seen in F             a sample runs in F          looked at again
 *   ────┼───────────────────────────┼──────────────────────────┼───────► time
 *   file X, page i                                     file X, page i: so was it
 *
 * Anything may have become of the sample's process by then; of X it is known. A page that left the page
 * cache in between would have to come back into the same frame, and another's be run there meanwhile.
 */

static bool files_open_cache(const struct files *files, const struct code_file *file,
			     struct page_cache *cache)
{
	struct file_identity identity;

	return file->inode && files_identify_inode(files->linux_guest, file->inode, &identity) &&
	       files_same(&identity, &file->identity) &&
	       page_cache_init(cache, files->linux_guest, file->inode);
}

/* How many pages of it were looked for, at most MAX. The time is that after the last of them was read. */
static uint64_t files_see_segment(struct files *files, const struct code_file *file,
				  struct page_cache *cache, const struct load *load, uint64_t max)
{
	uint64_t first = load->offset >> GUEST_PAGE_SHIFT, in_page = load->offset & GUEST_PAGE_MASK;
	uint64_t n = (in_page + load->file_bytes + GUEST_PAGE_MASK) >> GUEST_PAGE_SHIFT;
	struct code_frame seen = { .file = file->number };

	if (n > max)
		n = max;
	for (uint64_t i = 0; i < n; i++)
		if (!page_cache_frame(cache, first + i, &files->seen[i]))
			files->seen[i] = FRAME(0);
	seen.since_ns = memory_now_ns(files->linux_guest->memory);
	for (uint64_t i = 0; i < n; i++) {
		seen.frame = files->seen[i].value;
		seen.page = first + i;
		if (seen.frame)
			code_frames_add(files->frames, &seen);
	}
	return n;
}

static void files_see_code(struct files *files, struct code_file *file, uint64_t now_ns)
{
	uint64_t left = FILE_MAX_CODE_PAGES;
	struct page_cache cache;

	file->frames_retry_ns = file->frames_retry_ns ? 2 * file->frames_retry_ns : FILE_RETRY_NS;
	if (file->frames_retry_ns > FILE_MAX_RETRY_NS)
		file->frames_retry_ns = FILE_MAX_RETRY_NS;
	file->frames_due_ns = now_ns + file->frames_retry_ns;
	if (!file->loads.n || !files_open_cache(files, file, &cache))
		return;
	for (unsigned i = 0; i < file->loads.n; i++)
		if (file->loads.loads[i].executable)
			left -= files_see_segment(files, file, &cache, &file->loads.loads[i], left);
	files->walk_pages += FILE_MAX_CODE_PAGES - left;
}

const struct code_file *files_by_frame(struct files *files, frame_t frame, uint64_t time_ns,
				       uint64_t *file_offset)
{
	const struct code_frame *seen = code_frames_find(files->frames, frame);
	const struct code_file *file = seen ? &files->files[seen->file % FILES_MAX] : NULL;
	struct page_cache cache;
	frame_t now;

	if (!file || !file->image || file->number != seen->file ||
	    (int64_t)(time_ns - seen->since_ns) < 0)
		return NULL;
	memory_refresh(files->linux_guest->memory);
	if (!files_open_cache(files, file, &cache) || !page_cache_frame(&cache, seen->page, &now) ||
	    now.value != frame.value)
		return NULL;
	files->counts.by_frame++;
	*file_offset = seen->page << GUEST_PAGE_SHIFT;
	return file;
}

/* --- keeping ---------------------------------------------------------------------------------- */

static void files_schedule(struct code_file *file, uint64_t now_ns)
{
	if (file->state != CODE_FILE_INCOMPLETE) {
		file->due_ns = UINT64_MAX;
		return;
	}
	file->retry_ns = file->retry_ns ? 2 * file->retry_ns : FILE_RETRY_NS;
	if (file->retry_ns > FILE_MAX_RETRY_NS)
		file->retry_ns = FILE_MAX_RETRY_NS;
	file->due_ns = now_ns + file->retry_ns;
}

static void files_take(struct files *files, struct code_file *file,
		       const struct file_reading *reading)
{
	if (file->image)
		image_succeed(file->image, reading->image);
	image_unref(file->image);
	file->image = reading->image;
	file->loads = reading->loads;
	file->state = reading->state;
	file->got_bytes = reading->got_bytes;
	file->frames_retry_ns = file->frames_due_ns = 0;
	room_take(files->settings.room, &file->kept_bytes, reading->kept_bytes);
}

/* The one of those without users that was used last. NULL: all are in use. */
static struct code_file *files_unused(struct files *files)
{
	struct code_file *oldest = NULL;

	for (size_t i = 0; i < FILES_MAX; i++) {
		struct code_file *file = &files->files[i];

		if (file->image && !file->n_users && (!oldest || file->used < oldest->used))
			oldest = file;
	}
	return oldest;
}

static struct code_file *files_find(struct files *files, const struct file_identity *identity)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		if (files->files[i].image && files_same(&files->files[i].identity, identity))
			return &files->files[i];
	return NULL;
}

bool files_drop_unused(struct files *files)
{
	struct code_file *unused = files_unused(files);

	if (unused)
		files_drop(files, unused);
	return unused;
}

/* False: what is in use takes all of it. */
static bool files_make_room(struct files *files)
{
	while (room_is_full(files->settings.room))
		if (!files_drop_unused(files))
			return false;
	return true;
}

static struct code_file *files_free_place(struct files *files)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		if (!files->files[i].image)
			return &files->files[i];
	return NULL;
}

static struct code_file *files_place(struct files *files)
{
	struct code_file *place;

	if (!files_make_room(files))
		return NULL;
	place = files_free_place(files);
	return place || !files_drop_unused(files) ? place : files_free_place(files);
}

void files_begin_walk(struct files *files)
{
	files->walk_bytes = files->walk_pages = 0;
}

static struct code_file *files_add(struct files *files, struct file_source *source, uint64_t now_ns)
{
	struct file_reading reading;
	struct code_file *file;

	if (files->walk_bytes >= files->settings.walk_bytes) {
		files->counts.put_off++;
		return NULL;
	}
	file = files_place(files);
	if (!file) {
		files->counts.no_room++;
		return NULL;
	}
	files_read(files, source, &reading, &file->no_path);
	if (!reading.image)
		return NULL;
	file->identity = source->identity;
	file->inode = source->inode;
	file->number = files->n_added++ * FILES_MAX + (uint64_t)(file - files->files);
	files_take(files, file, &reading);
	files_schedule(file, now_ns);
	return file;
}

static void files_retry(struct files *files, struct code_file *file, struct file_source *source,
			uint64_t now_ns)
{
	struct file_reading reading;

	if (!files_make_room(files)) {
		files->counts.no_room++;
		files_schedule(file, now_ns);
		return;
	}
	files->counts.retries++;
	files_read(files, source, &reading, &file->no_path);
	if (reading.image &&
	    (reading.state != CODE_FILE_INCOMPLETE || reading.got_bytes > file->got_bytes)) {
		files_take(files, file, &reading);
		files->changes++;
	} else {
		image_unref(reading.image);
	}
	files_schedule(file, now_ns);
}

struct code_file *files_get(struct files *files, struct file_source *source, uint64_t now_ns)
{
	struct code_file *file = files_find(files, &source->identity);

	if (!file)
		file = files_add(files, source, now_ns);
	if (!file)
		return NULL;
	file->n_users++; /* also while it is read again: it makes no room for itself */
	file->used = ++files->clock;
	if (now_ns >= file->due_ns && files->walk_bytes < files->settings.walk_bytes)
		files_retry(files, file, source, now_ns);
	if (now_ns >= file->frames_due_ns && files->walk_pages < FILES_MAX_WALK_PAGES)
		files_see_code(files, file, now_ns);
	return file;
}

void files_put(struct files *files, struct code_file *file)
{
	(void)files;
	file->n_users--;
}
