/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walls of the processes that stay root; see root_sandbox.h. The list was made from traces in the
 * lab, and from the sources of libxencall, libxenforeignmemory and libxenstore.
 *
 * A sampler descends from broker, keeper and guard, and has the filters of all. With one, each
 * hypercall takes Linux's slow way into the kernel (syscall_trace_enter()): a stop of one vCPU took
 * 19,020 instructions instead of 18,770. So these four have no filter.
 *
 * Commands of ioctl() are not told apart. No memory becomes executable: libxenstore is loaded
 * before (xen_load()).
 */
#include "config.h"

#include "supervise/root_sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervise/call_filter.h"

/* --- system calls ----------------------------------------------------------------------------- */

/* clang-format off */
/* What is open, memory, time and the process itself. */
static const int root_sandbox_calls[] = {
	CALL(read), CALL(write), CALL(writev), CALL(close), CALL(ioctl), CALL(munmap),
	CALL(mremap), CALL(madvise), CALL(brk), CALL(futex), CALL(set_robust_list), CALL(rseq),
	CALL(set_tid_address), /* musl, when a thread ends */
	CALL(exit), CALL(exit_group), CALL(restart_syscall), CALL(sched_yield),
	CALL(clock_gettime), CALL(clock_nanosleep), CALL(nanosleep), CALL(gettimeofday),
	CALL(timerfd_settime), CALL(poll), CALL(ppoll), CALL(rt_sigaction),
	CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(rt_sigpending), CALL(sigaltstack),
	CALL(getpid), CALL(getppid), CALL(gettid), CALL(getrusage), CALL(getrandom),
	/* To open handles of Xen, and read files; open() and openat() below. */
	CALL(pread64), CALL(readv), CALL(lseek), CALL(fstat), CALL(stat), CALL(newfstatat),
	CALL(statx), CALL(access), CALL(faccessat), CALL(faccessat2), CALL(dup2), CALL(dup3),
	CALL(sendto), CALL(sendmsg), CALL(recvfrom), CALL(recvmsg), CALL(uname), CALL(sysinfo),
	CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid),
	/* To ask xenstore; socket() below. */
	CALL(connect),
};

/* Without F_SETOWN and F_SETSIG: they could send SIGKILL to others. F_SETFL below. */
static const uint32_t root_sandbox_fcntls[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_ADD_SEALS, F_GET_SEALS,
};
/* clang-format on */

/* O_RDWR is there for Xen's devices. */
#define ROOT_SANDBOX_CREATES (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

#define ROOT_SANDBOX_TYPE 0xfU /* SOCK_TYPE_MASK of Linux include/linux/net.h */

static void root_sandbox_filter_calls(void)
{
	const uint32_t self = (uint32_t)getpid();
	struct call_filter filter;

	call_filter_init(&filter);
	call_filter_add(&filter, root_sandbox_calls, COUNT(root_sandbox_calls));
	call_filter_add_fcntls(&filter, root_sandbox_fcntls, COUNT(root_sandbox_fcntls));
	call_filter_add_memory(&filter);
	call_filter_add_if(&filter, CALL(prctl), 1, SCMP_A0_32(SCMP_CMP_EQ, PR_GET_DUMPABLE, 0));
	call_filter_add_without(&filter, CALL(open), 1, ROOT_SANDBOX_CREATES);
	call_filter_add_without(&filter, CALL(openat), 2, ROOT_SANDBOX_CREATES);
	/* The socket of xenstored. */
	call_filter_add_if(&filter, CALL(socket), 2, SCMP_A0_32(SCMP_CMP_EQ, AF_UNIX, 0),
			   SCMP_A1_32(SCMP_CMP_MASKED_EQ, ROOT_SANDBOX_TYPE, SOCK_STREAM));
	call_filter_add_values(&filter, CALL(tgkill), 0, &self, 1);
	error_destroy(call_filter_load(&filter));
}

/* --- capabilities ----------------------------------------------------------------------------- */

#define ROOT_SANDBOX_BIT(capability) (1U << (capability))

/*
 * Xen's devices belong to root, and ask for no capability when they are open (Linux
 * drivers/xen/privcmd.c). Priorities and memory that stays need one each; a new sampler starts with
 * its own. The broker's child becomes the user who called sudo. Root's results may lie in a folder
 * of that user's, and the broker removes what is empty there.
 */
static const uint32_t root_sandbox_capabilities[N_ROOT_KINDS] = {
	[ROOT_BROKER] = ROOT_SANDBOX_BIT(CAP_SYS_NICE) | ROOT_SANDBOX_BIT(CAP_IPC_LOCK) |
			ROOT_SANDBOX_BIT(CAP_SETUID) | ROOT_SANDBOX_BIT(CAP_SETGID) |
			ROOT_SANDBOX_BIT(CAP_SETPCAP) | ROOT_SANDBOX_BIT(CAP_DAC_OVERRIDE),
	[ROOT_WATCHER] = ROOT_SANDBOX_BIT(CAP_SYS_NICE) | ROOT_SANDBOX_BIT(CAP_IPC_LOCK),
	[ROOT_SAMPLER] = ROOT_SANDBOX_BIT(CAP_IPC_LOCK),
};

/* All of them are below 32. None comes back: no program is started (PR_SET_NO_NEW_PRIVS). */
static void root_sandbox_drop_capabilities(uint32_t kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, sets) < 0)
		return;
	kept &= sets[0].permitted;
	sets[0] = (struct __user_cap_data_struct){ .effective = kept, .permitted = kept };
	sets[1] = (struct __user_cap_data_struct){ 0 };
	syscall(SYS_capset, &header, sets);
}

#ifdef SANITIZED
void root_sandbox_enter(enum root_kind kind)
{
	(void)kind, (void)root_sandbox_filter_calls, (void)root_sandbox_drop_capabilities,
		(void)root_sandbox_capabilities;
}
#else
void root_sandbox_enter(enum root_kind kind)
{
	root_sandbox_drop_capabilities(root_sandbox_capabilities[kind]);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (kind == ROOT_LOOKER)
		root_sandbox_filter_calls();
}
#endif
