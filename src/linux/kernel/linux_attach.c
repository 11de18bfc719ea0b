/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Learns everything about a Linux kernel, once for each boot:
 *
 *   registers ─► kernel_image.c ─► kallsyms ─► symbols, which lead to everything else:
 *                                  BTF ─► layout         (offsets of members)
 *                                  ORC ─► image->tables  (unwind tables)
 *                                  banner, build-id, page tables, direct map
 *
 * Each part may be missing: a kernel without BTF or ORC still has its names. About 14 MB are read,
 * in batches, and parsed as copies. The names of processes' functions need no unwind tables, 4 MB,
 * and not all types (kernel_types.h): the others are read for the first frame of the kernel, or a
 * second later. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/linux_attach.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "linux/kernel/arch.h"
#include "linux/kernel/exidx_tables.h"
#include "linux/kernel/hypercalls.h"
#include "linux/kernel/kernel_cache.h"
#include "linux/kernel/kernel_image.h"
#include "linux/kernel/kernel_types.h"
#include "linux/kernel/layout_32.h"
#include "linux/kernel/orc_tables.h"
#include "linux/kernel/search.h"
#include "xtop/base/cleanup.h"
#include "xtop/base/work.h"
#include "xtop/elf/elf.h"

#define LINUX_NOTES_MAX_BYTES 65536
/* most names that are searched, including the names of arch.h */
#define LINUX_MAX_NAMES 64

/* Symbols that are found by name; arch.h has those that only x86 needs. */
static const struct arch_name linux_names[] = {
	{ LINUX_TEXT, "_text" },
	{ LINUX_END, "_end" },
	{ LINUX_BANNER, "linux_banner" },
	{ LINUX_PAGE_TABLES, "swapper_pg_dir" },
	{ LINUX_MODULES, "modules" },
	{ LINUX_TIMEKEEPER, "tk_core" },
	{ LINUX_TIMEKEEPER, "timekeeper_data" }, /* Linux 6.17 and later */
	{ LINUX_PER_CPU_OFFSET, "__per_cpu_offset" },
	{ LINUX_RUNSTATE, "xen_runstate" },
	{ LINUX_ENTRY_TASK, "__entry_task" },
	{ LINUX_TICK_DEVICE, "tick_cpu_device" },
	{ LINUX_EVENT_CHANNELS, "xen_irq_list_head" },
	{ LINUX_BPF_KALLSYMS, "bpf_kallsyms" },
	{ LINUX_FTRACE_OPS, "ftrace_ops_trampoline_list" },
	{ LINUX_BTF_START, "__start_BTF" },
	{ LINUX_BTF_STOP, "__stop_BTF" },
	{ LINUX_INIT_TASK, "init_task" },
	{ LINUX_INIT_PID_NS, "init_pid_ns" },
	{ LINUX_LOG, "prb" },
	{ LINUX_NOTES_START, "__start_notes" },
	{ LINUX_NOTES_STOP, "__stop_notes" },
	{ LINUX_GET_PAGES, "__get_free_pages" },
	{ LINUX_GET_PAGES, "get_free_pages_noprof" }, /* Linux 6.10 and later */
	{ LINUX_IDLE_CPU, "idle_cpu" },
	{ LINUX_STACK_INFO, "dump_stack_print_info" },
	{ LINUX_PRINT_MODULES, "print_modules" },
	{ LINUX_GET_BPF, "bpf_get_kallsym" },
	{ LINUX_STOLEN, "xen_vcpu_stolen" },
	{ LINUX_EL0_SYNC, "el0_sync" }, /* up to 5.13 */
	{ LINUX_EL0_SYNC, "el0t_64_sync" },
	{ LINUX_EXIDX_START, "__start_unwind_idx" },
	{ LINUX_EXIDX_STOP, "__stop_unwind_idx" },
};
#define N_LINUX_NAMES (sizeof(linux_names) / sizeof(linux_names[0]))

/* --- symbols ---------------------------------------------------------------------------------- */

static size_t linux_add_names(const struct arch_name *names, size_t n_names,
			      struct kallsyms_wanted *wanted, enum linux_symbol *symbols, size_t n)
{
	assert(n + n_names <= LINUX_MAX_NAMES);
	for (size_t i = 0; i < n_names; i++, n++) {
		wanted[n] = (struct kallsyms_wanted){ .name = names[i].name };
		symbols[n] = names[i].symbol;
	}
	return n;
}

static bool linux_read_symbols(struct linux_kernel *kernel, const struct kallsyms *kallsyms)
{
	struct kallsyms_wanted wanted[LINUX_MAX_NAMES];
	enum linux_symbol symbols[LINUX_MAX_NAMES];
	struct symtab *tab = NULL;
	struct xtop_error *error;
	size_t n = 0;

	if (!root_is_arm(kernel->guest.root))
		n = linux_add_names(arch_names_x86, n_arch_names_x86, wanted, symbols, n);
	n = linux_add_names(linux_names, N_LINUX_NAMES, wanted, symbols, n);
	error = symtab_create(&tab);
	if (!error)
		symtab_set_work(tab, kernel->image->work);
	if (!error)
		error = kallsyms_decode(kallsyms, tab, wanted, n);
	if (!error)
		error = symtab_seal(tab);
	if (error) {
		error_destroy(error);
		symtab_destroy(tab);
		return false;
	}
	kernel->image->symtab = tab;
	kernel->guest.symbols[LINUX_TEXT] = kallsyms_text(kallsyms);
	for (size_t i = 0; i < n; i++)
		if (wanted[i].type)
			kernel->guest.symbols[symbols[i]] = wanted[i].address;
	/*
	 * Other memory may follow the image immediately. Without _end the image ends with the page
	 * of the last symbol.
	 */
	if (kernel->guest.root.width != WIDTH_64 && !kernel->guest.symbols[LINUX_END])
		kernel->guest.symbols[LINUX_END] =
			(kallsyms_last(kallsyms) | GUEST_PAGE_MASK) + 1;
	return true;
}

/* --- what kind of kernel ---------------------------------------------------------------------- */

/* Reads the third word of "Linux version 6.1.0-37-amd64 (...". */
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

/*
 * Copies the bytes from symbol FROM to symbol TO. Returns NULL if the kernel lacks a symbol, if the
 * symbols are more than MAX_BYTES apart, or if a page is missing.
 */
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
	struct elf_blob blob;
	size_t size_bytes = 0;

	notes = linux_read_between(&kernel->guest, LINUX_NOTES_START, LINUX_NOTES_STOP,
				   LINUX_NOTES_MAX_BYTES, &size_bytes);
	blob = (struct elf_blob){ .bytes = notes, .size_bytes = size_bytes };
	if (notes)
		elf_find_build_id_note(&blob, 4, kernel->guest.symbols[LINUX_NOTES_START],
				       &kernel->image->build_id);
}

/* --- types and unwind tables ------------------------------------------------------------------ */

static void linux_read_types(struct linux_guest *guest)
{
	/* The format of BTF supports only pointers of 8 bytes. */
	if (linux_is_short(guest))
		guest->has_layout = layout_32_find(guest, &guest->layout);
	else
		kernel_types_begin(guest);
}

/* --- address spaces --------------------------------------------------------------------------- */

/* The kernel address in the variable SYMBOL; OTHERWISE if there is no such address. */
static uint64_t linux_variable(const struct linux_guest *guest, enum linux_symbol symbol,
			       uint64_t otherwise)
{
	uint64_t value;

	if (!guest->symbols[symbol] || !linux_read_word(guest, guest->symbols[symbol], &value) ||
	    !linux_is_kernel_of(guest, value))
		return otherwise;
	return value;
}

/*
 * Finds the addresses of the kernel's memory, and the page tables that the kernel copies into every
 * process's tables: every kernel address can be read with them, whatever runs. Precondition:
 * symbols are known.
 */
static bool linux_find_memory(struct linux_kernel *kernel)
{
	struct linux_guest *guest = &kernel->guest;

	if (!arch_find_kernel_root(guest, &guest->root))
		return false;
	guest->text_start = guest->symbols[LINUX_TEXT];
	guest->text_end = guest->symbols[LINUX_END];
	guest->page_offset = linux_variable(guest, LINUX_PAGE_OFFSET,
					    arch_get_addresses(guest->root).page_offset);
	guest->vmemmap = linux_variable(guest, LINUX_VMEMMAP,
					arch_find_vmemmap(guest->root, kernel->release));
	return guest->text_start < guest->text_end;
}

bool linux_names_no_data(const struct linux_guest *guest)
{
	return !guest->symbols[LINUX_INIT_TASK]; /* every kernel has init_task */
}

/* Returns false if there is no Linux kernel, or if the work is over. */
static bool linux_read_all(struct linux_kernel *kernel, struct kernel_image *image)
{
	struct linux_guest *guest = &kernel->guest;
	const struct memory_range *ranges;
	struct kallsyms *kallsyms = NULL;
	bool found;
	size_t n;

	if (!kernel_image_find_kallsyms(image, &kallsyms))
		return false;
	found = linux_read_symbols(kernel, kallsyms);
	kallsyms_destroy(kallsyms);
	if (!found || work_is_over(kernel->image->work))
		return false;
	if (linux_names_no_data(guest)) {
		ranges = kernel_image_ranges(image, &n);
		search_symbols(guest, ranges, n);
	}
	if (!linux_read_release(kernel) || !linux_find_memory(kernel))
		return false;
	linux_read_build_id(kernel);
	linux_read_types(guest);
	return !work_is_over(kernel->image->work);
}

/*
 * Whether every table was read for which the kernel has symbols. A page that could not be mapped
 * now may be there at the next start, so a kernel that lacks a table is not stored.
 */
static bool linux_is_whole(const struct linux_kernel *kernel)
{
	const struct linux_guest *guest = &kernel->guest;

	return (guest->has_layout || !guest->symbols[LINUX_BTF_START]) && !guest->layout.partial &&
	       (kernel->image->tables.orc || !guest->symbols[LINUX_ORC_IP_START]);
}

/* Reads the release again. Returns false if the release is not the cached one. */
static bool linux_confirm_release(struct linux_kernel *kernel)
{
	char cached[sizeof(kernel->release)];

	memcpy(cached, kernel->release, sizeof(cached));
	return linux_read_release(kernel) && strcmp(cached, kernel->release) == 0;
}

static void linux_add_hypercalls(struct linux_kernel *kernel)
{
	if (kernel->image->tables.orc)
		hypercalls_add(&kernel->guest, kernel->image->tables.orc);
}

/* Reads the other types and the unwind tables, with which the kernel is whole. */
static void linux_read_tables(void *context, struct image *image)
{
	struct linux_kernel *kernel = context;

	kernel_types_end(&kernel->guest);
	image->tables.orc = orc_read_kernel(&kernel->guest, image->symtab);
	/* Another kernel may have been booted since the symbols were read. */
	if (linux_is_whole(kernel) && linux_is_there(kernel))
		kernel_cache_store(kernel->cache, kernel->uuid, kernel);
	linux_add_hypercalls(kernel);
}

/* Reads later what was put off. */
static void linux_await_tables(struct linux_kernel *kernel)
{
	if (kernel->guest.symbols[LINUX_ORC_IP_START] || kernel->guest.types)
		kernel->image->late = (struct image_late){ .tables = linux_read_tables,
							   .context = kernel };
	else
		linux_read_tables(kernel, kernel->image);
}

/*
 * Takes the kernel from the cache if the kernel was seen before. Otherwise reads the kernel from
 * guest memory, its unwind tables later.
 */
static bool linux_fill(struct linux_kernel *kernel, struct kernel_image *image,
		       struct kernel_cache *cache, const char *uuid)
{
	uint64_t text = kernel_image_text(image);
	uint64_t head_bytes = arch_get_addresses(kernel->guest.root).head_bytes;

	if (kernel_cache_load(cache, uuid, kernel, text) ||
	    (head_bytes && kernel_cache_load(cache, uuid, kernel, text - head_bytes))) {
		if (!linux_find_memory(kernel) || !linux_confirm_release(kernel))
			return false;
		linux_add_hypercalls(kernel);
		return true;
	}
	if (!linux_read_all(kernel, image))
		return false;
	kernel->cache = cache;
	snprintf(kernel->uuid, sizeof(kernel->uuid), "%s", uuid);
	linux_await_tables(kernel);
	return true;
}

bool linux_attach(const struct os_guest *guest, const struct registers *regs,
		  struct linux_kernel *kernel)
{
	struct kernel_image *image = kernel_image_find(guest->memory, regs);
	struct xtop_error *error;
	bool filled;

	*kernel = (struct linux_kernel){ .guest = { .memory = guest->memory,
						    .type = guest->type } };
	layout_init(&kernel->guest.layout);
	if (!image)
		return false;
	kernel->guest.root = kernel_image_root(image);
	error = image_create("[kernel]", &kernel->image);
	if (!error)
		kernel->image->work = memory_work(guest->memory);
	filled = !error && linux_fill(kernel, image, guest->kernel_cache, guest->uuid);
	if (filled)
		exidx_read_kernel(&kernel->guest, kernel->image);
	error_destroy(error);
	kernel_image_destroy(image);
	if (!filled)
		linux_detach(kernel);
	return filled;
}

void linux_detach(struct linux_kernel *kernel)
{
	if (kernel->image)
		kernel->image->late = (struct image_late){ .tables = NULL };
	image_unref(kernel->image);
	kernel->image = NULL;
	kernel_types_destroy(&kernel->guest);
}

/* --- whether the kernel still runs ------------------------------------------------------------ */

bool linux_is_there(const struct linux_kernel *kernel)
{
	struct linux_kernel now = { .guest = kernel->guest };

	return linux_read_release(&now) && strcmp(now.banner, kernel->banner) == 0;
}

/*
 * After a kexec the old kernel stays in memory, with its page tables, until the memory is needed.
 * So the vCPU's own page tables decide: they must map the banner's address to the banner's frame.
 * With page-table isolation a vCPU has user-mode tables in user mode and on the way into the
 * kernel. These tables do not map the banner: the answer is unknown then. One vCPU's answer is not
 * enough either: the vCPU's tables may belong to a process that has ended since, and may then
 * contain anything.
 */
enum os_runs linux_runs_on(const struct linux_kernel *kernel, const struct sample_vcpu *vcpu)
{
	const struct linux_guest *guest = &kernel->guest;
	struct memory_root root = walk_root(&vcpu->regs);
	uint64_t banner = guest->symbols[LINUX_BANNER];
	frame_t own, seen;

	if (!root.cr3 || vcpu->stack_cut == CUT_NO_PAGING ||
	    !memory_translate(guest->memory, guest->root, banner, &own))
		return OS_RUNS_UNKNOWN;
	if (memory_translate(guest->memory, root, banner, &seen))
		return seen.value == own.value ? OS_RUNS : OS_RUNS_NOT;
	return vcpu->user || arch_is_user_tables(root) ? OS_RUNS_UNKNOWN : OS_RUNS_NOT;
}
