/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a BTF blob, a kernel's own description of its types. Without BTF xtop can read little other
 * data of the kernel: in kernels of 32 bits layout_32.c guesses a few members. Resolver's thread,
 * once for each kernel.
 *
 *   header   0 u16 magic eb9f   2 u8 version 1   3 u8 flags 0   4 u32 header's length
 *            8 u32 type_off  12 type_len  16 str_off  20 str_len  [24 layout_off  28 layout_len]
 *            offsets count from the end of the header
 *   types    one after the other, numbered from 1:
 *            0 u32 name   4 u32 info   8 u32 size, or a type; then what belongs to the kind
 *            info = members:24 (0..23), kind:7 (24..30), flag:1 (31)
 *   strings  each ended by NUL; a name is an offset, 0 is the empty name
 *
 *   kind                       after the 12 bytes            kind                  after
 *    1 INT                     u32 offset:8 (16..) bits:8    12 FUNC               -
 *    2 PTR                     -                             13 FUNC_PROTO         8 each
 *    3 ARRAY                   u32 element, index, count     14 VAR                4
 *    4 STRUCT    5 UNION       12 each: name, type, offset   15 DATASEC            12 each
 *    6 ENUM                    8 each                        16 FLOAT              -
 *    7 FWD                     -                             17 DECL_TAG           4
 *    8 TYPEDEF   9 VOLATILE    -                             18 TYPE_TAG           -
 *   10 CONST    11 RESTRICT    -                             19 ENUM64             12 each
 *
 *   A member's offset is in bits. In a struct with the flag, the offset's upper 8 bits are the
 *   width of a bitfield. Without the flag, a bitfield is a member of an INT that has fewer bits
 *   than its size.
 *
 * Sources: Linux Documentation/bpf/btf.rst and include/uapi/linux/btf.h. The layout section has
 * four bytes for each kind (u8 fixed part, u8 each element, u16 flags), so that kinds above 19 can
 * be skipped. members:24 and kind:7 were 16 and 5 bits, with unused zeros beside them, before
 * libbpf commit f7a6b9eaff3e ("bpf: Extend BTF UAPI vlen, kinds to use unused bits"). The kernel
 * itself refuses header flags other than 0 (kernel/bpf/btf.c btf_parse_hdr()).
 */
#include "config.h"

#include "linux/kernel/btf.h"

#include <assert.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/work.h"

#define BTF_NAME_BYTES   64 /* no name that is looked for is longer */
#define BTF_MAGIC        0xeb9f
#define BTF_HEADER_BYTES 24
#define BTF_TYPE_BYTES   12
#define BTF_MEMBER_BYTES 12
#define BTF_LOOK_TYPES   4096 /* types between two checks whether work is over */

enum btf_kind {
	BTF_INT = 1,
	BTF_PTR,
	BTF_ARRAY,
	BTF_STRUCT,
	BTF_UNION,
	BTF_ENUM,
	BTF_FWD,
	BTF_TYPEDEF,
	BTF_VOLATILE,
	BTF_CONST,
	BTF_RESTRICT,
	BTF_FUNC,
	BTF_FUNC_PROTO,
	BTF_VAR,
	BTF_DATASEC,
	BTF_FLOAT,
	BTF_DECL_TAG,
	BTF_TYPE_TAG,
	BTF_ENUM64,
	BTF_KINDS,
};

/* Sizes of the data after a type's first 12 bytes: one fixed part, and a part for each member. */
static const struct {
	uint8_t once, each;
} btf_tails[BTF_KINDS] = {
	[BTF_INT] = { 4, 0 },     [BTF_ARRAY] = { 12, 0 },   [BTF_STRUCT] = { 0, 12 },
	[BTF_UNION] = { 0, 12 },  [BTF_ENUM] = { 0, 8 },     [BTF_FUNC_PROTO] = { 0, 8 },
	[BTF_VAR] = { 4, 0 },     [BTF_DATASEC] = { 0, 12 }, [BTF_DECL_TAG] = { 4, 0 },
	[BTF_ENUM64] = { 0, 12 },
};

struct btf_type {
	unsigned kind;
	bool flag;
	uint32_t members;
	uint32_t size; /* size in bytes, or number of the type to which this type leads */
	const uint8_t *tail;
};

static uint32_t btf_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static unsigned btf_info_kind(uint32_t info)
{
	return info >> 24 & 0x7f;
}

static uint32_t btf_info_members(uint32_t info)
{
	return info & 0xffffff;
}

/* Offset in the blob of the piece I, or of the blob's end. */
static size_t btf_piece_start(const struct btf_source *source, size_t i)
{
	size_t start = i * BTF_PIECE_BYTES;

	if (start < source->in_page)
		return 0;
	start -= source->in_page;
	return start < source->size_bytes ? start : source->size_bytes;
}

/*
 * Copies those of the pieces [FIRST, END) that were not read, neighbours at once. Returns false if
 * one cannot be read.
 */
static bool btf_copy(struct btf *btf, size_t first, size_t end)
{
	const struct btf_source *source = &btf->source;
	bool all = true;
	size_t next;

	for (; source->read && first < end; first = next + 1) {
		for (next = first; next < end && !btf->pieces[next]; next++)
			;
		if (next == first)
			continue;
		if (source->read(source->context, btf_piece_start(source, first),
				 btf_piece_start(source, next)))
			memset(btf->pieces + first, true, next - first);
		else
			all = false;
	}
	return all;
}

/* Number of the first piece that begins at or behind AT bytes of the blob. */
static size_t btf_piece_behind(const struct btf_source *source, size_t at)
{
	return (at + source->in_page + BTF_PIECE_BYTES - 1) / BTF_PIECE_BYTES;
}

/* Whether the N bytes at AT, which are in the blob, were read or can be read now. */
static bool btf_read(struct btf *btf, const uint8_t *at, size_t n)
{
	const struct btf_source *source = &btf->source;
	size_t start = (size_t)(at - source->bytes);

	return btf_copy(btf, (start + source->in_page) / BTF_PIECE_BYTES,
			btf_piece_behind(source, start + n));
}

/* btf_read() of bytes without which the types are not known. */
static bool btf_need(struct btf *btf, const uint8_t *at, size_t n)
{
	bool there = btf_read(btf, at, n);

	btf->unreadable |= !there;
	return there;
}

/*
 * Reads a section's offset and length at AT in the header. Returns false if the section ends beyond
 * the BYTES of BODY.
 */
static bool btf_section(const uint8_t *at, const uint8_t *body, size_t bytes,
			const uint8_t **section, uint32_t *section_bytes)
{
	uint64_t offset = btf_u32(at), length = btf_u32(at + 4);

	if (offset + length > bytes)
		return false;
	*section = body + offset;
	*section_bytes = length;
	return true;
}

static bool btf_read_header(struct btf *btf)
{
	const uint8_t *blob = btf->source.bytes, *body;
	size_t bytes = btf->source.size_bytes;
	uint32_t header_bytes;

	if (bytes < BTF_HEADER_BYTES || bytes > BTF_MAX_BYTES ||
	    !btf_need(btf, blob, BTF_HEADER_BYTES))
		return false;
	if (blob[0] != (BTF_MAGIC & 0xff) || blob[1] != BTF_MAGIC >> 8 || blob[2] != 1 || blob[3])
		return false;
	header_bytes = btf_u32(blob + 4);
	if (header_bytes < BTF_HEADER_BYTES || header_bytes > bytes ||
	    !btf_need(btf, blob, header_bytes))
		return false;
	body = blob + header_bytes;
	bytes -= header_bytes;
	if (!btf_section(blob + 8, body, bytes, &btf->types, &btf->types_bytes) ||
	    !btf_section(blob + 16, body, bytes, &btf->strings, &btf->strings_bytes))
		return false;
	if (header_bytes >= 32 &&
	    (!btf_section(blob + 24, body, bytes, &btf->kinds, &btf->kinds_bytes) ||
	     !btf_need(btf, btf->kinds, btf->kinds_bytes)))
		return false;
	/*
	 * Every kernel so far writes the sections in this order, so the order shows whether they
	 * overlap.
	 */
	if (btf->types + btf->types_bytes > btf->strings || btf_u32(blob + 8) % 4)
		return false;
	return btf->strings_bytes && btf_need(btf, btf->strings, 1) && !btf->strings[0] &&
	       btf_need(btf, btf->strings + btf->strings_bytes - 1, 1) &&
	       !btf->strings[btf->strings_bytes - 1];
}

/*
 * The name at OFFSET, of which BTF_NAME_BYTES were read, at least. NULL if OFFSET lies outside the
 * strings. The last string ends with a NUL.
 */
static const char *btf_name(struct btf *btf, uint32_t offset)
{
	const uint8_t *name;
	uint32_t left;

	if (offset >= btf->strings_bytes)
		return NULL;
	name = btf->strings + offset;
	left = btf->strings_bytes - offset;
	return btf_need(btf, name, left < BTF_NAME_BYTES ? left : BTF_NAME_BYTES)
		       ? (const char *)name
		       : NULL;
}

/* Size of a type after its first 12 bytes, 0 .. 2^32. Returns false if the kind is unknown. */
static inline bool btf_tail_bytes(const struct btf *btf, uint32_t info, uint64_t *bytes)
{
	unsigned kind = btf_info_kind(info);
	uint64_t members = btf_info_members(info);

	if (kind && kind < BTF_KINDS) {
		*bytes = btf_tails[kind].once + btf_tails[kind].each * members;
		return true;
	}
	if (!kind || 4 * (kind + 1) > btf->kinds_bytes)
		return false;
	*bytes = btf->kinds[4 * kind] + btf->kinds[4 * kind + 1] * members;
	return true;
}

static unsigned btf_letter(const char *name)
{
	return (unsigned char)name[0] % BTF_LETTERS;
}

static void btf_add_wanted(struct btf *btf, const uint8_t *type, uint32_t id)
{
	const char *name = btf_name(btf, btf_u32(type));

	if (!name || !*name)
		return;
	for (unsigned next = btf->by_letter[btf_letter(name)]; next;) {
		struct btf_want *want = &btf->wants[next - 1];

		next = want->next;
		if (strcmp(want->name, name) != 0)
			continue;
		btf->n_awaited -= !want->found && !want->late;
		if (want->found < BTF_MAX_SAME_NAMES)
			want->ids[want->found++] = id;
		return;
	}
}

/*
 * Whether the first 12 bytes of the type at AT can be read. Types are read from the front on, the
 * more at once the more were needed.
 */
static inline bool btf_need_type(struct btf *btf, uint32_t at)
{
	uint32_t ahead = at < BTF_PIECE_BYTES ? BTF_PIECE_BYTES / 2 : at / 2;

	if (at + BTF_TYPE_BYTES <= btf->front_bytes)
		return true;
	if (!btf_need(btf, btf->types + at, BTF_TYPE_BYTES))
		return false;
	btf->front_bytes = at + BTF_TYPE_BYTES;
	if (btf->one_by_one || ahead >= btf->types_bytes - at)
		return true;
	btf->one_by_one = !btf_read(btf, btf->types + at, ahead);
	if (!btf->one_by_one)
		btf->front_bytes = at + ahead;
	return true;
}

/*
 * Numbers types until there are COUNT, or a type cannot be skipped. If only wants are looked for,
 * ends with the last one that is awaited.
 */
static void btf_walk(struct btf *btf, uint32_t count, bool for_wants)
{
	uint32_t at = btf->at, n = btf->count, end = btf->types_bytes;
	const uint8_t *types = btf->types;
	uint64_t tail;

	while (n < count && end - at >= BTF_TYPE_BYTES && btf_need_type(btf, at)) {
		uint32_t info = btf_u32(types + at + 4);
		unsigned kind = btf_info_kind(info);

		if (!btf_tail_bytes(btf, info, &tail) || tail > end - at - BTF_TYPE_BYTES ||
		    (n % BTF_LOOK_TYPES == 0 && work_is_over(btf->source.work)))
			break;
		btf->starts[n++] = at;
		if (kind == BTF_STRUCT || kind == BTF_UNION) {
			btf_add_wanted(btf, types + at, n);
			if (for_wants && !btf->n_awaited)
				count = n;
		}
		at += BTF_TYPE_BYTES + tail;
	}
	btf->at = at;
	btf->count = n;
}

/* Numbers the types that are left. */
static enum btf_result btf_number_rest(struct btf *btf)
{
	btf_walk(btf, BTF_MAX_TYPES, false);
	btf->damaged |= !btf->unreadable && btf->at != btf->types_bytes;
	return btf->damaged ? BTF_DAMAGED : BTF_OK;
}

enum btf_result btf_read_rest(struct btf *btf)
{
	btf->unreadable = false;
	btf_read(btf, btf->source.bytes, btf->source.size_bytes);
	return btf_number_rest(btf);
}

enum btf_result btf_init_parts(struct btf *btf, const struct btf_source *source,
			       struct btf_want *wants, size_t n_wants)
{
	size_t most;

	*btf = (struct btf){ .source = *source, .wants = wants, .steps = BTF_MAX_STEPS };
	assert(n_wants <= UINT8_MAX);
	for (size_t i = 0; i < n_wants; i++) {
		uint8_t *first = &btf->by_letter[btf_letter(wants[i].name)];

		wants[i].found = 0;
		wants[i].next = *first;
		*first = (uint8_t)(i + 1);
		btf->n_awaited += !wants[i].late;
	}
	if (!btf_read_header(btf))
		return BTF_NONE;
	most = btf->types_bytes / BTF_TYPE_BYTES + 1;
	btf->starts = malloc((most < BTF_MAX_TYPES ? most : BTF_MAX_TYPES) * sizeof(*btf->starts));
	if (!btf->starts)
		return BTF_NO_MEMORY;
	btf_walk(btf, BTF_MAX_TYPES, source->read);
	return source->read && !btf->n_awaited ? BTF_OK : btf_number_rest(btf);
}

enum btf_result btf_init(struct btf *btf, const uint8_t *blob, size_t bytes, struct btf_want *wants,
			 size_t n_wants, struct work *work)
{
	const struct btf_source source = { .bytes = blob, .size_bytes = bytes, .work = work };

	return btf_init_parts(btf, &source, wants, n_wants);
}

void btf_deinit(struct btf *btf)
{
	free(btf->starts);
	*btf = (struct btf){ 0 };
}

/* Gets the type ID. Numbers the types up to it if they have no numbers yet. */
static bool btf_get(struct btf *btf, uint32_t id, struct btf_type *type)
{
	const uint8_t *at;
	uint64_t tail = 0;
	uint32_t info;

	if (id > btf->count && id <= BTF_MAX_TYPES)
		btf_walk(btf, id, false);
	if (!id || id > btf->count)
		return false;
	at = btf->types + btf->starts[id - 1];
	info = btf_u32(at + 4);
	if (!btf_tail_bytes(btf, info, &tail) || !btf_need(btf, at, BTF_TYPE_BYTES + tail))
		return false;
	type->kind = btf_info_kind(info);
	type->flag = info >> 31;
	type->members = btf_info_members(info);
	type->size = btf_u32(at + 8);
	type->tail = at + BTF_TYPE_BYTES;
	return true;
}

/* Follows typedefs and qualifiers to the type that they lead to. */
static bool btf_resolve(struct btf *btf, uint32_t id, struct btf_type *type)
{
	for (unsigned depth = 0; depth < BTF_MAX_DEPTH && btf_get(btf, id, type); depth++) {
		switch (type->kind) {
		case BTF_TYPEDEF:
		case BTF_VOLATILE:
		case BTF_CONST:
		case BTF_RESTRICT:
		case BTF_TYPE_TAG:
			id = type->size;
			break;
		default:
			return true;
		}
	}
	return false;
}

static bool btf_is_struct(const struct btf_type *type)
{
	return type->kind == BTF_STRUCT || type->kind == BTF_UNION;
}

bool btf_size(struct btf *btf, uint32_t id, uint64_t *bytes)
{
	uint64_t times = 1;
	struct btf_type type;

	for (unsigned depth = 0; depth < BTF_MAX_DEPTH && btf_resolve(btf, id, &type); depth++) {
		switch (type.kind) {
		case BTF_ARRAY:
			/* Both factors fit in 32 bits as long as the check below holds. */
			times *= btf_u32(type.tail + 8);
			if (times > UINT32_MAX)
				return false;
			id = btf_u32(type.tail);
			break;
		case BTF_PTR:
			*bytes = times * 8;
			return true;
		case BTF_INT:
		case BTF_STRUCT:
		case BTF_UNION:
		case BTF_ENUM:
		case BTF_FLOAT:
		case BTF_ENUM64:
			*bytes = times * type.size;
			return true;
		default:
			return false;
		}
	}
	return false;
}

/* The member at AT of the struct OUTER. */
static struct btf_member btf_read_member(struct btf *btf, const struct btf_type *outer,
					 const uint8_t *at)
{
	struct btf_member member = { .type = btf_u32(at + 4), .offset_bits = btf_u32(at + 8) };
	struct btf_type type;
	uint32_t encoding;

	if (outer->flag) {
		member.width_bits = member.offset_bits >> 24;
		member.offset_bits &= 0xffffff;
	} else if (btf_resolve(btf, member.type, &type) && type.kind == BTF_INT) {
		encoding = btf_u32(type.tail);
		if ((encoding & 0xff) < 8 * (uint64_t)type.size) {
			member.width_bits = encoding & 0xff;
			member.offset_bits += encoding >> 16 & 0xff;
		}
	}
	return member;
}

/* Looks for one name in a struct and in its anonymous members. */
static bool btf_search(struct btf *btf, uint32_t id, const char *name, size_t name_bytes,
		       unsigned depth, struct btf_member *found)
{
	struct btf_type type;

	if (depth == BTF_MAX_DEPTH) {
		btf->damaged = true;
		return false;
	}
	if (!btf_resolve(btf, id, &type) || !btf_is_struct(&type))
		return false;
	for (uint32_t i = 0; i < type.members; i++) {
		const uint8_t *at = type.tail + i * (size_t)BTF_MEMBER_BYTES;
		const char *its_name = btf_name(btf, btf_u32(at));

		if (!btf->steps) {
			btf->damaged = true;
			return false;
		}
		btf->steps--;
		if (!its_name)
			continue;
		if (!*its_name) {
			if (!btf_search(btf, btf_u32(at + 4), name, name_bytes, depth + 1, found))
				continue;
			found->offset_bits += btf_read_member(btf, &type, at).offset_bits;
			return true;
		}
		if (strncmp(its_name, name, name_bytes) == 0 && !its_name[name_bytes]) {
			*found = btf_read_member(btf, &type, at);
			return true;
		}
	}
	return false;
}

bool btf_find_member(struct btf *btf, uint32_t type, const char *path, size_t path_bytes,
		     struct btf_member *member)
{
	struct btf_member inner, whole = { .type = type };
	const char *end = path + path_bytes, *dot;

	for (unsigned depth = 0; depth < BTF_MAX_DEPTH; depth++, path = dot + 1) {
		dot = memchr(path, '.', end - path);
		if (whole.width_bits ||
		    !btf_search(btf, whole.type, path, (dot ? dot : end) - path, 0, &inner))
			return false;
		inner.offset_bits += whole.offset_bits;
		whole = inner;
		if (!dot) {
			*member = whole;
			return true;
		}
	}
	return false;
}
