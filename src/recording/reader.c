/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads recordings (layout: xtop/recording_format.h): the guest that is a file. Opened in main,
 * then read by the one thread that takes the sampler's place.
 *
 * The file is read once from front to back, chunk by chunk, so a pipe will do. Nothing is believed:
 * a chunk larger than its kind can be ends the reading, memory grows only as bytes arrive, a sample
 * is handed out only when it passed sample_check(), a note when its lengths fit. However the reading
 * ends, what was whole before has been handed out, and recording_complaint() says what was not.
 */
#include "config.h"

#include "xtop/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "xtop/cleanup.h"
#include "xtop/control.h"
#include "xtop/inputs.h"
#include "xtop/recording_format.h"

#define RECORDING_FIRST_BYTES (64 << 10) /* what a payload's buffer starts with */

struct recording {
	FILE *file;
	uint64_t offset; /* bytes read */
	uint64_t whole;  /* offset behind the last whole chunk */
	char *buffer; /* room for a note's head, then the last chunk's payload with its padding */
	size_t capacity;
	uint32_t version;
	struct recording_info info;
	bool has_info;
	size_t n_images;
	bool is_pending; /* the first record, read by recording_open(), waits in the buffer */
	struct recording_chunk pending;
	bool ended;
	uint64_t n_samples;             /* SMPL chunks, refused ones too */
	struct recording_chunk_end end; /* zeros until it has come */
	uint64_t n_bad, n_bad_notes;
	uint64_t n_truncated;
	char complaint[160]; /* "": none */
};

static char *recording_payload(const struct recording *recording)
{
	return recording->buffer + sizeof(struct recording_note);
}

/* --- bytes ------------------------------------------------------------------------------------ */

static size_t recording_read(struct recording *recording, void *target, size_t size_bytes)
{
	size_t n = fread(target, 1, size_bytes, recording->file);

	recording->offset += n;
	return n;
}

/* A regular file's length is known; of a pipe we know what we read. */
static uint64_t recording_file_bytes(const struct recording *recording)
{
	struct stat status;

	if (fstat(fileno(recording->file), &status) == 0 && S_ISREG(status.st_mode) &&
	    (uint64_t)status.st_size > recording->offset)
		return (uint64_t)status.st_size;
	return recording->offset;
}

/* No chunk follows. The first complaint stays; NULL: none. */
__attribute__((format(printf, 2, 3))) static bool recording_stop(struct recording *recording,
								 const char *format, ...)
{
	va_list arguments;

	recording->ended = true;
	recording->n_truncated = recording_file_bytes(recording) - recording->whole;
	if (!format)
		return false;
	va_start(arguments, format);
	vsnprintf(recording->complaint, sizeof(recording->complaint), format, arguments);
	va_end(arguments);
	return false;
}

/* The file ended, or could not be read, where more should have come. */
static bool recording_stop_short(struct recording *recording)
{
	uint64_t behind = recording->offset - recording->whole;

	if (ferror(recording->file))
		return recording_stop(recording, "read error after %" PRIu64 " bytes: %s",
				      recording->offset, strerror(errno));
	if (!behind)
		return recording_stop(recording, "cut short: it has no end mark");
	return recording_stop(recording,
			      "cut short: it has no end mark, and its last %" PRIu64
			      " bytes are no whole record",
			      behind);
}

static bool recording_grow(struct recording *recording, size_t capacity)
{
	char *buffer;

	if (capacity <= recording->capacity)
		return true;
	buffer = realloc(recording->buffer, sizeof(struct recording_note) + capacity);
	if (!buffer)
		return recording_stop(recording, "out of memory for a chunk of %zu bytes",
				      capacity);
	recording->buffer = buffer;
	recording->capacity = capacity;
	return true;
}

/* SIZE_BYTES into the buffer, which doubles as they arrive. */
static bool recording_read_payload(struct recording *recording, size_t size_bytes)
{
	size_t have = 0, want;

	while (have < size_bytes) {
		want = have ? 2 * have : RECORDING_FIRST_BYTES;
		if (want > size_bytes)
			want = size_bytes;
		if (!recording_grow(recording, want))
			return false;
		if (recording_read(recording, recording_payload(recording) + have, want - have) !=
		    want - have)
			return recording_stop_short(recording);
		have = want;
	}
	return true;
}

static bool recording_pass_over(struct recording *recording, uint64_t size_bytes)
{
	if (!recording_grow(recording, RECORDING_FIRST_BYTES))
		return false;
	while (size_bytes) {
		size_t n =
			size_bytes < recording->capacity ? (size_t)size_bytes : recording->capacity;

		if (recording_read(recording, recording->buffer, n) != n)
			return recording_stop_short(recording);
		size_bytes -= n;
	}
	return true;
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* The largest payload of a known type; 0: not known. */
static uint64_t recording_limit(uint32_t type)
{
	switch (type) {
	case RECORDING_INFO:
		return RECORDING_MAX_INFO_BYTES;
	case RECORDING_SYMBOLS:
		return RECORDING_MAX_SYMBOLS_BYTES;
	case RECORDING_SAMPLE:
		return RECORDING_MAX_SAMPLE_BYTES;
	case RECORDING_END:
		return RECORDING_MAX_END_BYTES;
	case RECORDING_PAGE:
		return RECORDING_MAX_PAGE_BYTES;
	case RECORDING_TIME:
	case RECORDING_POLL:
		return RECORDING_MAX_TIME_BYTES;
	default:
		return 0;
	}
}

/* The chunk's payload: into the buffer when its type is known, passed over when not. */
static bool recording_take_payload(struct recording *recording, const struct recording_chunk *chunk)
{
	uint64_t limit = recording_limit(chunk->type);

	if (!limit && (chunk->flags & RECORDING_CHUNK_REQUIRED))
		return recording_stop(recording,
				      "it needs a newer xtop from byte %" PRIu64
				      " on (chunk type 0x%08x)",
				      recording->whole, chunk->type);
	if (chunk->size_bytes > (limit ? limit : INT64_MAX))
		return recording_stop(recording,
				      "damaged at byte %" PRIu64 ": a chunk of %" PRIu64 " bytes",
				      recording->whole, chunk->size_bytes);
	if (!limit)
		return recording_pass_over(recording, (chunk->size_bytes + 7) & ~7ULL);
	return recording_read_payload(recording, recording_pad(chunk->size_bytes));
}

/* The next chunk of a known type, or false: the reading ended. */
static bool recording_next_chunk(struct recording *recording, struct recording_chunk *chunk)
{
	while (!recording->ended) {
		if (recording_read(recording, chunk, sizeof(*chunk)) != sizeof(*chunk))
			return recording_stop_short(recording);
		if (!recording_take_payload(recording, chunk))
			return false;
		recording->whole = recording->offset;
		if (recording_limit(chunk->type))
			return true;
	}
	return false;
}

static void recording_take_end(struct recording *recording, uint64_t size_bytes)
{
	struct recording_chunk_end *end = &recording->end;

	if (size_bytes < RECORDING_END_BYTES) {
		recording_stop(recording, "its end mark is damaged");
		return;
	}
	memcpy(end, recording_payload(recording),
	       size_bytes < sizeof(*end) ? size_bytes : sizeof(*end));
	if (end->n_samples != recording->n_samples)
		recording_stop(recording,
			       "%" PRIu64 " samples were recorded, %" PRIu64 " are in it",
			       end->n_samples, recording->n_samples);
	else
		recording_stop(recording, NULL);
	if (!recording->complaint[0] && recording->n_truncated)
		recording_stop(recording, "%" PRIu64 " bytes behind its end mark",
			       recording->n_truncated);
}

/* --- INFO ------------------------------------------------------------------------------------- */

static struct xtop_error *recording_take_info(struct recording *recording, uint64_t size_bytes)
{
	struct recording_info *info = &recording->info;
	struct recording_chunk_info chunk;

	if (size_bytes < sizeof(chunk) || recording->has_info)
		return error_create("damaged: its head is too short, or there twice");
	memcpy(&chunk, recording_payload(recording), sizeof(chunk));
	if (chunk.machine != RECORDING_MACHINE_X86_64)
		return error_create("recorded on machine type %u; this xtop reads x86-64 (62)",
				    chunk.machine);
	if (chunk.guest_type > GUEST_HVM || chunk.n_vcpus < 1 || chunk.n_vcpus > GUEST_MAX_VCPUS ||
	    !isfinite(chunk.freq_hz) || chunk.freq_hz < 0)
		return error_create("damaged: guest type %u with %u vCPUs at %g Hz",
				    chunk.guest_type, chunk.n_vcpus, chunk.freq_hz);
	*info = (struct recording_info){ .domid = chunk.domid,
					 .type = (enum guest_type)chunk.guest_type,
					 .n_vcpus = chunk.n_vcpus,
					 .freq_hz = chunk.freq_hz,
					 .wallclock_s = chunk.wallclock_s };
	memcpy(info->domain, chunk.domain, sizeof(info->domain) - 1);
	memcpy(info->uuid, chunk.uuid, sizeof(info->uuid) - 1);
	recording->has_info = true;
	return NULL;
}

/* --- SYMS ------------------------------------------------------------------------------------- */

/* The parts of a SYMS payload; point into the buffer. */
struct recording_image {
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

/* The next part of SIZE_BYTES, padded, of the *LEFTP at *ATP; NULL when it is not there. */
static const void *recording_part(const char **atp, uint64_t *leftp, uint64_t size_bytes)
{
	const char *part = *atp;

	if (size_bytes > *leftp || recording_pad(size_bytes) > *leftp)
		return NULL;
	*atp += recording_pad(size_bytes);
	*leftp -= recording_pad(size_bytes);
	return part;
}

/* False: the lengths do not fit together. */
static bool recording_split_image(const char *at, uint64_t left, struct recording_image *image)
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
	    !recording_part(&at, &left, head.head_bytes))
		return false;
	image->n_symbols = head.n_symbols;
	image->symbols =
		recording_part(&at, &left, head.n_symbols * sizeof(struct recording_symbol));
	image->module = recording_part(&at, &left, head.module_bytes);
	build_id = recording_part(&at, &left, head.build_id_bytes);
	image->strings_bytes = head.strings_bytes;
	image->strings = recording_part(&at, &left, head.strings_bytes);
	if (!image->symbols || !image->module || !build_id || !image->strings ||
	    image->module[head.module_bytes - 1] != '\0')
		return false;
	image->build_id = (struct build_id){ .size_bytes = head.build_id_bytes,
					     .address = head.build_id_address };
	memcpy(image->build_id.bytes, build_id, head.build_id_bytes);
	return true;
}

static struct xtop_error *recording_fill_table(const struct recording_image *image,
					       struct symtab *tab)
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

static struct xtop_error *recording_take_image(struct recording *recording, uint64_t size_bytes,
					       struct symbols *symbols)
{
	_cleanup_(cleanup_symtab) struct symtab *tab = NULL;
	struct recording_image image;
	struct xtop_error *error;

	if (!symbols)
		return NULL;
	if (++recording->n_images > RECORDING_MAX_IMAGES)
		return error_create("damaged: more than %d symbol tables", RECORDING_MAX_IMAGES);
	if (!recording_split_image(recording_payload(recording), size_bytes, &image))
		return error_create("damaged: symbol table %zu", recording->n_images);
	error = symtab_create(&tab);
	if (!error)
		error = recording_fill_table(&image, tab);
	if (error)
		return error_wrap(error, "symbols of its image %zu", recording->n_images);
	return symbols_add_table(symbols, no_cleanup_ptr(tab), image.module, &image.build_id);
}

/* --- life ------------------------------------------------------------------------------------- */

static struct xtop_error *recording_read_head(struct recording *recording)
{
	struct recording_head head;
	size_t n = recording_read(recording, &head, sizeof(head));

	if (ferror(recording->file))
		return error_create_errno(errno, "cannot be read");
	if (n < sizeof(head.magic) || memcmp(head.magic, RECORDING_MAGIC, sizeof(head.magic)) != 0)
		return error_create("not a recording: it does not begin with XTOPREC");
	if (n < sizeof(head))
		return error_create("cut short in its head: nothing to replay");
	if (head.version < 1 || head.version > RECORDING_VERSION)
		return error_create("has version %u, this xtop reads versions 1 to %d",
				    head.version, RECORDING_VERSION);
	recording->version = head.version;
	if (head.head_bytes < sizeof(head) || head.head_bytes > RECORDING_MAX_HEAD_BYTES ||
	    head.head_bytes % 8)
		return error_create("damaged: a head of %u bytes", head.head_bytes);
	recording->whole = recording->offset;
	if (!recording_pass_over(recording, head.head_bytes - sizeof(head)))
		return error_create("cut short in its head: nothing to replay");
	recording->whole = recording->offset;
	return NULL;
}

/* All up to the first sample or note, which stays in the buffer. */
static struct xtop_error *recording_read_front(struct recording *recording, struct symbols *symbols)
{
	struct recording_chunk chunk;
	struct xtop_error *error = NULL;

	while (!error && !recording->is_pending && recording_next_chunk(recording, &chunk)) {
		if (chunk.type == RECORDING_INFO) {
			error = recording_take_info(recording, chunk.size_bytes);
		} else if (chunk.type == RECORDING_SYMBOLS) {
			error = recording_take_image(recording, chunk.size_bytes, symbols);
		} else if (chunk.type == RECORDING_END) {
			recording_take_end(recording, chunk.size_bytes);
		} else {
			recording->is_pending = true;
			recording->pending = chunk;
		}
	}
	if (!error && !recording->has_info)
		error = error_create("%s: nothing to replay",
				     recording->complaint[0] ? recording->complaint
							     : "it does not say of what it is");
	return error;
}

struct xtop_error *recording_open(const char *path, struct symbols *symbols,
				  struct recording **recordingp)
{
	_cleanup_close_ int fd = inputs_take(path);
	struct recording *recording;
	struct xtop_error *error;

	if (fd < 0)
		return error_create_errno(errno, "cannot read recording '%s'", path);
	recording = calloc(1, sizeof(*recording));
	if (recording)
		recording->file = fdopen(fd, "r");
	if (!recording || !recording->file) {
		recording_destroy(recording);
		return error_create("out of memory");
	}
	fd = -1;
	error = recording_read_head(recording);
	if (!error)
		error = recording_read_front(recording, symbols);
	if (error) {
		recording_destroy(recording);
		return error_wrap(error, "recording '%s'", path);
	}
	*recordingp = recording;
	return NULL;
}

void recording_destroy(struct recording *recording)
{
	if (!recording)
		return;
	if (recording->file)
		fclose(recording->file);
	free(recording->buffer);
	free(recording);
}

const struct recording_info *recording_info(const struct recording *recording)
{
	return &recording->info;
}

bool recording_has_memory(const struct recording *recording)
{
	return recording->version > RECORDING_VERSION_NO_MEMORY;
}

/* --- records ---------------------------------------------------------------------------------- */

/* The next chunk that is a record, in the buffer; false: the reading ended. */
static bool recording_next_record(struct recording *recording, struct recording_chunk *chunk)
{
	if (recording->is_pending) {
		recording->is_pending = false;
		*chunk = recording->pending;
		return true;
	}
	while (recording_next_chunk(recording, chunk)) {
		switch (chunk->type) {
		case RECORDING_END:
			recording_take_end(recording, chunk->size_bytes);
			break;
		case RECORDING_INFO:
		case RECORDING_SYMBOLS: /* too late */
			break;
		default:
			return true;
		}
	}
	return false;
}

/* No more vCPUs than INFO promised: the ring and the counters of a replay are made for those. */
static bool recording_keeps_promise(const struct recording *recording, const struct sample *sample)
{
	const struct sample_vcpu *vcpu = sample_first_vcpu(sample);

	for (unsigned i = 0; i < sample->n_vcpus; i++, vcpu = sample_next_vcpu(vcpu))
		if (vcpu->vcpu >= recording->info.n_vcpus)
			return false;
	return true; /* each number is there once: so many vCPUs at most */
}

/* NULL: refused. */
static const struct sample *recording_take_sample(struct recording *recording, size_t size_bytes)
{
	const struct sample *sample = (const void *)recording_payload(recording);

	recording->n_samples++;
	if (sample_check(sample, size_bytes) && recording_keeps_promise(recording, sample))
		return sample;
	recording->n_bad++;
	return NULL;
}

static bool recording_is_note_right(const struct recording *recording,
				    const struct recording_chunk *chunk)
{
	const struct recording_page *page = (const void *)recording_payload(recording);

	if (recording->version <= RECORDING_VERSION_NO_MEMORY)
		return false;
	if (chunk->type != RECORDING_PAGE)
		return chunk->size_bytes >= sizeof(uint64_t);
	return chunk->size_bytes >= sizeof(*page) &&
	       chunk->size_bytes == sizeof(*page) + pages_lines_bytes(page->lines);
}

/* NULL: refused. *SIZE_BYTESP grows by its head. */
static const struct recording_note *recording_take_note(struct recording *recording,
							const struct recording_chunk *chunk,
							size_t *size_bytesp)
{
	struct recording_note *note = (void *)recording->buffer;

	if (!recording_is_note_right(recording, chunk)) {
		recording->n_bad_notes++;
		return NULL;
	}
	*note = (struct recording_note){ .type = chunk->type };
	*size_bytesp = sizeof(*note) + recording_pad(chunk->size_bytes);
	return note;
}

static void recording_complain_of_refused(struct recording *recording)
{
	if (recording->n_bad && !recording->complaint[0])
		snprintf(recording->complaint, sizeof(recording->complaint),
			 "damaged: %" PRIu64 " of %" PRIu64 " samples refused", recording->n_bad,
			 recording->n_samples);
	if (recording->n_bad_notes && !recording->complaint[0])
		snprintf(recording->complaint, sizeof(recording->complaint),
			 "damaged: %" PRIu64 " pages of guest memory refused",
			 recording->n_bad_notes);
}

const void *recording_next(struct recording *recording, size_t *size_bytesp)
{
	struct recording_chunk chunk;

	while (recording_next_record(recording, &chunk)) {
		size_t size_bytes = (size_t)chunk.size_bytes;
		const void *record =
			chunk.type == RECORDING_SAMPLE
				? recording_take_sample(recording, size_bytes)
				: (const void *)recording_take_note(recording, &chunk, &size_bytes);

		if (record) {
			*size_bytesp = size_bytes;
			return record;
		}
	}
	recording_complain_of_refused(recording);
	return NULL;
}

void recording_take_counts(const struct recording *recording, struct sampler_counts *counts)
{
	const struct recording_chunk_end *end = &recording->end;

	counts->missed = end->missed;
	counts->skipped_budget = end->skipped_budget;
	counts->waited = end->waited;
	counts->lost = end->lost;
	counts->refused = end->refused;
}

const char *recording_complaint(const struct recording *recording)
{
	return recording->complaint[0] ? recording->complaint : NULL;
}

uint64_t recording_truncated_bytes(const struct recording *recording)
{
	return recording->n_truncated;
}

uint64_t recording_bad_records(const struct recording *recording)
{
	return recording->n_bad + recording->n_bad_notes;
}
