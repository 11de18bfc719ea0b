/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A PE image in a guest's memory, and a chain through it. The image is right: a header, an export
 * directory with two names, two functions with unwind tables. The input is what to change in it, then
 * a vCPU's registers and its stack. Last, the image lies at each 64 KiB of a guest's memory, and samples
 * lead to some of these places.
 */
#include "config.h"

#include "guest.h"
#include "unwind/seh.h"
#include "xtop/memory/walk.h"
#include "xtop/os/os_ops.h"
#include "xtop/symbol/image.h"
#include "xtop/symbol/pe.h"

#define IMAGE_BYTES 0x2000
#define BASE        UINT64_C(0xfffff80000400000)
#define STACK       UINT64_C(0xfffffb0000100000)
#define MAX_CHANGES 16
#define MAX_STEPS   32
#define MAX_SAMPLES 4

static uint8_t image_bytes[IMAGE_BYTES];

static void put(size_t offset, uint64_t value, size_t n)
{
	memcpy(image_bytes + offset, &value, n);
}

static void make_image(void)
{
	static const uint8_t info[] = { 1, 8, 4, 0x25, 8, 0x03, 6, 0x72, 2, 0x60, 1, 0x50 };
	static const uint8_t chained[] = { 0x21, 0, 2, 0, 4, 0x34, 2, 0,
					   0, 5, 0, 0, 0, 6, 0, 0, 0, 0x10, 0, 0 };

	memset(image_bytes, 0, sizeof(image_bytes));
	memcpy(image_bytes, "MZ", 2);
	put(60, 0x80, 4);
	memcpy(image_bytes + 0x80, "PE", 2);
	put(0x84, 0x8664, 2);
	put(0x98, 0x20b, 2);
	put(0x98 + 56, IMAGE_BYTES, 4);
	put(0x98 + 108, 16, 4);
	put(0x98 + 112, 0x1200, 4); /* exports */
	put(0x98 + 116, 0x100, 4);
	put(0x98 + 112 + 24, 0x1100, 4); /* functions */
	put(0x98 + 116 + 24, 24, 4);
	memcpy(image_bytes + 0x1000, info, sizeof(info));
	memcpy(image_bytes + 0x1020, chained, sizeof(chained));
	for (unsigned i = 0; i < 2; i++) {
		put(0x1100 + 12 * i, 0x500 + 0x100 * i, 4);
		put(0x1104 + 12 * i, 0x600 + 0x100 * i, 4);
		put(0x1108 + 12 * i, 0x1000 + 0x20 * i, 4);
		put(0x1240 + 4 * i, 0x500 + 0x100 * i, 4);
		put(0x1250 + 4 * i, 0x1280 + 8 * i, 4);
		put(0x1260 + 2 * i, i, 2);
		memcpy(image_bytes + 0x1280 + 8 * i, i ? "second" : "first\0", 7);
	}
	put(0x1200 + 12, 0x1290, 4);
	put(0x1200 + 20, 2, 4);
	put(0x1200 + 24, 2, 4);
	put(0x1200 + 28, 0x1240, 4);
	put(0x1200 + 32, 0x1250, 4);
	put(0x1200 + 36, 0x1260, 4);
	memcpy(image_bytes + 0x1290, "a.exe", 6);
}

static uint64_t missing; /* a page that cannot be read */

static size_t read_image(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	(void)context;
	if (offset >> 12 == missing)
		return 0;
	return fuzz_read_part(image_bytes, IMAGE_BYTES, offset, buffer, size_bytes);
}

/* --- a chain ---------------------------------------------------------------------------------- */

static struct {
	struct sample_vcpu vcpu;
	struct sample_stack head;
	uint64_t words[64];
} record;

static void walk(struct image *image, struct fuzz *input)
{
	struct cursor cursor;

	record.vcpu = (struct sample_vcpu){ .n_stacks = 1 };
	record.head = (struct sample_stack){ .address = STACK, .size_bytes = sizeof(record.words) };
	record.vcpu.regs.rip = BASE + fuzz_u16(input) % IMAGE_BYTES;
	record.vcpu.regs.rsp = STACK + fuzz_u8(input);
	record.vcpu.regs.rbp = STACK + fuzz_u16(input);
	for (size_t i = 0; i < 64 && input->left_bytes; i++)
		record.words[i] = BASE + fuzz_u16(input);
	cursor_init(&cursor, &record.vcpu);
	for (unsigned i = 0; i < MAX_STEPS; i++) {
		enum unwind_step step = seh_step(image->tables.seh, BASE, &cursor);

		if (step == STEP_CALLER && cursor.regs[REG_RIP] == 0)
			abort();
		if (step != STEP_CALLER)
			return;
	}
}

/* --- a system of such images ------------------------------------------------------------------ */

/* An address in one of the first 256 images; the user's are mapped as the kernel's are. */
static uint64_t image_address(struct fuzz *input, bool user)
{
	uint64_t offset = fuzz_u8(input) * FUZZ_GUEST_BYTES + fuzz_u16(input) % IMAGE_BYTES;

	return user ? 0x10000 + offset : FUZZ_GUEST_BASE + offset;
}

static void take_samples(void *windows, struct fuzz *input)
{
	struct os_description description;

	for (unsigned i = 0; i < MAX_SAMPLES && input->left_bytes; i++) {
		struct os_task task = { .user = NULL };

		record.vcpu.user = fuzz_u8(input) & 1;
		record.vcpu.regs.cr3 ^= (uint64_t)(fuzz_u8(input) & 1) << 11; /* another process */
		record.vcpu.regs.rip = image_address(input, record.vcpu.user);
		for (size_t j = 0; j < 4; j++)
			record.words[j] = image_address(input, record.vcpu.user);
		windows_os.find_task(windows, &record.vcpu, i, &task);
	}
	windows_os.describe(windows, &description);
	windows_os.is_there(windows);
}

static void find_system(struct fuzz *input)
{
	struct fuzz_guest *memory = fuzz_guest();
	struct os_guest guest = { .memory = memory->memory, .debug.root_fd = -1 };
	struct linux_stacks stacks;
	void *windows;

	fuzz_guest_fill(memory, &(struct fuzz){ 0 });
	memcpy(memory->pool, image_bytes, sizeof(image_bytes));
	memory_refresh(memory->memory);
	fuzz_succeed(space_create(&guest.kernel));
	record.vcpu.n_stacks = 1;
	record.head = (struct sample_stack){ .address = STACK, .size_bytes = sizeof(record.words) };
	record.vcpu.regs = (struct registers){ .rip = FUZZ_GUEST_BASE + 0x500,
					       .cr3 = memory->linux_guest.root.cr3 };
	windows = windows_os.find(&guest, &record.vcpu.regs, &stacks);
	if (windows) {
		take_samples(windows, input);
		windows_os.destroy(windows);
	}
	space_destroy(guest.kernel);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz input = fuzz_begin(bytes, size_bytes);
	const struct bytes file = { read_image, NULL, UINT64_MAX };
	const struct code_source source = { .read = read_image };
	unsigned n_changes = fuzz_u8(&input) % MAX_CHANGES;
	char name[PE_NAME_BYTES];
	struct image *image;
	struct pe_head head;

	make_image();
	missing = fuzz_u8(&input);
	for (unsigned i = 0; i < n_changes; i++) {
		size_t at = fuzz_u16(&input) % IMAGE_BYTES;

		image_bytes[at] = fuzz_u8(&input);
	}
	if (!pe_read_head(&file, &head))
		return 0;
	pe_read_name(&file, &head, name);
	if (image_create("a.exe", &image))
		return 0;
	error_destroy(image_read_pe(image, &file, &head, &source));
	if (image->tables.seh)
		walk(image, &input);
	image_unref(image);
	find_system(&input);
	return 0;
}
