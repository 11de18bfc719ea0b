/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sampler must know to take the task and the stacks of a Linux guest's vCPU in one stop. */
#ifndef XTOP_OS_RECIPE_H
#define XTOP_OS_RECIPE_H

#include "linux/kernel/linux.h"
#include "xtop/control.h"

/* REGS of any vCPU: its per-cpu area is looked at. Without types there is no recipe. */
struct stack_recipe recipe_make(const struct linux_guest *guest, const struct registers *regs);

#endif
