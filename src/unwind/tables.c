/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the unwind tables of one image for all mechanisms; see unwind.h. Resolver's thread. */
#include "config.h"

#include <stdlib.h>

#include "unwind/links_arm32.h"
#include "unwind/mechanisms.h"
#include "xtop/base/sorted.h"

/*
 * Assembly between compiled functions is short. A longer gap is a library that was linked without
 * its FDEs: Debian's static busybox has 622,945 bytes of libc in one gap.
 */
#define TABLES_MAX_GAP_BYTES 4096

void unwind_tables_deinit(struct unwind_tables *tables)
{
#define DESTROY(name, x86, arm64, ways, by) name##_destroy(tables->name);
	UNWIND_MECHANISMS(DESTROY)
#undef DESTROY
	links_destroy(tables->links);
	*tables = (struct unwind_tables){ 0 };
}

size_t unwind_tables_memory_bytes(const struct unwind_tables *tables)
{
	size_t bytes = links_memory_bytes(tables->links);

#define ADD_BYTES(name, x86, arm64, ways, by)                                             \
	bytes += tables->name ? name##_memory_bytes(tables->name) : 0;
	UNWIND_MECHANISMS(ADD_BYTES)
#undef ADD_BYTES
	return bytes;
}

bool unwind_tables_find_function(const struct unwind_tables *tables, uint64_t address,
				 uint64_t *start, uint64_t *end)
{
	if (tables->cfi && cfi_find_function(tables->cfi, address, start, end))
		return true;
	return tables->computed &&
	       computed_find_function(tables->computed, address, start, end);
}

bool unwind_tables_guess_function(const struct unwind_tables *tables, uint64_t address,
				  uint64_t *start, uint64_t *end)
{
	return unwind_tables_find_function(tables, address, start, end) ||
	       (tables->computed && computed_guess_function(tables->computed, address, start, end));
}

bool unwind_tables_find_stub(const struct unwind_tables *tables, uint64_t address,
			     uint64_t *start, uint64_t *end)
{
	return tables->stubs && stubs_find_function(tables->stubs, address, start, end);
}

bool unwind_tables_find_gap(const struct unwind_tables *tables, uint64_t init, uint64_t address,
			    uint64_t *start, uint64_t *end)
{
	const struct cfi *cfi = tables->cfi;
	uint64_t gap_start, gap_end;
	size_t n = 0;

	if (!cfi)
		return false;
	if (address >= cfi->base)
		n = sorted_count(cfi->functions, cfi->n_functions, start, address - cfi->base);
	gap_start = n ? cfi->base + cfi->functions[n - 1].end : init;
	if (n == cfi->n_functions || !gap_start || address < gap_start)
		return false;
	gap_end = cfi->base + cfi->functions[n].start;
	if (gap_end - gap_start > TABLES_MAX_GAP_BYTES)
		return false;
	*start = gap_start;
	*end = gap_end;
	return true;
}

struct xtop_error *unwind_tables_build_cfi(struct unwind_tables *tables,
					   const struct cfi_sections *sections)
{
	struct dwarf *dwarf = NULL;
	struct cfi *cfi = NULL;
	struct xtop_error *error = cfi_compile(sections, &cfi);

	if (!error && cfi)
		error = dwarf_create(sections, cfi, &dwarf);
	if (error) {
		cfi_destroy(cfi);
		return error;
	}
	cfi_destroy(tables->cfi);
	dwarf_destroy(tables->dwarf);
	tables->cfi = cfi;
	tables->dwarf = dwarf;
	return NULL;
}

struct xtop_error *unwind_tables_build_go(struct unwind_tables *tables,
					  const struct go_table *table)
{
	struct go *go;
	struct xtop_error *error = go_compile(table, &go);

	if (error)
		return error;
	go_destroy(tables->go);
	tables->go = go;
	return NULL;
}

struct xtop_error *unwind_tables_build_exidx(struct unwind_tables *tables,
					     const struct exidx_sections *sections)
{
	struct exidx *exidx;
	struct xtop_error *error = exidx_compile(sections, &exidx);

	if (error)
		return error;
	exidx_destroy(tables->exidx);
	tables->exidx = exidx;
	if (exidx)
		exidx_set_links(exidx, tables->links);
	return NULL;
}

struct xtop_error *unwind_tables_build_seh(struct unwind_tables *tables,
					   const struct seh_tables *seh_tables)
{
	struct seh *seh;
	struct xtop_error *error = seh_create(seh_tables, &seh);

	if (error)
		return error;
	seh_destroy(tables->seh);
	tables->seh = seh;
	return NULL;
}

struct xtop_error *unwind_tables_build_stubs(struct unwind_tables *tables, uint64_t page)
{
	struct stubs *stubs = malloc(sizeof(*stubs));

	if (!stubs)
		return error_create("out of memory for unwinding");
	stubs->page = page;
	stubs_destroy(tables->stubs);
	tables->stubs = stubs;
	return NULL;
}

void unwind_tables_build_first_code(struct unwind_tables *tables, const struct code_source *source)
{
	first_code_destroy(tables->first_code);
	tables->first_code = first_code_create(source);
}

static struct xtop_error *tables_close_source(const struct code_source *source,
					      struct xtop_error *error)
{
	if (source->close)
		source->close(source->context);
	return error;
}

struct xtop_error *unwind_tables_build_links(struct unwind_tables *tables,
					     const struct code_source *source)
{
	struct links *links;
	struct xtop_error *error = links_create(source, &links);

	if (error)
		return tables_close_source(source, error);
	links_destroy(tables->links);
	tables->links = links;
	if (tables->exidx)
		exidx_set_links(tables->exidx, links);
	return NULL;
}

struct xtop_error *unwind_tables_build_computed(struct unwind_tables *tables,
						const struct code_source *source, uint64_t start,
						uint64_t end)
{
	struct computed *computed;
	struct xtop_error *error = computed_create(source, start, end, &computed);

	if (error)
		return tables_close_source(source, error);
	computed_destroy(tables->computed);
	tables->computed = computed;
	return NULL;
}
