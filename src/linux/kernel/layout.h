/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the members of kernel structs lie that xtop reads: a table of numbers, found once per
 * kernel by their names in its BTF. Any thread: plain data, nothing points anywhere.
 *
 * A kernel has some of them and not others, by its version and configuration, and what version that
 * is nobody asks: whoever walks a structure asks for the member and takes the way it finds. Names
 * that changed while the thing stayed the same are one entry here.
 *
 *   ..._BITS, ..._WIDTH   of a bitfield: offset from the start of the struct, and width, in bits
 *   ..._SIZEOF            bytes of a struct, or of an array's element
 *   ..._BYTES             bytes of a member
 *   ..._COUNT             elements of an array
 *   all else              offset of a member in bytes
 */
#ifndef OS_LAYOUT_H
#define OS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/btf.h"

enum layout_member {
	/* processes and threads */
	TASK_SIZEOF,
	TASK_COMM,
	TASK_COMM_BYTES,
	TASK_PID,
	TASK_TGID,
	TASK_MM,
	TASK_ACTIVE_MM,
	TASK_STACK,
	TASK_FLAGS,
	TASK_STATE, /* 8 bytes up to 5.13, then 4: the lower half is enough */
	TASK_EXIT_STATE,
	TASK_ON_CPU, /* 4 bytes, 1 in 7.3 */
	TASK_ON_CPU_BYTES,
	TASK_CPU,
	TASK_TASKS,	  /* list_head: thread group leaders, from init_task */
	TASK_THREAD_NODE, /* list_head: threads, from signal_struct.thread_head */
	TASK_SIGNAL,
	TASK_GROUP_LEADER,
	TASK_REAL_PARENT,
	TASK_START_TIME,
	TASK_SELF_EXEC_ID, /* counts exec(): 4 bytes up to 5.6, then 8 */
	TASK_SELF_EXEC_ID_BYTES,
	TASK_THREAD_SP,
	TASK_RETHOOKS,
	TASK_KRETPROBES,
	TASK_RET_STACK,
	TASK_CURR_RET_STACK,
	TASK_THREAD_PID,
	TASK_NSPROXY,
	TASK_CGROUPS,
	SIGNAL_THREAD_HEAD,

	/* containers */
	PID_LEVEL,
	PID_NUMBERS, /* upid[level + 1]: the last is what the process calls itself */
	UPID_SIZEOF,
	UPID_NR,
	UPID_NS,
	PID_NS_INUM,
	NSPROXY_UTS_NS,
	NSPROXY_MNT_NS,
	NSPROXY_PID_NS,
	UTS_NS_NODENAME,
	UTS_NS_RELEASE,
	CSS_SET_DFL_CGROUP,
	CGROUP_KERNFS_NODE,
	KERNFS_NODE_NAME,
	KERNFS_NODE_PARENT,

	/* address spaces */
	MM_SIZEOF,
	MM_PGD,
	MM_MMAP, /* list of areas, up to 6.0 */
	MM_MT,	 /* maple tree of them, from 6.1 */
	MM_MAP_COUNT,
	MM_TOTAL_VM,
	MM_USERS,
	MM_LOCK_SEQ,
	MM_EXE_FILE,
	MM_OWNER,
	MM_VDSO,
	MM_VDSO_IMAGE,
	VDSO_IMAGE_DATA, /* in the kernel's memory: the ELF file */
	VDSO_IMAGE_SIZE,
	MM_START_STACK,
	MM_START_BRK,
	MM_BRK,
	MM_ARG_START,
	MM_ARG_END,
	MAPLE_ROOT,
	MAPLE_NODE_SIZEOF,
	MAPLE_DENSE_SLOT,
	MAPLE_DENSE_SLOT_COUNT,
	MAPLE_R64_PIVOT,
	MAPLE_R64_SLOT,
	MAPLE_R64_SLOT_COUNT,
	MAPLE_A64_PIVOT,
	MAPLE_A64_SLOT,
	MAPLE_A64_SLOT_COUNT,
	VMA_SIZEOF,
	VMA_START,
	VMA_END,
	VMA_NEXT,
	VMA_MM,
	VMA_FLAGS, /* the first 64 of them */
	VMA_PGOFF,
	VMA_FILE,
	VMA_OPS,

	/* names of files */
	FILE_PATH,
	FILE_MAPPING,
	FILE_INODE,
	FILE_MODE,
	BACKING_FILE_USER_PATH, /* behind a FILE_MODE with FMODE_BACKING: overlayfs, from 6.7 */
	PATH_MNT,
	PATH_DENTRY,
	DENTRY_PARENT,
	DENTRY_NAME,
	DENTRY_NAME_LEN,
	DENTRY_INODE,
	DENTRY_HASH_PPREV, /* NULL: unhashed, the file was deleted */
	DENTRY_CHILDREN,   /* hlist_head, from 6.8 */
	DENTRY_SIB,
	DENTRY_SUBDIRS,    /* list_head, up to 6.7 */
	DENTRY_CHILD,
	VFSMOUNT_ROOT,
	MOUNT_MNT,
	MOUNT_PARENT,
	MOUNT_MOUNTPOINT,
	MOUNT_MOUNTS,
	MOUNT_CHILD,
	TASK_FS,
	FS_ROOT,

	/* identity and contents of files */
	INODE_SIZE,
	INODE_SB,
	INODE_INO,
	INODE_MAPPING,
	INODE_GENERATION,
	INODE_MTIME_SEC,
	INODE_MTIME_NSEC, /* 8 bytes up to 6.10, then 4: the lower half is enough */
	INODE_CTIME_SEC,
	INODE_CTIME_NSEC,
	SB_TYPE,
	SB_DEV,
	SB_MAGIC,
	FSTYPE_NAME,
	MAPPING_HOST,
	MAPPING_PAGES,
	MAPPING_NRPAGES,
	XARRAY_HEAD,
	XA_NODE_SHIFT,
	XA_NODE_COUNT,
	XA_NODE_SLOTS,
	XA_NODE_SLOTS_COUNT,
	PAGE_SIZEOF,
	PAGE_FLAGS,
	PAGE_MAPPING,
	PAGE_INDEX,
	FOLIO_MAPPING,
	FOLIO_INDEX,

	/* modules */
	MODULE_SIZEOF,
	MODULE_STATE,
	MODULE_LIST,
	MODULE_NAME,
	MODULE_NAME_BYTES,
	MODULE_CORE_BASE, /* up to 6.3 */
	MODULE_CORE_SIZE,
	MODULE_CORE_TEXT_SIZE,
	MODULE_INIT_BASE,
	MODULE_INIT_TEXT_SIZE,
	MODULE_MEM, /* from 6.4: by enum mod_mem_type, 0 is the text */
	MODULE_MEM_COUNT,
	MODULE_MEM_SIZEOF,
	MODULE_MEM_BASE,
	MODULE_MEM_SIZE,
	MODULE_ORC_COUNT,
	MODULE_ORC_IP,
	MODULE_ORC,
	MODULE_KALLSYMS,
	MODULE_BUILD_ID,
	MODULE_BUILD_ID_BYTES,
	MOD_KALLSYMS_SYMTAB,
	MOD_KALLSYMS_SYMTAB_COUNT,
	MOD_KALLSYMS_STRTAB,
	MOD_KALLSYMS_TYPETAB,

	/* code that no module has */
	BPF_KSYM_START,
	BPF_KSYM_END,
	BPF_KSYM_NAME,
	BPF_KSYM_NAME_BYTES,
	BPF_KSYM_LIST,
	BPF_KSYM_PROG,
	FTRACE_OPS_FLAGS,
	FTRACE_OPS_FUNC,
	FTRACE_OPS_TRAMPOLINE,
	FTRACE_OPS_TRAMPOLINE_SIZE,
	FTRACE_OPS_LIST,
	KPROBE_CACHE_PAGES,
	KPROBE_PAGE_LIST,
	KPROBE_PAGE_INSNS,

	/* stacks */
	PCPU_HOT_CURRENT, /* 6.2 to 6.14 */
	PCPU_HOT_TOP_OF_STACK,
	PCPU_HOT_HARDIRQ_STACK,
	IRQ_STACK_SIZEOF, /* a task's has as many: union thread_union itself is in no BTF */
	CEA_ENTRY_STACK,
	CEA_EXCEPTION_STACKS,
	ENTRY_STACK_SIZEOF,
	ESTACKS_DF,
	ESTACKS_DF_BYTES,
	ESTACKS_NMI,
	ESTACKS_NMI_BYTES,
	ESTACKS_DB,
	ESTACKS_DB_BYTES,
	ESTACKS_MCE,
	ESTACKS_MCE_BYTES,
	INACTIVE_FRAME_SIZEOF,
	INACTIVE_FRAME_R15,
	INACTIVE_FRAME_R14,
	INACTIVE_FRAME_R13,
	INACTIVE_FRAME_R12,
	INACTIVE_FRAME_BX,
	INACTIVE_FRAME_BP,
	INACTIVE_FRAME_RET,
	PT_REGS_SIZEOF,
	PT_REGS_BP,
	PT_REGS_IP,
	PT_REGS_SP,
	PT_REGS_FRED_CS, /* the source knows FRED, from 6.9; whether it is built in symbols tell */
	RETHOOK_NODE_LIST,
	RETHOOK_NODE_RET_ADDR,
	RETHOOK_NODE_FRAME,
	KRETPROBE_RET_ADDR,
	KRETPROBE_FP,
	FTRACE_RET_SIZEOF,
	FTRACE_RET_ADDR,
	FTRACE_RET_POINTER,
	ORC_SIZEOF,
	ORC_SP_OFFSET_BITS,
	ORC_SP_OFFSET_WIDTH,
	ORC_BP_OFFSET_BITS,
	ORC_BP_OFFSET_WIDTH,
	ORC_SP_REG_BITS,
	ORC_SP_REG_WIDTH,
	ORC_BP_REG_BITS,
	ORC_BP_REG_WIDTH,
	ORC_TYPE_BITS,
	ORC_TYPE_WIDTH,
	ORC_SIGNAL_BITS, /* from 6.3 */
	ORC_SIGNAL_WIDTH,
	ORC_END_BITS, /* up to 6.3 */
	ORC_END_WIDTH,

	LAYOUT_MEMBERS,
};

#define LAYOUT_MAX 65536 /* of every number: no struct read here is that large */

/*
 * Can be written to a file as it is and read back on the same machine: layout_check() then says
 * whether it is one of this program's. It tells nothing about which kernel it was of.
 */
struct layout {
	uint32_t version;
	int32_t values[LAYOUT_MEMBERS]; /* -1: this kernel has no such member */
};

/*
 * LAYOUT is filled with what is found, after every result: BTF_DAMAGED may mean much or little, the
 * other failures nothing at all.
 */
enum btf_result layout_from_btf(const uint8_t *blob, size_t bytes, struct layout *layout);
bool layout_check(const struct layout *layout);
/* Of a kernel of which nothing is known: it has none of them. */
void layout_init(struct layout *layout);

static inline bool layout_has(const struct layout *layout, enum layout_member member)
{
	return layout->values[member] >= 0;
}

/* The number; only of one it has. */
static inline unsigned layout_offset(const struct layout *layout, enum layout_member member)
{
	return layout->values[member];
}

/* The first of MEMBERS that is not there; LAYOUT_MEMBERS if they all are. */
enum layout_member layout_missing(const struct layout *layout, const enum layout_member *members,
				  size_t n);
unsigned layout_found(const struct layout *layout);

/* For messages and tests: "dentry" and "d_name.len", with alternatives after a bar. */
const char *layout_struct(enum layout_member member);
const char *layout_path(enum layout_member member);

#endif
