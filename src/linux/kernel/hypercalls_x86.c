/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hypercall page: a page of a Linux kernel's code into which Xen writes stubs of 32 bytes, one
 * for each hypercall. Later kernels have functions of their own instead, with ORC entries (Linux
 * commit 7fa0da537368 ("x86/xen: remove hypercall page") (in v6.13), and stable releases from
 * December 2024 on).
 *
 * The ORC tables were built without the stubs: in the file each stub is a `ret`. Xen writes
 *
 *   PV          push %rcx; push %r11; mov $n, %eax; syscall; pop %r11; pop %rcx; ret
 *   PVH, HVM    mov $n, %eax; vmcall; ret                (AMD: vmmcall)
 *
 * (Xen 4.17 arch/x86/pv/hypercall.c, arch/x86/hvm/vmx/vmx.c, arch/x86/hvm/svm/svm.c). The first
 * stub shows which kind of stubs the page has. Resolver's thread.
 */
#include "config.h"

#include "linux/kernel/hypercalls.h"

#include <string.h>

static const uint8_t hypercalls_pv[] = { 0x51, 0x41, 0x53, 0xb8 }; /* push, push, mov to %eax */
static const uint8_t hypercalls_hvm[] = { 0xb8 };                  /* mov to %eax */

void hypercalls_add(const struct linux_guest *guest, struct orc *orc)
{
	uint64_t page = guest->symbols[LINUX_HYPERCALLS];
	uint8_t code[sizeof(hypercalls_pv)];

	if (!page || page % GUEST_PAGE_SIZE ||
	    memory_read(guest->memory, guest->root, page, code, sizeof(code)) != sizeof(code))
		return;
	if (memcmp(code, hypercalls_pv, sizeof(hypercalls_pv)) == 0)
		orc_add_special(orc, ORC_HYPERCALLS, page, page + GUEST_PAGE_SIZE);
	else if (memcmp(code, hypercalls_hvm, sizeof(hypercalls_hvm)) == 0)
		orc_add_special(orc, ORC_LEAVES, page, page + GUEST_PAGE_SIZE);
}
