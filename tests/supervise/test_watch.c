/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a parent sees the end of a child: supervise/watch.h. */
#include "config.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/watch.h"
#include "tests/support/children.h"
#include "tests/support/tap.h"
#include "xtop/base/clock.h"

#define SOON_NS  20000000ULL
#define LONG_NS 5000000000ULL

/* A child that waits for a signal. */
static pid_t start(int *end_fdp)
{
	pid_t pid = watch_fork(end_fdp);

	if (pid == 0) {
		pause();
		_exit(7);
	}
	if (pid < 0)
		abort();
	return pid;
}

static void test_end(void)
{
	int end_fd, other_fd, status = -1;
	pid_t pid = start(&end_fd), other = start(&other_fd);

	check(!watch_ends(end_fd, SOON_NS), "a living child is not seen to end");
	watch_reap(pid, &status);
	check(status == -1, "a living child cannot be reaped");
	kill_process(pid, SIGKILL);
	check(watch_ends(end_fd, LONG_NS), "a killed child is seen to end");
	for (int i = 0; status == -1 && i < 1000; i++) /* 4 ms each: a busy machine needs more */
		watch_reap(pid, &status);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	      "the status says that the child was killed");
	check(waitpid(pid, NULL, WNOHANG) < 0, "the killed child was reaped");
	check(!watch_ends(other_fd, SOON_NS), "another child that lives is not seen to end");
	kill_process(other, SIGKILL);
	check(watch_ends(other_fd, LONG_NS), "another child is seen to end");
	watch_reap(other, &status);
	close(end_fd);
	close(other_fd);
}

/* The grandchild has another pipe, and lives on: its parent's end is seen all the same. */
static void test_grandchild(void)
{
	pid_t *grandchild = mmap(NULL, sizeof(*grandchild), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int end_fd, status = -1;
	pid_t pid = watch_fork(&end_fd);

	if (pid == 0) {
		int own_fd;

		*grandchild = start(&own_fd);
		_exit(3);
	}
	check(watch_ends(end_fd, LONG_NS), "a child whose own child lives is seen to end");
	watch_reap(pid, &status);
	check(WIFEXITED(status) && WEXITSTATUS(status) == 3,
	      "the status says that the child exited with 3");
	check(kill(*grandchild, 0) == 0, "the child's own child lives");
	kill_process(*grandchild, SIGKILL);
	close(end_fd);
}

/* A debugger stops a killed process before its end: its files are open until the debugger goes. */
static void test_traced(void)
{
	int end_fd, status;
	pid_t pid = start(&end_fd);

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT) < 0) {
		check(true, "a traced child # SKIP may not trace");
	} else {
		kill_process(pid, SIGKILL);
		waitpid(pid, &status, 0);
		check(status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8),
		      "the traced child is stopped in its end");
		check(!watch_ends(end_fd, SOON_NS),
		      "a killed child that has not ended is not seen to end");
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		check(watch_ends(end_fd, LONG_NS),
		      "the traced child is seen to end when the debugger has gone");
	}
	kill_process(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(end_fd);
}

static int policy_of_child(bool by_xtop)
{
	const struct sched_param param = { .sched_priority = PRIORITY_SAMPLER };
	int end_fd, status = 0;
	pid_t pid = watch_fork(&end_fd);

	if (pid == 0) {
		if (by_xtop)
			watch_make_prompt(PRIORITY_SAMPLER);
		else
			syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param);
		_exit((int)syscall(SYS_sched_getscheduler, 0));
	}
	waitpid(pid, &status, 0);
	close(end_fd);
	return WEXITSTATUS(status);
}

/* Musl's sched_setscheduler() only fails. */
static void test_prompt(void)
{
	int policy = policy_of_child(false);

	check(policy_of_child(true) == policy,
	      "a sampler has the best scheduling policy that it may have: %d", policy);
}

int main(void)
{
	test_prompt();
	test_end();
	test_grandchild();
	test_traced();
	return tap_done();
}
