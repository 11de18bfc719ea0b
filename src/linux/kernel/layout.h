/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offsets of the members of kernel structs that xtop reads: a table of numbers, filled once for
 * each kernel from the members' names in its BTF. Plain data without pointers. Any thread.
 *
 * Which members a kernel has depends on its version and configuration. No code asks for the
 * version: the reader of a structure asks whether a member exists, and chooses its way accordingly.
 * A member that was renamed but has the same meaning is one entry here.
 *
 *   ..._BITS, ..._WIDTH   offset of a bitfield from the start of its struct, and its width, in bits
 *   ..._SIZEOF            size of a struct in bytes
 *   all others            offset of a member in bytes
 */
#ifndef XTOP_LINUX_KERNEL_LAYOUT_H
#define XTOP_LINUX_KERNEL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "linux/kernel/btf.h"

enum layout_member {
	/* processes and threads */
	TASK_COMM,
	TASK_PID,
	TASK_TGID,
	TASK_MM,
	TASK_STACK,
	TASK_FLAGS,
	TASK_GROUP_LEADER,
	TASK_REAL_PARENT,
	TASK_START_TIME,
	TASK_SELF_EXEC_ID, /* number of exec() calls: 4 bytes up to 5.6, then 8 */
	TASK_THREAD_PID,

	/* tasks that wait */
	TASK_STATE,
	TASK_EXIT_STATE,
	TASK_ON_CPU,
	TASK_SWITCHES,     /* nvcsw: the task gave up its CPU */
	TASK_PREEMPTIONS,  /* nivcsw: the scheduler took the CPU from the task */
	TASK_RUN_DELAY,    /* ns that the task waited for a CPU */
	TASK_LAST_ARRIVAL, /* when the task got a CPU, ns on the scheduler's clock */
	TASK_LAST_QUEUED,
	TASK_RUN_SUM,      /* ns that the task ran */
	TASK_RUN_SUM_THEN, /* ns that the task had run when it last got a CPU */
	TASK_SP,           /* kernel stack pointer while it is on no CPU */
	TASK_CONTEXT,      /* arm64: the registers that the task switch has saved */
	TASK_PID_LINKS,    /* hlist_node[], the first for PIDTYPE_PID */
	PID_TASKS,         /* hlist_head[], the first for PIDTYPE_PID */
	PID_NS_IDR,        /* xarray of struct pid */
	TASK_CPU,          /* the CPU that the task is on, or was on last */

	/* locks that tasks wait for */
	TASK_BLOCKER,       /* lock | kind, from 6.16: see src/linux/lock_finder.c */
	TASK_BLOCKED_ON,    /* mutex, from about 6.17: see src/linux/lock_finder.c */
	TASK_PI_BLOCKED_ON, /* rt_mutex_waiter */
	MUTEX_OWNER,
	MUTEX_WAIT_LIST, /* up to 7.0 */
	MUTEX_WAITER_TASK,
	MUTEX_WAITER_LIST,
	RWSEM_COUNT,
	RWSEM_OWNER,
	RWSEM_WAIT_LIST,
	RWSEM_WAITER_TASK,
	RWSEM_WAITER_LIST,
	SEMAPHORE_WAIT_LIST,
	SEMAPHORE_WAITER_TASK,
	SEMAPHORE_WAITER_LIST,
	SEMAPHORE_LAST_HOLDER, /* task, from 6.16, with CONFIG_DETECT_HUNG_TASK_BLOCKER */
	PERCPU_RWSEM_WAIT_LIST,
	PERCPU_RWSEM_WRITER, /* task that waits for the last readers to go */
	PERCPU_RWSEM_BLOCK,  /* 1: a writer has closed it */
	WAIT_ENTRY_LIST,
	WAIT_ENTRY_TASK,
	RT_MUTEX_OWNER,
	RT_MUTEX_WAITER_LOCK,
	MM_MMAP_LOCK,
	MM_OWNER, /* task_struct, with CONFIG_MEMCG */
	INODE_RWSEM,
	INODE_MMAP_RWSEM,      /* in its i_data: protects the mappings of the file */
	INODE_INVALIDATE_LOCK, /* in its i_data, from 5.15 */
	INODE_DATA,            /* the address_space inside the inode */
	INODE_DENTRIES,        /* hlist_head */
	DENTRY_ALIAS,          /* hlist_node in the inode's INODE_DENTRIES */
	UPID_NS,

	/* containers */
	PID_LEVEL,
	/* upid[level + 1]: the last element has the pid that the process itself sees */
	PID_NUMBERS,
	UPID_SIZEOF,
	UPID_NR,

	/* address spaces */
	MM_PGD,
	MM_MMAP, /* list of areas, up to 6.0 */
	MM_MT,   /* maple tree of areas, from 6.1 */
	MM_MAP_COUNT,
	MM_TOTAL_VM,
	MM_LOCK_SEQ,
	MM_VDSO,
	MM_VDSO_IMAGE,
	VDSO_IMAGE_DATA, /* in the kernel's memory: the ELF file */
	VDSO_IMAGE_SIZE,
	MM_START_STACK,
	MM_START_BRK,
	MAPLE_ROOT,
	MAPLE_R64_PIVOT,
	MAPLE_R64_SLOT,
	MAPLE_A64_PIVOT,
	MAPLE_A64_SLOT,
	VMA_START,
	VMA_END,
	VMA_NEXT,
	VMA_FLAGS, /* the first 64 flags */
	VMA_PGOFF,
	VMA_FILE,

	/* names of files */
	FILE_PATH,
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
	DENTRY_SUBDIRS, /* list_head, up to 6.7 */
	DENTRY_CHILD,
	VFSMOUNT_ROOT,
	MOUNT_MNT,
	MOUNT_PARENT,
	MOUNT_MOUNTPOINT,
	MOUNT_MOUNTS,
	MOUNT_CHILD,
	MOUNT_OF_SUPER, /* list_head, in the super_block's list of mounts; up to 6.16 */
	SUPER_MOUNTS,
	MOUNT_NEXT_OF_SUPER, /* the super_block's next mount; after 6.16 */
	SUPER_FIRST_MOUNT,
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
	MAPPING_PAGES,
	XARRAY_HEAD,
	XA_NODE_SHIFT,
	XA_NODE_SLOTS,
	PAGE_SIZEOF,
	PAGE_INDEX,
	FOLIO_INDEX,

	/* modules */
	MODULE_STATE,
	MODULE_LIST,
	MODULE_NAME,
	MODULE_CORE_BASE, /* up to 6.3 */
	MODULE_CORE_TEXT_SIZE,
	MODULE_MEM, /* from 6.4: an array by enum mod_mem_type, [0] is the text */
	MODULE_MEM_BASE,
	MODULE_MEM_SIZE,
	MODULE_ORC_COUNT,
	MODULE_ORC_IP,
	MODULE_ORC,
	MODULE_NOTES,
	MODULE_NOTES_ATTRIBUTES,
	BIN_ATTRIBUTE_SIZE,
	BIN_ATTRIBUTE_PRIVATE,
	BIN_ATTRIBUTE_SIZEOF,
	MODULE_KALLSYMS,
	MOD_KALLSYMS_SYMTAB,
	MOD_KALLSYMS_SYMTAB_COUNT,
	MOD_KALLSYMS_STRTAB,

	/* generated code */
	BPF_KSYM_START,
	BPF_KSYM_END,
	BPF_KSYM_NAME,
	BPF_KSYM_LIST,
	FTRACE_OPS_TRAMPOLINE,
	FTRACE_OPS_TRAMPOLINE_SIZE,
	FTRACE_OPS_LIST,

	/* stacks */
	PCPU_HOT_CURRENT, /* 6.2 to 6.14 */
	PCPU_HOT_TOP_OF_STACK,
	PCPU_HOT_HARDIRQ_STACK,
	TLB_STATE_LOADED_MM, /* x86, since 4.13 */
	IRQ_STACK_SIZEOF,    /* also the size of a task's stack: BTF never has union thread_union */
	PT_REGS_SIZEOF,
	ORC_SP_REG_BITS,
	ORC_BP_REG_BITS,
	ORC_TYPE_BITS,
	ORC_TYPE_WIDTH,
	ORC_SIGNAL_BITS, /* from 6.3 */
	ORC_END_BITS,    /* up to 6.3 */

	/* clocks */
	SEQCOUNT_SIZEOF,
	TK_DATA_TIMEKEEPER, /* from 6.13 */
	TIMEKEEPER_MONO,
	TIMEKEEPER_OFFS_REAL,
	TKR_CLOCK,
	TKR_MASK,
	TKR_CYCLE_LAST,
	TKR_MULT,
	TKR_SHIFT,
	TKR_XTIME_NSEC,
	TKR_BASE,
	CLOCKSOURCE_NAME,
	TICK_DEVICE_EVENTS, /* clock_event_device */
	IRQ_INFO_LIST,      /* list_head, in xen_irq_list_head */
	IRQ_INFO_TYPE,
	IRQ_INFO_PORT,
	IRQ_INFO_CPU,
	IRQ_INFO_VIRQ,
	IRQ_INFO_DEVICE, /* from 5.12 */
	XENBUS_DEVICE_PATH,
	EVENT_DEVICE_NEXT,

	/* control groups */
	TASK_CGROUPS,
	CSS_SET_CGROUP, /* the task's cgroup in the hierarchy of version 2 */
	CGROUP_NODE,
	KERNFS_NAME,
	KERNFS_PARENT,

	/* the log: printk_ringbuffer, its two rings, and the rings' elements */
	LOG_DESC_RING,
	LOG_TEXT_RING,
	LOG_COUNT_BITS,
	LOG_DESCS,
	LOG_INFOS,
	LOG_HEAD_ID,
	LOG_TAIL_ID,
	LOG_SIZE_BITS,
	LOG_DATA,
	LOG_DESC_SIZEOF,
	LOG_DESC_STATE,
	LOG_DESC_TEXT,
	LOG_BLOCK_BEGIN,
	LOG_BLOCK_NEXT,
	LOG_INFO_SIZEOF,
	LOG_INFO_TIME,
	LOG_INFO_TEXT_BYTES,

	LAYOUT_MEMBERS,
};

#define LAYOUT_MAX 65536 /* largest value: no struct that is read here is larger */

/*
 * Plain data that can be written to a file, and read back on the same machine: layout_check() tells
 * whether this program wrote it. It does not identify its kernel.
 */
struct layout {
	uint32_t version;
	int32_t values[LAYOUT_MEMBERS]; /* -1 if the kernel has no such member */
};

/*
 * Sets LAYOUT to what was found: with BTF_DAMAGED perhaps not all members, with other failures
 * none.
 */
enum btf_result layout_from_btf(const uint8_t *blob, size_t bytes, struct layout *layout);
bool layout_check(const struct layout *layout);
/* Sets LAYOUT to one without members, as long as the kernel is unknown. */
void layout_init(struct layout *layout);

static inline bool layout_has(const struct layout *layout, enum layout_member member)
{
	return layout->values[member] >= 0;
}

/* Precondition: LAYOUT has MEMBER. */
static inline unsigned layout_offset(const struct layout *layout, enum layout_member member)
{
	return layout->values[member];
}

static inline unsigned layout_offset_or(const struct layout *layout, enum layout_member member,
					unsigned otherwise)
{
	return layout_has(layout, member) ? layout_offset(layout, member) : otherwise;
}

/* The first of the N MEMBERS that is missing; LAYOUT_MEMBERS if none is. */
enum layout_member layout_missing(const struct layout *layout, const enum layout_member *members,
				  size_t n);
/* Whether LAYOUT has all members of MEMBERS, an array. */
#define layout_has_all(layout, members)                                                            \
	(layout_missing(layout, members, sizeof(members) / sizeof((members)[0])) == LAYOUT_MEMBERS)
/* Name of the struct with MEMBER, such as "dentry". Tests and fuzzers make structs with it. */
const char *layout_struct(enum layout_member member);

#endif
