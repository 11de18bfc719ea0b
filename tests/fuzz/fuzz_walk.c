/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page walk, and reads that use it. The input says which tables they are (64 bits with four or
 * five levels, PAE, 32 bits without PAE, arm64 with any TCR_EL1, or 32 bits there) and writes them entry by entry:
 * loops, large pages at every level, missing frames. walk_find_frame() and walk_find_span() must
 * agree.
 */
#include "config.h"

#include "fuzz.h"
#include "xtop/memory/memory.h"
#include "xtop/memory/walk.h"
#include "xtop/xen/guest.h"

#define FRAMES    16
#define MAX_BYTES (1U << 17) /* two batches */
#define MAX_OPS   64

static uint64_t pages[FRAMES][512] __attribute__((aligned(4096)));

static void guest_read(void *context, const frame_t *frames, size_t n, void *to, bool *ok)
{
	(void)context;
	for (size_t i = 0; i < n; i++) {
		ok[i] = frames[i].value < FRAMES;
		if (ok[i])
			memcpy((char *)to + i * GUEST_PAGE_SIZE, pages[frames[i].value],
			       GUEST_PAGE_SIZE);
	}
}

static void guest_close(void *context)
{
	(void)context;
}

static const volatile uint64_t *guest_table(void *context, frame_t frame)
{
	(void)context;
	return frame.value < FRAMES ? pages[frame.value] : NULL;
}

/* In the input entries are short: flags, NX and a frame that mostly exists. RAW: all 64 bits. */
static void put_entry(struct fuzz *fuzz, bool raw)
{
	unsigned frame = fuzz_u8(fuzz) % FRAMES, index = fuzz_u16(fuzz) % 512;
	uint64_t entry;

	if (raw) {
		entry = fuzz_u64(fuzz);
	} else {
		uint16_t bits = fuzz_u16(fuzz);

		entry = (uint64_t)(bits & 0xff) | (uint64_t)(bits >> 8 & 0x1f) << GUEST_PAGE_SHIFT |
			(uint64_t)(bits >> 15) << 63;
	}
	pages[frame][index] = entry;
}

/* Takes an address for tables of ROOT. Some are beyond the 4 GiB of 32 bits. */
static uint64_t take_address(struct fuzz *fuzz, struct memory_root root)
{
	uint64_t address = fuzz_u64(fuzz);

	return root.width == WIDTH_64 ? address : address & 0x1ffffffff;
}

static void check_walk(struct memory_root root, uint64_t address)
{
	struct walk_reader reader = { .table = guest_table };
	frame_t frame = FRAME(0);
	struct walk_span span;
	enum walk_result result = walk_find_frame(&reader, root, GVA(address), &frame);

	fuzz_must(walk_find_span(&reader, root, GVA(address), &span) == result, "one result");
	fuzz_must(span.rest_bytes > 0, "a span is not empty");
	for (unsigned step = 0; step < 2; step++) /* there are two tables at least */
		fuzz_must(walk_index(root, GVA(address), step) < 512, "a word of the table");
	if (result == WALK_OK)
		fuzz_must(frame.value == span.frame.value && !(frame.value >> 40), "one frame");
}

static void read_bytes(struct memory *memory, struct memory_root root, uint64_t address,
		       size_t size_bytes, unsigned how)
{
	char *buffer = malloc(size_bytes ? size_bytes : 1);
	size_t got = 0;

	if (!buffer)
		abort();
	if (how == 0)
		got = memory_read(memory, root, address, buffer, size_bytes);
	else if (how == 1)
		got = memory_read_bulk(memory, root, address, buffer, size_bytes);
	else if (memory_read_string(memory, root, address, buffer, size_bytes))
		got = strnlen(buffer, size_bytes);
	fuzz_must(got <= size_bytes, "no more than asked for");
	free(buffer);
}

static void check_ranges(struct memory *memory, struct memory_root root, uint64_t from,
			 uint64_t size_bytes)
{
	struct memory_range ranges[64];
	uint64_t to = from + size_bytes < from ? UINT64_MAX : from + size_bytes;
	size_t n = memory_ranges(memory, root, from, to, ranges, 64);

	fuzz_must(n <= 64, "as many as fit");
	for (size_t i = 0; i < n; i++)
		fuzz_must(ranges[i].start < ranges[i].end && ranges[i].start >= from &&
				  ranges[i].end <= to &&
				  (!i || ranges[i].start >= ranges[i - 1].end),
			  "ranges ascend");
}

static void run(struct fuzz *fuzz, struct memory *memory, struct memory_root root)
{
	unsigned n_ranges = 0;

	for (unsigned i = 0; fuzz->left_bytes && i < MAX_OPS; i++) {
		unsigned op = fuzz_u8(fuzz) % 8;

		if (op < 2) {
			put_entry(fuzz, op == 1);
			memory_refresh(memory);
			continue;
		}
		check_walk(root, take_address(fuzz, root));
		if (op < 5)
			read_bytes(memory, root, take_address(fuzz, root),
				   fuzz_u32(fuzz) % MAX_BYTES, op - 2);
		else if (op == 5 && n_ranges++ == 0)
			check_ranges(memory, root, take_address(fuzz, root), fuzz_u64(fuzz));
	}
}

static void take_arm64(struct fuzz *fuzz, bool is_32, struct registers *regs)
{
	regs->arch = ARCH_ARM64;
	regs->arm64.pstate = is_32 ? PSTATE_ARM64_AARCH32 | ARM32_MODE_SVC : 0;
	regs->arm64.tcr = fuzz_u64(fuzz);
	regs->arm64.ttbr0 = fuzz_u16(fuzz);
	regs->arm64.ttbr1 = fuzz_u16(fuzz);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	static const enum register_width widths[] = { WIDTH_64, WIDTH_32_PAE, WIDTH_32, WIDTH_64 };
	static const struct memory_ops ops = { .read = guest_read, .close = guest_close };
	static struct memory *memory;
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct registers regs = { 0 };
	uint8_t kind;

	if (!memory)
		fuzz_succeed(memory_create(&ops, NULL, &memory));
	memset(pages, 0, sizeof(pages));
	memory_refresh(memory);
	kind = fuzz_u8(&fuzz);
	if (kind & 0x80) {
		take_arm64(&fuzz, kind & 0x40, &regs);
	} else {
		regs.cr4 = kind & 1 ? CR4_LA57 : 0;
		regs.width = widths[kind >> 1 & 3];
		regs.cr3 = fuzz_u16(&fuzz);
	}
	/* Some tables to begin with: frames 1 to 5 point to one another. */
	for (unsigned i = 1; i < 5; i++)
		pages[i][0] = pages[i][511] = (i + 1) << GUEST_PAGE_SHIFT | 3;
	run(&fuzz, memory, walk_root(&regs));
	return 0;
}
