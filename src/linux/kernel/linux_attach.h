/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the symbols, types and unwind tables of the kernel from a vCPU's registers. */
#ifndef XTOP_LINUX_KERNEL_LINUX_ATTACH_H
#define XTOP_LINUX_KERNEL_LINUX_ATTACH_H

#include "linux/kernel/linux_kernel.h"
#include "xtop/os/os_ops.h"
#include "xtop/sample/sample.h"

/*
 * Looks for a kernel under the page tables of REGS. Uses memory, type, kernel cache and UUID of
 * GUEST. Returns true if KERNEL is filled in; the caller then owns a reference to its image. Tables
 * that the kernel lacks are missing in KERNEL. Returns false if there is no Linux kernel, or not
 * yet.
 */
bool linux_attach(const struct os_guest *guest, const struct registers *regs,
		  struct linux_kernel *kernel);
void linux_detach(struct linux_kernel *kernel);
/* Whether KERNEL is still in memory. After a reboot another kernel is there. */
bool linux_is_there(const struct linux_kernel *kernel);
/*
 * Whether VCPU ran KERNEL. After a kexec VCPU runs another kernel, though KERNEL may stay in memory
 * for long.
 */
enum os_runs linux_runs_on(const struct linux_kernel *kernel, const struct sample_vcpu *vcpu);
/* Whether the kernel was built without CONFIG_KALLSYMS_ALL, so that only functions have names. */
bool linux_names_no_data(const struct linux_guest *guest);

#endif
