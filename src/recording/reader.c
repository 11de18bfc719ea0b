/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads recordings (layout: recording/format.h). Main opens one; then the replay thread, which
 * takes the sampler's place, reads it.
 *
 * The file is read once from front to back, chunk by chunk, so it may be a pipe. Nothing in it is
 * trusted. A chunk larger than its type allows ends the reading. Memory grows only as bytes arrive.
 * A sample is returned only if it passes sample_check(), a note only if its lengths are right.
 * However the reading ends, all whole records before have been returned, and
 * recording_reader_get_complaint() tells what is wrong.
 */
#include "config.h"

#include "recording/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "xtop/cleanup.h"
#include "xtop/control.h"
#include "xtop/image.h"
#include "xtop/inputs.h"
#include "xtop/vector.h"

#define READER_FIRST_BYTES (64 << 10) /* of a payload are read first */

struct recording_reader {
	FILE *file;
	uint64_t offset; /* bytes read */
	uint64_t whole;  /* offset behind the last whole chunk */
	char *buffer; /* room for a note's head, then the last chunk's payload with its padding */
	size_t capacity; /* of it */
	uint32_t version;
	struct recording_info info;
	bool has_info;
	size_t n_images, n_tables;
	bool is_pending; /* recording_reader_open() has left the first record in the buffer */
	struct recording_chunk pending;
	bool ended;
	uint64_t n_samples;             /* SMPL chunks, refused ones included */
	struct recording_chunk_end end; /* all 0 before the end mark */
	struct recording_converted sample; /* the last one */
	uint64_t n_bad, n_bad_notes;
	char complaint[160]; /* "": none */
};

static char *reader_payload(const struct recording_reader *reader)
{
	return reader->buffer + sizeof(struct recording_note);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static size_t reader_read(struct recording_reader *reader, void *target, size_t size_bytes)
{
	size_t n = fread(target, 1, size_bytes, reader->file);

	reader->offset += n;
	return n;
}

/* The length of a regular file; of a pipe the bytes read so far. */
static uint64_t reader_file_bytes(const struct recording_reader *reader)
{
	struct stat status;

	if (fstat(fileno(reader->file), &status) == 0 && S_ISREG(status.st_mode) &&
	    (uint64_t)status.st_size > reader->offset)
		return (uint64_t)status.st_size;
	return reader->offset;
}

/* Ends the reading with a complaint. Returns false. */
__attribute__((format(printf, 2, 3))) static bool reader_stop(struct recording_reader *reader,
							      const char *format, ...)
{
	va_list arguments;

	reader->ended = true;
	va_start(arguments, format);
	vsnprintf(reader->complaint, sizeof(reader->complaint), format, arguments);
	va_end(arguments);
	return false;
}

/* The file ended or could not be read where more should have come. */
static bool reader_stop_short(struct recording_reader *reader)
{
	uint64_t behind = reader->offset - reader->whole;

	if (ferror(reader->file))
		return reader_stop(reader, "read error after %" PRIu64 " bytes: %s", reader->offset,
				   strerror(errno));
	if (!behind)
		return reader_stop(reader, "cut short: it has no end mark");
	return reader_stop(reader,
			   "cut short: it has no end mark, and its last %" PRIu64
			   " bytes are no whole record",
			   behind);
}

/* Room for a note's head and PAYLOAD_BYTES. */
static bool reader_reserve(struct recording_reader *reader, size_t payload_bytes)
{
	size_t wanted = sizeof(struct recording_note) + payload_bytes;

	return vector_reserve(reader->buffer, reader->capacity, wanted) ||
	       reader_stop(reader, "out of memory for a chunk of %zu bytes", payload_bytes);
}

/* Reads SIZE_BYTES into the buffer, which doubles as they arrive. */
static bool reader_read_payload(struct recording_reader *reader, size_t size_bytes)
{
	size_t have = 0, want;

	while (have < size_bytes) {
		want = have ? 2 * have : READER_FIRST_BYTES;
		if (want > size_bytes)
			want = size_bytes;
		if (!reader_reserve(reader, want))
			return false;
		if (reader_read(reader, reader_payload(reader) + have, want - have) != want - have)
			return reader_stop_short(reader);
		have = want;
	}
	return true;
}

static bool reader_skip(struct recording_reader *reader, uint64_t size_bytes)
{
	if (!reader_reserve(reader, READER_FIRST_BYTES))
		return false;
	while (size_bytes) {
		size_t n = size_bytes < reader->capacity ? (size_t)size_bytes : reader->capacity;

		if (reader_read(reader, reader->buffer, n) != n)
			return reader_stop_short(reader);
		size_bytes -= n;
	}
	return true;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* The largest payload of a known type; 0: not known. */
static uint64_t reader_max_bytes(uint32_t type)
{
	switch (type) {
	case RECORDING_INFO:
		return RECORDING_MAX_INFO_BYTES;
	case RECORDING_SYMBOLS:
		return RECORDING_MAX_SYMBOLS_BYTES;
	case RECORDING_TABLES:
		return RECORDING_MAX_TABLES_BYTES;
	case RECORDING_SAMPLE:
		return RECORDING_MAX_SAMPLE_BYTES;
	case RECORDING_END:
		return RECORDING_MAX_END_BYTES;
	case RECORDING_PAGE:
		return RECORDING_MAX_PAGE_BYTES;
	case RECORDING_TIME:
	case RECORDING_POLL:
	case RECORDING_WAITS:
		return RECORDING_MAX_TIME_BYTES;
	case RECORDING_CLOCKS:
		return RECORDING_MAX_CLOCKS_BYTES;
	default:
		return 0;
	}
}

/* Reads the payload of CHUNK into the buffer, or skips it if its type is not known. */
static bool reader_read_chunk(struct recording_reader *reader, const struct recording_chunk *chunk)
{
	uint64_t limit = reader_max_bytes(chunk->type);

	if (!limit && (chunk->flags & RECORDING_CHUNK_REQUIRED))
		return reader_stop(reader,
				   "it needs a newer xtop from byte %" PRIu64
				   " on (chunk type 0x%08x)",
				   reader->whole, chunk->type);
	if (chunk->size_bytes > (limit ? limit : INT64_MAX))
		return reader_stop(reader,
				   "damaged at byte %" PRIu64 ": a chunk of %" PRIu64 " bytes",
				   reader->whole, chunk->size_bytes);
	if (!limit)
		return reader_skip(reader, (chunk->size_bytes + 7) & ~7ULL);
	return reader_read_payload(reader, recording_pad(chunk->size_bytes));
}

/* The next chunk of a known type. False: the reading ended. */
static bool reader_next_chunk(struct recording_reader *reader, struct recording_chunk *chunk)
{
	while (!reader->ended) {
		if (reader_read(reader, chunk, sizeof(*chunk)) != sizeof(*chunk))
			return reader_stop_short(reader);
		if (!reader_read_chunk(reader, chunk))
			return false;
		reader->whole = reader->offset;
		if (reader_max_bytes(chunk->type))
			return true;
	}
	return false;
}

static void reader_decode_end(struct recording_reader *reader, uint64_t size_bytes)
{
	struct recording_chunk_end *end = &reader->end;
	uint64_t behind = reader_file_bytes(reader) - reader->whole;

	if (size_bytes < RECORDING_END_BYTES) {
		reader_stop(reader, "its end mark is damaged");
		return;
	}
	memcpy(end, reader_payload(reader), size_bytes < sizeof(*end) ? size_bytes : sizeof(*end));
	if (end->n_samples != reader->n_samples)
		reader_stop(reader, "%" PRIu64 " samples were recorded, %" PRIu64 " are in it",
			    end->n_samples, reader->n_samples);
	else if (behind)
		reader_stop(reader, "%" PRIu64 " bytes behind its end mark", behind);
	else
		reader->ended = true;
}

/* --- INFO ------------------------------------------------------------------------------------- */

static struct xtop_error *reader_decode_info(struct recording_reader *reader, uint64_t size_bytes)
{
	struct recording_info *info = &reader->info;
	struct recording_chunk_info chunk;
	enum guest_arch arch;

	if (size_bytes < sizeof(chunk) || reader->has_info)
		return error_create("damaged: its INFO is too short, or comes twice");
	memcpy(&chunk, reader_payload(reader), sizeof(chunk));
	if (!recording_find_arch(chunk.machine, &arch))
		return error_create("recorded on machine type %u; this xtop reads x86-64 (62) and "
				    "arm64 (183)",
				    chunk.machine);
	if (chunk.guest_type > GUEST_HVM || chunk.n_vcpus < 1 || chunk.n_vcpus > GUEST_MAX_VCPUS ||
	    !isfinite(chunk.freq_hz) || chunk.freq_hz < 0)
		return error_create("damaged: guest type %u with %u vCPUs at %g Hz",
				    chunk.guest_type, chunk.n_vcpus, chunk.freq_hz);
	*info = (struct recording_info){ .domid = chunk.domid,
					 .type = (enum guest_type)chunk.guest_type,
					 .arch = arch,
					 .n_vcpus = chunk.n_vcpus,
					 .freq_hz = chunk.freq_hz,
					 .wallclock_s = chunk.wallclock_s };
	memcpy(info->domain, chunk.domain, sizeof(info->domain) - 1);
	memcpy(info->uuid, chunk.uuid, sizeof(info->uuid) - 1);
	reader->has_info = true;
	return NULL;
}

/* --- SYMS ------------------------------------------------------------------------------------- */

/* The parts of a SYMS payload. They are in the buffer. */
struct reader_image {
	const struct recording_symbol *symbols;
	size_t n_symbols;
	const char *module;
	struct build_id build_id;
	const char *strings;
	size_t strings_bytes;
};

static void cleanup_symtab(struct symtab **tabp)
{
	symtab_destroy(*tabp);
}

/* The next part, SIZE_BYTES and padding, of the *LEFTP bytes at *ATP; NULL: they are too few. */
static const void *reader_next_part(const char **atp, uint64_t *leftp, uint64_t size_bytes)
{
	const char *part = *atp;

	if (size_bytes > *leftp || recording_pad(size_bytes) > *leftp)
		return NULL;
	*atp += recording_pad(size_bytes);
	*leftp -= recording_pad(size_bytes);
	return part;
}

/* False: the lengths do not fit together. */
static bool reader_decode_parts(const char *at, uint64_t left, struct reader_image *image)
{
	struct recording_chunk_symbols head;
	const void *build_id;

	left = recording_pad(left);
	if (left < sizeof(head))
		return false;
	memcpy(&head, at, sizeof(head));
	if (head.head_bytes < sizeof(head) || head.head_bytes % 8 || !head.module_bytes ||
	    head.module_bytes > RECORDING_MAX_MODULE_BYTES ||
	    head.build_id_bytes > BUILD_ID_MAX_BYTES || head.n_symbols > SYMTAB_MAX_SYMBOLS ||
	    !reader_next_part(&at, &left, head.head_bytes))
		return false;
	image->n_symbols = head.n_symbols;
	image->symbols =
		reader_next_part(&at, &left, head.n_symbols * sizeof(struct recording_symbol));
	image->module = reader_next_part(&at, &left, head.module_bytes);
	build_id = reader_next_part(&at, &left, head.build_id_bytes);
	image->strings_bytes = head.strings_bytes;
	image->strings = reader_next_part(&at, &left, head.strings_bytes);
	if (!image->symbols || !image->module || !build_id || !image->strings ||
	    image->module[head.module_bytes - 1] != '\0')
		return false;
	image->build_id = (struct build_id){ .size_bytes = head.build_id_bytes,
					     .address = head.build_id_address };
	memcpy(image->build_id.bytes, build_id, head.build_id_bytes);
	return true;
}

static struct xtop_error *reader_fill_table(const struct reader_image *image, struct symtab *tab)
{
	const char *name = image->strings, *end = name + image->strings_bytes;
	struct xtop_error *error;

	for (size_t i = 0; i < image->n_symbols; i++) {
		const struct recording_symbol *symbol = &image->symbols[i];
		size_t name_bytes = strnlen(name, (size_t)(end - name));

		if (name + name_bytes == end || symbol->end <= symbol->start)
			return error_create("damaged: symbol %zu of %zu", i, image->n_symbols);
		error = symtab_add(tab, symbol->start, symbol->end - symbol->start, symbol->end,
				   SYMBOL_GLOBAL, name, name_bytes);
		if (error)
			return error;
		name += name_bytes + 1;
	}
	return symtab_seal(tab);
}

static struct xtop_error *reader_decode_image(struct recording_reader *reader, uint64_t size_bytes,
					      struct symbols *symbols)
{
	_cleanup_(cleanup_symtab) struct symtab *tab = NULL;
	struct reader_image image;
	struct xtop_error *error;

	if (!symbols)
		return NULL;
	if (++reader->n_images > RECORDING_MAX_IMAGES)
		return error_create("damaged: more than %d symbol tables", RECORDING_MAX_IMAGES);
	if (!reader_decode_parts(reader_payload(reader), size_bytes, &image))
		return error_create("damaged: symbol table %zu", reader->n_images);
	error = symtab_create(&tab);
	if (!error)
		error = reader_fill_table(&image, tab);
	if (error)
		return error_wrap(error, "symbols of its image %zu", reader->n_images);
	return symbols_add_table(symbols, no_cleanup_ptr(tab), image.module, &image.build_id);
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
	if (fd < 0 || write(fd, reader_payload(reader), size_bytes) != (ssize_t)size_bytes)
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
	reader->offset = n;
	n += reader_read(reader, (char *)&head + n, sizeof(head) - n);
	if (ferror(reader->file))
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
	reader->whole = reader->offset;
	if (!reader_skip(reader, head.head_bytes - sizeof(head)))
		return error_create("cut short in its head: nothing to replay");
	reader->whole = reader->offset;
	return NULL;
}

/* Reads all up to the first sample or note, which stays in the buffer. */
static struct xtop_error *reader_read_front(struct recording_reader *reader,
					    struct symbols *symbols)
{
	struct recording_chunk chunk;
	struct xtop_error *error = NULL;

	while (!error && !reader->is_pending && reader_next_chunk(reader, &chunk)) {
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
				     reader->complaint[0]
					     ? reader->complaint
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
	reader->file = file;
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
	_cleanup_close_ int fd = inputs_open(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file)
		return error_create_errno(errno, "cannot read recording '%s'", path);
	fd = -1;
	return error_wrap(recording_reader_adopt(file, "", 0, symbols, readerp), "recording '%s'",
			  path);
}

void recording_reader_close(struct recording_reader *reader)
{
	if (!reader)
		return;
	if (reader->file)
		fclose(reader->file);
	recording_converted_deinit(&reader->sample);
	free(reader->buffer);
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

/* The next chunk that is a sample or a note, in the buffer. False: the reading ended. */
static bool reader_next_record(struct recording_reader *reader, struct recording_chunk *chunk)
{
	if (reader->is_pending) {
		reader->is_pending = false;
		*chunk = reader->pending;
		return true;
	}
	while (reader_next_chunk(reader, chunk)) {
		switch (chunk->type) {
		case RECORDING_END:
			reader_decode_end(reader, chunk->size_bytes);
			break;
		case RECORDING_INFO:
		case RECORDING_SYMBOLS:
		case RECORDING_TABLES: /* they come too late */
			break;
		default:
			return true;
		}
	}
	return false;
}

/* False: a vCPU is beyond INFO's n_vcpus, for which ring and counters of a replay have room. */
static bool reader_check_vcpus(const struct recording_reader *reader, const struct sample *sample)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);

	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		if (vcpu->vcpu >= reader->info.n_vcpus)
			return false;
	return true; /* sample_check() found each number at most once: there are at most n_vcpus */
}

/* The sample; NULL: refused. *SIZE_BYTESP is that of the payload, and becomes the sample's. */
static const struct sample *reader_check_sample(struct recording_reader *reader,
						size_t *size_bytesp)
{
	const struct sample *sample;
	enum recording_widened widened =
		recording_widen(reader_payload(reader), *size_bytesp, reader->version,
				reader->info.arch, &reader->sample);

	if (widened == RECORDING_NO_MEMORY) {
		reader_stop(reader, "out of memory for a sample of %zu bytes", *size_bytesp);
		return NULL;
	}
	reader->n_samples++;
	*size_bytesp = reader->sample.size_bytes;
	sample = (const struct sample *)reader->sample.bytes;
	if (widened == RECORDING_WIDENED && sample_check(sample, *size_bytesp) &&
	    reader_check_vcpus(reader, sample))
		return sample;
	reader->n_bad++;
	return NULL;
}

static bool reader_check_note(const struct recording_reader *reader,
			      const struct recording_chunk *chunk)
{
	const struct recording_page *page = (const void *)reader_payload(reader);

	if (reader->version <= RECORDING_VERSION_NO_MEMORY)
		return false;
	if (chunk->type == RECORDING_CLOCKS)
		return chunk->size_bytes >= sizeof(struct recording_clocks);
	if (chunk->type == RECORDING_WAITS)
		return chunk->size_bytes >= 2 * sizeof(uint64_t);
	if (chunk->type != RECORDING_PAGE)
		return chunk->size_bytes >= sizeof(uint64_t);
	return chunk->size_bytes >= sizeof(*page) &&
	       chunk->size_bytes == sizeof(*page) + page_lines_bytes(page->lines);
}

/* The note; NULL: refused. *SIZE_BYTESP becomes its size with the note's head. */
static const struct recording_note *reader_build_note(struct recording_reader *reader,
						      const struct recording_chunk *chunk,
						      size_t *size_bytesp)
{
	struct recording_note *note = (void *)reader->buffer;

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
	if (reader->n_bad && !reader->complaint[0])
		snprintf(reader->complaint, sizeof(reader->complaint),
			 "damaged: %" PRIu64 " of %" PRIu64 " samples refused", reader->n_bad,
			 reader->n_samples);
	if (reader->n_bad_notes && !reader->complaint[0])
		snprintf(reader->complaint, sizeof(reader->complaint),
			 "damaged: %" PRIu64 " pages of guest memory refused", reader->n_bad_notes);
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
	return reader->complaint[0] ? reader->complaint : NULL;
}
