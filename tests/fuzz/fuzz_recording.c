/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording and all that comes of it: symbols, samples, unwound and named, the profile, the folded
 * file and the tables. The input is a file, or, when its first byte is odd, changes to a right one.
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

#define MAX_SAMPLES 64

static uint8_t *right;
static size_t right_bytes;
static int fd;
static char path[64];
static struct ring *ring;
static struct control *control;
static struct snapshot_slot *slot;

static void write_right(const char *name)
{
	static struct guest_record record;
	struct recording_info info = { .domain = "fuzz", .n_vcpus = 2, .freq_hz = 99 };
	struct symbols *symbols = guest_symbols();
	struct recording_writer *writer;

	fuzz_succeed(recording_create(name, &writer));
	recording_begin(writer, &info, symbols);
	for (unsigned i = 0; i < 2; i++) {
		guest_begin(&record, 1000000ULL * i, 1000);
		guest_add_chain(&record, 0, "start_kernel;serve;hash;copy");
		guest_add_chain(&record, 1, "_start;main;loop;0x12345");
		recording_write(writer, record.words, record.size_bytes);
	}
	fuzz_succeed(recording_close(writer));
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

/* Each line "frames count", with nothing in it that no name may have. */
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

static void play(struct recording *recording, const struct symbols *symbols, uint8_t flags)
{
	struct resolver_settings settings = { .ring = ring,
					      .control = control,
					      .slot = slot,
					      .symbols = symbols,
					      .how = flags % 4,
					      .n_vcpus = recording_info(recording)->n_vcpus,
					      .max_nodes = flags & 4 ? 16 : 4096 };
	const struct sample *sample;
	struct snapshot *snapshot;
	struct resolver *resolver;
	size_t size_bytes;

	fuzz_succeed(resolver_create(&settings, &resolver));
	for (unsigned i = 0; i < MAX_SAMPLES; i++) {
		sample = recording_next(recording, &size_bytes);
		if (!sample)
			break;
		fuzz_must(size_bytes <= sample_size_max(settings.n_vcpus), "a sample fits");
		resolver_add(resolver, sample, size_bytes);
	}
	recording_complaint(recording);
	fuzz_succeed(resolver_snapshot(resolver, &snapshot));
	export_all(snapshot);
	snapshot_destroy(snapshot);
	resolver_destroy(resolver);
}

static void replay(const uint8_t *bytes, size_t size_bytes, uint8_t flags)
{
	struct recording *recording;
	struct symbols *symbols;
	struct xtop_error *error;

	if (ftruncate(fd, 0) || pwrite(fd, bytes, size_bytes, 0) != (ssize_t)size_bytes)
		abort();
	fuzz_succeed(symbols_create(&symbols));
	error = recording_open(path, symbols, &recording);
	if (!error) {
		play(recording, symbols, flags);
		recording_destroy(recording);
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
