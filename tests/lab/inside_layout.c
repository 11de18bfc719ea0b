/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places in the kernel: addresses that are found without names of data, members of structs that are
 * found without BTF, and what Xen tells a vCPU; see inside.c.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "inside.h"
#include "linux/kernel/kernel_image.h"
#include "linux/kernel/layout_32.h"
#include "linux/kernel/search.h"

/* --- linux_search(), as for a kernel without CONFIG_KALLSYMS_ALL ------------------------------ */

static const struct {
	enum linux_symbol symbol;
	const char *name;
} searched[] = {
	{ LINUX_END, "_end" },
	{ LINUX_BANNER, "linux_banner" },
	{ LINUX_PAGE_TABLES, "init_top_pgt" },
	{ LINUX_NOTES_START, "__start_notes" },
	{ LINUX_NOTES_STOP, "__stop_notes" },
	{ LINUX_BTF_START, "__start_BTF" },
	{ LINUX_BTF_STOP, "__stop_BTF" },
	{ LINUX_ORC_IP_START, "__start_orc_unwind_ip" },
	{ LINUX_ORC_IP_STOP, "__stop_orc_unwind_ip" },
	{ LINUX_ORC_START, "__start_orc_unwind" },
	{ LINUX_ORC_STOP, "__stop_orc_unwind" },
	{ LINUX_CURRENT_TASK, "current_task" },
	{ LINUX_TOP_OF_STACK, "cpu_current_top_of_stack" },
	{ LINUX_HARDIRQ_STACK, "hardirq_stack_ptr" },
	{ LINUX_PAGE_OFFSET, "page_offset_base" },
	{ LINUX_VMEMMAP, "vmemmap_base" },
	{ LINUX_MODULES, "modules" },
	{ LINUX_BPF_KALLSYMS, "bpf_kallsyms" },
};

/* The address by the symbols, and by BTF for those that are members of pcpu_hot. */
static uint64_t searched_told(const struct linux_guest *guest, enum linux_symbol symbol)
{
	enum layout_member hot = symbol == LINUX_CURRENT_TASK    ? PCPU_HOT_CURRENT
				 : symbol == LINUX_TOP_OF_STACK  ? PCPU_HOT_TOP_OF_STACK
				 : symbol == LINUX_HARDIRQ_STACK ? PCPU_HOT_HARDIRQ_STACK
								 : LAYOUT_MEMBERS;

	return guest->symbols[LINUX_PCPU_HOT] && hot != LAYOUT_MEMBERS
		       ? guest->symbols[LINUX_PCPU_HOT] + layout_offset(&guest->layout, hot)
		       : guest->symbols[symbol];
}

void inside_add_searched(struct inside *inside)
{
	struct kernel_image *image = kernel_image_find(inside->memory, &inside->regs);
	const struct linux_guest *told = &inside->kernel.guest;
	struct linux_guest found = *told;
	const struct memory_range *ranges;
	size_t n;

	if (!image)
		return;
	ranges = kernel_image_ranges(image, &n);
	memset(found.symbols, 0, sizeof(found.symbols));
	found.symbols[LINUX_TEXT] = told->symbols[LINUX_TEXT];
	for (int i = LINUX_FIRST_FUNCTION; i < N_LINUX_SYMBOLS; i++)
		found.symbols[i] = told->symbols[i];
	found.root = kernel_image_root(image);
	search_symbols(&found, ranges, n);
	for (size_t i = 0; i < sizeof(searched) / sizeof(searched[0]); i++)
		inside_add(inside, "%s %" PRIx64 " %" PRIx64, searched[i].name,
			   found.symbols[searched[i].symbol],
			   searched_told(told, searched[i].symbol));
	kernel_image_destroy(image);
}

/* struct vcpu_runstate_info (Xen 4.17 public/vcpu.h): 16 bytes, and the time in each state. */
void inside_add_runstate(struct inside *inside)
{
	static const char *const states[] = { "running", "runnable", "blocked", "offline" };
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t distance, ns;

	if (!linux_read_u64(guest, guest->symbols[LINUX_PER_CPU_OFFSET], &distance))
		return;
	for (unsigned i = 0; i < 4; i++)
		if (linux_read_u64(guest, guest->symbols[LINUX_RUNSTATE] + distance + 16 + 8 * i,
				   &ns))
			inside_add(inside, "%s %" PRIu64, states[i], ns);
}

/* What is found in a kernel of i386 without BTF, and the names that it leads to. */
void inside_add_members(struct inside *inside)
{
	static const struct {
		enum layout_member member;
		const char *name;
	} members[] = {
		{ TASK_COMM, "comm" },
		{ TASK_PID, "pid" },
		{ TASK_TGID, "tgid" },
		{ TASK_GROUP_LEADER, "group_leader" },
		{ TASK_STACK, "stack" },
		{ TASK_FLAGS, "flags" },
		{ TASK_MM, "mm" },
		{ TASK_START_TIME, "start_time" },
		{ MM_MT, "mm_mt" },
		{ MM_PGD, "pgd" },
		{ MM_MAP_COUNT, "map_count" },
		{ MM_TOTAL_VM, "total_vm" },
		{ MM_VDSO, "vdso" },
		{ VMA_FLAGS, "vm_flags" },
		{ VMA_PGOFF, "vm_pgoff" },
		{ VMA_FILE, "vm_file" },
		{ FILE_PATH, "f_path" },
		{ FILE_INODE, "f_inode" },
		{ INODE_SB, "i_sb" },
		{ INODE_MAPPING, "i_mapping" },
		{ INODE_INO, "i_ino" },
		{ INODE_SIZE, "i_size" },
		{ INODE_MTIME_SEC, "i_mtime" },
		{ PAGE_SIZEOF, "sizeof_page" },
	};
	const struct linux_guest *guest = &inside->kernel.guest;
	uint64_t task = layout_32_read_current(guest);
	char name[16] = "";

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (layout_has(&guest->layout, members[i].member))
			inside_add(inside, "members %s %u", members[i].name,
				   layout_offset(&guest->layout, members[i].member));
	if (task && layout_has(&guest->layout, TASK_COMM) &&
	    memory_read(guest->memory, guest->root, task + layout_offset(&guest->layout, TASK_COMM),
			name, sizeof(name)) == sizeof(name))
		inside_add(inside, "members current %" PRIx64 " %.15s", task, name);
}
