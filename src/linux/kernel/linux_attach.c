/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Getting to know a Linux kernel, once a boot:
 *
 *   registers ─► kernel_image.c ─► kallsyms ─► symbols, and where all the rest is:
 *                                  BTF ─► layout         (types' offsets)
 *                                  ORC ─► image->tables  (unwind tables)
 *                                  banner, build-id, page tables, direct map
 *
 * Each may be missing: a kernel without BTF or ORC still has its names. About 14 MB are read, in
 * batches, and parsed as copies. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/linux_attach.h"

#include <stdlib.h>
#include <string.h>

#include "linux/kernel/kernel_cache.h"
#include "linux/kernel/kernel_image.h"
#include "linux/kernel/linux_search.h"
#include "linux/kernel/orc_tables.h"
#include "xtop/cleanup.h"
#include "xtop/elf.h"
#include "xtop/guest.h"
#include "xtop/walk.h"

#define LINUX_BTF_MAX_BYTES   (32U << 20)
#define LINUX_NOTES_MAX_BYTES 65536
#define LINUX_CR3_USER        0x1000 /* of page tables for user mode under isolation (kernel_image.c) */

/*
 * Of a direct map and a page array that are not randomised, with 4-level paging: Linux
 * Documentation/arch/x86/x86_64/mm.rst. Kernels with the variables do not need them.
 */
#define LINUX_PAGE_OFFSET_FIXED 0xffff888000000000
#define LINUX_VMEMMAP_FIXED     0xffffea0000000000

/* Symbols by enum linux_symbol; the second name is what other versions call it. */
static const struct {
	enum linux_symbol symbol;
	const char *name;
} linux_names[] = {
	{ LINUX_TEXT, "_text" },
	{ LINUX_ETEXT, "_etext" },
	{ LINUX_END, "_end" },
	{ LINUX_BANNER, "linux_banner" },
	{ LINUX_PAGE_TABLES, "init_top_pgt" },
	{ LINUX_PAGE_TABLES, "swapper_pg_dir" },
	{ LINUX_PER_CPU_OFFSET, "__per_cpu_offset" },
	{ LINUX_NR_CPU_IDS, "nr_cpu_ids" },
	{ LINUX_CURRENT_TASK, "current_task" },
	{ LINUX_PCPU_HOT, "pcpu_hot" },
	{ LINUX_TOP_OF_STACK, "cpu_current_top_of_stack" },
	{ LINUX_HARDIRQ_STACK, "hardirq_stack_ptr" },
	{ LINUX_TSS, "cpu_tss_rw" },
	{ LINUX_MODULES, "modules" },
	{ LINUX_BPF_KALLSYMS, "bpf_kallsyms" },
	{ LINUX_FTRACE_OPS, "ftrace_ops_trampoline_list" },
	{ LINUX_PAGE_OFFSET, "page_offset_base" },
	{ LINUX_VMEMMAP, "vmemmap_base" },
	{ LINUX_BTF_START, "__start_BTF" },
	{ LINUX_BTF_STOP, "__stop_BTF" },
	{ LINUX_ORC_IP_START, "__start_orc_unwind_ip" },
	{ LINUX_ORC_IP_STOP, "__stop_orc_unwind_ip" },
	{ LINUX_ORC_START, "__start_orc_unwind" },
	{ LINUX_ORC_STOP, "__stop_orc_unwind" },
	{ LINUX_ORC_HEADER, "__start_orc_header" },
	{ LINUX_THUNK_START, "__indirect_thunk_start" },
	{ LINUX_THUNK_END, "__indirect_thunk_end" },
	{ LINUX_INIT_TASK, "init_task" },
	{ LINUX_FRED, "asm_fred_entrypoint_user" },
	{ LINUX_NOTES_START, "__start_notes" },
	{ LINUX_NOTES_STOP, "__stop_notes" },
	{ LINUX_GETPID, "__x64_sys_getpid" },
	{ LINUX_GETPID, "sys_getpid" }, /* up to 4.16 */
	{ LINUX_ENTRY, "entry_SYSCALL_64" },
	{ LINUX_GET_PAGES, "__get_free_pages" },
	{ LINUX_GET_PAGES, "get_free_pages_noprof" }, /* from 6.10 */
	{ LINUX_PRINT_MODULES, "print_modules" },
	{ LINUX_GET_BPF, "bpf_get_kallsym" },
	{ LINUX_TIMER, "sysvec_apic_timer_interrupt" },
};
#define N_LINUX_NAMES (sizeof(linux_names) / sizeof(linux_names[0]))

/* --- symbols ---------------------------------------------------------------------------------- */

static bool linux_read_symbols(struct linux_kernel *kernel, const struct kallsyms *kallsyms)
{
	struct kallsyms_wanted wanted[N_LINUX_NAMES];
	struct symtab *tab = NULL;
	struct xtop_error *error;

	for (size_t i = 0; i < N_LINUX_NAMES; i++)
		wanted[i] = (struct kallsyms_wanted){ .name = linux_names[i].name };
	error = symtab_create(&tab);
	if (!error)
		error = kallsyms_decode(kallsyms, tab, wanted, N_LINUX_NAMES);
	if (!error)
		error = symtab_seal(tab);
	if (error) {
		error_destroy(error);
		symtab_destroy(tab);
		return false;
	}
	kernel->image->symtab = tab;
	kernel->guest.symbols[LINUX_TEXT] = kallsyms_text(kallsyms);
	for (size_t i = 0; i < N_LINUX_NAMES; i++)
		if (wanted[i].type)
			kernel->guest.symbols[linux_names[i].symbol] = wanted[i].address;
	return true;
}

/* --- what kind of kernel ---------------------------------------------------------------------- */

/* "Linux version 6.1.0-37-amd64 (...": the third word. */
static bool linux_read_release(struct linux_kernel *kernel)
{
	static const char head[] = "Linux version ";
	const struct linux_guest *guest = &kernel->guest;
	const char *release = kernel->banner + sizeof(head) - 1;

	memory_read_string(guest->memory, guest->root, guest->symbols[LINUX_BANNER], kernel->banner,
			   sizeof(kernel->banner));
	if (strncmp(kernel->banner, head, sizeof(head) - 1) != 0)
		return false;
	snprintf(kernel->release, sizeof(kernel->release), "%.*s", (int)strcspn(release, " "),
		 release);
	return true;
}

/* The bytes from symbol FROM to symbol TO; NULL: no such symbols, more than MAX_BYTES, or not all there. */
static uint8_t *linux_read_between(const struct linux_guest *guest, enum linux_symbol from,
				   enum linux_symbol to, size_t max_bytes, size_t *size_bytesp)
{
	uint64_t start = guest->symbols[from], size_bytes = guest->symbols[to] - start;
	uint8_t *bytes;

	if (!start || !guest->symbols[to] || size_bytes == 0 || size_bytes > max_bytes)
		return NULL;
	bytes = malloc(size_bytes);
	if (!bytes)
		return NULL;
	if (memory_read_bulk(guest->memory, guest->root, start, bytes, size_bytes) != size_bytes) {
		free(bytes);
		return NULL;
	}
	*size_bytesp = size_bytes;
	return bytes;
}

static void linux_read_build_id(struct linux_kernel *kernel)
{
	_cleanup_free_ uint8_t *notes = NULL;
	size_t size_bytes;

	notes = linux_read_between(&kernel->guest, LINUX_NOTES_START, LINUX_NOTES_STOP,
				   LINUX_NOTES_MAX_BYTES, &size_bytes);
	if (notes)
		elf_find_build_id_note(&(struct elf_blob){ .bytes = notes, .size_bytes = size_bytes },
				       4, kernel->guest.symbols[LINUX_NOTES_START],
				       &kernel->image->build_id);
}

/* --- types and unwind tables ------------------------------------------------------------------ */

/* Of damaged BTF what stands before the damage is there. */
static bool linux_is_layout(enum btf_result result)
{
	return result == BTF_OK || result == BTF_DAMAGED;
}

static void linux_read_types(struct linux_guest *guest)
{
	_cleanup_free_ uint8_t *blob = NULL;
	size_t size_bytes;

	blob = linux_read_between(guest, LINUX_BTF_START, LINUX_BTF_STOP, LINUX_BTF_MAX_BYTES,
				  &size_bytes);
	guest->has_layout =
		blob && linux_is_layout(layout_from_btf(blob, size_bytes, &guest->layout));
}

/* --- address spaces --------------------------------------------------------------------------- */

/*
 * The page tables every kernel address can be read by, whatever runs: the reference that tasks'
 * tables are made from.
 */
static bool linux_find_root(struct linux_guest *guest)
{
	frame_t frame;

	if (!guest->symbols[LINUX_PAGE_TABLES] ||
	    !memory_translate(guest->memory, guest->root, guest->symbols[LINUX_PAGE_TABLES],
			      &frame))
		return false;
	guest->root.cr3 = frame.value << GUEST_PAGE_SHIFT;
	return true;
}

static uint64_t linux_variable(const struct linux_guest *guest, enum linux_symbol symbol,
			       uint64_t otherwise)
{
	uint64_t value;

	if (!guest->symbols[symbol] || !linux_read_u64(guest, guest->symbols[symbol], &value) ||
	    !linux_is_kernel(value))
		return otherwise;
	return value;
}

/* Where things lie, once symbols are known. */
static bool linux_find_memory(struct linux_guest *guest)
{
	if (!linux_find_root(guest))
		return false;
	guest->text_start = guest->symbols[LINUX_TEXT];
	guest->text_end = guest->symbols[LINUX_END];
	guest->page_offset = linux_variable(guest, LINUX_PAGE_OFFSET, LINUX_PAGE_OFFSET_FIXED);
	guest->vmemmap = linux_variable(guest, LINUX_VMEMMAP, LINUX_VMEMMAP_FIXED);
	return guest->text_start < guest->text_end;
}

bool linux_names_no_data(const struct linux_guest *guest)
{
	return !guest->symbols[LINUX_INIT_TASK]; /* which every kernel has */
}

static void linux_search_image(struct linux_guest *guest, const struct kernel_image *image)
{
	const struct memory_range *ranges;
	size_t n;

	ranges = kernel_image_ranges(image, &n);
	linux_search(guest, ranges, n);
}

static bool linux_read_all(struct linux_kernel *kernel, struct kernel_image *image)
{
	struct linux_guest *guest = &kernel->guest;
	struct kallsyms *kallsyms = NULL;
	bool found;

	if (!kernel_image_find_kallsyms(image, &kallsyms))
		return false;
	found = linux_read_symbols(kernel, kallsyms);
	kallsyms_destroy(kallsyms);
	if (!found)
		return false;
	if (linux_names_no_data(guest))
		linux_search_image(guest, image);
	if (!linux_read_release(kernel) || !linux_find_memory(guest))
		return false;
	linux_read_build_id(kernel);
	linux_read_types(guest);
	kernel->image->tables.orc = orc_read_kernel(guest, kernel->image->symtab);
	return true;
}

/* Whether every table that the kernel says it has was read: what could not be mapped now may be later. */
static bool linux_is_whole(const struct linux_kernel *kernel)
{
	const struct linux_guest *guest = &kernel->guest;

	return (guest->has_layout || !guest->symbols[LINUX_BTF_START]) &&
	       (kernel->image->tables.orc || !guest->symbols[LINUX_ORC_IP_START]);
}

/* What came out of the cache is of the kernel that is there. */
static bool linux_is_release(struct linux_kernel *kernel)
{
	char cached[sizeof(kernel->release)];

	memcpy(cached, kernel->release, sizeof(cached));
	return linux_read_release(kernel) && strcmp(cached, kernel->release) == 0;
}

/* One that was met before, or a new one that is kept for the next time. */
static bool linux_fill(struct linux_kernel *kernel, struct kernel_image *image,
		       const struct kernel_shelf *shelf)
{
	if (kernel_cache_load(shelf, kernel, kernel_image_text(image)))
		return linux_find_memory(&kernel->guest) && linux_is_release(kernel);
	if (!linux_read_all(kernel, image))
		return false;
	if (linux_is_whole(kernel))
		kernel_cache_store(shelf, kernel);
	return true;
}

bool linux_attach(struct memory *memory, enum guest_type type, const struct registers *regs,
		  const struct kernel_shelf *shelf, struct linux_kernel *kernel)
{
	struct kernel_image *image = kernel_image_locate(memory, regs);
	struct xtop_error *error;
	bool filled;

	*kernel = (struct linux_kernel){ .guest = { .memory = memory, .type = type } };
	layout_init(&kernel->guest.layout);
	if (!image)
		return false;
	kernel->guest.root = kernel_image_root(image);
	error = image_create("[kernel]", &kernel->image);
	filled = !error && linux_fill(kernel, image, shelf);
	error_destroy(error);
	kernel_image_destroy(image);
	if (!filled)
		linux_detach(kernel);
	return filled;
}

bool linux_is_there(const struct linux_kernel *kernel)
{
	struct linux_kernel now = { .guest = kernel->guest };

	return linux_read_release(&now) && strcmp(now.banner, kernel->banner) == 0;
}

/*
 * After a kexec the kernel that was there lies where it lay, tables and all, until somebody needs its
 * memory: so what the vCPU's own page tables have at the banner's address counts. In user mode under
 * page-table isolation, and on the way in from there, they have nothing, which says nothing: tables
 * of user mode have the bit set (kernel_image.c). Those of a process that has ended since say
 * anything: one vCPU's word is not enough.
 */
enum linux_runs linux_runs_on(const struct linux_kernel *kernel, const struct sample_vcpu *vcpu)
{
	const struct linux_guest *guest = &kernel->guest;
	struct memory_root root = walk_root(&vcpu->regs);
	uint64_t banner = guest->symbols[LINUX_BANNER];
	frame_t own, seen;

	if (!root.cr3 || vcpu->cut == CUT_NO_PAGING ||
	    !memory_translate(guest->memory, guest->root, banner, &own))
		return LINUX_NOT_KNOWN;
	if (memory_translate(guest->memory, root, banner, &seen))
		return seen.value == own.value ? LINUX_RUNS : LINUX_RUNS_NOT;
	return vcpu->user || (root.cr3 & LINUX_CR3_USER) ? LINUX_NOT_KNOWN : LINUX_RUNS_NOT;
}

void linux_detach(struct linux_kernel *kernel)
{
	image_unref(kernel->image);
	kernel->image = NULL;
}
