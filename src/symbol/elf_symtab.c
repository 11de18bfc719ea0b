/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of an ELF file: which of its symbols name code (elf.h hands out all of them;
 * psABI for x86-64 4.2). Main's thread for a file given by -k, else the resolver's.
 */
#include "config.h"

#include <string.h>

#include "symbol/alias.h"
#include "symbol/elf_frames.h"
#include "symbol/elf_go.h"
#include "symbol/elf_plt.h"
#include "symbol/elf_symtab.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/types.h"

/* The user named the file with -k, so xtop refuses only what would not fit. */
static const struct elf_limits elf_own_limits = {
	.symbols = SYMTAB_MAX_SYMBOLS,
	.names_bytes = SYMTAB_MAX_NAMES_BYTES,
	.sections = ELF_MAX_SECTIONS,
	.frames_bytes = 256U << 20, /* Go's table of functions */
	.unpacked_bytes = 256U << 20,
	.short_kernels = true,
};

_Static_assert(SYMTAB_MAX_NAME_BYTES <= ELF_MAX_NAME_BYTES, "names are cut by the table alone");

#define ELF_LABEL_BYTES 32 /* first bytes of a name, which tell a local label or an end mark */
#define ELF_LABELS      4  /* names that are kept, as many symbols share one: $x, $d on arm64 */

/* The beginnings of the names of labels that were read last. */
struct elf_labels {
	struct {
		uint32_t at;
		char name[ELF_LABEL_BYTES];
	} labels[ELF_LABELS];
	unsigned next;
};

/* Context of elf_each_symbol(): the table that gets the symbols. */
struct elf_adding {
	struct elf_file *file;
	struct symtab *tab;
	size_t n_added;
	struct elf_labels labels; /* used if names are late */
};

/* The beginning of the name at AT in the file; "" if it cannot be read now. */
static const char *elf_find_label(struct elf_adding *adding, uint32_t at)
{
	struct elf_labels *labels = &adding->labels;
	char *name;
	size_t got;

	for (unsigned i = 0; i < ELF_LABELS; i++)
		if (at && labels->labels[i].at == at)
			return labels->labels[i].name;
	labels->next = (labels->next + 1) % ELF_LABELS;
	name = labels->labels[labels->next].name;
	got = elf_read(adding->file, at, name, ELF_LABEL_BYTES - 1);
	name[got] = '\0';
	labels->labels[labels->next].at = at;
	return name;
}

/*
 * Whether NAME is one that no function has: an assembler's local labels that were left in (.L,
 * .Ltmp) and mapping symbols ($x, $a, $t, $d: AAELF64, AAELF32 and the RISC-V psABI; x86-64 has
 * none, but tools that were ported do).
 */
static bool elf_is_local_label(const char *name)
{
	return name[0] == '.' || name[0] == '$' || (name[0] == 'L' && (unsigned char)name[1] < ' ');
}

/*
 * Whether the name is that of the hypercall page, which Linux, Mini-OS and XTF give it, as a label
 * or as data (Xen 4.17 arch/x86/guest/xen/hypercall_page.S). Xen makes code of the page, whatever
 * section it lies in.
 */
static bool elf_is_hypercall_page(const struct elf_symbol *symbol)
{
	return (symbol->type == STT_OBJECT || symbol->type == STT_NOTYPE) &&
	       symbol->address % GUEST_PAGE_SIZE == 0 &&
	       strcmp(symbol->name, SYMBOL_HYPERCALL_PAGE) == 0;
}

/* Assembly without `.type f, @function` leaves STT_NOTYPE: a function, if it stands among code. */
static bool elf_is_function(const struct elf_symbol *symbol)
{
	switch (symbol->type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		return symbol->in_code && !elf_is_local_label(symbol->name);
	default:
		return false;
	}
}

static enum symbol_rank elf_symbol_rank(const struct elf_symbol *symbol)
{
	switch (symbol->binding) {
	case STB_LOCAL:
		return SYMBOL_LOCAL;
	case STB_WEAK:
		return SYMBOL_WEAK;
	default:
		return SYMBOL_GLOBAL;
	}
}

/* elf_add_symbol() for symbols with late names. Only labels need their names at once. */
static struct xtop_error *elf_add_late(struct elf_adding *adding, const struct elf_symbol *symbol)
{
	struct elf_symbol named = *symbol;
	struct symbol_definition definition = { .start = symbol->address,
						.size_bytes = symbol->size_bytes,
						.limit = symbol->home_end,
						.rank = elf_symbol_rank(symbol),
						.name_at = symbol->name_at };

	if (symbol->type == STT_OBJECT && symbol->in_code)
		return symtab_add_bound(adding->tab, symbol->address);
	named.name = "";
	if (symbol->in_code && (symbol->type == STT_NOTYPE || !symbol->size_bytes))
		named.name = elf_find_label(adding, symbol->name_at);
	if (!elf_is_function(&named))
		return NULL;
	if (!symbol->size_bytes && named.name[0] && symbol_is_end_mark(named.name))
		return symtab_add_bound(adding->tab, symbol->address);
	adding->n_added++;
	return symtab_add(adding->tab, &definition);
}

static struct xtop_error *elf_add_symbol(void *context, const struct elf_symbol *symbol)
{
	struct elf_adding *adding = context;
	struct xtop_error *error;
	bool page;

	if (adding->file->limits.late_names)
		return elf_add_late(adding, symbol);
	page = elf_is_hypercall_page(symbol);
	if (!page && symbol->type == STT_OBJECT && symbol->in_code)
		return symtab_add_bound(adding->tab, symbol->address); /* ends what is before it */
	if (!page && !elf_is_function(symbol))
		return NULL;
	adding->n_added++;
	error = symtab_add(
		adding->tab,
		&(struct symbol_definition){
			.start = symbol->address,
			.size_bytes = page ? GUEST_PAGE_SIZE : symbol->size_bytes,
			.limit = symbol->home_end,
			.rank = elf_symbol_rank(symbol),
			.name = symbol->name,
			.name_bytes = symbol_name_bytes(symbol->name, symbol->name_bytes) });
	return error_wrap(error, "%s", adding->file->path);
}

/* --- .gnu_debugdata --------------------------------------------------------------------------- */

static size_t elf_read_blob(void *context, uint64_t offset, void *buffer, size_t size_bytes)
{
	const struct elf_blob *blob = context;

	if (!elf_blob_has(blob, offset, size_bytes))
		return 0;
	memcpy(buffer, blob->bytes + offset, size_bytes);
	return size_bytes;
}

/*
 * The file in the section has .symtab alone: what .dynsym has is not in it again. It is read like a
 * guest's file, because it may be one. A section in it with the same name is not looked for.
 */
static struct xtop_error *elf_read_debugdata(struct elf_file *file, struct symtab *tab,
					     struct elf_symtab_counts *counts)
{
	_cleanup_(elf_file_deinit) struct elf_file inner = { 0 };
	_cleanup_(elf_blob_deinit) struct elf_blob blob = { 0 };
	struct elf_adding adding = { .file = &inner, .tab = tab };
	struct xtop_error *error = NULL;
	struct bytes bytes;

	if (file->limits.late_names) /* the section was missing when the file was opened */
		return NULL;
	error = elf_unpack_debugdata(file, &blob);
	if (error || !blob.bytes)
		return error;
	bytes = (struct bytes){ elf_read_blob, &blob, blob.size_bytes };
	counts->unpacked_bytes = blob.size_bytes;
	error = elf_file_init_guest(&inner, &bytes, file->path, &file->limits);
	if (!error)
		error = elf_each_symbol(&inner, SHT_SYMTAB, elf_add_symbol, &adding);
	counts->n_added += adding.n_added;
	counts->stripped = !adding.n_added;
	return error;
}

/* --- all of them ------------------------------------------------------------------------------ */

struct xtop_error *elf_read_symbols(struct elf_file *file, struct symtab *tab,
				    struct elf_symtab_counts *counts)
{
	struct elf_adding adding = { .file = file, .tab = tab };
	struct xtop_error *error;

	*counts = (struct elf_symtab_counts){ .stripped = true };
	if (!file->n_sections) {
		error = elf_each_dynamic_symbol(file, elf_add_symbol, &adding);
	} else {
		error = elf_each_symbol(file, SHT_SYMTAB, elf_add_symbol, &adding);
		counts->stripped = !adding.n_added;
		if (!error && (!adding.n_added || file->incomplete))
			error = elf_each_symbol(file, SHT_DYNSYM, elf_add_symbol, &adding);
	}
	counts->n_added = adding.n_added;
	if (!error && counts->stripped)
		error = elf_read_debugdata(file, tab, counts);
	if (!error)
		error = elf_add_plt(file, tab, &counts->n_stubs);
	return error;
}

/* Adds the hypercall page that Xen's note names; a symbol for this page has the same name. */
static struct xtop_error *elf_add_hypercall_page(struct elf_file *file, struct symtab *tab)
{
	uint64_t page;

	if (!elf_find_hypercall_page(file, &page))
		return NULL;
	return symtab_add(
		tab, &(struct symbol_definition){ .start = page,
						  .size_bytes = GUEST_PAGE_SIZE,
						  .rank = SYMBOL_GLOBAL,
						  .name = SYMBOL_HYPERCALL_PAGE,
						  .name_bytes = strlen(SYMBOL_HYPERCALL_PAGE) });
}

struct xtop_error *symbol_read_elf(int fd, const char *path, struct symtab *tab,
				   struct build_id *build_id, bool *unread)
{
	_cleanup_(elf_file_deinit) struct elf_file file = { 0 };
	_cleanup_(elf_go_deinit) struct elf_go go = { 0 };
	struct xtop_error *error = elf_file_init_host(&file, fd, path, &elf_own_limits);
	struct elf_symtab_counts counts;

	if (error)
		return error;
	elf_read_go(&file, &go);
	error = elf_read_symbols(&file, tab, &counts);
	if (!error)
		error = elf_go_add_symbols(&go, tab, &counts.n_added);
	if (!error)
		error = elf_add_hypercall_page(&file, tab);
	if (error)
		return error;
	if (file.incomplete)
		return elf_damaged(&file, "it could not be read to its end");
	if (!counts.n_added)
		return error_create(
			"%s: no functions in it, it is stripped: give the unstripped file, or the "
			"text of nm or System.map",
			path);
	elf_find_build_id(&file, build_id);
	*unread = elf_frames_are_foreign(&file);
	return NULL;
}
