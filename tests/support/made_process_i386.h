/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process in the kernel of made_i386.h, as Linux 6.1 has it: its mm_struct, a tree of five areas,
 * one file with three pages, and the kernel's copy of a vDSO. The last page of the file lies where
 * the kernel has no address for it.
 */
#ifndef TESTS_MADE_PROCESS_I386_H
#define TESTS_MADE_PROCESS_I386_H

#include "tests/support/made_i386.h"

#define MADE_USER_TABLES 0x5000 /* PAE: the table of the first GiB */
#define MADE_USER_PAGES  0x6000
#define MADE_MM          0x50000
#define MADE_MAPLE       0x51000
#define MADE_AREAS       0x52000 /* five, MADE_AREA_BYTES apart */
#define MADE_FILE        0x53000
#define MADE_DENTRY      0x53100
#define MADE_ROOT_DENTRY 0x53200
#define MADE_MOUNT       0x53300
#define MADE_INODE       0x53400
#define MADE_NAMES       0x53800
#define MADE_SUPER_BLOCK 0x53900
#define MADE_XA_NODE     0x54000
#define MADE_VDSO_IMAGE  0x55000
#define MADE_VDSO        0x56000
#define MADE_PAGE_ARRAY  0x60000

#define MADE_AREA_BYTES 128
#define MADE_N_AREAS    5
#define MADE_PAGE_BYTES 40
#define MADE_MM_AT      1008 /* offset in task_struct */
#define MADE_START      1284
#define MADE_CODE       0x08048000
#define MADE_VDSO_AT    0x77ff1000 /* address in the process */
#define MADE_FILE_BYTES (3 * 4096 - 100)
#define MADE_PAGES      3

/* The frames of the file's pages. */
extern const uint32_t made_file_frames[MADE_PAGES];

/*
 * Gives the task at TASK, an offset, the process. The kernel has been made with WIDTH_32 or PAE, or
 * is that of made_arm32.h.
 */
void made_process_i386(struct made_i386 *made, uint64_t task);
/* Gives the task a process as Linux 5.10 has it: areas are in a list. */
void made_process_510_i386(struct made_i386 *made, uint64_t task);
/* Gives the task a process as Linux 6.5 has it: mm_struct and file begin with other members. */
void made_process_65_i386(struct made_i386 *made, uint64_t task);

#endif
