/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the processes that read source lines may do; see line_sandbox.h. */
#include "config.h"

#include "supervise/line_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "supervise/call_filter.h"
#include "supervise/caller.h"
#include "supervise/landlock.h"
#include "supervise/limit.h"

/* clang-format off */
/* Calls that reading an open file and starting another reader need. */
static const int line_sandbox_calls[] = {
	CALL(read), CALL(pread64), CALL(lseek), CALL(fstat), CALL(newfstatat), CALL(close),
	CALL(dup), CALL(dup2), CALL(write), CALL(writev), CALL(munmap), CALL(mremap),
	CALL(madvise), CALL(brk), CALL(sendmsg), CALL(recvmsg), CALL(poll), CALL(ppoll),
	CALL(wait4), CALL(futex), CALL(set_robust_list), CALL(rseq), CALL(getpid), CALL(getppid),
	CALL(gettid), CALL(exit), CALL(exit_group), CALL(getrandom), CALL(getrusage),
	CALL(sysinfo), CALL(clock_gettime), CALL(setitimer), CALL(alarm), CALL(restart_syscall),
	CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(seccomp),
	CALL(set_tid_address), /* musl, in the child of fork() */
};

/*
 * Commands of fcntl(). F_SETOWN, F_SETSIG and F_SETFL are missing: they could send SIGKILL to
 * another process.
 */
static const uint32_t line_sandbox_fcntls[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL,
};
/* clang-format on */

/*
 * Options of prctl(), by which the reader ends with the line server, and gets a filter of its own.
 */
static const uint32_t line_sandbox_prctls[] = {
	PR_SET_PDEATHSIG,
	PR_SET_NO_NEW_PRIVS,
	PR_SET_SECCOMP,
};

static bool line_sandbox_succeeded(struct xtop_error *error)
{
	error_destroy(error);
	return !error;
}

static bool line_sandbox_filter_calls(void)
{
	struct call_filter filter;

	call_filter_init(&filter);
	call_filter_add(&filter, line_sandbox_calls, COUNT(line_sandbox_calls));
	call_filter_add_values(&filter, CALL(fcntl), 1, line_sandbox_fcntls,
			       COUNT(line_sandbox_fcntls));
	call_filter_add_values(&filter, CALL(prctl), 0, line_sandbox_prctls,
			       COUNT(line_sandbox_prctls));
	call_filter_add_memory(&filter);
	call_filter_add_fork(&filter);
	return line_sandbox_succeeded(call_filter_load(&filter));
}

#ifdef SANITIZED
bool line_sandbox_enter(void)
{
	(void)line_sandbox_filter_calls;
	return true;
}

bool line_sandbox_enter_reader(void)
{
	return true;
}
#else
bool line_sandbox_enter(void)
{
	struct xtop_error *error = caller_become_own_user();

	if (!error &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0))
		error = error_create_errno(errno, "cannot close the process to others");
	if (!error)
		error = landlock_enter(&(struct landlock_rights){ .writes = false });
	if (error) {
		error_destroy(error);
		return false;
	}
	limit_set(RLIMIT_CORE, 0);
	limit_set(RLIMIT_FSIZE, 0);
	limit_set(RLIMIT_DATA, LINE_SANDBOX_MEMORY_BYTES);
	return line_sandbox_filter_calls();
}

/* The reader starts no process, and cannot change that it ends with its parent. */
bool line_sandbox_enter_reader(void)
{
	static const int refused[] = { CALL(clone), CALL(fork), CALL(prctl), CALL(seccomp) };

	return line_sandbox_succeeded(call_filter_refuse(refused, COUNT(refused)));
}
#endif
