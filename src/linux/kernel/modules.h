/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The modules of a running Linux kernel. They come and go: who looks calls modules_poll() now and
 * then.
 */
#ifndef XTOP_OS_MODULES_H
#define XTOP_OS_MODULES_H

#include "linux/kernel/linux.h"
#include "xtop/image.h"
#include "xtop/limit.h"

#define MODULES_MAX            LIMIT(4096, 32)
#define MODULES_MAX_KEPT_BYTES (32U << 20) /* symbols of all of them; of Debian's, 0.3 MiB */

struct modules;

/* Both are lent: the space they are put into and taken out of. */
struct xtop_error *modules_create(const struct linux_guest *guest, struct space *space,
				  struct modules **modulesp);
void modules_destroy(struct modules *modules); /* leaves the space as it is; NULL allowed */
/* Walks the kernel's list and follows it. One that cannot be read leaves things as they are. */
void modules_poll(struct modules *modules);
size_t modules_count(const struct modules *modules);
size_t modules_cut(const struct modules *modules); /* with fewer symbols or tables than they have */
size_t modules_kept_bytes(const struct modules *modules); /* their symbols */

#endif
