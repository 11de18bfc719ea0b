/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walls of the processes that stay root; see root_sandbox.h. The lists were made from traces in the
 * lab, and from the sources of libxencall, libxenforeignmemory and libxenstore.
 *
 * A sampler has the filters of all processes above it. With a filter, each hypercall takes Linux's
 * slow way into the kernel (syscall_trace_enter()), although Linux looks up in a bitmap that
 * ioctl() is allowed (from 5.11 on): a stop of one vCPU took 19,020 instructions instead of 18,770.
 * So sampler and starter have no filter, and keeper and guard enter their filters when their child
 * is there. Only a sampler that replaces a hung one has the guard's filter.
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
/* Calls for processes of all kinds: what is open, memory, time and the process itself. */
static const int root_sandbox_calls[] = {
	CALL(read), CALL(write), CALL(writev), CALL(close), CALL(ioctl), CALL(munmap),
	CALL(mremap), CALL(madvise), CALL(brk), CALL(futex), CALL(set_robust_list), CALL(rseq),
	CALL(set_tid_address), /* musl, in the child of fork() */
	CALL(exit), CALL(exit_group), CALL(restart_syscall),
	CALL(clock_gettime), CALL(clock_nanosleep), CALL(nanosleep),
	CALL(timerfd_settime), CALL(poll), CALL(ppoll), CALL(rt_sigaction),
	CALL(rt_sigprocmask), CALL(rt_sigreturn),
	CALL(getpid), CALL(getppid), CALL(gettid), CALL(getrusage), CALL(getrandom),
};

/* To wait for a child, kill it and remove its record. */
static const int root_sandbox_wait_calls[] = {
	CALL(kill), CALL(wait4), CALL(unlink), CALL(unlinkat),
};

/* To open handles of Xen, and read files; open() and openat() below. */
static const int root_sandbox_open_calls[] = {
	CALL(pread64), CALL(readv), CALL(lseek), CALL(fstat), CALL(stat), CALL(newfstatat),
	CALL(statx), CALL(access), CALL(faccessat), CALL(faccessat2), CALL(dup2), CALL(dup3),
	CALL(sendto), CALL(sendmsg), CALL(recvfrom), CALL(recvmsg), CALL(uname), CALL(sysinfo),
	CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid),
};

/* To ask xenstore; socket() below. */
static const int root_sandbox_store_calls[] = {
	CALL(connect),
};

/* To start another process, with what that process needs to enter its own walls. */
static const int root_sandbox_fork_calls[] = {
	CALL(pipe2), CALL(setpgid), CALL(sched_setscheduler), CALL(mlockall), CALL(capget),
	CALL(capset), CALL(seccomp), CALL(shutdown), CALL(socketpair), CALL(getdents64),
	CALL(tgkill), /* the child has another number than its filter knows */
};

/*
 * For the broker, which makes a stop's area to read registers, and for its children that become the
 * user.
 */
static const int root_sandbox_broker_calls[] = {
	CALL(timerfd_create),
	CALL(utimensat), CALL(readlinkat), CALL(setgroups), CALL(setresgid), CALL(setresuid),
	CALL(setuid), CALL(getgroups),
};

/*
 * Commands of fcntl(). F_SETOWN and F_SETSIG are missing: they could send SIGKILL to others.
 * call_filter_add_fcntls() adds F_SETFL.
 */
static const uint32_t root_sandbox_fcntls[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_ADD_SEALS, F_GET_SEALS,
};

static const uint32_t root_sandbox_fork_prctls[] = {
	PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP,
};

/* What caller_become() asks for. */
static const uint32_t root_sandbox_broker_prctls[] = {
	PR_GET_PDEATHSIG, PR_CAPBSET_READ, PR_CAPBSET_DROP,
};
/* clang-format on */

/* Flags that open() may not have: no file is made or emptied. Xen's devices need O_RDWR. */
#define ROOT_SANDBOX_CREATES (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

#define ROOT_SANDBOX_TYPE 0xfU /* SOCK_TYPE_MASK of Linux include/linux/net.h */

static void root_sandbox_add_wait(struct call_filter *filter)
{
	call_filter_add(filter, root_sandbox_wait_calls, COUNT(root_sandbox_wait_calls));
}

static void root_sandbox_add_open(struct call_filter *filter)
{
	call_filter_add(filter, root_sandbox_open_calls, COUNT(root_sandbox_open_calls));
	call_filter_add_without(filter, CALL(open), 1, ROOT_SANDBOX_CREATES);
	call_filter_add_without(filter, CALL(openat), 2, ROOT_SANDBOX_CREATES);
}

/* Allows a connection to xenstored. */
static void root_sandbox_add_store(struct call_filter *filter)
{
	call_filter_add(filter, root_sandbox_store_calls, COUNT(root_sandbox_store_calls));
	call_filter_add_if(filter, CALL(socket), 2, SCMP_A0_32(SCMP_CMP_EQ, AF_UNIX, 0),
			   SCMP_A1_32(SCMP_CMP_MASKED_EQ, ROOT_SANDBOX_TYPE, SOCK_STREAM));
}

static void root_sandbox_add_fork(struct call_filter *filter)
{
	call_filter_add(filter, root_sandbox_fork_calls, COUNT(root_sandbox_fork_calls));
	call_filter_add_values(filter, CALL(prctl), 0, root_sandbox_fork_prctls,
			       COUNT(root_sandbox_fork_prctls));
	call_filter_add_fork(filter);
}

static void root_sandbox_add_broker(struct call_filter *filter)
{
	call_filter_add(filter, root_sandbox_broker_calls, COUNT(root_sandbox_broker_calls));
	call_filter_add_values(filter, CALL(prctl), 0, root_sandbox_broker_prctls,
			       COUNT(root_sandbox_broker_prctls));
	call_filter_add_if(filter, CALL(open), 0);
	call_filter_add_if(filter, CALL(openat), 0);
}

/* Parts of the lists, and the kinds of processes that have each part. */
static const struct {
	void (*add)(struct call_filter *filter);
	bool kinds[N_ROOT_KINDS];
} root_sandbox_parts[] = {
	{ root_sandbox_add_wait,
	  { [ROOT_BROKER] = true, [ROOT_KEEPER] = true, [ROOT_GUARD] = true } },
	{ root_sandbox_add_open,
	  { [ROOT_BROKER] = true, [ROOT_GUARD] = true, [ROOT_LOOKER] = true } },
	{ root_sandbox_add_store, { [ROOT_BROKER] = true, [ROOT_LOOKER] = true } },
	{ root_sandbox_add_fork, { [ROOT_BROKER] = true, [ROOT_GUARD] = true } },
	{ root_sandbox_add_broker, { [ROOT_BROKER] = true } },
};

static struct xtop_error *root_sandbox_filter_calls(enum root_kind kind)
{
	const uint32_t self = (uint32_t)getpid();
	struct call_filter filter;

	call_filter_init(&filter);
	call_filter_add(&filter, root_sandbox_calls, COUNT(root_sandbox_calls));
	call_filter_add_fcntls(&filter, root_sandbox_fcntls, COUNT(root_sandbox_fcntls));
	call_filter_add_memory(&filter);
	call_filter_add_if(&filter, CALL(prctl), 1, SCMP_A0_32(SCMP_CMP_EQ, PR_GET_DUMPABLE, 0));
	call_filter_add_values(&filter, CALL(tgkill), 0, &self, 1);
	for (size_t i = 0; i < COUNT(root_sandbox_parts); i++)
		if (root_sandbox_parts[i].kinds[kind])
			root_sandbox_parts[i].add(&filter);
	return call_filter_load(&filter);
}

/* --- capabilities ----------------------------------------------------------------------------- */

#define ROOT_SANDBOX_BIT(capability) (1U << (capability))

/*
 * Xen's devices belong to root, and ask for no capability when they are open (Linux
 * drivers/xen/privcmd.c). A priority and locked memory need one capability each; keeper and guard
 * keep both for the processes that they fork. The broker's child becomes the user who called sudo.
 * Root's results may lie in a folder of that user's, and the broker removes empty results there.
 */
static const uint32_t root_sandbox_capabilities[N_ROOT_KINDS] = {
	[ROOT_BROKER] = ROOT_SANDBOX_BIT(CAP_IPC_LOCK) | ROOT_SANDBOX_BIT(CAP_SETUID) |
			ROOT_SANDBOX_BIT(CAP_SETGID) | ROOT_SANDBOX_BIT(CAP_SETPCAP) |
			ROOT_SANDBOX_BIT(CAP_DAC_OVERRIDE),
	[ROOT_KEEPER] = ROOT_SANDBOX_BIT(CAP_SYS_NICE) | ROOT_SANDBOX_BIT(CAP_IPC_LOCK),
	[ROOT_GUARD] = ROOT_SANDBOX_BIT(CAP_SYS_NICE) | ROOT_SANDBOX_BIT(CAP_IPC_LOCK),
	[ROOT_SAMPLER] = ROOT_SANDBOX_BIT(CAP_IPC_LOCK),
};

/*
 * Keeps only the capabilities KEPT, which are below 32. No other one comes back, because no program
 * is started (PR_SET_NO_NEW_PRIVS).
 */
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
void root_sandbox_drop(enum root_kind kind)
{
	(void)kind, (void)root_sandbox_drop_capabilities, (void)root_sandbox_capabilities;
}

struct xtop_error *root_sandbox_enter(enum root_kind kind)
{
	(void)kind, (void)root_sandbox_filter_calls;
	return NULL;
}
#else
void root_sandbox_drop(enum root_kind kind)
{
	root_sandbox_drop_capabilities(root_sandbox_capabilities[kind]);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

struct xtop_error *root_sandbox_enter(enum root_kind kind)
{
	root_sandbox_drop(kind);
	return root_sandbox_filter_calls(kind);
}
#endif
