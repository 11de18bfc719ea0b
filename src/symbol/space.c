/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One address space: which image lies where; see image.h. Resolver's thread.
 *
 * Mappings may overlap: a module's pages are reused, or a file is given twice. The cells say which
 * mapping answers. They are a step function over all addresses: cell i reaches from its start to
 * the start of cell i + 1, and names the latest one of the mappings that cover it, or none. A
 * look-up is one binary search, however many mappings there are and however they lie.
 *
 *   mappings, in the order added    0 |---------------|
 *                                   1       |----|
 *   cells                           | 0     | 1  | 0  | none ...
 *
 * Each mapping knows the latest one of the earlier mappings that it hides a part of. Where a
 * mapping has no name for an address, that one and those before it are asked.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "xtop/base/sorted.h"
#include "xtop/base/vector.h"
#include "xtop/symbol/image.h"

#define NO_MAPPING UINT32_MAX

struct space_mapping {
	struct mapping mapping;
	uint32_t hides; /* index of the latest mapping before this one that it overlaps, or none */
};

struct space_cell {
	uint64_t start;
	uint32_t mapping; /* index, or NO_MAPPING */
};

struct space {
	struct unwind_space unwind; /* first: space_find_code() is given a pointer to it */
	struct space_mapping *mappings;
	size_t n_mappings, mappings_capacity;
	struct space_cell *cells; /* room for 2 * mappings + 1; the first starts at 0 */
	size_t n_cells, cells_capacity;
	uint64_t generation;
};

/*
 * One counter for all spaces: a space that is created where another one was has other numbers.
 * Atomic, because each guest has a resolver.
 */
static uint64_t space_next_generation(void)
{
	static _Atomic uint64_t generation;

	return atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed) + 1;
}

static void space_empty(struct space *space)
{
	space->n_mappings = 0;
	space->cells[0] = (struct space_cell){ 0, NO_MAPPING };
	space->n_cells = 1;
	space->generation = space_next_generation();
}

/*
 * Makes room for one more mapping and for its cells. There may be few cells now, because mappings
 * cover others. When these are removed, there are up to two for each mapping, and one more.
 */
static struct xtop_error *space_reserve(struct space *space)
{
	if (space->n_mappings == SPACE_MAX_MAPPINGS)
		return error_create("more than %u mappings in an address space",
				    SPACE_MAX_MAPPINGS);
	space->generation = space_next_generation(); /* the mappings may move */
	if (!vector_reserve(space->mappings, space->mappings_capacity, space->n_mappings + 1) ||
	    !vector_reserve(space->cells, space->cells_capacity, 2 * space->n_mappings + 3))
		return error_create("out of memory for an address space");
	return NULL;
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Index of the cell that holds ADDRESS. The first cell starts at 0. */
static size_t space_cell(const struct space *space, uint64_t address)
{
	return sorted_count(space->cells, space->n_cells, start, address) - 1;
}

/* Index of the cell that starts at ADDRESS. Splits the cell there if it starts before. */
static size_t space_split_cell(struct space *space, uint64_t address)
{
	size_t i = space_cell(space, address);
	struct space_cell *cell = &space->cells[i];

	if (cell->start == address)
		return i;
	memmove(cell + 2, cell + 1, (space->n_cells - i - 1) * sizeof(*cell));
	space->n_cells++;
	cell[1] = (struct space_cell){ address, cell->mapping };
	return i + 1;
}

/*
 * Gives [start, end) to mapping INDEX. The latest mapping that it hides is on top somewhere in
 * there: all mappings that were added after that one lie elsewhere.
 */
static void space_cover(struct space *space, uint32_t index)
{
	struct space_mapping *added = &space->mappings[index];
	size_t first = space_split_cell(space, added->mapping.start);
	size_t after = space_split_cell(space, added->mapping.end);
	struct space_cell *cells = space->cells;

	added->hides = NO_MAPPING;
	for (size_t i = first; i < after; i++)
		if (cells[i].mapping != NO_MAPPING &&
		    (added->hides == NO_MAPPING || cells[i].mapping > added->hides))
			added->hides = cells[i].mapping;
	cells[first].mapping = index;
	memmove(&cells[first + 1], &cells[after], (space->n_cells - after) * sizeof(*cells));
	space->n_cells -= after - first - 1;
}

/* --- looking up ------------------------------------------------------------------------------- */

static const struct space_mapping *space_top(const struct space *space, uint64_t address)
{
	uint32_t index = space->cells[space_cell(space, address)].mapping;

	return index == NO_MAPPING ? NULL : &space->mappings[index];
}

const struct mapping *space_find(const struct space *space, uint64_t address)
{
	const struct space_mapping *top = space_top(space, address);

	return top ? &top->mapping : NULL;
}

void space_invalidate(struct space *space)
{
	space->generation = space_next_generation();
}

uint64_t space_generation(const struct space *space)
{
	return space->generation;
}

static bool mapping_find_symbol(const struct mapping *mapping, uint64_t address,
			   struct symtab_entry *entry)
{
	const struct symtab *symtab;

	if (address < mapping->start || address >= mapping->end || !mapping->image)
		return false;
	symtab = mapping->image->symtab ? mapping->image->symtab : image_symtab(mapping->image);
	if (!symtab || !symtab_find(symtab, address - mapping->bias, entry))
		return false;
	entry->start += mapping->bias;
	entry->end += mapping->bias;
	return true;
}

bool space_find_symbol(const struct space *space, uint64_t address, struct symtab_entry *entry,
		       const struct mapping **mapping)
{
	const struct space_mapping *top = space_top(space, address);

	*mapping = top ? &top->mapping : NULL;
	if (!top)
		return false;
	if (mapping_find_symbol(&top->mapping, address, entry))
		return true;
	if (top->hides == NO_MAPPING)
		return false;
	for (size_t i = top->hides + 1U; i-- > 0;)
		if (mapping_find_symbol(&space->mappings[i].mapping, address, entry)) {
			*mapping = &space->mappings[i].mapping;
			return true;
		}
	return false;
}

bool space_may_be_code(const struct space *space, uint64_t address)
{
	return !space->n_mappings || space_top(space, address);
}

bool space_has_go(const struct space *space)
{
	for (size_t i = 0; i < space->n_mappings; i++) {
		const struct image *image = space->mappings[i].mapping.image;

		if (image && image->tables.go)
			return true;
	}
	return false;
}

const struct mapping *space_find_runtime(const struct space *space)
{
	for (size_t i = 0; i < space->n_mappings; i++) {
		const struct mapping *mapping = &space->mappings[i].mapping;

		if (mapping->image && mapping->image->runtime)
			return mapping;
	}
	return NULL;
}

/* --- mappings for unwinding ------------------------------------------------------------------- */

/* The mapping at ADDRESS, and the range of addresses that have the same answer. */
static const struct mapping *space_find_range(const struct space *space, uint64_t address,
					      uint64_t *start, uint64_t *end)
{
	size_t i = space_cell(space, address);
	const struct space_cell *cell = &space->cells[i];

	*start = cell->start;
	*end = i + 1 < space->n_cells ? cell[1].start : UINT64_MAX;
	return cell->mapping == NO_MAPPING ? NULL : &space->mappings[cell->mapping].mapping;
}

/* Limits CODE to what holds for [START, END). These and ADDRESS are addresses of the image. */
static void space_limit_code(struct unwind_code *code, uint64_t address, uint64_t start,
			     uint64_t end)
{
	uint64_t in_image = address - code->bias;

	if (in_image - start < address - code->start)
		code->start = address - (in_image - start);
	if (end - in_image < code->end - address)
		code->end = address + (end - in_image);
}

static void space_find_code(const struct unwind_space *unwind, uint64_t address,
			    bool tables_needed, struct unwind_code *code)
{
	const struct space *space = (const struct space *)unwind;
	const struct mapping *mapping;
	uint64_t start, end;

	*code = (struct unwind_code){ 0 };
	mapping = space_find_range(space, address, &code->start, &code->end);
	code->possible = mapping || !space->n_mappings;
	if (!mapping)
		return;
	code->mapped = true;
	code->bias = mapping->bias;
	if (!mapping->image)
		return;
	if (tables_needed)
		image_build_tables(mapping->image);
	code->tables = &mapping->image->tables;
	if (!tables_needed || !mapping->image->parts)
		return;
	code->tables = image_tables(mapping->image, address - mapping->bias, &start, &end);
	space_limit_code(code, address, start, end);
}

static bool space_find_function(const struct unwind_space *unwind, uint64_t address,
				uint64_t *start)
{
	const struct mapping *mapping;
	struct symtab_entry entry;

	if (!space_find_symbol((const struct space *)unwind, address, &entry, &mapping))
		return false;
	*start = entry.start;
	return true;
}

const struct unwind_space *space_for_unwind(const struct space *space)
{
	return space ? &space->unwind : NULL;
}

/* --- creating --------------------------------------------------------------------------------- */

struct xtop_error *space_create(struct space **spacep)
{
	struct space *space = calloc(1, sizeof(*space));
	struct xtop_error *error;

	if (!space)
		return error_create("out of memory for an address space");
	error = space_reserve(space);
	if (error) {
		space_destroy(space);
		return error;
	}
	space->unwind = (struct unwind_space){ space_find_code, space_find_function };
	space_empty(space);
	*spacep = space;
	return NULL;
}

void space_destroy(struct space *space)
{
	if (!space)
		return;
	for (size_t i = 0; i < space->n_mappings; i++)
		image_unref(space->mappings[i].mapping.image);
	free(space->mappings);
	free(space->cells);
	free(space);
}

/* --- changing --------------------------------------------------------------------------------- */

struct xtop_error *space_add(struct space *space, const struct mapping *mapping)
{
	struct xtop_error *error = NULL;

	if (mapping->start >= mapping->end)
		return error_create("a mapping without an extent");
	error = space_reserve(space);
	if (error)
		return error;
	space->mappings[space->n_mappings].mapping = *mapping;
	if (mapping->image)
		image_ref(mapping->image);
	space_cover(space, (uint32_t)space->n_mappings++);
	space->generation = space_next_generation();
	return NULL;
}

void space_clear(struct space *space)
{
	for (size_t i = 0; i < space->n_mappings; i++)
		image_unref(space->mappings[i].mapping.image);
	space_empty(space);
}

void space_remove_if(struct space *space,
		     bool (*is_gone)(void *context, const struct mapping *mapping), void *context)
{
	size_t n = space->n_mappings;

	space_empty(space);
	for (size_t i = 0; i < n; i++) {
		struct space_mapping *kept = &space->mappings[i];

		if (is_gone(context, &kept->mapping)) {
			image_unref(kept->mapping.image);
			continue;
		}
		space->mappings[space->n_mappings] = *kept;
		space_cover(space, (uint32_t)space->n_mappings++);
	}
}
