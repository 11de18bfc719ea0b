/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types of a Linux kernel, from a copy of its BTF. Any thread, one at a time for each struct btf;
 * nothing here reads a guest. Every byte is hostile: a blob can be wrong, but no call takes more
 * work than the limits below, and none reads beyond the blob. The copy may be made piece by piece,
 * as far as the types are asked for.
 *
 * A type is identified by its number: 1 and up, 0 is void. A result of false means that something
 * was not found or is broken. btf_init() and btf->damaged say whether the blob is broken.
 */
#ifndef XTOP_LINUX_KERNEL_BTF_H
#define XTOP_LINUX_KERNEL_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BTF_MAX_BYTES      (32U << 20) /* 3.4 MB in 5.10, 5.5 MB in 6.18 */
#define BTF_MAX_TYPES      0xfffffU    /* Linux include/uapi/linux/btf.h BTF_MAX_TYPE */
#define BTF_MAX_DEPTH      32 /* nesting of typedefs, of arrays, and of structs in structs */
#define BTF_MAX_SAME_NAMES 4  /* structs with the same name, each local to its source file */
#define BTF_MAX_STEPS      (1U << 20) /* members looked at during the life of a struct btf */

enum btf_result {
	BTF_OK,
	BTF_DAMAGED,   /* the types up to some point are usable */
	BTF_NONE,      /* no BTF, or a damaged header: there are no types */
	BTF_NO_MEMORY, /* there are no types */
};

#define BTF_LETTERS        32
#define BTF_PIECE_BYTES    (64U << 10) /* bytes that are copied at once, at least */

/* A struct or union to look for. The caller sets the name and `late`, btf_init() the others. */
struct btf_want {
	const char *name;
	bool late; /* nobody waits for the struct: what is read for it can be read later */
	uint8_t next;   /* number of another want whose name may begin alike, from 1 on; 0: none */
	unsigned found; /* how many elements of ids are set */
	uint32_t ids[BTF_MAX_SAME_NAMES];
};

struct work;

/* A blob, of which BYTES has as much as was read. */
struct btf_source {
	const uint8_t *bytes;
	size_t size_bytes;
	size_t in_page; /* offset of the blob in its first page; pieces are whole pages */
	/* Copies [FROM, TO) of the blob to BYTES. NULL: all are there. False: it failed. */
	bool (*read)(void *context, size_t from, size_t to);
	void *context;
	struct work *work; /* tells when to stop; NULL: never */
};

struct btf {
	struct btf_source source;
	bool pieces[BTF_MAX_BYTES / BTF_PIECE_BYTES + 1]; /* whether a piece was read */
	bool unreadable; /* a piece that was needed could not be read */
	bool one_by_one; /* a piece ahead could not be read: each is read when it is needed */
	struct btf_want *wants;
	uint8_t by_letter[BTF_LETTERS]; /* the first want for each first letter of a name */
	size_t n_awaited; /* wants that are not late, and were not found yet */
	const uint8_t *types, *strings, *kinds; /* sections of the caller's blob */
	uint32_t types_bytes, strings_bytes, kinds_bytes;
	uint32_t *starts; /* starts[i] is the offset of type i + 1 in types; owned */
	uint32_t count;   /* number of types, as far as they were numbered */
	uint32_t at;      /* offset of the first type without a number; types_bytes: all have one */
	uint32_t front_bytes; /* types were read up to here, from the front on */
	uint32_t steps;   /* remaining steps of BTF_MAX_STEPS */
	bool damaged;
};

struct btf_member {
	uint32_t type;
	unsigned width_bits;  /* width of a bitfield; 0 for other members */
	uint64_t offset_bits; /* distance from the start of the outermost struct */
};

/*
 * BLOB is borrowed until btf_deinit(). Call btf_deinit() after BTF_OK and BTF_DAMAGED. The result
 * is BTF_DAMAGED if WORK, which may be NULL, is over before all types have been read.
 */
enum btf_result btf_init(struct btf *btf, const uint8_t *blob, size_t bytes, struct btf_want *wants,
			 size_t n_wants, struct work *work);
/*
 * btf_init() of a blob that is read piece by piece. SOURCE's bytes and WANTS are borrowed until
 * btf_deinit(). Reads on only until all wants are found that are not late.
 */
enum btf_result btf_init_parts(struct btf *btf, const struct btf_source *source,
			       struct btf_want *wants, size_t n_wants);
/*
 * Copies what is left, numbers the types that are left, and finds the late wants. Can be called
 * again if a byte could not be read.
 */
enum btf_result btf_read_rest(struct btf *btf);
void btf_deinit(struct btf *btf);

/*
 * PATH is a member, or a member of a member: "d_name.len". Anonymous members are searched as well.
 */
bool btf_find_member(struct btf *btf, uint32_t type, const char *path, size_t path_bytes,
		     struct btf_member *member);
/* The size of any type except void and functions. A pointer has 8 bytes. */
bool btf_size(struct btf *btf, uint32_t type, uint64_t *bytes);

#endif
