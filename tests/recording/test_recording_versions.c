/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings of another machine, and of older versions (recorded_file.h).
 */
#include "config.h"

#include "recorded_file.h"

/* Every register of arm64 is there, and the stack after the vCPU's longer head. */
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

	write_arm64(recorded.path_damaged);
	if (recording_reader_open(recorded.path_damaged, NULL, &reader))
		abort();
	check(recording_reader_get_info(reader)->arch == ARCH_ARM64, "INFO tells arm64");
	read = recording_reader_next(reader, &size_bytes);
	check(read && size_bytes == sizeof(want) && memcmp(read, &want, sizeof(want)) == 0,
	      "a sample of arm64 is read as it was");
	check(!recording_reader_next(reader, &size_bytes) &&
		      !recording_reader_get_complaint(reader),
	      "a recording with one sample of arm64 has nothing else");
	recording_reader_close(reader);
}

/* The registers of x86-64 take 208 bytes of a file, those of arm64 328, as doc/FORMATS says. */
static void test_sizes_of_samples(void)
{
	struct recording_chunk chunk;
	char bytes[4096];
	FILE *file;
	size_t n;

	memcpy(&chunk, recorded.whole + find_chunk(RECORDING_SAMPLE), sizeof(chunk));
	check_u64(chunk.size_bytes, 32 + 24 + 208 + 16 + 32, "bytes of a sample of x86-64");
	write_arm64(recorded.path_damaged);
	file = fopen(recorded.path_damaged, "r");
	n = file ? fread(bytes, 1, sizeof(bytes), file) : 0;
	if (file)
		fclose(file);
	check(n > 176 + sizeof(chunk), "a recording of arm64 has INFO and a sample: %zu bytes",
	      n); /* head 16, INFO 16 + 144 */
	memcpy(&chunk, bytes + 176, sizeof(chunk));
	check_u64(chunk.size_bytes, 32 + 24 + 328 + 16 + 32, "bytes of a sample of arm64");
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

	memcpy(older, recorded.whole, at);
	memcpy(older + offsetof(struct recording_head, version), &version, sizeof(version));
	for (size_t end; at < recorded.whole_bytes; at = end) {
		uint32_t size_bytes;

		memcpy(&chunk, recorded.whole + at, sizeof(chunk));
		end = at + sizeof(chunk) + recording_pad(chunk.size_bytes);
		if (chunk.type != RECORDING_SAMPLE) {
			memcpy(older + to, recorded.whole + at, end - at);
			to += end - at;
			continue;
		}
		chunk.size_bytes -= 8;
		size_bytes = (uint32_t)chunk.size_bytes;
		memcpy(older + to, &chunk, sizeof(chunk));
		to += sizeof(chunk);
		at += sizeof(chunk);
		memcpy(older + to, recorded.whole + at, 24);
		memcpy(older + to, &size_bytes, sizeof(size_bytes));
		memcpy(older + to + 24, recorded.whole + at + 32, size_bytes - 24);
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
	if (recording_reader_open(recorded.path_damaged, NULL, &reader))
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
	if (recording_reader_open(recorded.path_damaged, NULL, &reader))
		abort();
	check(!recording_reader_has_memory(reader), "a file of version 1 has no memory");
	recording_reader_close(reader);
}

int main(void)
{
	begin_whole();
	test_version_1();
	test_arm64();
	test_sizes_of_samples();
	test_damaged_vcpus();
	test_version_2();
	test_version_2_damaged();
	end_files();
	return tap_done();
}
