/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording and all stages after it: symbols, guest memory, the search for a kernel, samples,
 * unwinding, names, the profile, the folded file and the tables. A valid file has two samples, a
 * page of page tables that lead to itself, and changes of that page, one of which comes late; a
 * second one also has unwind tables. The first byte of the input has flags; then come changes to a
 * valid file, or which of its chunks to put together and how to spoil them, or a whole file.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "recording/format.h"
#include "tests/recordings/guest.h"
#include "tests/support/elf_image.h"
#include "xtop/export/export.h"
#include "xtop/profile/resolver.h"
#include "xtop/query/columns.h"
#include "xtop/recording/recording.h"
#include "xtop/symbol/image.h"

#define MAX_RECORDS 256
#define MAX_CHUNKS  64
#define MAX_BYTES   (1 << 16) /* longest file that is put together here */

enum flag {
	FLAG_RIGHT = 1, /* parts of a valid file; else: the rest is a file */
	FLAG_HOW = 6,   /* the way of unwinding, times 2 */
	FLAG_FEW_NODES = 8,
	FLAG_MEMORY = 16,    /* the search for a kernel goes through all addresses: slow */
	FLAG_TABLES = 32,    /* the valid file that has unwind tables */
	FLAG_CHUNKS = 64,    /* put together from its chunks */
	FLAG_NO_NAMES = 128, /* the caller asks for no symbols, and reads no records */
};

struct right {
	uint8_t bytes[MAX_BYTES];
	size_t size_bytes;
	size_t chunks[MAX_CHUNKS + 1]; /* their starts; after the last one: size_bytes */
	size_t n_chunks;
};

static struct right *rights[2]; /* the second has tables */
static int fd;
static char path[64];
static struct ring *ring;
static struct control *control;
static struct snapshot_slot *slot;

/* Every frame: page-table entries on the way to the kernel lead to frames from 0 on. */
static uint64_t table[GUEST_PAGE_SIZE / 8];

static void read_table(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	(void)context, (void)frames;
	for (size_t i = 0; i < n; i++) {
		ok[i] = true;
		memcpy((char *)pages + i * GUEST_PAGE_SIZE, table, GUEST_PAGE_SIZE);
	}
}

static void close_nothing(void *context)
{
	(void)context;
}

static void read_twice(struct memory *memory)
{
	uint64_t value;

	for (unsigned i = 0; i < 2; i++) {
		memory_refresh(memory);
		memory_read_u64(memory, (struct memory_root){ 0 }, 0xffffffff81000000, &value);
		table[8] += GUEST_PAGE_SIZE;
	}
	memory_now_ns(memory);
}

static void write_records(struct recording_writer *writer)
{
	static const struct memory_ops ops = { .read = read_table, .close = close_nothing };
	static struct guest_record record;
	struct memory *memory;

	table[0] = table[8] = table[510] = table[511] = 3;
	fuzz_succeed(memory_create(&ops, NULL, &memory));
	recording_writer_watch(writer, memory);
	for (unsigned i = 0; i < 2; i++) {
		read_twice(memory);
		guest_begin(&record, 1000000ULL * i, 1000);
		guest_add_chain(&record, 0, "start_kernel;serve;hash;copy");
		guest_add_chain(&record, 1, "_start;main;loop;0x12345");
		recording_writer_write(writer, (const struct sample *)record.words, NULL);
		recording_writer_write_poll(writer, 1000000ULL * i);
	}
	memory_destroy(memory);
}

/* Its .eh_frame describes the frames of guest.h: 48 bytes, the last of which are rbp and rip. */
static int make_tables(void)
{
	/* clang-format off */
	static const uint8_t frames[] = {
		20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, /* CIE, -8 */
		0x0c, 7, 48, 0x90, 1, 0x86, 2,                 /* rsp + 48; rip, rbp below it */
		24, 0, 0, 0, 28, 0, 0, 0, 0, 0x10, 0x40, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0,
	};
	/* clang-format on */
	static const char names[] = "\0.eh_frame\0.shstrtab";
	static struct elf_image image;

	elf_image_init(&image);
	elf_image_text(&image, GUEST_PROGRAM, 4 * GUEST_FUNCTION_BYTES);
	elf_image_section(&image,
			  (Elf64_Shdr){ .sh_name = 1,
					.sh_type = SHT_PROGBITS,
					.sh_flags = SHF_ALLOC,
					.sh_addr = 0x500000,
					.sh_size = sizeof(frames),
					.sh_addralign = 8 },
			  frames);
	image.header.e_shstrndx = (uint16_t)elf_image_section(
		&image,
		(Elf64_Shdr){ .sh_name = 11, .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
		names);
	return elf_image_fd(&image);
}

static void write_right(const char *name, bool tables)
{
	struct recording_info info = { .domain = "fuzz", .n_vcpus = 2, .freq_hz = 99 };
	struct symbols *symbols = guest_symbols();
	struct recording_writer *writer;

	if (tables)
		image_adopt_tables_file(symbols_image(symbols, 1), make_tables());
	fuzz_succeed(recording_writer_open(name, &writer));
	recording_writer_begin(writer, &info, symbols);
	write_records(writer);
	fuzz_succeed(recording_writer_close(writer));
	symbols_destroy(symbols);
}

static void find_chunks(struct right *right)
{
	struct recording_chunk chunk;
	size_t at = sizeof(struct recording_head);

	while (at < right->size_bytes && right->n_chunks < MAX_CHUNKS) {
		memcpy(&chunk, right->bytes + at, sizeof(chunk));
		right->chunks[right->n_chunks++] = at;
		at += sizeof(chunk) + recording_pad(chunk.size_bytes);
	}
	fuzz_must(at == right->size_bytes, "the valid file is whole");
	right->chunks[right->n_chunks] = at;
}

static struct right *read_right(const char *name)
{
	struct right *right = calloc(1, sizeof(*right));
	FILE *file = fopen(name, "r");

	if (!file || !right)
		abort();
	right->size_bytes = fread(right->bytes, 1, sizeof(right->bytes), file);
	fclose(file);
	find_chunks(right);
	return right;
}

static void start(void)
{
	char folder[] = "/tmp/xtop-fuzz-XXXXXX", name[sizeof(folder) + 8];

	if (!mkdtemp(folder))
		abort();
	snprintf(name, sizeof(name), "%s/right", folder);
	for (unsigned i = 0; i < 2; i++) {
		write_right(name, i);
		rights[i] = read_right(name);
		unlink(name);
	}
	rmdir(folder);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fuzz_succeed(ring_create(4096, &ring));
	fuzz_succeed(control_create(&control));
	fuzz_succeed(snapshot_slot_create(&slot));
}

/* Each line is "frames count" and has no character that a name must not have. */
static void check_folded(const char *text, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i++)
		fuzz_must((unsigned char)text[i] >= 0x20 || text[i] == '\n', "no control byte");
	fuzz_must(!size_bytes || text[size_bytes - 1] == '\n', "whole lines");
}

/* Folded stacks have whole numbers: a recording whose weights are all below a half is refused. */
static void export_folded_stacks(const struct snapshot *snapshot, FILE *file)
{
	struct xtop_error *error =
		export_folded(snapshot, &(struct export_settings){ .addresses = true }, file);

	fuzz_must(!error || strstr(error_message(error), "all would be 0"),
		  "nothing else of a snapshot is refused");
	error_destroy(error);
}

static void export_all(const struct snapshot *snapshot)
{
	const struct table_options options = { .title = "fuzz", .sort = &columns[0] };
	char *text = NULL;
	size_t size_bytes = 0;
	FILE *file = open_memstream(&text, &size_bytes);

	if (!file)
		abort();
	export_folded_stacks(snapshot, file);
	fuzz_succeed(export_table(snapshot, &options, file));
	fclose(file);
	check_folded(text, size_bytes);
	free(text);
}

static void create_os(const struct recording_reader *reader, const struct symbols *symbols,
		      struct memory **memoryp, struct resolver_settings *settings)
{
	struct os_settings os_settings = { .type = recording_reader_get_info(reader)->type,
					   .control = control,
					   .symbols = (struct symbols *)symbols };

	if (!recording_reader_has_memory(reader))
		return;
	fuzz_succeed(recorded_memory_open(memoryp, &settings->recorded));
	os_settings.memory = *memoryp;
	fuzz_succeed(os_create(&os_settings, &settings->os));
}

static void play(struct recording_reader *reader, const struct symbols *symbols, uint8_t flags)
{
	const struct recording_info *info = recording_reader_get_info(reader);
	struct resolver_settings settings = { .ring = ring,
					      .control = control,
					      .slot = slot,
					      .symbols = symbols,
					      .how = (flags & FLAG_HOW) / 2,
					      .crash = info->report != RECORDING_OF_TIME,
					      .n_vcpus = info->n_vcpus,
					      .max_nodes = flags & FLAG_FEW_NODES ? 16 : 4096 };
	struct sampler_counts counts;
	struct memory *memory = NULL;
	struct snapshot *snapshot;
	struct resolver *resolver;
	const void *record;
	size_t size_bytes;

	if (flags & FLAG_MEMORY)
		create_os(reader, symbols, &memory, &settings);
	fuzz_succeed(resolver_create(&settings, &resolver));
	for (unsigned i = 0; i < MAX_RECORDS; i++) {
		record = recording_reader_next(reader, &size_bytes);
		if (!record)
			break;
		fuzz_must(size_bytes <= sample_size_max(settings.n_vcpus), "a record fits");
		resolver_add(resolver, record, size_bytes);
		if (memory)
			memory_now_ns(memory);
	}
	recording_reader_get_complaint(reader);
	recording_reader_get_counts(reader, &counts);
	fuzz_succeed(resolver_snapshot(resolver, &snapshot));
	export_all(snapshot);
	snapshot_destroy(snapshot);
	resolver_destroy(resolver);
	os_destroy(settings.os);
	memory_destroy(memory);
}

static void replay(const uint8_t *bytes, size_t size_bytes, uint8_t flags)
{
	struct recording_reader *reader;
	struct symbols *symbols;
	struct xtop_error *error;

	if (pwrite(fd, bytes, size_bytes, 0) != (ssize_t)size_bytes ||
	    ftruncate(fd, (off_t)size_bytes))
		abort();
	fuzz_succeed(symbols_create(&symbols));
	error = recording_reader_open(path, flags & FLAG_NO_NAMES ? NULL : symbols, &reader);
	if (!error) {
		if (!(flags & FLAG_NO_NAMES))
			play(reader, symbols, flags);
		recording_reader_close(reader);
	}
	error_destroy(error);
	symbols_destroy(symbols);
}

/* --- chunks put together ---------------------------------------------------------------------- */

enum spoil {
	SPOIL_SIZE = 1,  /* the size that it tells */
	SPOIL_LARGE = 2, /* all 64 bits of that size */
	SPOIL_TYPE = 4,
	SPOIL_FLAGS = 8,
	SPOIL_BYTES = 16, /* bytes of the payload */
	SPOIL_TWICE = 32, /* repeats one chunk many times */
	SPOIL_OLD = 64,   /* a sample as version 2 had it: without its weight */
};

static void spoil_head(struct fuzz *fuzz, uint8_t how, struct recording_chunk *chunk)
{
	static const uint32_t types[] = {
		RECORDING_INFO,   RECORDING_SYMBOLS, RECORDING_TABLES,
		RECORDING_SAMPLE, RECORDING_END,     RECORDING_PAGE,
		RECORDING_TIME,   RECORDING_POLL,    RECORDING_TYPE('X', 'T', 'R', 'A'),
	};

	if (how & SPOIL_SIZE)
		chunk->size_bytes += (uint64_t)(int8_t)fuzz_u8(fuzz);
	if (how & SPOIL_LARGE)
		chunk->size_bytes = fuzz_u64(fuzz);
	if (how & SPOIL_TYPE)
		chunk->type = types[fuzz_u8(fuzz) % (sizeof(types) / sizeof(types[0]))];
	if (how & SPOIL_FLAGS)
		chunk->flags = fuzz_u8(fuzz);
}

/* Changes a SMPL alone. Returns its size now. */
static size_t make_old(uint8_t *chunk, size_t size_bytes)
{
	const size_t weight = sizeof(struct recording_chunk) + RECORDING_OLD_SAMPLE_BYTES;
	const size_t gone = sizeof(struct sample) - RECORDING_OLD_SAMPLE_BYTES;
	struct recording_chunk head;
	struct sample sample;

	memcpy(&head, chunk, sizeof(head));
	if (head.type != RECORDING_SAMPLE)
		return size_bytes;
	memcpy(&sample, chunk + sizeof(head), sizeof(sample));
	head.size_bytes -= gone;
	sample.size_bytes -= (uint32_t)gone;
	memcpy(chunk, &head, sizeof(head));
	memcpy(chunk + sizeof(head), &sample, RECORDING_OLD_SAMPLE_BYTES);
	memmove(chunk + weight, chunk + weight + gone, size_bytes - weight - gone);
	return size_bytes - gone;
}

/* A chunk of the valid file, spoiled, at TO. Returns its size. */
static size_t make_chunk(struct fuzz *fuzz, const struct right *right, uint8_t how, uint8_t *to)
{
	size_t i = fuzz_u8(fuzz) % right->n_chunks;
	size_t size_bytes = right->chunks[i + 1] - right->chunks[i], at, n;
	struct recording_chunk chunk;

	memcpy(to, right->bytes + right->chunks[i], size_bytes);
	if (how & SPOIL_OLD)
		size_bytes = make_old(to, size_bytes);
	memcpy(&chunk, to, sizeof(chunk));
	spoil_head(fuzz, how, &chunk);
	memcpy(to, &chunk, sizeof(chunk));
	if (how & SPOIL_BYTES && size_bytes > sizeof(chunk)) {
		at = sizeof(chunk) + fuzz_u16(fuzz) % (size_bytes - sizeof(chunk));
		n = 1 + fuzz_u8(fuzz) % 8;
		fuzz_take(fuzz, to + at, n < size_bytes - at ? n : size_bytes - at);
	}
	return size_bytes;
}

/* The version, how many bytes to cut off at the end, then chunks. Returns the size of the file. */
static size_t put_together(struct fuzz *fuzz, const struct right *right, uint8_t *to)
{
	size_t n = sizeof(struct recording_head), cut, size_bytes;
	unsigned times;
	uint8_t how;

	memcpy(to, right->bytes, n);
	to[offsetof(struct recording_head, version)] = fuzz_u8(fuzz);
	cut = fuzz_u8(fuzz);
	while (fuzz->left_bytes && n + right->size_bytes <= MAX_BYTES) {
		how = fuzz_u8(fuzz);
		times = how & SPOIL_TWICE ? fuzz_u8(fuzz) : 1;
		size_bytes = make_chunk(fuzz, right, how, to + n);
		for (; times && n + 2 * size_bytes <= MAX_BYTES; times--, n += size_bytes)
			memmove(to + n + size_bytes, to + n, size_bytes);
	}
	return cut < n ? n - cut : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static uint8_t made[MAX_BYTES];
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	uint8_t flags = fuzz_u8(&fuzz);
	const struct right *right;

	if (!rights[0])
		start();
	right = rights[flags & FLAG_TABLES ? 1 : 0];
	if (!(flags & FLAG_RIGHT)) {
		replay(fuzz.at, fuzz.left_bytes, flags);
		return 0;
	}
	if (flags & FLAG_CHUNKS) {
		size_bytes = put_together(&fuzz, right, made);
	} else {
		size_bytes = right->size_bytes;
		memcpy(made, right->bytes, size_bytes);
		fuzz_patch(&fuzz, made, size_bytes);
	}
	replay(made, size_bytes, flags);
	return 0;
}
