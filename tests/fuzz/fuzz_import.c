/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles made elsewhere: folded stacks, pprof and all others, compressed or not. */
#include "config.h"

#include "profile_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
	read_profile_file("", bytes, size_bytes);
	return 0;
}
