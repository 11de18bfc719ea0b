/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PE images of x86-64 as they lie in a guest's memory: their identity, the names that they export,
 * and their unwind tables. All bytes are the guest's. Resolver's thread.
 */
#ifndef XTOP_PE_H
#define XTOP_PE_H

#include <stdbool.h>
#include <stdint.h>

#include "xtop/base/bytes.h"
#include "xtop/base/error.h"
#include "xtop/symbol/image.h"
#include "xtop/unwind/code.h"

#define PE_MAX_IMAGE_BYTES (256U << 20)
#define PE_NAME_BYTES      64

struct pe_part {
	/* address from the image's start; size_bytes is 0 if there is none */
	uint32_t address, size_bytes;
};

struct pe_head {
	uint32_t size_bytes; /* size of the image in memory */
	uint32_t time_stamp; /* time of the build, or a hash; differs between builds */
	struct pe_part exports, functions; /* .edata and .pdata */
};

/*
 * Reads the header of an image; BYTES begin at the image's start. False: no PE image of x86-64 is
 * there.
 */
bool pe_read_head(const struct bytes *bytes, struct pe_head *head);
/*
 * Reads the image's own name, such as "ntoskrnl.exe"; not clean. False: the image exports nothing.
 */
bool pe_read_name(const struct bytes *bytes, const struct pe_head *head, char name[PE_NAME_BYTES]);
/*
 * Fills in IMAGE's symbols and unwind tables, as far as they are there, at addresses from the
 * image's start. Takes over SOURCE, which reads the image's code, also after an error. Error:
 * out of memory.
 */
struct xtop_error *image_read_pe(struct image *image, const struct bytes *bytes,
				 const struct pe_head *head, const struct code_source *source);

#endif
