/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one table of kernel structs and members xtop knows by name, and the search for them. Between
 * the BTF walker and everything that reads a guest's structures; resolver's thread.
 *
 * An entry names a struct and a path in it, or several paths with a bar between: the first that is
 * there counts. With it stands the size the readers count on, if they do; a member of another size
 * is something else under the old name, and as good as missing.
 *
 * Several structs of one name are possible: C keeps names of structs in one source file, and the
 * kernel has drivers that use common ones (`struct irq_info` is three things in 5.10 to 7.3). Then
 * the one is taken in which most of what the table wants is found.
 *
 * Names that changed, and in which Linux:
 *
 *   task_struct  state > __state 5.14, 2f064a59a11f; kretprobe_instances 5.11 > rethooks 5.18,
 *                73f9b911faa7; cpu > thread_info.cpu 5.16, bcf9033e5449: in between both are there
 *                and cpu is right (osandov/drgn issue 479)
 *   mm_struct    mmap > mm_mt 6.1, d4af56c5c7c6, 763ecb035029; mm_lock_seq 6.4, 5e31275cc997
 *   vm_area_...  vm_flags in a union 6.3, bc292ab00f6c; vma_flags_t beside it 6.19, 9ea35a25d51b
 *   file         f_path in a union with __f_path 6.18
 *   dentry       d_name in a union with __d_name 6.18
 *   inode        i_mtime > __i_mtime 6.7, 12cd44023651 > i_mtime_sec, i_mtime_nsec 6.11,
 *                3aa63a569c64; i_ctime > __i_ctime 6.6, 13bc24457850
 *   page         index > __folio_index 6.16, acc53a0b4c15; folio.index 5.16, 7b230db3b8d3
 *   module       core_layout > mem[] 6.4, ac3b43283923
 *   orc_entry    signal 6.3, ffb1b4a41016; end gone 6.4, fb799447ae29
 *   pcpu_hot     6.2, e57ef2ed97c1, to 6.14
 *   kernfs_node  parent > __parent 6.15, 633488947ef6
 *   pt_regs      cs as a union of 16 and 64 bits 6.9, ee63291aa828
 */
#include "config.h"

#include "linux/kernel/layout.h"

#include <assert.h>
#include <string.h>

#define LAYOUT_MAX_STRUCTS 64

enum layout_what {
	LAYOUT_BYTES, /* offset of a member */
	LAYOUT_BITS,
	LAYOUT_WIDTH,
	LAYOUT_SIZE, /* of a member */
	LAYOUT_COUNT,
	LAYOUT_ELEMENT,
	LAYOUT_SIZEOF,
};

struct layout_entry {
	const char *type, *paths;
	enum layout_what what;
	unsigned bytes; /* of the member, 0: any */
};

/* clang-format off */
#define AT(type, paths, bytes)	{ type, paths, LAYOUT_BYTES, bytes }
#define BITS(type, path)	{ type, path, LAYOUT_BITS, 0 }
#define WIDTH(type, path)	{ type, path, LAYOUT_WIDTH, 0 }
#define BYTES(type, path)	{ type, path, LAYOUT_SIZE, 0 }
#define COUNT(type, path)	{ type, path, LAYOUT_COUNT, 0 }
#define ELEMENT(type, path)	{ type, path, LAYOUT_ELEMENT, 0 }
#define SIZEOF(type)		{ type, "", LAYOUT_SIZEOF, 0 }

static const struct layout_entry layout_entries[LAYOUT_MEMBERS] = {
	[TASK_SIZEOF]		= SIZEOF("task_struct"),
	[TASK_COMM]		= AT("task_struct", "comm", 16),
	[TASK_COMM_BYTES]	= BYTES("task_struct", "comm"),
	[TASK_PID]		= AT("task_struct", "pid", 4),
	[TASK_TGID]		= AT("task_struct", "tgid", 4),
	[TASK_MM]		= AT("task_struct", "mm", 8),
	[TASK_ACTIVE_MM]	= AT("task_struct", "active_mm", 8),
	[TASK_STACK]		= AT("task_struct", "stack", 8),
	[TASK_FLAGS]		= AT("task_struct", "flags", 4),
	[TASK_STATE]		= AT("task_struct", "__state|state", 0),
	[TASK_EXIT_STATE]	= AT("task_struct", "exit_state", 4),
	[TASK_ON_CPU]		= AT("task_struct", "on_cpu", 0),
	[TASK_ON_CPU_BYTES]	= BYTES("task_struct", "on_cpu"),
	[TASK_CPU]		= AT("task_struct", "cpu|thread_info.cpu", 4),
	[TASK_TASKS]		= AT("task_struct", "tasks", 16),
	[TASK_THREAD_NODE]	= AT("task_struct", "thread_node", 16),
	[TASK_SIGNAL]		= AT("task_struct", "signal", 8),
	[TASK_GROUP_LEADER]	= AT("task_struct", "group_leader", 8),
	[TASK_REAL_PARENT]	= AT("task_struct", "real_parent", 8),
	[TASK_START_TIME]	= AT("task_struct", "start_time", 8),
	[TASK_SELF_EXEC_ID]	= AT("task_struct", "self_exec_id", 0),
	[TASK_SELF_EXEC_ID_BYTES] = BYTES("task_struct", "self_exec_id"),
	[TASK_THREAD_SP]	= AT("task_struct", "thread.sp", 8),
	[TASK_RETHOOKS]		= AT("task_struct", "rethooks", 8),
	[TASK_KRETPROBES]	= AT("task_struct", "kretprobe_instances", 8),
	[TASK_RET_STACK]	= AT("task_struct", "ret_stack", 8),
	[TASK_CURR_RET_STACK]	= AT("task_struct", "curr_ret_stack", 4),
	[TASK_THREAD_PID]	= AT("task_struct", "thread_pid", 8),
	[TASK_NSPROXY]		= AT("task_struct", "nsproxy", 8),
	[TASK_CGROUPS]		= AT("task_struct", "cgroups", 8),
	[SIGNAL_THREAD_HEAD]	= AT("signal_struct", "thread_head", 16),

	[PID_LEVEL]		= AT("pid", "level", 4),
	[PID_NUMBERS]		= AT("pid", "numbers", 0),
	[UPID_SIZEOF]		= SIZEOF("upid"),
	[UPID_NR]		= AT("upid", "nr", 4),
	[UPID_NS]		= AT("upid", "ns", 8),
	[PID_NS_INUM]		= AT("pid_namespace", "ns.inum", 4),
	[NSPROXY_UTS_NS]	= AT("nsproxy", "uts_ns", 8),
	[NSPROXY_MNT_NS]	= AT("nsproxy", "mnt_ns", 8),
	[NSPROXY_PID_NS]	= AT("nsproxy", "pid_ns_for_children", 8),
	[UTS_NS_NODENAME]	= AT("uts_namespace", "name.nodename", 65),
	[UTS_NS_RELEASE]	= AT("uts_namespace", "name.release", 65),
	[CSS_SET_DFL_CGROUP]	= AT("css_set", "dfl_cgrp", 8),
	[CGROUP_KERNFS_NODE]	= AT("cgroup", "kn", 8),
	[KERNFS_NODE_NAME]	= AT("kernfs_node", "name", 8),
	[KERNFS_NODE_PARENT]	= AT("kernfs_node", "__parent|parent", 8),

	[MM_SIZEOF]		= SIZEOF("mm_struct"),
	[MM_PGD]		= AT("mm_struct", "pgd", 8),
	[MM_MMAP]		= AT("mm_struct", "mmap", 8),
	[MM_MT]			= AT("mm_struct", "mm_mt", 0),
	[MM_MAP_COUNT]		= AT("mm_struct", "map_count", 4),
	[MM_TOTAL_VM]		= AT("mm_struct", "total_vm", 8),
	[MM_USERS]		= AT("mm_struct", "mm_users", 4),
	[MM_LOCK_SEQ]		= AT("mm_struct", "mm_lock_seq", 0),
	[MM_EXE_FILE]		= AT("mm_struct", "exe_file", 8),
	[MM_OWNER]		= AT("mm_struct", "owner", 8),
	[MM_VDSO]		= AT("mm_struct", "context.vdso", 8),
	[MM_VDSO_IMAGE]		= AT("mm_struct", "context.vdso_image", 8),
	[VDSO_IMAGE_DATA]	= AT("vdso_image", "data", 8),
	[VDSO_IMAGE_SIZE]	= AT("vdso_image", "size", 8),
	[MM_START_STACK]	= AT("mm_struct", "start_stack", 8),
	[MM_START_BRK]		= AT("mm_struct", "start_brk", 8),
	[MM_BRK]		= AT("mm_struct", "brk", 8),
	[MM_ARG_START]		= AT("mm_struct", "arg_start", 8),
	[MM_ARG_END]		= AT("mm_struct", "arg_end", 8),
	[MAPLE_ROOT]		= AT("maple_tree", "ma_root", 8),
	[MAPLE_NODE_SIZEOF]	= SIZEOF("maple_node"),
	[MAPLE_DENSE_SLOT]	= AT("maple_node", "slot", 0),
	[MAPLE_DENSE_SLOT_COUNT] = COUNT("maple_node", "slot"),
	[MAPLE_R64_PIVOT]	= AT("maple_node", "mr64.pivot", 0),
	[MAPLE_R64_SLOT]	= AT("maple_node", "mr64.slot", 0),
	[MAPLE_R64_SLOT_COUNT]	= COUNT("maple_node", "mr64.slot"),
	[MAPLE_A64_PIVOT]	= AT("maple_node", "ma64.pivot", 0),
	[MAPLE_A64_SLOT]	= AT("maple_node", "ma64.slot", 0),
	[MAPLE_A64_SLOT_COUNT]	= COUNT("maple_node", "ma64.slot"),
	[VMA_SIZEOF]		= SIZEOF("vm_area_struct"),
	[VMA_START]		= AT("vm_area_struct", "vm_start", 8),
	[VMA_END]		= AT("vm_area_struct", "vm_end", 8),
	[VMA_NEXT]		= AT("vm_area_struct", "vm_next", 8),
	[VMA_MM]		= AT("vm_area_struct", "vm_mm", 8),
	[VMA_FLAGS]		= AT("vm_area_struct", "vm_flags|__vm_flags|flags", 0),
	[VMA_PGOFF]		= AT("vm_area_struct", "vm_pgoff", 8),
	[VMA_FILE]		= AT("vm_area_struct", "vm_file", 8),
	[VMA_OPS]		= AT("vm_area_struct", "vm_ops", 8),

	[FILE_PATH]		= AT("file", "f_path|__f_path", 16),
	[FILE_MAPPING]		= AT("file", "f_mapping", 8),
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
	[TASK_FS]		= AT("task_struct", "fs", 8),
	[FS_ROOT]		= AT("fs_struct", "root", 16),

	[INODE_SIZE]		= AT("inode", "i_size", 8),
	[INODE_SB]		= AT("inode", "i_sb", 8),
	[INODE_INO]		= AT("inode", "i_ino", 8),
	[INODE_MAPPING]		= AT("inode", "i_mapping", 8),
	[INODE_GENERATION]	= AT("inode", "i_generation", 4),
	[INODE_MTIME_SEC]	= AT("inode", "i_mtime_sec|__i_mtime.tv_sec|i_mtime.tv_sec", 8),
	[INODE_MTIME_NSEC]	= AT("inode", "i_mtime_nsec|__i_mtime.tv_nsec|i_mtime.tv_nsec", 0),
	[INODE_CTIME_SEC]	= AT("inode", "i_ctime_sec|__i_ctime.tv_sec|i_ctime.tv_sec", 8),
	[INODE_CTIME_NSEC]	= AT("inode", "i_ctime_nsec|__i_ctime.tv_nsec|i_ctime.tv_nsec", 0),
	[SB_TYPE]		= AT("super_block", "s_type", 8),
	[SB_DEV]		= AT("super_block", "s_dev", 4),
	[SB_MAGIC]		= AT("super_block", "s_magic", 8),
	[FSTYPE_NAME]		= AT("file_system_type", "name", 8),
	[MAPPING_HOST]		= AT("address_space", "host", 8),
	[MAPPING_PAGES]		= AT("address_space", "i_pages", 0),
	[MAPPING_NRPAGES]	= AT("address_space", "nrpages", 8),
	[XARRAY_HEAD]		= AT("xarray", "xa_head", 8),
	[XA_NODE_SHIFT]		= AT("xa_node", "shift", 1),
	[XA_NODE_COUNT]		= AT("xa_node", "count", 1),
	[XA_NODE_SLOTS]		= AT("xa_node", "slots", 0),
	[XA_NODE_SLOTS_COUNT]	= COUNT("xa_node", "slots"),
	[PAGE_SIZEOF]		= SIZEOF("page"),
	[PAGE_FLAGS]		= AT("page", "flags", 8),
	[PAGE_MAPPING]		= AT("page", "mapping", 8),
	[PAGE_INDEX]		= AT("page", "index|__folio_index", 8),
	[FOLIO_MAPPING]		= AT("folio", "mapping", 8),
	[FOLIO_INDEX]		= AT("folio", "index", 8),

	[MODULE_SIZEOF]		= SIZEOF("module"),
	[MODULE_STATE]		= AT("module", "state", 4),
	[MODULE_LIST]		= AT("module", "list", 16),
	[MODULE_NAME]		= AT("module", "name", 0),
	[MODULE_NAME_BYTES]	= BYTES("module", "name"),
	[MODULE_CORE_BASE]	= AT("module", "core_layout.base", 8),
	[MODULE_CORE_SIZE]	= AT("module", "core_layout.size", 4),
	[MODULE_CORE_TEXT_SIZE]	= AT("module", "core_layout.text_size", 4),
	[MODULE_INIT_BASE]	= AT("module", "init_layout.base", 8),
	[MODULE_INIT_TEXT_SIZE]	= AT("module", "init_layout.text_size", 4),
	[MODULE_MEM]		= AT("module", "mem", 0),
	[MODULE_MEM_COUNT]	= COUNT("module", "mem"),
	[MODULE_MEM_SIZEOF]	= ELEMENT("module", "mem"),
	[MODULE_MEM_BASE]	= AT("module_memory", "base", 8),
	[MODULE_MEM_SIZE]	= AT("module_memory", "size", 4),
	[MODULE_ORC_COUNT]	= AT("module", "arch.num_orcs", 4),
	[MODULE_ORC_IP]		= AT("module", "arch.orc_unwind_ip", 8),
	[MODULE_ORC]		= AT("module", "arch.orc_unwind", 8),
	[MODULE_KALLSYMS]	= AT("module", "kallsyms", 8),
	[MODULE_BUILD_ID]	= AT("module", "build_id", 0),
	[MODULE_BUILD_ID_BYTES]	= BYTES("module", "build_id"),
	[MOD_KALLSYMS_SYMTAB]	= AT("mod_kallsyms", "symtab", 8),
	[MOD_KALLSYMS_SYMTAB_COUNT] = AT("mod_kallsyms", "num_symtab", 4),
	[MOD_KALLSYMS_STRTAB]	= AT("mod_kallsyms", "strtab", 8),
	[MOD_KALLSYMS_TYPETAB]	= AT("mod_kallsyms", "typetab", 8),

	[BPF_KSYM_START]	= AT("bpf_ksym", "start", 8),
	[BPF_KSYM_END]		= AT("bpf_ksym", "end", 8),
	[BPF_KSYM_NAME]		= AT("bpf_ksym", "name", 0),
	[BPF_KSYM_NAME_BYTES]	= BYTES("bpf_ksym", "name"),
	[BPF_KSYM_LIST]		= AT("bpf_ksym", "lnode", 16),
	[BPF_KSYM_PROG]		= AT("bpf_ksym", "prog", 1),
	[FTRACE_OPS_FLAGS]	= AT("ftrace_ops", "flags", 8),
	[FTRACE_OPS_FUNC]	= AT("ftrace_ops", "func", 8),
	[FTRACE_OPS_TRAMPOLINE]	= AT("ftrace_ops", "trampoline", 8),
	[FTRACE_OPS_TRAMPOLINE_SIZE] = AT("ftrace_ops", "trampoline_size", 8),
	[FTRACE_OPS_LIST]	= AT("ftrace_ops", "list", 16),
	[KPROBE_CACHE_PAGES]	= AT("kprobe_insn_cache", "pages", 16),
	[KPROBE_PAGE_LIST]	= AT("kprobe_insn_page", "list", 16),
	[KPROBE_PAGE_INSNS]	= AT("kprobe_insn_page", "insns", 8),

	[PCPU_HOT_CURRENT]	= AT("pcpu_hot", "current_task", 8),
	[PCPU_HOT_TOP_OF_STACK]	= AT("pcpu_hot", "top_of_stack", 8),
	[PCPU_HOT_HARDIRQ_STACK] = AT("pcpu_hot", "hardirq_stack_ptr", 8),
	[IRQ_STACK_SIZEOF]	= SIZEOF("irq_stack"),
	[CEA_ENTRY_STACK]	= AT("cpu_entry_area", "entry_stack_page", 0),
	[CEA_EXCEPTION_STACKS]	= AT("cpu_entry_area", "estacks", 0),
	[ENTRY_STACK_SIZEOF]	= SIZEOF("entry_stack_page"),
	[ESTACKS_DF]		= AT("cea_exception_stacks", "DF_stack", 0),
	[ESTACKS_DF_BYTES]	= BYTES("cea_exception_stacks", "DF_stack"),
	[ESTACKS_NMI]		= AT("cea_exception_stacks", "NMI_stack", 0),
	[ESTACKS_NMI_BYTES]	= BYTES("cea_exception_stacks", "NMI_stack"),
	[ESTACKS_DB]		= AT("cea_exception_stacks", "DB_stack", 0),
	[ESTACKS_DB_BYTES]	= BYTES("cea_exception_stacks", "DB_stack"),
	[ESTACKS_MCE]		= AT("cea_exception_stacks", "MCE_stack", 0),
	[ESTACKS_MCE_BYTES]	= BYTES("cea_exception_stacks", "MCE_stack"),
	[INACTIVE_FRAME_SIZEOF]	= SIZEOF("inactive_task_frame"),
	[INACTIVE_FRAME_R15]	= AT("inactive_task_frame", "r15", 8),
	[INACTIVE_FRAME_R14]	= AT("inactive_task_frame", "r14", 8),
	[INACTIVE_FRAME_R13]	= AT("inactive_task_frame", "r13", 8),
	[INACTIVE_FRAME_R12]	= AT("inactive_task_frame", "r12", 8),
	[INACTIVE_FRAME_BX]	= AT("inactive_task_frame", "bx", 8),
	[INACTIVE_FRAME_BP]	= AT("inactive_task_frame", "bp", 8),
	[INACTIVE_FRAME_RET]	= AT("inactive_task_frame", "ret_addr", 8),
	[PT_REGS_SIZEOF]	= SIZEOF("pt_regs"),
	[PT_REGS_BP]		= AT("pt_regs", "bp", 8),
	[PT_REGS_IP]		= AT("pt_regs", "ip", 8),
	[PT_REGS_SP]		= AT("pt_regs", "sp", 8),
	[PT_REGS_FRED_CS]	= AT("pt_regs", "fred_cs", 8),
	[RETHOOK_NODE_LIST]	= AT("rethook_node", "llist", 8),
	[RETHOOK_NODE_RET_ADDR]	= AT("rethook_node", "ret_addr", 8),
	[RETHOOK_NODE_FRAME]	= AT("rethook_node", "frame", 8),
	[KRETPROBE_RET_ADDR]	= AT("kretprobe_instance", "ret_addr", 8),
	[KRETPROBE_FP]		= AT("kretprobe_instance", "fp", 8),
	[FTRACE_RET_SIZEOF]	= SIZEOF("ftrace_ret_stack"),
	[FTRACE_RET_ADDR]	= AT("ftrace_ret_stack", "ret", 8),
	[FTRACE_RET_POINTER]	= AT("ftrace_ret_stack", "retp", 8),
	[ORC_SIZEOF]		= SIZEOF("orc_entry"),
	[ORC_SP_OFFSET_BITS]	= BITS("orc_entry", "sp_offset"),
	[ORC_SP_OFFSET_WIDTH]	= WIDTH("orc_entry", "sp_offset"),
	[ORC_BP_OFFSET_BITS]	= BITS("orc_entry", "bp_offset"),
	[ORC_BP_OFFSET_WIDTH]	= WIDTH("orc_entry", "bp_offset"),
	[ORC_SP_REG_BITS]	= BITS("orc_entry", "sp_reg"),
	[ORC_SP_REG_WIDTH]	= WIDTH("orc_entry", "sp_reg"),
	[ORC_BP_REG_BITS]	= BITS("orc_entry", "bp_reg"),
	[ORC_BP_REG_WIDTH]	= WIDTH("orc_entry", "bp_reg"),
	[ORC_TYPE_BITS]		= BITS("orc_entry", "type"),
	[ORC_TYPE_WIDTH]	= WIDTH("orc_entry", "type"),
	[ORC_SIGNAL_BITS]	= BITS("orc_entry", "signal"),
	[ORC_SIGNAL_WIDTH]	= WIDTH("orc_entry", "signal"),
	[ORC_END_BITS]		= BITS("orc_entry", "end"),
	[ORC_END_WIDTH]		= WIDTH("orc_entry", "end"),
};
/* clang-format on */

/* FNV-1a over the table: a layout written by a program with another table is not read. */
static uint32_t layout_hash(uint32_t hash, const char *text)
{
	do
		hash = (hash ^ (uint8_t)*text) * 16777619U;
	while (*text++);
	return hash;
}

static uint32_t layout_version(void)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++) {
		hash = layout_hash(hash, layout_entries[i].type);
		hash = layout_hash(hash, layout_entries[i].paths);
		hash = (hash ^ (layout_entries[i].what << 16 | layout_entries[i].bytes)) *
		       16777619U;
	}
	return hash;
}

static bool layout_is(const char *type, const char *other)
{
	return type[0] == other[0] && strcmp(type, other) == 0;
}

/* The structs of the table, each once, and of which of them each entry is: most are of the last. */
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

/* The first of the paths that is there. */
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

/* What ENTRY wants to know of a member; false if it is not of the kind that could tell. */
static bool layout_read_member(struct btf *btf, const struct layout_entry *entry,
			       const struct btf_member *member, uint64_t *value)
{
	uint32_t element = 0, count = 0;
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
	case LAYOUT_SIZE:
		*value = bytes;
		return true;
	case LAYOUT_COUNT:
		*value = 0;
		if (!btf_array(btf, member->type, &element, &count))
			return false;
		*value = count;
		return true;
	case LAYOUT_ELEMENT:
		return btf_array(btf, member->type, &element, &count) &&
		       btf_size(btf, element, value);
	case LAYOUT_SIZEOF:
		break;
	}
	return false;
}

/* One number, of the struct TYPE; -1 if it is not there or not to be believed. */
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

/* All numbers of the struct of that number, if there is one, as TYPE has them. */
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

unsigned layout_found(const struct layout *layout)
{
	unsigned found = 0;

	for (size_t i = 0; i < LAYOUT_MEMBERS; i++)
		found += layout_has(layout, i);
	return found;
}

const char *layout_struct(enum layout_member member)
{
	return layout_entries[member].type;
}

const char *layout_path(enum layout_member member)
{
	return layout_entries[member].paths;
}
