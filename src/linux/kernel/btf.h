/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types of a Linux kernel, from a copy of its BTF. Any thread, one at a time for each struct btf;
 * nothing here reads a guest. Every byte is hostile: a blob can be wrong, but no question takes
 * more work than the limits below, and none reads beyond the blob.
 *
 * A type is known by its number: 1 and up, 0 is void. False means that something was not found or
 * is broken. btf_init() and btf->damaged say whether the blob is broken.
 */
#ifndef XTOP_LINUX_KERNEL_BTF_H
#define XTOP_LINUX_KERNEL_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BTF_MAX_BYTES      (32U << 20) /* 3.4 MB in 5.10, 5.5 MB in 6.18 */
#define BTF_MAX_TYPES      0xfffffU    /* Linux include/uapi/linux/btf.h BTF_MAX_TYPE */
#define BTF_MAX_DEPTH      32          /* of typedefs, of arrays, of structs in structs */
#define BTF_MAX_SAME_NAMES 4           /* structs of one name, each local to its source file */
#define BTF_MAX_STEPS      (1U << 20)  /* members looked at while a struct btf lives */

enum btf_result {
	BTF_OK,
	BTF_DAMAGED,   /* the types up to some point can be asked for */
	BTF_NONE,      /* no BTF, or a damaged header: there are no types */
	BTF_NO_MEMORY, /* there are no types */
};

/* A struct or union to look for: the caller sets the name, btf_init() the rest. */
struct btf_want {
	const char *name;
	unsigned found; /* types of that name in IDS */
	uint32_t ids[BTF_MAX_SAME_NAMES];
};

struct btf {
	const uint8_t *types, *strings, *kinds; /* sections of the caller's blob */
	uint32_t types_bytes, strings_bytes, kinds_bytes;
	uint32_t *starts; /* where type i + 1 begins in TYPES; ours */
	uint32_t count;
	uint32_t steps; /* left */
	bool damaged;
};

struct btf_member {
	uint32_t type;
	unsigned width_bits;  /* of a bitfield; else 0 */
	uint64_t offset_bits; /* from the start of the outermost struct */
};

/* BLOB is borrowed until btf_deinit(), which is to be called after BTF_OK and BTF_DAMAGED. */
enum btf_result btf_init(struct btf *btf, const uint8_t *blob, size_t bytes, struct btf_want *wants,
			 size_t n_wants);
void btf_deinit(struct btf *btf);

/* PATH is a member, or a member of a member: "d_name.len". Anonymous members are searched, too. */
bool btf_find_member(struct btf *btf, uint32_t type, const char *path, size_t path_bytes,
		     struct btf_member *member);
/* The size of any type but void and functions; a pointer has 8 bytes. */
bool btf_size(const struct btf *btf, uint32_t type, uint64_t *bytes);

#endif
