/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of PE images (Microsoft, "PE Format"), as Windows maps them:
 *
 *   0      "MZ", and at 60 where the header is
 *   header "PE", machine, sections, time stamp | magic 0x20b, ... size of the image, ...
 *          directories: of each an address and a size. [0] exports, [3] functions (.pdata)
 *
 *   exports    at 12 the image's name, 20 how many addresses, 24 how many names; 28 addresses, 32
 *              names, 36 which of the addresses each name has, 2 bytes each. An address inside
 *              the directory is the name of another image's export
 *   functions  seh.h; they point to their UNWIND_INFO
 *
 * All places are distances from the image's start. Pages may be missing: what lies there is
 * left out. An image has no names of functions that it does not export: the symbol before such a
 * function ends where the function begins. Resolver's thread.
 */
#include "config.h"

#include "xtop/symbol/pe.h"

#include <stdlib.h>
#include <string.h>

#include "xtop/base/cleanup.h"
#include "xtop/base/limit.h"
#include "xtop/unwind/seh.h"

#define PE_HEAD_MAX_AT     4096U /* last place where the header may begin */
#define PE_MACHINE_X86_64  0x8664
#define PE_MAGIC_64        0x20b
/* offset of the optional header: after the signature and the file header */
#define PE_OPTIONAL_AT     24
#define PE_SIZE_AT         (PE_OPTIONAL_AT + 56)
#define PE_N_PARTS_AT      (PE_OPTIONAL_AT + 108)
#define PE_PARTS_AT        (PE_OPTIONAL_AT + 112)
#define PE_PART_EXPORTS    0
#define PE_PART_FUNCTIONS  3
#define PE_HEAD_BYTES      (PE_PARTS_AT + 4 * 8)

#define PE_EXPORTS_HEAD     40
#define PE_MAX_EXPORT_BYTES LIMIT(4U << 20, 64U << 10)
#define PE_MAX_NAMES        LIMIT(1U << 16, 1U << 10)
#define PE_INFO_BYTES       532 /* the largest UNWIND_INFO: head, 256 codes, what it continues in */

static uint32_t pe_u16(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t pe_u32(const uint8_t *bytes)
{
	return pe_u16(bytes) | pe_u16(bytes + 2) << 16;
}

/* --- the header ------------------------------------------------------------------------------- */

/* Reads directory NUMBER. A directory that does not lie in the image counts as none. */
static struct pe_part pe_get_part(const uint8_t *header, unsigned number, uint32_t image_bytes)
{
	const uint8_t *at = header + PE_PARTS_AT + 8 * number;
	struct pe_part part = { pe_u32(at), pe_u32(at + 4) };

	if (pe_u32(header + PE_N_PARTS_AT) <= number || part.address >= image_bytes ||
	    part.size_bytes > image_bytes - part.address)
		part.size_bytes = 0;
	return part;
}

bool pe_read_head(const struct bytes *bytes, struct pe_head *head)
{
	uint8_t first[64], header[PE_HEAD_BYTES];
	uint32_t at, size_bytes;

	if (!bytes_read(bytes, 0, first, sizeof(first)) || memcmp(first, "MZ", 2) != 0)
		return false;
	at = pe_u32(first + 60);
	if (at % 4 || at > PE_HEAD_MAX_AT || !bytes_read(bytes, at, header, sizeof(header)) ||
	    memcmp(header, "PE\0", 4) != 0 || pe_u16(header + 4) != PE_MACHINE_X86_64 ||
	    pe_u16(header + PE_OPTIONAL_AT) != PE_MAGIC_64)
		return false;
	size_bytes = pe_u32(header + PE_SIZE_AT);
	if (size_bytes < at + PE_HEAD_BYTES || size_bytes > PE_MAX_IMAGE_BYTES)
		return false;
	*head = (struct pe_head){
		.size_bytes = size_bytes,
		.time_stamp = pe_u32(header + 8),
		.exports = pe_get_part(header, PE_PART_EXPORTS, size_bytes),
		.functions = pe_get_part(header, PE_PART_FUNCTIONS, size_bytes),
	};
	return true;
}

/* --- exports ---------------------------------------------------------------------------------- */

/*
 * Reads what it can of SIZE_BYTES at ADDRESS, page by page; the rest are zeros. NULL: no
 * memory.
 */
static uint8_t *pe_read(const struct bytes *bytes, uint32_t address, size_t size_bytes)
{
	/* one byte more, so that a name at the end has its NUL */
	uint8_t *copy = calloc(1, size_bytes + 1);
	size_t step;

	if (!copy)
		return NULL;
	for (size_t at = 0; at < size_bytes; at += step) {
		uint8_t page[4096];

		step = 4096 - (address + at) % 4096;
		if (step > size_bytes - at)
			step = size_bytes - at;
		if (bytes->read(bytes->context, address + at, page, step) == step)
			memcpy(copy + at, page, step);
	}
	return copy;
}

struct pe_exports {
	const struct pe_head *head;
	const uint8_t *bytes; /* the directory, and one NUL after it */
	uint32_t n_addresses, n_names, addresses, names, numbers;
};

/* The bytes at ADDRESS of the image, if the directory has N of them. */
static const uint8_t *exports_at(const struct pe_exports *exports, uint32_t address, uint64_t n)
{
	const struct pe_part *part = &exports->head->exports;

	if (address < part->address || address - part->address > part->size_bytes ||
	    n > part->size_bytes - (address - part->address))
		return NULL;
	return exports->bytes + (address - part->address);
}

static bool exports_init(struct pe_exports *exports, const struct pe_head *head,
			 const uint8_t *bytes)
{
	*exports = (struct pe_exports){ .head = head, .bytes = bytes };
	exports->n_addresses = pe_u32(bytes + 20);
	exports->n_names = pe_u32(bytes + 24);
	exports->addresses = pe_u32(bytes + 28);
	exports->names = pe_u32(bytes + 32);
	exports->numbers = pe_u32(bytes + 36);
	if (exports->n_names > PE_MAX_NAMES)
		exports->n_names = PE_MAX_NAMES;
	return exports_at(exports, exports->addresses, 4 * (uint64_t)exports->n_addresses) &&
	       exports_at(exports, exports->names, 4 * (uint64_t)exports->n_names) &&
	       exports_at(exports, exports->numbers, 2 * (uint64_t)exports->n_names);
}

static bool pe_has_exports(const struct pe_head *head)
{
	return head->exports.size_bytes >= PE_EXPORTS_HEAD &&
	       head->exports.size_bytes <= PE_MAX_EXPORT_BYTES;
}

bool pe_read_name(const struct bytes *bytes, const struct pe_head *head, char name[PE_NAME_BYTES])
{
	uint8_t exports[PE_EXPORTS_HEAD];
	uint32_t at;
	size_t n;

	if (!pe_has_exports(head) ||
	    !bytes_read(bytes, head->exports.address, exports, sizeof(exports)))
		return false;
	at = pe_u32(exports + 12);
	if (!at || at >= head->size_bytes)
		return false;
	n = bytes->read(bytes->context, at, name, PE_NAME_BYTES);
	return n && memchr(name, '\0', n) && name[0];
}

/* --- functions -------------------------------------------------------------------------------- */

/*
 * Reads the functions: they ascend, none is empty, all are inside the image. Functions after damage
 * are left out.
 */
static size_t pe_get_functions(const uint8_t *bytes, size_t n, const struct pe_head *head,
			       struct seh_function *functions)
{
	uint32_t last = 0;
	size_t i;

	for (i = 0; i < n; i++, bytes += 12) {
		struct seh_function function = { pe_u32(bytes), pe_u32(bytes + 4),
						 pe_u32(bytes + 8) };

		if (function.start < last || function.end <= function.start ||
		    function.end > head->size_bytes || function.info >= head->size_bytes)
			break;
		last = function.end;
		functions[i] = function;
	}
	return i;
}

/* Copies all UNWIND_INFO. False: out of memory, or it has more than a limit. */
static bool pe_read_infos(const struct bytes *bytes, const struct pe_head *head,
			  struct seh_tables *tables)
{
	uint32_t first = UINT32_MAX, last = 0;

	for (size_t i = 0; i < tables->n; i++) {
		uint32_t info = tables->functions[i].info;

		first = info < first ? info : first;
		last = info > last ? info : last;
	}
	if (!tables->n || last - first > SEH_MAX_INFO_BYTES - PE_INFO_BYTES)
		return false;
	tables->infos_start = first;
	tables->infos_bytes = last - first + PE_INFO_BYTES;
	if (tables->infos_bytes > head->size_bytes - first)
		tables->infos_bytes = head->size_bytes - first;
	tables->infos = pe_read(bytes, first, tables->infos_bytes);
	return tables->infos;
}

static void pe_read_functions(const struct bytes *bytes, const struct pe_head *head,
			      struct seh_tables *tables)
{
	size_t n = head->functions.size_bytes / 12;
	_cleanup_free_ uint8_t *copy = NULL;

	if (!n || n > SEH_MAX_FUNCTIONS)
		return;
	copy = pe_read(bytes, head->functions.address, 12 * n);
	tables->functions = calloc(n, sizeof(*tables->functions));
	if (copy && tables->functions)
		tables->n = pe_get_functions(copy, n, head, tables->functions);
	if (!pe_read_infos(bytes, head, tables))
		tables->n = 0;
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* Bytes from ADDRESS to the end of the function that has it; 0: not known. */
static uint32_t pe_function_bytes(const struct seh_tables *tables, uint32_t address)
{
	const struct seh_function *function = seh_find(tables, address);

	return function ? function->end - address : 0;
}

static struct xtop_error *pe_add_export(const struct pe_exports *exports, uint32_t index,
					const struct seh_tables *tables, struct symtab *tab)
{
	const uint8_t *name_at = exports_at(exports, exports->names + 4 * index, 4);
	const uint8_t *number = exports_at(exports, exports->numbers + 2 * index, 2);
	const uint8_t *at, *name;
	uint32_t address;

	if (pe_u16(number) >= exports->n_addresses)
		return NULL;
	at = exports_at(exports, exports->addresses + 4 * pe_u16(number), 4);
	name = exports_at(exports, pe_u32(name_at), 1);
	address = pe_u32(at);
	if (!name || !address || address >= exports->head->size_bytes ||
	    exports_at(exports, address, 1))
		return NULL;
	return symtab_add(
		tab, &(struct symbol_definition){
			     .start = address,
			     .size_bytes = pe_function_bytes(tables, address),
			     .limit = exports->head->size_bytes,
			     .rank = SYMBOL_GLOBAL,
			     .name = (const char *)name,
			     .name_bytes = strnlen((const char *)name, SYMTAB_MAX_NAME_BYTES) });
}

static struct xtop_error *pe_add_exports(const struct bytes *bytes, const struct pe_head *head,
					 const struct seh_tables *tables, struct symtab *tab)
{
	_cleanup_free_ uint8_t *copy = NULL;
	struct xtop_error *error = NULL;
	struct pe_exports exports;

	if (!pe_has_exports(head))
		return NULL;
	copy = pe_read(bytes, head->exports.address, head->exports.size_bytes);
	if (!copy)
		return error_create("out of memory for exported names");
	if (!exports_init(&exports, head, copy))
		return NULL;
	for (uint32_t i = 0; i < exports.n_names && !error; i++)
		error = pe_add_export(&exports, i, tables, tab);
	return error;
}

static struct xtop_error *pe_read_symbols(const struct bytes *bytes, const struct pe_head *head,
					  const struct seh_tables *tables, struct work *work,
					  struct symtab **tabp)
{
	struct symtab *tab = NULL;
	struct xtop_error *error = symtab_create(&tab);

	if (!error)
		symtab_set_work(tab, work);
	if (!error)
		error = pe_add_exports(bytes, head, tables, tab);
	for (size_t i = 0; i < tables->n && !error; i++)
		error = symtab_add_bound(tab, tables->functions[i].start);
	if (!error)
		error = symtab_seal(tab);
	if (error)
		symtab_destroy(tab);
	else
		*tabp = tab;
	return error;
}

struct xtop_error *image_read_pe(struct image *image, const struct bytes *bytes,
				 const struct pe_head *head, const struct code_source *source)
{
	struct seh_tables tables = { .source = *source };
	struct xtop_error *error, *failed;

	tables.source.work = image->work;
	pe_read_functions(bytes, head, &tables);
	error = pe_read_symbols(bytes, head, &tables, image->work, &image->symtab);
	failed = unwind_tables_build_seh(&image->tables, &tables);
	if (!error)
		return failed;
	error_destroy(failed);
	return error;
}
