/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library that tests/cross loads before libseccomp: no filter of system calls is installed.
 * qemu-user lets no program install one (QEMU 7.2 linux-user/syscall.c: PR_SET_SECCOMP is EINVAL,
 * seccomp() is not known), so xtop's processes would refuse to go on. With this library everything
 * that they do is tested there, but the filters themselves.
 */
#include <seccomp.h>
#include <stdlib.h>

/* Programs that a test starts are this machine's own, and must not load this library. */
__attribute__((constructor)) static void stay_alone(void)
{
	unsetenv("LD_PRELOAD");
}

int seccomp_load(const scmp_filter_ctx filter)
{
	(void)filter;
	return 0;
}
