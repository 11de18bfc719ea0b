/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording and all stages behind it: symbols, guest memory, the search for a kernel, samples,
 * unwinding, names, the profile, the folded file and the tables. If the first byte of the input is
 * odd, the rest are changes to a valid file: two samples, a page of page tables that lead to
 * itself, and changes of that page, one of which comes late. Otherwise the rest is a file.
 */
#include "config.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "tests/recordings/guest.h"
#include "xtop/columns.h"
#include "xtop/export.h"
#include "xtop/recording.h"
#include "xtop/resolver.h"

#define MAX_RECORDS 256

static uint8_t *right;
static size_t right_bytes;
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

static void write_right(const char *name)
{
	static const struct memory_ops ops = { .read = read_table, .close = close_nothing };
	struct memory *memory;

	static struct guest_record record;
	struct recording_info info = { .domain = "fuzz", .n_vcpus = 2, .freq_hz = 99 };
	struct symbols *symbols = guest_symbols();
	struct recording_writer *writer;

	fuzz_succeed(recording_writer_open(name, &writer));
	recording_writer_begin(writer, &info, symbols);
	table[0] = table[8] = table[510] = table[511] = 3;
	fuzz_succeed(memory_create(&ops, NULL, &memory));
	recording_writer_watch(writer, memory);
	for (unsigned i = 0; i < 2; i++) {
		read_twice(memory);
		guest_begin(&record, 1000000ULL * i, 1000);
		guest_add_chain(&record, 0, "start_kernel;serve;hash;copy");
		guest_add_chain(&record, 1, "_start;main;loop;0x12345");
		recording_writer_write(writer, record.words, record.size_bytes);
		recording_writer_write_poll(writer, 1000000ULL * i);
	}
	memory_destroy(memory);
	fuzz_succeed(recording_writer_close(writer));
	symbols_destroy(symbols);
}

static void read_right(const char *name)
{
	FILE *file = fopen(name, "r");

	right = malloc(1 << 16);
	if (!file || !right)
		abort();
	right_bytes = fread(right, 1, 1 << 16, file);
	fclose(file);
}

static void start(void)
{
	char folder[] = "/tmp/xtop-fuzz-XXXXXX", name[sizeof(folder) + 8];

	if (!mkdtemp(folder))
		abort();
	snprintf(name, sizeof(name), "%s/right", folder);
	write_right(name);
	read_right(name);
	unlink(name);
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

static void export_all(const struct snapshot *snapshot)
{
	const struct table_options options = { .title = "fuzz", .sort = &columns[0] };
	char *text = NULL;
	size_t size_bytes = 0;
	FILE *file = open_memstream(&text, &size_bytes);

	if (!file)
		abort();
	fuzz_succeed(export_folded(snapshot, NULL, true, file));
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
	struct resolver_settings settings = { .ring = ring,
					      .control = control,
					      .slot = slot,
					      .symbols = symbols,
					      .how = flags % 4,
					      .n_vcpus = recording_reader_get_info(reader)->n_vcpus,
					      .max_nodes = flags & 4 ? 16 : 4096 };
	struct memory *memory = NULL;
	struct snapshot *snapshot;
	struct resolver *resolver;
	const void *record;
	size_t size_bytes;

	if (flags & 8) /* the search for a kernel goes through all addresses: slow */
		create_os(reader, symbols, &memory, &settings);
	fuzz_succeed(resolver_create(&settings, &resolver));
	for (unsigned i = 0; i < MAX_RECORDS; i++) {
		record = recording_reader_next(reader, &size_bytes);
		if (!record)
			break;
		fuzz_must(size_bytes <= sample_size_max(settings.n_vcpus), "a record fits");
		resolver_add(resolver, record, size_bytes);
	}
	recording_reader_get_complaint(reader);
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
	error = recording_reader_open(path, symbols, &reader);
	if (!error) {
		play(reader, symbols, flags);
		recording_reader_close(reader);
	}
	error_destroy(error);
	symbols_destroy(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	uint8_t flags = fuzz_u8(&fuzz);
	uint8_t *copy;

	if (!right)
		start();
	if (!(flags & 1)) {
		replay(fuzz.at, fuzz.left_bytes, flags >> 1);
		return 0;
	}
	copy = fuzz_copy(&(struct fuzz){ right, right_bytes }, right_bytes);
	fuzz_patch(&fuzz, copy, right_bytes);
	replay(copy, right_bytes, flags >> 1);
	free(copy);
	return 0;
}
