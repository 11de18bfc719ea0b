/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that a Linux kernel generates while it runs, with the kernel's own names. Resolver's thread.
 */
#ifndef XTOP_LINUX_KERNEL_GENERATED_CODE_H
#define XTOP_LINUX_KERNEL_GENERATED_CODE_H

#include "linux/kernel/linux_guest.h"
#include "xtop/symbol/image.h"

struct generated_code;

/* GUEST and SPACE are borrowed. Code is added to SPACE and removed from it. */
struct xtop_error *generated_code_create(const struct linux_guest *guest, struct space *space,
					 struct generated_code **codep);
/* Leaves SPACE as it is. NULL allowed. */
void generated_code_destroy(struct generated_code *code);
/* Reads the lists that changed since the last poll. */
void generated_code_poll(struct generated_code *code);

#endif
