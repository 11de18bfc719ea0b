/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings, written and read back: whole, cut at every byte, with every bit flipped, with chunks
 * of unknown types, of other versions, with lengths that lie. All damage is done to this small
 * file:
 *
 *   head | INFO | SYMS [kernel], 3 symbols | SYMS empty | PAGE 5, lines 0 and 3 | TIME | SMPL
 *        | POLL | SMPL | PAGE 5, gone | PAGE 6, line 0 | SMPL | END
 */
#include "recording/format.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/late_error.h"
#include "tests/support/tap.h"
#include "xtop/symbol/image.h"

#define N_SAMPLES      3
#define N_NOTES        5
#define FILE_MAX_BYTES 4096

static char folder[] = "/tmp/xtop-test-recording-XXXXXX";
static char path_whole[64], path_damaged[64]; /* in folder */
static char whole[FILE_MAX_BYTES];
static size_t whole_bytes;

/* --- the small file --------------------------------------------------------------------------- */

static struct recording_info some_info(void)
{
	struct recording_info info = { .domid = 5,
				       .type = GUEST_PVH,
				       .n_vcpus = 2,
				       .freq_hz = 99.5,
				       .wallclock_s = 1700000000 };

	strcpy(info.domain, "web01");
	strcpy(info.uuid, "8e4b2b3e-0a4f-4c39-b7a5-1d2f3c4b5a69");
	return info;
}

struct tick {
	struct sample sample;
	struct sample_vcpu vcpu;
	struct sample_stack stack;
	uint64_t words[4];
};

/* In the file: with the registers of x86-64 alone. */
#define TICK_FILE_BYTES (sizeof(struct tick) - sizeof(struct registers) + 26 * 8)

static struct tick some_tick(unsigned i)
{
	return (struct tick){
		.sample = { .size_bytes = sizeof(struct tick),
			    .n_vcpus = 1,
			    .time_ns = 1000000 * i,
			    .stopped_ns = 17000 + i,
			    .weight = (i + 1) * SAMPLE_WEIGHT_TICK },
		.vcpu = { .size_bytes = sizeof(struct tick) - sizeof(struct sample),
			  .vcpu = 1,
			  .state = VCPU_RUNNING,
			  .n_stacks = 1,
			  .regs = { .rip = 0x1000 + i } },
		.stack = { .address = 0x8000, .size_bytes = 32 },
		.words = { i, 2, 3, 4 },
	};
}

static struct symbols *some_symbols(void)
{
	struct build_id build_id = { .size_bytes = 3,
				     .bytes = { 0xab, 0xcd, 0xef },
				     .address = 0x400 };
	struct symbols *symbols;
	struct symtab *tab;

	if (symbols_create(&symbols) || symtab_create(&tab))
		abort();
	if (symtab_add(tab, 0x1000, 0x10, 0, SYMBOL_GLOBAL, "start", 5) ||
	    symtab_add(tab, 0x1010, 0, 0x1100, SYMBOL_LOCAL, "_ZN3foo3barEv", 13) ||
	    symtab_add(tab, 0xffffffff80000000, 8, 0, SYMBOL_GLOBAL, "top", 3) ||
	    symtab_seal(tab) || symbols_add_table(symbols, tab, "[kernel]", &build_id))
		abort();
	if (symtab_create(&tab) || symtab_seal(tab) ||
	    symbols_add_table(symbols, tab, "empty", NULL))
		abort();
	return symbols;
}

/* A new file each time: ext4 syncs a truncated file when it is closed, which takes 1 ms. */
static void write_file(const char *path, const void *bytes, size_t size_bytes)
{
	struct stat status;
	FILE *file;

	if (!lstat(path, &status) && S_ISREG(status.st_mode))
		unlink(path);
	file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size_bytes, file) != size_bytes || fclose(file) != 0)
		abort();
}

/* The watched memory has this in every frame. */
static char page_bytes[GUEST_PAGE_SIZE];
static bool refused;

static void give_page(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	(void)context, (void)frames;
	for (size_t i = 0; i < n; i++) {
		ok[i] = !refused;
		memcpy((char *)pages + i * GUEST_PAGE_SIZE, page_bytes, GUEST_PAGE_SIZE);
	}
}

static void give_nothing(void *context)
{
	(void)context;
}

static uint64_t give_time(void *context)
{
	(void)context;
	return 1234;
}

/* Reads one page table, which has nothing for address 0, and nothing else. */
static void touch(struct memory *memory, uint64_t frame)
{
	frame_t found;

	memory_refresh(memory);
	memory_translate(memory, (struct memory_root){ .cr3 = frame << GUEST_PAGE_SHIFT }, 0,
			 &found);
}

static void write_tick(struct recording_writer *writer, unsigned i)
{
	struct tick tick = some_tick(i);

	recording_writer_write(writer, (const struct sample *)&tick, NULL);
}

static void write_samples(struct recording_writer *writer)
{
	static const struct memory_ops ops = { .read = give_page,
					       .close = give_nothing,
					       .now_ns = give_time };
	struct memory *memory;

	if (memory_create(&ops, NULL, &memory))
		abort();
	recording_writer_watch(writer, memory);
	page_bytes[8] = page_bytes[200] = 2; /* page-table entries that are not present */
	touch(memory, 5);
	memory_now_ns(memory);
	write_tick(writer, 0);
	recording_writer_write_poll(writer, 5678);
	write_tick(writer, 1);
	refused = true;
	touch(memory, 5);
	refused = false;
	page_bytes[200] = 0;
	touch(memory, 6);
	write_tick(writer, 2);
	memory_destroy(memory);
}

static void test_write(void)
{
	struct recording_info info = some_info();
	struct symbols *symbols = some_symbols();
	struct recording_writer *writer;
	struct xtop_error *error;
	struct stat status;
	FILE *file;

	error = recording_writer_open(path_whole, &writer);
	if (!check(!error, "created: %s", error ? error_message(error) : "yes"))
		exit(tap_done());
	recording_writer_begin(writer, &info, symbols);
	write_samples(writer);
	error = recording_writer_close(writer);
	check(!error, "closed");
	check(stat(path_whole, &status) == 0 && (status.st_mode & 07777) == 0600, "mode 0600");
	error = recording_writer_open(path_whole, &writer);
	check(error && strstr(error_message(error), "exists"), "an existing file is refused");
	error_destroy(error);
	symbols_destroy(symbols);
	file = fopen(path_whole, "r");
	whole_bytes = fread(whole, 1, sizeof(whole), file);
	fclose(file);
	check(whole_bytes > 1000 && whole_bytes % 8 == 0, "%zu bytes", whole_bytes);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct outcome {
	bool opened;
	unsigned n_samples, n_notes;
	char message[256]; /* of the error or the complaint; "": none */
};

static struct outcome read_back(const char *path)
{
	struct outcome outcome = { 0 };
	struct symbols *symbols;
	struct recording_reader *reader;
	struct xtop_error *error;
	const void *record;
	size_t size_bytes;

	if (symbols_create(&symbols))
		abort();
	error = recording_reader_open(path, symbols, &reader);
	outcome.opened = !error;
	if (error) {
		snprintf(outcome.message, sizeof(outcome.message), "%s", error_message(error));
		error_destroy(error);
		symbols_destroy(symbols);
		return outcome;
	}
	while ((record = recording_reader_next(reader, &size_bytes))) {
		outcome.n_notes += recording_is_note(record);
		outcome.n_samples += !recording_is_note(record);
	}
	if (recording_reader_get_complaint(reader))
		snprintf(outcome.message, sizeof(outcome.message), "%s",
			 recording_reader_get_complaint(reader));
	if (recording_reader_next(reader, &size_bytes))
		abort();
	recording_reader_close(reader);
	symbols_destroy(symbols);
	return outcome;
}

/*
 * The complaint says that the last N_BYTES are no whole record; or nothing of it when there are
 * none.
 */
static bool tells_cut(const struct outcome *outcome, size_t n_bytes)
{
	char words[80];

	snprintf(words, sizeof(words), "its last %zu bytes are no whole record", n_bytes);
	return n_bytes ? strstr(outcome->message, words) != NULL
		       : strcmp(outcome->message, "cut short: it has no end mark") == 0;
}

static struct outcome read_bytes(const void *bytes, size_t size_bytes)
{
	write_file(path_damaged, bytes, size_bytes);
	return read_back(path_damaged);
}

static void check_recorded_symbols(const struct symbols *symbols)
{
	const struct space *space = symbols_space(symbols);
	const struct mapping *mapping;
	struct symtab_entry entry;

	check_u64(symbols_count(symbols), 2, "images");
	check_u64(symtab_count(symbols_table(symbols, 0)), 3, "symbols");
	check_string(symbols_module(symbols, 0), "[kernel]", "module");
	check_u64(symbols_build_id(symbols, 0)->size_bytes, 3, "build-id");
	check_u64(symbols_build_id(symbols, 0)->bytes[2], 0xef, "its last byte");
	check_u64(symbols_build_id(symbols, 0)->address, 0x400, "its address");
	check(space_find_symbol(space, 0x10ff, &entry, &mapping) && entry.start == 0x1010 &&
		      strcmp(entry.name, "_ZN3foo3barEv") == 0,
	      "a name found by its address");
	check(!space_find_symbol(space, 0x1100, &entry, &mapping), "an end kept");
	check(space_find_symbol(space, 0xffffffff80000007, &entry, &mapping), "a high address");
}

static void check_tick(struct recording_reader *reader, unsigned i)
{
	struct tick tick = some_tick(i);
	size_t size_bytes = 0;
	const void *record = recording_reader_next(reader, &size_bytes);

	check(record && size_bytes == sizeof(tick) && memcmp(record, &tick, sizeof(tick)) == 0,
	      "sample %u byte for byte", i);
}

static void check_time(struct recording_reader *reader, uint32_t type, uint64_t time_ns)
{
	size_t size_bytes = 0;
	const struct recording_note *note = recording_reader_next(reader, &size_bytes);

	check(note && recording_is_note(note) && note->type == type && size_bytes == 16 &&
		      recording_note_time(note) == time_ns,
	      "time %" PRIu64, time_ns);
}

/* Each line has what page_bytes had there. */
static void check_page(struct recording_reader *reader, uint64_t frame, uint64_t lines, size_t n)
{
	size_t size_bytes = 0;
	const struct recording_note *note = recording_reader_next(reader, &size_bytes);
	const struct recording_page *page = (const void *)(note + 1);
	const char *at = (const char *)(page + 1);

	check(note && recording_is_note(note) && note->type == RECORDING_PAGE &&
		      size_bytes == sizeof(*note) + sizeof(*page) + n * 64 &&
		      page->frame == frame && page->lines == lines,
	      "page %" PRIu64, frame);
	check(n < 1 || (at[8] == 2 && at[7] == 0 && at[9] == 0), "its line 0");
	check(n < 2 || (at[64 + 200 - 192] == 2 && at[64] == 0), "its line 3");
}

static void test_round_trip(void)
{
	struct recording_info want = some_info();
	struct recording_reader *reader;
	struct symbols *symbols;
	size_t size_bytes = 0;

	if (symbols_create(&symbols) || recording_reader_open(path_whole, symbols, &reader))
		abort();
	check(memcmp(recording_reader_get_info(reader), &want, sizeof(want)) == 0, "info");
	check_recorded_symbols(symbols);
	check_page(reader, 5, 9, 2);
	check_time(reader, RECORDING_TIME, 1234);
	check_tick(reader, 0);
	check_time(reader, RECORDING_POLL, 5678);
	check_tick(reader, 1);
	check_page(reader, 5, 0, 0);
	check_page(reader, 6, 1, 1);
	check_tick(reader, 2);
	check(recording_reader_has_memory(reader), "memory");
	check(!recording_reader_next(reader, &size_bytes), "end");
	check(!recording_reader_get_complaint(reader), "no complaint");
	recording_reader_close(reader);
	symbols_destroy(symbols);
	check(!recording_reader_open(path_whole, NULL, &reader), "opened without wanting symbols");
	recording_reader_close(reader);
	recording_reader_close(NULL);
}

/* The chunk with its head. */
#define END_BYTES (sizeof(struct recording_chunk) + sizeof(struct recording_chunk_end))

/* In the first version the end mark had one field. */
static void test_short_end(void)
{
	char older[FILE_MAX_BYTES];
	struct recording_chunk *chunk;
	struct outcome outcome;

	memcpy(older, whole, whole_bytes);
	chunk = (struct recording_chunk *)(older + whole_bytes - END_BYTES);
	check_u64(chunk->size_bytes, sizeof(struct recording_chunk_end), "the end mark");
	chunk->size_bytes = RECORDING_END_BYTES;
	outcome = read_bytes(older, whole_bytes - END_BYTES + sizeof(*chunk) + RECORDING_END_BYTES);
	check_u64(outcome.n_samples, N_SAMPLES, "samples of a file with an older one");
	check_string(outcome.message, "", "nothing is wrong with it");
	chunk->size_bytes = RECORDING_END_BYTES - 8;
	outcome = read_bytes(older, whole_bytes - END_BYTES + sizeof(*chunk));
	check(strstr(outcome.message, "end mark is damaged"), "without any: %s", outcome.message);
}

/* A pipe has no length. It gives the same samples and the same number of bytes cut off. */
static void test_pipe(void)
{
	char path[128];
	struct outcome outcome;
	pid_t child;

	snprintf(path, sizeof(path), "%s/fifo", folder);
	if (mkfifo(path, 0600) != 0 || (child = fork()) < 0)
		abort();
	if (child == 0) {
		write_file(path, whole, whole_bytes - END_BYTES - 6);
		_exit(0);
	}
	outcome = read_back(path);
	waitpid(child, NULL, 0);
	unlink(path);
	check_u64(outcome.n_samples, N_SAMPLES - 1, "samples of a pipe that ended early");
	check(tells_cut(&outcome, sizeof(struct recording_chunk) + TICK_FILE_BYTES - 6),
	      "bytes cut: %s", outcome.message);
}

/* --- damage ----------------------------------------------------------------------------------- */

/* All that is whole in the first SIZE_BYTES of the small file. */
struct extent {
	size_t bytes; /* up to the end of the last whole chunk */
	unsigned n_samples;
	bool info;
};

static struct extent measure(size_t size_bytes)
{
	struct extent extent = { .bytes = sizeof(struct recording_head) };
	struct recording_chunk chunk;

	for (size_t at = extent.bytes; at + sizeof(chunk) <= size_bytes;) {
		memcpy(&chunk, whole + at, sizeof(chunk));
		at += sizeof(chunk) + chunk.size_bytes;
		if (at > size_bytes)
			break;
		extent.bytes = at;
		extent.info |= chunk.type == RECORDING_INFO;
		extent.n_samples += chunk.type == RECORDING_SAMPLE;
	}
	return extent;
}

static void test_truncation(void)
{
	for (size_t size = 0; size < whole_bytes; size++) {
		struct outcome outcome = read_bytes(whole, size);
		struct extent want = measure(size);

		if (outcome.opened != want.info || !outcome.message[0] ||
		    (want.info && (outcome.n_samples != want.n_samples ||
				   !tells_cut(&outcome, size - want.bytes))))
			check(false, "first %zu bytes: opened %d, %u samples: %s", size,
			      outcome.opened, outcome.n_samples, outcome.message);
	}
	check(true, "cut at every byte of %zu: whole records replayed, the rest told", whole_bytes);
}

static void test_bit_flips(void)
{
	unsigned opened = 0, told = 0, n = 0;

	for (size_t bit = 0; bit < whole_bytes * 8; bit++, n++) {
		char damaged[FILE_MAX_BYTES];
		struct outcome outcome;

		memcpy(damaged, whole, whole_bytes);
		damaged[bit / 8] ^= 1 << bit % 8;
		outcome = read_bytes(damaged, whole_bytes);
		opened += outcome.opened;
		told += outcome.message[0] != '\0';
		if (outcome.n_samples > N_SAMPLES)
			check(false, "bit %zu: %u samples out of nothing", bit, outcome.n_samples);
	}
	check(opened > 0 && told > 0, "%u bits flipped: %u opened, %u told", n, opened, told);
}

/* Reads the small file with BYTES inserted at OFFSET. */
static struct outcome read_inserted(size_t offset, const void *bytes, size_t size_bytes)
{
	char longer[FILE_MAX_BYTES];

	memcpy(longer, whole, offset);
	memcpy(longer + offset, bytes, size_bytes);
	memcpy(longer + offset + size_bytes, whole + offset, whole_bytes - offset);
	return read_bytes(longer, whole_bytes + size_bytes);
}

/* Where the first chunk of TYPE starts. */
static size_t find_chunk(uint32_t type)
{
	struct recording_chunk chunk;
	size_t at = sizeof(struct recording_head);

	for (; at < whole_bytes; at += sizeof(chunk) + chunk.size_bytes) {
		memcpy(&chunk, whole + at, sizeof(chunk));
		if (chunk.type == type)
			return at;
	}
	abort();
}

static void test_unknown_chunks(void)
{
	static const uint32_t before[] = { RECORDING_INFO,   RECORDING_SYMBOLS, RECORDING_PAGE,
					   RECORDING_SAMPLE, RECORDING_POLL,    RECORDING_END };
	struct {
		struct recording_chunk chunk;
		char payload[16];
	} unknown = {
		{ .type = RECORDING_TYPE('X', 'T', 'R', 'A'), .flags = 0x100, .size_bytes = 11 },
		"0123456789"
	};
	struct outcome outcome;

	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		outcome = read_inserted(find_chunk(before[i]), &unknown, sizeof(unknown));
		check(outcome.opened && outcome.n_samples == N_SAMPLES && !outcome.message[0],
		      "unknown chunk %zu passed over", i);
	}
	unknown.chunk.flags |= RECORDING_CHUNK_REQUIRED;
	outcome = read_inserted(find_chunk(RECORDING_INFO), &unknown, sizeof(unknown));
	check(!outcome.opened && strstr(outcome.message, "newer xtop"), "required: %s",
	      outcome.message);
	outcome = read_inserted(find_chunk(RECORDING_END), &unknown, sizeof(unknown));
	check(outcome.n_samples == N_SAMPLES && strstr(outcome.message, "newer xtop"),
	      "required, late: %s", outcome.message);
	outcome = read_inserted(whole_bytes, "trailing", 8);
	check(outcome.n_samples == N_SAMPLES && strstr(outcome.message, "8 bytes behind"),
	      "behind the end: %s", outcome.message);
}

/* Tables of no image that can be known: a note of their size may be larger than the ring. */
static void test_late_tables(void)
{
	struct {
		struct recording_chunk chunk;
		char payload[64];
	} tables = { { .type = RECORDING_TABLES, .size_bytes = 64 }, "\177ELF" };
	unsigned n_notes = read_bytes(whole, whole_bytes).n_notes;
	struct outcome outcome;

	outcome = read_inserted(find_chunk(RECORDING_END), &tables, sizeof(tables));
	check(outcome.n_samples == N_SAMPLES && !outcome.message[0], "TABL behind samples: %s",
	      outcome.message);
	check_u64(outcome.n_notes, n_notes, "which is no note");
}

/* Sets one field of the small file to VALUE. The message must contain WORDS. */
static void check_field(const char *what, size_t offset, size_t size_bytes, uint64_t value,
			const char *words)
{
	char damaged[FILE_MAX_BYTES];
	struct outcome outcome;

	memcpy(damaged, whole, whole_bytes);
	memcpy(damaged + offset, &value, size_bytes);
	outcome = read_bytes(damaged, whole_bytes);
	check(strstr(outcome.message, words), "%s: %s", what, outcome.message);
}

#define IN(type, field) offsetof(struct type, field), sizeof(((struct type *)NULL)->field)
#define IN_CHUNK(kind, type, field)                                                                \
	find_chunk(kind) + sizeof(struct recording_chunk) + offsetof(struct type, field),          \
		sizeof(((struct type *)NULL)->field)

static void test_fields(void)
{
	size_t info = find_chunk(RECORDING_INFO), sample = find_chunk(RECORDING_SAMPLE);
	size_t symbols = find_chunk(RECORDING_SYMBOLS);

	check_field("magic", 0, 1, 'Y', "does not begin with XTOPREC");
	check_field("version", IN(recording_head, version), 4,
		    "has version 4, this xtop reads versions 1 to 3");
	check_field("head size", IN(recording_head, head_bytes), 8, "a head of 8 bytes");
	check_field("large head", IN(recording_head, head_bytes), UINT32_MAX - 7, "a head of");
	check_field("machine", IN_CHUNK(RECORDING_INFO, recording_chunk_info, machine), 21,
		    "machine type 21");
	check_field("vCPUs", IN_CHUNK(RECORDING_INFO, recording_chunk_info, n_vcpus), 129,
		    "129 vCPUs");
	check_field("guest type", IN_CHUNK(RECORDING_INFO, recording_chunk_info, guest_type), 3,
		    "guest type 3");
	check_field("no INFO", info, 4, 0, "does not say which guest");
	check_field("INFO too short", info + 8, 8, 128, "too short");
	check_field("INFO of all memory", info + 8, 8, UINT64_MAX, "damaged at byte 16");
	check_field("symbols of all memory", symbols + 8, 8, UINT64_MAX - 7, "damaged at byte");
	check_field("symbols beyond the file", symbols + 8, 8, 1 << 30, "cut short");
	check_field("sample of all memory", sample + 8, 8, UINT64_MAX, "damaged at byte");
	check_field("sample beyond the file", sample + 8, 8, 1 << 20, "cut short");
	check_field("end mark", IN_CHUNK(RECORDING_END, recording_chunk_end, n_samples), 4,
		    "4 samples were recorded, 3 are in it");
	check_field("vCPU beyond those of INFO", sample + 16 + sizeof(struct sample) + 4, 2, 2,
		    "1 of 3 samples refused");
	check_field("bad sample", sample + 16, 4, 8, "1 of 3 samples refused");
	check_field("no weight", sample + 16 + offsetof(struct sample, weight), 4, 0,
		    "1 of 3 samples refused");
	check_field("more lines than there are", IN_CHUNK(RECORDING_PAGE, recording_page, lines), 7,
		    "1 pages of guest memory refused");
	check_field("fewer", IN_CHUNK(RECORDING_PAGE, recording_page, lines), 8,
		    "1 pages of guest memory refused");
	check_field("page of all memory", find_chunk(RECORDING_PAGE) + 8, 8, UINT64_MAX,
		    "damaged at byte");
	check_field("page of more than a page", find_chunk(RECORDING_PAGE) + 8, 8, 4096 + 32,
		    "damaged at byte");
	check_field("much time", find_chunk(RECORDING_POLL) + 8, 8, 72, "damaged at byte");
}

/* Notes that are too short. */
static void test_short_notes(void)
{
	struct recording_chunk chunk[2] = { { .type = RECORDING_TIME }, { 0 } };
	struct outcome outcome;

	outcome = read_inserted(find_chunk(RECORDING_SAMPLE), chunk, sizeof(chunk[0]));
	check(strstr(outcome.message, "1 pages of guest memory refused") &&
		      outcome.n_samples == N_SAMPLES,
	      "no time: %s", outcome.message);
	chunk[0] = (struct recording_chunk){ .type = RECORDING_PAGE, .size_bytes = 16 };
	outcome = read_inserted(find_chunk(RECORDING_SAMPLE), chunk, sizeof(chunk));
	check(strstr(outcome.message, "1 pages of guest memory refused") &&
		      outcome.n_notes == N_NOTES,
	      "half a page's head: %s", outcome.message);
	chunk[0] = (struct recording_chunk){ .type = RECORDING_CLOCKS, .size_bytes = 16 };
	outcome = read_inserted(find_chunk(RECORDING_SAMPLE), chunk, sizeof(chunk));
	check(strstr(outcome.message, "1 pages of guest memory refused") &&
		      outcome.n_notes == N_NOTES,
	      "two of three clocks: %s", outcome.message);
}

/* What the clocks showed comes back; more that a later xtop may add is no obstacle. */
static void test_clocks(void)
{
	struct {
		struct recording_chunk chunk;
		struct recording_clocks clocks;
		uint64_t more;
	} note = { .chunk = { .type = RECORDING_CLOCKS,
			      .size_bytes = sizeof(note.clocks) + sizeof(note.more) },
		   .clocks = { 1, 2, 3 } };
	struct outcome outcome =
		read_inserted(find_chunk(RECORDING_SAMPLE), &note, sizeof(note));

	check(!outcome.message[0] && outcome.n_notes == N_NOTES + 1, "clocks are a note: %s",
	      outcome.message);
}

static void test_symbol_fields(void)
{
	size_t first = find_chunk(RECORDING_SYMBOLS) + 16 + sizeof(struct recording_chunk_symbols);

#define IN_SYMBOLS(field) IN_CHUNK(RECORDING_SYMBOLS, recording_chunk_symbols, field)
	check_field("table head", IN_SYMBOLS(head_bytes), 24, "symbol table 1: damaged");
	check_field("long table head", IN_SYMBOLS(head_bytes), UINT32_MAX - 7,
		    "symbol table 1: damaged");
	check_field("symbols", IN_SYMBOLS(n_symbols), 4, "damaged");
	check_field("many symbols", IN_SYMBOLS(n_symbols), UINT32_MAX, "symbol table 1: damaged");
	check_field("module", IN_SYMBOLS(module_bytes), 0, "symbol table 1: damaged");
	check_field("long module", IN_SYMBOLS(module_bytes), UINT32_MAX, "symbol table 1: damaged");
	check_field("build-id", IN_SYMBOLS(build_id_bytes), BUILD_ID_MAX_BYTES + 1,
		    "symbol table 1: damaged");
	check_field("strings", IN_SYMBOLS(strings_bytes), UINT64_MAX, "symbol table 1: damaged");
	check_field("short strings", IN_SYMBOLS(strings_bytes), 3, "damaged: symbol 0 of 3");
	check_field("module without an end",
		    first + 3 * sizeof(struct recording_symbol) + strlen("[kernel]"), 1, 'x',
		    "symbol table 1: damaged");
	check_field("symbol without bytes", first + 8, 8, 0x1000, "damaged: symbol 0 of 3");
}

/* --- machines --------------------------------------------------------------------------------- */

/* Every register of arm64 is there, and the stack behind the vCPU's longer head. */
static struct tick arm64_tick(void)
{
	struct tick tick = some_tick(3);
	uint64_t *words = (uint64_t *)&tick.vcpu.regs.arm64;

	for (unsigned i = 0; i < sizeof(tick.vcpu.regs.arm64) / sizeof(words[0]); i++)
		words[i] = 0x0101010101010101ULL * (i + 1);
	tick.vcpu.regs.arch = ARCH_ARM64;
	return tick;
}

static void write_arm64(const char *path)
{
	struct recording_info info = some_info();
	struct tick tick = arm64_tick();
	struct recording_writer *writer;

	unlink(path);
	info.arch = ARCH_ARM64;
	if (recording_writer_open(path, &writer))
		abort();
	recording_writer_begin(writer, &info, NULL);
	recording_writer_write(writer, (const struct sample *)&tick, NULL);
	if (recording_writer_close(writer))
		abort();
}

static void test_arm64(void)
{
	struct tick want = arm64_tick();
	struct recording_reader *reader;
	const struct tick *read;
	size_t size_bytes = 0;

	write_arm64(path_damaged);
	if (recording_reader_open(path_damaged, NULL, &reader))
		abort();
	check(recording_reader_get_info(reader)->arch == ARCH_ARM64, "INFO tells arm64");
	read = recording_reader_next(reader, &size_bytes);
	check(read && size_bytes == sizeof(want) && memcmp(read, &want, sizeof(want)) == 0,
	      "a sample of arm64 is read as it was");
	check(!recording_reader_next(reader, &size_bytes) &&
		      !recording_reader_get_complaint(reader),
	      "and nothing else");
	recording_reader_close(reader);
}

/* The registers of x86-64 take 208 bytes of a file, those of arm64 328, as doc/FORMATS says. */
static void test_sizes_of_samples(void)
{
	struct recording_chunk chunk;
	char bytes[4096];
	FILE *file;
	size_t n;

	memcpy(&chunk, whole + find_chunk(RECORDING_SAMPLE), sizeof(chunk));
	check_u64(chunk.size_bytes, 32 + 24 + 208 + 16 + 32, "a sample of x86-64");
	write_arm64(path_damaged);
	file = fopen(path_damaged, "r");
	n = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	if (file)
		fclose(file);
	check(n > 168 + sizeof(chunk), "%zu bytes", n); /* head 16, INFO 16 + 136 */
	memcpy(&chunk, bytes + 168, sizeof(chunk));
	check_u64(chunk.size_bytes, 32 + 24 + 328 + 16 + 32, "a sample of arm64");
}

/* A vCPU that claims fewer bytes than its registers need, or more than there are. */
static void test_damaged_vcpus(void)
{
	size_t vcpu = find_chunk(RECORDING_SAMPLE) + sizeof(struct recording_chunk) + 32;

	check_field("vCPU without registers", vcpu, 4, 24, "1 of 3 samples refused");
	check_field("vCPU of 0 bytes", vcpu, 4, 0, "1 of 3 samples refused");
	check_field("vCPU beyond the sample", vcpu, 4, 24 + 208 + 16 + 32 + 8,
		    "1 of 3 samples refused");
	check_field("vCPU of all memory", vcpu, 4, UINT32_MAX, "1 of 3 samples refused");
	check_field("no vCPU", vcpu - 28, 2, 0, "1 of 3 samples refused");
	check_field("two vCPUs", vcpu - 28, 2, 2, "1 of 3 samples refused");
	check_field("65,535 vCPUs", vcpu - 28, 2, UINT16_MAX, "1 of 3 samples refused");
}

/*
 * The whole file as VERSION had it: heads of samples ended before the weight. Returns its bytes.
 */
static size_t make_older(char older[FILE_MAX_BYTES], uint32_t version)
{
	struct recording_chunk chunk;
	size_t at = sizeof(struct recording_head), to = at;

	memcpy(older, whole, at);
	memcpy(older + offsetof(struct recording_head, version), &version, sizeof(version));
	for (size_t end; at < whole_bytes; at = end) {
		uint32_t size_bytes;

		memcpy(&chunk, whole + at, sizeof(chunk));
		end = at + sizeof(chunk) + recording_pad(chunk.size_bytes);
		if (chunk.type != RECORDING_SAMPLE) {
			memcpy(older + to, whole + at, end - at);
			to += end - at;
			continue;
		}
		chunk.size_bytes -= 8;
		size_bytes = (uint32_t)chunk.size_bytes;
		memcpy(older + to, &chunk, sizeof(chunk));
		to += sizeof(chunk);
		at += sizeof(chunk);
		memcpy(older + to, whole + at, 24);
		memcpy(older + to, &size_bytes, sizeof(size_bytes));
		memcpy(older + to + 24, whole + at + 32, size_bytes - 24);
		to += size_bytes;
	}
	return to;
}

/* Version 2 had no weights: a sample is one tick, and all else is as it was. */
static void test_version_2(void)
{
	char older[FILE_MAX_BYTES];
	struct recording_reader *reader;
	struct outcome outcome = read_bytes(older, make_older(older, 2));
	const struct tick *read;
	size_t size_bytes;
	unsigned i = 0;

	check(outcome.opened && outcome.n_samples == N_SAMPLES && outcome.n_notes == N_NOTES &&
		      !outcome.message[0],
	      "version 2: %u samples, %u notes %s", outcome.n_samples, outcome.n_notes,
	      outcome.message);
	if (recording_reader_open(path_damaged, NULL, &reader))
		abort();
	while ((read = recording_reader_next(reader, &size_bytes))) {
		struct tick want = some_tick(i);

		if (recording_is_note(read))
			continue;
		want.sample.weight = SAMPLE_WEIGHT_TICK;
		check(size_bytes == sizeof(want) && memcmp(read, &want, sizeof(want)) == 0,
		      "sample %u with a weight of one tick", i);
		i++;
	}
	recording_reader_close(reader);
}

/* A sample of version 2 that is cut off in its head, or lies about its size. */
static void test_version_2_damaged(void)
{
	char older[FILE_MAX_BYTES];
	size_t n = make_older(older, 2), at = find_chunk(RECORDING_SAMPLE) + 16;
	uint32_t lie = UINT32_MAX - 7;
	struct outcome outcome;

	for (size_t size_bytes = 0; size_bytes <= 24; size_bytes += 8) {
		char cut[FILE_MAX_BYTES];
		uint64_t payload = size_bytes;

		memcpy(cut, older, at + size_bytes);
		memcpy(cut + at - 8, &payload, sizeof(payload));
		outcome = read_bytes(cut, at + size_bytes);
		check(outcome.opened && !outcome.n_samples, "a sample of %zu bytes: %s", size_bytes,
		      outcome.message);
	}
	memcpy(older + at, &lie, sizeof(lie));
	outcome = read_bytes(older, n);
	check(outcome.n_samples == N_SAMPLES - 1, "a size that wraps around: %s", outcome.message);
}

/* xtop 0.1 wrote recordings without memory. Pages in such a file are refused. */
static void test_version_1(void)
{
	char older[FILE_MAX_BYTES];
	struct recording_reader *reader;
	struct outcome outcome = read_bytes(older, make_older(older, 1));

	check(outcome.opened && outcome.n_samples == N_SAMPLES && outcome.n_notes == 0,
	      "version 1: %u samples, %u notes", outcome.n_samples, outcome.n_notes);
	if (recording_reader_open(path_damaged, NULL, &reader))
		abort();
	check(!recording_reader_has_memory(reader), "no memory");
	recording_reader_close(reader);
}

static void test_no_file(void)
{
	struct recording_writer *writer = NULL;
	struct xtop_error *error;

	check(strstr(read_back("/nonexistent/f").message, "No such file"), "no such file");
	check(strstr(read_back("/").message, "Is a directory"), "a directory: %s",
	      read_back("/").message);
	error = recording_writer_open("/nonexistent/f", &writer);
	check(error && !writer && strstr(error_message(error), "folder"),
	      "a folder that is not there");
	error_destroy(error);
	check(!recording_writer_close(NULL), "closing nothing");
}

/* A limit of the file size fails the write like a full disk: EFBIG when SIGXFSZ is ignored. */
static void test_full_disk(void)
{
	struct rlimit limit = { .rlim_cur = 4096, .rlim_max = RLIM_INFINITY };
	struct recording_info info = some_info();
	struct recording_writer *writer;
	struct xtop_error *error;
	struct outcome outcome;
	struct tick tick = some_tick(0);

	unlink(path_damaged);
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || recording_writer_open(path_damaged, &writer))
		abort();
	recording_writer_begin(writer, &info, NULL);
	for (unsigned i = 0; i < 10000; i++)
		recording_writer_write(writer, (const struct sample *)&tick, NULL);
	check(recording_writer_get_errno(writer) == EFBIG, "full: known while it runs");
	error = recording_writer_close(writer);
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	check(error && strstr(error_message(error), "cut short after"), "full: %s",
	      error ? error_message(error) : "no error");
	error_destroy(error);
	outcome = read_back(path_damaged);
	check(outcome.opened && outcome.n_samples > 5 && outcome.message[0],
	      "what fitted is read: %u samples, %s", outcome.n_samples, outcome.message);
}

static void test_full_at_close(void)
{
	struct recording_info info = some_info();
	struct recording_writer *writer;
	struct xtop_error *error;

	unlink(path_damaged);
	if (recording_writer_open(path_damaged, &writer))
		abort();
	recording_writer_begin(writer, &info, NULL);
	close_errno = EDQUOT;
	error = recording_writer_close(writer);
	close_errno = 0;
	check(error && strstr(error_message(error), strerror(EDQUOT)), "an error at the close: %s",
	      error ? error_message(error) : "no error");
	error_destroy(error);
	unlink(path_damaged);
}

/*
 * Nothing was sampled: no empty file stays behind, and the next run can use the name.
 */
static void test_discard(void)
{
	const struct recording_info info = { .type = GUEST_PV, .n_vcpus = 1, .freq_hz = 99 };
	struct recording_writer *writer = NULL;
	char path[4096];

	snprintf(path, sizeof(path), "%s/discarded", folder);
	check(!recording_writer_open(path, &writer) && access(path, F_OK) == 0, "created");
	recording_writer_begin(writer, &info, NULL);
	recording_writer_discard(writer);
	check(access(path, F_OK) < 0, "discarded: no file");
	recording_writer_discard(NULL);
}

int main(void)
{
	if (!mkdtemp(folder))
		abort();
	snprintf(path_whole, sizeof(path_whole), "%s/whole", folder);
	snprintf(path_damaged, sizeof(path_damaged), "%s/damaged", folder);
	test_write();
	test_round_trip();
	test_pipe();
	test_short_end();
	test_truncation();
	test_bit_flips();
	test_unknown_chunks();
	test_late_tables();
	test_fields();
	test_short_notes();
	test_clocks();
	test_symbol_fields();
	test_version_1();
	test_arm64();
	test_sizes_of_samples();
	test_damaged_vcpus();
	test_version_2();
	test_version_2_damaged();
	test_no_file();
	test_full_disk();
	test_full_at_close();
	test_discard();
	unlink(path_whole);
	unlink(path_damaged);
	rmdir(folder);
	return tap_done();
}
