/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walls of the processes that stay root, as the kernel shows them: capabilities, and the filter.
 * What the filter lets through is in test_calls.
 */
#include "config.h"

#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/root_sandbox.h"
#include "tests/support/children.h"
#include "tests/support/emulated.h"
#include "tests/support/tap.h"

#ifdef SANITIZED
static const bool is_sanitized = true; /* a sanitized build has no walls */
#else
static const bool is_sanitized = false;
#endif

#define BIT(capability) (1ULL << (capability))

/* The number after NAME in the status of process PID. */
static unsigned long long status_of(pid_t pid, const char *name, int base)
{
	unsigned long long value = 999;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			value = strtoull(line + strlen(name) + 1, NULL, base);
	if (file)
		fclose(file);
	return value;
}

static void enter_walls(enum root_kind kind)
{
	if (root_sandbox_enter(kind))
		_exit(1);
}

static void test_kind(enum root_kind kind, void (*enter)(enum root_kind kind),
		      unsigned long long capabilities, const char *what)
{
	bool filtered = enter == enter_walls;
	int pipes[2], status;
	char byte;
	pid_t pid;

	if (pipe(pipes))
		abort();
	pid = fork();
	if (pid == 0) {
		enter(kind);
		byte = write(pipes[1], "", 1) == 1;
		for (;;)
			byte = (char)read(pipes[0], &byte, 0);
	}
	check(read(pipes[0], &byte, 1) == 1, "%s has entered its walls", what);
	check(status_of(pid, "CapPrm", 16) == capabilities &&
		      status_of(pid, "CapEff", 16) == capabilities &&
		      status_of(pid, "CapInh", 16) == 0,
	      "%s has the capabilities %llx: %llx", what, capabilities,
	      status_of(pid, "CapEff", 16));
	check(status_of(pid, "Seccomp", 10) == (filtered ? 2 : 0),
	      filtered ? "%s has a filter of system calls"
		       : "%s has no filter, which would lengthen stops",
	      what);
	check(status_of(pid, "NoNewPrivs", 10) == 1, "%s gets no new rights", what);
	kill_process(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(pipes[0]);
	close(pipes[1]);
}

/* The service has few capabilities: what is not there does not keep the others from being given up. */
static void leave_capabilities(unsigned long long kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

	sets[0].effective = sets[0].permitted = (uint32_t)kept;
	if (syscall(SYS_capset, &header, sets))
		abort();
}

int main(void)
{
	unsigned long long has = status_of(getpid(), "CapEff", 16), watching;

	check(has != 999, "this process has a status");
	if (is_sanitized || emulator_lacks("walls"))
		return tap_done();
	watching = has & (BIT(CAP_SYS_NICE) | BIT(CAP_IPC_LOCK));
	test_kind(ROOT_KEEPER, root_sandbox_drop, watching, "a keeper that starts a guard");
	test_kind(ROOT_KEEPER, enter_walls, watching, "a keeper");
	test_kind(ROOT_GUARD, root_sandbox_drop, watching, "the starter");
	test_kind(ROOT_GUARD, enter_walls, watching, "a guard");
	test_kind(ROOT_SAMPLER, root_sandbox_drop, has & BIT(CAP_IPC_LOCK), "the sampler");
	test_kind(ROOT_LOOKER, enter_walls, 0, "a process that looks at the host");
	test_kind(ROOT_BROKER, enter_walls,
		  has & (BIT(CAP_IPC_LOCK) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP) |
			 BIT(CAP_DAC_OVERRIDE)),
		  "the broker");
	has &= BIT(CAP_IPC_LOCK) | BIT(CAP_CHOWN);
	leave_capabilities(has);
	test_kind(ROOT_GUARD, enter_walls, has & BIT(CAP_IPC_LOCK), "a guard of a service");
	return tap_done();
}
