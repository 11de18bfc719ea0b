/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a thread is to stop working, though it has not finished. A hostile guest can have tables
 * that take seconds to read and to sort, and the user who quits must not wait for that. So reading
 * guest memory, and each loop that may run for more than some 50 ms, asks work_is_over() now and
 * then. After it has said yes once, it always does. What a loop has built by then is not whole: it
 * is not kept in any cache, and only shown.
 */
#ifndef XTOP_WORK_H
#define XTOP_WORK_H

#include <stdbool.h>

/*
 * Says when the work of the calling thread is over. Without a call, and after one with NULL, it
 * never is.
 */
void work_set_end(bool (*is_over)(void *context), void *context);
bool work_is_over(void);

#endif
