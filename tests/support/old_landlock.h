/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel before 5.13, which has no Landlock. */
#ifndef OLD_LANDLOCK_H
#define OLD_LANDLOCK_H

/* From now on Landlock's system calls fail in this process: a filter answers ENOSYS to them. */
void hide_landlock(void);

#endif
