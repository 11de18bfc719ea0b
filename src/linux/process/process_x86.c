/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the vDSO of a process on x86-64 and i386; see process_arch.h. Resolver's thread. */
#include "config.h"

#include "linux/process/process_arch.h"

#include "linux/kernel/member.h"

#define VDSO_MAX_BYTES (64U << 10) /* 8 KiB up to 6.18 */

/*
 * mm_context_t has the address of the vDSO's struct vdso_image (Linux arch/x86/include/asm/vdso.h,
 * from v3.17).
 */
bool process_arch_find_vdso(const struct linux_guest *guest, uint64_t mm, uint64_t *address,
			    uint64_t *size_bytes)
{
	uint64_t image, data, size;

	if (!member_read_pointer(guest, mm, MM_VDSO_IMAGE, &image) ||
	    !member_read_pointer(guest, image, VDSO_IMAGE_DATA, &data) ||
	    !member_read_word(guest, image, VDSO_IMAGE_SIZE, &size) || size > VDSO_MAX_BYTES)
		return false;
	*address = data;
	*size_bytes = size;
	return true;
}
