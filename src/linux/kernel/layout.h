/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offsets of the members of kernel structs that xtop reads: a table of numbers, filled once for
 * each kernel from the members' names in its BTF. Plain data without pointers. Any thread.
 *
 * Which members a kernel has depends on its version and configuration. No code asks for the
 * version: the reader of a structure asks whether a member exists, and chooses its way accordingly.
 * A member that was renamed but has the same meaning is one entry here.
 *
 *   ..._BITS, ..._WIDTH   offset of a bitfield from the start of its struct, and its width, in bits
 *   ..._SIZEOF            size of a struct in bytes
 *   all others            offset of a member in bytes
 */
#ifndef XTOP_LINUX_KERNEL_LAYOUT_H
#define XTOP_LINUX_KERNEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/btf.h"

/* The names in layout_members.h. */
enum layout_member {
#define MEMBER(name, kind, type, paths, bytes) name,
#include "linux/kernel/layout_members.h"
#undef MEMBER
	LAYOUT_MEMBERS,
};

#define LAYOUT_MAX 65536 /* largest value: no struct that is read here is larger */

/*
 * Plain data that can be written to a file, and read back on the same machine: layout_check() tells
 * whether this program wrote the data. The data does not identify the kernel.
 */
struct layout {
	uint32_t version;
	uint32_t partial; /* 1: layout_reader_end() will fill in more members */
	int32_t values[LAYOUT_MEMBERS]; /* -1 if the kernel has no such member */
};

struct work;

/* Fills in LAYOUT. After BTF_DAMAGED some members may be missing; after other failures all are. */
enum btf_result layout_from_btf(const uint8_t *blob, size_t bytes, struct work *work,
				struct layout *layout);

/* What the symbols tell of a kernel's types. */
struct layout_hints {
	bool arm;          /* it has none of the structs that only x86 has */
	bool has_pcpu_hot; /* there is a struct pcpu_hot: 6.2 to 6.14 */
};

/*
 * Reads the layout in two parts: at first the structs without which no function of a process has a
 * name, and the others in layout_reader_end().
 */
struct layout_reader;

/* Fills in LAYOUT like layout_from_btf(). *READERP becomes NULL if nothing is left to be read. */
enum btf_result layout_reader_begin(const struct btf_source *source, struct layout_hints hints,
				    struct layout *layout, struct layout_reader **readerp);
/* Fills in LAYOUT anew, unless the rest cannot be read. */
enum btf_result layout_reader_end(struct layout_reader *reader, struct layout *layout);
void layout_reader_destroy(struct layout_reader *reader); /* NULL allowed */
bool layout_check(const struct layout *layout);
/* Sets LAYOUT to a layout without members, which a guest has until its kernel is known. */
void layout_init(struct layout *layout);
/* Takes back what layout_reader_begin() has assumed of a mount. */
void layout_forget_mount(struct layout *layout);

static inline bool layout_has(const struct layout *layout, enum layout_member member)
{
	return layout->values[member] >= 0;
}

/* Precondition: LAYOUT has MEMBER. */
static inline unsigned layout_offset(const struct layout *layout, enum layout_member member)
{
	return layout->values[member];
}

static inline unsigned layout_offset_or(const struct layout *layout, enum layout_member member,
					unsigned otherwise)
{
	return layout_has(layout, member) ? layout_offset(layout, member) : otherwise;
}

/* The first of the N MEMBERS that is missing; LAYOUT_MEMBERS if no member is missing. */
enum layout_member layout_missing(const struct layout *layout, const enum layout_member *members,
				  size_t n);
/* Whether LAYOUT has all members of MEMBERS, an array. */
#define layout_has_all(layout, members)                                                            \
	(layout_missing(layout, members, sizeof(members) / sizeof((members)[0])) == LAYOUT_MEMBERS)
/* Name of the struct with MEMBER, such as "dentry". Tests and fuzzers use it to build structs. */
const char *layout_struct(enum layout_member member);

#endif
