/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of made-up kernels: whole, wrapped in both ways, with messages of several lines, empty
 * ones and lost ones, and with descriptors, blocks and lengths that cannot be right.
 *
 * The descriptors' ring has 8, the text's 128 bytes. Ids and positions are large, as after a while.
 */
#include "config.h"

#include "linux/kernel/kernel_log.h"

#include <string.h>

#include "tests/support/made_lists.h"
#include "tests/support/tap.h"

#define PRB   0xffffffff82800ff8ULL
#define RING  0xffffffff82801000ULL
#define DESCS 0xffffffff82902000ULL
#define INFOS 0xffffffff82a03fe0ULL /* the second lies on two pages */
#define DATA  0xffff888000100fc0ULL

#define COUNT_BITS 3
#define SIZE_BITS  7
#define N_DESCS    (1U << COUNT_BITS)
#define DATA_BYTES (1U << SIZE_BITS)
#define DESC_BYTES 24
#define INFO_BYTES 88
#define FIRST_ID   (N_DESCS * 1000ULL)
#define FIRST_POS  (DATA_BYTES * 5000ULL)

enum { RESERVED, COMMITTED, FINALIZED, REUSABLE };

static struct made_linux guest;
static uint64_t next_id, next_pos;

static void put_head(uint64_t head, uint64_t tail)
{
	made_linux_u64(&guest, RING + 0x18, head);
	made_linux_u64(&guest, RING + 0x20, tail);
}

static void begin(void)
{
	static const struct {
		enum layout_member member;
		int32_t offset;
	} members[] = {
		{ LOG_DESC_RING, 0 },    { LOG_TEXT_RING, 0x30 },   { LOG_COUNT_BITS, 0 },
		{ LOG_DESCS, 8 },        { LOG_INFOS, 0x10 },       { LOG_HEAD_ID, 0x18 },
		{ LOG_TAIL_ID, 0x20 },   { LOG_SIZE_BITS, 0 },      { LOG_DATA, 8 },
		{ LOG_DESC_SIZEOF, 24 }, { LOG_DESC_STATE, 0 },     { LOG_DESC_TEXT, 8 },
		{ LOG_BLOCK_BEGIN, 0 },  { LOG_BLOCK_NEXT, 8 },     { LOG_INFO_SIZEOF, 88 },
		{ LOG_INFO_TIME, 8 },    { LOG_INFO_TEXT_BYTES, 16 },
	};

	made_linux_init(&guest);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		made_linux_set(&guest, members[i].member, members[i].offset);
	guest.guest.symbols[LINUX_LOG] = PRB;
	made_linux_u64(&guest, PRB, RING);
	made_linux_u64(&guest, RING, COUNT_BITS);
	made_linux_u64(&guest, RING + 8, DESCS);
	made_linux_u64(&guest, RING + 0x10, INFOS);
	made_linux_u64(&guest, RING + 0x30, SIZE_BITS);
	made_linux_u64(&guest, RING + 0x38, DATA);
	for (unsigned i = 0; i < N_DESCS * DESC_BYTES; i += 8)
		made_linux_u64(&guest, DESCS + i, 0);
	for (unsigned i = 0; i < N_DESCS * INFO_BYTES; i += 8)
		made_linux_u64(&guest, INFOS + i, 0);
	for (unsigned i = 0; i < DATA_BYTES; i += 8)
		made_linux_u64(&guest, DATA + i, 0);
	next_id = FIRST_ID;
	next_pos = FIRST_POS;
	put_head(FIRST_ID, FIRST_ID);
}

static void end(void)
{
	made_linux_deinit(&guest);
}

static uint64_t desc_at(uint64_t id)
{
	return DESCS + id % N_DESCS * DESC_BYTES;
}

static void put_state(uint64_t id, uint64_t state)
{
	made_linux_u64(&guest, desc_at(id), state << 62 | id);
}

static void put_desc(uint64_t id, uint64_t state, uint64_t block, uint64_t behind)
{
	put_state(id, state);
	made_linux_u64(&guest, desc_at(id) + 8, block);
	made_linux_u64(&guest, desc_at(id) + 16, behind);
}

static void put_info(uint64_t id, uint64_t time_ns, uint16_t text_bytes)
{
	uint64_t at = INFOS + id % N_DESCS * INFO_BYTES;

	made_linux_u64(&guest, at + 8, time_ns);
	made_linux_u64(&guest, at + 16, text_bytes | 0xabULL << 24);
}

/*
 * As data_alloc() does it: a block that does not fit there begins at the ring's start. EXACT:
 * one that ends with the ring does fit (from 6.18 on).
 */
static uint64_t put_text(uint64_t id, const char *text, bool exact)
{
	uint64_t size = 8 + (strlen(text) + 7) / 8 * 8, behind = next_pos + size;
	uint64_t round = behind / DATA_BYTES * DATA_BYTES, at = next_pos % DATA_BYTES;
	bool wraps = behind / DATA_BYTES != next_pos / DATA_BYTES;

	if (wraps && !(exact && behind == round)) {
		behind = round + size;
		at = 0;
	}
	made_linux_u64(&guest, DATA + at, id);
	made_put(guest.made, guest.guest.root, DATA + at + 8, text, strlen(text));
	return behind;
}

static void add_as(const char *text, uint64_t state, bool exact)
{
	uint64_t id = next_id++, block = next_pos;

	next_pos = put_text(id, text, exact);
	put_desc(id, state, block, next_pos);
	put_info(id, id * 1000, (uint16_t)strlen(text));
	put_head(id, id - FIRST_ID < N_DESCS ? FIRST_ID : id - N_DESCS + 1);
}

static void add(const char *text)
{
	add_as(text, FINALIZED, false);
}

/* Whether the log's lines, one after the other with bars after them, are EXPECTED. */
static bool is(const char *expected, uint64_t unreadable)
{
	struct os_log log = { 0 };
	char lines[1024];
	size_t used = 0;
	bool same;

	memory_refresh(guest.guest.memory);
	kernel_log_read(&guest.guest, &log);
	for (size_t i = 0; i < log.n_lines; i++)
		used += (size_t)snprintf(lines + used, sizeof(lines) - used, "%.*s|",
					 (int)log.lines[i].bytes, log.text + log.lines[i].at);
	lines[used] = '\0';
	same = !log.lack && strcmp(lines, expected) == 0 && log.unreadable == unreadable;
	if (!same)
		printf("# %s: %s, %llu unreadable\n", log.lack ? log.lack : "a log", lines,
		       (unsigned long long)log.unreadable);
	os_log_deinit(&log);
	return same;
}

/* The word that the message says is lacking. */
static bool lacks(const char *word)
{
	struct os_log log = { 0 };
	bool same;

	memory_refresh(guest.guest.memory);
	kernel_log_read(&guest.guest, &log);
	same = log.lack && strstr(log.lack, word) && !log.n_lines;
	os_log_deinit(&log);
	return same;
}

static void test_whole(void)
{
	struct os_log log = { 0 };

	begin();
	check(is("", 1), "before the first message there are no lines");
	add("Linux version 6.1");
	add("two\nlines");
	add("");
	add_as("goes on", COMMITTED, false);
	check(is("Linux version 6.1|two|lines||goes on|", 0),
	      "lines are in their order, also those of one message and of the unfinished last one");
	kernel_log_read(&guest.guest, &log);
	check(log.n_messages == 4 && log.left_out == 0 && log.n_lines == 5 &&
		      log.lines[0].time_ns == FIRST_ID * 1000 &&
		      log.lines[1].time_ns == log.lines[2].time_ns &&
		      log.lines[4].time_ns == (FIRST_ID + 3) * 1000,
	      "messages have their times and are counted");
	os_log_deinit(&log);
	end();
}

static void test_wrapped(void)
{
	begin();
	for (unsigned i = 0; i < 13; i++) {
		char text[24];

		snprintf(text, sizeof(text), "m%u", i);
		add(text);
	}
	check(is("m6|m7|m8|m9|m10|m11|m12|", 1),
	      "messages are read after both rings have gone round");
	put_state(next_id - 8, REUSABLE);
	put_state(next_id - 7, REUSABLE);
	check(is("m7|m8|m9|m10|m11|m12|", 0),
	      "the oldest messages without text are not counted as unreadable");
	put_state(next_id - 4, RESERVED);
	check(is("m7|m8|m10|m11|m12|", 1),
	      "a message that is being written is counted as unreadable");
	end();

	begin();
	add("012345678901234567890123456789012345678901234567890123456789"); /* 72 of 128 */
	add("a block of 40 bytes that fits: 3");                             /* 112 */
	add("it begins at the start");
	check(is("a block of 40 bytes that fits: 3|it begins at the start|", 1),
	      "a text that does not fit at the end is read at the start of the ring");
	end();
}

/* The position after such a block is the first one of the next round. */
static void test_exact(void)
{
	begin();
	add("012345678901234567890123456789012345678901234567890123456789"); /* 72 */
	add_as("forty-eight bytes up to the end of the ring: 48!", FINALIZED, true);
	check(next_pos == FIRST_POS + DATA_BYTES,
	      "a message whose block ends with the ring is read");
	check(is("012345678901234567890123456789012345678901234567890123456789|"
		 "forty-eight bytes up to the end of the ring: 48!|",
		 0),
	      "the text of a block that ends with the ring is whole");
	end();
}

static void test_without_text(void)
{
	begin();
	add("first");
	add("second");
	put_desc(FIRST_ID, FINALIZED, 3, 3);
	check(is("|second|", 0), "an empty line has no block");
	put_desc(FIRST_ID, FINALIZED, 1, 1);
	check(is("second|", 1), "a message whose text found no room is counted as unreadable");
	put_desc(FIRST_ID, FINALIZED, 3, 1);
	check(is("second|", 1), "a message without a block is unreadable, in two ways");
	end();
}

static void test_lengths(void)
{
	begin();
	add("sixteen bytes...");
	put_info(FIRST_ID, 0, 60000);
	check(is("sixteen bytes...|", 0),
	      "a text that is longer than its block ends with the block");
	put_info(FIRST_ID, 0, 7);
	check(is("sixteen|", 0), "a text that is shorter than its block ends early");
	put_desc(FIRST_ID, FINALIZED, FIRST_POS, FIRST_POS + 8);
	check(is("|", 0), "a block with room for its id alone gives an empty text");
	put_desc(FIRST_ID, FINALIZED, FIRST_POS, FIRST_POS);
	check(is("", 1), "a block without bytes is unreadable");
	put_desc(FIRST_ID, FINALIZED, FIRST_POS, FIRST_POS + 4);
	check(is("", 1), "a block that is not aligned is unreadable");
	put_desc(FIRST_ID, FINALIZED, FIRST_POS, FIRST_POS - 16);
	check(is("", 1), "a block that ends before it begins is unreadable");
	put_desc(FIRST_ID, FINALIZED, FIRST_POS, FIRST_POS + 3 * DATA_BYTES);
	check(is("", 1), "a block of several rounds is unreadable");
	put_desc(FIRST_ID, FINALIZED, UINT64_MAX - 7, 0);
	check(is("", 1), "a block at the end of all positions is unreadable");
	put_desc(FIRST_ID, FINALIZED, FIRST_POS + 8, FIRST_POS + 24);
	check(is("", 1), "a block with another message's id is unreadable");
	end();
}

static void test_ids(void)
{
	begin();
	add("one");
	add("two");
	put_head(FIRST_ID + 1, FIRST_ID + 2);
	check(is("one|two|", 6), "a tail after the head gives at most all descriptors");
	put_head(0, 0);
	check(is("", 1), "an id that no descriptor has is unreadable");
	put_head(1, UINT64_MAX >> 2);
	check(is("", 3), "ids that begin again after the largest are read");
	put_head(FIRST_ID + 1, FIRST_ID);
	made_linux_u64(&guest, desc_at(FIRST_ID), 2ULL << 62 | (FIRST_ID + N_DESCS));
	check(is("two|", 1), "a descriptor that has been given to a newer message is unreadable");
	end();
}

static void test_rings(void)
{
	begin();
	add("one");
	made_linux_u64(&guest, RING, 32);
	check(lacks("read"), "a ring of 2^32 descriptors is refused");
	made_linux_u64(&guest, RING, 31);
	check(is("", 1), "a ring of 2^31 descriptors has no message in its place");
	made_linux_u64(&guest, RING, COUNT_BITS);
	made_linux_u64(&guest, RING + 0x30, 64);
	check(lacks("read"), "a ring of 2^64 bytes of text is refused");
	made_linux_u64(&guest, RING + 0x30, SIZE_BITS);
	made_linux_u64(&guest, RING + 0x38, 0x1000);
	check(lacks("read"), "text in user memory is refused");
	made_linux_u64(&guest, RING + 0x38, DATA + (1ULL << 30));
	check(is("", 1), "text on a missing page is unreadable");
	made_linux_u64(&guest, RING + 0x38, DATA);
	made_linux_u64(&guest, RING + 8, UINT64_MAX - 7);
	check(is("", 1), "descriptors at the end of memory are unreadable");
	made_linux_u64(&guest, RING + 8, DESCS);
	made_linux_u64(&guest, RING + 0x10, DESCS + (1ULL << 30));
	check(is("", 1), "infos on a missing page are unreadable");
	made_linux_u64(&guest, PRB, 0);
	check(lacks("read"), "no log is read before the ring exists");
	end();
}

static void test_lacks(void)
{
	begin();
	add("one");
	guest.guest.symbols[LINUX_LOG] = 0;
	check(lacks("KALLSYMS"), "no log is read without the symbol prb");
	guest.guest.symbols[LINUX_LOG] = PRB;
	made_linux_set(&guest, LOG_DESC_SIZEOF, 20);
	check(lacks("5.10"), "a descriptor that is too small for its members is refused");
	made_linux_set(&guest, LOG_DESC_SIZEOF, 4096);
	check(lacks("5.10"), "a descriptor that is too large for any kernel is refused");
	made_linux_set(&guest, LOG_DESC_SIZEOF, DESC_BYTES);
	made_linux_set(&guest, LOG_INFO_TEXT_BYTES, 87);
	check(lacks("5.10"), "a length that is half outside the info is refused");
	made_linux_set(&guest, LOG_INFO_TEXT_BYTES, -1);
	check(lacks("5.10"), "no log is read if a member is missing");
	guest.guest.has_layout = false;
	check(lacks("BTF"), "no log is read without BTF");
	end();
}

int main(void)
{
	test_whole();
	test_wrapped();
	test_exact();
	test_without_text();
	test_lengths();
	test_ids();
	test_rings();
	test_lacks();
	return tap_done();
}
