/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An exit's record has an address, and nothing else that tells a program's code from the kernel's.
 * So the width of the kernel's addresses decides. The code at the address can be shown, also if no
 * sample ever ends in it.
 */
#include "config.h"

#include "recording/format.h"
#include "tests/profile/resolver_stage.h"
#include "tests/profile/waits_guest.h"
#include "tests/support/made_memory.h"

#define HOST_DOMID 5

static const struct memory_root wide = { .width = WIDTH_64 };
static const struct memory_root pae = { .width = WIDTH_32_PAE };
static const struct memory_root short_ = { .width = WIDTH_32 };
static const struct memory_root arm = { .arm64 = { .kind = ROOT_ARM64 } };

/* Adds what CPU's buffer had; UINT32_MAX: what Xen said before. */
static void add_chunk(struct stage *stage, uint32_t cpu, const void *bytes, size_t size_bytes)
{
	struct {
		struct recording_note note;
		struct recording_trace trace;
		unsigned char bytes[256];
	} record = {
		.note.type = RECORDING_TRACE,
		.trace = { .domid = HOST_DOMID, .cpu = cpu, .size_bytes = (uint32_t)size_bytes }
	};

	memcpy(record.bytes, bytes, size_bytes);
	resolver_add(stage->resolver, &record,
		     sizeof(record.note) + sizeof(record.trace) + size_bytes);
}

/* Opens STAGE with MEMORY for a replay, and adds an exit at ADDRESS. The guest's root is ROOT. */
static struct snapshot *add_exit(struct stage *stage, struct memory **memory,
				 const struct memory_root *root, uint64_t address)
{
	const struct trace_hello hello = { .khz = 1000000 };
	const uint32_t low = (uint32_t)address, high = (uint32_t)(address >> 32);
	const uint32_t words[] = {
		0x21001U | 1 << 8 | 1 << 28 | 1U << 31,
		1000,
		0,
		HOST_DOMID << 16 | 1,
		0x81102U | 3 << 28 | 1U << 31,
		2000,
		0,
		0x72,
		low,
		high,
		0x81001U | 1U << 31,
		42000,
		0,
	};
	struct resolver_settings with = { .os = (struct os *)&system_ };
	struct snapshot *snapshot;

	guest.known = true;
	guest.root = root;
	guest_must(recorded_memory_open(memory, &with.recorded));
	stage_open_settings(stage, with);
	add_chunk(stage, UINT32_MAX, &hello, sizeof(hello));
	add_chunk(stage, 3, words, sizeof(words));
	snapshot = stage_snapshot(stage);
	if (!snapshot->run->exits || snapshot->run->exits->n_causes != 1)
		must(error_create("no exit is counted"));
	return snapshot;
}

/* Whether an exit at ADDRESS of a guest with these page tables is the kernel's. */
static bool is_kernel(const struct memory_root *root, uint64_t address)
{
	struct snapshot *snapshot;
	struct memory *memory;
	struct stage stage;
	uint32_t frame;
	bool is;

	memset(&guest, 0, sizeof(guest));
	guest_must(symbols_create(&stage.symbols));
	snapshot = add_exit(&stage, &memory, root, address);
	frame = snapshot->run->exits->causes[0].place.frame;
	is = frames_get(snapshot->frames, frame)->kind == FRAME_KIND_KERNEL;
	snapshot_destroy(snapshot);
	stage_close(&stage);
	memory_destroy(memory);
	return is;
}

static void test_code(void)
{
	static const uint8_t cpuid[] = { 0x0f, 0xa2, 0xc3 };
	struct made_memory *made = made_create();
	const struct memory_root root = made_root(made);
	uint64_t address = guest_find_function("parse", strlen("parse"));
	struct annotation *annotation;
	struct snapshot *snapshot;
	struct memory *memory;
	struct stage stage;
	uint32_t frame;

	memset(&guest, 0, sizeof(guest));
	stage.symbols = guest_symbols();
	guest.kernel = symbols_space(stage.symbols);
	guest.memory = made_memory(made);
	made_put(made, root, address, cpuid, sizeof(cpuid));
	snapshot = add_exit(&stage, &memory, &root, address);
	frame = snapshot->run->exits->causes[0].place.frame;
	guest_must(resolver_annotate(stage.resolver, snapshot, frame, &annotation));
	check(!strcmp(frames_get(snapshot->frames, frame)->name, "parse") &&
		      annotation->n_bytes == GUEST_FUNCTION_BYTES && !annotation->missing[0] &&
		      !memcmp(annotation->bytes, cpuid, sizeof(cpuid)),
	      "the code of a function that exits, in which no sample ended");
	check(annotation->word_bytes == sizeof(uint64_t) && annotation->address == address,
	      "code of 64 bits from where the function begins");
	annotation_destroy(annotation);
	snapshot_destroy(snapshot);
	stage_close(&stage);
	memory_destroy(memory);
	made_destroy(made);
}

int main(void)
{
	check(is_kernel(&wide, 0xffffffff81001234) && !is_kernel(&wide, 0x7f0000001234),
	      "64 bits: the kernel has the upper half");
	check(!is_kernel(&wide, 0xc0101234), "64 bits: a program may lie in the fourth GiB");
	check(is_kernel(&pae, 0xc0101234) && !is_kernel(&pae, 0x8049000),
	      "32 bits with PAE: the kernel has the last GiB");
	check(is_kernel(&short_, 0xfffff000) && !is_kernel(&short_, 0xbffff000),
	      "32 bits: the last GiB, to its end");
	check(!is_kernel(&arm, 0xc0101234) && is_kernel(&arm, 0xffff800008001234),
	      "arm64: the kernel has the upper half");
	check(!is_kernel(NULL, 0xc0101234) && is_kernel(NULL, 0xffffffff81001234),
	      "page tables that are not known: the upper half");
	test_code();
	return tap_done();
}
