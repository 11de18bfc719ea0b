/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types of a Linux kernel, from a copy of its BTF. Any thread, one at a time per struct btf;
 * nothing here reads a guest. Every byte is hostile: a blob can be wrong, but no answer needs more
 * than the limits below and none reads beyond the blob.
 *
 * A type is its number, 1 and up, 0 is void. What is not found and what is broken is the same to
 * whoever asks, `false`; that the blob is broken is told once, by btf_init() or btf->damaged.
 */
#ifndef OS_BTF_H
#define OS_BTF_H

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
	BTF_DAMAGED,   /* up to a point it could be read: what stands before is there */
	BTF_NONE,      /* no BTF, or a header that cannot be followed: nothing is there */
	BTF_NO_MEMORY, /* nothing is there */
};

/* A struct or union looked for: the caller fills in the name, btf_init() the rest. */
struct btf_want {
	const char *name;
	unsigned found; /* how many of IDS are filled */
	uint32_t ids[BTF_MAX_SAME_NAMES];
};

struct btf {
	const uint8_t *types, *strings, *kinds; /* in the caller's blob */
	uint32_t types_bytes, strings_bytes, kinds_bytes;
	uint32_t *starts; /* of type i + 1 in TYPES; ours */
	uint32_t count;
	uint32_t steps; /* left */
	bool damaged;
};

struct btf_member {
	uint32_t type;
	unsigned width_bits; /* of a bitfield, else 0 */
	uint64_t offset_bits; /* from the start of the outermost struct */
};

/* BLOB is borrowed until btf_deinit(). To be deinitialised after BTF_OK and BTF_DAMAGED. */
enum btf_result btf_init(struct btf *btf, const uint8_t *blob, size_t bytes, struct btf_want *wants,
			 size_t n_wants);
void btf_deinit(struct btf *btf);

/* PATH is a member, or members of members: "d_name.len". Anonymous ones are looked into. */
bool btf_find_member(struct btf *btf, uint32_t type, const char *path, size_t path_bytes,
		     struct btf_member *member);
/* Bytes of any type but void and functions; pointers have 8. */
bool btf_size(const struct btf *btf, uint32_t type, uint64_t *bytes);
bool btf_array(const struct btf *btf, uint32_t type, uint32_t *element, uint32_t *count);
/* What a pointer points to. */
bool btf_pointee(const struct btf *btf, uint32_t type, uint32_t *target);

#endif
