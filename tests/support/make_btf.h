/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes valid BTF blobs for tests; a test may then break the bytes. A mistake in the text that is
 * given ends the program, since a test of nonsense proves nothing.
 */
#ifndef TESTS_MAKE_BTF_H
#define TESTS_MAKE_BTF_H

#include <stddef.h>
#include <stdint.h>

enum make_btf_kind {
	MAKE_INT = 1,
	MAKE_PTR,
	MAKE_ARRAY,
	MAKE_STRUCT,
	MAKE_UNION,
	MAKE_ENUM,
	MAKE_FWD,
	MAKE_TYPEDEF,
	MAKE_VOLATILE,
	MAKE_CONST,
	MAKE_RESTRICT,
	MAKE_FUNC,
	MAKE_FUNC_PROTO,
	MAKE_VAR,
	MAKE_DATASEC,
	MAKE_FLOAT,
	MAKE_DECL_TAG,
	MAKE_TYPE_TAG,
	MAKE_ENUM64,
};

struct make_btf;

struct make_btf *make_btf_create(void);
void make_btf_destroy(struct make_btf *make);

/* Offset of NAME in the strings; NULL is the empty name. */
uint32_t make_btf_name(struct make_btf *make, const char *name);
/* The first 12 bytes of a type of any kind. This and the next functions return its number. */
uint32_t make_btf_type(struct make_btf *make, const char *name, unsigned kind, unsigned members,
		       uint32_t size);
/* N words that follow the 12 bytes. */
void make_btf_words(struct make_btf *make, unsigned n, ...);
uint32_t make_btf_int(struct make_btf *make, const char *name, uint32_t bytes, unsigned bits,
		      unsigned offset_bits);
uint32_t make_btf_array(struct make_btf *make, uint32_t element, uint32_t count);
/* One type of every kind. */
void make_btf_every_kind(struct make_btf *make);

/*
 * Structs and unions as text: offsets and sizes in bytes, widths in bits. The name of a struct that
 * was made before is a type; so are u8, u16, u32, u64 and ptr.
 *
 *	struct qstr 16 { union 8 { struct 8 { u32 hash @0; u32 len @4; } @0; u64 hash_len @0; } @0;
 *			 ptr name @8; }
 *	struct orc_entry 6 { u16 sp_offset @0; u32 sp_reg @4.0:4; u8 pad[3] @3; const qstr q @8; }
 */
void make_btf_text(struct make_btf *make, const char *text);
uint32_t make_btf_find(struct make_btf *make, const char *name); /* 0: there is none */

/* The blob, to be freed by free(). Its allocation has exactly its size. */
uint8_t *make_btf_blob(struct make_btf *make, size_t *bytes);

void make_btf_put(uint8_t *at, uint32_t value);

#endif
