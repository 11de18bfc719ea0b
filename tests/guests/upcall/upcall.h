/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the upcall guest's C and assembly: selectors of its GDT, and flags. */
#ifndef UPCALL_H
#define UPCALL_H

#define USER_RPL       3    /* the privilege level in a selector */
#define USER_DATA      (0x10 | USER_RPL)
#define USER_CODE      (0x18 | USER_RPL)
#define TASK_STATE     0x20 /* takes two entries */

#define RFLAGS_ALWAYS  0x2
#define RFLAGS_IF      0x200

#define BEFORE_SWAPGS  250000 /* turns of two instructions */

#endif
