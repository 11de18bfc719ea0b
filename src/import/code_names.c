/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names addresses of profiles out of the files of -k; see code_names.h. */
#include "config.h"

#include "xtop/import/code_names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xtop/base/vector.h"
#include "xtop/elf/loads.h"
#include "xtop/symbol/image.h"

struct code_names {
	struct symbols *symbols;
	struct loads *loads; /* one for each image; without segments if they are not known */
	size_t n, capacity;
};

struct xtop_error *code_names_create(struct code_names **namesp)
{
	struct code_names *names = calloc(1, sizeof(*names));
	struct xtop_error *error;

	if (!names)
		return error_create("out of memory");
	error = symbols_create(&names->symbols);
	if (error)
		free(names);
	else
		*namesp = names;
	return error;
}

void code_names_destroy(struct code_names *names)
{
	if (!names)
		return;
	symbols_destroy(names->symbols);
	free(names->loads);
	free(names);
}

static size_t code_names_read_file(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	ssize_t got = pread(*(const int *)context, buffer, size_bytes, (off_t)offset);

	return got < 0 ? 0 : (size_t)got;
}

struct xtop_error *code_names_add_file(struct code_names *names, const struct host_files *files,
				       const char *path)
{
	struct xtop_error *error = symbols_add_file(names->symbols, files, path);
	size_t n = symbols_count(names->symbols);

	if (!error && !vector_reserve(names->loads, names->capacity, n))
		error = error_create("out of memory");
	for (; !error && names->n < n; names->n++) {
		struct image *image = symbols_image(names->symbols, names->n);
		const struct bytes bytes = { .read = code_names_read_file,
					     .context = &image->tables_fd,
					     .size_bytes = UINT64_MAX };

		names->loads[names->n] = (struct loads){ .n = 0 };
		if (image->tables_fd >= 0)
			loads_read(&bytes, &names->loads[names->n]);
	}
	return error;
}

const char *code_names_base(const char *file)
{
	bool windows = file[0] && (file[1] == ':' || !strncmp(file, "\\\\", 2));
	const char *name = file;

	for (const char *at = file; *at; at++)
		if (*at == '/' || (windows && *at == '\\'))
			name = at + 1;
	return name;
}

/* Whether IMAGE has the name of FILE. A debug file may have ".debug" after the name. */
static bool code_names_has_name(const struct image *image, const char *file)
{
	const char *name = code_names_base(file);
	size_t n = strlen(name);

	return !strncmp(image->name, name, n) &&
	       (!image->name[n] || !strcmp(image->name + n, ".debug"));
}

static bool code_names_is_file(const struct image *image, const struct code_place *place)
{
	char build[BUILD_ID_TEXT_BYTES];

	build_id_to_text(&image->build_id, build);
	if (*build && place->build && *place->build)
		return !strcmp(build, place->build);
	if (place->is_kernel && !strcmp(image->name, "[kernel]"))
		return true;
	return place->file && code_names_has_name(image, place->file);
}

/* The address that PLACE has in the file with LOADS. */
static uint64_t code_names_to_file(const struct loads *loads, const struct code_place *place)
{
	uint64_t bias;

	if (!place->is_mapped || place->is_kernel || !loads->n)
		return place->address;
	if (loads_bias(loads, place->start, place->offset, &bias))
		return place->address - bias;
	/* A debug file has no bytes of its segments, and may not tell where they were. */
	return loads->loads[0].address ? place->address
				       : place->address - place->start + place->offset;
}

const char *code_names_find(const struct code_names *names, const struct code_place *place)
{
	const struct mapping *mapping;
	struct symtab_entry entry;

	for (size_t i = 0; i < names->n; i++) {
		struct image *image = symbols_image(names->symbols, i);

		if (code_names_is_file(image, place) && image_symtab(image) &&
		    symtab_find(image_symtab(image), code_names_to_file(&names->loads[i], place),
				&entry))
			return entry.name;
	}
	/* The kernel's modules, and what has no file in the profile, are found by address alone. */
	if ((place->is_kernel || !place->file) &&
	    space_find_symbol(symbols_space(names->symbols), place->address, &entry, &mapping))
		return entry.name;
	return NULL;
}
