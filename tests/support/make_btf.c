/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes BTF. Types and strings are two growing buffers that are joined at the end. The text form is
 * parsed by recursive descent. The members of a struct are parsed before the struct is written,
 * because types that are nested in it have to be types of their own.
 */
#include "config.h"

#include "make_btf.h"

#include <ctype.h>
#include <endian.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAKE_MAX_TYPES   4096
#define MAKE_MAX_BYTES   (1U << 20)
#define MAKE_MAX_MEMBERS 64

struct make_btf {
	uint8_t types[MAKE_MAX_BYTES], strings[MAKE_MAX_BYTES];
	uint32_t types_bytes, strings_bytes, count;
	char names[MAKE_MAX_TYPES][32];
};

struct make_member {
	char name[64];
	uint32_t type, offset_bits, width_bits;
};

static void make_fail(const char *what, const char *where)
{
	printf("Bail out! make_btf: %s at \"%.40s\"\n", what, where);
	exit(99);
}

void make_btf_put(uint8_t *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof(value));
}

struct make_btf *make_btf_create(void)
{
	struct make_btf *make = calloc(1, sizeof(*make));

	if (!make)
		make_fail("out of memory", "");
	make->strings_bytes = 1;
	make_btf_int(make, "u8", 1, 8, 0);
	make_btf_int(make, "u16", 2, 16, 0);
	make_btf_int(make, "u32", 4, 32, 0);
	make_btf_int(make, "u64", 8, 64, 0);
	strcpy(make->names[make_btf_type(make, NULL, MAKE_PTR, 0, 0)], "ptr");
	return make;
}

void make_btf_destroy(struct make_btf *make)
{
	free(make);
}

uint32_t make_btf_name(struct make_btf *make, const char *name)
{
	uint32_t offset = make->strings_bytes;

	if (!name || !*name)
		return 0;
	if (offset + strlen(name) + 1 > MAKE_MAX_BYTES)
		make_fail("too many names", name);
	strcpy((char *)make->strings + offset, name);
	make->strings_bytes += strlen(name) + 1;
	return offset;
}

static void make_word(struct make_btf *make, uint32_t word)
{
	if (make->types_bytes + 4 > MAKE_MAX_BYTES)
		make_fail("too many types", "");
	make_btf_put(make->types + make->types_bytes, word);
	make->types_bytes += 4;
}

void make_btf_words(struct make_btf *make, unsigned n, ...)
{
	va_list words;

	va_start(words, n);
	while (n--)
		make_word(make, va_arg(words, uint32_t));
	va_end(words);
}

uint32_t make_btf_type(struct make_btf *make, const char *name, unsigned kind, unsigned members,
		       uint32_t size)
{
	if (++make->count == MAKE_MAX_TYPES)
		make_fail("too many types", name ? name : "");
	if (name)
		snprintf(make->names[make->count], sizeof(make->names[0]), "%s", name);
	make_word(make, make_btf_name(make, name));
	make_word(make, (uint32_t)kind << 24 | members);
	make_word(make, size);
	return make->count;
}

uint32_t make_btf_int(struct make_btf *make, const char *name, uint32_t bytes, unsigned bits,
		      unsigned offset_bits)
{
	uint32_t id = make_btf_type(make, name, MAKE_INT, 0, bytes);

	make_word(make, offset_bits << 16 | bits);
	return id;
}

uint32_t make_btf_array(struct make_btf *make, uint32_t element, uint32_t count)
{
	uint32_t id = make_btf_type(make, NULL, MAKE_ARRAY, 0, 0);

	make_btf_words(make, 3, element, (uint32_t)3, count);
	return id;
}

void make_btf_every_kind(struct make_btf *make)
{
	uint32_t none = 0, one = 1;

	make_btf_int(make, "every_int", 4, 32, 0);
	make_btf_type(make, NULL, MAKE_PTR, 0, 1);
	make_btf_array(make, 1, 3);
	make_btf_type(make, "every_struct", MAKE_STRUCT, 1, 4);
	make_btf_words(make, 3, make_btf_name(make, "member"), (uint32_t)3, none);
	make_btf_type(make, "every_union", MAKE_UNION, 1, 4);
	make_btf_words(make, 3, make_btf_name(make, "member"), (uint32_t)3, none);
	make_btf_type(make, "every_enum", MAKE_ENUM, 2, 4);
	make_btf_words(make, 4, none, none, none, one);
	make_btf_type(make, "every_fwd", MAKE_FWD, 0, 0);
	make_btf_type(make, "every_typedef", MAKE_TYPEDEF, 0, 1);
	make_btf_type(make, NULL, MAKE_VOLATILE, 0, 1);
	make_btf_type(make, NULL, MAKE_CONST, 0, 1);
	make_btf_type(make, NULL, MAKE_RESTRICT, 0, 2);
	make_btf_type(make, NULL, MAKE_FUNC_PROTO, 2, 1);
	make_btf_words(make, 4, none, one, none, one);
	make_btf_type(make, "every_func", MAKE_FUNC, 1, make->count);
	make_btf_type(make, "every_var", MAKE_VAR, 0, 1);
	make_btf_words(make, 1, one);
	make_btf_type(make, "every_datasec", MAKE_DATASEC, 1, 8);
	make_btf_words(make, 3, make->count - 1, none, (uint32_t)8);
	make_btf_type(make, "every_float", MAKE_FLOAT, 0, 8);
	make_btf_type(make, "every_decl_tag", MAKE_DECL_TAG, 0, 1);
	make_btf_words(make, 1, ~none);
	make_btf_type(make, "every_type_tag", MAKE_TYPE_TAG, 0, 1);
	make_btf_type(make, "every_enum64", MAKE_ENUM64, 1, 8);
	make_btf_words(make, 3, none, one, one);
}

uint32_t make_btf_find(struct make_btf *make, const char *name)
{
	for (uint32_t id = make->count; id; id--)
		if (strcmp(make->names[id], name) == 0)
			return id;
	return 0;
}

/* Parsers of the text form. CURSOR always stands at the next word. */

static void make_blanks(const char **cursor)
{
	while (isspace((unsigned char)**cursor))
		++*cursor;
}

static bool make_take(const char **cursor, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*cursor, word, n) != 0 ||
	    (isalpha((unsigned char)*word) && !isspace((*cursor)[n])))
		return false;
	*cursor += n;
	make_blanks(cursor);
	return true;
}

static void make_need(const char **cursor, const char *word)
{
	if (!make_take(cursor, word))
		make_fail(word, *cursor);
}

static bool make_word_text(const char **cursor, char *text, size_t capacity)
{
	size_t n = 0;

	while ((isalnum((unsigned char)(*cursor)[n]) || (*cursor)[n] == '_') && n + 1 < capacity)
		n++;
	memcpy(text, *cursor, n);
	text[n] = '\0';
	*cursor += n;
	make_blanks(cursor);
	return n > 0;
}

static uint32_t make_number(const char **cursor)
{
	char *end;
	uint32_t value = strtoul(*cursor, &end, 0);

	if (end == *cursor)
		make_fail("a number is missing", *cursor);
	*cursor = end;
	make_blanks(cursor);
	return value;
}

static uint32_t make_struct_text(struct make_btf *make, const char **cursor, unsigned kind);

static uint32_t make_type_text(struct make_btf *make, const char **cursor)
{
	char name[64];
	uint32_t id;

	if (make_take(cursor, "const"))
		return make_btf_type(make, NULL, MAKE_CONST, 0, make_type_text(make, cursor));
	if (make_take(cursor, "struct"))
		return make_struct_text(make, cursor, MAKE_STRUCT);
	if (make_take(cursor, "union"))
		return make_struct_text(make, cursor, MAKE_UNION);
	if (!make_word_text(cursor, name, sizeof(name)))
		make_fail("a type is missing", *cursor);
	id = make_btf_find(make, name);
	if (!id)
		make_fail("no such type", name);
	return id;
}

/* TYPE [NAME] [ '[' N ']' ] @BYTE[.BIT:WIDTH] ; */
static void make_member_text(struct make_btf *make, const char **cursor, struct make_member *member)
{
	*member = (struct make_member){ .type = make_type_text(make, cursor) };
	make_word_text(cursor, member->name, sizeof(member->name));
	if (make_take(cursor, "[")) {
		member->type = make_btf_array(make, member->type, make_number(cursor));
		make_need(cursor, "]");
	}
	make_need(cursor, "@");
	member->offset_bits = 8 * make_number(cursor);
	if (make_take(cursor, ".")) {
		member->offset_bits += make_number(cursor);
		make_need(cursor, ":");
		member->width_bits = make_number(cursor);
	}
	make_need(cursor, ";");
}

/* [NAME] SIZE { MEMBER... } */
static uint32_t make_struct_text(struct make_btf *make, const char **cursor, unsigned kind)
{
	struct make_member members[MAKE_MAX_MEMBERS];
	char name[64] = "";
	unsigned n = 0;
	uint32_t size, id, flag = 0;

	if (!isdigit((unsigned char)**cursor))
		make_word_text(cursor, name, sizeof(name));
	size = make_number(cursor);
	make_need(cursor, "{");
	while (!make_take(cursor, "}")) {
		if (n == MAKE_MAX_MEMBERS)
			make_fail("too many members", *cursor);
		make_member_text(make, cursor, &members[n]);
		flag |= members[n++].width_bits ? 0x80 : 0;
	}
	id = make_btf_type(make, name, kind | flag, n, size);
	for (unsigned i = 0; i < n; i++)
		make_btf_words(make, 3, make_btf_name(make, members[i].name), members[i].type,
			       members[i].width_bits << 24 | members[i].offset_bits);
	return id;
}

void make_btf_text(struct make_btf *make, const char *text)
{
	make_blanks(&text);
	while (*text) {
		make_type_text(make, &text);
		make_take(&text, ";");
	}
}

uint8_t *make_btf_blob(struct make_btf *make, size_t *bytes)
{
	uint8_t *blob;

	*bytes = 24 + make->types_bytes + make->strings_bytes;
	blob = malloc(*bytes);
	if (!blob)
		make_fail("out of memory", "");
	memcpy(blob, "\x9f\xeb\x01\x00", 4);
	make_btf_put(blob + 4, 24);
	make_btf_put(blob + 8, 0);
	make_btf_put(blob + 12, make->types_bytes);
	make_btf_put(blob + 16, make->types_bytes);
	make_btf_put(blob + 20, make->strings_bytes);
	memcpy(blob + 24, make->types, make->types_bytes);
	memcpy(blob + 24 + make->types_bytes, make->strings, make->strings_bytes);
	return blob;
}
