/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of the kernel cache. The input changes a valid file, which then gets the right checksum.
 * What is loaded from it is used with a guest, and stored again.
 */
#include "config.h"

#include <sys/mman.h>
#include <unistd.h>

#include "guest.h"
#include "linux/kernel/linux_attach.h"
#include "linux/kernel/orc_tables.h"
#include "tests/unwind/orc_rows.h"

/* Included for its static functions. So the library's copy is not linked. */
#include "linux/kernel/kernel_cache.c"

#define TEXT FUZZ_GUEST_BASE
#define UUID "a domain"

static struct kernel_cache cache;
static struct cache_head right_head;
static char *right_body;

static void make_kernel(struct linux_kernel *kernel, struct fuzz_guest *guest)
{
	struct orc_entry entries[8] = { 0 };
	struct image *image;

	fuzz_guest_layout(guest, &(struct fuzz){ 0 });
	kernel->guest = guest->linux_guest;
	kernel->guest.layout.version = 0;
	kernel->guest.text_start = TEXT;
	kernel->guest.text_end = TEXT + 0x10000;
	for (int i = 0; i < N_LINUX_SYMBOLS; i++)
		kernel->guest.symbols[i] = TEXT + 0x100 * i;
	kernel->guest.has_layout = false; /* checked as a whole: it would hide other changes */
	kernel->guest.orc_layout = orc_layout_of(ORC_V3);
	snprintf(kernel->release, sizeof(kernel->release), "6.1.0");
	fuzz_succeed(image_create("[kernel]", &image));
	fuzz_succeed(symtab_create(&image->symtab));
	for (unsigned i = 0; i < 8; i++) {
		fuzz_succeed(symtab_add(image->symtab,
					&(struct symbol_definition){ .start = TEXT + 0x100 * i,
								     .size_bytes = 0x80,
								     .rank = SYMBOL_GLOBAL,
								     .name = "a_function",
								     .name_bytes = 3 + i % 8 }));
		entries[i] = (struct orc_entry){ TEXT + 0x100 * i,
						 { .sp_reg = ORC_SP, .type = ORC_CALL } };
	}
	fuzz_succeed(symtab_seal(image->symtab));
	fuzz_succeed(orc_create_rows(entries, 8, TEXT, TEXT + 0x10000, &image->tables.orc));
	image->build_id = (struct build_id){ .size_bytes = 4, .address = TEXT };
	kernel->image = image;
}

static void start(struct fuzz_guest *guest)
{
	struct linux_kernel kernel = { 0 };

	make_kernel(&kernel, guest);
	fuzz_must(cache_fill_head(UUID, &kernel, &right_head), "the head can be built");
	right_body = cache_build_body(&kernel, &right_head);
	linux_detach(&kernel);
	cache.fd = memfd_create("fuzz", MFD_CLOEXEC);
}

static void write_file(struct fuzz *fuzz)
{
	static struct {
		struct cache_head head;
		char body[4096];
	} file;
	size_t body_bytes = cache_body_bytes(&right_head), now_bytes;
	bool keeps_sum = fuzz_u8(fuzz) == 0xff;

	file.head = right_head;
	memcpy(file.body, right_body, body_bytes);
	fuzz_patch(fuzz, (uint8_t *)&file, sizeof(file.head) + body_bytes);
	now_bytes = cache_body_bytes(&file.head);
	if (!keeps_sum && now_bytes <= sizeof(file.body))
		file.head.checksum = cache_checksum(&file.head, file.body, now_bytes);
	if (pwrite(cache.fd, &file, sizeof(file), 0) != (ssize_t)sizeof(file) ||
	    ftruncate(cache.fd, sizeof(file)))
		abort();
}

static void use(struct linux_kernel *kernel, struct fuzz *fuzz)
{
	struct symtab_entry entry;

	symtab_find(kernel->image->symtab, TEXT + fuzz_u16(fuzz), &entry);
	if (kernel->image->tables.orc)
		orc_find(kernel->image->tables.orc, TEXT + fuzz_u16(fuzz));
	if (kernel->guest.has_layout)
		orc_destroy(orc_read_module(&kernel->guest, TEXT, 64, TEXT, TEXT + 0x1000));
	fuzz_must(memchr(kernel->release, 0, sizeof(kernel->release)) != NULL, "a release ends");
	kernel->guest.text_start = TEXT;
	kernel->guest.text_end = TEXT + right_head.text_bytes;
	kernel_cache_store(&cache, UUID, kernel);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz fuzz = fuzz_begin(bytes, size_bytes);
	struct fuzz_guest *guest = fuzz_guest();
	struct linux_kernel kernel = { 0 };

	fuzz_guest_fill(guest, &(struct fuzz){ 0 });
	if (!right_body)
		start(guest);
	write_file(&fuzz);
	kernel.guest = guest->linux_guest;
	fuzz_succeed(image_create("[kernel]", &kernel.image));
	if (kernel_cache_load(&cache, UUID, &kernel, TEXT))
		use(&kernel, &fuzz);
	linux_detach(&kernel);
	return 0;
}
