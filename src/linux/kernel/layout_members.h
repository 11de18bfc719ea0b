/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The members of kernel structs that xtop reads, one line each. layout.h makes an enum of the
 * names, and layout.c a table of the lines. So this header is included twice, and has no include
 * guard.
 *
 *   MEMBER(NAME, KIND, STRUCT, PATHS, BYTES)
 *     KIND    BYTES, BITS, WIDTH or SIZEOF; see enum layout_what in layout.c
 *     PATHS   path of the member in STRUCT, or several paths with bars between them: the first
 *             existing path is used; "" for SIZEOF
 *     BYTES   size of the member where readers depend on it; 0 if any size will do. A member of
 *             another size has another meaning under the old name, and counts as missing
 *
 * Comments with "from" and "up to" say which versions of Linux have a member.
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
 *   mount        mnt_instance, a list_head > mnt_next_for_sb, a pointer: before 7.3
 *   super_block  s_mounts, a list_head > s_mounts, a pointer: before 7.3
 *   rt_mutex     owner > rtmutex.owner 5.15, 830e6acc8a1c
 */

/* clang-format off */

/* --- processes and threads -------------------------------------------------------------------- */

MEMBER(TASK_COMM, BYTES, "task_struct", "comm", 16)
MEMBER(TASK_PID, BYTES, "task_struct", "pid", 4)
MEMBER(TASK_TGID, BYTES, "task_struct", "tgid", 4)
MEMBER(TASK_MM, BYTES, "task_struct", "mm", 8)
MEMBER(TASK_STACK, BYTES, "task_struct", "stack", 8)
MEMBER(TASK_FLAGS, BYTES, "task_struct", "flags", 4)
MEMBER(TASK_GROUP_LEADER, BYTES, "task_struct", "group_leader", 8)
MEMBER(TASK_REAL_PARENT, BYTES, "task_struct", "real_parent", 8)
MEMBER(TASK_START_TIME, BYTES, "task_struct", "start_time", 8)
/* number of the task's exec() calls: 4 bytes up to 5.6, then 8 */
MEMBER(TASK_SELF_EXEC_ID, BYTES, "task_struct", "self_exec_id", 0)
MEMBER(TASK_THREAD_PID, BYTES, "task_struct", "thread_pid", 8)

/* --- tasks that wait -------------------------------------------------------------------------- */

MEMBER(TASK_STATE, BYTES, "task_struct", "__state|state", 0)
MEMBER(TASK_EXIT_STATE, BYTES, "task_struct", "exit_state", 4)
MEMBER(TASK_ON_CPU, BYTES, "task_struct", "on_cpu", 0)
/* how often the task gave up its CPU */
MEMBER(TASK_SWITCHES, BYTES, "task_struct", "nvcsw", 8)
/* how often the scheduler took the CPU from the task */
MEMBER(TASK_PREEMPTIONS, BYTES, "task_struct", "nivcsw", 8)
/* ns that the task waited for a CPU */
MEMBER(TASK_RUN_DELAY, BYTES, "task_struct", "sched_info.run_delay", 8)
/* time when the task got a CPU, ns on the scheduler's clock */
MEMBER(TASK_LAST_ARRIVAL, BYTES, "task_struct", "sched_info.last_arrival", 8)
MEMBER(TASK_LAST_QUEUED, BYTES, "task_struct", "sched_info.last_queued", 8)
MEMBER(TASK_RUN_SUM, BYTES, "task_struct", "se.sum_exec_runtime", 8) /* ns that the task ran */
/* ns that the task had run when it last got a CPU */
MEMBER(TASK_RUN_SUM_THEN, BYTES, "task_struct", "se.prev_sum_exec_runtime", 8)
/* kernel stack pointer while the task is on no CPU */
MEMBER(TASK_SP, BYTES, "task_struct", "thread.sp|thread.cpu_context.sp", 8)
/* arm64: the registers that the task switch has saved */
MEMBER(TASK_CONTEXT, BYTES, "task_struct", "thread.cpu_context", 104)
/* the thread pointer of user code, at the last switch to another task: x86-64, arm64 since 4.17 */
MEMBER(TASK_THREAD_POINTER, BYTES, "task_struct", "thread.fsbase|thread.uw.tp_value", 8)
/* hlist_node[], the first for PIDTYPE_PID */
MEMBER(TASK_PID_LINKS, BYTES, "task_struct", "pid_links", 0)
MEMBER(PID_TASKS, BYTES, "pid", "tasks", 0) /* hlist_head[], the first for PIDTYPE_PID */
MEMBER(PID_NS_IDR, BYTES, "pid_namespace", "idr.idr_rt", 0) /* xarray of struct pid */
/* the CPU that the task is on, or was on last */
MEMBER(TASK_CPU, BYTES, "task_struct", "thread_info.cpu|cpu", 4)

/* --- locks that tasks wait for ---------------------------------------------------------------- */

/* address of the lock that the task waits for | the lock's kind, from 6.16: lock_finder.c */
MEMBER(TASK_BLOCKER, BYTES, "task_struct", "blocker", 8)
/* the mutex that the task waits for, from about 6.17: see src/linux/lock_finder.c */
MEMBER(TASK_BLOCKED_ON, BYTES, "task_struct", "blocked_on", 8)
MEMBER(TASK_PI_BLOCKED_ON, BYTES, "task_struct", "pi_blocked_on", 8) /* rt_mutex_waiter */
MEMBER(MUTEX_OWNER, BYTES, "mutex", "owner", 8)
MEMBER(MUTEX_WAIT_LIST, BYTES, "mutex", "wait_list", 16) /* up to 7.0 */
MEMBER(MUTEX_WAITER_TASK, BYTES, "mutex_waiter", "task", 8)
MEMBER(MUTEX_WAITER_LIST, BYTES, "mutex_waiter", "list", 16)
MEMBER(RWSEM_COUNT, BYTES, "rw_semaphore", "count", 8)
MEMBER(RWSEM_OWNER, BYTES, "rw_semaphore", "owner", 8)
MEMBER(RWSEM_WAIT_LIST, BYTES, "rw_semaphore", "wait_list", 16)
MEMBER(RWSEM_WAITER_TASK, BYTES, "rwsem_waiter", "task", 8)
MEMBER(RWSEM_WAITER_LIST, BYTES, "rwsem_waiter", "list", 16)
MEMBER(SEMAPHORE_WAIT_LIST, BYTES, "semaphore", "wait_list", 16)
MEMBER(SEMAPHORE_WAITER_TASK, BYTES, "semaphore_waiter", "task", 8)
MEMBER(SEMAPHORE_WAITER_LIST, BYTES, "semaphore_waiter", "list", 16)
/* the last task that got the semaphore: from 6.16, with CONFIG_DETECT_HUNG_TASK_BLOCKER */
MEMBER(SEMAPHORE_LAST_HOLDER, BYTES, "semaphore", "last_holder", 8)
MEMBER(PERCPU_RWSEM_WAIT_LIST, BYTES, "percpu_rw_semaphore", "waiters.head", 16)
/* the task that waits for the last readers to go */
MEMBER(PERCPU_RWSEM_WRITER, BYTES, "percpu_rw_semaphore", "writer.task", 8)
/* 1: a writer keeps new readers out */
MEMBER(PERCPU_RWSEM_BLOCK, BYTES, "percpu_rw_semaphore", "block", 4)
MEMBER(WAIT_ENTRY_LIST, BYTES, "wait_queue_entry", "entry", 16)
MEMBER(WAIT_ENTRY_TASK, BYTES, "wait_queue_entry", "private", 8)
MEMBER(RT_MUTEX_OWNER, BYTES, "rt_mutex", "rtmutex.owner|owner", 8)
MEMBER(RT_MUTEX_WAITER_LOCK, BYTES, "rt_mutex_waiter", "lock", 8)
MEMBER(MM_MMAP_LOCK, BYTES, "mm_struct", "mmap_lock", 0)
/* the task that owns the address space, with CONFIG_MEMCG */
MEMBER(MM_OWNER, BYTES, "mm_struct", "owner", 8)
MEMBER(INODE_RWSEM, BYTES, "inode", "i_rwsem", 0)
/* lock of the file's mappings, in the inode's i_data */
MEMBER(INODE_MMAP_RWSEM, BYTES, "inode", "i_data.i_mmap_rwsem", 0)
/* lock against invalidation of the file's cached pages, in the inode's i_data; from 5.15 */
MEMBER(INODE_INVALIDATE_LOCK, BYTES, "inode", "i_data.invalidate_lock", 0)
MEMBER(INODE_DATA, BYTES, "inode", "i_data", 0) /* the address_space inside the inode */
MEMBER(INODE_DENTRIES, BYTES, "inode", "i_dentry", 8) /* hlist_head */
/* hlist_node in the inode's INODE_DENTRIES */
MEMBER(DENTRY_ALIAS, BYTES, "dentry", "d_u.d_alias|d_alias", 16)
MEMBER(UPID_NS, BYTES, "upid", "ns", 8)

/* --- containers ------------------------------------------------------------------------------- */

MEMBER(PID_LEVEL, BYTES, "pid", "level", 4)
/* array upid[level + 1]: the last element has the pid that the process itself sees */
MEMBER(PID_NUMBERS, BYTES, "pid", "numbers", 0)
MEMBER(UPID_SIZEOF, SIZEOF, "upid", "", 0)
MEMBER(UPID_NR, BYTES, "upid", "nr", 4)

/* --- address spaces --------------------------------------------------------------------------- */

MEMBER(MM_PGD, BYTES, "mm_struct", "pgd", 8)
MEMBER(MM_MMAP, BYTES, "mm_struct", "mmap", 8) /* list of areas, up to 6.0 */
MEMBER(MM_MT, BYTES, "mm_struct", "mm_mt", 0) /* maple tree of areas, from 6.1 */
MEMBER(MM_MAP_COUNT, BYTES, "mm_struct", "map_count", 4)
MEMBER(MM_TOTAL_VM, BYTES, "mm_struct", "total_vm", 8)
MEMBER(MM_LOCK_SEQ, BYTES, "mm_struct", "mm_lock_seq", 0)
MEMBER(MM_VDSO, BYTES, "mm_struct", "context.vdso", 8)
MEMBER(MM_VDSO_IMAGE, BYTES, "mm_struct", "context.vdso_image", 8)
/* address of the vDSO's ELF file in the kernel's memory */
MEMBER(VDSO_IMAGE_DATA, BYTES, "vdso_image", "data", 8)
MEMBER(VDSO_IMAGE_SIZE, BYTES, "vdso_image", "size", 8)
MEMBER(MM_ARG_START, BYTES, "mm_struct", "arg_start", 8) /* start of the command line */
MEMBER(MM_ARG_END, BYTES, "mm_struct", "arg_end", 8)
MEMBER(MM_START_STACK, BYTES, "mm_struct", "start_stack", 8)
MEMBER(MM_START_BRK, BYTES, "mm_struct", "start_brk", 8)
MEMBER(MAPLE_ROOT, BYTES, "maple_tree", "ma_root", 8)
MEMBER(MAPLE_R64_PIVOT, BYTES, "maple_node", "mr64.pivot", 0)
MEMBER(MAPLE_R64_SLOT, BYTES, "maple_node", "mr64.slot", 0)
MEMBER(MAPLE_A64_PIVOT, BYTES, "maple_node", "ma64.pivot", 0)
MEMBER(MAPLE_A64_SLOT, BYTES, "maple_node", "ma64.slot", 0)
MEMBER(VMA_START, BYTES, "vm_area_struct", "vm_start", 8)
MEMBER(VMA_END, BYTES, "vm_area_struct", "vm_end", 8)
MEMBER(VMA_NEXT, BYTES, "vm_area_struct", "vm_next", 8)
MEMBER(VMA_FLAGS, BYTES, "vm_area_struct", "vm_flags|__vm_flags|flags", 0) /* the first 64 flags */
MEMBER(VMA_PGOFF, BYTES, "vm_area_struct", "vm_pgoff", 8)
MEMBER(VMA_FILE, BYTES, "vm_area_struct", "vm_file", 8)

/* --- names of files --------------------------------------------------------------------------- */

MEMBER(FILE_PATH, BYTES, "file", "f_path|__f_path", 16)
MEMBER(FILE_INODE, BYTES, "file", "f_inode", 8)
MEMBER(FILE_MODE, BYTES, "file", "f_mode", 4)
/* the path that the user opened: overlayfs, from 6.7, if FILE_MODE has FMODE_BACKING */
MEMBER(BACKING_FILE_USER_PATH, BYTES, "backing_file", "user_path", 16)
MEMBER(PATH_MNT, BYTES, "path", "mnt", 8)
MEMBER(PATH_DENTRY, BYTES, "path", "dentry", 8)
MEMBER(DENTRY_PARENT, BYTES, "dentry", "d_parent", 8)
MEMBER(DENTRY_NAME, BYTES, "dentry", "d_name.name|__d_name.name", 8)
MEMBER(DENTRY_NAME_LEN, BYTES, "dentry", "d_name.len|__d_name.len", 4)
MEMBER(DENTRY_INODE, BYTES, "dentry", "d_inode", 8)
/* NULL after the file was deleted: the dentry is not hashed any more */
MEMBER(DENTRY_HASH_PPREV, BYTES, "dentry", "d_hash.pprev", 8)
MEMBER(DENTRY_CHILDREN, BYTES, "dentry", "d_children", 8) /* hlist_head, from 6.8 */
MEMBER(DENTRY_SIB, BYTES, "dentry", "d_sib", 16)
MEMBER(DENTRY_SUBDIRS, BYTES, "dentry", "d_subdirs", 16) /* list_head, up to 6.7 */
MEMBER(DENTRY_CHILD, BYTES, "dentry", "d_child|d_u.d_child", 16)
MEMBER(VFSMOUNT_ROOT, BYTES, "vfsmount", "mnt_root", 8)
MEMBER(MOUNT_MNT, BYTES, "mount", "mnt", 0)
MEMBER(MOUNT_PARENT, BYTES, "mount", "mnt_parent", 8)
MEMBER(MOUNT_MOUNTPOINT, BYTES, "mount", "mnt_mountpoint", 8)
MEMBER(MOUNT_MOUNTS, BYTES, "mount", "mnt_mounts", 16)
MEMBER(MOUNT_CHILD, BYTES, "mount", "mnt_child", 16)
/* list_head, in the super_block's list of mounts; up to 6.16 */
MEMBER(MOUNT_OF_SUPER, BYTES, "mount", "mnt_instance", 16)
MEMBER(SUPER_MOUNTS, BYTES, "super_block", "s_mounts", 16)
/* the super_block's next mount; after 6.16 */
MEMBER(MOUNT_NEXT_OF_SUPER, BYTES, "mount", "mnt_next_for_sb", 8)
MEMBER(SUPER_FIRST_MOUNT, BYTES, "super_block", "s_mounts", 8)
MEMBER(TASK_FS, BYTES, "task_struct", "fs", 8)
MEMBER(FS_ROOT, BYTES, "fs_struct", "root", 16)
MEMBER(FS_PWD, BYTES, "fs_struct", "pwd", 16)

/* --- identity and contents of files ----------------------------------------------------------- */

MEMBER(INODE_MODE, BYTES, "inode", "i_mode", 2)
MEMBER(INODE_LINK, BYTES, "inode", "i_link", 8) /* text of a short symbolic link, or NULL */
MEMBER(INODE_SIZEOF, SIZEOF, "inode", "", 0)
MEMBER(SUPER_MAGIC, BYTES, "super_block", "s_magic", 8)
MEMBER(INODE_SIZE, BYTES, "inode", "i_size", 8)
MEMBER(INODE_SB, BYTES, "inode", "i_sb", 8)
MEMBER(INODE_INO, BYTES, "inode", "i_ino", 8)
MEMBER(INODE_MAPPING, BYTES, "inode", "i_mapping", 8)
MEMBER(INODE_GENERATION, BYTES, "inode", "i_generation", 4)
MEMBER(INODE_MTIME_SEC, BYTES, "inode", "i_mtime_sec|__i_mtime.tv_sec|i_mtime.tv_sec", 8)
/* 8 bytes up to 6.10, then 4: readers read 4 bytes */
MEMBER(INODE_MTIME_NSEC, BYTES, "inode", "i_mtime_nsec|__i_mtime.tv_nsec|i_mtime.tv_nsec", 0)
MEMBER(MAPPING_PAGES, BYTES, "address_space", "i_pages", 0)
MEMBER(XARRAY_HEAD, BYTES, "xarray", "xa_head", 8)
MEMBER(XA_NODE_SHIFT, BYTES, "xa_node", "shift", 1)
MEMBER(XA_NODE_SLOTS, BYTES, "xa_node", "slots", 0)
MEMBER(PAGE_SIZEOF, SIZEOF, "page", "", 0)
MEMBER(PAGE_INDEX, BYTES, "page", "index|__folio_index", 8)
MEMBER(FOLIO_INDEX, BYTES, "folio", "index", 8)

/* --- modules ---------------------------------------------------------------------------------- */

MEMBER(MODULE_STATE, BYTES, "module", "state", 4)
MEMBER(MODULE_LIST, BYTES, "module", "list", 16)
MEMBER(MODULE_NAME, BYTES, "module", "name", 0)
MEMBER(MODULE_CORE_BASE, BYTES, "module", "core_layout.base", 8) /* up to 6.3 */
MEMBER(MODULE_CORE_TEXT_SIZE, BYTES, "module", "core_layout.text_size", 4)
/* array with an element for each enum mod_mem_type, from 6.4; [0] is the text */
MEMBER(MODULE_MEM, BYTES, "module", "mem", 0)
MEMBER(MODULE_MEM_BASE, BYTES, "module_memory", "base", 8)
MEMBER(MODULE_MEM_SIZE, BYTES, "module_memory", "size", 4)
MEMBER(MODULE_ORC_COUNT, BYTES, "module", "arch.num_orcs", 4)
MEMBER(MODULE_ORC_IP, BYTES, "module", "arch.orc_unwind_ip", 8)
MEMBER(MODULE_ORC, BYTES, "module", "arch.orc_unwind", 8)
MEMBER(MODULE_NOTES, BYTES, "module", "notes_attrs", 8)
MEMBER(MODULE_NOTES_ATTRIBUTES, BYTES, "module_notes_attrs", "attrs", 0)
MEMBER(BIN_ATTRIBUTE_SIZE, BYTES, "bin_attribute", "size", 8)
MEMBER(BIN_ATTRIBUTE_PRIVATE, BYTES, "bin_attribute", "private", 8)
MEMBER(BIN_ATTRIBUTE_SIZEOF, SIZEOF, "bin_attribute", "", 0)
MEMBER(MODULE_KALLSYMS, BYTES, "module", "kallsyms", 8)
MEMBER(MOD_KALLSYMS_SYMTAB, BYTES, "mod_kallsyms", "symtab", 8)
MEMBER(MOD_KALLSYMS_SYMTAB_COUNT, BYTES, "mod_kallsyms", "num_symtab", 4)
MEMBER(MOD_KALLSYMS_STRTAB, BYTES, "mod_kallsyms", "strtab", 8)

/* --- generated code --------------------------------------------------------------------------- */

MEMBER(BPF_KSYM_START, BYTES, "bpf_ksym", "start", 8)
MEMBER(BPF_KSYM_END, BYTES, "bpf_ksym", "end", 8)
MEMBER(BPF_KSYM_NAME, BYTES, "bpf_ksym", "name", 0)
MEMBER(BPF_KSYM_LIST, BYTES, "bpf_ksym", "lnode", 16)
MEMBER(FTRACE_OPS_TRAMPOLINE, BYTES, "ftrace_ops", "trampoline", 8)
MEMBER(FTRACE_OPS_TRAMPOLINE_SIZE, BYTES, "ftrace_ops", "trampoline_size", 8)
MEMBER(FTRACE_OPS_LIST, BYTES, "ftrace_ops", "list", 16)

/* --- stacks ----------------------------------------------------------------------------------- */

MEMBER(PCPU_HOT_CURRENT, BYTES, "pcpu_hot", "current_task", 8) /* 6.2 to 6.14 */
MEMBER(PCPU_HOT_TOP_OF_STACK, BYTES, "pcpu_hot", "top_of_stack", 8)
MEMBER(PCPU_HOT_HARDIRQ_STACK, BYTES, "pcpu_hot", "hardirq_stack_ptr", 8)
MEMBER(TLB_STATE_LOADED_MM, BYTES, "tlb_state", "loaded_mm", 8) /* x86, since 4.13 */
/* A task's stack has this size, too: BTF never has union thread_union. */
MEMBER(IRQ_STACK_SIZEOF, SIZEOF, "irq_stack", "", 0)
MEMBER(PT_REGS_SIZEOF, SIZEOF, "pt_regs", "", 0)
MEMBER(ORC_SP_REG_BITS, BITS, "orc_entry", "sp_reg", 0)
MEMBER(ORC_BP_REG_BITS, BITS, "orc_entry", "bp_reg", 0)
MEMBER(ORC_TYPE_BITS, BITS, "orc_entry", "type", 0)
MEMBER(ORC_TYPE_WIDTH, WIDTH, "orc_entry", "type", 0)
MEMBER(ORC_SIGNAL_BITS, BITS, "orc_entry", "signal", 0) /* Linux 6.3 and later */
MEMBER(ORC_END_BITS, BITS, "orc_entry", "end", 0) /* up to 6.3 */

/* --- clocks ----------------------------------------------------------------------------------- */

MEMBER(SEQCOUNT_SIZEOF, SIZEOF, "seqcount_raw_spinlock", "", 0)
MEMBER(TK_DATA_TIMEKEEPER, BYTES, "tk_data", "timekeeper", 0) /* Linux 6.13 and later */
MEMBER(TIMEKEEPER_MONO, BYTES, "timekeeper", "tkr_mono", 0)
MEMBER(TIMEKEEPER_OFFS_REAL, BYTES, "timekeeper", "offs_real", 8)
MEMBER(TKR_CLOCK, BYTES, "tk_read_base", "clock", 8)
MEMBER(TKR_MASK, BYTES, "tk_read_base", "mask", 8)
MEMBER(TKR_CYCLE_LAST, BYTES, "tk_read_base", "cycle_last", 8)
MEMBER(TKR_MULT, BYTES, "tk_read_base", "mult", 4)
MEMBER(TKR_SHIFT, BYTES, "tk_read_base", "shift", 4)
MEMBER(TKR_XTIME_NSEC, BYTES, "tk_read_base", "xtime_nsec", 8)
MEMBER(TKR_BASE, BYTES, "tk_read_base", "base", 8)
MEMBER(CLOCKSOURCE_NAME, BYTES, "clocksource", "name", 8)
MEMBER(TICK_DEVICE_EVENTS, BYTES, "tick_device", "evtdev", 8) /* a clock_event_device */
MEMBER(IRQ_INFO_LIST, BYTES, "irq_info", "list", 16) /* list_head, in xen_irq_list_head */
MEMBER(IRQ_INFO_TYPE, BYTES, "irq_info", "type", 2)
MEMBER(IRQ_INFO_PORT, BYTES, "irq_info", "evtchn", 4)
MEMBER(IRQ_INFO_CPU, BYTES, "irq_info", "cpu", 2)
MEMBER(IRQ_INFO_VIRQ, BYTES, "irq_info", "u.virq", 2)
MEMBER(IRQ_INFO_DEVICE, BYTES, "irq_info", "u.interdomain", 8) /* Linux 5.12 and later */
MEMBER(XENBUS_DEVICE_PATH, BYTES, "xenbus_device", "nodename", 8)
MEMBER(EVENT_DEVICE_NEXT, BYTES, "clock_event_device", "next_event", 8)

/* --- control groups --------------------------------------------------------------------------- */

MEMBER(TASK_CGROUPS, BYTES, "task_struct", "cgroups", 8)
/* the task's cgroup in the hierarchy of version 2 */
MEMBER(CSS_SET_CGROUP, BYTES, "css_set", "dfl_cgrp", 8)
MEMBER(CGROUP_NODE, BYTES, "cgroup", "kn", 8)
MEMBER(KERNFS_NAME, BYTES, "kernfs_node", "name", 8)
MEMBER(KERNFS_PARENT, BYTES, "kernfs_node", "parent|__parent", 8)

/* --- the log: printk_ringbuffer, its two rings, and the rings' elements ----------------------- */

MEMBER(LOG_DESC_RING, BYTES, "printk_ringbuffer", "desc_ring", 0)
MEMBER(LOG_TEXT_RING, BYTES, "printk_ringbuffer", "text_data_ring", 0)
MEMBER(LOG_COUNT_BITS, BYTES, "prb_desc_ring", "count_bits", 4)
MEMBER(LOG_DESCS, BYTES, "prb_desc_ring", "descs", 8)
MEMBER(LOG_INFOS, BYTES, "prb_desc_ring", "infos", 8)
MEMBER(LOG_HEAD_ID, BYTES, "prb_desc_ring", "head_id", 8)
MEMBER(LOG_TAIL_ID, BYTES, "prb_desc_ring", "tail_id", 8)
MEMBER(LOG_SIZE_BITS, BYTES, "prb_data_ring", "size_bits", 4)
MEMBER(LOG_DATA, BYTES, "prb_data_ring", "data", 8)
MEMBER(LOG_DESC_SIZEOF, SIZEOF, "prb_desc", "", 0)
MEMBER(LOG_DESC_STATE, BYTES, "prb_desc", "state_var", 8)
MEMBER(LOG_DESC_TEXT, BYTES, "prb_desc", "text_blk_lpos", 0)
MEMBER(LOG_BLOCK_BEGIN, BYTES, "prb_data_blk_lpos", "begin", 8)
MEMBER(LOG_BLOCK_NEXT, BYTES, "prb_data_blk_lpos", "next", 8)
MEMBER(LOG_INFO_SIZEOF, SIZEOF, "printk_info", "", 0)
MEMBER(LOG_INFO_TIME, BYTES, "printk_info", "ts_nsec", 8)
MEMBER(LOG_INFO_TEXT_BYTES, BYTES, "printk_info", "text_len", 2)
