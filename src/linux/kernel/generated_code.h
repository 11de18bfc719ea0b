/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that a Linux kernel made while it ran, under the names the kernel itself has for it. */
#ifndef XTOP_OS_GENERATED_CODE_H
#define XTOP_OS_GENERATED_CODE_H

#include "linux/kernel/linux.h"
#include "xtop/image.h"

struct generated_code;

/* Both are lent: the space it is put into and taken out of. */
struct xtop_error *generated_code_create(const struct linux_guest *guest, struct space *space,
					 struct generated_code **codep);
void generated_code_destroy(struct generated_code *code); /* leaves the space as it is; NULL allowed */
void generated_code_poll(struct generated_code *code);

#endif
