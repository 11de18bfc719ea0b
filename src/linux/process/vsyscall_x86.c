/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vsyscall page: three functions at the same fixed addresses in all processes. They belong to
 * no area and no file. Old static programs call them. A kernel lets such a call fault and acts for
 * the caller, so the user's part of a chain may begin there (Linux
 * arch/x86/entry/vsyscall/vsyscall_64.c emulate_vsyscall()). Not every kernel maps the page, so
 * this file makes its code as Linux has it (Linux arch/x86/entry/vsyscall/vsyscall_emu_64.S).
 * Resolver's thread.
 *
 *   0xffffffffff600000   vgettimeofday   mov $96,%rax;  syscall; ret
 *                  400   vtime           mov $201,%rax; syscall; ret
 *                  800   vgetcpu         mov $309,%rax; syscall; ret
 */
#include "config.h"

#include "linux/process/process_arch.h"

#include <string.h>

#include "xtop/symbol/image.h"
#include "xtop/unwind/code.h"

#define VSYSCALL_ADDRESS   0xffffffffff600000ULL
#define VSYSCALL_BYTES     0x1000
#define VSYSCALL_FUNCTION  0x400  /* distance from one function to the next */
#define VSYSCALL_CODE      10     /* bytes of a function */
#define VSYSCALL_FIRST     0x1000 /* address of the page in the image; 0 is no address */

static const struct {
	const char *name;
	uint32_t number;
} vsyscalls[] = { { "vgettimeofday", 96 }, { "vtime", 201 }, { "vgetcpu", 309 } };
#define N_VSYSCALLS (sizeof(vsyscalls) / sizeof(vsyscalls[0]))

static bool vsyscall_find_function(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	uint64_t i = (address - VSYSCALL_FIRST) / VSYSCALL_FUNCTION;

	(void)context;
	if (i >= N_VSYSCALLS)
		return false;
	*start = VSYSCALL_FIRST + i * VSYSCALL_FUNCTION;
	*end = *start + VSYSCALL_CODE;
	return address < *end;
}

static size_t vsyscall_read(void *context, uint64_t address, void *buffer, size_t size_bytes)
{
	uint8_t page[VSYSCALL_BYTES];
	uint64_t offset = address - VSYSCALL_FIRST;

	(void)context;
	if (offset >= sizeof(page))
		return 0;
	memset(page, 0xcc, sizeof(page)); /* int3 */
	for (size_t i = 0; i < N_VSYSCALLS; i++) {
		uint8_t *at = page + i * VSYSCALL_FUNCTION;

		memcpy(at, "\x48\xc7\xc0", 3); /* mov $number,%rax */
		memcpy(at + 3, &vsyscalls[i].number, sizeof(vsyscalls[i].number));
		memcpy(at + 7, "\x0f\x05\xc3", 3); /* syscall; ret */
	}
	if (size_bytes > sizeof(page) - offset)
		size_bytes = (size_t)(sizeof(page) - offset);
	memcpy(buffer, page + offset, size_bytes);
	return size_bytes;
}

static struct xtop_error *vsyscall_fill(struct image *image)
{
	const struct code_source source = { .read = vsyscall_read,
					    .find_function = vsyscall_find_function };
	struct xtop_error *error = symtab_create(&image->symtab);

	for (size_t i = 0; !error && i < N_VSYSCALLS; i++)
		error = symtab_add(image->symtab,
				   &(struct symbol_definition){
					   .start = VSYSCALL_FIRST + i * VSYSCALL_FUNCTION,
					   .size_bytes = VSYSCALL_CODE,
					   .rank = SYMBOL_GLOBAL,
					   .name = vsyscalls[i].name,
					   .name_bytes = strlen(vsyscalls[i].name) });
	if (!error)
		error = symtab_seal(image->symtab);
	if (!error)
		error = unwind_tables_build_computed(&image->tables, &source, VSYSCALL_FIRST,
						     VSYSCALL_FIRST + VSYSCALL_BYTES);
	return error;
}

struct xtop_error *process_arch_create_fixed(struct mapping *mapping)
{
	struct image *image;
	struct xtop_error *error = image_create("[vsyscall]", &image);

	if (error)
		return error;
	error = vsyscall_fill(image);
	if (error) {
		image_unref(image);
		return error;
	}
	*mapping = (struct mapping){ .start = VSYSCALL_ADDRESS,
				     .end = VSYSCALL_ADDRESS + VSYSCALL_BYTES,
				     .bias = VSYSCALL_ADDRESS - VSYSCALL_FIRST,
				     .image = image,
				     .kind = MAPPING_CODE };
	return NULL;
}
