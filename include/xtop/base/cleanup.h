/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Releases what a function owns at the end of the scope, instead of goto ladders. */
#ifndef XTOP_CLEANUP_H
#define XTOP_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}
#define _cleanup_free_ _cleanup_(cleanup_free)

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define _cleanup_close_ _cleanup_(cleanup_close)

/*
 * Returns the value of POINTER and sets POINTER to NULL. The caller now owns the object, and the
 * cleanup at the end of the scope does nothing.
 */
#define no_cleanup_ptr(pointer)                                                                    \
	__extension__({                                                                            \
		__typeof__(pointer) kept_ = (pointer);                                             \
		(pointer) = NULL;                                                                  \
		kept_;                                                                             \
	})

#endif
