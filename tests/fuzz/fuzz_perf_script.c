/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of perf script, after one sample. */
#include "config.h"

#include "profile_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	read_profile_file("a 1/1 [000] 1.000001: 5 cpu-clock:\n\t1000 f+0x1 (m)\n\n", bytes,
			  size_bytes);
	return 0;
}
