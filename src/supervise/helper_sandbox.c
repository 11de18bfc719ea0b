/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the processes that talk to servers may not do; see helper_sandbox.h. They read what servers
 * send with libraries for TLS, HTTP and host names. So such a process gets no descriptor but its
 * socket and its folder, is no longer root, starts no program, and touches no other process. Main's
 * sandbox (sandbox.c) is narrower, but leaves no network.
 *
 * The filter has a list of calls that are refused. A list of calls that are allowed is not
 * possible: nobody knows which calls all versions of the TLS libraries need.
 */
#include "config.h"

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "supervise/caller.h"
#include "supervise/helper_sandbox.h"
#include "supervise/landlock.h"

#define CALL(name) SCMP_SYS(name)

/* Calls that start programs, reach other processes or the kernel, or change the user. */
static const int helper_sandbox_refused[] = {
	CALL(execve),
	CALL(execveat),
	CALL(fork),
	CALL(vfork),
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(pidfd_open),
	CALL(pidfd_getfd),
	CALL(pidfd_send_signal),
	CALL(kcmp),
	CALL(setuid),
	CALL(setgid),
	CALL(setresuid),
	CALL(setresgid),
	CALL(setreuid),
	CALL(setregid),
	CALL(setfsuid),
	CALL(setfsgid),
	CALL(setgroups),
	CALL(capset),
	CALL(chroot),
	CALL(pivot_root),
	CALL(mount),
	CALL(umount2),
	CALL(move_mount),
	CALL(open_tree),
	CALL(fsopen),
	CALL(fsmount),
	CALL(unshare),
	CALL(setns),
	CALL(bpf),
	CALL(perf_event_open),
	CALL(userfaultfd),
	CALL(io_uring_setup),
	CALL(keyctl),
	CALL(add_key),
	CALL(request_key),
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(kexec_load),
	CALL(reboot),
	CALL(swapon),
	CALL(swapoff),
	CALL(ioperm),
	CALL(iopl),
	CALL(modify_ldt),
	CALL(tkill),
	CALL(rt_sigqueueinfo),
	CALL(rt_tgsigqueueinfo),
};

static struct xtop_error *helper_sandbox_filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	scmp_datum_t self = (scmp_datum_t)getpid();
	bool failed = !filter;
	int result = -ENOMEM;

	for (size_t i = 0;
	     filter && i < sizeof(helper_sandbox_refused) / sizeof(helper_sandbox_refused[0]); i++)
		failed |= seccomp_rule_add(filter, refuse, helper_sandbox_refused[i], 0) < 0;
	if (filter) {
		failed |= seccomp_rule_add(filter, refuse, SCMP_SYS(kill), 1,
					   SCMP_A0_32(SCMP_CMP_NE, (uint32_t)self, 0)) < 0;
		failed |= seccomp_rule_add(filter, refuse, SCMP_SYS(tgkill), 1,
					   SCMP_A0_32(SCMP_CMP_NE, (uint32_t)self, 0)) < 0;
		/* Resolving host names needs new threads, but no new processes. */
		failed |= seccomp_rule_add(filter, refuse, SCMP_SYS(clone), 1,
					   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)) < 0;
		failed |= seccomp_rule_add(filter, refuse, SCMP_SYS(ioctl), 1,
					   SCMP_A1_32(SCMP_CMP_EQ, TIOCSTI, 0)) < 0;
		failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) < 0;
		result = failed ? -EINVAL : seccomp_load(filter);
		seccomp_release(filter);
	}
	return result < 0 ? error_create_errno(-result, "cannot limit the system calls") : NULL;
}

struct xtop_error *helper_sandbox_enter(int folder)
{
	static const char *const paths[] = { "/usr",      "/lib",         "/lib64",
					     "/etc",      "/run/systemd", "/run/resolvconf",
					     "/proc/self" };
	struct xtop_error *error = caller_become(caller_find());

	if (!error &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0))
		error = error_create_errno(errno, "cannot close the process to others");
	if (!error)
		error = landlock_enter_to_write(paths, sizeof(paths) / sizeof(paths[0]), folder);
	return error ? error : helper_sandbox_filter_calls();
}
