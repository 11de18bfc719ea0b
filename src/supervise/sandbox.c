/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandbox of the process that parses a guest's bytes; see sandbox.h. Main's thread enters
 * it before it starts other threads, which inherit it.
 *
 *   descriptors     what the caller left open beyond the three streams is closed
 *   user            root becomes a user that has no other process and no file
 *   capabilities    none, and exec gives none (no_new_privs, which seccomp needs as well)
 *   not dumpable    nobody can ptrace the process, and no core file holds a guest's memory
 *   paths           where the kernel has Landlock: a few folders, to read (landlock.c)
 *   system calls    the list below; all others fail with EPERM. They do not kill the process:
 *                   libraries try calls that they can do without. Files are opened to read only.
 *
 * Why a user of its own: whoever has the same user as other processes may read and write their
 * memory through /proc/PID/mem, and before Landlock nothing else forbids that. The filter of system
 * calls cannot look at paths. Opening files to read only also keeps /proc/self/mem closed, through
 * which the process could write code where it may not map any.
 *
 * Sources: seccomp(2), prctl(2), capabilities(7), credentials(7).
 */
#include "config.h"

#include "xtop/supervise/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "supervise/call_filter.h"
#include "supervise/caller.h"
#include "supervise/landlock.h"
#include "supervise/limit.h"
#include "xtop/base/cleanup.h"

/* IOCTL_PRIVCMD_MMAPBATCH_V2 of Xen's xen/sys/privcmd.h, which only src/xen/ may include. */
#define SANDBOX_MMAPBATCH_V2 0x205004UL
/*
 * Linux's asm-generic/ioctls.h, for a struct termios2 of 44 bytes. glibc 2.42 and later use these
 * calls. Their header cannot be included together with termios.h.
 */
#define SANDBOX_TCGETS2  0x802c542aUL
#define SANDBOX_TCSETS2  0x402c542bUL
#define SANDBOX_TCSETSW2 0x402c542cUL
#define SANDBOX_TCSETSF2 0x402c542dUL

/* --- descriptors ------------------------------------------------------------------------------ */

/*
 * Descriptors that came through exec have no FD_CLOEXEC; all that xtop opens have it. Main must not
 * write to files that root's shell or a service had open. A descriptor that the user named as
 * /dev/fd/N was duplicated before.
 */
static struct xtop_error *sandbox_close_inherited(void)
{
	DIR *stream = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!stream)
		return error_create_errno(errno, "cannot see which files are open");
	while ((entry = readdir(stream))) {
		int fd = atoi(entry->d_name); /* 0 for "." and ".." */

		if (fd > STDERR_FILENO && fcntl(fd, F_GETFD) == 0)
			close(fd);
	}
	closedir(stream);
	return NULL;
}

/* --- capabilities ----------------------------------------------------------------------------- */

static struct xtop_error *sandbox_drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none) < 0)
		return error_create_errno(errno, "cannot give up capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return error_create_errno(errno, "cannot close the process to others");
	return NULL;
}

/* --- paths ------------------------------------------------------------------------------------ */

/*
 * Closes all paths but those that are read later. Libraries read descriptions of terminals. xtop
 * reads what it shows about its own memory and about Xen.
 */
static struct xtop_error *sandbox_limit_paths(const int *folders, size_t n)
{
	const char *home = getenv("HOME"), *terminfo = getenv("TERMINFO");
	char of_user[PATH_MAX] = "/usr/share/terminfo";
	const char *paths[] = { "/usr/share",    "/usr/lib",   "/lib",
				"/etc/terminfo", "/proc/self", "/sys/hypervisor",
				terminfo ? terminfo : "/etc/terminfo", of_user };

	if (home)
		snprintf(of_user, sizeof(of_user), "%s/.terminfo", home);
	return landlock_enter(&(struct landlock_rights){
		.paths = paths, .n_paths = COUNT(paths), .folders = folders, .n_folders = n });
}

/* --- memory and threads ----------------------------------------------------------------------- */

#define SANDBOX_MAX_THREADS 1024 /* most threads; 64 guests take some 300 */
#define SANDBOX_LEAST_BYTES (1ULL << 30)
#define SANDBOX_OOM_SCORE   "500" /* proc_pid_oom_score_adj(5): killed before others of its size */

/*
 * Bounds what a main that an attacker controls takes of dom0: the memory that the machine has, and
 * threads. If memory runs out, the kernel ends main rather than a process that watches a guest.
 */
static void sandbox_limit_use(void)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	_cleanup_close_ int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (geteuid() != 0)
		return;
	limit_set(RLIMIT_DATA, bytes > SANDBOX_LEAST_BYTES ? bytes : SANDBOX_LEAST_BYTES);
	limit_set(RLIMIT_NPROC, SANDBOX_MAX_THREADS);
	(void)!write(score, SANDBOX_OOM_SCORE, strlen(SANDBOX_OOM_SCORE));
}

/* --- system calls ----------------------------------------------------------------------------- */

/* clang-format off */
static const int sandbox_calls[] = {
	/* files: the user's rights decide which; open, openat and fcntl below */
	CALL(read), CALL(readv), CALL(pread64), CALL(write), CALL(writev), CALL(pwrite64),
	CALL(close), CALL(close_range), CALL(lseek),
	CALL(stat), CALL(fstat), CALL(lstat), CALL(newfstatat), CALL(statx), CALL(fstatfs),
	CALL(access), CALL(faccessat), CALL(faccessat2), CALL(readlink), CALL(readlinkat),
	CALL(getcwd), CALL(getdents64), CALL(ftruncate),
	CALL(flock), CALL(fsync), CALL(fdatasync), CALL(fadvise64),
	CALL(dup), CALL(dup2), CALL(dup3), CALL(pipe2), CALL(memfd_create), CALL(umask),
	/* memory; mmap and mprotect below */
	CALL(munmap), CALL(mremap), CALL(madvise), CALL(brk), CALL(mincore),
	/* threads; clone below */
	CALL(futex), CALL(set_robust_list), CALL(rseq), CALL(gettid), CALL(exit),
	CALL(exit_group), CALL(sched_getaffinity), CALL(membarrier), CALL(set_tid_address),
	CALL(arch_prctl),
	/* time */
	CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep), CALL(nanosleep),
	CALL(time), CALL(times), CALL(setitimer), CALL(restart_syscall),
	CALL(gettimeofday), /* libtinfo, where the vDSO has no clock */
	/* waiting, the broker, signals */
	CALL(poll), CALL(ppoll), CALL(select), CALL(pselect6), CALL(sendmsg), CALL(recvmsg),
	CALL(shutdown), CALL(wait4), CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigreturn),
	CALL(rt_sigsuspend), CALL(rt_sigtimedwait),
	CALL(sigaltstack), /* the screen takes a stack for crashes */
	/* about the process itself */
	CALL(getpid), CALL(getppid), CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid),
	CALL(getpgrp), CALL(getrusage), CALL(getrandom), CALL(uname), CALL(sysinfo),
};

/*
 * Commands of fcntl(). F_SETOWN and F_SETSIG are missing: they could send SIGKILL to another
 * process.
 */
static const uint32_t sandbox_fcntls[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_ADD_SEALS, F_GET_SEALS,
};

/* The terminal's calls, without TIOCSTI, and the call that maps the guest's memory. */
static const uint32_t sandbox_ioctls[] = {
	TCGETS, TCSETS, TCSETSW, TCSETSF, TCFLSH, TIOCGWINSZ, TIOCGPGRP, FIONREAD,
	SANDBOX_TCGETS2, SANDBOX_TCSETS2, SANDBOX_TCSETSW2, SANDBOX_TCSETSF2,
	SANDBOX_MMAPBATCH_V2,
};
/* clang-format on */

static struct xtop_error *sandbox_filter_calls(void)
{
	/* O_TMPFILE needs O_RDWR. Musl's O_ACCMODE has O_PATH, too, which opens nothing. */
	const uint64_t changes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
	struct call_filter filter;

	call_filter_init(&filter);
	call_filter_add(&filter, sandbox_calls, COUNT(sandbox_calls));
	/* Files are opened to read only. openat2() is missing: its flags are in memory. */
	call_filter_add_without(&filter, CALL(open), 1, changes);
	call_filter_add_without(&filter, CALL(openat), 2, changes);
	call_filter_add_values(&filter, CALL(ioctl), 1, sandbox_ioctls, COUNT(sandbox_ioctls));
	call_filter_add_values(&filter, CALL(fcntl), 1, sandbox_fcntls, COUNT(sandbox_fcntls));
	call_filter_add_memory(&filter);
	call_filter_add_threads(&filter);
	return call_filter_load(&filter);
}

#ifdef SANITIZED
struct xtop_error *sandbox_enter(const int *folders, size_t n)
{
	(void)folders, (void)n, (void)sandbox_close_inherited, (void)sandbox_drop_capabilities,
		(void)sandbox_limit_paths, (void)sandbox_filter_calls, (void)sandbox_limit_use;
	return NULL;
}

const char *sandbox_warning(void)
{
	return geteuid() == 0
		       ? "built with sanitizers: root's rights are kept while guests are read, "
			 "use it for tests only"
		       : NULL;
}
#else
struct xtop_error *sandbox_enter(const int *folders, size_t n)
{
	struct xtop_error *error = sandbox_close_inherited();

	sandbox_limit_use();
	if (!error)
		error = caller_become_own_user();
	if (!error)
		error = sandbox_drop_capabilities();
	if (!error)
		error = sandbox_limit_paths(folders, n);
	return error ? error : sandbox_filter_calls();
}

/* Without Landlock, memory and writing are as safe as with Landlock: doc/SECURITY §3. */
const char *sandbox_warning(void)
{
	if (landlock_is_there())
		return NULL;
	return "dom0's kernel has no Landlock (Linux 5.13): a guest that took xtop over could "
	       "read the files that everybody may read";
}
#endif
