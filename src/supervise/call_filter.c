/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of system calls, by libseccomp; see call_filter.h. */
#include "config.h"

#include "supervise/call_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

/* What pthread_create() of glibc and musl asks for. Musl has a flag that Linux ignores. */
#define CALL_FILTER_THREAD                                                                         \
	((scmp_datum_t)(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |         \
			CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |                       \
			CLONE_CHILD_CLEARTID | CLONE_DETACHED))

/* What fork() of glibc and musl asks for. */
#define CALL_FILTER_FORK ((scmp_datum_t)(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))

void call_filter_init(struct call_filter *filter)
{
	/* Without a context, no rule can be added, and the filter cannot be loaded. */
	*filter = (struct call_filter){ .context = seccomp_init(SCMP_ACT_ERRNO(EPERM)) };
}

void call_filter_add(struct call_filter *filter, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		call_filter_add_if(filter, calls[i], 0);
}

void call_filter_add_values(struct call_filter *filter, int call, unsigned argument,
			    const uint32_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		call_filter_add_if(filter, call, 1,
				   SCMP_CMP32(argument, SCMP_CMP_EQ, values[i], 0));
}

void call_filter_add_without(struct call_filter *filter, int call, unsigned argument, uint64_t bits)
{
	call_filter_add_if(filter, call, 1, SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, bits, 0));
}

void call_filter_add_fcntls(struct call_filter *filter, const uint32_t *commands, size_t n)
{
	call_filter_add_values(filter, CALL(fcntl), 1, commands, n);
	call_filter_add_if(filter, CALL(fcntl), 2, SCMP_A1_32(SCMP_CMP_EQ, F_SETFL, 0),
			   SCMP_A2_32(SCMP_CMP_MASKED_EQ, O_ASYNC, 0));
}

void call_filter_add_memory(struct call_filter *filter)
{
	call_filter_add_without(filter, CALL(mmap), 2, PROT_EXEC);
	call_filter_add_without(filter, CALL(mprotect), 2, PROT_EXEC);
}

void call_filter_add_threads(struct call_filter *filter)
{
	const uint32_t self = (uint32_t)getpid();

	call_filter_add_if(
		filter, CALL(clone), 1,
		SCMP_A0(SCMP_CMP_MASKED_EQ, ~CALL_FILTER_THREAD | CLONE_THREAD, CLONE_THREAD));
	call_filter_add_values(filter, CALL(tgkill), 0, &self, 1);
	call_filter_add_values(filter, CALL(kill), 0, &self, 1);
	/* glibc reads this process's own limits. */
	call_filter_add_if(filter, CALL(prlimit64), 2, SCMP_A0_32(SCMP_CMP_EQ, 0, 0),
			   SCMP_A2(SCMP_CMP_EQ, 0, 0));
	call_filter_add_if(filter, CALL(prctl), 1, SCMP_A0_32(SCMP_CMP_EQ, PR_SET_NAME, 0));
	/*
	 * A filter cannot see the flags of clone3(), which are in memory. After ENOSYS glibc uses
	 * clone().
	 */
	filter->failed |=
		seccomp_rule_add(filter->context, SCMP_ACT_ERRNO(ENOSYS), CALL(clone3), 0) < 0;
}

void call_filter_add_fork(struct call_filter *filter)
{
	call_filter_add_if(filter, CALL(clone), 1,
			   SCMP_A0(SCMP_CMP_MASKED_EQ, ~CALL_FILTER_FORK, SIGCHLD));
	/* musl on x86-64 forks by this call */
	call_filter_add_if(filter, CALL(fork), 0);
}

struct xtop_error *call_filter_load(struct call_filter *filter)
{
	int result = filter->failed ? -EINVAL : seccomp_load(filter->context);

	seccomp_release(filter->context);
	*filter = (struct call_filter){ .failed = true };
	return result < 0 ? error_create_errno(-result, "cannot limit the system calls") : NULL;
}

struct xtop_error *call_filter_refuse(const int *calls, size_t n)
{
	struct call_filter filter = { .context = seccomp_init(SCMP_ACT_ALLOW) };

	for (size_t i = 0; i < n; i++)
		filter.failed |=
			seccomp_rule_add(filter.context, SCMP_ACT_ERRNO(EPERM), calls[i], 0) < 0;
	return call_filter_load(&filter);
}
