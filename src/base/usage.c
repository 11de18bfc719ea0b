/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time and memory of this process; see usage.h. */
#include "config.h"

#include "xtop/base/usage.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "xtop/base/cleanup.h"

void usage_read(uint64_t *cpu_ns, uint64_t *resident_bytes)
{
	_cleanup_fclose_ FILE *file = resident_bytes ? fopen("/proc/self/statm", "re") : NULL;
	struct timespec time;
	unsigned long pages;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0)
		*cpu_ns = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	/* statm: total and resident pages (proc(5)) */
	if (file && fscanf(file, "%*u %lu", &pages) == 1)
		*resident_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
