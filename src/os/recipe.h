/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the sampler must know to take the task and the stacks of a Linux guest's vCPU in one stop. */
#ifndef XTOP_OS_RECIPE_H
#define XTOP_OS_RECIPE_H

#include "os/linux.h"
#include "xtop/control.h"

void recipe_set(const struct linux_guest *guest, struct control *control);
void recipe_clear(struct control *control);

#endif
