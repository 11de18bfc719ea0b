/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a vCPU's registers to the symbols, types and unwind tables of the kernel. */
#ifndef XTOP_LINUX_KERNEL_LINUX_ATTACH_H
#define XTOP_LINUX_KERNEL_LINUX_ATTACH_H

#include "linux/kernel/linux_guest.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"
#include "xtop/symbol/image.h"

/* What was found of a kernel besides its image. */
struct linux_kernel {
	struct linux_guest guest;
	struct image *image; /* "[kernel]": symbols, ORC; its addresses are the guest's */
	char release[64];    /* "6.1.0-37-amd64"; not clean */
	char banner[256];    /* "Linux version 6.1.0-37-amd64 (..."; not clean */
};

/*
 * Looks for a kernel under the page tables of REGS. Reads memory, type, kernel cache and UUID of
 * GUEST. True: KERNEL is filled in, and the caller owns a reference to its image; a table that the
 * kernel lacks is missing there. False: there is no Linux kernel, or not yet.
 */
bool linux_attach(const struct os_guest *guest, const struct registers *regs,
		  struct linux_kernel *kernel);
void linux_detach(struct linux_kernel *kernel);
/* Whether the same kernel is still in memory: after a reboot it is not. */
bool linux_is_there(const struct linux_kernel *kernel);
/*
 * Whether VCPU ran on KERNEL: after a kexec it did not, though KERNEL may stay in memory for long.
 */
enum os_runs linux_runs_on(const struct linux_kernel *kernel, const struct sample_vcpu *vcpu);
/* The kernel was built without CONFIG_KALLSYMS_ALL: only functions have names. */
bool linux_names_no_data(const struct linux_guest *guest);

#endif
