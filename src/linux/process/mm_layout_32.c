/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds where a kernel of 32 bits, Linux 5.10 to 6.5 or a later one that is alike, keeps the
 * mappings of a process; see process_layout.h. Each member is recognised by its contents:
 *
 *   task_struct     mm, active_mm       the same pointer twice, before pid
 *   mm_struct       mm_mt               lock, ma_root: the root node's first word is the address of
 *                                       the tree, with bit 0 (lib/maple_tree.c MA_ROOT_PARENT).
 *                                       ma_flags may lie between them: in 6.5, not in 6.1
 *                   mmap                up to 6.0, the first word: an area that is the first of
 *                                       its list
 *                   pgd                 page tables that map the kernel and some of the areas
 *                   pgtables_bytes, map_count      whole pages, and the number of areas
 *                   total_vm .. exec_vm            the pages of all areas, and of those with code:
 *                                       five words apart, or six: between them is a number of 8
 *                                       bytes
 *                   context.vdso, vdso_image       an area that begins as an ELF file, and a struct
 *                                       that points to the kernel's own copy of it
 *   vm_area_struct  vm_start vm_end [vm_next vm_prev vm_rb rb_subtree_gap] vm_mm vm_page_prot
 *                   vm_flags .. vm_pgoff vm_file: in this order, and vm_page_prot has the size of
 *                   an entry of the page tables; members in brackets up to 6.0
 *
 * (Linux 5.10, 6.1 and 6.5 include/linux/{mm_types,maple_tree}.h,
 * arch/x86/include/asm/{mmu,vdso}.h.) The areas are accepted if the mm_struct has their number and
 * both sums of pages.
 *
 * Resolver's thread.
 */
#include "config.h"

#include "linux/process/process_layout.h"

#include "linux/kernel/arch.h"
#include "linux/process/xarray.h"

#define WORD              4
/* range before pid that is searched for mm, which is 100 before pid in 6.1 */
#define MM_BEFORE_PID     1024
#define MM_FRONT_BYTES    384  /* range of all members except the context: 6.1 needs 100 */
#define MM_BYTES          1024 /* 496 in 6.1, including the context */
#define MM_MAX_AREAS      4096 /* areas of a process that is tried */
#define MM_AREA_PAGES     16   /* pages of each area that are looked up */
#define MM_CODE_WORDS     3    /* distance of exec_vm from pinned_vm, which has 8 bytes */
#define MM_ATOMIC64       8    /* size and alignment of an atomic64_t */
#define MAPLE_ROOT_PARENT 1
#define MAPLE_NODE_MASK   UINT64_C(255)
#define VMA_STACK         0x100 /* VM_GROWSDOWN, Linux include/linux/mm.h */
#define VMA_OWN           0x100000 /* VM_ACCOUNT: may have pages that the process has changed */
#define VDSO_MAX_BYTES    (64U << 10)
#define ELF_MAGIC         0x464c457fU /* "\177ELF" */

/* --- the tree --------------------------------------------------------------------------------- */

/*
 * Whether a maple tree with its root at ROOT_AT is at ADDRESS. The root is a node, because a
 * process has several areas.
 */
static bool mm_is_tree(const struct process_trial *trial, uint64_t address, unsigned root_at)
{
	uint64_t root = process_trial_word(trial, address + root_at);

	return xarray_is_node(root) && process_trial_word(trial, root & ~MAPLE_NODE_MASK) ==
					       (address | MAPLE_ROOT_PARENT);
}

static bool mm_find_tree(struct process_trial *trial)
{
	for (unsigned offset = 0; offset < MM_FRONT_BYTES; offset += WORD)
		for (unsigned root_at = WORD; root_at <= 2 * WORD; root_at += WORD)
			if (mm_is_tree(trial, trial->mm + offset, root_at)) {
				process_trial_set(trial, MM_MT, offset);
				process_trial_set(trial, MAPLE_ROOT, root_at);
				return true;
			}
	return false;
}

#define VMA_LIST_MM (8 * WORD) /* offset of vm_mm in kernels with a list of areas */

/*
 * Finds the list of areas. The first area must name its mm_struct, and the second area the first.
 */
static bool mm_find_list(struct process_trial *trial)
{
	uint64_t first = process_trial_word(trial, trial->mm);
	uint64_t next = process_trial_word(trial, first + 2 * WORD);

	if (process_trial_word(trial, first + VMA_LIST_MM) != trial->mm ||
	    process_trial_word(trial, first + 3 * WORD) ||
	    process_trial_word(trial, next + 3 * WORD) != first)
		return false;
	process_trial_set(trial, MM_MMAP, 0);
	process_trial_set(trial, VMA_NEXT, 2 * WORD);
	return true;
}

static bool mm_find(struct process_trial *trial)
{
	unsigned end = layout_offset(&trial->guest.layout, TASK_PID) / WORD * WORD;
	unsigned start = end > MM_BEFORE_PID ? end - MM_BEFORE_PID : 0;

	for (unsigned offset = start; offset < end; offset += WORD) {
		trial->mm = process_trial_word(trial, trial->task + offset);
		if (process_trial_is_pointer(trial, trial->mm) &&
		    process_trial_word(trial, trial->task + offset + WORD) == trial->mm &&
		    (mm_find_list(trial) || mm_find_tree(trial))) {
			process_trial_set(trial, TASK_MM, offset);
			return true;
		}
	}
	return false;
}

/* --- the areas -------------------------------------------------------------------------------- */

static void mm_set_areas(struct process_trial *trial)
{
	bool is_list = layout_has(&trial->guest.layout, MM_MMAP);
	unsigned prot = (is_list ? VMA_LIST_MM : 2 * WORD) + WORD;
	struct memory_root root = trial->guest.root;
	bool is_wide = root_is_arm(root) ? root.arm64.is_long : root.width == WIDTH_32_PAE;
	unsigned flags = is_wide ? process_trial_wide(trial, prot) + 8 : prot + WORD;

	process_trial_set(trial, MAPLE_R64_PIVOT, WORD);
	process_trial_set(trial, MAPLE_R64_SLOT, WORD + 31 * WORD);
	process_trial_set(trial, MAPLE_A64_PIVOT, WORD);
	process_trial_set(trial, MAPLE_A64_SLOT, WORD + 20 * WORD);
	process_trial_set(trial, VMA_START, 0);
	process_trial_set(trial, VMA_END, WORD);
	process_trial_set(trial, VMA_FLAGS, flags);
	/* Between vm_flags and vm_pgoff: shared, anon_vma_chain, anon_vma, vm_ops. */
	process_trial_set(trial, VMA_PGOFF, flags + 9 * WORD);
	process_trial_set(trial, VMA_FILE, flags + 10 * WORD);
}

static bool mm_visit(void *context, const struct vma *vma)
{
	struct process_trial *trial = context;
	uint64_t n_pages = (vma->end - vma->start) >> GUEST_PAGE_SHIFT;
	bool writable = vma->flags & VMA_WRITE, code = vma->flags & VMA_EXEC;

	trial->n++;
	trial->n_pages += n_pages;
	if (code && !writable && !(vma->flags & VMA_STACK))
		trial->n_code_pages += n_pages;
	if (vma->file && !writable && !(vma->flags & VMA_OWN) &&
	    trial->n_areas < PROCESS_TRIAL_AREAS)
		trial->areas[trial->n_areas++] = *vma;
	if (!vma->file && code && !writable)
		trial->vdso = vma->start;
	return trial->n <= MM_MAX_AREAS;
}

/* --- members of the mm_struct ----------------------------------------------------------------- */

static uint64_t mm_word(const struct process_trial *trial, unsigned offset)
{
	return process_trial_word(trial, trial->mm + offset);
}

static bool mm_find_count(struct process_trial *trial)
{
	for (unsigned offset = WORD; offset < MM_FRONT_BYTES; offset += WORD) {
		uint64_t tables = mm_word(trial, offset - WORD);

		if (tables && tables < KERNEL_32_START && tables % GUEST_PAGE_SIZE == 0 &&
		    mm_word(trial, offset) == trial->n) {
			process_trial_set(trial, MM_MAP_COUNT, offset);
			return true;
		}
	}
	return false;
}

/*
 * Whether total_vm is at OFFSET: locked_vm pinned_vm data_vm exec_vm follow. pinned_vm, an
 * atomic64_t, is at a multiple of 8 on i386, too. If a word is free before pinned_vm, hiwater_vm
 * could be mistaken for total_vm: it is the word before total_vm, and mostly has the same value. So
 * in that case a process that has locked pages is not accepted.
 */
static bool mm_is_total(const struct process_trial *trial, unsigned offset)
{
	unsigned pinned = offset + 2 * WORD;

	if (mm_word(trial, offset) != trial->n_pages)
		return false;
	if (pinned % MM_ATOMIC64) {
		if (mm_word(trial, offset + WORD))
			return false;
		pinned += WORD;
	}
	return mm_word(trial, pinned + MM_CODE_WORDS * WORD) == trial->n_code_pages;
}

static bool mm_find_total(struct process_trial *trial)
{
	for (unsigned offset = 0; offset < MM_FRONT_BYTES; offset += WORD)
		if (mm_is_total(trial, offset)) {
			process_trial_set(trial, MM_TOTAL_VM, offset);
			return true;
		}
	return false;
}

/*
 * Whether ADDRESS has the same frame under both roots. On Arm a process's top table has a copy of
 * the entries that TTBR1 leads to.
 */
static bool mm_is_same_frame(const struct process_trial *trial, uint64_t address)
{
	struct memory_root root = trial->root;
	frame_t own, kernels;

	if (root_is_arm(root))
		root.arm64.size1 = 0;
	return memory_translate(trial->guest.memory, root, address, &own) &&
	       memory_translate(trial->guest.memory, trial->guest.root, address, &kernels) &&
	       own.value == kernels.value;
}

/* Whether trial->root maps a page of an area. */
static bool mm_has_pages(const struct process_trial *trial)
{
	frame_t frame;

	for (size_t i = 0; i < trial->n_areas; i++)
		for (uint64_t at = trial->areas[i].start; at < trial->areas[i].end &&
			at - trial->areas[i].start < MM_AREA_PAGES * GUEST_PAGE_SIZE;
		     at += GUEST_PAGE_SIZE)
			if (memory_translate(trial->guest.memory, trial->root, at, &frame))
				return true;
	return false;
}

static bool mm_find_tables(struct process_trial *trial)
{
	const struct linux_guest *guest = &trial->guest;

	for (unsigned offset = 0; offset < MM_FRONT_BYTES; offset += WORD) {
		uint64_t tables = mm_word(trial, offset);

		if (!process_trial_is_pointer(trial, tables) ||
		    !arch_read_root(guest, tables, &trial->root))
			continue;
		if (mm_is_same_frame(trial, guest->symbols[LINUX_TEXT]) &&
		    mm_is_same_frame(trial, tables) && mm_has_pages(trial)) {
			process_trial_set(trial, MM_PGD, offset);
			return true;
		}
	}
	return false;
}

/* Finds the vDSO, if the process has one. */
static void mm_find_vdso(struct process_trial *trial)
{
	for (unsigned offset = 0; trial->vdso && offset < MM_BYTES; offset += WORD) {
		uint64_t image, data, size;

		if (mm_word(trial, offset) != trial->vdso)
			continue;
		image = mm_word(trial, offset + WORD);
		data = process_trial_word(trial, image);
		size = process_trial_word(trial, image + WORD);
		if (process_trial_word(trial, data) == ELF_MAGIC && size <= VDSO_MAX_BYTES) {
			process_trial_set(trial, MM_VDSO, offset);
			process_trial_set(trial, MM_VDSO_IMAGE, offset + WORD);
			process_trial_set(trial, VDSO_IMAGE_DATA, 0);
			process_trial_set(trial, VDSO_IMAGE_SIZE, WORD);
			return;
		}
	}
}

bool mm_layout_32_find(struct process_trial *trial)
{
	if (!mm_find(trial))
		return false;
	mm_set_areas(trial);
	if (vmas_walk(&trial->guest, trial->mm, mm_visit, trial) != VMAS_DONE ||
	    !mm_find_count(trial) || !mm_find_total(trial) || !mm_find_tables(trial))
		return false;
	mm_find_vdso(trial);
	return true;
}
