/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes recordings (layout: recording/format.h). Main creates the writer before sampling starts.
 * Then the resolver's thread calls the writer once for each record, and for each page of guest
 * memory that is read in between. Main closes the writer when the threads are joined. If the disk
 * is slow the ring fills up, which the sampler counts; the guest is never slowed down.
 *
 * The writer keeps a mirror of the pages that a reader of the file has at this point. Only those
 * lines are written that are new and that somebody reads.
 *
 * The head of a chunk is written first, then its payload piece by piece, so an image's table needs
 * no second copy in memory. If a run dies, its file is good up to the last whole chunk.
 */
#include "config.h"

#include "recording/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/output.h"
#include "xtop/sample/control.h"
#include "xtop/symbol/image.h"

#define WRITER_BUFFER_BYTES (1 << 20)
#define WRITER_COPY_BYTES   (64 << 10)

struct recording_writer {
	FILE *file;
	char *path;
	char *buffer;                   /* stdio's buffer for FILE */
	int failed_errno;               /* errno of the first failure; 0: none */
	struct recording_chunk_end end; /* counts the samples that were handed to stdio */
	struct page_mirror *mirror;     /* the pages of a reader; NULL: no memory is watched */
	uint64_t n_reads;               /* reads of memory for the next sample */
	bool is_late; /* a page has changed since it was first read for the next sample */
	enum guest_arch arch;
	struct recorded_sample sample; /* the last sample, as the file has it */
};

static void writer_write(struct recording_writer *writer, const void *bytes, size_t size_bytes)
{
	if (writer->failed_errno || !size_bytes)
		return;
	errno = 0;
	if (fwrite(bytes, 1, size_bytes, writer->file) != size_bytes)
		writer->failed_errno = errno ? errno : EIO;
}

static void writer_write_padding(struct recording_writer *writer, size_t size_bytes)
{
	static const char zeros[8];

	writer_write(writer, zeros, recording_pad(size_bytes) - size_bytes);
}

static void writer_write_padded(struct recording_writer *writer, const void *bytes,
				size_t size_bytes)
{
	writer_write(writer, bytes, size_bytes);
	writer_write_padding(writer, size_bytes);
}

static void writer_write_chunk(struct recording_writer *writer, uint32_t type, uint64_t size_bytes)
{
	struct recording_chunk chunk = { .type = type, .size_bytes = size_bytes };

	writer_write(writer, &chunk, sizeof(chunk));
}

/* Writes a chunk whose PAYLOAD is in one piece. */
static void writer_write_payload(struct recording_writer *writer, uint32_t type,
				 const void *payload, size_t size_bytes)
{
	writer_write_chunk(writer, type, size_bytes);
	writer_write_padded(writer, payload, size_bytes);
}

static void writer_write_info(struct recording_writer *writer, const struct recording_info *info)
{
	struct recording_chunk_info chunk = {
		.domid = info->domid,
		.guest_type = info->type,
		.n_vcpus = info->n_vcpus,
		.machine = recording_machine(info->arch),
		.freq_hz = info->freq_hz,
		.wallclock_s = info->wallclock_s,
		.report = info->report,
	};

	_Static_assert(sizeof(chunk.domain) == sizeof(info->domain), "domain");
	_Static_assert(sizeof(chunk.uuid) == sizeof(info->uuid), "uuid");
	memcpy(chunk.domain, info->domain, strnlen(info->domain, sizeof(chunk.domain) - 1));
	memcpy(chunk.uuid, info->uuid, strnlen(info->uuid, sizeof(chunk.uuid) - 1));
	writer_write_payload(writer, RECORDING_INFO, &chunk, sizeof(chunk));
}

/* --- an image --------------------------------------------------------------------------------- */

static void writer_write_strings(struct recording_writer *writer, const struct symtab *tab,
				 size_t n)
{
	size_t size_bytes = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = symtab_at(tab, i).name;

		writer_write(writer, name, strlen(name) + 1);
		size_bytes += strlen(name) + 1;
	}
	writer_write_padding(writer, size_bytes);
}

/* Returns how many of the first entries fit the limits of the format. */
static size_t writer_measure_image(const struct symtab *tab, uint64_t *strings_bytesp)
{
	size_t n = symtab_count(tab);
	uint64_t strings_bytes = 0;

	if (n > SYMTAB_MAX_SYMBOLS)
		n = SYMTAB_MAX_SYMBOLS;
	for (size_t i = 0; i < n; i++) {
		uint64_t name_bytes = strlen(symtab_at(tab, i).name) + 1;

		if (strings_bytes + name_bytes > SYMTAB_MAX_NAMES_BYTES) {
			n = i;
			break;
		}
		strings_bytes += name_bytes;
	}
	*strings_bytesp = strings_bytes;
	return n;
}

static void writer_write_image(struct recording_writer *writer, const struct symtab *tab,
			       const char *module, const struct build_id *build_id)
{
	size_t module_bytes = strnlen(module, RECORDING_MAX_MODULE_BYTES - 1);
	struct recording_chunk_symbols chunk = { .head_bytes = sizeof(chunk) };
	size_t n = writer_measure_image(tab, &chunk.strings_bytes);

	chunk.n_symbols = (uint32_t)n;
	chunk.module_bytes = (uint32_t)module_bytes + 1;
	chunk.build_id_bytes = build_id ? (uint32_t)build_id->size_bytes : 0;
	chunk.build_id_address = build_id ? build_id->address : 0;
	writer_write_chunk(writer, RECORDING_SYMBOLS,
			   sizeof(chunk) + n * sizeof(struct recording_symbol) +
				   recording_pad(module_bytes + 1) +
				   recording_pad(chunk.build_id_bytes) +
				   recording_pad(chunk.strings_bytes));
	writer_write(writer, &chunk, sizeof(chunk));
	for (size_t i = 0; i < n; i++) {
		struct symtab_entry entry = symtab_at(tab, i);

		writer_write(writer, &(struct recording_symbol){ entry.start, entry.end },
			     sizeof(struct recording_symbol));
	}
	writer_write(writer, module, module_bytes);
	writer_write(writer, "", 1);
	writer_write_padding(writer, module_bytes + 1);
	if (build_id)
		writer_write_padded(writer, build_id->bytes, build_id->size_bytes);
	writer_write_strings(writer, tab, n);
}

static void writer_copy(struct recording_writer *writer, int fd, size_t size_bytes)
{
	_cleanup_free_ char *buffer = malloc(WRITER_COPY_BYTES);
	size_t left = size_bytes;

	if (!buffer)
		writer->failed_errno = ENOMEM;
	while (left && !writer->failed_errno) {
		size_t n = left < WRITER_COPY_BYTES ? left : WRITER_COPY_BYTES;

		if (pread(fd, buffer, n, (off_t)(size_bytes - left)) != (ssize_t)n)
			writer->failed_errno = errno ? errno : EIO;
		writer_write(writer, buffer, n);
		left -= n;
	}
	writer_write_padding(writer, size_bytes);
}

/* Writes the unwind tables of the file that IMAGE comes from. Returns false if there are none. */
static bool writer_write_tables(struct recording_writer *writer, const struct image *image)
{
	_cleanup_close_ int fd = -1;
	struct xtop_error *error = image_copy_tables(image, &fd);
	struct stat status;

	if (error)
		writer->failed_errno = ENOMEM;
	error_destroy(error);
	if (fd < 0 || fstat(fd, &status) ||
	    (uint64_t)status.st_size > RECORDING_MAX_TABLES_BYTES)
		return false;
	writer_write_chunk(writer, RECORDING_TABLES, (uint64_t)status.st_size);
	writer_copy(writer, fd, (size_t)status.st_size);
	return true;
}

static void writer_write_symbols(struct recording_writer *writer, const struct symbols *symbols)
{
	size_t n = symbols ? symbols_count(symbols) : 0, n_tables = 0;

	for (size_t i = 0; i < n && i < RECORDING_MAX_IMAGES; i++) {
		writer_write_image(writer, symbols_table(symbols, i), symbols_module(symbols, i),
				   symbols_build_id(symbols, i));
		if (n_tables < RECORDING_MAX_TABLES)
			n_tables += writer_write_tables(writer, symbols_image(symbols, i));
	}
}

/* --- opening ---------------------------------------------------------------------------------- */

static void writer_free(struct recording_writer *writer)
{
	if (writer->file)
		fclose(writer->file);
	page_mirror_destroy(writer->mirror);
	recorded_sample_deinit(&writer->sample);
	free(writer->buffer);
	free(writer->path);
	free(writer);
}

struct xtop_error *recording_writer_open(const char *path, struct recording_writer **writerp)
{
	struct recording_writer *writer = calloc(1, sizeof(*writer));
	_cleanup_close_ int fd = -1;
	struct xtop_error *error;

	if (!writer)
		return error_create("out of memory");
	error = output_create_fd(path, &fd);
	if (error) {
		writer_free(writer);
		return error;
	}
	writer->path = strdup(path);
	writer->buffer = malloc(WRITER_BUFFER_BYTES);
	writer->file = fdopen(fd, "w");
	if (writer->file)
		fd = -1; /* the stream owns it now */
	if (!writer->path || !writer->buffer || !writer->file) {
		writer_free(writer);
		return error_create("out of memory");
	}
	setvbuf(writer->file, writer->buffer, _IOFBF, WRITER_BUFFER_BYTES);
	*writerp = writer;
	return NULL;
}

void recording_writer_begin(struct recording_writer *writer, const struct recording_info *info,
			    const struct symbols *symbols)
{
	struct recording_head head = { .version = RECORDING_VERSION, .head_bytes = sizeof(head) };

	writer->arch = info->arch;
	memcpy(head.magic, RECORDING_MAGIC, sizeof(head.magic));
	writer_write(writer, &head, sizeof(head));
	writer_write_info(writer, info);
	writer_write_symbols(writer, symbols);
	if (!writer->failed_errno && fflush(writer->file) != 0)
		writer->failed_errno = errno;
}

/* --- guest memory ----------------------------------------------------------------------------- */

/* Writes LINES of a page. READ: the number of the read that has found these lines. */
static void writer_write_page(struct recording_writer *writer, frame_t frame, uint64_t lines,
			      const char *bytes, uint64_t read)
{
	const struct recording_page page = { .frame = frame.value,
					     .lines = lines,
					     .read = writer->is_late ? read : 0 };

	writer_write_chunk(writer, RECORDING_PAGE, sizeof(page) + page_lines_bytes(lines));
	writer_write(writer, &page, sizeof(page));
	for (unsigned i = 0; i < PAGE_LINES; i++)
		if (lines >> i & 1)
			writer_write(writer, bytes + (size_t)i * PAGE_LINE_BYTES, PAGE_LINE_BYTES);
}

/* The guest has no such page any more. Tells a reader to remove the page, too. */
static void writer_remove_page(struct recording_writer *writer, frame_t frame)
{
	writer->is_late |= page_mirror_is_seen(writer->mirror, frame);
	if (page_mirror_remove(writer->mirror, frame))
		writer_write_page(writer, frame, 0, NULL, writer->n_reads);
}

/* Removes FULL from the mirror so that FRAME has room. Returns false if there is no such page. */
static bool writer_make_room(struct recording_writer *writer, frame_t frame, frame_t full)
{
	if (full.value == frame.value)
		writer->failed_errno = ENOMEM;
	else
		writer_remove_page(writer, full);
	return !writer->failed_errno;
}

static void writer_update_page(struct recording_writer *writer, frame_t frame, const char *page)
{
	bool seen = page_mirror_is_seen(writer->mirror, frame);
	frame_t full;
	uint64_t lines;

	while (!page_mirror_update(writer->mirror, frame, page, &lines, &full))
		if (!writer_make_room(writer, frame, full))
			return;
	if (!lines)
		return;
	writer->is_late |= seen;
	writer_write_page(writer, frame, lines, page, writer->n_reads);
}

/*
 * The memory has copied a page. Such a page is written line by line, when somebody reads a line:
 * mostly one task or one entry of a page table is wanted, while the whole page changes. A page that
 * a replay does not have yet is written whole.
 */
static void writer_on_copy(void *context, frame_t frame, const void *page, bool ok)
{
	struct recording_writer *writer = context;
	frame_t full;
	uint64_t lines;

	writer->n_reads++;
	if (writer->failed_errno)
		return;
	if (!ok) {
		writer_remove_page(writer, frame);
		return;
	}
	while (!page_mirror_copy(writer->mirror, frame, page, writer->n_reads, &lines, &full))
		if (!writer_make_room(writer, frame, full))
			return;
	if (lines)
		writer_write_page(writer, frame, lines, page, writer->n_reads);
}

static void writer_on_use(void *context, frame_t frame, const void *page, size_t offset,
			  size_t size_bytes)
{
	struct recording_writer *writer = context;
	uint64_t lines, read;
	bool was_used;

	if (writer->failed_errno)
		return;
	/* The page was removed to make room, but its copy is still used. */
	if (!page_mirror_find(writer->mirror, frame)) {
		writer_update_page(writer, frame, page);
		return;
	}
	read = page_mirror_use(writer->mirror, frame, page, page_lines_of(offset, size_bytes),
			       &lines, &was_used);
	if (!lines)
		return;
	writer->is_late |= was_used;
	writer_write_page(writer, frame, lines, page, read);
}

static void writer_on_read(void *context, const frame_t *frames, size_t n, const void *pages,
			   const bool *ok)
{
	struct recording_writer *writer = context;

	writer->n_reads++;
	for (size_t i = 0; i < n && !writer->failed_errno; i++) {
		if (ok[i])
			writer_update_page(writer, frames[i],
					   (const char *)pages + i * GUEST_PAGE_SIZE);
		else
			writer_remove_page(writer, frames[i]);
	}
}

static void writer_on_time(void *context, uint64_t now_ns)
{
	writer_write_payload(context, RECORDING_TIME, &now_ns, sizeof(now_ns));
}

void recording_writer_watch(struct recording_writer *writer, struct memory *memory)
{
	const struct memory_watcher watcher = { .read = writer_on_read,
						.copy = writer_on_copy,
						.use = writer_on_use,
						.time = writer_on_time,
						.context = writer };
	struct xtop_error *error = NULL;

	if (!writer->mirror)
		error = page_mirror_create(RECORDING_MAX_PAGES, &writer->mirror);
	if (error) {
		error_destroy(error);
		writer->failed_errno = ENOMEM;
		return;
	}
	memory_set_watcher(memory, &watcher);
}

/* --- records ---------------------------------------------------------------------------------- */

/* The next reads of memory belong to the next sample. */
static void writer_end_turn(struct recording_writer *writer)
{
	writer->n_reads = 0;
	writer->is_late = false;
	if (writer->mirror)
		page_mirror_begin_turn(writer->mirror);
}

void recording_writer_write_poll(struct recording_writer *writer, uint64_t now_ns)
{
	writer_write_payload(writer, RECORDING_POLL, &now_ns, sizeof(now_ns));
	writer_end_turn(writer);
}

void recording_writer_write_clocks(struct recording_writer *writer,
				   const struct recording_clocks *clocks)
{
	writer_write_payload(writer, RECORDING_CLOCKS, clocks, sizeof(*clocks));
}

void recording_writer_write_waits(struct recording_writer *writer, uint64_t now_ns,
				  uint64_t period_ns)
{
	const uint64_t times[] = { now_ns, period_ns };

	writer_write_payload(writer, RECORDING_WAITS, times, sizeof(times));
	writer_end_turn(writer);
}

void recording_writer_write_trace(struct recording_writer *writer, uint32_t domid,
				  const struct trace_chunk *chunk)
{
	const struct recording_trace head = { domid, chunk->cpu, chunk->cpu_ns, chunk->size_bytes,
					      0 };

	writer_write_chunk(writer, RECORDING_TRACE, sizeof(head) + chunk->size_bytes);
	writer_write(writer, &head, sizeof(head));
	writer_write_padded(writer, chunk->bytes, chunk->size_bytes);
	writer_end_turn(writer);
}

/* Writes the arrays one after the other, without their unused entries. */
void recording_writer_write_takers(struct recording_writer *writer,
				   const struct takers_table *table)
{
	size_t takers_bytes = table->n_takers * sizeof(table->takers[0]);
	size_t vcpus_bytes = table->n_vcpus * sizeof(table->vcpus[0]);

	if (table->n_takers > TAKERS_MAX || table->n_vcpus > GUEST_MAX_VCPUS)
		return;
	writer_write_chunk(writer, RECORDING_TAKERS,
			   RECORDING_TAKERS_BYTES + takers_bytes + vcpus_bytes);
	writer_write(writer, table, RECORDING_TAKERS_BYTES);
	writer_write(writer, table->takers, takers_bytes);
	writer_write_padded(writer, table->vcpus, vcpus_bytes);
}

void recording_writer_write(struct recording_writer *writer, const struct sample *sample,
			    const struct recording_needs *needs)
{
	if (!recorded_sample_encode(sample, needs, writer->arch, &writer->sample)) {
		writer->failed_errno = writer->failed_errno ? writer->failed_errno : ENOMEM;
		return;
	}
	writer_write_payload(writer, RECORDING_SAMPLE, writer->sample.bytes,
			     writer->sample.size_bytes);
	writer->end.n_samples++;
	writer_end_turn(writer);
}

int recording_writer_get_errno(const struct recording_writer *writer)
{
	return writer->failed_errno;
}

/* Samples in stdio's buffer are lost, too. A reader knows by the missing end mark. */
static struct xtop_error *writer_create_error(const struct recording_writer *writer)
{
	off_t size_bytes = lseek(fileno(writer->file), 0, SEEK_CUR);

	return error_create_errno(
		writer->failed_errno,
		"recording '%s' is cut short after %jd bytes, which can be replayed", writer->path,
		(intmax_t)size_bytes);
}

void recording_writer_set_counts(struct recording_writer *writer,
				 const struct sampler_counts *counts)
{
	writer->end.missed = counts->missed;
	writer->end.skipped_budget = counts->skipped_budget;
	writer->end.waited = counts->waited;
	writer->end.lost = counts->lost;
	writer->end.refused = counts->refused;
}

struct xtop_error *recording_writer_close(struct recording_writer *writer)
{
	struct xtop_error *error;

	if (!writer)
		return NULL;
	writer_write_payload(writer, RECORDING_END, &writer->end, sizeof(writer->end));
	if (!writer->failed_errno && !output_flush(writer->file))
		writer->failed_errno = errno ? errno : EIO;
	error = writer->failed_errno ? writer_create_error(writer) : NULL;
	writer_free(writer);
	return error;
}

void recording_writer_discard(struct recording_writer *writer, const struct output_opener *opener)
{
	if (!writer)
		return;
	__fpurge(writer->file);
	/* recording_writer_open() has created the file */
	if (ftruncate(fileno(writer->file), 0) == 0)
		output_remove(writer->path, fileno(writer->file), opener);
	writer_free(writer);
}
