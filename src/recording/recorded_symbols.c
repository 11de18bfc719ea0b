/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the symbols of an image in a recording; see format.h. */
#include "config.h"

#include "recording/format.h"

#include <string.h>

/* The parts of a SYMS payload, all in the buffer of the reader. */
struct recorded_image {
	const struct recording_symbol *symbols;
	size_t n_symbols;
	const char *module;
	struct build_id build_id;
	const char *strings;
	size_t strings_bytes;
};

/* Takes SIZE_BYTES with padding off the *LEFTP bytes at *ATP; NULL if those are too few. */
static const void *symbols_next_part(const char **atp, uint64_t *leftp, uint64_t size_bytes)
{
	const char *part = *atp;

	if (size_bytes > *leftp || recording_pad(size_bytes) > *leftp)
		return NULL;
	*atp += recording_pad(size_bytes);
	*leftp -= recording_pad(size_bytes);
	return part;
}

/* Returns false if the lengths do not fit together. */
static bool symbols_decode_parts(const char *at, uint64_t left, struct recorded_image *image)
{
	struct recording_chunk_symbols head;
	const void *build_id;

	left = recording_pad(left);
	if (left < sizeof(head))
		return false;
	memcpy(&head, at, sizeof(head));
	if (head.head_bytes < sizeof(head) || head.head_bytes % 8 || !head.module_bytes ||
	    head.module_bytes > RECORDING_MAX_MODULE_BYTES ||
	    head.build_id_bytes > BUILD_ID_MAX_BYTES || head.n_symbols > SYMTAB_MAX_SYMBOLS ||
	    !symbols_next_part(&at, &left, head.head_bytes))
		return false;
	image->n_symbols = head.n_symbols;
	image->symbols =
		symbols_next_part(&at, &left, head.n_symbols * sizeof(struct recording_symbol));
	image->module = symbols_next_part(&at, &left, head.module_bytes);
	build_id = symbols_next_part(&at, &left, head.build_id_bytes);
	image->strings_bytes = head.strings_bytes;
	image->strings = symbols_next_part(&at, &left, head.strings_bytes);
	if (!image->symbols || !image->module || !build_id || !image->strings ||
	    image->module[head.module_bytes - 1] != '\0')
		return false;
	image->build_id = (struct build_id){ .size_bytes = head.build_id_bytes,
					     .address = head.build_id_address };
	memcpy(image->build_id.bytes, build_id, head.build_id_bytes);
	return true;
}

static struct xtop_error *symbols_fill_table(const struct recorded_image *image, struct symtab *tab)
{
	const char *name = image->strings, *end = name + image->strings_bytes;
	struct xtop_error *error;

	for (size_t i = 0; i < image->n_symbols; i++) {
		const struct recording_symbol *symbol = &image->symbols[i];
		size_t name_bytes = strnlen(name, (size_t)(end - name));

		if (name + name_bytes == end || symbol->end <= symbol->start)
			return error_create("damaged: symbol %zu of %zu", i, image->n_symbols);
		error = symtab_add(
			tab, &(struct symbol_definition){ .start = symbol->start,
							  .size_bytes = symbol->end - symbol->start,
							  .limit = symbol->end,
							  .rank = SYMBOL_GLOBAL,
							  .name = name,
							  .name_bytes = name_bytes });
		if (error)
			return error;
		name += name_bytes + 1;
	}
	return symtab_seal(tab);
}

struct xtop_error *recording_add_symbols(const char *payload, uint64_t size_bytes,
					 struct symbols *symbols)
{
	struct symtab *tab = NULL;
	struct recorded_image image;
	struct xtop_error *error;

	if (!symbols_decode_parts(payload, size_bytes, &image))
		return error_create("damaged");
	error = symtab_create(&tab);
	if (!error)
		error = symbols_fill_table(&image, tab);
	if (!error)
		return symbols_add_table(symbols, tab, image.module, &image.build_id);
	symtab_destroy(tab);
	return error;
}
