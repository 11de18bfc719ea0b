/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Damaged recordings (recorded_file.h): cut at every byte, with every bit flipped, with chunks of
 * unknown types, with lengths that lie.
 */
#include "config.h"

#include "recorded_file.h"

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
		memcpy(&chunk, recorded.whole + at, sizeof(chunk));
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
	for (size_t size = 0; size < recorded.whole_bytes; size++) {
		struct outcome outcome = read_bytes(recorded.whole, size);
		struct extent want = measure(size);

		if (outcome.opened != want.info || !outcome.message[0] ||
		    (want.info && (outcome.n_samples != want.n_samples ||
				   !tells_cut(&outcome, size - want.bytes))))
			check(false, "first %zu bytes: opened %d, %u samples: %s", size,
			      outcome.opened, outcome.n_samples, outcome.message);
	}
	check(true, "cut at every byte of %zu: whole records replayed, the rest told",
	      recorded.whole_bytes);
}

static void test_bit_flips(void)
{
	unsigned opened = 0, told = 0, n = 0;

	for (size_t bit = 0; bit < recorded.whole_bytes * 8; bit++, n++) {
		char damaged[FILE_MAX_BYTES];
		struct outcome outcome;

		memcpy(damaged, recorded.whole, recorded.whole_bytes);
		damaged[bit / 8] ^= 1 << bit % 8;
		outcome = read_bytes(damaged, recorded.whole_bytes);
		opened += outcome.opened;
		told += outcome.message[0] != '\0';
		if (outcome.n_samples > N_SAMPLES)
			check(false, "bit %zu: %u samples out of nothing", bit, outcome.n_samples);
	}
	check(opened > 0 && told > 0, "%u bits flipped: %u opened, %u told", n, opened, told);
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
	outcome = read_inserted(recorded.whole_bytes, "trailing", 8);
	check(outcome.n_samples == N_SAMPLES && strstr(outcome.message, "8 bytes after"),
	      "bytes after the end mark are told: %s", outcome.message);
}

/* Tables of no image that can be known: a note of their size may be larger than the ring. */
static void test_late_tables(void)
{
	struct {
		struct recording_chunk chunk;
		char payload[64];
	} tables = { { .type = RECORDING_TABLES, .size_bytes = 64 }, "\177ELF" };
	unsigned n_notes = read_bytes(recorded.whole, recorded.whole_bytes).n_notes;
	struct outcome outcome;

	outcome = read_inserted(find_chunk(RECORDING_END), &tables, sizeof(tables));
	check(outcome.n_samples == N_SAMPLES && !outcome.message[0], "TABL after samples: %s",
	      outcome.message);
	check_u64(outcome.n_notes, n_notes, "notes of a file with TABL after samples");
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
	check_field("report", IN_CHUNK(RECORDING_INFO, recording_chunk_info, report), 3,
		    "made for a report that this xtop does not know");
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
	struct outcome outcome = read_inserted(find_chunk(RECORDING_SAMPLE), &note, sizeof(note));

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

int main(void)
{
	begin_whole();
	test_truncation();
	test_bit_flips();
	test_unknown_chunks();
	test_late_tables();
	test_fields();
	test_short_notes();
	test_clocks();
	test_symbol_fields();
	end_files();
	return tap_done();
}
