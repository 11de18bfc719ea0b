/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what the kernel has logged with printk(). Resolver's thread. */
#ifndef XTOP_LINUX_KERNEL_KERNEL_LOG_H
#define XTOP_LINUX_KERNEL_KERNEL_LOG_H

#include "linux/kernel/linux_guest.h"
#include "xtop/base/limit.h"
#include "xtop/os/os_log.h"

#define KERNEL_LOG_MAX_LOOKS (LIMIT(1U << 20, 1U << 8))   /* descriptors that are read */
#define KERNEL_LOG_MAX_TEXT  (LIMIT(16U << 20, 1U << 12)) /* bytes of text that are kept */
#define KERNEL_LOG_MAX_LINES (LIMIT(1U << 19, 1U << 8))   /* lines that are kept */

/*
 * Reads the whole log, newest message first, so that the limits leave out the oldest messages. LOG
 * is zeroed; the caller calls os_log_deinit().
 */
void kernel_log_read(const struct linux_guest *guest, struct os_log *log);

#endif
