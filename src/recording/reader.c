/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads recordings (layout: recording/format.h). Main opens one; then the replay thread, which
 * takes the sampler's place, reads it.
 *
 * The file is read once from front to back, chunk by chunk (chunks.h). Nothing in it is trusted. A
 * sample is returned only if it passes sample_check(), a note only if its lengths are right. When
 * the reading ends early, all whole records before that have been returned, and
 * recording_reader_get_complaint() tells what is wrong.
 */
#include "config.h"

#include "recording/format.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording/chunks.h"
#include "xtop/base/cleanup.h"
#include "xtop/sample/control.h"
#include "xtop/symbol/image.h"

struct recording_reader {
	struct chunks chunks;
	uint32_t version;
	struct recording_info info;
	bool has_info;
	size_t n_images, n_tables;
	bool is_pending; /* recording_reader_open() has left the first record in the buffer */
	struct recording_chunk pending;
	uint64_t n_samples;                /* SMPL chunks, refused ones included */
	struct recording_chunk_end end;    /* zeros until the end mark was read */
	struct recorded_sample sample;     /* the last sample, as memory has it */
	uint64_t n_bad, n_bad_notes;
};

static void reader_decode_end(struct recording_reader *reader, uint64_t size_bytes)
{
	struct recording_chunk_end *end = &reader->end;
	uint64_t bytes_after = chunks_bytes_after(&reader->chunks);

	if (size_bytes < RECORDING_END_BYTES) {
		chunks_stop(&reader->chunks, "its end mark is damaged");
		return;
	}
	memcpy(end, chunks_payload(&reader->chunks),
	       size_bytes < sizeof(*end) ? size_bytes : sizeof(*end));
	if (end->n_samples != reader->n_samples)
		chunks_stop(&reader->chunks,
			    "%" PRIu64 " samples were recorded, %" PRIu64 " are in it",
			    end->n_samples, reader->n_samples);
	else if (bytes_after)
		chunks_stop(&reader->chunks, "%" PRIu64 " bytes after its end mark", bytes_after);
	else
		reader->chunks.ended = true;
}

/* --- INFO ------------------------------------------------------------------------------------- */

static struct xtop_error *reader_decode_info(struct recording_reader *reader, uint64_t size_bytes)
{
	struct recording_info *info = &reader->info;
	struct recording_chunk_info chunk = { .report = RECORDING_OF_TIME };
	enum guest_arch arch;

	if (size_bytes < RECORDING_INFO_BYTES || reader->has_info)
		return error_create("damaged: its INFO is too short, or comes twice");
	memcpy(&chunk, chunks_payload(&reader->chunks),
	       size_bytes < sizeof(chunk) ? RECORDING_INFO_BYTES : sizeof(chunk));
	if (!recording_find_arch(chunk.machine, &arch))
		return error_create("recorded on machine type %u; this xtop reads x86-64 (62) and "
				    "arm64 (183)",
				    chunk.machine);
	if (chunk.report >= N_RECORDING_REPORTS)
		return error_create("made for a report that this xtop does not know");
	if (chunk.guest_type > GUEST_HVM || chunk.n_vcpus < 1 || chunk.n_vcpus > GUEST_MAX_VCPUS ||
	    !isfinite(chunk.freq_hz) || chunk.freq_hz < 0)
		return error_create("damaged: guest type %u with %u vCPUs at %g Hz",
				    chunk.guest_type, chunk.n_vcpus, chunk.freq_hz);
	*info = (struct recording_info){ .domid = chunk.domid,
					 .type = (enum guest_type)chunk.guest_type,
					 .arch = arch,
					 .n_vcpus = chunk.n_vcpus,
					 .freq_hz = chunk.freq_hz,
					 .wallclock_s = chunk.wallclock_s,
					 .report = (enum recording_report)chunk.report };
	memcpy(info->domain, chunk.domain, sizeof(info->domain) - 1);
	memcpy(info->uuid, chunk.uuid, sizeof(info->uuid) - 1);
	reader->has_info = true;
	return NULL;
}

/* --- SYMS ------------------------------------------------------------------------------------- */

static struct xtop_error *reader_decode_image(struct recording_reader *reader, uint64_t size_bytes,
					      struct symbols *symbols)
{
	if (!symbols)
		return NULL;
	if (++reader->n_images > RECORDING_MAX_IMAGES)
		return error_create("damaged: more than %d symbol tables", RECORDING_MAX_IMAGES);
	return error_wrap(
		recording_add_symbols(chunks_payload(&reader->chunks), size_bytes, symbols),
		"symbol table %zu", reader->n_images);
}

/* --- TABL ------------------------------------------------------------------------------------- */

/*
 * Gives unwind tables to the last image. The code that reads the files of -k decodes them when the
 * first frame is unwound there.
 */
static struct xtop_error *reader_adopt_tables(struct recording_reader *reader, uint64_t size_bytes,
					      const struct symbols *symbols)
{
	_cleanup_close_ int fd = -1;

	if (!symbols)
		return NULL;
	if (!reader->n_images || ++reader->n_tables > RECORDING_MAX_TABLES)
		return error_create("damaged: unwind tables of no image, or of too many");
	fd = memfd_create("xtop-tables", MFD_CLOEXEC);
	if (fd < 0 || write(fd, chunks_payload(&reader->chunks), size_bytes) != (ssize_t)size_bytes)
		return error_create_errno(errno, "no memory for its unwind tables");
	image_adopt_tables_file(symbols_image(symbols, symbols_count(symbols) - 1), fd);
	fd = -1;
	return NULL;
}

/* --- opening ---------------------------------------------------------------------------------- */

bool recording_is_head(const void *head, size_t n)
{
	return n >= RECORDING_MAGIC_BYTES && !memcmp(head, RECORDING_MAGIC, RECORDING_MAGIC_BYTES);
}

static struct xtop_error *reader_read_head(struct recording_reader *reader, const void *start,
					   size_t n_start)
{
	struct recording_head head;
	size_t n = n_start < RECORDING_MAGIC_BYTES ? n_start : RECORDING_MAGIC_BYTES;

	memcpy(&head, start, n);
	reader->chunks.offset = n;
	n += chunks_read(&reader->chunks, (char *)&head + n, sizeof(head) - n);
	if (ferror(reader->chunks.file))
		return error_create_errno(errno, "cannot be read");
	if (!recording_is_head(&head, n))
		return error_create("not a recording: it does not begin with XTOPREC");
	if (n < sizeof(head))
		return error_create("cut short in its head: nothing to replay");
	if (head.version < 1 || head.version > RECORDING_VERSION)
		return error_create("has version %u, this xtop reads versions 1 to %d",
				    head.version, RECORDING_VERSION);
	reader->version = head.version;
	if (head.head_bytes < sizeof(head) || head.head_bytes > RECORDING_MAX_HEAD_BYTES ||
	    head.head_bytes % 8)
		return error_create("damaged: a head of %u bytes", head.head_bytes);
	reader->chunks.whole = reader->chunks.offset;
	if (!chunks_skip(&reader->chunks, head.head_bytes - sizeof(head)))
		return error_create("cut short in its head: nothing to replay");
	reader->chunks.whole = reader->chunks.offset;
	return NULL;
}

/* Reads all up to the first sample or note, which stays in the buffer. */
static struct xtop_error *reader_read_front(struct recording_reader *reader,
					    struct symbols *symbols)
{
	struct recording_chunk chunk;
	struct xtop_error *error = NULL;

	while (!error && !reader->is_pending && chunks_next(&reader->chunks, &chunk)) {
		if (chunk.type == RECORDING_INFO) {
			error = reader_decode_info(reader, chunk.size_bytes);
		} else if (chunk.type == RECORDING_SYMBOLS) {
			error = reader_decode_image(reader, chunk.size_bytes, symbols);
		} else if (chunk.type == RECORDING_TABLES) {
			error = reader_adopt_tables(reader, chunk.size_bytes, symbols);
		} else if (chunk.type == RECORDING_END) {
			reader_decode_end(reader, chunk.size_bytes);
		} else {
			reader->is_pending = true;
			reader->pending = chunk;
		}
	}
	if (!error && !reader->has_info)
		error = error_create("%s: nothing to replay",
				     reader->chunks.complaint[0]
					     ? reader->chunks.complaint
					     : "it does not say which guest was recorded");
	return error;
}

struct xtop_error *recording_reader_adopt(FILE *file, const void *head, size_t n_head,
					  struct symbols *symbols,
					  struct recording_reader **readerp)
{
	struct recording_reader *reader = calloc(1, sizeof(*reader));
	struct xtop_error *error;

	if (!reader) {
		fclose(file);
		return error_create("out of memory");
	}
	reader->chunks.file = file;
	error = reader_read_head(reader, head, n_head);
	if (!error)
		error = reader_read_front(reader, symbols);
	if (error)
		recording_reader_close(reader);
	else
		*readerp = reader;
	return error;
}

struct xtop_error *recording_reader_open(const char *path, struct symbols *symbols,
					 struct recording_reader **readerp)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return error_create_errno(errno, "cannot read recording '%s'", path);
	return error_wrap(recording_reader_adopt(file, "", 0, symbols, readerp), "recording '%s'",
			  path);
}

void recording_reader_close(struct recording_reader *reader)
{
	if (!reader)
		return;
	chunks_deinit(&reader->chunks);
	recorded_sample_deinit(&reader->sample);
	free(reader);
}

const struct recording_info *recording_reader_get_info(const struct recording_reader *reader)
{
	return &reader->info;
}

bool recording_reader_has_memory(const struct recording_reader *reader)
{
	return reader->version > RECORDING_VERSION_NO_MEMORY;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Reads the next sample or note into the buffer. Returns false if the reading ended. */
static bool reader_next_record(struct recording_reader *reader, struct recording_chunk *chunk)
{
	if (reader->is_pending) {
		reader->is_pending = false;
		*chunk = reader->pending;
		return true;
	}
	while (chunks_next(&reader->chunks, chunk)) {
		switch (chunk->type) {
		case RECORDING_END:
			reader_decode_end(reader, chunk->size_bytes);
			break;
		case RECORDING_INFO:
		case RECORDING_SYMBOLS:
		case RECORDING_TABLES: /* unwind tables come too late */
			break;
		default:
			return true;
		}
	}
	return false;
}

/* Whether no vCPU is beyond INFO's n_vcpus, for which ring and counters of a replay have room. */
static bool reader_check_vcpus(const struct recording_reader *reader, const struct sample *sample)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);

	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		if (vcpu->vcpu >= reader->info.n_vcpus)
			return false;
	return true; /* sample_check() found each number at most once: there are at most n_vcpus */
}

/* NULL: the sample is refused. *SIZE_BYTESP: size of the payload, on return of the sample. */
static const struct sample *reader_check_sample(struct recording_reader *reader,
						size_t *size_bytesp)
{
	const struct sample *sample;
	enum recorded_sample_result result =
		recorded_sample_decode(chunks_payload(&reader->chunks), *size_bytesp,
				       reader->version, reader->info.arch, &reader->sample);

	if (result == RECORDED_SAMPLE_NO_MEMORY) {
		chunks_stop(&reader->chunks, "out of memory for a sample of %zu bytes",
			    *size_bytesp);
		return NULL;
	}
	reader->n_samples++;
	*size_bytesp = reader->sample.size_bytes;
	sample = (const struct sample *)reader->sample.bytes;
	if (result == RECORDED_SAMPLE_OK && sample_check(sample, *size_bytesp) &&
	    reader_check_vcpus(reader, sample))
		return sample;
	reader->n_bad++;
	return NULL;
}

static bool reader_check_note(const struct recording_reader *reader,
			      const struct recording_chunk *chunk)
{
	const struct recording_page *page = (const void *)chunks_payload(&reader->chunks);

	if (reader->version <= RECORDING_VERSION_NO_MEMORY)
		return false;
	if (chunk->type == RECORDING_CLOCKS)
		return chunk->size_bytes >= sizeof(struct recording_clocks);
	if (chunk->type == RECORDING_WAITS)
		return chunk->size_bytes >= 2 * sizeof(uint64_t);
	if (chunk->type == RECORDING_TRACE)
		return recorded_trace_check(page, (size_t)chunk->size_bytes);
	if (chunk->type == RECORDING_TAKERS)
		return recorded_takers_check(page, (size_t)chunk->size_bytes);
	if (chunk->type != RECORDING_PAGE)
		return chunk->size_bytes >= sizeof(uint64_t);
	return chunk->size_bytes >= sizeof(*page) &&
	       chunk->size_bytes == sizeof(*page) + page_lines_bytes(page->lines);
}

/* Returns the note; NULL if it is refused. *SIZE_BYTESP becomes the size with the note's head. */
static const struct recording_note *reader_build_note(struct recording_reader *reader,
						      const struct recording_chunk *chunk,
						      size_t *size_bytesp)
{
	struct recording_note *note = (void *)reader->chunks.buffer;

	if (!reader_check_note(reader, chunk)) {
		reader->n_bad_notes++;
		return NULL;
	}
	*note = (struct recording_note){ .type = chunk->type };
	*size_bytesp = sizeof(*note) + recording_pad(chunk->size_bytes);
	return note;
}

static void reader_complain_refused(struct recording_reader *reader)
{
	if (reader->n_bad && !reader->chunks.complaint[0])
		chunks_stop(&reader->chunks, "damaged: %" PRIu64 " of %" PRIu64 " samples refused",
			    reader->n_bad, reader->n_samples);
	if (reader->n_bad_notes && !reader->chunks.complaint[0])
		chunks_stop(&reader->chunks, "damaged: %" PRIu64 " pages of guest memory refused",
			    reader->n_bad_notes);
}

const void *recording_reader_next(struct recording_reader *reader, size_t *size_bytesp)
{
	struct recording_chunk chunk;

	while (reader_next_record(reader, &chunk)) {
		size_t size_bytes = (size_t)chunk.size_bytes;
		const void *record =
			chunk.type == RECORDING_SAMPLE
				? (const void *)reader_check_sample(reader, &size_bytes)
				: reader_build_note(reader, &chunk, &size_bytes);

		if (record) {
			*size_bytesp = size_bytes;
			return record;
		}
	}
	reader_complain_refused(reader);
	return NULL;
}

void recording_reader_get_counts(const struct recording_reader *reader,
				 struct sampler_counts *counts)
{
	const struct recording_chunk_end *end = &reader->end;

	counts->missed = end->missed;
	counts->skipped_budget = end->skipped_budget;
	counts->waited = end->waited;
	counts->lost = end->lost;
	counts->refused = end->refused;
}

const char *recording_reader_get_complaint(const struct recording_reader *reader)
{
	return reader->chunks.complaint[0] ? reader->chunks.complaint : NULL;
}
