/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of one image. Readers add symbols in any order; symtab_seal() sorts them into the
 * compact form that look-ups read. One thread builds a table. A sealed table never changes, so any
 * thread may read it; only if its names are read late, look-ups are the builder's thread's alone.
 *
 * A sealed table is three arrays that share an index. They ascend by start, with one entry for each
 * start:
 *
 *   starts   u32 offsets from the first start; u64 addresses when the table spans more than 4 GiB
 *   sizes    u32
 *   names    u32 offsets into one arena of NUL-terminated names, in the order of the entries
 *
 * The search reads the starts alone. Those of a Linux kernel take 640 KiB, which stay in the
 * second-level cache.
 *
 * Nested symbols: the greatest start that covers the address wins. An inner function hides the
 * outer one until the inner one ends; then the outer one goes on. A label without size inside a
 * sized function (SYM_INNER_LABEL of Linux, `entry_SYSCALL_64_after_hwframe`) has no end of its
 * own: it takes what is left of the outer function, up to the next symbol. Few outer symbols go on
 * after an inner one. A small array, the resumes, says where they do:
 *
 *   outer  |------------------------------|       entries  outer 0..100, inner 20..30
 *   inner         |---|                           resumes  30: outer
 */
#include "config.h"

#include "xtop/symbol/symbol.h"

#include <assert.h>
#include <string.h>

#include "symbol/alias.h"
#include "symbol/late_names.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/shared_array.h"
#include "xtop/base/sorted.h"
#include "xtop/base/vector.h"
#include "xtop/base/work.h"

#define PAGE_BYTES 4096ULL

enum symtab_kind {
	SYMTAB_SIZED,   /* `end` is the end */
	SYMTAB_UNSIZED, /* the end is not known; `end` is the largest that it can be */
	SYMTAB_BOUND,   /* ends the symbol before it; has no name */
};

/* A symbol as it was added. */
struct symtab_item {
	uint64_t start;
	uint64_t end;
	uint32_t name; /* offset into names, or in the file; later the number of a late name */
	uint8_t kind;  /* enum symtab_kind */
	uint8_t rank;  /* enum symbol_rank */
};

/* From `address` on, `entry` covers the code again: the symbol inside it has ended. */
struct symtab_resume {
	uint64_t address;
	uint32_t entry;
};

struct symtab {
	bool sealed;

	/* used before sealing */
	struct symtab_item *items;
	size_t n_items, items_capacity;
	size_t names_capacity, max_names_bytes;
	struct work *work; /* NULL: building the table is never broken off */
	struct late_names *late; /* NULL: the table has its names */
	bool full;      /* a name did not fit in max_names_bytes */
	bool ascending; /* items were added in order, as nm -n and kallsyms have them */

	/* used before and after sealing, which packs the names */
	char *names;
	size_t names_bytes;

	/* used after sealing */
	size_t n;
	uint64_t base;     /* first start */
	uint32_t *offsets; /* starts from base; or NULL, then starts */
	uint64_t *starts;
	uint32_t *sizes;
	uint32_t *name_offsets;
	struct symtab_resume *resumes;
	size_t n_resumes;
};

struct xtop_error *symtab_create(struct symtab **tabp)
{
	struct symtab *tab = calloc(1, sizeof(*tab));

	if (!tab)
		return error_create("out of memory for a symbol table");
	tab->ascending = true;
	tab->max_names_bytes = SYMTAB_MAX_NAMES_BYTES;
	*tabp = tab;
	return NULL;
}

void symtab_limit_names(struct symtab *tab, size_t names_bytes)
{
	tab->max_names_bytes = names_bytes;
}

void symtab_set_work(struct symtab *tab, struct work *work)
{
	tab->work = work;
}

struct xtop_error *symtab_set_late_names(struct symtab *tab, const struct bytes *bytes)
{
	tab->late = late_names_create(bytes);
	return tab->late ? NULL : error_create("out of memory for a symbol table");
}

bool symtab_is_incomplete(const struct symtab *tab)
{
	return tab->late && late_names_are_incomplete(tab->late);
}

bool symtab_is_full(const struct symtab *tab)
{
	return tab->full;
}

void symtab_destroy(struct symtab *tab)
{
	if (!tab)
		return;
	free(tab->items);
	late_names_destroy(tab->late);
	shared_array_free(tab->names, tab->names_bytes);
	shared_array_free(tab->offsets, tab->n * sizeof(*tab->offsets));
	free(tab->starts);
	shared_array_free(tab->sizes, tab->n * sizeof(*tab->sizes));
	shared_array_free(tab->name_offsets, tab->n * sizeof(*tab->name_offsets));
	free(tab->resumes);
	free(tab);
}

/* --- collecting ------------------------------------------------------------------------------- */

static struct xtop_error *symtab_reserve_item(struct symtab *tab)
{
	if (tab->n_items == SYMTAB_MAX_SYMBOLS)
		return error_create(
			"more than %u symbols: give a file of fewer (nm FILE | grep -i ' t ')",
			SYMTAB_MAX_SYMBOLS);
	if (!vector_reserve(tab->items, tab->items_capacity, tab->n_items + 1))
		return error_create("out of memory for %zu symbols", tab->n_items);
	return NULL;
}

static struct xtop_error *symtab_reserve_name(struct symtab *tab, size_t bytes)
{
	if (bytes > tab->max_names_bytes - tab->names_bytes) {
		tab->full = true;
		return error_create("more than %zu KiB of symbol names",
				    tab->max_names_bytes >> 10);
	}
	if (!vector_reserve(tab->names, tab->names_capacity, tab->names_bytes + bytes))
		return error_create("out of memory for %zu bytes of symbol names",
				    tab->names_bytes);
	return NULL;
}

static void symtab_put(struct symtab *tab, struct symtab_item item)
{
	if (tab->n_items && item.start < tab->items[tab->n_items - 1].start)
		tab->ascending = false;
	tab->items[tab->n_items++] = item;
}

struct xtop_error *symtab_add_bound(struct symtab *tab, uint64_t address)
{
	struct xtop_error *error = symtab_reserve_item(tab);

	assert(!tab->sealed);
	if (error)
		return error;
	symtab_put(tab, (struct symtab_item){ .start = address, .kind = SYMTAB_BOUND });
	return NULL;
}

/* Sizes are kept in 32 bits. */
static uint64_t symtab_clamp_end(uint64_t start, uint64_t end)
{
	return end - start > UINT32_MAX ? start + UINT32_MAX : end;
}

/* First address after the symbol at START; LIMIT 0: there is none. Never wraps. */
static uint64_t symtab_end(uint64_t start, uint64_t size_bytes, uint64_t limit)
{
	uint64_t end;

	if (!size_bytes || __builtin_add_overflow(start, size_bytes, &end))
		end = UINT64_MAX;
	return limit && end > limit ? limit : end;
}

static struct symtab_item symtab_item_of(const struct symbol_definition *symbol)
{
	return (struct symtab_item){ .start = symbol->start,
				     .end = symtab_end(symbol->start, symbol->size_bytes,
						       symbol->limit),
				     .name = symbol->name_at,
				     .rank = symbol->rank,
				     .kind = symbol->size_bytes ? SYMTAB_SIZED : SYMTAB_UNSIZED };
}

static struct xtop_error *symtab_add_late(struct symtab *tab,
					  const struct symbol_definition *symbol)
{
	struct symtab_item item = symtab_item_of(symbol);
	struct xtop_error *error = NULL;

	if (work_is_over(tab->work) || item.end <= item.start)
		return NULL;
	error = symtab_reserve_item(tab);
	if (!error)
		symtab_put(tab, item);
	return error;
}

struct xtop_error *symtab_add(struct symtab *tab, const struct symbol_definition *symbol)
{
	struct symtab_item item = symtab_item_of(symbol);
	size_t name_bytes;
	struct xtop_error *error;

	assert(!tab->sealed && !symbol->name == !!tab->late);
	if (tab->late)
		return symtab_add_late(tab, symbol);
	name_bytes = strnlen(symbol->name, symbol->name_bytes < SYMTAB_MAX_NAME_BYTES
						   ? symbol->name_bytes
						   : SYMTAB_MAX_NAME_BYTES);
	if (work_is_over(tab->work))
		return NULL;
	if (!name_bytes || item.end <= item.start)
		return NULL;
	error = symtab_reserve_item(tab);
	if (!error)
		error = symtab_reserve_name(tab, name_bytes + 1);
	if (error)
		return error;
	item.name = tab->names_bytes;
	memcpy(tab->names + item.name, symbol->name, name_bytes);
	tab->names[item.name + name_bytes] = '\0';
	if (item.kind == SYMTAB_UNSIZED && symbol_is_end_mark(tab->names + item.name))
		item.kind = SYMTAB_BOUND;
	else
		tab->names_bytes += name_bytes + 1;
	symtab_put(tab, item);
	return NULL;
}

/* --- sealing ---------------------------------------------------------------------------------- */

static int symtab_compare_items(const void *a, const void *b)
{
	const struct symtab_item *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

static bool symtab_better(const struct symtab *tab, const struct symtab_item *a,
			  const struct symtab_item *b)
{
	if (a->kind == SYMTAB_BOUND || b->kind == SYMTAB_BOUND)
		return b->kind == SYMTAB_BOUND && a->kind != SYMTAB_BOUND;
	if (tab->late)
		return a->kind < b->kind; /* which name is better is known later */
	return symbol_alias_better(
		&(struct symbol_alias){ tab->names + a->name, a->kind == SYMTAB_SIZED, a->rank },
		&(struct symbol_alias){ tab->names + b->name, b->kind == SYMTAB_SIZED, b->rank });
}

/*
 * Leaves one item for each start, with the best name. The end is the furthest one of the items of
 * the same kind, because all of them name the code that starts here.
 */
static void symtab_merge_aliases(struct symtab *tab)
{
	struct symtab_item *items = tab->items;
	size_t n = 0;

	for (size_t i = 0; i < tab->n_items; i++) {
		struct symtab_item *last = items + n - (n > 0), item = items[i];
		uint32_t first_name;
		bool is_first;

		if (work_step(tab->work, "symbols", i, tab->n_items)) {
			n = 0;
			break;
		}
		is_first = !n || last->start != item.start || last->kind == SYMTAB_BOUND;
		if (tab->late && item.kind != SYMTAB_BOUND)
			item.name = late_names_add(tab->late, item.name, item.rank,
						   item.kind == SYMTAB_SIZED, is_first);
		if (!n || last->start != item.start) {
			items[n++] = item;
			continue;
		}
		first_name = is_first ? item.name : last->name;
		if (item.kind == last->kind)
			item.end = last->end = item.end > last->end ? item.end : last->end;
		if (symtab_better(tab, &item, last))
			*last = item;
		if (tab->late)
			last->name = first_name;
	}
	tab->n_items = n;
}

/*
 * We determine the end of unsized items by the start of the next one. When not even a section's end
 * is known, the last one ends with the page after its own, as perf has it (Linux 6.1
 * tools/perf/util/symbol.c, symbols__fixup_end()). Bounds are not needed after that, and go.
 */
static void symtab_end_unsized(struct symtab *tab)
{
	struct symtab_item *items = tab->items;
	size_t n = 0;

	for (size_t i = 0; i < tab->n_items; i++) {
		struct symtab_item item = items[i];
		uint64_t page = item.start & ~(PAGE_BYTES - 1), next = page + 2 * PAGE_BYTES;

		if (item.kind == SYMTAB_BOUND)
			continue;
		if (i + 1 < tab->n_items)
			next = items[i + 1].start;
		else if (item.end != UINT64_MAX || next < page)
			next = UINT64_MAX;
		if (item.kind == SYMTAB_UNSIZED && item.end > next)
			item.end = next;
		item.end = symtab_clamp_end(item.start, item.end);
		items[n++] = item;
	}
	tab->n_items = n;
}

/*
 * One pass over the sorted items, with a stack of those that cover the current address. Ends fall
 * towards the top: an item that ends no later than one that starts after it is never seen again,
 * and is popped. So each item is pushed and popped once. The resumes come out sorted, at most one
 * for each item.
 */
struct symtab_nest {
	uint32_t *open;
	size_t depth;
};

/* Closes the items that end at ADDRESS or before; the items around them go on. */
static void symtab_close_until(struct symtab *tab, struct symtab_nest *nest, uint64_t address)
{
	while (nest->depth) {
		uint64_t end = tab->items[nest->open[nest->depth - 1]].end;

		if (end > address)
			return;
		nest->depth--;
		if (nest->depth && end < address)
			tab->resumes[tab->n_resumes++] =
				(struct symtab_resume){ end, nest->open[nest->depth - 1] };
	}
}

static void symtab_open(struct symtab *tab, struct symtab_nest *nest, uint32_t index)
{
	struct symtab_item *item = &tab->items[index], *outer;

	for (; nest->depth; nest->depth--) {
		outer = &tab->items[nest->open[nest->depth - 1]];
		if (item->kind == SYMTAB_UNSIZED && item->end > outer->end)
			item->end = outer->end;
		if (outer->end > item->end)
			break;
	}
	nest->open[nest->depth++] = index;
}

static struct xtop_error *symtab_find_resumes(struct symtab *tab)
{
	_cleanup_free_ uint32_t *open = calloc(tab->n_items + 1, sizeof(*open));
	struct symtab_nest nest = { .open = open };
	struct symtab_resume *resumes;

	tab->resumes = calloc(tab->n_items + 1, sizeof(*tab->resumes));
	if (!open || !tab->resumes)
		return error_create("out of memory for %zu symbols", tab->n_items);
	for (size_t i = 0; i < tab->n_items; i++) {
		symtab_close_until(tab, &nest, tab->items[i].start);
		symtab_open(tab, &nest, i);
	}
	symtab_close_until(tab, &nest, UINT64_MAX);
	resumes = realloc(tab->resumes, (tab->n_resumes + 1) * sizeof(*resumes));
	if (resumes)
		tab->resumes = resumes;
	return NULL;
}

static struct xtop_error *symtab_allocate(struct symtab *tab, size_t names_bytes, char **namesp)
{
	size_t n = tab->n_items;
	bool wide = n && tab->items[n - 1].start - tab->items[0].start > UINT32_MAX;

	tab->sizes = malloc((n + 1) * sizeof(*tab->sizes));
	tab->name_offsets = malloc((n + 1) * sizeof(*tab->name_offsets));
	if (wide)
		tab->starts = malloc((n + 1) * sizeof(*tab->starts));
	else
		tab->offsets = malloc((n + 1) * sizeof(*tab->offsets));
	*namesp = malloc(names_bytes + 1);
	if (!tab->sizes || !tab->name_offsets || (!tab->starts && !tab->offsets) || !*namesp) {
		free(*namesp);
		return error_create("out of memory for %zu symbols", n);
	}
	return NULL;
}

/* Copies the items into the arrays, and their names, no others, into an arena of the right size. */
static struct xtop_error *symtab_pack(struct symtab *tab)
{
	size_t names_bytes = 0, used = 0;
	struct xtop_error *error;
	char *names;

	for (size_t i = 0; !tab->late && i < tab->n_items; i++)
		names_bytes += strlen(tab->names + tab->items[i].name) + 1;
	error = symtab_allocate(tab, names_bytes, &names);
	if (error)
		return error;
	tab->n = tab->n_items;
	tab->base = tab->n ? tab->items[0].start : 0;
	for (size_t i = 0; i < tab->n; i++) {
		const struct symtab_item *item = &tab->items[i];
		size_t bytes = tab->late ? 0 : strlen(tab->names + item->name) + 1;

		if (tab->offsets)
			tab->offsets[i] = item->start - tab->base;
		else
			tab->starts[i] = item->start;
		tab->sizes[i] = item->end - item->start;
		tab->name_offsets[i] = tab->late ? item->name : used;
		if (bytes)
			memcpy(names + used, tab->names + item->name, bytes);
		used += bytes;
	}
	free(tab->names);
	tab->names = names;
	tab->names_bytes = used;
	return NULL;
}

/*
 * Shares the arrays with equal tables of other guests. Offsets of starts can be equal even if the
 * addresses differ.
 */
static void symtab_share(struct symtab *tab)
{
	tab->names = shared_array_put(tab->names, tab->names_bytes);
	tab->offsets = shared_array_put(tab->offsets, tab->n * sizeof(*tab->offsets));
	tab->sizes = shared_array_put(tab->sizes, tab->n * sizeof(*tab->sizes));
	tab->name_offsets =
		shared_array_put(tab->name_offsets, tab->n * sizeof(*tab->name_offsets));
}

struct xtop_error *symtab_seal(struct symtab *tab)
{
	struct xtop_error *error;

	assert(!tab->sealed);
	/* To sort, merge and pack a million symbols takes too long, so this may end with none. */
	if (work_is_over(tab->work))
		tab->n_items = 0;
	if (!tab->ascending)
		qsort(tab->items, tab->n_items, sizeof(*tab->items), symtab_compare_items);
	symtab_merge_aliases(tab);
	symtab_end_unsized(tab);
	error = symtab_find_resumes(tab);
	if (!error)
		error = symtab_pack(tab);
	if (error)
		return error;
	free(tab->items);
	tab->items = NULL;
	symtab_share(tab);
	tab->sealed = true;
	return NULL;
}

/* --- look-up ---------------------------------------------------------------------------------- */

/*
 * Index of the last start that is not above KEY. The caller has checked that the first one is not.
 * The base is moved by a conditional move: a jump would be predicted wrong every other time. Both
 * places that the next step may read are prefetched before it is known which one it will be.
 */
static size_t symtab_search_offsets(const uint32_t *offsets, size_t n, uint32_t key)
{
	const uint32_t *base = offsets;

	for (size_t half; n > 1; n -= half) {
		half = n / 2;
		__builtin_prefetch(&base[(n - half) / 2]);
		__builtin_prefetch(&base[half + (n - half) / 2]);
		base += base[half] <= key ? half : 0;
	}
	return base - offsets;
}

/* Searches a table that spans more than 4 GiB. */
static size_t symtab_search_starts(const uint64_t *starts, size_t n, uint64_t key)
{
	const uint64_t *base = starts;

	for (size_t half; n > 1; n -= half) {
		half = n / 2;
		base += base[half] <= key ? half : 0;
	}
	return base - starts;
}

static size_t symtab_search(const struct symtab *tab, uint64_t address)
{
	uint64_t offset = address - tab->base;

	if (!tab->offsets)
		return symtab_search_starts(tab->starts, tab->n, address);
	return symtab_search_offsets(tab->offsets, tab->n,
				     offset > UINT32_MAX ? UINT32_MAX : offset);
}

static uint64_t symtab_start(const struct symtab *tab, size_t index)
{
	return tab->offsets ? tab->base + tab->offsets[index] : tab->starts[index];
}

/*
 * For an ADDRESS after the end of entry INDEX: returns the outer entry that continues there, or
 * INDEX if there is none.
 */
static size_t symtab_resumed(const struct symtab *tab, size_t index, uint64_t address)
{
	size_t n = sorted_count(tab->resumes, tab->n_resumes, address, address);

	if (!n || tab->resumes[n - 1].address <= symtab_start(tab, index))
		return index;
	return tab->resumes[n - 1].entry;
}

static inline const char *symtab_name(const struct symtab *tab, size_t index)
{
	uint32_t name = tab->name_offsets[index];

	return tab->late ? late_names_find(tab->late, name) : tab->names + name;
}

struct symtab_entry symtab_at(const struct symtab *tab, size_t index)
{
	uint64_t start = symtab_start(tab, index);

	return (struct symtab_entry){ .start = start,
				      .end = start + tab->sizes[index],
				      .name = symtab_name(tab, index) };
}

bool symtab_entry_is_stub(const struct symtab_entry *entry)
{
	return entry->name[0] && symbol_has_suffix(entry->name + 1, SYMBOL_STUB_SUFFIX);
}

bool symtab_find(const struct symtab *tab, uint64_t address, struct symtab_entry *entry)
{
	const char *name;
	uint64_t start;
	size_t index;

	assert(tab->sealed);
	if (!tab->n || address < tab->base)
		return false;
	index = symtab_search(tab, address);
	if (address - symtab_start(tab, index) >= tab->sizes[index]) {
		if (!tab->n_resumes)
			return false;
		index = symtab_resumed(tab, index, address);
		if (address - symtab_start(tab, index) >= tab->sizes[index])
			return false;
	}
	name = symtab_name(tab, index);
	if (!name)
		return false;
	start = symtab_start(tab, index);
	*entry = (struct symtab_entry){ .start = start,
					.end = start + tab->sizes[index],
					.name = name };
	return true;
}

size_t symtab_count(const struct symtab *tab)
{
	return tab->n;
}

void symtab_extent(const struct symtab *tab, uint64_t *start, uint64_t *end)
{
	size_t n = symtab_count(tab);

	*start = symtab_at(tab, 0).start;
	*end = 0;
	for (size_t i = 0; i < n; i++)
		*end = symtab_at(tab, i).end > *end ? symtab_at(tab, i).end : *end;
}

size_t symtab_memory_bytes(const struct symtab *tab)
{
	size_t start_bytes = tab->offsets ? sizeof(*tab->offsets) : sizeof(*tab->starts);

	return sizeof(*tab) +
	       tab->n * (start_bytes + sizeof(*tab->sizes) + sizeof(*tab->name_offsets)) +
	       tab->n_resumes * sizeof(*tab->resumes) + tab->names_bytes +
	       (tab->late ? late_names_memory_bytes(tab->late) : 0);
}
