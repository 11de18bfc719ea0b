/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings, written and read back (recorded_file.h): a whole file, a pipe, and what goes wrong
 * while a file is written.
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "recorded_file.h"
#include "tests/support/late_error.h"
#include "xtop/symbol/image.h"

static void test_write(void)
{
	struct recording_info info = some_info();
	struct symbols *symbols = some_symbols();
	struct recording_writer *writer;
	struct xtop_error *error;
	struct stat status;

	error = recording_writer_open(recorded.path_whole, &writer);
	if (!check(!error, "created: %s", error ? error_message(error) : "yes"))
		exit(tap_done());
	recording_writer_begin(writer, &info, symbols);
	write_samples(writer);
	error = recording_writer_close(writer);
	check(!error, "a whole recording is closed without an error");
	check(stat(recorded.path_whole, &status) == 0 && (status.st_mode & 07777) == 0600,
	      "a recording has mode 0600");
	error = recording_writer_open(recorded.path_whole, &writer);
	check(error && strstr(error_message(error), "exists"), "an existing file is refused");
	error_destroy(error);
	symbols_destroy(symbols);
	read_whole();
	check(recorded.whole_bytes > 1000 && recorded.whole_bytes % 8 == 0,
	      "the small file has %zu bytes", recorded.whole_bytes);
}

static void check_recorded_symbols(const struct symbols *symbols)
{
	const struct space *space = symbols_space(symbols);
	const struct mapping *mapping;
	struct symtab_entry entry;

	check_u64(symbols_count(symbols), 2, "images that were read back");
	check_u64(symtab_count(symbols_table(symbols, 0)), 3, "symbols of the first image");
	check_string(symbols_module(symbols, 0), "[kernel]", "the module of the first image");
	check_u64(symbols_build_id(symbols, 0)->size_bytes, 3, "bytes of the build-id");
	check_u64(symbols_build_id(symbols, 0)->bytes[2], 0xef, "the last byte of the build-id");
	check_u64(symbols_build_id(symbols, 0)->address, 0x400, "the address of the build-id");
	check(space_find_symbol(space, 0x10ff, &entry, &mapping) && entry.start == 0x1010 &&
		      strcmp(entry.name, "_ZN3foo3barEv") == 0,
	      "a name found by its address");
	check(!space_find_symbol(space, 0x1100, &entry, &mapping), "a symbol's end is kept");
	check(space_find_symbol(space, 0xffffffff80000007, &entry, &mapping),
	      "a symbol at a high address is found");
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
	check(n < 1 || (at[8] == 2 && at[7] == 0 && at[9] == 0),
	      "line 0 of the page has its bytes");
	check(n < 2 || (at[64 + 200 - 192] == 2 && at[64] == 0),
	      "line 3 of the page has its bytes");
}

static void test_round_trip(void)
{
	struct recording_info want = some_info();
	struct recording_reader *reader;
	struct symbols *symbols;
	size_t size_bytes = 0;

	if (symbols_create(&symbols) ||
	    recording_reader_open(recorded.path_whole, symbols, &reader))
		abort();
	check(memcmp(recording_reader_get_info(reader), &want, sizeof(want)) == 0,
	      "INFO is read back byte for byte");
	check_recorded_symbols(symbols);
	check_page(reader, 5, 9, 2);
	check_time(reader, RECORDING_TIME, 1234);
	check_tick(reader, 0);
	check_time(reader, RECORDING_POLL, 5678);
	check_tick(reader, 1);
	check_page(reader, 5, 0, 0);
	check_page(reader, 6, 1, 1);
	check_tick(reader, 2);
	check(recording_reader_has_memory(reader), "the file's version has guest memory");
	check(!recording_reader_next(reader, &size_bytes), "the reader ends after the last sample");
	check(!recording_reader_get_complaint(reader),
	      "the reader has no complaint about a whole file");
	recording_reader_close(reader);
	symbols_destroy(symbols);
	check(!recording_reader_open(recorded.path_whole, NULL, &reader),
	      "opened without wanting symbols");
	recording_reader_close(reader);
	recording_reader_close(NULL);
}

/* In the first version the end mark had one field. */
static void test_short_end(void)
{
	char older[FILE_MAX_BYTES];
	struct recording_chunk *chunk;
	struct outcome outcome;

	memcpy(older, recorded.whole, recorded.whole_bytes);
	chunk = (struct recording_chunk *)(older + recorded.whole_bytes - END_BYTES);
	check_u64(chunk->size_bytes, sizeof(struct recording_chunk_end), "bytes of the end mark");
	chunk->size_bytes = RECORDING_END_BYTES;
	outcome = read_bytes(older, recorded.whole_bytes - END_BYTES + sizeof(*chunk) +
					    RECORDING_END_BYTES);
	check_u64(outcome.n_samples, N_SAMPLES, "samples of a file with an older one");
	check_string(outcome.message, "", "the complaint about a file with an older end mark");
	chunk->size_bytes = RECORDING_END_BYTES - 8;
	outcome = read_bytes(older, recorded.whole_bytes - END_BYTES + sizeof(*chunk));
	check(strstr(outcome.message, "end mark is damaged"),
	      "the complaint about an end mark without a number: %s", outcome.message);
}

/* In the first version INFO ended before its report. */
static void test_short_info(void)
{
	struct recording_head head = { .version = RECORDING_VERSION, .head_bytes = sizeof(head) };
	struct recording_chunk chunk = { .type = RECORDING_INFO,
					 .size_bytes = RECORDING_INFO_BYTES };
	const struct recording_chunk_info info = { .domain = "old",
						   .n_vcpus = 1,
						   .machine = RECORDING_MACHINE_X86_64,
						   .freq_hz = 99,
						   .report = RECORDING_OF_CRASH };
	char file[sizeof(head) + sizeof(chunk) + RECORDING_INFO_BYTES];
	struct recording_reader *reader;

	memcpy(head.magic, RECORDING_MAGIC, sizeof(head.magic));
	memcpy(file, &head, sizeof(head));
	memcpy(file + sizeof(head), &chunk, sizeof(chunk));
	memcpy(file + sizeof(head) + sizeof(chunk), &info, RECORDING_INFO_BYTES);
	write_file(recorded.path_damaged, file, sizeof(file));
	if (recording_reader_open(recorded.path_damaged, NULL, &reader))
		abort();
	check_string(recording_reader_get_info(reader)->domain, "old", "an older INFO is read");
	check_u64(recording_reader_get_info(reader)->report, RECORDING_OF_TIME,
		  "the report of an older INFO");
	recording_reader_close(reader);
}

/* A pipe has no length. It gives the same samples and the same number of bytes cut off. */
static void test_pipe(void)
{
	char path[128];
	struct outcome outcome;
	pid_t child;

	snprintf(path, sizeof(path), "%s/fifo", recorded.folder);
	if (mkfifo(path, 0600) != 0 || (child = fork()) < 0)
		abort();
	if (child == 0) {
		write_file(path, recorded.whole, recorded.whole_bytes - END_BYTES - 6);
		_exit(0);
	}
	outcome = read_back(path);
	waitpid(child, NULL, 0);
	unlink(path);
	check_u64(outcome.n_samples, N_SAMPLES - 1, "samples of a pipe that ended early");
	check(tells_cut(&outcome, sizeof(struct recording_chunk) + TICK_FILE_BYTES - 6),
	      "bytes cut: %s", outcome.message);
}

static void test_no_file(void)
{
	struct recording_writer *writer = NULL;
	struct xtop_error *error;

	check(strstr(read_back("/nonexistent/f").message, "No such file"),
	      "a file that does not exist cannot be opened");
	check(strstr(read_back("/").message, "Is a directory"), "a directory cannot be opened: %s",
	      read_back("/").message);
	error = recording_writer_open("/nonexistent/f", &writer);
	check(error && !writer && strstr(error_message(error), "folder"),
	      "a recording in a folder that is not there is refused");
	error_destroy(error);
	check(!recording_writer_close(NULL), "closing no writer is no error");
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

	unlink(recorded.path_damaged);
	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
	    recording_writer_open(recorded.path_damaged, &writer))
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
	outcome = read_back(recorded.path_damaged);
	check(outcome.opened && outcome.n_samples > 5 && outcome.message[0],
	      "what fitted is read: %u samples, %s", outcome.n_samples, outcome.message);
}

static void test_full_at_close(void)
{
	struct recording_info info = some_info();
	struct recording_writer *writer;
	struct xtop_error *error;

	unlink(recorded.path_damaged);
	if (recording_writer_open(recorded.path_damaged, &writer))
		abort();
	recording_writer_begin(writer, &info, NULL);
	close_errno = EDQUOT;
	error = recording_writer_close(writer);
	close_errno = 0;
	check(error && strstr(error_message(error), strerror(EDQUOT)), "an error at the close: %s",
	      error ? error_message(error) : "no error");
	error_destroy(error);
	unlink(recorded.path_damaged);
}

/*
 * Nothing was sampled: no empty file stays, and the next run can use the name.
 */
static void test_discard(void)
{
	const struct recording_info info = { .type = GUEST_PV, .n_vcpus = 1, .freq_hz = 99 };
	struct recording_writer *writer = NULL;
	char path[4096];

	snprintf(path, sizeof(path), "%s/discarded", recorded.folder);
	check(!recording_writer_open(path, &writer) && access(path, F_OK) == 0,
	      "a recording that will be discarded was created");
	recording_writer_begin(writer, &info, NULL);
	recording_writer_discard(writer, NULL);
	check(access(path, F_OK) < 0, "a discarded recording leaves no file");
	recording_writer_discard(NULL, NULL);
}

int main(void)
{
	begin_files();
	test_write();
	test_round_trip();
	test_pipe();
	test_short_end();
	test_short_info();
	test_no_file();
	test_full_disk();
	test_full_at_close();
	test_discard();
	end_files();
	return tap_done();
}
