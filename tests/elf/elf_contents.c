/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "elf_contents.h"
#include "symbol/elf_frames.h"
#include "unwind/cfi_table.h"
#include "unwind/dwarf.h"
#include "xtop/base/cleanup.h"
#include "xtop/unwind/orc.h"

const struct elf_limits limits = { .symbols = 1 << 22,
				   .names_bytes = 1 << 30,
				   .sections = ELF_MAX_SECTIONS,
				   .frames_bytes = 256 << 20,
				   .inflated_bytes = 256 << 20 };

static void keep_message(struct contents *contents, struct xtop_error *error)
{
	if (error)
		snprintf(contents->message, sizeof(contents->message), "%s", error_message(error));
	error_destroy(error);
}

/* FILE was opened with ERROR. */
static void fill(struct contents *contents, struct elf_file *file, struct xtop_error *error)
{
	struct elf_frames frames;
	struct elf_symtab_counts counts;

	*contents = (struct contents){ 0 };
	must(symtab_create(&contents->tab));
	if (!error) {
		keep_message(contents, elf_read_symbols(file, contents->tab, &counts));
		elf_find_build_id(file, &contents->build_id);
		elf_get_loads(file, &contents->loads);
		elf_read_frames(file, &frames);
		must(unwind_tables_build_cfi(&contents->tables, &frames.sections));
		contents->tables.orc = elf_read_orc(file);
		elf_frames_deinit(&frames);
		contents->incomplete = file->incomplete;
	}
	keep_message(contents, error);
	must(symtab_seal(contents->tab));
	elf_file_deinit(file);
}

void contents_deinit(struct contents *contents)
{
	symtab_destroy(contents->tab);
	unwind_tables_deinit(&contents->tables);
}

void read_guest(struct contents *contents, const int *fd)
{
	struct bytes bytes = elf_image_file_bytes(fd);
	struct elf_file file = { 0 };
	struct xtop_error *error = elf_file_init_guest(&file, &bytes, "file", &limits);

	fill(contents, &file, error);
}

void read_host(struct contents *contents, int fd)
{
	struct elf_file file = { 0 };
	struct xtop_error *error = elf_file_init_host(&file, fd, "file", &limits);

	fill(contents, &file, error);
}

/* --- comparing -------------------------------------------------------------------------------- */

bool same_symbols(const struct symtab *a, const struct symtab *b)
{
	if (symtab_count(a) != symtab_count(b))
		return false;
	for (size_t i = 0; i < symtab_count(a); i++) {
		struct symtab_entry left = symtab_at(a, i), right = symtab_at(b, i);

		if (left.start != right.start || left.end != right.end ||
		    strcmp(left.name, right.name) != 0)
			return false;
	}
	return true;
}

static bool same_build_id(const struct build_id *a, const struct build_id *b)
{
	return a->size_bytes == b->size_bytes && a->address == b->address &&
	       memcmp(a->bytes, b->bytes, a->size_bytes) == 0;
}

static bool same_loads(const struct loads *a, const struct loads *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++)
		if (a->loads[i].offset != b->loads[i].offset ||
		    a->loads[i].address != b->loads[i].address ||
		    a->loads[i].file_bytes != b->loads[i].file_bytes ||
		    a->loads[i].executable != b->loads[i].executable)
			return false;
	return true;
}

static bool same_cfi(const struct cfi *a, const struct cfi *b)
{
	if (!a || !b)
		return a == b;
	return a->base == b->base && a->span == b->span && a->n_rows == b->n_rows &&
	       a->n_rules == b->n_rules && a->n_fdes == b->n_fdes && a->n_refused == b->n_refused &&
	       a->n_asks == b->n_asks &&
	       memcmp(a->addresses, b->addresses, a->n_rows * sizeof(*a->addresses)) == 0 &&
	       memcmp(a->row_rules, b->row_rules, a->n_rows * sizeof(*a->row_rules)) == 0 &&
	       memcmp(a->rules, b->rules, a->n_rules * sizeof(*a->rules)) == 0;
}

static bool same_orc(const struct orc *a, const struct orc *b)
{
	_cleanup_free_ void *left = NULL, *right = NULL;
	size_t size_bytes;

	if (!a || !b)
		return a == b;
	size_bytes = orc_pack_bytes(a);
	if (orc_pack_bytes(b) != size_bytes)
		return false;
	left = calloc(1, size_bytes);
	right = calloc(1, size_bytes);
	orc_pack(a, left);
	orc_pack(b, right);
	return memcmp(left, right, size_bytes) == 0;
}

bool same_tables(const struct unwind_tables *a, const struct unwind_tables *b)
{
	return same_cfi(a->cfi, b->cfi) && same_orc(a->orc, b->orc) && !a->dwarf == !b->dwarf &&
	       (!a->dwarf || dwarf_memory_bytes(a->dwarf) == dwarf_memory_bytes(b->dwarf));
}

void check_fd(const char *what, int fd, struct wanted wanted)
{
	struct contents guest, host;
	const struct cfi *cfi;
	size_t n_fdes;

	read_guest(&guest, &fd);
	read_host(&host, fd);
	cfi = host.tables.cfi;
	check(!*guest.message && !*host.message && !guest.incomplete && !host.incomplete,
	      "%s: both readers accept it%s%s", what, guest.message, host.message);
	n_fdes = cfi ? cfi->n_fdes : 0;
	check(symtab_count(host.tab) >= wanted.n_symbols && n_fdes >= wanted.n_fdes,
	      "%s: %zu symbols, %zu functions with CFI", what, symtab_count(host.tab), n_fdes);
	check(!wanted.build_id || host.build_id.size_bytes, "%s: a build-id if it has one", what);
	check(!wanted.orc || host.tables.orc, "%s: ORC tables if it has them", what);
	check(same_symbols(guest.tab, host.tab), "%s: both readers find the same symbols", what);
	check(same_build_id(&guest.build_id, &host.build_id),
	      "%s: both readers find the same build-id", what);
	check(same_loads(&guest.loads, &host.loads), "%s: both readers find the same segments",
	      what);
	check(same_tables(&guest.tables, &host.tables),
	      "%s: both readers find the same unwind tables", what);
	contents_deinit(&guest);
	contents_deinit(&host);
}

/* --- made files ------------------------------------------------------------------------------- */

const char made_names[43] = "\0.orc_unwind_ip\0.orc_unwind\0.debug_frame\0f";

#define TEXT    0xffffffff81000000ULL
#define IPS     0xffffffff82000000ULL
#define ENTRIES 0xffffffff82100000ULL
#define N       64
#define STEP    0x40

void add_section(struct elf_image *image, uint32_t name, uint64_t address, const void *bytes,
		 size_t size_bytes)
{
	elf_image_section(image,
			  (Elf64_Shdr){ .sh_name = name,
					.sh_type = SHT_PROGBITS,
					.sh_flags = SHF_ALLOC,
					.sh_addr = address,
					.sh_size = size_bytes,
					.sh_addralign = 1 },
			  bytes);
}

void make_kernel(struct elf_image *image)
{
	const Elf64_Sym f = { NAME_F, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, TEXT, 8 };
	struct {
		int16_t sp_offset, bp_offset;
		uint16_t flags;
	} entries[N];
	int32_t ips[N];

	for (int i = 0; i < N; i++) {
		ips[i] = (int32_t)(TEXT + i * STEP - (IPS + i * sizeof(ips[0])));
		entries[i].sp_offset = (int16_t)(8 * (i + 1));
		entries[i].bp_offset = 0;
		entries[i].flags = 0x0205;
	}
	elf_image_init(image);
	elf_image_text(image, TEXT, N * STEP);
	add_section(image, NAME_IPS, IPS, ips, sizeof(ips));
	add_section(image, NAME_ENTRIES, ENTRIES, entries, sizeof(entries));
	elf_image_symbols(image, SHT_SYMTAB, &f, 1, made_names, sizeof(made_names));
	image->header.e_shstrndx = 4; /* the names of sections are among those of symbols */
}
