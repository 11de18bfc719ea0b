/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies the kernel of a Linux guest out of the guest's memory, by the page tables and functions that
 * xtop uses.
 *
 *   live_text DOMAIN FILE    writes the memory from _text to _end to FILE. Prints "ADDRESS BYTES
 *                            MISSING": the address of _text, the length, and how many bytes could
 *                            not be read (they are 0 in FILE)
 *
 * The guest may run meanwhile.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "linux/kernel/linux_attach.h"
#include "tests/support/must.h"
#include "xtop/base/cleanup.h"
#include "xtop/os/os.h"
#include "xtop/supervise/broker.h"
#include "xtop/xen/guest.h"

#define ATTACH_TRIES 100

/* Tries again and again, because a vCPU may be at a place that does not show the kernel. */
static bool attach(const struct guest_info *info, struct memory *memory, struct linux_kernel *kernel)
{
	const struct os_guest guest = { .memory = memory, .type = info->type };
	struct registers regs;

	for (unsigned i = 0; i < ATTACH_TRIES; i++) {
		memory_refresh(memory);
		if (guest_get_registers(info, i % info->n_vcpus, &regs) &&
		    linux_attach(&guest, &regs, kernel))
			return true;
	}
	return false;
}

static int write_text(const struct linux_guest *guest, const char *path)
{
	size_t size_bytes = guest->text_end - guest->text_start, n_read;
	_cleanup_free_ uint8_t *bytes = malloc(size_bytes);
	_cleanup_fclose_ FILE *file = fopen(path, "w");

	if (!bytes || !file) {
		fprintf(stderr, "live_text: cannot write %s\n", path);
		return 1;
	}
	n_read = memory_read_bulk(guest->memory, guest->root, guest->text_start, bytes, size_bytes);
	printf("%" PRIx64 " %zu %zu\n", guest->text_start, size_bytes, size_bytes - n_read);
	return fwrite(bytes, 1, size_bytes, file) != size_bytes || fflush(file);
}

int main(int argc, char **argv)
{
	struct linux_kernel kernel;
	struct guest_info info;
	struct memory *memory;
	int status;

	if (argc != 3)
		return 2;
	must_or_die(guest_find(argv[1], &info));
	must_or_die(guest_open_memory(info.domid, &memory));
	if (!attach(&info, memory, &kernel)) {
		fprintf(stderr, "live_text: no Linux there\n");
		return 1;
	}
	status = write_text(&kernel.guest, argv[2]);
	linux_detach(&kernel);
	memory_destroy(memory);
	return status;
}
