/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a Linux kernel of 32 bits has its half of each address space, on i386 and on Arm:
 * CONFIG_VMSPLIT_3G (Linux arch/x86/Kconfig, arch/arm/Kconfig). User code is below.
 */
#ifndef XTOP_KERNEL_32_H
#define XTOP_KERNEL_32_H

#define KERNEL_32_START 0xc0000000ULL
#define KERNEL_32_END   (1ULL << 32)

#endif
