/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads one file of the guest into an image; see code_file_reader.h. Resolver's thread.
 *
 * The sources of the bytes, in this order:
 *
 *   the guest's page cache, or a process's mapping     guest_file.c
 *   a file of -k, if its build-id is the same          the user who gives -k wants it used
 *   the same path below --root                         if the guest's file is incomplete. The
 *                                                      build-ids must be equal, or if one of them
 *                                                      is unknown, the sizes must be equal
 *   a debug file of dom0                               names only, if a program is stripped
 */
#include "config.h"

#include "linux/process/code_file_reader.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/root_file.h"
#include "xtop/base/work.h"

/*
 * Reads the path of FILE. Its struct file may be another file's by now: the process from whose
 * areas it was taken may have ended. Then the names of the inode are left.
 */
static bool code_file_read_path(struct code_file_reader *reader, const struct guest_file *file)
{
	const struct linux_guest *guest = reader->guest;
	struct guest_file now = { 0 };

	if (path_read(guest, file->file, &reader->path) &&
	    guest_file_find_inode(guest, file->file, &now) &&
	    file_identity_equal(&now.identity, &file->identity))
		return true;
	return path_read_inode(guest, file->inode, &reader->path) &&
	       file_identity_read(guest, file->inode, &now.identity) &&
	       file_identity_equal(&now.identity, &file->identity);
}

/*
 * The last component of the path. A file without a path keeps the name BEFORE, which it had, and is
 * named after its kind if it had none.
 */
static const char *code_file_find_name(struct code_file_reader *reader,
				       const struct guest_file *file, const char *before,
				       bool *no_path)
{
	const char *slash;

	*no_path = false;
	if (!file->file)
		return "[vdso]";
	if (!code_file_read_path(reader, file)) {
		*no_path = true;
		return before ? before : "[file]";
	}
	slash = strrchr(reader->path.path, '/');
	return slash && slash[1] ? slash + 1 : reader->path.path;
}

static enum code_file_state code_file_state_of(enum loads_result result)
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

/* --- bytes that are read later ---------------------------------------------------------------- */

/* Copies of the guest's pages are dropped after this time; page tables and nodes go out of date. */
#define CODE_FILE_FRESH_NS 100000000ULL

/* The bytes of one file, for struct image_source. */
struct late_file {
	struct guest_inode inode;
	struct code_file_reader *reader; /* outlives the image */
	uint64_t refreshed_ns;
};

static size_t late_file_read(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	struct late_file *file = context;
	struct memory *memory = file->inode.guest->memory;
	uint64_t now_ns = memory_now_ns(memory);
	struct page_cache cache = { 0 };
	size_t got;

	if (now_ns - file->refreshed_ns >= CODE_FILE_FRESH_NS) {
		memory_refresh(memory);
		file->refreshed_ns = now_ns;
	}
	got = guest_inode_read(&file->inode, &cache, offset, buffer, size_bytes);
	file->reader->late_bytes += got;
	file->reader->absent_pages += cache.n_absent;
	file->reader->evicted_pages += cache.n_evicted;
	return got;
}

static void late_file_close(void *context)
{
	free(context);
}

/* Returns false if the file has no page cache, or memory is out. */
static bool late_file_open(struct code_file_reader *reader, const struct guest_file *file,
			   struct image_source *source)
{
	struct late_file *late = file->cache ? malloc(sizeof(*late)) : NULL;

	if (!late)
		return false;
	*late = (struct late_file){ .inode = { file->guest, file->identity, file->inode },
				    .reader = reader,
				    .refreshed_ns = memory_now_ns(file->guest->memory) };
	*source = (struct image_source){
		.bytes = { late_file_read, late, file->identity.size_bytes },
		.close = late_file_close,
	};
	return true;
}

/* --- one reading ------------------------------------------------------------------------------ */

/*
 * A file that is no ELF file of this machine gets only a name. LATE: bytes for what may be read
 * later; closed if they are not used. NULL: all is read now.
 */
static void code_file_read_bytes(const struct bytes *bytes, const struct image_source *late,
				 const char *name, struct work *work,
				 struct code_file_reading *reading)
{
	enum loads_result result = loads_read(bytes, &reading->loads);
	struct xtop_error *error = image_create(name, &reading->image);

	reading->state = code_file_state_of(result);
	if (!error && result == LOADS_READ) {
		reading->image->work = work;
		if (late && image_open_elf(reading->image, bytes, late))
			late = NULL;
		else
			error = image_read_elf(reading->image, bytes);
		/* loads_read() has seen the ELF header: a failure here means missing bytes */
		if (!error && !reading->image->incomplete)
			reading->state = CODE_FILE_WHOLE;
	}
	if (late)
		late->close(late->bytes.context);
	if (reading->image) {
		reading->kept_bytes = image_memory_bytes(reading->image);
		reading->unpacked_bytes = reading->image->unpacked_bytes;
	}
	error_destroy(error);
}

/* Reads FD, a file on dom0's disk. */
static void code_file_read_host(int fd, const char *name, struct work *work,
				struct code_file_reading *reading)
{
	struct xtop_error *error = image_create(name, &reading->image);

	if (!error)
		reading->image->work = work;
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

static void code_file_read_guest(struct code_file_reader *reader, struct guest_file *file,
				 const char *name, struct code_file_reading *reading)
{
	struct page_cache cache = { 0 };
	struct image_source late;
	struct bytes bytes;

	file->guest = reader->guest;
	file->max_bytes = CODE_FILE_MAX_READ_BYTES;
	if (file->inode && page_cache_init(&cache, reader->guest, file->inode))
		file->cache = &cache;
	bytes = guest_file_bytes(file, file->identity.size_bytes);
	code_file_read_bytes(&bytes, late_file_open(reader, file, &late) ? &late : NULL, name,
			     memory_work(reader->guest->memory), reading);
	file->cache = NULL;
	reading->got_bytes = file->got_bytes;
	reading->wasted_bytes = file->wasted_bytes;
	reading->exhausted = file->exhausted;
	reader->absent_pages += cache.n_absent;
	reader->evicted_pages += cache.n_evicted;
}

/* Uses the image of a file of -k that has the same build-id. Returns false if there is none. */
static bool code_file_use_symbols(struct code_file_reader *reader,
				  struct code_file_reading *reading)
{
	const struct symbols *symbols = reader->symbols;

	for (size_t i = 0; symbols && i < symbols_count(symbols); i++) {
		struct image *given = symbols_image(symbols, i);

		if (!build_id_equal(&given->build_id, &reading->image->build_id))
			continue;
		image_unref(reading->image);
		reading->image = image_ref(given);
		reading->kept_bytes = 0;
		reading->state = CODE_FILE_WHOLE;
		return true;
	}
	return false;
}

/* Whether the file below --root is the guest's file: build-ids or sizes are equal. */
static bool code_file_is_same(const struct code_file_reader *reader, const struct guest_file *file,
			      const struct code_file_reading *reading, const struct image *other,
			      uint64_t size_bytes)
{
	if (reading->image->build_id.size_bytes && other->build_id.size_bytes)
		return build_id_equal(&reading->image->build_id, &other->build_id);
	return !reader->path.deleted && file->identity.size_bytes == size_bytes;
}

/* Lets files without tables be unwound by their instructions. Does nothing if memory is out. */
static void code_file_attach_code(const struct code_file_reader *reader,
				  const struct guest_file *file,
				  const struct code_file_reading *reading, int root_fd)
{
	error_destroy(guest_code_attach(reading->image, file, &reading->loads, root_fd,
					reader->turns));
}

/* Uses the file below --root, if that file exists, is complete and is the guest's file. */
static void code_file_use_root(struct code_file_reader *reader, const struct guest_file *file,
			       const char *name, struct code_file_reading *reading)
{
	_cleanup_(root_file_close) struct root_file root_file = { .fd = -1 };
	struct code_file_reading other = { 0 };

	if (!file->file || !root_file_open(reader->debug.root_fd, reader->path.path, &root_file))
		return;
	code_file_read_host(root_file.fd, name, memory_work(reader->guest->memory), &other);
	if (!other.image || other.state != CODE_FILE_WHOLE ||
	    !code_file_is_same(reader, file, reading, other.image, root_file.size_bytes)) {
		image_unref(other.image);
		return;
	}
	image_unref(reading->image);
	reading->image = other.image;
	reading->kept_bytes = other.kept_bytes;
	reading->loads = other.loads;
	reading->state = CODE_FILE_WHOLE;
	code_file_attach_code(reader, file, reading, root_file.fd);
}

/* Adds names that neither the guest's file nor the file below --root has. */
static void code_file_use_debug_file(const struct code_file_reader *reader,
				     const struct guest_file *file,
				     struct code_file_reading *reading)
{
	bool known = file->file && !reading->no_path && !reader->path.deleted;

	if (known)
		image_set_path(reading->image, reader->path.path);
	if (reading->image->stripped || reading->image->incomplete)
		debug_files_read(&reader->debug, reading->image, known ? reader->path.path : NULL);
	debug_files_find_lines(&reader->debug, reading->image, known ? reader->path.path : NULL,
			       NULL, 0);
	reading->kept_bytes = image_memory_bytes(reading->image);
}

/* Reads the file called NAME, from the guest and where else it may be. */
static void code_file_read_sources(struct code_file_reader *reader, struct guest_file *file,
				   const char *name, bool lacks_parts,
				   struct code_file_reading *reading)
{
	code_file_read_guest(reader, file, name, reading);
	if (lacks_parts && reading->state == CODE_FILE_WHOLE)
		reading->state = CODE_FILE_INCOMPLETE;
	if (!reading->image || reading->state == CODE_FILE_NO_ELF ||
	    reading->state == CODE_FILE_ELF32 || code_file_use_symbols(reader, reading))
		return;
	if (reading->state == CODE_FILE_INCOMPLETE && !reading->no_path)
		code_file_use_root(reader, file, name, reading);
	if (!reading->image->tables.computed)
		code_file_attach_code(reader, file, reading, -1);
	code_file_use_debug_file(reader, file, reading);
	if (reading->state == CODE_FILE_INCOMPLETE && reading->exhausted)
		reading->state = CODE_FILE_TOO_LARGE; /* the next reading would be cut off, too */
}

void code_file_read(struct code_file_reader *reader, struct guest_file *file, const char *before,
		    bool lacks_parts, struct code_file_reading *reading)
{
	struct work *work = memory_work(reader->guest->memory);
	const char *name;

	*reading = (struct code_file_reading){ 0 };
	name = code_file_find_name(reader, file, before, &reading->no_path);
	work_begin(work, name);
	code_file_read_sources(reader, file, name, lacks_parts, reading);
	work_end(work);
}
