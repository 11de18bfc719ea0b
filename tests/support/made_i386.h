/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 32-bit Linux kernel without names of data and without BTF, in 2 MiB of memory at 3 GiB. The
 * code is made of instructions that gcc 12 wrote for these functions of Linux 6.1. One at a time.
 */
#ifndef TESTS_MADE_I386_H
#define TESTS_MADE_I386_H

#include <stdbool.h>

#include "linux/kernel/linux_guest.h"

#define MADE_BASE   UINT64_C(0xc0000000)
#define MADE_FRAMES 512 /* page frames that the kernel has mapped */
#define MADE_HIGH   8   /* page frames after the mapped ones */
#define MADE_END    0x80000 /* between here and the page frames after the mapped ones is nothing */

#define MADE_TABLES 0x1000 /* tables of the vCPU's process: the top table is at 0x20 there */
#define MADE_KERNEL 0x2000 /* the table that the top tables share */
#define MADE_OWN    0x9000 /* swapper_pg_dir */

#define MADE_TEXT     0x10000
#define MADE_GETPID   (MADE_TEXT + 0x100)
#define MADE_IDLE_CPU (MADE_TEXT + 0x200)
#define MADE_INFO     (MADE_TEXT + 0x300)
#define MADE_PER_CPUS 0x20000 /* __per_cpu_offset */
#define MADE_CURRENT  0x20808 /* current_task */
#define MADE_AREA     0x30000 /* distance from a per-CPU variable to CPU 0's copy */
#define MADE_TASK     0x40080
#define MADE_LEADER   0x41080
#define MADE_PARENT   0x42080
#define MADE_STACK    0x44000

#define MADE_COMM 1412
#define MADE_PID  1108

struct made_i386 {
	uint8_t bytes[(MADE_FRAMES + MADE_HIGH) * 4096];
	struct linux_guest guest; /* reads `bytes` as memory of a guest */
};

/* Returns one guest each time, as after made_i386_begin(), until made_i386_destroy(). */
struct made_i386 *made_i386(void);
void made_i386_destroy(void);
/* Makes the kernel anew. HAS_CANARY: task_struct has a canary, as with a stack protector. */
void made_i386_begin(struct made_i386 *made, bool has_canary);
/* Writes the low N bytes of VALUE. */
void made_i386_put(struct made_i386 *made, uint64_t offset, uint64_t value, size_t n);
/* Searches the kernel again for data that has no name. */
void made_i386_search(struct made_i386 *made);

#endif
