/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of functions that wait; see wait_sites.h. A stack is read from its innermost
 * function on:
 *
 *   __schedule  schedule  rwsem_down_write_slowpath  down_write  vfs_unlink   do_unlinkat ...
 *   └──────── the scheduler and the lock ─────────────────────┘  └► the site
 *                             └► what the task waits for: the first function that tells
 *
 * A page fault shows in a function further out. The task waits for the page fault unless a lock
 * shows further in. For a futex the site is in the program that called the lock of its C library,
 * if the user stack is known.
 *
 * A kernel thread has no work if the function that kthread() called is the one that sleeps: such
 * threads are written that way.
 */
#include "config.h"

#include "xtop/profile/wait_sites.h"

#include <string.h>

enum class_flag {
	CLASS_NO_SITE = 1,  /* belongs to a lock or to the scheduler */
	CLASS_FUTEX = 2,    /* stands between a lock and its futex: the site if no other is found */
	CLASS_IDLE = 4,     /* a thread waits for work here, if this is the site */
	CLASS_KTHREAD = 8,  /* the outermost function of a kernel thread */
	CLASS_LIBRARY = 16, /* user code: the lock of a C library */
	CLASS_TELLS = 32,   /* its kind counts more than WAIT_BLOCK_IO of a function further in */
};

struct wait_class {
	const char *name; /* '*' at the end matches any end of a name */
	enum wait_kind kind;
	uint8_t flags; /* enum class_flag */
};

/*
 * Linux 5.10 to 7.3. The first line that fits counts. Line 0 is for functions that are not known.
 */
/* clang-format off: a table */
static const struct wait_class wait_classes[] = {
	{ "",                          WAIT_OTHER,      0 },
	{ "",                          WAIT_OTHER,      CLASS_LIBRARY }, /* CLASS_OF_LIBRARY */
	/* the scheduler */
	{ "__schedule",                WAIT_OTHER,      CLASS_NO_SITE },
	{ "__switch_to",               WAIT_OTHER,      CLASS_NO_SITE }, /* arm64 */
	{ "schedule",                  WAIT_OTHER,      CLASS_NO_SITE },
	{ "schedule_idle",             WAIT_OTHER,      CLASS_NO_SITE },
	{ "schedule_preempt_disabled", WAIT_OTHER,      CLASS_NO_SITE },
	{ "schedule_timeout*",         WAIT_OTHER,      CLASS_NO_SITE },
	{ "schedule_hrtimeout*",       WAIT_OTHER,      CLASS_NO_SITE },
	{ "preempt_schedule*",         WAIT_OTHER,      CLASS_NO_SITE },
	{ "__cond_resched",            WAIT_OTHER,      CLASS_NO_SITE },
	{ "_cond_resched",             WAIT_OTHER,      CLASS_NO_SITE },
	{ "io_schedule*",              WAIT_BLOCK_IO,   CLASS_NO_SITE },
	{ "blk_io_schedule",           WAIT_BLOCK_IO,   CLASS_NO_SITE },
	{ "wait_woken",                WAIT_OTHER,      CLASS_NO_SITE },
	{ "prepare_to_wait*",          WAIT_OTHER,      CLASS_NO_SITE },
	{ "do_wait_intr*",             WAIT_OTHER,      CLASS_NO_SITE },
	{ "usleep_range*",             WAIT_TIMER,      CLASS_NO_SITE },
	{ "msleep*",                   WAIT_TIMER,      CLASS_NO_SITE },
	/* locks of the kernel */
	{ "__mutex_lock*",             WAIT_MUTEX,      CLASS_NO_SITE },
	{ "mutex_lock*",               WAIT_MUTEX,      CLASS_NO_SITE },
	{ "__ww_mutex_lock*",          WAIT_MUTEX,      CLASS_NO_SITE },
	{ "ww_mutex_lock*",            WAIT_MUTEX,      CLASS_NO_SITE },
	{ "rwsem_down_*",              WAIT_RWSEM,      CLASS_NO_SITE },
	{ "down_read*",                WAIT_RWSEM,      CLASS_NO_SITE },
	{ "down_write*",               WAIT_RWSEM,      CLASS_NO_SITE },
	{ "__down_read*",              WAIT_RWSEM,      CLASS_NO_SITE },
	{ "__down_write*",             WAIT_RWSEM,      CLASS_NO_SITE },
	{ "percpu_rwsem_wait",         WAIT_PERCPU_RWSEM, CLASS_NO_SITE },
	{ "__percpu_down_*",           WAIT_PERCPU_RWSEM, CLASS_NO_SITE },
	{ "percpu_down_*",             WAIT_PERCPU_RWSEM, CLASS_NO_SITE },
	{ "__rt_mutex_*",              WAIT_RT_MUTEX,   CLASS_NO_SITE },
	{ "rt_mutex_*",                WAIT_RT_MUTEX,   CLASS_NO_SITE },
	{ "__down",                    WAIT_SEMAPHORE,  CLASS_NO_SITE },
	{ "__down_*",                  WAIT_SEMAPHORE,  CLASS_NO_SITE },
	{ "___down_*",                 WAIT_SEMAPHORE,  CLASS_NO_SITE },
	{ "down",                      WAIT_SEMAPHORE,  CLASS_NO_SITE },
	{ "down_interruptible",        WAIT_SEMAPHORE,  CLASS_NO_SITE },
	{ "down_killable",             WAIT_SEMAPHORE,  CLASS_NO_SITE },
	{ "down_timeout",              WAIT_SEMAPHORE,  CLASS_NO_SITE },
	/* spinlocks, down to the hypercall that halts the vCPU */
	{ "_raw_spin_*",               WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "_raw_read_lock*",           WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "_raw_write_lock*",          WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "queued_spin_lock_*",        WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "queued_read_lock_*",        WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "queued_write_lock_*",       WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "__pv_queued_spin_*",        WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "native_queued_spin_*",      WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "xen_qlock_*",               WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "pv_wait*",                  WAIT_SPINLOCK,   CLASS_NO_SITE },
	{ "xen_poll_irq*",             WAIT_OTHER,      CLASS_NO_SITE },
	{ "xen_hypercall_*",           WAIT_OTHER,      CLASS_NO_SITE },
	{ "hypercall_page",            WAIT_OTHER,      CLASS_NO_SITE },
	/* pages, buffers, requests */
	{ "folio_wait_bit*",           WAIT_BLOCK_IO,   CLASS_NO_SITE },
	{ "wait_on_page_bit*",         WAIT_BLOCK_IO,   CLASS_NO_SITE },
	{ "__lock_page*",              WAIT_PAGE_LOCK,  CLASS_NO_SITE | CLASS_TELLS },
	{ "__folio_lock*",             WAIT_PAGE_LOCK,  CLASS_NO_SITE | CLASS_TELLS },
	{ "folio_wait_*",              WAIT_BLOCK_IO,   CLASS_NO_SITE },
	{ "bit_wait_io",               WAIT_BLOCK_IO,   CLASS_NO_SITE },
	{ "bit_wait*",                 WAIT_OTHER,      CLASS_NO_SITE },
	{ "__wait_on_bit*",            WAIT_OTHER,      CLASS_NO_SITE },
	{ "out_of_line_wait_on_bit*",  WAIT_OTHER,      CLASS_NO_SITE },
	{ "__wait_on_buffer",          WAIT_BLOCK_IO,   CLASS_NO_SITE },
	{ "__lock_buffer",             WAIT_BLOCK_IO,   CLASS_NO_SITE },
	{ "rq_qos_wait",               WAIT_BLOCK_IO,   0 },
	{ "blk_mq_get_tag",            WAIT_BLOCK_IO,   0 },
	{ "submit_bio_wait",           WAIT_BLOCK_IO,   0 },
	{ "bio_await",                 WAIT_BLOCK_IO,   0 }, /* Linux 7.3, or earlier, and later */
	{ "balance_dirty_pages*",      WAIT_BLOCK_IO,   0 },
	{ "jbd2_log_wait_commit",      WAIT_JOURNAL,    CLASS_TELLS },
	{ "wait_transaction_*",        WAIT_JOURNAL,    CLASS_TELLS },
	{ "add_transaction_credits",   WAIT_JOURNAL,    CLASS_TELLS },
	{ "start_this_handle",         WAIT_JOURNAL,    CLASS_TELLS },
	{ "do_get_write_access",       WAIT_JOURNAL,    CLASS_TELLS },
	{ "jbd2_journal_lock_updates", WAIT_JOURNAL,    CLASS_TELLS },
	{ "__jbd2_log_wait_for_space", WAIT_JOURNAL,    CLASS_TELLS },
	{ "jbd2_journal_commit_transaction", WAIT_JOURNAL, 0 },
	{ "xlog_wait_on_iclog",        WAIT_JOURNAL,    0 },
	{ "xlog_grant_head_wait",      WAIT_JOURNAL,    0 },
	{ "xlog_cil_*",                WAIT_JOURNAL,    0 },
	{ "xlog_force_lsn",            WAIT_JOURNAL,    0 },
	{ "xlog_state_get_iclog_space", WAIT_JOURNAL,   0 },
	{ "xfs_ail_push_all_sync",     WAIT_JOURNAL,    0 },
	{ "xfs_extent_busy_*",         WAIT_JOURNAL,    0 }, /* waits until the log is written */
	{ "xfs_qm_dqunpin_wait",       WAIT_JOURNAL,    0 },
	{ "xfs_buf_wait_unpin",        WAIT_JOURNAL,    CLASS_TELLS },
	{ "__xfs_iunpin_wait",         WAIT_JOURNAL,    CLASS_TELLS },
	/* inodes */
	{ "__wait_on_freeing_inode",   WAIT_INODE,      0 },
	{ "__inode_wait_for_writeback", WAIT_INODE,     CLASS_TELLS },
	{ "inode_wait_for_writeback",  WAIT_INODE,      CLASS_TELLS },
	{ "inode_dio_wait*",           WAIT_INODE,      CLASS_NO_SITE },
	{ "__inode_dio_wait",          WAIT_INODE,      CLASS_NO_SITE },
	{ "xfs_iget",                  WAIT_INODE,      0 },
	/* locks of files: Linux fs/locks.c, fs/nfs/nfs4proc.c, fs/lockd/clntlock.c */
	{ "locks_lock_inode_wait",     WAIT_FILE_LOCK,  CLASS_NO_SITE },
	{ "flock_lock_inode_wait",     WAIT_FILE_LOCK,  CLASS_NO_SITE },
	{ "posix_lock_inode_wait",     WAIT_FILE_LOCK,  CLASS_NO_SITE },
	{ "do_lock_file_wait",         WAIT_FILE_LOCK,  CLASS_NO_SITE },
	{ "fcntl_setlk*",              WAIT_FILE_LOCK,  0 },
	{ "__break_lease",             WAIT_FILE_LOCK,  CLASS_NO_SITE },
	{ "nfs4_proc_lock",            WAIT_FILE_LOCK,  0 },
	{ "nlmclnt_block",             WAIT_FILE_LOCK,  CLASS_NO_SITE }, /* Linux up to 5.19 */
	{ "nlmclnt_wait",              WAIT_FILE_LOCK,  CLASS_NO_SITE },
	/* NFS, and the calls that it makes: Linux net/sunrpc/sched.c, fs/nfs */
	{ "rpc_wait_bit_killable",     WAIT_NFS,        CLASS_NO_SITE },
	{ "__rpc_execute",             WAIT_NFS,        CLASS_NO_SITE },
	{ "rpc_execute",               WAIT_NFS,        CLASS_NO_SITE },
	{ "rpc_run_task",              WAIT_NFS,        CLASS_NO_SITE },
	{ "rpc_call_sync",             WAIT_NFS,        CLASS_NO_SITE },
	{ "__rpc_wait_for_completion_task", WAIT_NFS,   CLASS_NO_SITE },
	{ "rpc_wait_for_completion_task", WAIT_NFS,     CLASS_NO_SITE },
	{ "nfs3_rpc_wrapper",          WAIT_NFS,        CLASS_NO_SITE },
	{ "nfs4_do_call_sync",         WAIT_NFS,        CLASS_NO_SITE },
	{ "nfs4_call_sync*",           WAIT_NFS,        CLASS_NO_SITE },
	{ "nfs4_handle_exception",     WAIT_NFS,        CLASS_NO_SITE },
	{ "nfs4_wait_clnt_recover",    WAIT_NFS,        CLASS_NO_SITE },
	{ "nfs4_slot_wait_on_seqid",   WAIT_NFS,        CLASS_NO_SITE },
	{ "nfs_wait_*",                WAIT_NFS,        CLASS_NO_SITE | CLASS_TELLS },
	{ "nfs_page_group_lock*",      WAIT_NFS,        CLASS_NO_SITE },
	{ "nfs_page_set_headlock",     WAIT_NFS,        CLASS_NO_SITE },
	{ "nfs_iocounter_wait",        WAIT_NFS,        CLASS_NO_SITE },
	{ "wait_on_commit",            WAIT_NFS,        CLASS_NO_SITE },
	{ "__nfs_lookup_revalidate",   WAIT_NFS,        0 },
	/* one task waits for another */
	{ "wait_for_completion*",      WAIT_COMPLETION, CLASS_NO_SITE },
	{ "__wait_for_common",         WAIT_COMPLETION, CLASS_NO_SITE },
	{ "do_wait_for_common",        WAIT_COMPLETION, CLASS_NO_SITE },
	{ "__flush_work",              WAIT_COMPLETION, CLASS_NO_SITE },
	{ "flush_work",                WAIT_COMPLETION, CLASS_NO_SITE },
	{ "__wait_rcu_gp",             WAIT_RCU,        CLASS_NO_SITE },
	{ "synchronize_rcu*",          WAIT_RCU,        CLASS_NO_SITE },
	{ "synchronize_rcu_normal",    WAIT_RCU,        CLASS_NO_SITE },
	{ "rcu_sync_*",                WAIT_RCU,        CLASS_NO_SITE },
	{ "rcu_barrier*",              WAIT_RCU,        0 },
	{ "synchronize_srcu*",         WAIT_RCU,        0 },
	{ "__synchronize_srcu*",       WAIT_RCU,        CLASS_NO_SITE },
	/* system calls */
	{ "futex_wait*",               WAIT_FUTEX,      CLASS_FUTEX },
	{ "__futex_wait",              WAIT_FUTEX,      CLASS_FUTEX },
	{ "futex_do_wait",             WAIT_FUTEX,      CLASS_FUTEX }, /* Linux 6.16 and later */
	{ "futex_lock_pi*",            WAIT_FUTEX,      CLASS_FUTEX },
	{ "do_futex",                  WAIT_FUTEX,      CLASS_FUTEX },
	{ "__x64_sys_futex*",          WAIT_FUTEX,      CLASS_FUTEX },
	{ "__arm64_sys_futex*",        WAIT_FUTEX,      CLASS_FUTEX },
	{ "__se_sys_futex*",           WAIT_FUTEX,      CLASS_FUTEX },
	{ "__do_sys_futex*",           WAIT_FUTEX,      CLASS_FUTEX },
	{ "x64_sys_call",              WAIT_OTHER,      CLASS_FUTEX },
	{ "do_syscall_64",             WAIT_OTHER,      CLASS_FUTEX },
	{ "entry_SYSCALL_64*",         WAIT_OTHER,      CLASS_FUTEX },
	{ "do_syscall_x64",            WAIT_OTHER,      CLASS_FUTEX },
	{ "invoke_syscall*",           WAIT_OTHER,      CLASS_FUTEX }, /* arm64 from here */
	{ "el0_svc*",                  WAIT_OTHER,      CLASS_FUTEX },
	{ "do_el0_svc*",               WAIT_OTHER,      CLASS_FUTEX },
	{ "el0t_64_sync*",             WAIT_OTHER,      CLASS_FUTEX },
	{ "el0t_32_sync*",             WAIT_OTHER,      CLASS_FUTEX },
	{ "__ia32_sys_futex*",         WAIT_FUTEX,      CLASS_FUTEX }, /* programs of i386 */
	{ "ia32_sys_call",             WAIT_OTHER,      CLASS_FUTEX },
	{ "do_syscall_32_irqs_on*",    WAIT_OTHER,      CLASS_FUTEX },
	{ "__do_fast_syscall_32",      WAIT_OTHER,      CLASS_FUTEX },
	{ "do_fast_syscall_32",        WAIT_OTHER,      CLASS_FUTEX },
	{ "do_SYSENTER_32",            WAIT_OTHER,      CLASS_FUTEX },
	{ "do_int80_*",                WAIT_OTHER,      CLASS_FUTEX },
	{ "asm_int80_emulation",       WAIT_OTHER,      CLASS_FUTEX },
	{ "entry_INT80_*",             WAIT_OTHER,      CLASS_FUTEX },
	{ "entry_SYSENTER_*",          WAIT_OTHER,      CLASS_FUTEX },
	{ "entry_SYSCALL_compat*",     WAIT_OTHER,      CLASS_FUTEX },
	{ "pipe_read",                 WAIT_PIPE,       0 },
	{ "pipe_write",                WAIT_PIPE,       0 },
	{ "anon_pipe_read",            WAIT_PIPE,       0 }, /* Linux 6.15 and later */
	{ "anon_pipe_write",           WAIT_PIPE,       0 },
	{ "pipe_wait*",                WAIT_PIPE,       CLASS_NO_SITE },
	{ "wait_for_partner",          WAIT_PIPE,       0 },
	{ "sk_wait_data",              WAIT_SOCKET,     CLASS_NO_SITE },
	{ "sk_stream_wait_*",          WAIT_SOCKET,     CLASS_NO_SITE },
	{ "__skb_wait_for_more_packets", WAIT_SOCKET,   CLASS_NO_SITE },
	{ "__skb_recv_datagram",       WAIT_SOCKET,     CLASS_NO_SITE },
	{ "__skb_recv_udp",            WAIT_SOCKET,     CLASS_NO_SITE },
	{ "skb_recv_datagram",         WAIT_SOCKET,     CLASS_NO_SITE },
	{ "sock_alloc_send_pskb",      WAIT_SOCKET,     CLASS_NO_SITE },
	{ "unix_stream_data_wait",     WAIT_SOCKET,     CLASS_NO_SITE },
	{ "unix_wait_for_peer",        WAIT_SOCKET,     CLASS_NO_SITE },
	{ "inet_csk_wait_for_connect", WAIT_SOCKET,     CLASS_NO_SITE },
	{ "inet_csk_accept",           WAIT_SOCKET,     0 },
	{ "unix_stream_read_generic",  WAIT_SOCKET,     0 },
	{ "tcp_recvmsg*",              WAIT_SOCKET,     0 },
	{ "n_tty_read",                WAIT_TTY,        0 },
	{ "n_tty_write",               WAIT_TTY,        0 },
	{ "tty_wait_until_sent",       WAIT_TTY,        0 },
	{ "ep_poll",                   WAIT_POLL,       CLASS_IDLE },
	{ "do_epoll_wait",             WAIT_POLL,       CLASS_IDLE },
	{ "poll_schedule_timeout*",    WAIT_POLL,       CLASS_NO_SITE },
	{ "do_poll*",                  WAIT_POLL,       CLASS_IDLE },
	{ "do_sys_poll",               WAIT_POLL,       CLASS_IDLE },
	{ "do_select",                 WAIT_POLL,       CLASS_IDLE },
	{ "ep_schedule_timeout",       WAIT_OTHER,      CLASS_NO_SITE },
	{ "io_cqring_wait",            WAIT_POLL,       CLASS_IDLE },
	{ "io_cqring_wait_schedule",   WAIT_OTHER,      CLASS_NO_SITE },
	{ "io_cqring_schedule_timeout", WAIT_OTHER,     CLASS_NO_SITE },
	{ "read_events",               WAIT_POLL,       CLASS_IDLE },
	{ "do_nanosleep",              WAIT_TIMER,      CLASS_IDLE },
	{ "do_wait",                   WAIT_CHILD,      CLASS_IDLE },
	{ "do_sigtimedwait*",          WAIT_SIGNAL,     CLASS_IDLE },
	{ "__x64_sys_rt_sigtimedwait*", WAIT_SIGNAL,    CLASS_IDLE },
	{ "__arm64_sys_rt_sigtimedwait*", WAIT_SIGNAL,  CLASS_IDLE },
	{ "sigsuspend",                WAIT_SIGNAL,     CLASS_IDLE },
	{ "__x64_sys_pause",           WAIT_SIGNAL,     CLASS_IDLE },
	{ "__arm64_sys_pause",         WAIT_SIGNAL,     CLASS_IDLE },
	{ "__ia32_sys_pause",          WAIT_SIGNAL,     CLASS_IDLE },
	{ "__do_sys_pause",            WAIT_SIGNAL,     CLASS_IDLE },
	{ "do_signal_stop",            WAIT_SIGNAL,     0 },
	/* threads of the kernel */
	{ "worker_thread",             WAIT_WORK,       CLASS_IDLE },
	{ "rescuer_thread",            WAIT_WORK,       CLASS_IDLE },
	{ "kthread_worker_fn",         WAIT_WORK,       CLASS_IDLE },
	{ "rcu_gp_fqs_loop",           WAIT_WORK,       CLASS_IDLE },
	{ "rcu_tasks_one_gp",          WAIT_WORK,       CLASS_IDLE },
	{ "devtmpfs_work_loop",        WAIT_WORK,       CLASS_IDLE },
	{ "khugepaged_wait_work",      WAIT_WORK,       CLASS_IDLE },
	{ "io_wqe_worker",             WAIT_WORK,       CLASS_IDLE }, /* Linux up to 6.4 */
	{ "io_wq_worker",              WAIT_WORK,       CLASS_IDLE },
	{ "io_sq_thread",              WAIT_WORK,       CLASS_IDLE },
	{ "svc_recv",                  WAIT_WORK,       CLASS_IDLE },
	{ "svc_get_next_xprt",         WAIT_WORK,       CLASS_IDLE },
	{ "svc_thread_wait_for_work",  WAIT_WORK,       CLASS_IDLE },
	{ "kthread",                   WAIT_OTHER,      CLASS_KTHREAD },
	{ "kthreadd",                  WAIT_WORK,       CLASS_IDLE },
	/* page faults */
	{ "handle_mm_fault",           WAIT_PAGE_FAULT, 0 },
	{ "do_user_addr_fault",        WAIT_PAGE_FAULT, 0 },
	/* locks of C libraries, on the way to a futex */
	{ "pthread_*",                 WAIT_OTHER,      CLASS_LIBRARY },
	{ "__pthread_*",               WAIT_OTHER,      CLASS_LIBRARY },
	{ "___pthread_*",              WAIT_OTHER,      CLASS_LIBRARY },
	{ "__lll_lock_wait*",          WAIT_OTHER,      CLASS_LIBRARY },
	{ "lll_*",                     WAIT_OTHER,      CLASS_LIBRARY },
	{ "__futex_*",                 WAIT_OTHER,      CLASS_LIBRARY },
	{ "futex*",                    WAIT_OTHER,      CLASS_LIBRARY },
	{ "__wait",                    WAIT_OTHER,      CLASS_LIBRARY },
	{ "__timedwait*",              WAIT_OTHER,      CLASS_LIBRARY },
	{ "sem_wait",                  WAIT_OTHER,      CLASS_LIBRARY },
	{ "sem_timedwait",             WAIT_OTHER,      CLASS_LIBRARY },
	{ "__new_sem_wait*",           WAIT_OTHER,      CLASS_LIBRARY },
	{ "do_futex_wait*",            WAIT_OTHER,      CLASS_LIBRARY },
	{ "syscall",                   WAIT_OTHER,      CLASS_LIBRARY },
	{ "__kernel_vsyscall",         WAIT_OTHER,      CLASS_LIBRARY }, /* i386's vDSO */
};
/* clang-format on */
#define N_CLASSES   (sizeof(wait_classes) / sizeof(wait_classes[0]))
#define CLASS_KNOWN 1 /* added to a class in struct wait_classes, where 0 is "not looked up" */
#define CLASS_OF_LIBRARY 1 /* the line of all functions in the files of a C library */

_Static_assert(N_CLASSES + CLASS_KNOWN <= UINT8_MAX, "kept in a byte");

const char *const wait_kind_names[N_WAIT_KINDS] = {
	[WAIT_OTHER] = "-",
	[WAIT_CPU] = "CPU",
	[WAIT_MUTEX] = "mutex",
	[WAIT_RWSEM] = "rwsem",
	[WAIT_PERCPU_RWSEM] = "pcpu rwsem",
	[WAIT_RT_MUTEX] = "rt_mutex",
	[WAIT_SEMAPHORE] = "semaphore",
	[WAIT_FUTEX] = "futex",
	[WAIT_SPINLOCK] = "spinlock",
	[WAIT_PAGE_FAULT] = "page fault",
	[WAIT_PAGE_LOCK] = "page lock",
	[WAIT_BLOCK_IO] = "block I/O",
	[WAIT_JOURNAL] = "journal",
	[WAIT_INODE] = "inode",
	[WAIT_FILE_LOCK] = "file lock",
	[WAIT_NFS] = "NFS",
	[WAIT_PIPE] = "pipe",
	[WAIT_SOCKET] = "socket",
	[WAIT_TTY] = "terminal",
	[WAIT_POLL] = "poll",
	[WAIT_TIMER] = "timer",
	[WAIT_CHILD] = "child",
	[WAIT_SIGNAL] = "signal",
	[WAIT_COMPLETION] = "completion",
	[WAIT_RCU] = "RCU",
	[WAIT_WORK] = "work",
};

/* --- the class of a function ------------------------------------------------------------------ */

/* A compiler's copies have the name of the function and a suffix: "__mutex_lock.constprop.0". */
static bool class_fits(const struct wait_class *class, const char *name, size_t length)
{
	size_t n = strlen(class->name);

	if (n && class->name[n - 1] == '*')
		return length >= n - 1 && !strncmp(class->name, name, n - 1);
	return length == n && !strncmp(class->name, name, n);
}

/*
 * Whether the function lies in a C library. Distributions ship these libraries with the names of
 * exported functions alone, so other functions of a lock have no name.
 */
static bool class_is_library(const struct frame *frame)
{
	static const char *const modules[] = { "libc.so", "libc-", "libpthread", "ld-musl" };

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (!strncmp(frame->module, modules[i], strlen(modules[i])))
			return true;
	return false;
}

/* The line of wait_classes[] for the frame ID. */
static uint8_t class_find(const struct frames *frames, uint32_t id)
{
	const struct frame *frame = frames_get(frames, id);
	size_t length = strcspn(frame->raw_name, ".");
	bool kernel = frame->kind == FRAME_KIND_KERNEL;

	if (!kernel && frame->kind != FRAME_KIND_USERLAND)
		return 0;
	if (!kernel && class_is_library(frame))
		return CLASS_OF_LIBRARY;
	for (size_t i = CLASS_OF_LIBRARY + 1; i < N_CLASSES; i++)
		if (kernel == !(wait_classes[i].flags & CLASS_LIBRARY) &&
		    class_fits(&wait_classes[i], frame->raw_name, length))
			return (uint8_t)i;
	return 0;
}

static const struct wait_class *class_of(const struct frames *frames,
					 const struct wait_classes *classes, uint32_t frame)
{
	uint8_t *kept = frame < classes->n ? &classes->classes[frame] : NULL;
	uint8_t number;

	if (kept && *kept)
		return &wait_classes[*kept - CLASS_KNOWN];
	number = class_find(frames, frame);
	if (kept)
		*kept = (uint8_t)(number + CLASS_KNOWN);
	return &wait_classes[number];
}

/* --- the site of a stack ---------------------------------------------------------------------- */

static bool wait_kind_is_lock(enum wait_kind kind)
{
	return kind >= WAIT_MUTEX && kind <= WAIT_FUTEX;
}

/*
 * Chooses between KIND, told by functions further in, and OUTER, told by a function further out.
 * Code that locks a page, the journal or an inode sleeps in the functions that wait for block I/O.
 * TELLS: the function further out is such code. A futex with priority inheritance sleeps in the
 * functions of an rt_mutex.
 */
static enum wait_kind wait_kind_choose(enum wait_kind kind, enum wait_kind outer, bool tells)
{
	if (kind == WAIT_OTHER || (kind == WAIT_BLOCK_IO && tells) ||
	    (kind == WAIT_RT_MUTEX && outer == WAIT_FUTEX) ||
	    (outer == WAIT_PAGE_FAULT && !wait_kind_is_lock(kind)))
		return outer;
	return kind;
}

static bool wait_is_for_cpu(const struct frames *frames, const uint32_t *stack, size_t n)
{
	const struct frame *innermost = n ? frames_get(frames, stack[n - 1]) : NULL;

	return innermost && innermost->kind == FRAME_KIND_MARK &&
	       !strcmp(innermost->name, WAIT_RUNNABLE_MARK);
}

struct site_search {
	size_t site;  /* place in the stack of the innermost frame that is a site; N: none yet */
	size_t spare; /* place of the innermost CLASS_FUTEX or CLASS_LIBRARY, if there is no site */
	size_t n;
};

static void site_consider(struct site_search *search, size_t at, uint8_t flags)
{
	if (search->site < search->n || flags & CLASS_NO_SITE)
		return;
	if (!(flags & (CLASS_FUTEX | CLASS_LIBRARY)))
		search->site = at;
	else if (search->spare == search->n)
		search->spare = at;
}

struct wait_site wait_site_find(const struct frames *frames, const struct wait_classes *classes,
				const uint32_t *stack, size_t n)
{
	struct wait_site site = { .frame = FRAME_NONE };
	struct site_search search = { n, n, n };

	for (size_t at = n; at-- > 0;) {
		const struct wait_class *class;

		if (!frame_is_function(frames_get(frames, stack[at])))
			continue;
		class = class_of(frames, classes, stack[at]);
		if (class->flags & CLASS_KTHREAD && search.site == at + 1) {
			site.kind = WAIT_WORK;
			site.idle = true;
		}
		site_consider(&search, at, class->flags);
		/* A worker that sleeps further in has work. */
		if (class->flags & CLASS_IDLE && search.site != at)
			continue;
		site.kind = wait_kind_choose(site.kind, class->kind,
					     class->flags & CLASS_TELLS &&
						     (search.site == n || search.site == at));
		site.idle |= (class->flags & CLASS_IDLE) && site.kind == class->kind;
		/* Stop at the program: its functions may have names of the kernel's. */
		if (search.site < n && frames_get(frames, stack[at])->kind != FRAME_KIND_KERNEL)
			break;
	}
	if (search.site < n)
		site.frame = stack[search.site];
	else if (search.spare < n)
		site.frame = stack[search.spare];
	else if (n && frame_is_function(frames_get(frames, stack[n - 1])))
		site.frame = stack[n - 1];
	if (wait_is_for_cpu(frames, stack, n)) {
		site.kind = WAIT_CPU;
		site.idle = false;
	}
	return site;
}

/* Whether FRAME is a kernel function named as one of the N NAMES, or a part ("NAME.part.0"). */
static bool wait_is_one_of(const struct frame *frame, const char *const *names, size_t n)
{
	if (frame->kind != FRAME_KIND_KERNEL)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(names[i]);

		if (!strncmp(frame->raw_name, names[i], length) &&
		    (!frame->raw_name[length] || frame->raw_name[length] == '.'))
			return true;
	}
	return false;
}

/* Linux arch/x86/xen/spinlock.c, drivers/xen/events/events_base.c: down to the hypercall */
static bool wait_is_halting(const struct frame *frame)
{
	static const char *const names[] = { "xen_qlock_wait", "xen_poll_irq",
					     "xen_poll_irq_timeout" };

	return frame->hypercall || wait_is_one_of(frame, names, sizeof(names) / sizeof(names[0]));
}

/* Linux kernel/locking/qspinlock.c, qspinlock_paravirt.h, qrwlock.c */
enum wait_spinning wait_find_spinning(const struct frames *frames, const uint32_t *stack, size_t n)
{
	static const char *const names[] = {
		"native_queued_spin_lock_slowpath", "__pv_queued_spin_lock_slowpath",
		"queued_spin_lock_slowpath", "queued_read_lock_slowpath",
		"queued_write_lock_slowpath",
	};
	size_t outer = n;

	while (outer && wait_is_halting(frames_get(frames, stack[outer - 1])))
		outer--;
	if (!outer || !wait_is_one_of(frames_get(frames, stack[outer - 1]), names,
				      sizeof(names) / sizeof(names[0])))
		return WAIT_SPINS_NOT;
	return outer == n ? WAIT_SPINS : WAIT_SPUN;
}
