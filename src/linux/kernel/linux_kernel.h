/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Linux kernel of a guest: linux_attach.c finds it, or kernel_cache.c knows it. */
#ifndef XTOP_LINUX_KERNEL_LINUX_KERNEL_H
#define XTOP_LINUX_KERNEL_LINUX_KERNEL_H

#include "linux/kernel/linux_guest.h"
#include "xtop/os/os_ops.h"
#include "xtop/symbol/image.h"

/* A kernel that was found, and what is known of this kernel. */
struct linux_kernel {
	struct linux_guest guest;
	struct image *image; /* symbols and unwind tables, as "[kernel]"; addresses of the guest */
	char release[64];    /* text as in the guest, not cleaned: "6.1.0-37-amd64" */
	char banner[256];    /* text as in the guest: "Linux version 6.1.0-37-amd64 (..." */
	/* Where the kernel is to be stored once its tables have been read, for the domain UUID. */
	struct kernel_cache *cache; /* NULL: it is not to be stored */
	char uuid[OS_UUID_BYTES];
};

#endif
