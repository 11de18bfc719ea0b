/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of Xen's trace buffers. The first bytes of the input say how the host is; then come
 * pieces of CPUs' buffers, which may end within a record. One in two pieces has records whose events
 * are those that are looked at.
 */
#include "config.h"

#include "fuzz.h"
#include "xtop/profile/exits.h"

#define DOMID       3
#define MAX_PIECES  64
#define PIECE_BYTES 256

static const uint32_t events[] = {
	0x1f001,                   /* lost records */
	0x21011,                   /* running to runnable */
	0x21101,                   /* runnable to running */
	0x21221,                   /* blocked, blocked */
	0x81001,                   /* entry */
	0x81002,                   /* exit, of 64 bits in the next */
	0x81102, 0x81003, 0x81503, /* AMD's, nested */
	0x82008, 0x8200c, 0x8200e, 0x82002, 0x82020, 0x201002, 0x20110d, 0x20100d, 0x28002,
};

static struct exits_place name_function(void *context, unsigned vcpu, uint64_t address)
{
	(void)context;
	return (struct exits_place){ (uint32_t)(address >> 4 & 31), vcpu & 1 };
}

/* Writes a record at AT. Returns how many bytes it has. */
static size_t put_record(struct fuzz *fuzz, uint8_t *at)
{
	uint32_t words[10] = { 0 };
	uint8_t event = fuzz_u8(fuzz), how = fuzz_u8(fuzz);
	unsigned extra = how & 7, with_tsc = how >> 7, n = 1;

	words[0] =
		events[event % (sizeof(events) / sizeof(events[0]))] | extra << 28 | with_tsc << 31;
	if (with_tsc) {
		words[1] = how & 0x40 ? fuzz_u32(fuzz) : fuzz_u16(fuzz);
		words[2] = how & 0x20 ? fuzz_u8(fuzz) : 0;
		n = 3;
	}
	for (unsigned i = 0; i < extra; i++)
		words[n++] = i ? fuzz_u8(fuzz) : (uint32_t)DOMID << 16 | fuzz_u8(fuzz);
	if (how & 0x10)
		words[n - 1] = fuzz_u32(fuzz);
	memcpy(at, words, 4UL * n);
	return 4UL * n;
}

static void add_piece(struct fuzz *fuzz, struct exits *exits)
{
	uint8_t bytes[PIECE_BYTES + 40];
	uint8_t how = fuzz_u8(fuzz);
	unsigned cpu = how & 0x70 ? how & 3 : fuzz_u16(fuzz);
	size_t n = 0, wanted = fuzz_u8(fuzz);
	uint8_t *copy;

	if (how & 0x80)
		fuzz_take(fuzz, bytes, n = wanted);
	while (n < wanted && fuzz->left_bytes)
		n += put_record(fuzz, bytes + n);
	if (how & 0x0c)
		n &= ~(size_t)3;
	if (how & 0x04 && n > 4)
		n -= 4;
	copy = malloc(n + 1); /* no spare bytes: a read beyond them is seen */
	memcpy(copy, bytes, n);
	exits_add(exits, cpu, copy, n, name_function, NULL);
	free(copy);
}

static void check_table(const struct exits_table *table)
{
	fuzz_must(table->n_rows <= EXITS_MAX_ROWS, "few rows");
	fuzz_must(table->n_causes <= EXITS_MAX_CAUSES, "few causes");
	fuzz_must(table->n_vcpus <= GUEST_MAX_VCPUS, "few vCPUs");
	for (size_t i = 0; i < table->n_causes; i++)
		fuzz_must(table->causes[i].row < table->n_rows, "a cause has a row");
	for (size_t i = 0; i < table->n_rows; i++)
		fuzz_must(table->rows[i].p99_ns <= table->rows[i].longest_ns, "p99 is no longest");
	for (unsigned i = 0; i < table->n_vcpus; i++)
		fuzz_must(table->wakes[i].p50_ns <= table->wakes[i].p99_ns &&
				  table->wakes[i].p99_ns <= table->wakes[i].longest_ns,
			  "waits are in order");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static struct exits *exits;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct exits_table *table;
	uint8_t flags = fuzz_u8(&fuzz);

	if (!exits)
		fuzz_succeed(exits_create(1000000000, &exits));
	exits_set_host(exits, DOMID, flags & 2 ? fuzz_u32(&fuzz) : 2000000, flags & 1);
	for (unsigned i = 0; i < MAX_PIECES && fuzz.left_bytes; i++)
		add_piece(&fuzz, exits);
	table = exits_get(exits);
	fuzz_must(table != NULL, "a table");
	check_table(table);
	exits_table_destroy(table);
	exits_reset(exits);
	return 0;
}
