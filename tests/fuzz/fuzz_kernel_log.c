/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of a Linux kernel: the rings come from the input, or are valid ones that the input
 * changes. Valid rings are as small as the limits, so that messages wrap and wait for room.
 */
#include "config.h"

#include "guest.h"
#include "linux/kernel/kernel_log.h"

/* Where things are in the guest's memory. */
#define PRB        0x0000
#define RING       0x0040
#define DESCS      0x1000
#define INFOS      0x2000
#define DATA       0x4000
#define COUNT_BITS 4
#define SIZE_BITS  9
#define N_DESCS    (1U << COUNT_BITS)
#define DATA_BYTES (1U << SIZE_BITS)
#define DESC_BYTES 24
#define INFO_BYTES 88

static void set_layout(struct layout *layout)
{
	static const int32_t offsets[] = { 0, 0x30, 0, 8, 0x10, 0x18, 0x20, 0, 8,
					   DESC_BYTES, 0, 8, 0, 8, INFO_BYTES, 8, 16 };

	for (int i = LOG_DESC_RING; i <= LOG_INFO_TEXT_BYTES; i++)
		layout->values[i] = offsets[i - LOG_DESC_RING];
}

static void put(struct fuzz_guest *guest, uint64_t address, uint64_t value)
{
	guest->pool[address % FUZZ_GUEST_BYTES / 8] = value;
}

/* A message of N bytes, which are in the pool already, from *POS on. */
static void put_message(struct fuzz_guest *guest, uint64_t id, uint64_t *pos, unsigned n,
			uint64_t state)
{
	uint64_t size = 8 + (n + 7) / 8 * 8, behind = *pos + size, at = *pos % DATA_BYTES;
	uint64_t desc = DESCS + id % N_DESCS * DESC_BYTES;
	uint64_t info = INFOS + id % N_DESCS * INFO_BYTES;

	if (behind / DATA_BYTES != *pos / DATA_BYTES) {
		behind = behind / DATA_BYTES * DATA_BYTES + size;
		at = 0;
	}
	put(guest, DATA + at, id);
	put(guest, desc, state << 62 | id);
	put(guest, desc + 8, *pos);
	put(guest, desc + 16, behind);
	put(guest, info + 8, id * 1000);
	put(guest, info + 16, n);
	*pos = behind;
}

static void put_rings(struct fuzz_guest *guest, struct fuzz *fuzz)
{
	unsigned n = fuzz_u8(fuzz) % (2 * N_DESCS);
	uint64_t pos = 0, first = N_DESCS * (uint64_t)fuzz_u8(fuzz), id = first;

	memset((char *)guest->pool + DATA, 'a', DATA_BYTES);
	for (unsigned i = 0; i < n; i++, id++) {
		uint8_t bytes = fuzz_u8(fuzz);

		put_message(guest, id, &pos, bytes % 80, bytes < 240 ? 2 : bytes % 4);
		memset((char *)guest->pool + DATA + pos % DATA_BYTES, bytes & 1 ? '\n' : 'b', 1);
	}
	put(guest, PRB, FUZZ_GUEST_BASE + RING);
	put(guest, RING, COUNT_BITS);
	put(guest, RING + 0x08, FUZZ_GUEST_BASE + DESCS);
	put(guest, RING + 0x10, FUZZ_GUEST_BASE + INFOS);
	put(guest, RING + 0x18, id - 1);
	put(guest, RING + 0x20, n > N_DESCS ? id - N_DESCS : first);
	put(guest, RING + 0x30, SIZE_BITS);
	put(guest, RING + 0x38, FUZZ_GUEST_BASE + DATA);
}

/* Words among the rings: the input tells which, and to what. */
static void spoil(struct fuzz_guest *guest, struct fuzz *fuzz)
{
	unsigned n = fuzz_u8(fuzz) % 16;

	for (unsigned i = 0; i < n && fuzz->left_bytes; i++) {
		uint8_t how = fuzz_u8(fuzz);
		uint64_t *word = &guest->pool[fuzz_u16(fuzz) % ((DATA + DATA_BYTES) / 8)];

		*word = how & 1   ? FUZZ_GUEST_BASE + fuzz_u16(fuzz)
			: how & 2 ? fuzz_u64(fuzz)
				  : *word ^ 1ULL << how / 4;
	}
}

static void check_log(const struct os_log *log)
{
	size_t sum = 0;

	fuzz_must(log->text_bytes <= KERNEL_LOG_MAX_TEXT && log->n_lines <= KERNEL_LOG_MAX_LINES &&
			  log->n_messages + log->unreadable <= KERNEL_LOG_MAX_LOOKS,
		  "the log is limited");
	fuzz_must(!log->lack || !log->n_lines, "what lacks has no lines");
	fuzz_must(log->n_messages <= log->n_lines, "a message has a line");
	for (size_t i = 0; i < log->n_lines; i++) {
		const struct os_log_line *line = &log->lines[i];

		fuzz_must((size_t)line->at + line->bytes <= log->text_bytes, "lines are text");
		fuzz_must(!line->bytes || !memchr(log->text + line->at, '\n', line->bytes),
			  "lines are lines");
		sum += line->bytes;
	}
	fuzz_must(sum <= log->text_bytes, "no text is in two lines");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct fuzz_guest *guest = fuzz_guest();
	struct linux_guest *linux_guest = &guest->linux_guest;
	uint8_t how = fuzz_u8(&fuzz);
	struct os_log log = { 0 };

	fuzz_guest_layout(guest, &fuzz);
	if (how & 2)
		set_layout(&linux_guest->layout);
	memset(linux_guest->symbols, 0, sizeof(linux_guest->symbols));
	linux_guest->symbols[LINUX_LOG] = FUZZ_GUEST_BASE + PRB;
	if (how & 1) {
		fuzz_guest_fill(guest, &(struct fuzz){ 0 });
		put_rings(guest, &fuzz);
		spoil(guest, &fuzz);
	} else {
		fuzz_guest_fill(guest, &fuzz);
	}
	kernel_log_read(linux_guest, &log);
	check_log(&log);
	os_log_deinit(&log);
	return 0;
}
