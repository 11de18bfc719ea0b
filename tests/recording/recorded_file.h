/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the tests of recordings share: a small file, and what a reader makes of it, or of a copy
 * with some damage:
 *
 *   head | INFO | SYMS [kernel], 3 symbols | SYMS empty | PAGE 5, lines 0 and 3 | TIME | SMPL
 *        | POLL | SMPL | PAGE 5, gone | PAGE 6, line 0 | SMPL | END
 */
#ifndef XTOP_TESTS_RECORDED_FILE_H
#define XTOP_TESTS_RECORDED_FILE_H

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/format.h"
#include "tests/support/tap.h"

#define N_SAMPLES      3
#define N_NOTES        5
#define FILE_MAX_BYTES 4096

/* The small file, and where it lies. */
static struct {
	char folder[40];
	char path_whole[64], path_damaged[64]; /* files in the folder */
	char whole[FILE_MAX_BYTES];
	size_t whole_bytes;
} recorded;

static inline struct recording_info some_info(void)
{
	struct recording_info info = { .domid = 5,
				       .type = GUEST_PVH,
				       .n_vcpus = 2,
				       .freq_hz = 99.5,
				       .wallclock_s = 1700000000,
				       .report = RECORDING_OF_CRASH };

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

static inline struct tick some_tick(unsigned i)
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

static inline struct symbols *some_symbols(void)
{
	struct build_id build_id = { .size_bytes = 3,
				     .bytes = { 0xab, 0xcd, 0xef },
				     .address = 0x400 };
	struct symbols *symbols;
	struct symtab *tab;

	if (symbols_create(&symbols) || symtab_create(&tab))
		abort();
	if (symtab_add(tab, &(struct symbol_definition){ .start = 0x1000,
							 .size_bytes = 0x10,
							 .rank = SYMBOL_GLOBAL,
							 .name = "start",
							 .name_bytes = 5 }) ||
	    symtab_add(tab, &(struct symbol_definition){ .start = 0x1010,
							 .limit = 0x1100,
							 .rank = SYMBOL_LOCAL,
							 .name = "_ZN3foo3barEv",
							 .name_bytes = 13 }) ||
	    symtab_add(tab, &(struct symbol_definition){ .start = 0xffffffff80000000,
							 .size_bytes = 8,
							 .rank = SYMBOL_GLOBAL,
							 .name = "top",
							 .name_bytes = 3 }) ||
	    symtab_seal(tab) || symbols_add_table(symbols, tab, "[kernel]", &build_id))
		abort();
	if (symtab_create(&tab) || symtab_seal(tab) ||
	    symbols_add_table(symbols, tab, "empty", NULL))
		abort();
	return symbols;
}

/* A new file each time: ext4 syncs a truncated file when it is closed, which takes 1 ms. */
static inline void write_file(const char *path, const void *bytes, size_t size_bytes)
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

static inline void give_page(void *context, const frame_t *frames, size_t n, void *pages, bool *ok)
{
	(void)context, (void)frames;
	for (size_t i = 0; i < n; i++) {
		ok[i] = !refused;
		memcpy((char *)pages + i * GUEST_PAGE_SIZE, page_bytes, GUEST_PAGE_SIZE);
	}
}

static inline void give_nothing(void *context)
{
	(void)context;
}

static inline uint64_t give_time(void *context)
{
	(void)context;
	return 1234;
}

/* Reads one page table, which has nothing for address 0, and nothing else. */
static inline void touch(struct memory *memory, uint64_t frame)
{
	frame_t found;

	memory_refresh(memory);
	memory_translate(memory, (struct memory_root){ .cr3 = frame << GUEST_PAGE_SHIFT }, 0,
			 &found);
}

static inline void write_tick(struct recording_writer *writer, unsigned i)
{
	struct tick tick = some_tick(i);

	recording_writer_write(writer, (const struct sample *)&tick, NULL);
}

static inline void write_samples(struct recording_writer *writer)
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

struct outcome {
	bool opened;
	unsigned n_samples, n_notes;
	char message[256]; /* what the error or the complaint says; "" if there is neither */
};

static inline struct outcome read_back(const char *path)
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
static inline bool tells_cut(const struct outcome *outcome, size_t n_bytes)
{
	char words[80];

	snprintf(words, sizeof(words), "its last %zu bytes are no whole record", n_bytes);
	return n_bytes ? strstr(outcome->message, words) != NULL
		       : strcmp(outcome->message, "cut short: it has no end mark") == 0;
}

static inline struct outcome read_bytes(const void *bytes, size_t size_bytes)
{
	write_file(recorded.path_damaged, bytes, size_bytes);
	return read_back(recorded.path_damaged);
}

/* Where the first chunk of TYPE starts. */
static inline size_t find_chunk(uint32_t type)
{
	struct recording_chunk chunk;
	size_t at = sizeof(struct recording_head);

	for (; at < recorded.whole_bytes; at += sizeof(chunk) + chunk.size_bytes) {
		memcpy(&chunk, recorded.whole + at, sizeof(chunk));
		if (chunk.type == type)
			return at;
	}
	abort();
}

/* Reads the small file with BYTES inserted at OFFSET. */
static inline struct outcome read_inserted(size_t offset, const void *bytes, size_t size_bytes)
{
	char longer[FILE_MAX_BYTES];

	memcpy(longer, recorded.whole, offset);
	memcpy(longer + offset, bytes, size_bytes);
	memcpy(longer + offset + size_bytes, recorded.whole + offset,
	       recorded.whole_bytes - offset);
	return read_bytes(longer, recorded.whole_bytes + size_bytes);
}

/* Sets one field of the small file to VALUE. The message must contain WORDS. */
static inline void check_field(const char *what, size_t offset, size_t size_bytes, uint64_t value,
			       const char *words)
{
	char damaged[FILE_MAX_BYTES];
	struct outcome outcome;

	memcpy(damaged, recorded.whole, recorded.whole_bytes);
	memcpy(damaged + offset, &value, size_bytes);
	outcome = read_bytes(damaged, recorded.whole_bytes);
	check(strstr(outcome.message, words), "%s: %s", what, outcome.message);
}

/* The chunk with its head. */
#define END_BYTES (sizeof(struct recording_chunk) + sizeof(struct recording_chunk_end))

/* Makes a folder for the files. */
static inline void begin_files(void)
{
	strcpy(recorded.folder, "/tmp/xtop-test-recording-XXXXXX");
	if (!mkdtemp(recorded.folder))
		abort();
	snprintf(recorded.path_whole, sizeof(recorded.path_whole), "%s/whole", recorded.folder);
	snprintf(recorded.path_damaged, sizeof(recorded.path_damaged), "%s/damaged",
		 recorded.folder);
}

/* Reads the small file into `recorded`. */
static inline void read_whole(void)
{
	FILE *file = fopen(recorded.path_whole, "r");

	recorded.whole_bytes = fread(recorded.whole, 1, sizeof(recorded.whole), file);
	fclose(file);
}

/* Makes a folder with the small file. */
static inline void begin_whole(void)
{
	struct recording_info info = some_info();
	struct symbols *symbols = some_symbols();
	struct recording_writer *writer;

	begin_files();
	if (recording_writer_open(recorded.path_whole, &writer))
		abort();
	recording_writer_begin(writer, &info, symbols);
	write_samples(writer);
	if (recording_writer_close(writer))
		abort();
	symbols_destroy(symbols);
	read_whole();
}

static inline void end_files(void)
{
	unlink(recorded.path_whole);
	unlink(recorded.path_damaged);
	rmdir(recorded.folder);
}

#endif
