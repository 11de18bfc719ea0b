/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory in a recording: what the resolver read of a made-up guest is there again in a
 * replay, at each sample as it was then. What the resolver did not read is not there.
 */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "recording/format.h"
#include "tests/recordings/guest.h"
#include "tests/support/made_memory.h"
#include "tests/support/tap.h"
#include "xtop/recording/recording.h"

#define DATA  0xffffffff82000000ULL
#define TABLE 0xffffffff83000000ULL

static char path[64];

/* The guest that is recorded. */
static struct {
	struct made_memory *made;
	struct memory_root root;
} guest;

/* --- the guest that is recorded --------------------------------------------------------------- */

static struct recording_writer *record_begin(void)
{
	const struct recording_info info = { .n_vcpus = 1, .freq_hz = 100 };
	struct recording_writer *writer;

	unlink(path);
	guest.made = made_create();
	guest.root = made_root(guest.made);
	guest_must(recording_writer_open(path, &writer));
	recording_writer_begin(writer, &info, NULL);
	return writer;
}

static void record_sample(struct recording_writer *writer, uint64_t time_ns)
{
	static struct guest_record record;

	guest_begin(&record, time_ns, 1000);
	guest_add_vcpu(&record, 0, VCPU_BLOCKED);
	recording_writer_write(writer, (const struct sample *)record.words, NULL);
}

static void record_end(struct recording_writer *writer)
{
	guest_must(recording_writer_close(writer));
	made_destroy(guest.made);
}

static void put(uint64_t address, const void *bytes, size_t n)
{
	made_put(guest.made, guest.root, address, bytes, n);
}

static void put_u64(uint64_t address, uint64_t value)
{
	made_put_u64(guest.made, guest.root, address, value);
}

/* Xen maps the frame of ADDRESS no more, or again. */
static void refuse(uint64_t address, bool refused)
{
	made_refuse(guest.made, guest.root, address, refused);
}

static uint64_t word_at(struct memory *memory, uint64_t address)
{
	uint64_t value = 0;

	memory_refresh(memory);
	return memory_read_u64(memory, guest.root, address, &value) ? value : UINT64_MAX;
}

/* --- the replay ------------------------------------------------------------------------------- */

struct play {
	struct recording_reader *reader;
	struct memory *memory;
	struct recorded_memory *recorded;
};

static void play_begin(struct play *play)
{
	guest_must(recording_reader_open(path, NULL, &play->reader));
	guest_must(recorded_memory_open(&play->memory, &play->recorded));
}

static void play_end(struct play *play)
{
	recording_reader_close(play->reader);
	memory_destroy(play->memory);
}

/* Goes on to the next sample or POLL and returns its time; 0: the end. */
static uint64_t play_next(struct play *play)
{
	const struct recording_note *note;
	const void *record;
	size_t size_bytes;

	recorded_memory_end_turn(play->recorded);
	while ((record = recording_reader_next(play->reader, &size_bytes))) {
		note = record;
		if (!recording_is_note(record))
			return ((const struct sample *)record)->time_ns;
		if (note->type == RECORDING_POLL)
			return recording_note_time(note);
		if (!recorded_memory_apply(play->recorded, note, size_bytes))
			check(false, "a note of our own is taken");
	}
	return 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* One word that changes: sample 1 reads it, 2 does not, 3 does; a POLL reads another page. */
static void test_versions(void)
{
	struct recording_writer *writer = record_begin();
	struct memory *memory = made_memory(guest.made);
	struct play play;

	put_u64(DATA, 1);
	put_u64(DATA + 0x1000, 77);
	recording_writer_watch(writer, memory);
	check_u64(word_at(memory, DATA), 1, "the word that was read for sample 1");
	record_sample(writer, 10);
	put_u64(DATA, 2);
	record_sample(writer, 20);
	put_u64(DATA, 3);
	check_u64(word_at(memory, DATA), 3, "the word that was read for sample 3");
	record_sample(writer, 30);
	check_u64(word_at(memory, DATA + 0x1000), 77, "the word that was read for the poll");
	recording_writer_write_poll(writer, 40);
	record_end(writer);

	play_begin(&play);
	check_u64(word_at(play.memory, DATA), UINT64_MAX, "no page is there before sample 1");
	check_u64(play_next(&play), 10, "time of sample 1");
	check_u64(word_at(play.memory, DATA), 1, "the word for sample 1 in the replay");
	check_u64(word_at(play.memory, DATA + 0x1000), UINT64_MAX,
		  "a page that was not read is not there");
	check_u64(play_next(&play), 20, "time of sample 2");
	check_u64(word_at(play.memory, DATA), 1,
		  "the word for sample 2 in the replay: as it was seen last");
	check_u64(play_next(&play), 30, "time of sample 3");
	check_u64(word_at(play.memory, DATA), 3, "the word for sample 3 in the replay");
	check_u64(play_next(&play), 40, "a poll follows sample 3");
	check_u64(word_at(play.memory, DATA + 0x1000), 77, "the word for the poll in the replay");
	check_u64(play_next(&play), 0, "the recording ends after the poll");
	check(!recording_reader_get_complaint(play.reader), "no complaint: %s",
	      recording_reader_get_complaint(play.reader));
	play_end(&play);
}

/*
 * For one sample a word is read, read again when it has changed, and read once more when its page
 * is gone.
 */
static void record_twice(struct recording_writer *writer, struct memory *memory)
{
	put_u64(DATA, 1);
	put_u64(DATA + 0x1000, 7);
	check_u64(word_at(memory, DATA), 1, "the first read in the run");
	put_u64(DATA, 2);
	check_u64(word_at(memory, DATA), 2, "the second read in the run");
	refuse(DATA, true);
	check_u64(word_at(memory, DATA), UINT64_MAX, "the third read in the run");
	refuse(DATA, false);
	put_u64(DATA, 4);
	check_u64(word_at(memory, DATA), 4, "the fourth read in the run");
	check_u64(word_at(memory, DATA + 0x1000), 7, "another page in the run");
	record_sample(writer, 10);
}

static void test_changes_meanwhile(void)
{
	struct recording_writer *writer = record_begin();
	struct play play;

	recording_writer_watch(writer, made_memory(guest.made));
	record_twice(writer, made_memory(guest.made));
	put_u64(DATA, 5);
	check_u64(word_at(made_memory(guest.made), DATA), 5, "for the next sample");
	record_sample(writer, 20);
	record_end(writer);

	play_begin(&play);
	play_next(&play);
	check_u64(word_at(play.memory, DATA), 1, "the first read in the replay");
	check_u64(word_at(play.memory, DATA), 2, "the second read in the replay");
	check_u64(word_at(play.memory, DATA), UINT64_MAX, "the third read in the replay");
	check_u64(word_at(play.memory, DATA), 4, "the fourth read in the replay");
	check_u64(word_at(play.memory, DATA + 0x1000), 7, "another page in the replay");
	check_u64(play_next(&play), 20, "time of the sample after four reads");
	check_u64(word_at(play.memory, DATA), 5, "the word for the next sample in the replay");
	play_end(&play);

	/* A replay that reads less often sees the last change at the next sample. */
	play_begin(&play);
	play_next(&play);
	check_u64(word_at(play.memory, DATA), 1, "a change is replayed once");
	check_u64(play_next(&play), 20, "time of the sample after one read");
	check_u64(word_at(play.memory, DATA + 0x1000), 7,
		  "a change that no read waited for is there for the next sample");
	check_u64(word_at(play.memory, DATA), 5, "the changed word");
	play_end(&play);
}

/* A frame that Xen refuses, maps, and refuses again. */
static void test_refused(void)
{
	struct recording_writer *writer = record_begin();
	struct memory *memory = made_memory(guest.made);
	struct play play;

	put_u64(DATA, 5);
	recording_writer_watch(writer, memory);
	for (uint64_t time_ns = 1; time_ns <= 4; time_ns++) {
		refuse(DATA, time_ns != 2);
		word_at(memory, DATA);
		record_sample(writer, time_ns);
	}
	record_end(writer);

	play_begin(&play);
	for (uint64_t time_ns = 1; time_ns <= 4; time_ns++) {
		check_u64(play_next(&play), time_ns, "time of the next sample");
		check_u64(word_at(play.memory, DATA), time_ns == 2 ? 5 : UINT64_MAX,
			  "word that Xen refuses but at sample 2");
	}
	play_end(&play);
}

/* Tables of megabytes, with a hole, read in batches. */
static void test_bulk(void)
{
	struct recording_writer *writer = record_begin();
	const size_t size_bytes = 3 << 20;
	char *live = malloc(size_bytes), *again = malloc(size_bytes);
	struct play play;
	size_t there;

	if (!live || !again)
		abort();
	for (size_t i = 0; i < size_bytes; i++)
		live[i] = (char)(i * 31 + (i >> 9));
	put(TABLE, live, size_bytes);
	made_unmap(guest.made, guest.root, TABLE + 0x5000, 0x3000);
	recording_writer_watch(writer, made_memory(guest.made));
	there = memory_read_bulk(made_memory(guest.made), guest.root, TABLE + 8, live,
				 size_bytes - 16);
	check_u64(there, size_bytes - 16 - 0x3000,
		  "bytes around a hole that a bulk read finds live");
	record_sample(writer, 1);
	record_end(writer);

	play_begin(&play);
	play_next(&play);
	check_u64(memory_read_bulk(play.memory, guest.root, TABLE + 8, again, size_bytes - 16),
		  there, "bytes around a hole that a bulk read finds in the replay");
	check(memcmp(live, again, size_bytes - 16) == 0, "the replay has every byte of the run");
	play_end(&play);
	free(live);
	free(again);
}

/* A page that was copied before the recording began is read once more. */
static void test_read_before(void)
{
	struct recording_writer *writer = record_begin();
	struct memory *memory = made_memory(guest.made);
	struct play play;
	uint64_t value;

	put_u64(DATA, 9);
	word_at(memory, DATA);
	recording_writer_watch(writer, memory);
	check(memory_read_u64(memory, guest.root, DATA, &value),
	      "a word that was read before the recording is read again");
	record_sample(writer, 1);
	record_end(writer);
	play_begin(&play);
	play_next(&play);
	check_u64(word_at(play.memory, DATA), 9, "in the recording");
	play_end(&play);
}

/* The time is asked for twice for one sample, and not for the next. */
static void test_time(void)
{
	struct recording_writer *writer = record_begin();
	struct memory *memory = made_memory(guest.made);
	uint64_t before_ns = memory_now_ns(memory), times_ns[2];
	struct play play;

	check(before_ns > 0, "a memory of now has the time of now");
	recording_writer_watch(writer, memory);
	times_ns[0] = memory_now_ns(memory);
	do
		times_ns[1] = memory_now_ns(memory);
	while (times_ns[1] == times_ns[0]);
	check(times_ns[0] >= before_ns && times_ns[1] > times_ns[0],
	      "the time of a memory of now goes on");
	record_sample(writer, 1);
	record_sample(writer, 2);
	record_end(writer);

	play_begin(&play);
	play_next(&play);
	check_u64(memory_now_ns(play.memory), times_ns[0], "the first time in the replay");
	check(memory_now_ns(play.memory) > times_ns[0], "the second time in the replay");
	play_next(&play);
	check_u64(memory_now_ns(play.memory), times_ns[1],
		  "the time at the next sample: the last one");
	play_end(&play);
}

/* A page that is read again and again costs the lines that changed, not the whole page. */
static void test_size(void)
{
	struct recording_writer *writer = record_begin();
	struct memory *memory = made_memory(guest.made);
	struct recording_reader *reader;
	size_t size_bytes, all = 0, pages = 0;
	const void *record;

	put(DATA, "0123456789", 10);
	recording_writer_watch(writer, memory);
	for (uint64_t i = 0; i < 100; i++) {
		put_u64(DATA + 0x800, i / 2);
		word_at(memory, DATA + 0x800);
		record_sample(writer, i + 1);
	}
	record_end(writer);
	guest_must(recording_reader_open(path, NULL, &reader));
	while ((record = recording_reader_next(reader, &size_bytes)))
		if (recording_is_note(record)) {
			pages++;
			all += size_bytes;
		}
	/* four levels of tables and the page, one line each; then 49 lines: the word begins as 0 */
	check_u64(pages, 4 + 1 + 49, "pages and changes");
	check_u64(all, 54 * (8 + 24 + 64), "bytes of notes of single lines");
	recording_reader_close(reader);
}

/* Bytes of PAGE notes of the recording, all together. */
static size_t page_bytes(void)
{
	struct recording_reader *reader;
	size_t size_bytes, all = 0;
	const struct recording_note *note;

	guest_must(recording_reader_open(path, NULL, &reader));
	while ((note = recording_reader_next(reader, &size_bytes)))
		all += recording_is_note(note) && note->type == RECORDING_PAGE ? size_bytes : 0;
	recording_reader_close(reader);
	return all;
}

/* The whole page changes, but the recording has only the line that somebody reads. */
static void test_unread_changes(void)
{
	struct recording_writer *writer = record_begin();
	struct memory *memory = made_memory(guest.made);
	char page[GUEST_PAGE_SIZE];

	recording_writer_watch(writer, memory);
	for (int i = 1; i <= 100; i++) {
		memset(page, i, sizeof(page));
		put(DATA, page, sizeof(page));
		check(word_at(memory, DATA + 0x800) == 0x0101010101010101ULL * (unsigned)i, "%d",
		      i);
		record_sample(writer, (uint64_t)i);
	}
	record_end(writer);
	/* tables of four levels, the page when it is new, and a line for each change */
	check_u64(page_bytes(), 5 * (8 + 24) + 4 * 64 + 4096 + 99 * (8 + 24 + 64),
		  "bytes of notes of lines that were read");
}

/* A line that is read for the first time long after its page was copied, and others meanwhile. */
static void test_late_use(void)
{
	struct recording_writer *writer = record_begin();
	struct memory *memory = made_memory(guest.made);
	uint64_t value = 0;
	struct play play;

	put_u64(DATA, 1);
	recording_writer_watch(writer, memory);
	word_at(memory, DATA);
	record_sample(writer, 1);
	put_u64(DATA + 0x800, 2);
	word_at(memory, DATA); /* a new copy, of which another line will be read */
	record_sample(writer, 2);
	put_u64(DATA + 0x800, 3);
	check(memory_read_u64(memory, guest.root, DATA + 0x800, &value) && value == 2,
	      "a copied page in the run: as it was when it was copied");
	record_sample(writer, 3);
	check_u64(word_at(memory, DATA + 0x800), 3,
		  "a copied page in the run after a refresh: as it is now");
	record_sample(writer, 4);
	record_end(writer);

	play_begin(&play);
	play_next(&play);
	word_at(play.memory, DATA);
	play_next(&play);
	word_at(play.memory, DATA);
	play_next(&play);
	check(memory_read_u64(play.memory, guest.root, DATA + 0x800, &value) && value == 2,
	      "the replay reads what the run read: %d", (int)value);
	play_next(&play);
	check_u64(word_at(play.memory, DATA + 0x800), 3,
		  "a copied page in the replay after a refresh");
	play_end(&play);
}

#define RANDOM_STEPS 20000
#define RANDOM_PAGES 3

/*
 * Takes steps, drawn by SEED, that are equal in a run and in its replay: read a word, read pages at
 * once, forget copies, go on to the next sample. In the run the guest changes words in between.
 * Each step's result goes to RESULTS.
 */
static void take_steps(unsigned seed, struct recording_writer *writer, struct play *play,
		       uint64_t *results)
{
	struct memory *memory = writer ? made_memory(guest.made) : play->memory;
	char pages[2 * GUEST_PAGE_SIZE];

	for (unsigned i = 0; i < RANDOM_STEPS; i++) {
		unsigned what = (unsigned)rand_r(&seed) % 20, page = (unsigned)rand_r(&seed);
		/* few words, so that most are read again */
		uint64_t at = DATA + page % RANDOM_PAGES * GUEST_PAGE_SIZE +
			      (unsigned)rand_r(&seed) % 12 * 32;

		if (what < 8 && writer)
			put_u64(at, i);
		else if (what >= 8 && what < 16)
			memory_read_u64(memory, guest.root, at, &results[i]);
		else if (what == 16)
			memory_refresh(memory);
		else if (what == 17 && memory_read_pages(memory, guest.root, DATA, pages, 2) == 2)
			memcpy(&results[i], pages + (at & 0xfff), sizeof(uint64_t));
		else if (what >= 18 && writer)
			record_sample(writer, i + 1);
		else if (what >= 18)
			play_next(play);
	}
}

static void test_random(unsigned seed)
{
	struct recording_writer *writer = record_begin();
	uint64_t *run = calloc(RANDOM_STEPS, sizeof(*run));
	uint64_t *again = calloc(RANDOM_STEPS, sizeof(*again));
	unsigned wrong = 0, read = 0;
	struct play play;

	made_map(guest.made, guest.root, DATA, RANDOM_PAGES * GUEST_PAGE_SIZE, MADE_WRITE);
	recording_writer_watch(writer, made_memory(guest.made));
	take_steps(seed, writer, NULL, run);
	record_end(writer);
	play_begin(&play);
	play_next(&play);
	take_steps(seed, NULL, &play, again);
	for (unsigned i = 0; i < RANDOM_STEPS; i++) {
		wrong += run[i] != again[i];
		read += run[i] != 0;
	}
	check(!wrong && read > RANDOM_STEPS / 10, "seed %u: %u of %u results differ", seed, wrong,
	      read);
	play_end(&play);
	free(run);
	free(again);
}

/* --- hostile ---------------------------------------------------------------------------------- */

#define CHANGES_THAT_WAIT 1024 /* 4 MiB */

static uint64_t record_page_read;

static bool take(struct recorded_memory *recorded, uint32_t type, uint64_t frame, uint64_t lines,
		 size_t payload_bytes)
{
	static struct {
		struct recording_note note;
		struct recording_page page;
		char lines[GUEST_PAGE_SIZE];
	} record;

	record.note.type = type;
	record.page =
		(struct recording_page){ .frame = frame, .lines = lines, .read = record_page_read };
	return recorded_memory_apply(recorded, &record.note, sizeof(record.note) + payload_bytes);
}

static void test_hostile(void)
{
	struct recorded_memory *recorded;
	struct memory *memory;
	bool ok = true;

	guest_must(recorded_memory_open(&memory, &recorded));
	check(!take(recorded, RECORDING_PAGE, 1, 1, 24),
	      "a page with fewer bytes than lines is refused");
	check(!take(recorded, RECORDING_PAGE, 1, 1, 24 + 128),
	      "a page with two lines in the place of one is refused");
	check(!take(recorded, RECORDING_PAGE, 1, UINT64_MAX, 24 + 64),
	      "a page with one line in the place of all is refused");
	check(!take(recorded, RECORDING_PAGE, 1, 1, 8), "a page with half a head is refused");
	check(!take(recorded, RECORDING_PAGE, 1, 0, 24), "a page that never came cannot go");
	check(!take(recorded, RECORDING_TIME, 1, 0, 0), "a note without a time is refused");
	check(!take(recorded, RECORDING_SAMPLE, 1, 1, 80), "an empty note is refused");
	for (uint64_t i = 0; i < 5000; i++)
		ok &= take(recorded, RECORDING_TIME, i, 0, 8);
	check(ok && memory_now_ns(memory) == 0, "any number of times is taken");
	recorded_memory_end_turn(recorded);
	check_u64(memory_now_ns(memory), 4999, "the time if more came than are kept: the last one");
	for (uint64_t i = 0; i < RECORDING_MAX_PAGES; i++)
		ok &= take(recorded, RECORDING_PAGE, i << 40, 1, 24 + 64);
	check(ok, "%d pages", RECORDING_MAX_PAGES);
	check(!take(recorded, RECORDING_PAGE, 12345, 1, 24 + 64),
	      "a page more than the limit is refused");
	record_page_read = 1;
	for (uint64_t i = 0; i < 10000; i++)
		ok &= take(recorded, RECORDING_PAGE, i << 40, 2, 24 + 64);
	check(ok, "any number of changes may wait");
	recorded_memory_end_turn(recorded);
	record_page_read = 0;
	check(take(recorded, RECORDING_PAGE, 7ULL << 40, 0, 24) &&
		      take(recorded, RECORDING_PAGE, 12345, 1, 24 + 64),
	      "a page that goes may wait, too");
	recorded_memory_end_turn(recorded);
	record_page_read = 1000;
	ok = take(recorded, RECORDING_PAGE, 8ULL << 40, 0, 24);
	for (unsigned i = 1; i < CHANGES_THAT_WAIT; i++)
		ok &= take(recorded, RECORDING_PAGE, 9ULL << 40, 2, 24 + 64);
	record_page_read = 0;
	check(ok && !take(recorded, RECORDING_PAGE, 12346, 1, 24 + 64), "%d changes wait",
	      CHANGES_THAT_WAIT);
	record_page_read = 1000;
	ok = take(recorded, RECORDING_PAGE, 9ULL << 40, 2, 24 + 64);
	record_page_read = 0;
	check(ok && take(recorded, RECORDING_PAGE, 12346, 1, 24 + 64),
	      "for one more, the first is made");
	memory_destroy(memory);
}

int main(void)
{
	char folder[] = "/tmp/xtop-test-recorded-XXXXXX";

	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/recording", folder);
	test_versions();
	test_changes_meanwhile();
	test_refused();
	test_bulk();
	test_read_before();
	test_time();
	test_size();
	test_unread_changes();
	test_late_use();
	for (unsigned seed = 1; seed <= 5; seed++)
		test_random(seed);
	test_hostile();
	unlink(path);
	rmdir(folder);
	return tap_done();
}
