/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the kernel's list of modules (Linux include/linux/module.h):
 *
 *   modules ─► struct module .list ─► ...      name, memory, kallsyms, ORC tables
 *
 *   memory       up to 6.3: core_layout { base, size, text_size }
 *                from 6.4:  mem[n types] { base, size }, [0] is the text
 *   symbols      kallsyms ─► mod_kallsyms { symtab: Elf_Sym[num_symtab], strtab, typetab }
 *   build-id     notes_attrs ─► attrs[] { size, private: address }, an element for each section of
 *                notes; module_read_build_id()
 *
 * Symbols and ORC tables of a module are read once, when an address in its code is first asked for:
 * a guest with a disk has some 3 MB of them, and most modules never run. Later the module is
 * recognised by its address, name, memory and numbers of symbols and ORC entries. The list is
 * hostile: its length is limited, and a bad pointer ends the walk. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/modules.h"

#include <stdlib.h>
#include <string.h>

#include "linux/kernel/orc_tables.h"
#include "xtop/base/cleanup.h"
#include "xtop/elf/elf.h"

#define MODULES_NAME_BYTES 64 /* MODULE_NAME_LEN is 56 */
/* Limit for the symbols of all modules; a small guest of Debian 6.12 has 7,320. */
#define MODULES_MAX_SYMBOLS     LIMIT(1U << 20, 1U << 10)
#define MODULES_MAX_ORCS        (4U << 20) /* limit for the ORC entries of all modules */
#define MODULES_MAX_NAMES_BYTES LIMIT(16U << 20, 64U << 10) /* limit for the names of one module */
#define MODULES_NAMES_EACH      512 /* bytes of names for each symbol: KSYM_NAME_LEN */
/*
 * Limit for the code of one module, and for the code of all modules with unwind tables. Besides its
 * entries a table has 4 bytes for each 128 bytes of code (unwind/orc.c): 16 MiB for all modules.
 */
#define MODULES_MAX_TEXT_BYTES  (512ULL << 20)
#define MODULES_UNFORMED 3 /* MODULE_STATE_UNFORMED */
#define MODULES_NOTES           8 /* sections of notes that are read; Debian's modules have 3 */
/* bytes that are read of each section of notes; sections of Debian's modules have 36 to 68 */
#define MODULES_NOTES_BYTES     256
#define MODULES_NOTES_ALIGNMENT 4

struct module {
	uint64_t address;    /* address of struct module */
	uint64_t start, end; /* range of the code */
	/* numbers of symbols and ORC entries; 0 if there are none, or too many in all modules */
	uint32_t n_symbols, n_orcs;
	size_t kept_bytes;          /* memory of the module's symbols while the module is mapped */
	bool cut;                   /* symbols or tables of the module were left out */
	struct image *image;        /* a reference; NULL: the module was not mapped */
	char name[MODULES_NAME_BYTES];
};

struct modules {
	const struct linux_guest *guest;
	struct space *space;
	size_t n;
	struct module *list;
	size_t kept_bytes; /* sum of the modules' kept_bytes */
	/* names of static data of all modules; NULL before the first request */
	struct symtab *data;
	modules_image_fn *is_new; /* function to call for each new image; NULL if there is none */
	void *context;            /* argument of is_new */
};

struct xtop_error *modules_create(const struct linux_guest *guest, struct space *space,
				  struct modules **modulesp)
{
	struct modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return error_create("out of memory");
	modules->guest = guest;
	modules->space = space;
	*modulesp = modules;
	return NULL;
}

void modules_set_new(struct modules *modules, modules_image_fn *is_new, void *context)
{
	modules->is_new = is_new;
	modules->context = context;
}

/* MODULE's image may outlive MODULE, but reads nothing any more. */
static void module_forget_image(struct module *module)
{
	if (module->image)
		module->image->late = (struct image_late){ .context = NULL };
	image_unref(module->image);
	module->image = NULL;
}

void modules_destroy(struct modules *modules)
{
	if (!modules)
		return;
	for (size_t i = 0; i < modules->n; i++)
		module_forget_image(&modules->list[i]);
	symtab_destroy(modules->data);
	free(modules->list);
	free(modules);
}

struct modules_counts modules_counts(const struct modules *modules)
{
	struct modules_counts counts = { .n = modules->n, .kept_bytes = modules->kept_bytes };

	for (size_t i = 0; i < modules->n; i++)
		counts.cut += modules->list[i].cut;
	return counts;
}

/* The number of 4 bytes at ADDRESS; 0 if the number cannot be read. */
static uint32_t modules_half(const struct modules *modules, uint64_t address)
{
	uint32_t value;

	return linux_is_kernel_of(modules->guest, address) &&
			       memory_read_u32(modules->guest->memory, modules->guest->root,
					       address, &value)
		       ? value
		       : 0;
}

/* --- one module ------------------------------------------------------------------------------- */

static bool module_read_extent(const struct modules *modules, struct module *module)
{
	const struct layout *layout = &modules->guest->layout;
	uint64_t base, size_bytes;

	if (layout_has(layout, MODULE_MEM) && layout_has(layout, MODULE_MEM_BASE) &&
	    layout_has(layout, MODULE_MEM_SIZE)) {
		uint64_t text = module->address + layout_offset(layout, MODULE_MEM);

		base = linux_word(modules->guest, text + layout_offset(layout, MODULE_MEM_BASE));
		size_bytes = modules_half(modules, text + layout_offset(layout, MODULE_MEM_SIZE));
	} else if (layout_has(layout, MODULE_CORE_BASE) &&
		   layout_has(layout, MODULE_CORE_TEXT_SIZE)) {
		base = linux_word(modules->guest,
				  module->address + layout_offset(layout, MODULE_CORE_BASE));
		size_bytes = modules_half(
			modules, module->address + layout_offset(layout, MODULE_CORE_TEXT_SIZE));
	} else {
		return false;
	}
	module->start = base;
	module->end = base + size_bytes;
	return linux_is_kernel_of(modules->guest, base) && size_bytes > 0 &&
	       size_bytes <= MODULES_MAX_TEXT_BYTES &&
	       linux_is_kernel_of(modules->guest, module->end);
}

/* Returns false if no module is at ADDRESS, or if the module is not set up yet. */
static bool module_read(const struct modules *modules, uint64_t address, struct module *module)
{
	const struct linux_guest *guest = modules->guest;
	const struct layout *layout = &guest->layout;
	uint64_t kallsyms;

	*module = (struct module){ .address = address };
	if (modules_half(modules, address + layout_offset(layout, MODULE_STATE)) ==
		    MODULES_UNFORMED ||
	    !module_read_extent(modules, module))
		return false;
	memory_read_string(guest->memory, guest->root, address + layout_offset(layout, MODULE_NAME),
			   module->name, sizeof(module->name));
	kallsyms = linux_word(modules->guest, address + layout_offset(layout, MODULE_KALLSYMS));
	module->n_symbols =
		modules_half(modules, kallsyms + layout_offset(layout, MOD_KALLSYMS_SYMTAB_COUNT));
	if (layout_has(layout, MODULE_ORC_COUNT))
		module->n_orcs =
			modules_half(modules, address + layout_offset(layout, MODULE_ORC_COUNT));
	return module->name[0];
}

static bool module_same(const struct module *a, const struct module *b)
{
	return a->address == b->address && a->start == b->start && a->end == b->end &&
	       a->n_symbols == b->n_symbols && a->n_orcs == b->n_orcs &&
	       strcmp(a->name, b->name) == 0;
}

/* Copies of a module's symbols. */
struct module_symbols {
	const struct linux_guest *guest;
	void *bytes;
	uint32_t n;
	char *names; /* string table; the last name may lack its NUL; NULL if there are no names */
	size_t names_bytes;
};

static struct elf_symbol module_symbol(const struct module_symbols *symbols, uint32_t i)
{
	return elf_decode_symbol(symbols->bytes, linux_is_short(symbols->guest), i, symbols->names,
				 symbols->names_bytes);
}

/* Reads the names of the symbols. ADDRESS is the start of the string table. */
static void module_read_names(struct module_symbols *symbols, uint64_t address)
{
	const struct linux_guest *guest = symbols->guest;
	size_t max_bytes = (size_t)symbols->n * MODULES_NAMES_EACH, size_bytes = 0;

	if (max_bytes > MODULES_MAX_NAMES_BYTES)
		max_bytes = MODULES_MAX_NAMES_BYTES;
	for (uint32_t i = 0; i < symbols->n; i++) {
		uint32_t offset = module_symbol(symbols, i).name_offset;

		if (offset >= size_bytes && offset < max_bytes)
			size_bytes = offset + 1;
	}
	size_bytes += SYMTAB_MAX_NAME_BYTES; /* room for the last name */
	symbols->names = linux_is_kernel_of(guest, address) ? malloc(size_bytes) : NULL;
	if (!symbols->names)
		return;
	memory_read_bulk(guest->memory, guest->root, address, symbols->names, size_bytes);
	symbols->names_bytes = size_bytes;
}

enum module_part { MODULE_CODE, MODULE_DATA };

/* Whether SYMBOL names code or data in PART of MODULE. Per-CPU data has no kernel address. */
static bool module_has_symbol(const struct linux_guest *guest, const struct module *module,
			      enum module_part part, const struct elf_symbol *symbol)
{
	bool is_code = symbol->address >= module->start && symbol->address < module->end;

	/* "$x" and "$d" of arm64 tell code from data and name nothing */
	if (symbol->section == SHN_UNDEF || !symbol->name || symbol->name[0] == '$')
		return false;
	if (part == MODULE_CODE)
		return is_code;
	return !is_code && symbol->section != SHN_ABS && symbol->size_bytes &&
	       linux_is_kernel_of(guest, symbol->address);
}

static struct xtop_error *module_add_symbols(const struct module *module, enum module_part part,
					     const struct module_symbols *symbols,
					     struct symtab *tab)
{
	uint64_t limit = part == MODULE_CODE ? module->end : 0;
	struct xtop_error *error = NULL;

	for (uint32_t i = 1; i < symbols->n && !error; i++) { /* the first symbol is empty: gABI */
		struct elf_symbol symbol = module_symbol(symbols, i);

		if (module_has_symbol(symbols->guest, module, part, &symbol))
			error = symtab_add(tab, &(struct symbol_definition){
							.start = symbol.address,
							.size_bytes = symbol.size_bytes,
							.limit = limit,
							.rank = SYMBOL_GLOBAL,
							.name = symbol.name,
							.name_bytes = symbol.name_bytes });
	}
	return error;
}

static struct xtop_error *module_read_symbols(const struct modules *modules,
					      const struct module *module,
					      enum module_part part, struct symtab *tab)
{
	const struct linux_guest *guest = modules->guest;
	const struct layout *layout = &guest->layout;
	uint64_t kallsyms = linux_word(modules->guest,
				       module->address + layout_offset(layout, MODULE_KALLSYMS));
	uint64_t address =
		linux_word(modules->guest, kallsyms + layout_offset(layout, MOD_KALLSYMS_SYMTAB));
	uint64_t names =
		linux_word(modules->guest, kallsyms + layout_offset(layout, MOD_KALLSYMS_STRTAB));
	size_t symbol_bytes = elf_symbol_bytes(linux_is_short(guest));
	_cleanup_free_ void *bytes = calloc(module->n_symbols + 1, symbol_bytes);
	struct module_symbols symbols = { .guest = guest, .bytes = bytes, .n = module->n_symbols };
	struct xtop_error *error;

	if (!bytes || !linux_is_kernel_of(guest, address))
		return NULL;
	memory_read_bulk(guest->memory, guest->root, address, bytes, symbols.n * symbol_bytes);
	module_read_names(&symbols, names);
	error = symbols.names ? module_add_symbols(module, part, &symbols, tab) : NULL;
	free(symbols.names);
	return error;
}

/*
 * Reads the symbols for which there is room. The names are limited here, because symbols may share
 * a name in the guest, but here each symbol has its own copy of the name.
 */
static struct xtop_error *module_fill_symbols(const struct modules *modules, struct module *module,
					      struct symtab *tab)
{
	struct xtop_error *error;

	symtab_set_work(tab, memory_work(modules->guest->memory));
	symtab_limit_names(tab, modules->kept_bytes < MODULES_MAX_KEPT_BYTES
					? MODULES_MAX_KEPT_BYTES - modules->kept_bytes
					: 0);
	error = module_read_symbols(modules, module, MODULE_CODE, tab);
	module->image->cut = symtab_is_full(tab);
	module->cut |= module->image->cut;
	if (error && module->image->cut) {
		error_destroy(error);
		error = NULL;
	}
	return error ? error : symtab_seal(tab);
}

/* The known module whose image is IMAGE. */
static struct module *modules_find_image(const struct modules *modules, const struct image *image)
{
	for (size_t i = 0; i < modules->n; i++)
		if (modules->list[i].image == image)
			return &modules->list[i];
	return NULL;
}

static void modules_read_symbols(void *context, struct image *image)
{
	struct modules *modules = context;
	struct module *module = modules_find_image(modules, image);
	struct symtab *tab = NULL;
	struct xtop_error *error = module ? symtab_create(&tab) : NULL;

	if (!error && tab)
		error = module_fill_symbols(modules, module, tab);
	if (error || !tab) { /* out of memory */
		error_destroy(error);
		symtab_destroy(tab);
		return;
	}
	image->symtab = tab;
	module->kept_bytes = symtab_memory_bytes(tab);
	modules->kept_bytes += module->kept_bytes;
}

/* The layout of modules' entries is the kernel's, so the kernel's table comes first. */
static void modules_read_tables(void *context, struct image *image)
{
	struct modules *modules = context;
	const struct module *module = modules_find_image(modules, image);
	const struct mapping *kernel = space_find(modules->space, modules->guest->text_start);

	if (kernel && kernel->image)
		image_build_tables(kernel->image);
	if (module)
		image->tables.orc = orc_read_module(modules->guest, module->address, module->n_orcs,
						    module->start, module->end);
}

/* Reads the build-id from a section with notes. ATTRIBUTE is the section's struct bin_attribute. */
static void module_read_notes(const struct modules *modules, uint64_t attribute,
			      struct image *image)
{
	const struct linux_guest *guest = modules->guest;
	const struct layout *layout = &guest->layout;
	uint64_t address = linux_word(modules->guest,
				      attribute + layout_offset(layout, BIN_ATTRIBUTE_PRIVATE));
	uint64_t size_bytes =
		linux_word(modules->guest, attribute + layout_offset(layout, BIN_ATTRIBUTE_SIZE));
	uint8_t bytes[MODULES_NOTES_BYTES];
	struct elf_blob notes = { .bytes = bytes };

	if (!linux_is_kernel_of(guest, address))
		return;
	notes.size_bytes =
		memory_read(guest->memory, guest->root, address, bytes,
			    size_bytes < sizeof(bytes) ? (size_t)size_bytes : sizeof(bytes));
	elf_find_build_id_note(&notes, MODULES_NOTES_ALIGNMENT, 0, &image->build_id);
}

static const enum layout_member module_notes_needed[] = {
	MODULE_NOTES,          MODULE_NOTES_ATTRIBUTES, BIN_ATTRIBUTE_SIZE,
	BIN_ATTRIBUTE_PRIVATE, BIN_ATTRIBUTE_SIZEOF,
};

/*
 * Reads a module's build-id. Linux keeps the places of a module's notes for /sys/module/NAME/notes
 * (kernel/module/sysfs.c, add_notes_attrs()). The notes' place in the read-only data differs from
 * build to build. From 6.14 on the kernel does not count the notes, but the build-id is one of the
 * first.
 */
static void module_read_build_id(const struct modules *modules, const struct module *module,
				 struct image *image)
{
	const struct layout *layout = &modules->guest->layout;
	uint64_t attribute;

	if (!layout_has_all(layout, module_notes_needed))
		return;
	attribute =
		linux_word(modules->guest, module->address + layout_offset(layout, MODULE_NOTES)) +
		layout_offset(layout, MODULE_NOTES_ATTRIBUTES);
	for (unsigned i = 0; i < MODULES_NOTES && !image->build_id.size_bytes; i++) {
		module_read_notes(modules, attribute, image);
		attribute += layout_offset(layout, BIN_ATTRIBUTE_SIZEOF);
	}
}

static struct xtop_error *module_map(struct modules *modules, struct module *module)
{
	struct mapping mapping = { .start = module->start, .end = module->end };
	char name[MODULES_NAME_BYTES + 2];
	struct xtop_error *error;

	snprintf(name, sizeof(name), "[%s]", module->name);
	error = image_create(name, &module->image);
	if (error)
		return error;
	mapping.image = module->image;
	module->image->late = (struct image_late){ modules_read_symbols, modules_read_tables,
						   modules };
	module_read_build_id(modules, module, module->image);
	if (modules->is_new)
		modules->is_new(modules->context, module->image);
	error = space_add(modules->space, &mapping);
	if (error)
		module_forget_image(module);
	else if (memory_is_watched(modules->guest->memory))
		image_symtab(module->image); /* a recording has the names of all addresses */
	return error;
}

/* --- the list --------------------------------------------------------------------------------- */

/* Limits the cost of all modules of a hostile guest to the cost of one large module. */
static void modules_limit(struct module *list, size_t n)
{
	uint32_t symbols_left = MODULES_MAX_SYMBOLS, orcs_left = MODULES_MAX_ORCS;
	uint64_t text_left_bytes = MODULES_MAX_TEXT_BYTES;

	for (size_t i = 0; i < n; i++) {
		uint64_t text_bytes = list[i].end - list[i].start;

		if (list[i].n_symbols > symbols_left) {
			list[i].n_symbols = 0;
			list[i].cut = true;
		}
		if (list[i].n_orcs &&
		    (list[i].n_orcs > orcs_left || text_bytes > text_left_bytes)) {
			list[i].n_orcs = 0;
			list[i].cut = true;
		}
		symbols_left -= list[i].n_symbols;
		orcs_left -= list[i].n_orcs;
		text_left_bytes -= list[i].n_orcs ? text_bytes : 0;
	}
}

/*
 * Lists the modules that are loaded now, at most MODULES_MAX. Returns false if the list has no end
 * or is damaged.
 */
static bool modules_walk(const struct modules *modules, struct module *list, size_t *np)
{
	const struct layout *layout = &modules->guest->layout;
	uint64_t head = modules->guest->symbols[LINUX_MODULES], at = head;
	size_t n = 0;

	for (size_t steps = 0; steps < MODULES_MAX; steps++) {
		at = linux_word(modules->guest, at);
		if (at == head) {
			modules_limit(list, n);
			*np = n;
			return true;
		}
		if (!linux_is_kernel_of(modules->guest, at))
			return false;
		n += module_read(modules, at - layout_offset(layout, MODULE_LIST), &list[n]);
	}
	return false;
}

/* Finds MODULE in LIST from FROM on; NULL if LIST does not have MODULE. */
static const struct module *modules_find(const struct module *list, size_t from, size_t n,
					 const struct module *module)
{
	for (size_t i = from; i < n; i++)
		if (module_same(&list[i], module))
			return &list[i];
	return NULL;
}

/* Modules that were unloaded. */
struct modules_gone {
	size_t n;
	struct module *list;
};

static bool modules_is_gone(void *context, const struct mapping *mapping)
{
	const struct modules_gone *gone = context;

	for (size_t i = 0; i < gone->n; i++)
		if (mapping->start == gone->list[i].start && mapping->end == gone->list[i].end)
			return true;
	return false;
}

/* Gives MODULE what is known of it, if one of the known modules from FROM on is the same. */
static void modules_take_known(struct modules *modules, size_t from, struct module *module)
{
	const struct module *known = modules_find(modules->list, from, modules->n, module);

	if (!known || !known->image)
		return;
	module->image = image_ref(known->image);
	module->kept_bytes = known->kept_bytes;
	module->cut |= known->cut;
	modules->kept_bytes += module->kept_bytes;
}

/*
 * Makes LIST the known modules: unmaps the known modules that LIST lacks, and maps the modules that
 * are new in LIST. Takes LIST.
 */
static void modules_update(struct modules *modules, struct module *list, size_t n)
{
	struct modules_gone gone = { .list = modules->list };

	for (size_t i = 0; i < modules->n; i++)
		if (!modules_find(list, 0, n, &modules->list[i])) {
			struct module other = modules->list[gone.n];

			modules->list[gone.n++] = modules->list[i];
			modules->list[i] = other;
		}
	if (gone.n)
		space_remove_if(modules->space, modules_is_gone, &gone);
	/* The unloaded modules are at the front of the old list now. */
	modules->kept_bytes = 0;
	for (size_t i = 0; i < n; i++)
		modules_take_known(modules, gone.n, &list[i]);
	for (size_t i = 0; i < gone.n; i++)
		module_forget_image(&modules->list[i]);
	for (size_t i = gone.n; i < modules->n; i++)
		image_unref(modules->list[i].image);
	if (gone.n || n != modules->n) {
		symtab_destroy(modules->data);
		modules->data = NULL;
	}
	free(modules->list);
	modules->list = list;
	modules->n = n;
	for (size_t i = 0; i < n; i++)
		if (!list[i].image)
			error_destroy(module_map(modules, &list[i]));
}

/* --- data ------------------------------------------------------------------------------------- */

static struct xtop_error *modules_read_data(const struct modules *modules, struct symtab *tab)
{
	struct xtop_error *error = NULL;

	symtab_limit_names(tab, MODULES_MAX_KEPT_BYTES);
	for (size_t i = 0; i < modules->n && !error; i++)
		error = module_read_symbols(modules, &modules->list[i], MODULE_DATA, tab);
	if (symtab_is_full(tab)) {
		error_destroy(error);
		error = NULL;
	}
	return error ? error : symtab_seal(tab);
}

/*
 * Whether ADDRESS may be data of a module. Code reaches its own module's data with a signed
 * distance of 32 bits.
 */
static bool modules_may_have_data(const struct modules *modules, uint64_t address)
{
	for (size_t i = 0; i < modules->n; i++) {
		uint64_t start = modules->list[i].start;

		if ((address > start ? address - start : start - address) <= INT32_MAX)
			return true;
	}
	return false;
}

bool modules_find_data(struct modules *modules, uint64_t address, struct symtab_entry *entry)
{
	struct symtab *tab = NULL;
	struct xtop_error *error;

	if (!modules_may_have_data(modules, address))
		return false;
	if (modules->data)
		return symtab_find(modules->data, address, entry);
	error = symtab_create(&tab);
	if (!error)
		symtab_set_work(tab, memory_work(modules->guest->memory));
	if (!error)
		error = modules_read_data(modules, tab);
	if (error) {
		symtab_destroy(tab);
		error_destroy(error);
		return false;
	}
	modules->data = tab;
	return symtab_find(tab, address, entry);
}

/* --- polls ------------------------------------------------------------------------------------ */

/*
 * Besides these members, the memory of a module is needed, in one of two forms
 * (module_read_extent()). All other members may be missing.
 */
static const enum layout_member modules_needed[] = {
	MODULE_LIST,         MODULE_STATE,        MODULE_NAME,
	MODULE_KALLSYMS,     MOD_KALLSYMS_SYMTAB, MOD_KALLSYMS_SYMTAB_COUNT,
	MOD_KALLSYMS_STRTAB,
};

void modules_poll(struct modules *modules)
{
	const struct linux_guest *guest = modules->guest;
	struct module *list;
	size_t n;

	if (!guest->symbols[LINUX_MODULES] || !layout_has_all(&guest->layout, modules_needed))
		return;
	list = calloc(MODULES_MAX, sizeof(*list));
	if (!list)
		return;
	if (modules_walk(modules, list, &n))
		modules_update(modules, list, n);
	else
		free(list);
}
