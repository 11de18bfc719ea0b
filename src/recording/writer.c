/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes recordings (layout: xtop/recording_format.h). Created in main before sampling starts, then
 * called on the resolver's thread once a record, and for every page of guest memory that is read in
 * between; closed in main when the threads are joined. A slow disk fills the ring, which the sampler
 * counts; it never reaches the guest.
 *
 * Most of what is read again has changed in a few places only: the writer keeps the pages as a reader
 * has them by now, and writes what is new in them.
 *
 * Chunks go out head first, and their payload piece by piece: an image's table needs no second copy
 * in memory. A run that dies leaves a file that is good up to its last whole chunk.
 */
#include "config.h"

#include "xtop/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtop/cleanup.h"
#include "xtop/control.h"
#include "xtop/output.h"
#include "xtop/recording_format.h"

#define RECORDING_BUFFER_BYTES (1 << 20)

struct recording_writer {
	FILE *file;
	char *path;
	char *buffer;                   /* of FILE */
	int failed_errno;               /* of the first failure; 0: none */
	struct recording_chunk_end end; /* its samples have been handed to stdio */
	struct pages *pages;            /* as a reader has them; NULL: no memory is watched */
	uint64_t n_reads;               /* for the sample that comes next */
	bool is_late; /* one of its pages was read before, and was otherwise then */
};

static void recording_put(struct recording_writer *writer, const void *bytes, size_t size_bytes)
{
	if (writer->failed_errno || !size_bytes)
		return;
	errno = 0;
	if (fwrite(bytes, 1, size_bytes, writer->file) != size_bytes)
		writer->failed_errno = errno ? errno : EIO;
}

static void recording_put_padding(struct recording_writer *writer, size_t size_bytes)
{
	static const char zeros[8];

	recording_put(writer, zeros, recording_pad(size_bytes) - size_bytes);
}

static void recording_put_padded(struct recording_writer *writer, const void *bytes,
				 size_t size_bytes)
{
	recording_put(writer, bytes, size_bytes);
	recording_put_padding(writer, size_bytes);
}

static void recording_put_chunk(struct recording_writer *writer, uint32_t type, uint64_t size_bytes)
{
	struct recording_chunk chunk = { .type = type, .size_bytes = size_bytes };

	recording_put(writer, &chunk, sizeof(chunk));
}

static void recording_put_time(struct recording_writer *writer, uint32_t type, uint64_t time_ns)
{
	recording_put_chunk(writer, type, sizeof(time_ns));
	recording_put(writer, &time_ns, sizeof(time_ns));
}

static void recording_put_info(struct recording_writer *writer, const struct recording_info *info)
{
	struct recording_chunk_info chunk = {
		.domid = info->domid,
		.guest_type = info->type,
		.n_vcpus = info->n_vcpus,
		.machine = RECORDING_MACHINE_X86_64,
		.freq_hz = info->freq_hz,
		.wallclock_s = info->wallclock_s,
	};

	_Static_assert(sizeof(chunk.domain) == sizeof(info->domain), "domain");
	_Static_assert(sizeof(chunk.uuid) == sizeof(info->uuid), "uuid");
	memcpy(chunk.domain, info->domain, strnlen(info->domain, sizeof(chunk.domain) - 1));
	memcpy(chunk.uuid, info->uuid, strnlen(info->uuid, sizeof(chunk.uuid) - 1));
	recording_put_chunk(writer, RECORDING_INFO, sizeof(chunk));
	recording_put_padded(writer, &chunk, sizeof(chunk));
}

/* --- an image --------------------------------------------------------------------------------- */

static void recording_put_strings(struct recording_writer *writer, const struct symtab *tab,
				  size_t n)
{
	size_t size_bytes = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = symtab_at(tab, i).name;

		recording_put(writer, name, strlen(name) + 1);
		size_bytes += strlen(name) + 1;
	}
	recording_put_padding(writer, size_bytes);
}

/* As many leading entries as fit the limits of the format. */
static size_t recording_measure(const struct symtab *tab, uint64_t *strings_bytesp)
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

static void recording_put_image(struct recording_writer *writer, const struct symtab *tab,
				const char *module, const struct build_id *build_id)
{
	size_t module_bytes = strnlen(module, RECORDING_MAX_MODULE_BYTES - 1);
	struct recording_chunk_symbols chunk = { .head_bytes = sizeof(chunk) };
	size_t n = recording_measure(tab, &chunk.strings_bytes);

	chunk.n_symbols = (uint32_t)n;
	chunk.module_bytes = (uint32_t)module_bytes + 1;
	chunk.build_id_bytes = build_id ? (uint32_t)build_id->size_bytes : 0;
	chunk.build_id_address = build_id ? build_id->address : 0;
	recording_put_chunk(writer, RECORDING_SYMBOLS,
			    sizeof(chunk) + n * sizeof(struct recording_symbol) +
				    recording_pad(module_bytes + 1) +
				    recording_pad(chunk.build_id_bytes) +
				    recording_pad(chunk.strings_bytes));
	recording_put(writer, &chunk, sizeof(chunk));
	for (size_t i = 0; i < n; i++) {
		struct symtab_entry entry = symtab_at(tab, i);

		recording_put(writer, &(struct recording_symbol){ entry.start, entry.end },
			      sizeof(struct recording_symbol));
	}
	recording_put(writer, module, module_bytes);
	recording_put(writer, "", 1);
	recording_put_padding(writer, module_bytes + 1);
	if (build_id)
		recording_put_padded(writer, build_id->bytes, build_id->size_bytes);
	recording_put_strings(writer, tab, n);
}

static void recording_put_symbols(struct recording_writer *writer, const struct symbols *symbols)
{
	size_t n = symbols ? symbols_count(symbols) : 0;

	for (size_t i = 0; i < n && i < RECORDING_MAX_IMAGES; i++)
		recording_put_image(writer, symbols_table(symbols, i), symbols_module(symbols, i),
				    symbols_build_id(symbols, i));
}

/* --- life ------------------------------------------------------------------------------------- */

static void recording_writer_free(struct recording_writer *writer)
{
	if (writer->file)
		fclose(writer->file);
	pages_destroy(writer->pages);
	free(writer->buffer);
	free(writer->path);
	free(writer);
}

struct xtop_error *recording_create(const char *path, struct recording_writer **writerp)
{
	struct recording_writer *writer = calloc(1, sizeof(*writer));
	_cleanup_close_ int fd = -1;
	struct xtop_error *error;

	if (!writer)
		return error_create("out of memory");
	error = output_create_fd(path, &fd);
	if (error) {
		recording_writer_free(writer);
		return error;
	}
	writer->path = strdup(path);
	writer->buffer = malloc(RECORDING_BUFFER_BYTES);
	writer->file = fdopen(fd, "w");
	if (writer->file)
		fd = -1; /* the stream's now */
	if (!writer->path || !writer->buffer || !writer->file) {
		recording_writer_free(writer);
		return error_create("out of memory");
	}
	setvbuf(writer->file, writer->buffer, _IOFBF, RECORDING_BUFFER_BYTES);
	*writerp = writer;
	return NULL;
}

void recording_begin(struct recording_writer *writer, const struct recording_info *info,
		     const struct symbols *symbols)
{
	struct recording_head head = { .version = RECORDING_VERSION, .head_bytes = sizeof(head) };

	memcpy(head.magic, RECORDING_MAGIC, sizeof(head.magic));
	recording_put(writer, &head, sizeof(head));
	recording_put_info(writer, info);
	recording_put_symbols(writer, symbols);
	if (!writer->failed_errno && fflush(writer->file) != 0)
		writer->failed_errno = errno;
}

/* --- guest memory ----------------------------------------------------------------------------- */

static void recording_put_page(struct recording_writer *writer, frame_t frame, uint64_t lines,
			       const char *bytes)
{
	const struct recording_page page = { .frame = frame.value,
					     .lines = lines,
					     .read = writer->is_late ? writer->n_reads : 0 };

	recording_put_chunk(writer, RECORDING_PAGE, sizeof(page) + pages_lines_bytes(lines));
	recording_put(writer, &page, sizeof(page));
	for (unsigned i = 0; i < PAGES_LINES; i++)
		if (lines >> i & 1)
			recording_put(writer, bytes + (size_t)i * PAGES_LINE_BYTES,
				      PAGES_LINE_BYTES);
}

/* Not there any more, for a reader neither. */
static void recording_drop_page(struct recording_writer *writer, frame_t frame)
{
	writer->is_late |= pages_is_seen(writer->pages, frame);
	if (pages_drop(writer->pages, frame))
		recording_put_page(writer, frame, 0, NULL);
}

static void recording_see_page(struct recording_writer *writer, frame_t frame, const char *page)
{
	bool seen = pages_is_seen(writer->pages, frame);
	frame_t dropped;
	uint64_t lines;

	while (!pages_see(writer->pages, frame, page, &lines, &dropped)) {
		if (dropped.value == frame.value) {
			writer->failed_errno = ENOMEM;
			return;
		}
		recording_drop_page(writer, dropped);
	}
	if (!lines)
		return;
	writer->is_late |= seen;
	recording_put_page(writer, frame, lines, page);
}

static void recording_on_read(void *context, const frame_t *frames, size_t n, const void *pages,
			      const bool *ok)
{
	struct recording_writer *writer = context;

	writer->n_reads++;
	for (size_t i = 0; i < n && !writer->failed_errno; i++) {
		if (ok[i])
			recording_see_page(writer, frames[i],
					   (const char *)pages + i * GUEST_PAGE_SIZE);
		else
			recording_drop_page(writer, frames[i]);
	}
}

static void recording_on_time(void *context, uint64_t now_ns)
{
	recording_put_time(context, RECORDING_TIME, now_ns);
}

void recording_watch(struct recording_writer *writer, struct memory *memory)
{
	const struct memory_watcher watcher = { .read = recording_on_read,
						.time = recording_on_time,
						.context = writer };
	struct xtop_error *error = NULL;

	if (!writer->pages)
		error = pages_create(RECORDING_MAX_PAGES, &writer->pages);
	if (error) {
		error_destroy(error);
		writer->failed_errno = ENOMEM;
		return;
	}
	memory_watch(memory, &watcher);
}

/* --- records ---------------------------------------------------------------------------------- */

/* What is read from now on is for the next one. */
static void recording_end_turn(struct recording_writer *writer)
{
	writer->n_reads = 0;
	writer->is_late = false;
	if (writer->pages)
		pages_begin_turn(writer->pages);
}

void recording_write_poll(struct recording_writer *writer, uint64_t now_ns)
{
	recording_put_time(writer, RECORDING_POLL, now_ns);
	recording_end_turn(writer);
}

void recording_write(struct recording_writer *writer, const void *record, size_t size_bytes)
{
	recording_put_chunk(writer, RECORDING_SAMPLE, size_bytes);
	recording_put_padded(writer, record, size_bytes);
	writer->end.n_samples++;
	recording_end_turn(writer);
}

int recording_failed(const struct recording_writer *writer)
{
	return writer->failed_errno;
}

/* Samples that stdio still held are lost too; the missing end mark says so to the reader. */
static struct xtop_error *recording_failure(const struct recording_writer *writer)
{
	off_t size_bytes = lseek(fileno(writer->file), 0, SEEK_CUR);

	return error_create_errno(
		writer->failed_errno,
		"recording '%s' is cut short after %jd bytes, which can be replayed", writer->path,
		(intmax_t)size_bytes);
}

void recording_count(struct recording_writer *writer, const struct sampler_counts *counts)
{
	writer->end.missed = counts->missed;
	writer->end.skipped_budget = counts->skipped_budget;
	writer->end.waited = counts->waited;
	writer->end.lost = counts->lost;
	writer->end.refused = counts->refused;
}

struct xtop_error *recording_close(struct recording_writer *writer)
{
	struct xtop_error *error;

	if (!writer)
		return NULL;
	recording_put_chunk(writer, RECORDING_END, sizeof(writer->end));
	recording_put_padded(writer, &writer->end, sizeof(writer->end));
	if (!writer->failed_errno && fflush(writer->file) != 0)
		writer->failed_errno = errno;
	error = writer->failed_errno ? recording_failure(writer) : NULL;
	recording_writer_free(writer);
	return error;
}

void recording_discard(struct recording_writer *writer)
{
	if (!writer)
		return;
	__fpurge(writer->file);
	if (ftruncate(fileno(writer->file), 0) == 0)
		output_remove(writer->path); /* created anew by us: recording_create() */
	recording_writer_free(writer);
}
