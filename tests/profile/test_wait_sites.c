/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sites of stacks as kernels of Debian have them: where a task waits, what for, and idleness. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/must.h"
#include "tests/support/tap.h"
#include "xtop/profile/wait_sites.h"

static struct frames *frames;
static uint8_t classes[4096];

/*
 * STACK: functions from the innermost out; "u:" before one of user code, "l:" of the C library,
 * "m:" before a mark.
 */
static struct wait_site find(const char *stack)
{
	const struct wait_classes kept = { classes, sizeof(classes) };
	uint32_t inner[64], outer[64];
	char text[1024], *rest = text, *word;
	size_t n = 0;

	snprintf(text, sizeof(text), "%s", stack);
	while ((word = strsep(&rest, " "))) {
		enum frame_kind kind = FRAME_KIND_KERNEL;
		const char *module = NULL;

		if (word[0] && word[1] == ':') {
			kind = word[0] == 'm' ? FRAME_KIND_MARK : FRAME_KIND_USERLAND;
			module = word[0] == 'l' ? "libc.so.6" : NULL;
			word += 2;
		}
		inner[n++] = frames_intern(frames, kind, word, module, 0);
	}
	for (size_t i = 0; i < n; i++)
		outer[i] = inner[n - 1 - i];
	return wait_site_find(frames, &kept, outer, n);
}

static void check_site(const char *stack, const char *site, enum wait_kind kind, bool idle)
{
	struct wait_site found = find(stack);
	const char *name = found.frame == FRAME_NONE ? "" : frames_get(frames, found.frame)->name;

	check(!strcmp(name, site) && found.kind == kind && found.idle == idle,
	      "%s: in %s for %s%s", stack, name, wait_kind_names[found.kind],
	      found.idle ? ", idle" : "");
}

#define SYSCALL_ARM64 \
	" invoke_syscall el0_svc_common.constprop.0 do_el0_svc el0_svc el0t_64_sync_handler el0t_64_sync"
#define SYSCALL " x64_sys_call do_syscall_64 entry_SYSCALL_64_after_hwframe"

int main(void)
{
	must(frames_create(NULL, &frames));
	for (int i = 0; i < 2; i++) { /* the second time classes are known */
		check_site("__schedule schedule pipe_read vfs_read ksys_read" SYSCALL, "pipe_read",
			   WAIT_PIPE, false);
		check_site("__schedule schedule rwsem_down_write_slowpath down_write do_unlinkat"
			   SYSCALL, "do_unlinkat", WAIT_RWSEM, false);
		check_site("__schedule schedule schedule_preempt_disabled __mutex_lock.constprop.0 "
			   "pipe_write vfs_write" SYSCALL, "pipe_write", WAIT_MUTEX, false);
		check_site("__schedule schedule futex_wait_queue futex_wait do_futex "
			   "__x64_sys_futex" SYSCALL " u:__lll_lock_wait u:pthread_mutex_lock "
			   "u:transfer u:main", "transfer", WAIT_FUTEX, false);
		check_site("__schedule schedule futex_wait_queue futex_wait do_futex "
			   "__x64_sys_futex" SYSCALL " l:unnamed u:pthread_mutex_lock u:transfer",
			   "transfer", WAIT_FUTEX, false);
		check_site("__schedule schedule futex_wait_queue futex_wait do_futex "
			   "__x64_sys_futex" SYSCALL, "futex_wait_queue", WAIT_FUTEX, false);
		check_site("__schedule schedule futex_do_wait __futex_wait futex_wait do_futex "
			   "__x64_sys_futex" SYSCALL " l:unnamed u:transfer",
			   "transfer", WAIT_FUTEX, false);
		check_site("__switch_to __schedule schedule pipe_read vfs_read ksys_read "
			   "__arm64_sys_read" SYSCALL_ARM64, "pipe_read", WAIT_PIPE, false);
		check_site("__switch_to __schedule schedule futex_wait_queue futex_wait do_futex "
			   "__arm64_sys_futex" SYSCALL_ARM64 " l:unnamed u:transfer", "transfer",
			   WAIT_FUTEX, false);
		check_site("__switch_to __schedule schedule futex_wait_queue futex_wait do_futex "
			   "__arm64_sys_futex_time32 invoke_syscall el0_svc_common.constprop.0 "
			   "do_el0_svc_compat el0_svc_compat el0t_32_sync_handler el0t_32_sync "
			   "l:unnamed u:transfer", "transfer", WAIT_FUTEX, false);
		check_site("__schedule schedule futex_wait_queue futex_wait do_futex "
			   "__ia32_sys_futex_time32 __do_fast_syscall_32 do_fast_syscall_32 "
			   "entry_SYSENTER_compat_after_hwframe u:__kernel_vsyscall l:unnamed "
			   "u:transfer", "transfer", WAIT_FUTEX, false);
		check_site("__schedule schedule futex_wait_queue futex_wait do_futex "
			   "__ia32_sys_futex ia32_sys_call do_int80_emulation asm_int80_emulation "
			   "l:unnamed u:transfer", "transfer", WAIT_FUTEX, false);
		check_site("__schedule schedule futex_wait_queue futex_wait do_futex "
			   "__ia32_sys_futex do_SYSENTER_32 entry_SYSENTER_32 u:__kernel_vsyscall "
			   "l:unnamed u:transfer", "transfer", WAIT_FUTEX, false);
		check_site("__schedule schedule __ia32_sys_pause do_int80_syscall_32 "
			   "entry_INT80_compat", "__ia32_sys_pause", WAIT_SIGNAL, true);
		check_site("__switch_to __schedule schedule do_sigtimedwait "
			   "__arm64_sys_rt_sigtimedwait" SYSCALL_ARM64 " l:unnamed u:main",
			   "do_sigtimedwait", WAIT_SIGNAL, true);
		check_site("__schedule schedule anon_pipe_read vfs_read" SYSCALL, "anon_pipe_read",
			   WAIT_PIPE, false);
		check_site("__schedule schedule rt_mutex_slowlock_block.constprop.0 "
			   "rt_mutex_wait_proxy_lock futex_lock_pi do_futex __x64_sys_futex" SYSCALL
			   " u:__pthread_mutex_lock_full u:transfer", "transfer", WAIT_FUTEX, false);
		check_site("__schedule schedule rt_mutex_slowlock.constprop.0 rt_mutex_lock "
			   "i2c_transfer i2cdev_read vfs_read" SYSCALL, "i2c_transfer",
			   WAIT_RT_MUTEX, false);
		check_site("__schedule schedule io_schedule folio_wait_bit_common filemap_fault "
			   "__do_fault handle_mm_fault do_user_addr_fault exc_page_fault",
			   "filemap_fault", WAIT_PAGE_FAULT, false);
		check_site("__schedule schedule rwsem_down_read_slowpath down_read "
			   "do_user_addr_fault exc_page_fault", "do_user_addr_fault", WAIT_RWSEM,
			   false);
		check_site("__schedule schedule io_schedule rq_qos_wait wbt_wait __submit_bio",
			   "rq_qos_wait", WAIT_BLOCK_IO, false);
		check_site("__schedule schedule io_schedule_timeout blk_io_schedule "
			   "__blkdev_direct_IO_simple blkdev_direct_IO vfs_read" SYSCALL,
			   "__blkdev_direct_IO_simple", WAIT_BLOCK_IO, false);
		check_site("__schedule schedule io_schedule bio_await __blkdev_direct_IO_simple "
			   "vfs_read" SYSCALL, "bio_await", WAIT_BLOCK_IO, false);
		check_site("__schedule schedule schedule_timeout unix_stream_data_wait "
			   "unix_stream_read_generic unix_stream_recvmsg" SYSCALL,
			   "unix_stream_read_generic", WAIT_SOCKET, false);
		check_site("__schedule schedule do_nanosleep hrtimer_nanosleep" SYSCALL,
			   "do_nanosleep", WAIT_TIMER, true);
		check_site("__schedule schedule schedule_hrtimeout_range_clock ep_poll "
			   "do_epoll_wait" SYSCALL, "ep_poll", WAIT_POLL, true);
		check_site("__schedule schedule do_wait kernel_wait4" SYSCALL, "do_wait",
			   WAIT_CHILD, true);
		check_site("__schedule schedule worker_thread kthread ret_from_fork",
			   "worker_thread", WAIT_WORK, true);
		check_site("__schedule schedule schedule_timeout io_wqe_worker ret_from_fork",
			   "io_wqe_worker", WAIT_WORK, true);
		check_site("__schedule schedule schedule_timeout io_wq_worker ret_from_fork",
			   "io_wq_worker", WAIT_WORK, true);
		check_site("__schedule schedule io_sq_thread ret_from_fork", "io_sq_thread",
			   WAIT_WORK, true);
		check_site("__schedule schedule some_driver_wait some_driver_work process_one_work "
			   "worker_thread kthread ret_from_fork", "some_driver_wait", WAIT_OTHER,
			   false);
		check_site("__schedule schedule schedule_timeout io_cqring_wait_schedule "
			   "io_cqring_wait __do_sys_io_uring_enter" SYSCALL, "io_cqring_wait",
			   WAIT_POLL, true);
		check_site("__schedule schedule kcompactd kthread ret_from_fork", "kcompactd",
			   WAIT_WORK, true);
		check_site("__schedule schedule io_schedule bit_wait_io __wait_on_bit "
			   "out_of_line_wait_on_bit jbd2_journal_commit_transaction kjournald2 "
			   "kthread ret_from_fork", "jbd2_journal_commit_transaction",
			   WAIT_BLOCK_IO, false);
		check_site("__schedule schedule percpu_rwsem_wait __percpu_down_read "
			   "cgroup_can_fork copy_process" SYSCALL, "cgroup_can_fork",
			   WAIT_PERCPU_RWSEM, false);
		check_site("__schedule schedule percpu_down_write cgroup_attach_lock" SYSCALL,
			   "cgroup_attach_lock", WAIT_PERCPU_RWSEM, false);
		check_site("__schedule schedule rcu_sync_enter percpu_down_write "
			   "cgroup_attach_lock" SYSCALL, "cgroup_attach_lock", WAIT_RCU, false);
		check_site("__schedule schedule schedule_timeout ___down_common __down down "
			   "console_lock", "console_lock", WAIT_SEMAPHORE, false);
		check_site("__schedule schedule io_schedule folio_wait_bit_common __folio_lock "
			   "truncate_inode_pages_range ext4_evict_inode",
			   "truncate_inode_pages_range", WAIT_PAGE_LOCK, false);
		check_site("__schedule schedule io_schedule folio_wait_bit_common __folio_lock_or_"
			   "retry filemap_fault handle_mm_fault", "filemap_fault",
			   WAIT_PAGE_FAULT, false);
		check_site("__schedule schedule io_schedule bit_wait_io __wait_on_bit "
			   "out_of_line_wait_on_bit do_get_write_access "
			   "jbd2_journal_get_write_access", "do_get_write_access", WAIT_JOURNAL,
			   false);
		check_site("__schedule schedule wait_transaction_locked add_transaction_credits "
			   "start_this_handle", "wait_transaction_locked", WAIT_JOURNAL, false);
		check_site("__schedule schedule io_schedule rq_qos_wait __submit_bio "
			   "start_this_handle", "rq_qos_wait", WAIT_BLOCK_IO, false);
		check_site("__schedule schedule __wait_on_freeing_inode find_inode_fast iget_locked",
			   "__wait_on_freeing_inode", WAIT_INODE, false);
		check_site("__schedule schedule bit_wait __wait_on_bit __inode_wait_for_writeback "
			   "evict", "__inode_wait_for_writeback", WAIT_INODE, false);
		check_site("__schedule schedule locks_lock_inode_wait __do_sys_flock" SYSCALL,
			   "__do_sys_flock", WAIT_FILE_LOCK, false);
		check_site("__schedule schedule fcntl_setlk do_fcntl __x64_sys_fcntl" SYSCALL,
			   "fcntl_setlk", WAIT_FILE_LOCK, false);
		check_site("__schedule schedule schedule_timeout __break_lease do_dentry_open "
			   "do_open path_openat" SYSCALL, "do_dentry_open", WAIT_FILE_LOCK, false);
		check_site("__schedule schedule schedule_timeout nlmclnt_wait nlmclnt_lock "
			   "nlmclnt_proc nfs3_proc_lock", "nlmclnt_lock", WAIT_FILE_LOCK, false);
		check_site("__schedule schedule schedule_timeout wait_woken nfs4_proc_lock do_setlk",
			   "nfs4_proc_lock", WAIT_FILE_LOCK, false);
		check_site("__schedule schedule rpc_wait_bit_killable __wait_on_bit "
			   "out_of_line_wait_on_bit __rpc_execute rpc_execute rpc_run_task "
			   "nfs4_do_call_sync _nfs4_proc_getattr nfs4_proc_getattr",
			   "_nfs4_proc_getattr", WAIT_NFS, false);
		check_site("__schedule schedule rpc_wait_bit_killable __wait_on_bit "
			   "out_of_line_wait_on_bit __rpc_execute rpc_execute rpc_run_task "
			   "_nfs4_do_setlk nfs4_proc_lock", "_nfs4_do_setlk", WAIT_NFS, false);
		check_site("__schedule schedule io_schedule bit_wait_io __wait_on_bit "
			   "out_of_line_wait_on_bit nfs_wait_on_request.part.0 nfs_wb_page",
			   "nfs_wb_page", WAIT_NFS, false);
		check_site("__schedule schedule nfs4_run_state_manager kthread ret_from_fork",
			   "nfs4_run_state_manager", WAIT_WORK, true);
		check_site("__schedule schedule xlog_wait_on_iclog xfs_log_force_seq "
			   "xfs_file_fsync" SYSCALL, "xlog_wait_on_iclog", WAIT_JOURNAL, false);
		check_site("__schedule schedule xlog_cil_force_seq xfs_log_force_seq",
			   "xlog_cil_force_seq", WAIT_JOURNAL, false);
		check_site("__schedule schedule io_schedule __xfs_iunpin_wait xfs_iunpin_wait "
			   "xfs_reclaim_inode", "__xfs_iunpin_wait", WAIT_JOURNAL, false);
		check_site("__schedule schedule schedule_timeout xfsaild kthread ret_from_fork",
			   "xfsaild", WAIT_WORK, true);
		check_site("m:[runnable] __schedule schedule exit_to_user_mode_prepare",
			   "exit_to_user_mode_prepare", WAIT_CPU, false);
		check_site("__schedule schedule", "__schedule", WAIT_OTHER, false);
		check_site("__schedule schedule some_driver_wait ioctl u:kthread",
			   "some_driver_wait", WAIT_OTHER, false);
	}
	check(find("m:[truncated]").frame == FRAME_NONE, "a stack without a function has no site");
	frames_destroy(frames);
	return tap_done();
}
