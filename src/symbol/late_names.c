/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that are read when they are needed; see late_names.h. A name that was read is kept.
 * Resolver's thread.
 */
#include "config.h"

#include "symbol/late_names.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/alias.h"
#include "xtop/base/limit.h"
#include "xtop/base/vector.h"

#define LATE_FIRST_BYTES 256 /* bytes of a name that are read at first; few names are longer */
#define LATE_MAX_ALIASES LIMIT(4096, 8) /* names of one address that are compared */

struct name_place {
	uint32_t at;  /* offset in the file */
	uint8_t rank; /* enum symbol_rank */
	bool sized, is_first;
};

struct late_names {
	struct bytes bytes;
	struct name_place *names;
	size_t n, capacity;
	char **texts; /* texts[i]: the best name from name i on, or NULL */
	size_t texts_bytes;
	bool incomplete;
};

struct late_names *late_names_create(const struct bytes *bytes)
{
	struct late_names *names = calloc(1, sizeof(*names));

	if (names)
		names->bytes = *bytes;
	return names;
}

void late_names_destroy(struct late_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; names->texts && i < names->n; i++)
		free(names->texts[i]);
	free(names->texts);
	free(names->names);
	free(names);
}

uint32_t late_names_add(struct late_names *names, uint32_t at, enum symbol_rank rank, bool sized,
			bool is_first)
{
	if (!vector_reserve(names->names, names->capacity, names->n + 1))
		return UINT32_MAX;
	names->names[names->n] = (struct name_place){ at, (uint8_t)rank, sized, is_first };
	return (uint32_t)names->n++;
}

/* Reads a name into TEXT, which has SYMTAB_MAX_NAME_BYTES + 1 bytes. False: it is not there now. */
static bool late_read(struct late_names *names, uint32_t at, char *text)
{
	size_t got = names->bytes.read(names->bytes.context, at, text, LATE_FIRST_BYTES), n;

	if (got == LATE_FIRST_BYTES && !memchr(text, '\0', got))
		got = names->bytes.read(names->bytes.context, at, text, SYMTAB_MAX_NAME_BYTES);
	n = strnlen(text, got);
	text[symbol_name_bytes(text, n)] = '\0';
	return n < got || got == SYMTAB_MAX_NAME_BYTES; /* a longer name is cut */
}

static char *late_read_best(struct late_names *names, uint32_t number)
{
	char texts[2][SYMTAB_MAX_NAME_BYTES + sizeof(SYMBOL_STUB_SUFFIX)];
	struct symbol_alias best = { .name = NULL };
	unsigned next = 0;

	for (size_t i = number; i < names->n && i < (size_t)number + LATE_MAX_ALIASES; i++) {
		const struct name_place *name = &names->names[i];
		struct symbol_alias alias = { texts[next], name->sized,
					      (enum symbol_rank)name->rank };

		if (i > number && name->is_first)
			break;
		if (!late_read(names, name->at, texts[next])) {
			names->incomplete = true;
			continue;
		}
		if (!texts[next][0] || (best.name && !symbol_alias_better(&alias, &best)))
			continue;
		best = alias;
		next = !next;
	}
	if (best.name && best.rank == SYMBOL_STUB)
		strcpy(texts[!next] + strlen(best.name), SYMBOL_STUB_SUFFIX);
	return best.name ? strdup(best.name) : NULL;
}

const char *late_names_find(struct late_names *names, uint32_t number)
{
	if (!names->texts)
		names->texts = calloc(names->n, sizeof(*names->texts));
	if (!names->texts)
		return NULL;
	if (!names->texts[number]) {
		names->texts[number] = late_read_best(names, number);
		if (names->texts[number])
			names->texts_bytes += strlen(names->texts[number]) + 1;
	}
	return names->texts[number];
}

bool late_names_are_incomplete(const struct late_names *names)
{
	return names->incomplete;
}

size_t late_names_memory_bytes(const struct late_names *names)
{
	return sizeof(*names) + names->capacity * sizeof(*names->names) + names->texts_bytes +
	       (names->texts ? names->n * sizeof(*names->texts) : 0);
}
