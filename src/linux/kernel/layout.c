/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of all kernel structs and members that xtop reads, and the search for them in BTF.
 * Resolver's thread.
 *
 * An entry names a struct and a path in it, or several paths with bars between them: the first
 * existing path is used. The entry has the member's size where readers depend on the size. A member
 * of another size has another meaning under the old name, and counts as missing.
 *
 * Several structs may have the same name: a name in C belongs to one source file, and drivers use
 * common names (`struct irq_info` is three structs in 5.10 to 7.3). Then the struct with most of
 * the members in the table is used.
 *
 * Names that changed, and in which version of Linux:
 *
 *   mm_struct    mmap > mm_mt 6.1, d4af56c5c7c6, 763ecb035029; mm_lock_seq 6.4, 5e31275cc997
 *   vm_area_...  vm_flags in a union 6.3, bc292ab00f6c; vma_flags_t beside it 6.19, 9ea35a25d51b
 *   file         f_path in a union with __f_path 6.18
 *   dentry       d_name in a union with __d_name 6.18
 *   inode        i_mtime > __i_mtime 6.7, 12cd44023651 > i_mtime_sec, i_mtime_nsec 6.11,
 *                3aa63a569c64
 *   page         index > __folio_index 6.16, acc53a0b4c15; folio.index 5.16, 7b230db3b8d3
 *   module       core_layout > mem[] 6.4, ac3b43283923
 *   orc_entry    signal 6.3, ffb1b4a41016; end gone 6.4, fb799447ae29
 *   pcpu_hot     6.2, e57ef2ed97c1, to 6.14
 *   kernfs_node  parent > __parent 6.15, 633488947ef6
 *   task_struct  state > __state 5.14, 2f064a59a11f; pid_links 4.19, 2c4704756cab;
 *                cpu > thread_info.cpu 5.16, bcf9033e5449; on_cpu is one byte in 7.3, four in 6.18
 *   mount        mnt_instance, a list_head > mnt_next_for_sb, a pointer; the same for s_mounts of
 *                super_block: before 7.3
 *   rt_mutex     owner > rtmutex.owner 5.15, 830e6acc8a1c
 */
#include "config.h"

#include "linux/kernel/layout.h"

#include <assert.h>
#include <string.h>

#include "xtop/base/hash.h"

#define LAYOUT_MAX_STRUCTS 64

enum layout_what {
	LAYOUT_BYTES, /* offset of a member */
	LAYOUT_BITS,
	LAYOUT_WIDTH,
	LAYOUT_SIZEOF,
};

struct layout_entry {
	const char *type, *paths;
	enum layout_what what;
	unsigned bytes; /* size of the member; 0 if any size will do */
};

/* clang-format off */
#define AT(type, paths, bytes)	{ type, paths, LAYOUT_BYTES, bytes }
#define BITS(type, path)	{ type, path, LAYOUT_BITS, 0 }
#define WIDTH(type, path)	{ type, path, LAYOUT_WIDTH, 0 }
#define SIZEOF(type)		{ type, "", LAYOUT_SIZEOF, 0 }

static const struct layout_entry layout_entries[LAYOUT_MEMBERS] = {
	[TASK_COMM]		= AT("task_struct", "comm", 16),
	[TASK_PID]		= AT("task_struct", "pid", 4),
	[TASK_TGID]		= AT("task_struct", "tgid", 4),
	[TASK_MM]		= AT("task_struct", "mm", 8),
	[TASK_STACK]		= AT("task_struct", "stack", 8),
	[TASK_FLAGS]		= AT("task_struct", "flags", 4),
	[TASK_GROUP_LEADER]	= AT("task_struct", "group_leader", 8),
	[TASK_REAL_PARENT]	= AT("task_struct", "real_parent", 8),
	[TASK_START_TIME]	= AT("task_struct", "start_time", 8),
	[TASK_SELF_EXEC_ID]	= AT("task_struct", "self_exec_id", 0),
	[TASK_THREAD_PID]	= AT("task_struct", "thread_pid", 8),

	[TASK_STATE]		= AT("task_struct", "__state|state", 0),
	[TASK_EXIT_STATE]	= AT("task_struct", "exit_state", 4),
	[TASK_ON_CPU]		= AT("task_struct", "on_cpu", 0),
	[TASK_SWITCHES]		= AT("task_struct", "nvcsw", 8),
	[TASK_PREEMPTIONS]	= AT("task_struct", "nivcsw", 8),
	[TASK_RUN_DELAY]	= AT("task_struct", "sched_info.run_delay", 8),
	[TASK_LAST_ARRIVAL]	= AT("task_struct", "sched_info.last_arrival", 8),
	[TASK_LAST_QUEUED]	= AT("task_struct", "sched_info.last_queued", 8),
	[TASK_RUN_SUM]		= AT("task_struct", "se.sum_exec_runtime", 8),
	[TASK_RUN_SUM_THEN]	= AT("task_struct", "se.prev_sum_exec_runtime", 8),
	[TASK_SP]		= AT("task_struct", "thread.sp|thread.cpu_context.sp", 8),
	[TASK_CONTEXT]		= AT("task_struct", "thread.cpu_context", 104),
	[TASK_PID_LINKS]	= AT("task_struct", "pid_links", 0),
	[PID_TASKS]		= AT("pid", "tasks", 0),
	[PID_NS_IDR]		= AT("pid_namespace", "idr.idr_rt", 0),

	[TASK_CPU]		= AT("task_struct", "thread_info.cpu|cpu", 4),

	[TASK_BLOCKER]		= AT("task_struct", "blocker", 8),
	[TASK_BLOCKED_ON]	= AT("task_struct", "blocked_on", 8),
	[TASK_PI_BLOCKED_ON]	= AT("task_struct", "pi_blocked_on", 8),
	[MUTEX_OWNER]		= AT("mutex", "owner", 8),
	[MUTEX_WAIT_LIST]	= AT("mutex", "wait_list", 16),
	[MUTEX_WAITER_LIST]	= AT("mutex_waiter", "list", 16),
	[MUTEX_WAITER_TASK]	= AT("mutex_waiter", "task", 8),
	[RWSEM_COUNT]		= AT("rw_semaphore", "count", 8),
	[RWSEM_OWNER]		= AT("rw_semaphore", "owner", 8),
	[RWSEM_WAIT_LIST]	= AT("rw_semaphore", "wait_list", 16),
	[RWSEM_WAITER_LIST]	= AT("rwsem_waiter", "list", 16),
	[RWSEM_WAITER_TASK]	= AT("rwsem_waiter", "task", 8),
	[SEMAPHORE_WAIT_LIST]	= AT("semaphore", "wait_list", 16),
	[SEMAPHORE_WAITER_LIST]	= AT("semaphore_waiter", "list", 16),
	[SEMAPHORE_WAITER_TASK]	= AT("semaphore_waiter", "task", 8),
	[SEMAPHORE_LAST_HOLDER]	= AT("semaphore", "last_holder", 8),
	[PERCPU_RWSEM_WAIT_LIST] = AT("percpu_rw_semaphore", "waiters.head", 16),
	[PERCPU_RWSEM_WRITER]	= AT("percpu_rw_semaphore", "writer.task", 8),
	[PERCPU_RWSEM_BLOCK]	= AT("percpu_rw_semaphore", "block", 4),
	[WAIT_ENTRY_LIST]	= AT("wait_queue_entry", "entry", 16),
	[WAIT_ENTRY_TASK]	= AT("wait_queue_entry", "private", 8),
	[RT_MUTEX_OWNER]	= AT("rt_mutex", "rtmutex.owner|owner", 8),
	[RT_MUTEX_WAITER_LOCK]	= AT("rt_mutex_waiter", "lock", 8),
	[MM_MMAP_LOCK]		= AT("mm_struct", "mmap_lock", 0),
	[MM_OWNER]		= AT("mm_struct", "owner", 8),
	[INODE_RWSEM]		= AT("inode", "i_rwsem", 0),
	[INODE_MMAP_RWSEM]	= AT("inode", "i_data.i_mmap_rwsem", 0),
	[INODE_INVALIDATE_LOCK]	= AT("inode", "i_data.invalidate_lock", 0),
	[INODE_DATA]		= AT("inode", "i_data", 0),
	[INODE_DENTRIES]	= AT("inode", "i_dentry", 8),
	[DENTRY_ALIAS]		= AT("dentry", "d_u.d_alias|d_alias", 16),
	[UPID_NS]		= AT("upid", "ns", 8),

	[PID_LEVEL]		= AT("pid", "level", 4),
	[PID_NUMBERS]		= AT("pid", "numbers", 0),
	[UPID_SIZEOF]		= SIZEOF("upid"),
	[UPID_NR]		= AT("upid", "nr", 4),

	[MM_PGD]		= AT("mm_struct", "pgd", 8),
	[MM_MMAP]		= AT("mm_struct", "mmap", 8),
	[MM_MT]			= AT("mm_struct", "mm_mt", 0),
	[MM_MAP_COUNT]		= AT("mm_struct", "map_count", 4),
	[MM_TOTAL_VM]		= AT("mm_struct", "total_vm", 8),
	[MM_LOCK_SEQ]		= AT("mm_struct", "mm_lock_seq", 0),
	[MM_VDSO]		= AT("mm_struct", "context.vdso", 8),
	[MM_VDSO_IMAGE]		= AT("mm_struct", "context.vdso_image", 8),
	[VDSO_IMAGE_DATA]	= AT("vdso_image", "data", 8),
	[VDSO_IMAGE_SIZE]	= AT("vdso_image", "size", 8),
	[MM_START_STACK]	= AT("mm_struct", "start_stack", 8),
	[MM_START_BRK]		= AT("mm_struct", "start_brk", 8),
	[MAPLE_ROOT]		= AT("maple_tree", "ma_root", 8),
	[MAPLE_R64_PIVOT]	= AT("maple_node", "mr64.pivot", 0),
	[MAPLE_R64_SLOT]	= AT("maple_node", "mr64.slot", 0),
	[MAPLE_A64_PIVOT]	= AT("maple_node", "ma64.pivot", 0),
	[MAPLE_A64_SLOT]	= AT("maple_node", "ma64.slot", 0),
	[VMA_START]		= AT("vm_area_struct", "vm_start", 8),
	[VMA_END]		= AT("vm_area_struct", "vm_end", 8),
	[VMA_NEXT]		= AT("vm_area_struct", "vm_next", 8),
	[VMA_FLAGS]		= AT("vm_area_struct", "vm_flags|__vm_flags|flags", 0),
	[VMA_PGOFF]		= AT("vm_area_struct", "vm_pgoff", 8),
	[VMA_FILE]		= AT("vm_area_struct", "vm_file", 8),

	[FILE_PATH]		= AT("file", "f_path|__f_path", 16),
	[FILE_INODE]		= AT("file", "f_inode", 8),
	[FILE_MODE]		= AT("file", "f_mode", 4),
	[BACKING_FILE_USER_PATH] = AT("backing_file", "user_path", 16),
	[PATH_MNT]		= AT("path", "mnt", 8),
	[PATH_DENTRY]		= AT("path", "dentry", 8),
	[DENTRY_PARENT]		= AT("dentry", "d_parent", 8),
	[DENTRY_NAME]		= AT("dentry", "d_name.name|__d_name.name", 8),
	[DENTRY_NAME_LEN]	= AT("dentry", "d_name.len|__d_name.len", 4),
	[DENTRY_INODE]		= AT("dentry", "d_inode", 8),
	[DENTRY_HASH_PPREV]	= AT("dentry", "d_hash.pprev", 8),
	[DENTRY_CHILDREN]	= AT("dentry", "d_children", 8),
	[DENTRY_SIB]		= AT("dentry", "d_sib", 16),
	[DENTRY_SUBDIRS]	= AT("dentry", "d_subdirs", 16),
	[DENTRY_CHILD]		= AT("dentry", "d_child|d_u.d_child", 16),
	[VFSMOUNT_ROOT]		= AT("vfsmount", "mnt_root", 8),
	[MOUNT_MNT]		= AT("mount", "mnt", 0),
	[MOUNT_PARENT]		= AT("mount", "mnt_parent", 8),
	[MOUNT_MOUNTPOINT]	= AT("mount", "mnt_mountpoint", 8),
	[MOUNT_MOUNTS]		= AT("mount", "mnt_mounts", 16),
	[MOUNT_CHILD]		= AT("mount", "mnt_child", 16),
	[MOUNT_OF_SUPER]	= AT("mount", "mnt_instance", 16),
	[SUPER_MOUNTS]		= AT("super_block", "s_mounts", 16),
	[MOUNT_NEXT_OF_SUPER]	= AT("mount", "mnt_next_for_sb", 8),
	[SUPER_FIRST_MOUNT]	= AT("super_block", "s_mounts", 8),
	[TASK_FS]		= AT("task_struct", "fs", 8),
	[FS_ROOT]		= AT("fs_struct", "root", 16),

	[INODE_SIZE]		= AT("inode", "i_size", 8),
	[INODE_SB]		= AT("inode", "i_sb", 8),
	[INODE_INO]		= AT("inode", "i_ino", 8),
	[INODE_MAPPING]		= AT("inode", "i_mapping", 8),
	[INODE_GENERATION]	= AT("inode", "i_generation", 4),
	[INODE_MTIME_SEC]	= AT("inode", "i_mtime_sec|__i_mtime.tv_sec|i_mtime.tv_sec", 8),
	[INODE_MTIME_NSEC]	= AT("inode", "i_mtime_nsec|__i_mtime.tv_nsec|i_mtime.tv_nsec", 0),
	[MAPPING_PAGES]		= AT("address_space", "i_pages", 0),
	[XARRAY_HEAD]		= AT("xarray", "xa_head", 8),
	[XA_NODE_SHIFT]		= AT("xa_node", "shift", 1),
	[XA_NODE_SLOTS]		= AT("xa_node", "slots", 0),
	[PAGE_SIZEOF]		= SIZEOF("page"),
	[PAGE_INDEX]		= AT("page", "index|__folio_index", 8),
	[FOLIO_INDEX]		= AT("folio", "index", 8),

	[MODULE_STATE]		= AT("module", "state", 4),
	[MODULE_LIST]		= AT("module", "list", 16),
	[MODULE_NAME]		= AT("module", "name", 0),
	[MODULE_CORE_BASE]	= AT("module", "core_layout.base", 8),
	[MODULE_CORE_TEXT_SIZE]	= AT("module", "core_layout.text_size", 4),
	[MODULE_MEM]		= AT("module", "mem", 0),
	[MODULE_MEM_BASE]	= AT("module_memory", "base", 8),
	[MODULE_MEM_SIZE]	= AT("module_memory", "size", 4),
	[MODULE_ORC_COUNT]	= AT("module", "arch.num_orcs", 4),
	[MODULE_ORC_IP]		= AT("module", "arch.orc_unwind_ip", 8),
	[MODULE_ORC]		= AT("module", "arch.orc_unwind", 8),
	[MODULE_NOTES]		= AT("module", "notes_attrs", 8),
	[MODULE_NOTES_ATTRIBUTES] = AT("module_notes_attrs", "attrs", 0),
	[BIN_ATTRIBUTE_SIZE]	= AT("bin_attribute", "size", 8),
	[BIN_ATTRIBUTE_PRIVATE]	= AT("bin_attribute", "private", 8),
	[BIN_ATTRIBUTE_SIZEOF]	= SIZEOF("bin_attribute"),
	[MODULE_KALLSYMS]	= AT("module", "kallsyms", 8),
	[MOD_KALLSYMS_SYMTAB]	= AT("mod_kallsyms", "symtab", 8),
	[MOD_KALLSYMS_SYMTAB_COUNT] = AT("mod_kallsyms", "num_symtab", 4),
	[MOD_KALLSYMS_STRTAB]	= AT("mod_kallsyms", "strtab", 8),

	[BPF_KSYM_START]	= AT("bpf_ksym", "start", 8),
	[BPF_KSYM_END]		= AT("bpf_ksym", "end", 8),
	[BPF_KSYM_NAME]		= AT("bpf_ksym", "name", 0),
	[BPF_KSYM_LIST]		= AT("bpf_ksym", "lnode", 16),
	[FTRACE_OPS_TRAMPOLINE]	= AT("ftrace_ops", "trampoline", 8),
	[FTRACE_OPS_TRAMPOLINE_SIZE] = AT("ftrace_ops", "trampoline_size", 8),
	[FTRACE_OPS_LIST]	= AT("ftrace_ops", "list", 16),

	[PCPU_HOT_CURRENT]	= AT("pcpu_hot", "current_task", 8),
	[PCPU_HOT_TOP_OF_STACK]	= AT("pcpu_hot", "top_of_stack", 8),
	[PCPU_HOT_HARDIRQ_STACK] = AT("pcpu_hot", "hardirq_stack_ptr", 8),
	[TLB_STATE_LOADED_MM]	= AT("tlb_state", "loaded_mm", 8),
	[IRQ_STACK_SIZEOF]	= SIZEOF("irq_stack"),
	[PT_REGS_SIZEOF]	= SIZEOF("pt_regs"),
	[ORC_SP_REG_BITS]	= BITS("orc_entry", "sp_reg"),
	[ORC_BP_REG_BITS]	= BITS("orc_entry", "bp_reg"),
	[ORC_TYPE_BITS]		= BITS("orc_entry", "type"),
	[ORC_TYPE_WIDTH]	= WIDTH("orc_entry", "type"),
	[ORC_SIGNAL_BITS]	= BITS("orc_entry", "signal"),
	[ORC_END_BITS]		= BITS("orc_entry", "end"),

	[SEQCOUNT_SIZEOF]	= SIZEOF("seqcount_raw_spinlock"),
	[TK_DATA_TIMEKEEPER]	= AT("tk_data", "timekeeper", 0),
	[TIMEKEEPER_MONO]	= AT("timekeeper", "tkr_mono", 0),
	[TIMEKEEPER_OFFS_REAL]	= AT("timekeeper", "offs_real", 8),
	[TKR_CLOCK]		= AT("tk_read_base", "clock", 8),
	[TKR_MASK]		= AT("tk_read_base", "mask", 8),
	[TKR_CYCLE_LAST]	= AT("tk_read_base", "cycle_last", 8),
	[TKR_MULT]		= AT("tk_read_base", "mult", 4),
	[TKR_SHIFT]		= AT("tk_read_base", "shift", 4),
	[TKR_XTIME_NSEC]	= AT("tk_read_base", "xtime_nsec", 8),
	[TKR_BASE]		= AT("tk_read_base", "base", 8),
	[TICK_DEVICE_EVENTS]	= AT("tick_device", "evtdev", 8),
	[EVENT_DEVICE_NEXT]	= AT("clock_event_device", "next_event", 8),
	[IRQ_INFO_LIST]		= AT("irq_info", "list", 16),
	[IRQ_INFO_TYPE]		= AT("irq_info", "type", 2),
	[IRQ_INFO_PORT]		= AT("irq_info", "evtchn", 4),
	[IRQ_INFO_CPU]		= AT("irq_info", "cpu", 2),
	[IRQ_INFO_VIRQ]		= AT("irq_info", "u.virq", 2),
	[IRQ_INFO_DEVICE]	= AT("irq_info", "u.interdomain", 8),
	[XENBUS_DEVICE_PATH]	= AT("xenbus_device", "nodename", 8),
	[CLOCKSOURCE_NAME]	= AT("clocksource", "name", 8),

	[TASK_CGROUPS]		= AT("task_struct", "cgroups", 8),
	[CSS_SET_CGROUP]	= AT("css_set", "dfl_cgrp", 8),
	[CGROUP_NODE]		= AT("cgroup", "kn", 8),
	[KERNFS_NAME]		= AT("kernfs_node", "name", 8),
	[KERNFS_PARENT]		= AT("kernfs_node", "parent|__parent", 8),

	[LOG_DESC_RING]		= AT("printk_ringbuffer", "desc_ring", 0),
	[LOG_TEXT_RING]		= AT("printk_ringbuffer", "text_data_ring", 0),
	[LOG_COUNT_BITS]	= AT("prb_desc_ring", "count_bits", 4),
	[LOG_DESCS]		= AT("prb_desc_ring", "descs", 8),
	[LOG_INFOS]		= AT("prb_desc_ring", "infos", 8),
	[LOG_HEAD_ID]		= AT("prb_desc_ring", "head_id", 8),
	[LOG_TAIL_ID]		= AT("prb_desc_ring", "tail_id", 8),
	[LOG_SIZE_BITS]		= AT("prb_data_ring", "size_bits", 4),
	[LOG_DATA]		= AT("prb_data_ring", "data", 8),
	[LOG_DESC_SIZEOF]	= SIZEOF("prb_desc"),
	[LOG_DESC_STATE]	= AT("prb_desc", "state_var", 8),
	[LOG_DESC_TEXT]		= AT("prb_desc", "text_blk_lpos", 0),
	[LOG_BLOCK_BEGIN]	= AT("prb_data_blk_lpos", "begin", 8),
	[LOG_BLOCK_NEXT]	= AT("prb_data_blk_lpos", "next", 8),
	[LOG_INFO_SIZEOF]	= SIZEOF("printk_info"),
	[LOG_INFO_TIME]		= AT("printk_info", "ts_nsec", 8),
	[LOG_INFO_TEXT_BYTES]	= AT("printk_info", "text_len", 2),
};
/* clang-format on */

/* A hash of the table. A layout from a program with another table is not read. */
static uint32_t layout_version(void)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++) {
		const struct layout_entry *entry = &layout_entries[i];

		hash = hash_bytes(hash, entry->type, strlen(entry->type));
		hash = hash_bytes(hash, entry->paths, strlen(entry->paths));
		hash = hash_word(hash, (uint64_t)entry->what << 32 | entry->bytes);
	}
	return (uint32_t)(hash >> 32);
}

static bool layout_is(const char *type, const char *other)
{
	return type[0] == other[0] && strcmp(type, other) == 0;
}

/*
 * Lists each struct of the table once in WANTS, and sets STRUCTS to the number of each entry's
 * struct. Most entries belong to the same struct as the entry before.
 */
static size_t layout_wants(struct btf_want *wants, uint8_t *structs)
{
	size_t n = 0, j;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++) {
		for (j = n; j && !layout_is(wants[j - 1].name, layout_entries[i].type); j--)
			;
		if (!j) {
			assert(n < LAYOUT_MAX_STRUCTS);
			wants[n++] = (struct btf_want){ .name = layout_entries[i].type };
			j = n;
		}
		structs[i] = j - 1;
	}
	return n;
}

/* Finds the first of PATHS that exists. */
static bool layout_find(struct btf *btf, uint32_t type, const char *paths,
			struct btf_member *member)
{
	const char *end;

	for (;; paths = end + 1) {
		end = strchrnul(paths, '|');
		if (btf_find_member(btf, type, paths, end - paths, member))
			return true;
		if (!*end)
			return false;
	}
}

static bool layout_offset_bytes(const struct btf_member *member, unsigned wanted_bytes,
				uint64_t size_bytes, uint64_t *value)
{
	if (member->width_bits || member->offset_bits % 8)
		return false;
	*value = member->offset_bits / 8;
	return !wanted_bytes || size_bytes == wanted_bytes;
}

/*
 * Reads the number that ENTRY asks for. Returns false if a member of MEMBER's kind has no such
 * number.
 */
static bool layout_read_member(struct btf *btf, const struct layout_entry *entry,
			       const struct btf_member *member, uint64_t *value)
{
	uint64_t bytes;

	if (!btf_size(btf, member->type, &bytes))
		return false;
	switch (entry->what) {
	case LAYOUT_BYTES:
		return layout_offset_bytes(member, entry->bytes, bytes, value);
	case LAYOUT_BITS:
		*value = member->offset_bits;
		return true;
	case LAYOUT_WIDTH:
		*value = member->width_bits ? member->width_bits : 8 * bytes;
		return true;
	case LAYOUT_SIZEOF:
		break;
	}
	return false;
}

/* The number of ENTRY in the struct TYPE; -1 if it is missing or cannot be right. */
static int32_t layout_value(struct btf *btf, const struct layout_entry *entry, uint32_t type)
{
	struct btf_member member;
	uint64_t value;

	if (entry->what == LAYOUT_SIZEOF) {
		if (!btf_size(btf, type, &value) || !value)
			return -1;
	} else if (!layout_find(btf, type, entry->paths, &member) ||
		   !layout_read_member(btf, entry, &member, &value)) {
		return -1;
	}
	return value <= LAYOUT_MAX ? (int32_t)value : -1;
}

/* Fills in all entries of struct NUMBER from TYPE. Returns how many entries TYPE has. */
static unsigned layout_fill(struct btf *btf, const uint8_t *structs, size_t number, uint32_t type,
			    int32_t *values)
{
	unsigned found = 0;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++) {
		if (structs[i] != number)
			continue;
		values[i] = layout_value(btf, &layout_entries[i], type);
		found += values[i] >= 0;
	}
	return found;
}

/* Chooses among structs of the same name: the first one with the most members. */
static void layout_fill_best(struct btf *btf, const struct btf_want *want, const uint8_t *structs,
			     size_t number, int32_t *values)
{
	unsigned most = 0, best = 0, found;

	for (unsigned i = 0; i < want->found; i++) {
		found = layout_fill(btf, structs, number, want->ids[i], values);
		if (found > most) {
			most = found;
			best = i;
		}
	}
	if (want->found > 1)
		layout_fill(btf, structs, number, want->ids[best], values);
}

void layout_init(struct layout *layout)
{
	layout->version = layout_version();
	for (size_t i = 0; i < LAYOUT_MEMBERS; i++)
		layout->values[i] = -1;
}

enum btf_result layout_from_btf(const uint8_t *blob, size_t bytes, struct layout *layout)
{
	struct btf_want wants[LAYOUT_MAX_STRUCTS];
	uint8_t structs[LAYOUT_MEMBERS];
	size_t n_wants = layout_wants(wants, structs);
	enum btf_result result;
	struct btf btf;

	layout_init(layout);
	result = btf_init(&btf, blob, bytes, wants, n_wants);
	if (result != BTF_OK && result != BTF_DAMAGED)
		return result;
	for (size_t i = 0; i < n_wants; i++)
		layout_fill_best(&btf, &wants[i], structs, i, layout->values);
	if (btf.damaged)
		result = BTF_DAMAGED;
	btf_deinit(&btf);
	return result;
}

bool layout_check(const struct layout *layout)
{
	if (layout->version != layout_version())
		return false;
	for (size_t i = 0; i < LAYOUT_MEMBERS; i++)
		if (layout->values[i] < -1 || layout->values[i] > LAYOUT_MAX)
			return false;
	return true;
}

enum layout_member layout_missing(const struct layout *layout, const enum layout_member *members,
				  size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!layout_has(layout, members[i]))
			return members[i];
	return LAYOUT_MEMBERS;
}

const char *layout_struct(enum layout_member member)
{
	return layout_entries[member].type;
}
