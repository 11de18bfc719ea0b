/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From nothing but registers to a kernel whose symbols, types and unwind tables are known. */
#ifndef XTOP_OS_LINUX_ATTACH_H
#define XTOP_OS_LINUX_ATTACH_H

#include "linux/kernel/linux.h"
#include "xtop/image.h"
#include "xtop/sample.h"

/* What was found of a kernel besides its image. */
struct linux_kernel {
	struct linux_guest guest;
	struct image *image;  /* "[kernel]": symbols, ORC; its addresses are the guest's */
	char release[64];     /* "6.1.0-37-amd64"; not clean */
	char banner[256];     /* "Linux version 6.1.0-37-amd64 (...": who built it, and when; not clean */
};

struct kernel_shelf; /* xtop/os.h */

/*
 * Looks for a kernel under the page tables of REGS. False: no Linux there, or not yet. KERNEL is
 * filled anew; its image has one reference, the caller's. What its tables lack is missing in it.
 */
bool linux_attach(struct memory *memory, enum guest_type type, const struct registers *regs,
		  const struct kernel_shelf *shelf, struct linux_kernel *kernel);
/* Whether the same kernel is still there: after a reboot it is not. */
bool linux_is_there(const struct linux_kernel *kernel);
/* Whether it is the one that VCPU ran on: after a kexec it is not, though it may be there for long. */
enum linux_runs { LINUX_RUNS, LINUX_RUNS_NOT, LINUX_NOT_KNOWN };
enum linux_runs linux_runs_on(const struct linux_kernel *kernel, const struct sample_vcpu *vcpu);
/* Built without CONFIG_KALLSYMS_ALL: only functions have names. */
bool linux_names_no_data(const struct linux_guest *guest);
void linux_detach(struct linux_kernel *kernel);

#endif
