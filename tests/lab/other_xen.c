// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the Xen that runs look like one with other domctl and sysctl interfaces, for a program
 * started with LD_PRELOAD: only the versions OTHER_XEN="DOMCTL SYSCTL" (hexadecimal) are taken;
 * without that variable none is. The calls are passed on with the versions of the Xen that runs,
 * which REAL_XEN has in the same form. Layouts stay as they are. REFUSED="COMMAND ERRNO" (decimal)
 * refuses a sysctl, and leaves versions alone if OTHER_XEN is not set. With a third number, it is
 * refused only if its data begin with that number: some sysctls begin with a command of their own.
 *
 * Source: Xen 4.17 xen/common/domctl.c, sysctl.c (-EACCES unless interface_version is its own).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <xen/xen.h>
#include <xencall.h>

#define MAX_ENTRIES 256

/* Domctls and sysctls begin with the same two fields: command and version. */
struct call {
	uint32_t cmd, version, first;
};

/* The version of OP's calls in the environment's variable NAME, 0: it has none. */
static uint32_t version_in(const char *name, unsigned int op)
{
	const char *versions = getenv(name);
	unsigned int domctl, sysctl;

	if (!versions || sscanf(versions, "%x %x", &domctl, &sysctl) != 2)
		return 0;
	return op == __HYPERVISOR_domctl ? domctl : sysctl;
}

static bool has_version(unsigned int op)
{
	return op == __HYPERVISOR_domctl || op == __HYPERVISOR_sysctl;
}

/* Sets errno, and returns true, if the environment refuses the call. */
static bool is_refused(unsigned int op, const struct call *call)
{
	const char *refused = getenv("REFUSED");
	unsigned int command, first;
	int error, n = 0;

	if (refused)
		n = sscanf(refused, "%u %d %u", &command, &error, &first);
	if (op != __HYPERVISOR_sysctl || n < 2 || call->cmd != command ||
	    (n == 3 && call->first != first))
		return false;
	errno = error;
	return true;
}

/* Gives the call the version of the real Xen, or one that no Xen has. Returns the old one. */
static uint32_t translate(unsigned int op, struct call *call)
{
	uint32_t version = call->version;

	if (getenv("REFUSED") && !getenv("OTHER_XEN"))
		return version;
	if (!version || version != version_in("OTHER_XEN", op))
		call->version = 0;
	else
		call->version = version_in("REAL_XEN", op);
	return version;
}

int xencall1(xencall_handle *xen, unsigned int op, uint64_t arg1)
{
	int (*real)(xencall_handle *, unsigned int, uint64_t) =
		(int (*)(xencall_handle *, unsigned int, uint64_t))dlsym(RTLD_NEXT, "xencall1");
	struct call *call = (struct call *)(uintptr_t)arg1;
	uint32_t version;
	int result;

	if (!has_version(op))
		return real(xen, op, arg1);
	if (is_refused(op, call))
		return -1;
	version = translate(op, call);
	result = real(xen, op, arg1);
	call->version = version;
	return result;
}

int xencall2(xencall_handle *xen, unsigned int op, uint64_t arg1, uint64_t arg2)
{
	int (*real)(xencall_handle *, unsigned int, uint64_t, uint64_t) =
		(int (*)(xencall_handle *, unsigned int, uint64_t, uint64_t))dlsym(RTLD_NEXT,
										    "xencall2");
	multicall_entry_t *entries = (multicall_entry_t *)(uintptr_t)arg1;
	uint32_t versions[MAX_ENTRIES];
	int result;

	if (op != __HYPERVISOR_multicall || arg2 > MAX_ENTRIES)
		return real(xen, op, arg1, arg2);
	for (uint64_t i = 0; i < arg2; i++)
		if (has_version((unsigned int)entries[i].op))
			versions[i] = translate((unsigned int)entries[i].op,
						(struct call *)entries[i].args[0]);
	result = real(xen, op, arg1, arg2);
	for (uint64_t i = 0; i < arg2; i++)
		if (has_version((unsigned int)entries[i].op))
			((struct call *)entries[i].args[0])->version = versions[i];
	return result;
}
