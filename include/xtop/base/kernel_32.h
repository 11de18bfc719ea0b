/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the kernel's part of each address space begins in a 32-bit Linux kernel, on i386 and Arm,
 * with CONFIG_VMSPLIT_3G (Linux arch/x86/Kconfig, arch/arm/Kconfig). User code is below this
 * address.
 */
#ifndef XTOP_KERNEL_32_H
#define XTOP_KERNEL_32_H

#define KERNEL_32_START 0xc0000000ULL
#define KERNEL_32_END   (1ULL << 32)

#endif
