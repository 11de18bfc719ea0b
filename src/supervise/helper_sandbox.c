/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the processes that talk to servers may do; see helper_sandbox.h. With libraries for TLS,
 * HTTP and host names, they read what servers and clients send. So such a process gets no
 * descriptor but its socket and its folder, is no longer root, starts no program, and touches no
 * other process. Main's sandbox (sandbox.c) is narrower: it leaves no network.
 *
 * The filter has a list of calls that are allowed; all others fail with EPERM. The lists were made
 * from traces of libcurl with GnuTLS and with OpenSSL, libdebuginfod, libmicrohttpd and glibc's
 * resolver, and from their sources for slower paths: IPv6, DNS over TCP, cleaning a cache.
 *
 * No memory becomes executable. So all libraries are loaded before, also those that the C library
 * would load later (resolver_libraries.h).
 */
#include "config.h"

#include "supervise/helper_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>

#include "supervise/call_filter.h"
#include "supervise/caller.h"
#include "supervise/landlock.h"
#include "supervise/limit.h"
#include "supervise/resolver_libraries.h"

/* clang-format off */
static const int helper_sandbox_calls[] = {
	/* files: the user's rights and Landlock decide which */
	CALL(read), CALL(readv), CALL(pread64), CALL(preadv), CALL(write), CALL(writev),
	CALL(pwrite64), CALL(open), CALL(openat), CALL(close), CALL(lseek), CALL(dup),
	CALL(fstat), CALL(stat), CALL(lstat), CALL(newfstatat), CALL(statx), CALL(fstatfs),
	CALL(statfs), CALL(access), CALL(faccessat), CALL(faccessat2), CALL(readlink),
	CALL(readlinkat), CALL(getcwd), CALL(getdents64), CALL(fadvise64), CALL(umask),
	/* the folder: a spool, a cache, a file for node_exporter */
	CALL(mkdir), CALL(mkdirat), CALL(rmdir), CALL(unlink), CALL(unlinkat), CALL(rename),
	CALL(renameat), CALL(renameat2), CALL(ftruncate), CALL(fallocate), CALL(fsync),
	CALL(fdatasync), CALL(flock), CALL(fchmod), CALL(utimensat), CALL(utime), CALL(utimes),
	CALL(futimesat),
	/* memory; mmap and mprotect below */
	CALL(munmap), CALL(mremap), CALL(madvise), CALL(brk), CALL(mlock), CALL(munlock),
	/* threads; clone below */
	CALL(futex), CALL(set_robust_list), CALL(rseq), CALL(gettid), CALL(exit),
	CALL(exit_group), CALL(sched_getaffinity), CALL(membarrier), CALL(set_tid_address),
	/* time */
	CALL(clock_gettime), CALL(clock_getres), CALL(clock_nanosleep), CALL(nanosleep),
	CALL(time), CALL(times), CALL(alarm), CALL(setitimer), CALL(restart_syscall),
	CALL(gettimeofday), /* libcurl and its libraries, where the vDSO has no clock */
	/* waiting, signals */
	CALL(poll), CALL(ppoll), CALL(select), CALL(pselect6), CALL(epoll_create),
	CALL(epoll_create1), CALL(epoll_ctl), CALL(epoll_wait), CALL(epoll_pwait),
	CALL(epoll_pwait2), CALL(eventfd2), CALL(pipe), CALL(pipe2), CALL(rt_sigaction),
	CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(rt_sigtimedwait),
	CALL(sigaltstack), /* AddressSanitizer, where a function does not return */
	/* sockets that are open; those that are made are below */
	CALL(getsockname), CALL(getpeername), CALL(getsockopt), CALL(setsockopt), CALL(recvfrom),
	CALL(recvmsg), CALL(shutdown),
	/* about the process itself */
	CALL(getpid), CALL(getppid), CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid),
	CALL(getresuid), CALL(getresgid), CALL(getrusage), CALL(getrlimit), CALL(getrandom),
	CALL(uname), CALL(sysinfo),
};

/* For a process that asks servers. Not bind(): the kernel chooses the port. */
static const int helper_sandbox_client_calls[] = {
	CALL(connect), CALL(sendto), CALL(sendmsg), CALL(sendmmsg), CALL(recvmmsg),
};

/* For a process that answers on the socket that it has opened before, or that has no network. */
static const int helper_sandbox_server_calls[] = {
	CALL(accept), CALL(accept4),
};

/*
 * Commands of fcntl(). F_SETOWN and F_SETSIG are missing: they could send SIGKILL to another
 * process. call_filter_add_fcntls() adds F_SETFL.
 */
static const uint32_t helper_sandbox_fcntls[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_GETLK, F_SETLK, F_SETLKW,
	F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW,
};

/*
 * Commands of ioctl(): whether a descriptor is a terminal, not to wait, how many bytes are there.
 */
static const uint32_t helper_sandbox_ioctls[] = { TCGETS, FIONBIO, FIONREAD };

/* The sockets that a client makes: TCP and UDP. */
static const struct {
	uint32_t type, protocol;
} helper_sandbox_sockets[] = {
	{ SOCK_STREAM, 0 }, { SOCK_STREAM, IPPROTO_TCP }, { SOCK_DGRAM, 0 },
	{ SOCK_DGRAM, IPPROTO_UDP },
};
/* clang-format on */

#define SOCKET_TYPE 0xfU /* SOCK_TYPE_MASK of Linux include/linux/net.h */

static void helper_sandbox_add_client(struct call_filter *filter)
{
	static const uint32_t families[] = { AF_INET, AF_INET6 };

	call_filter_add(filter, helper_sandbox_client_calls, COUNT(helper_sandbox_client_calls));
	for (size_t i = 0; i < COUNT(families) * COUNT(helper_sandbox_sockets); i++)
		call_filter_add_if(filter, CALL(socket), 3,
				   SCMP_A0_32(SCMP_CMP_EQ, families[i % COUNT(families)], 0),
				   SCMP_A1_32(SCMP_CMP_MASKED_EQ, SOCKET_TYPE,
					      helper_sandbox_sockets[i / COUNT(families)].type),
				   SCMP_A2_32(SCMP_CMP_EQ,
					      helper_sandbox_sockets[i / COUNT(families)].protocol,
					      0));
	/*
	 * libcurl wakes its resolver's thread through a pair of streams. A pair of datagram sockets
	 * could reach any datagram socket on the host: such a socket sends to addresses.
	 */
	call_filter_add_if(filter, CALL(socketpair), 2, SCMP_A0_32(SCMP_CMP_EQ, AF_UNIX, 0),
			   SCMP_A1_32(SCMP_CMP_MASKED_EQ, SOCKET_TYPE, SOCK_STREAM));
}

/* A server may send, but not with MSG_FASTOPEN, by which a sending call connects. */
static void helper_sandbox_add_server(struct call_filter *filter)
{
	call_filter_add(filter, helper_sandbox_server_calls, COUNT(helper_sandbox_server_calls));
	call_filter_add_without(filter, CALL(sendto), 3, MSG_FASTOPEN);
	call_filter_add_without(filter, CALL(sendmsg), 2, MSG_FASTOPEN);
}

static struct xtop_error *helper_sandbox_filter_calls(bool connects)
{
	struct call_filter filter;

	call_filter_init(&filter);
	call_filter_add(&filter, helper_sandbox_calls, COUNT(helper_sandbox_calls));
	call_filter_add_fcntls(&filter, helper_sandbox_fcntls, COUNT(helper_sandbox_fcntls));
	call_filter_add_values(&filter, CALL(ioctl), 1, helper_sandbox_ioctls,
			       COUNT(helper_sandbox_ioctls));
	call_filter_add_memory(&filter);
	call_filter_add_threads(&filter);
	if (connects)
		helper_sandbox_add_client(&filter);
	else
		helper_sandbox_add_server(&filter);
	return call_filter_load(&filter);
}

/*
 * Most memory of such a process. A sender unpacks a packet of 16 MiB into 64 MiB; libraries have
 * threads.
 */
#define HELPER_SANDBOX_MEMORY_BYTES (512ULL << 20)

static void helper_sandbox_limit_memory(void)
{
#ifndef SANITIZED /* sanitizers take terabytes */
	limit_set(RLIMIT_DATA, HELPER_SANDBOX_MEMORY_BYTES);
#endif
}

struct xtop_error *helper_sandbox_enter(int folder, bool connects)
{
	static const char *const paths[] = { "/usr",      "/lib",         "/lib64",
					     "/etc",      "/run/systemd", "/run/resolvconf",
					     "/proc/self" };
	const struct landlock_rights rights = { .paths = paths,
						.n_paths = COUNT(paths),
						.writes = folder >= 0,
						.folder = folder,
						.connects = connects };
	struct xtop_error *error;

	if (connects)
		resolver_libraries_load();
	helper_sandbox_limit_memory();
	error = folder < 0 ? caller_become_own_user() : caller_become(caller_find());
	if (!error &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0))
		error = error_create_errno(errno, "cannot close the process to others");
	if (!error)
		error = landlock_enter(&rights);
	return error ? error : helper_sandbox_filter_calls(connects);
}
