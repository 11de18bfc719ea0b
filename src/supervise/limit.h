/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to supervise/: how much a process may take, by setrlimit(2). */
#ifndef SUPERVISE_LIMIT_H
#define SUPERVISE_LIMIT_H

#include <stdint.h>
#include <sys/resource.h>

/* From now on this process takes no more than MOST of RESOURCE. A lower limit stays. */
static inline void limit_set(int resource, uint64_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) == 0 && limit.rlim_max > most) {
		limit.rlim_cur = limit.rlim_max = most;
		setrlimit(resource, &limit);
	}
}

#endif
