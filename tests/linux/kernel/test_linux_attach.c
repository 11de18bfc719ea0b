/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the kernel that was found is the one that runs. Another build of the same release is not,
 * nor is a kernel that is left in memory while vCPUs run on the tables of its successor. The parts
 * that find a kernel have their own tests, and the lab tests the whole.
 */
#include "config.h"

#include "linux/kernel/linux_attach.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/made_memory.h"
#include "tests/support/tap.h"

#define BANNER 0xffffffff82000100ULL
#define DEBIAN "Linux version 6.1.0-37-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP "
#define ONE    DEBIAN "PREEMPT_DYNAMIC Debian 6.1.140-1 (2025-05-22)\n"
#define OTHER  DEBIAN "PREEMPT_DYNAMIC Debian 6.1.141-1 (2025-06-30)\n"

static struct made_memory *made;
static struct memory_root root;
static struct linux_kernel kernel;

static struct sample_vcpu on(struct memory_root tables, bool user)
{
	return (struct sample_vcpu){
		.user = user,
		.regs = { .cr0 = 1U << 31, .cr3 = tables.cr3, .cr4 = 1 << 5 },
	};
}

static bool is_there(void)
{
	memory_refresh(made_memory(made));
	return linux_is_there(&kernel);
}

static const char *runs(struct memory_root tables, bool user)
{
	static const char *const names[] = { "yes", "no", "not known" };
	struct sample_vcpu vcpu = on(tables, user);

	memory_refresh(made_memory(made));
	return names[linux_runs_on(&kernel, &vcpu)];
}

/* Page tables at an address with or without the bit of user mode. */
static struct memory_root tables(bool user)
{
	struct memory_root made_tables;

	do
		made_tables = made_root(made);
	while (!(made_tables.cr3 & 0x1000) == user);
	return made_tables;
}

static void test_banner(void)
{
	check(is_there(), "a kernel with the same banner is there");
	made_put_string(made, root, BANNER, OTHER);
	check(!is_there(), "a kernel with another build of the release is not there");
	made_put_string(made, root, BANNER, "Linux version 6.1.0-38-amd64 (d) #1\n");
	check(!is_there(), "a kernel with another release is not there");
	made_put_string(made, root, BANNER, "no such text");
	check(!is_there(), "a kernel without a banner is not there");
	made_put_string(made, root, BANNER, ONE);
	check(is_there(), "a kernel whose banner came back is there");
}

static void test_tables(void)
{
	struct memory_root process = tables(false), successor = tables(false),
			   empty = tables(false), isolated = tables(true);
	struct sample_vcpu vcpu = on(empty, false);

	made_share_kernel(made, process, root);
	made_put_string(made, successor, BANNER, ONE);
	check_string(runs(process, false), "yes",
		     "a vCPU in a process's system call runs the kernel");
	check_string(runs(process, true), "yes", "a vCPU in a process runs the kernel");
	check_string(
		runs(successor, false), "no",
		"after a kexec, a vCPU with the same banner in another copy does not run the kernel");
	check_string(runs(successor, true), "no",
		     "after a kexec, a vCPU in user mode does not run the kernel");
	check_string(runs(empty, false), "no",
		     "after a kexec, a vCPU without the banner's page does not run the kernel");
	check_string(runs(empty, true), "not known",
		     "a vCPU in user mode without kernel mappings may run the kernel or not");
	check_string(runs(isolated, true), "not known",
		     "a vCPU with isolated page tables may run the kernel or not");
	check_string(runs(isolated, false), "not known",
		     "a vCPU that enters the kernel under isolation may run it or not");
	vcpu.stack_cut = CUT_NO_PAGING;
	check(linux_runs_on(&kernel, &vcpu) == OS_RUNS_UNKNOWN,
	      "a vCPU without paging may run the kernel or not");
	vcpu = on((struct memory_root){ .cr3 = 0 }, false);
	check(linux_runs_on(&kernel, &vcpu) == OS_RUNS_UNKNOWN,
	      "a vCPU without registers may run the kernel or not");
}

int main(void)
{
	made = made_create();
	root = made_root(made);
	kernel = (struct linux_kernel){
		.guest = { .memory = made_memory(made), .type = GUEST_PVH, .root = root },
		.release = "6.1.0-37-amd64",
		.banner = ONE,
	};
	kernel.guest.symbols[LINUX_BANNER] = BANNER;
	made_put_string(made, root, BANNER, ONE);
	test_banner();
	test_tables();
	made_destroy(made);
	return tap_done();
}
